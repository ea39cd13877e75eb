package web

import (
	"net/http"

	"github.com/a-h/templ"

	"gpupool/domain"
	"gpupool/domain/pool"
	"gpupool/views"
	"gpupool/views/ui"
)

// quotaShow shows who uses the quota now, and lets the owner set what is borrowed and lent at most.
func (s *Server) quotaShow(v *visit) error {
	return v.quotaPage("", domain.LimitInput{}, refusal{status: http.StatusOK})
}

func (v *visit) quotaPage(class pool.ClassID, in domain.LimitInput, r refusal) error {
	d, err := v.server.service.Dashboard(v.ctx, v.actor, v.org)
	if err != nil {
		return err
	}
	bars := views.Block(ui.Panel{ID: "quota", Title: v.T("Now"), Topics: "org", Hint: v.T("Guaranteed GPUs are used, lent or free. Lent ones come back when your own work needs them.")}, v.quotaBars(d)...)
	t := ui.Table{ID: "limits", Caption: v.T("Quota by GPU type"), Topics: "org", Columns: v.columns("GPU type", "#Guaranteed", "#Own use", "#Lent out", "#Free", "#Borrowed", "#Borrow limit", "#Lend limit", "#Spot"),
		Empty: ui.Empty{Title: v.T("No quota yet."), Text: v.T("Quota comes with a plan or with hardware that you put in."), Link: ui.Link{Label: v.T("Plans"), Href: "/marketplace"}},
		Note:  v.T("Limits of the plan stand after the slash.")}
	blocks := []templ.Component{bars, t.Show()}
	for _, q := range d.Quotas {
		t.Rows = append(t.Rows, row(head(q.Name, ""), num(number(q.Nominal)), num(number(q.OwnUsed)), num(number(q.Lent)), num(number(q.Free())), num(number(q.Borrowed)),
			num(number(q.Borrow)+" / "+number(q.PlanBorrow)), num(number(q.Lend)+" / "+number(q.PlanLend+q.Contributed)), num(number(q.Spot))))
	}
	blocks[1] = t.Show()
	if v.actor.Can(v.org, domain.ActQuota) {
		for _, q := range d.Quotas {
			f, at := domain.LimitInput{Borrow: number(q.Borrow), Lend: number(q.Lend)}, refusal{}
			if q.Class == class {
				f, at = in, r
			}
			blocks = append(blocks, v.limitForm(q, f, at).Show())
		}
	}
	return v.show(r.status, views.Page{Title: v.T("Quota"), Heading: v.T("Quota"), Live: v.live(), Lead: v.T("What the plan guarantees, who uses it now, and how far you borrow and lend.")}, views.Arrange(blocks...))
}

func (v *visit) limitForm(q domain.QuotaNow, in domain.LimitInput, r refusal) views.Form {
	id := string(q.Class)
	return views.Form{ID: "limit-" + id, Title: v.T("Limits of %s", q.Name), Action: v.orgPath("/quota/" + id), Nonce: newNonce(), Problem: r.whole, Submit: v.T("Set the limits"), Fields: []views.Input{
		{Kind: "number", Field: ui.Field{Name: "borrow", ID: "f-borrow-" + id, Label: v.T("Borrow at most"), Unit: v.T("GPUs"), Value: in.Borrow, Error: r.at["borrow"], InputMode: "numeric", Hint: v.T("0 to %d; empty is the plan's.", q.PlanBorrow)}},
		{Kind: "number", Field: ui.Field{Name: "lend", ID: "f-lend-" + id, Label: v.T("Lend at most"), Unit: v.T("GPUs"), Value: in.Lend, Error: r.at["lend"], InputMode: "numeric", Hint: v.T("0 to %d; empty is the plan's. Lending earns the lender's share of the price.", q.PlanLend+q.Contributed)}},
	}}
}

// quotaLimit sets both limits of a GPU type from now on.
func (s *Server) quotaLimit(v *visit) error {
	class := pool.ClassID(v.param("class"))
	in := domain.LimitInput{Borrow: v.text("borrow"), Lend: v.text("lend")}
	if _, err := s.service.SetLimit(v.ctx, v.actor, v.org, class, in); err != nil {
		if r, ok := v.refused(err); ok {
			return v.quotaPage(class, in, r)
		}
		return err
	}
	return v.done(v.orgPath("/quota"), "The limits were set. They count from now on.")
}
