package web

import (
	"net/http"

	"gpupool/domain"
	"gpupool/views"
	"gpupool/views/ui"
)

// setupLinks are where a step of the checklist is done.
var setupLinks = map[string]ui.Link{
	"nomad": {Label: "Nodes", Href: "/op/nodes"}, "classes": {Label: "GPU types", Href: "/op/classes"}, "plan": {Label: "Plans", Href: "/op/plans"},
	"prices": {Label: "Prices", Href: "/op/prices"}, "issuer": {Label: "Settings", Href: "/op/settings"}, "member": {Label: "Members", Href: "/op/members"},
}

// setup shows how far a new pool is; its first visitor becomes the operator here.
func (s *Server) setup(v *visit) error {
	return v.setupPage(domain.BecomeOperatorInput{}, refusal{status: http.StatusOK})
}

func (v *visit) setupPage(in domain.BecomeOperatorInput, r refusal) error {
	steps, err := v.server.service.SetupChecklist(v.ctx, v.actor)
	if err != nil {
		return err
	}
	p := views.Setup{}
	for _, x := range steps {
		step := ui.Step{Title: v.T(x.Title), Done: x.Done}
		if l, ok := setupLinks[x.Code]; ok && v.actor.Operator {
			step.Link = ui.Link{Label: v.T(l.Label), Href: l.Href}
		}
		p.Steps = append(p.Steps, step)
		if x.Code == "operator" && !x.Done {
			p.Form = v.operatorForm(in, r)
		}
	}
	return v.show(r.status, views.Page{Title: v.T("Set-up"), Heading: v.T("The pool is being set up"), Plain: true,
		Lead: v.T("This list ticks itself. When all of it is done, members can submit jobs.")}, p.Show())
}

func (v *visit) operatorForm(in domain.BecomeOperatorInput, r refusal) *views.Form {
	return &views.Form{ID: "operator", Title: v.T("Become the operator"), Action: "/setup", Problem: r.whole, Submit: v.T("Become the operator"),
		Fields: []views.Input{
			{Field: ui.Field{Name: "code", Label: v.T("Code"), Hint: v.T("The server printed it in its log when it started."), Value: in.Code, Error: r.at["code"], Required: true, Mono: true, Autocomplete: "off"}},
			{Field: ui.Field{Name: "name", Label: v.T("Your name"), Value: in.Name, Error: r.at["name"], Required: true, Autocomplete: "name"}},
			{Field: ui.Field{Name: "email", Label: v.T("E-mail"), Type: "email", Value: in.Email, Error: r.at["email"], Required: true, Autocomplete: "username"}},
			{Field: ui.Field{Name: "password", Label: v.T("Password"), Type: "password", Hint: v.T("At least 12 characters."), Error: r.at["password"], Required: true, Autocomplete: "new-password"}},
		}}
}

// setupSend makes the first visitor the operator and signs them in.
func (s *Server) setupSend(v *visit) error {
	in := domain.BecomeOperatorInput{Code: v.text("code"), Name: v.text("name"), Email: v.text("email"), Password: v.text("password"), Lang: string(v.Lang())}
	u, err := s.service.BecomeOperator(v.ctx, v.actor, in)
	if err != nil {
		if r, ok := v.refused(err); ok {
			return v.setupPage(in, r)
		}
		return err
	}
	return v.welcome(u, "/setup")
}
