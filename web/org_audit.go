package web

// orgAudit is every change in the organisation, newest first, as a page or CSV.
func (s *Server) orgAudit(v *visit) error {
	return v.auditPage(v.orgPath("/audit"), v.org, false)
}
