package web

import (
	"strconv"

	"gpupool/domain"
	"gpupool/domain/pool"
	"gpupool/views"
	"gpupool/views/ui"
)

const auditPage = 100

// opAudit is every change of the pool, newest first, narrowed to a member if asked, as a page or CSV.
func (s *Server) opAudit(v *visit) error {
	return v.auditPage("/op/audit", pool.OrgID(v.query("org")), true)
}

// auditPage shows a trail under its path; the pages of organisations use it too.
func (v *visit) auditPage(path string, org pool.OrgID, choose bool) error {
	before, _ := strconv.ParseInt(v.query("before"), 10, 64) // nonsense begins at the newest
	rows, err := v.server.service.AuditTrail(v.ctx, v.actor, org, max(0, before), auditPage)
	if err != nil {
		return err
	}
	if v.query("format") == "csv" {
		return v.auditCSV(rows)
	}
	chosen := ""
	if choose {
		chosen = string(org)
	}
	t := ui.Table{ID: "audit", Caption: v.T("Changes"), Topics: "org pool", Columns: v.columns("When", "Who", "From", "What", "Of", "Before", "After"),
		CSV: path + "?" + encode("format", "csv", "org", chosen, "before", v.query("before")), Empty: ui.Empty{Title: v.T("No change yet")}}
	for _, r := range rows {
		from := string(r.Via)
		if r.IP != "" {
			from += ", " + r.IP
		}
		t.Rows = append(t.Rows, row(when(v.clock(r.At)), sub(head(r.Name, ""), string(r.User)), text(from), mono(r.Action), sub(mono(r.Subject), string(r.Org)), mono(clip(r.Before)), mono(clip(r.After))))
	}
	if len(rows) == auditPage {
		t.Pager = ui.Pager{Summary: v.T("%d changes", len(rows)), Next: path + "?" + encode("org", chosen, "before", strconv.FormatInt(rows[len(rows)-1].Seq, 10))}
	}
	page := views.Page{Title: v.T("Audit"), Heading: v.T("Who changed what"), Live: v.live(), Wide: true}
	if !choose {
		return v.page(page, t.Show())
	}
	orgs, err := v.server.service.Organisations(v.ctx, v.actor)
	if err != nil {
		return err
	}
	members := []ui.Option{option("", v.T("the whole pool"))}
	for _, o := range orgs {
		members = append(members, option(string(o.ID), o.Name))
	}
	filter := views.Form{ID: "filter", Action: path, Filter: true, Submit: v.T("Show"), Fields: []views.Input{{Kind: "select", Field: ui.Field{Name: "org", Label: v.T("Member"), Value: chosen, Options: members}}}}
	return v.page(page, views.Arrange(filter.Show(), t.Show()))
}

// clip shortens what a table cell can't hold; the CSV has all of it.
func clip(s string) string {
	r := []rune(s)
	if len(r) <= 160 {
		return s
	}
	return string(r[:159]) + "…"
}

func (v *visit) auditCSV(rows []domain.AuditRow) error {
	var out [][]string
	for _, r := range rows {
		out = append(out, []string{strconv.FormatInt(r.Seq, 10), iso(r.At), iso(r.Wall), string(r.User), r.Name, string(r.Via), r.IP, string(r.Org), r.Action, r.Subject, r.Before, r.After})
	}
	b, err := csvFile([]string{"seq", "business_at", "wall_at", "user", "name", "via", "ip", "organisation", "action", "subject", "before", "after"}, out)
	if err != nil {
		return err
	}
	return v.attach("audit.csv", "text/csv; charset=utf-8", b)
}
