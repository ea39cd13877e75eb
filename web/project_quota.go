package web

import (
	"github.com/a-h/templ"

	"gpupool/domain"
	"gpupool/domain/pool"
	"gpupool/views"
	"gpupool/views/ui"
)

// projectShares show a project's part of its organisation's quota, with the form for who may change it.
func (v *visit) projectShares(p domain.ProjectView, leads bool, which string, r refusal) (templ.Component, error) {
	all, err := v.server.service.ProjectShares(v.ctx, v.actor, v.org, p.ID)
	if err != nil {
		return nil, err
	}
	t := ui.Table{ID: "shares", Caption: v.T("Quota of the project"), Hidden: true, Columns: v.columns("GPU type", "#Guaranteed", "#Counts now", "#At most beyond it", "#Of the organisation's", "#Still to give"),
		Empty: ui.Empty{Title: v.T("The organisation has no quota yet."), Text: v.T("Quota comes with a plan or with hardware that is put in.")}}
	class := ui.Field{Name: "class", ID: "f-share-class", Label: v.T("GPU type"), Required: true}
	for _, x := range all {
		beyond := v.T("no limit")
		if x.Borrow != nil {
			beyond = number(*x.Borrow)
		}
		t.Rows = append(t.Rows, row(head(x.Name, ""), num(number(x.Guaranteed)), num(number(x.Now)), num(beyond), num(number(x.Whole)), num(number(max(0, x.Free()-x.Guaranteed)))))
		class.Options = append(class.Options, option(string(x.Class), x.Name))
	}
	body := []templ.Component{t.Show()}
	if leads && len(all) > 0 && !p.Archived {
		in, at := domain.ProjectQuotaInput{Class: all[0].Class, Guaranteed: number(all[0].Guaranteed)}, refusal{}
		if all[0].Borrow != nil {
			in.Borrow = number(*all[0].Borrow)
		}
		if which == "share" {
			in, at = v.sentShare(), r
		}
		class.Value, class.Error = string(in.Class), at.at["class"]
		body = append(body, views.Form{ID: "share", Action: v.projectPath(p.ID, "/quota"), Nonce: newNonce(), Problem: at.whole, Submit: v.T("Set the quota"), Fields: []views.Input{
			{Kind: "select", Field: class},
			{Kind: "number", Field: ui.Field{Name: "guaranteed", Label: v.T("Guaranteed to the project"), Unit: v.T("GPUs"), Value: in.Guaranteed, Error: at.at["guaranteed"], Required: true, InputMode: "numeric", Hint: v.T("All projects together have at most what the organisation has.")}},
			{Kind: "number", Field: ui.Field{Name: "borrow", ID: "f-share-borrow", Label: v.T("At most beyond it"), Unit: v.T("GPUs"), Value: in.Borrow, Error: at.at["borrow"], InputMode: "numeric", Hint: v.T("Empty: as many as the organisation has or borrows.")}},
		}}.Show())
	}
	return views.Block(ui.Panel{ID: "quota", Title: v.T("Quota"), Hint: v.T("Below its own part a project goes first in its organisation, and projects beyond theirs give GPUs back to it.")}, body...), nil
}

func (v *visit) sentShare() domain.ProjectQuotaInput {
	return domain.ProjectQuotaInput{Class: pool.ClassID(v.text("class")), Guaranteed: v.text("guaranteed"), Borrow: v.text("borrow")}
}

// projectQuota gives a project a part of its organisation's quota.
func (s *Server) projectQuota(v *visit) error {
	_, err := s.service.SetProjectQuota(v.ctx, v.actor, v.org, pool.ProjectID(v.param("project")), v.sentShare())
	return v.changed(err, nil, "share", "The quota was set. It counts from now on.")
}
