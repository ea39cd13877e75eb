package web

// home leads everybody to where they begin.
func (s *Server) home(v *visit) error {
	if v.actor.SignedIn() {
		if h := v.home(); h != "/" {
			return v.redirect(h)
		}
		return v.redirect("/account")
	}
	if !v.settings.Configured {
		return v.redirect("/setup")
	}
	return s.publicHome(v)
}
