package web

import (
	"net/http"

	"github.com/a-h/templ"

	"gpupool/domain"
	"gpupool/domain/money"
	"gpupool/domain/pool"
	"gpupool/views"
	"gpupool/views/ui"
)

// projectShow is a project with its people; the owner changes all of it, its lead the budget and the people.
func (s *Server) projectShow(v *visit) error {
	return v.projectPage(nil, "", refusal{status: http.StatusOK})
}

// projectPage shows the project; which names the form that was refused.
func (v *visit) projectPage(sent *projectForm, which string, r refusal) error {
	p, err := v.server.service.Project(v.ctx, v.actor, v.org, pool.ProjectID(v.param("project")))
	if err != nil {
		return err
	}
	people, err := v.server.service.ProjectMembers(v.ctx, v.actor, v.org, p.ID)
	if err != nil {
		return err
	}
	sites, err := v.server.service.Sites(v.ctx, v.actor)
	if err != nil {
		return err
	}
	leads := v.actor.Can(v.org, domain.ActProjects)
	for _, x := range people {
		leads = leads || x.Lead && x.User == v.actor.User
	}
	facts := []ui.Fact{{Name: v.T("Budget"), Text: v.budget(p.Project)}, {Name: v.T("Runs on"), Text: v.nodePolicy(p, sites)}, {Name: v.T("Billing account"), Text: p.AccountName},
		{Name: v.T("Jobs"), Text: v.T("Jobs of the project"), Href: v.orgPath("/jobs?project=" + string(p.ID))}}
	if p.Account == "" {
		facts[2].Text = v.T("none: its jobs are refused until finance or the owner chooses one")
	}
	blocks := []templ.Component{ui.Facts(facts)}
	forms, err := v.projectForms(p, sent, which, r, leads)
	if err != nil {
		return err
	}
	team, err := v.projectPeople(p, people, leads, which, r)
	if err != nil {
		return err
	}
	shares, err := v.projectShares(p, leads, which, r)
	if err != nil {
		return err
	}
	blocks = append(blocks, shares, team)
	page := views.Page{Title: p.Name, Heading: p.Name, Crumbs: crumbs(v.T("Projects"), v.orgPath("/projects"), p.Name, "")}
	if p.Archived {
		page.Badges = []ui.Badge{v.state("archived")}
	}
	return v.show(r.status, page, views.Arrange(append(blocks, forms...)...))
}

func (v *visit) projectForms(p domain.ProjectView, sent *projectForm, which string, r refusal, leads bool) ([]templ.Component, error) {
	now := projectForm{Name: p.Name, Period: p.BudgetPeriod, Nodes: p.Nodes, Account: string(p.Account)}
	if p.Budget != nil {
		now.Budget = v.currency.Format(money.Amount(*p.Budget))
	}
	for _, x := range p.Sites {
		now.Sites = append(now.Sites, string(x))
	}
	for _, x := range p.Owners {
		now.Owners = append(now.Owners, x.Key)
	}
	of := func(form string) (projectForm, refusal) {
		if sent != nil && which == form {
			return *sent, r
		}
		return now, refusal{}
	}
	var out []templ.Component
	if v.actor.Can(v.org, domain.ActProjects) {
		f, at := of("project")
		fields, err := v.projectFields(f, at, p.Owners, false)
		if err != nil {
			return nil, err
		}
		out = append(out, views.Form{ID: "project", Title: v.T("Change the project"), Action: v.projectPath(p.ID, ""), Nonce: newNonce(), Problem: at.whole, Submit: v.T("Save"), Fields: fields}.Show())
	} else if leads {
		f, at := of("budget")
		out = append(out, views.Form{ID: "budget", Title: v.T("Change the budget"), Action: v.projectPath(p.ID, "/budget"), Nonce: newNonce(), Problem: at.whole, Submit: v.T("Set the budget"), Fields: []views.Input{
			{Kind: "number", Field: ui.Field{Name: "budget", Label: v.T("Budget at list price"), Unit: v.currency.Code, Value: f.Budget, Error: at.at["budget"], Hint: v.T("Empty: none. A job that would go beyond it waits.")}},
			{Kind: "select", Field: ui.Field{Name: "budget_period", Label: v.T("Budget is for"), Value: f.Period, Error: at.at["budget_period"], Options: []ui.Option{option("month", v.T("each month")), option("total", v.T("the whole project"))}}},
		}}.Show())
	}
	if v.actor.Can(v.org, domain.ActBilling) {
		accounts, err := v.accountOptions()
		if err != nil {
			return nil, err
		}
		f, at := of("account")
		out = append(out, views.Form{ID: "account", Title: v.T("Who pays"), Lead: v.T("Use from now on goes there; what was used before stays where it is."), Action: v.projectPath(p.ID, "/account"), Nonce: newNonce(), Problem: at.whole, Submit: v.T("Choose the account"), Fields: []views.Input{
			{Kind: "select", Field: ui.Field{Name: "account", Label: v.T("Billing account"), Value: f.Account, Error: at.at["account"], Required: true, Options: append([]ui.Option{option("", v.T("Choose…"))}, accounts...)}}}}.Show())
	}
	if v.actor.Can(v.org, domain.ActProjects) {
		archive := ui.Confirm{ID: "archive", Label: v.T("Archive the project"), Title: v.T("Archive %s?", p.Name), Loses: []string{v.T("No new job can be submitted in it."), v.T("Its use stays in every report. It can be taken back.")},
			Action: v.projectPath(p.ID, "/archive"), Nonce: newNonce(), Do: v.T("Archive"), Fields: []ui.Value{hidden("archived", "yes")}, Plain: true}
		if p.Archived {
			archive.Label, archive.Title, archive.Do, archive.Loses, archive.Fields = v.T("Take it back"), v.T("Take %s back?", p.Name), v.T("Take back"), nil, []ui.Value{hidden("archived", "no")}
		}
		out = append(out, archive.Show())
	}
	return out, nil
}

// projectPeople lists who is in the project, with what its leads may do.
func (v *visit) projectPeople(p domain.ProjectView, people []domain.ProjectPerson, leads bool, which string, r refusal) (templ.Component, error) {
	t := ui.Table{ID: "people", Caption: v.T("People of the project"), Hidden: true, Columns: v.columns("Person", "Part", ""),
		Empty: ui.Empty{Title: v.T("Nobody is bound to this project."), Text: v.T("Members who are in no project see all of them. Putting somebody in narrows their view to their projects.")}}
	in := map[pool.UserID]bool{}
	for _, x := range people {
		in[x.User] = true
		part := v.word("member")
		if x.Lead {
			part = v.T("leads the project")
		}
		end := text("")
		if leads {
			end = ui.Cell{Body: ui.PostButton{Action: v.projectPath(p.ID, "/people/remove"), Nonce: newNonce(), Fields: []ui.Value{hidden("user", string(x.User))}, Button: ui.Button{Label: v.T("Take %s out", x.Name), Kind: "small"}}.Show()}
		}
		t.Rows = append(t.Rows, row(sub(head(x.Name, ""), x.Email), text(part), end))
	}
	body := []templ.Component{t.Show()}
	if leads {
		members, err := v.server.service.Members(v.ctx, v.actor, v.org)
		if err != nil {
			return nil, err
		}
		who := ui.Field{Name: "user", Label: v.T("Person"), Required: true, Options: []ui.Option{option("", v.T("Choose…"))}}
		at := refusal{}
		if which == "people" {
			at = r
			who.Error, who.Value = r.at["user"], v.text("user")
		}
		for _, m := range members {
			if !in[m.User] {
				who.Options = append(who.Options, option(string(m.User), m.Name+", "+v.word(string(m.Role))))
			}
		}
		body = append(body, views.Form{ID: "join", Action: v.projectPath(p.ID, "/people"), Nonce: newNonce(), Problem: at.whole, Submit: v.T("Put into the project"), Fields: []views.Input{
			{Kind: "select", Field: who}, {Kind: "check", Field: ui.Field{Name: "lead", Label: v.T("Leads the project: changes its budget and its people")}}}}.Show())
	}
	return views.Block(ui.Panel{ID: "team", Title: v.T("People")}, body...), nil
}

// changed goes back to the project after a change, or shows the refused form.
func (v *visit) changed(err error, f *projectForm, which, sentence string) error {
	if err != nil {
		if r, ok := v.refused(err); ok {
			return v.projectPage(f, which, r)
		}
		return err
	}
	return v.done(v.projectPath(pool.ProjectID(v.param("project")), ""), sentence)
}

// projectUpdate changes a project.
func (s *Server) projectUpdate(v *visit) error {
	f := v.sentProject()
	_, err := s.service.UpdateProject(v.ctx, v.actor, v.org, pool.ProjectID(v.param("project")), f.input())
	return v.changed(err, &f, "project", "The project was saved.")
}

// projectBudget is what its lead may change.
func (s *Server) projectBudget(v *visit) error {
	f := v.sentProject()
	_, err := s.service.SetBudget(v.ctx, v.actor, v.org, pool.ProjectID(v.param("project")), f.Budget, f.Period)
	return v.changed(err, &f, "budget", "The budget was set.")
}

// projectAccount sends its use to another billing account from now on.
func (s *Server) projectAccount(v *visit) error {
	f := v.sentProject()
	err := s.service.AssignAccount(v.ctx, v.actor, v.org, pool.ProjectID(v.param("project")), pool.AccountID(f.Account))
	return v.changed(err, &f, "account", "The billing account was chosen.")
}

// projectArchive closes a project to new jobs, or opens it again.
func (s *Server) projectArchive(v *visit) error {
	_, err := s.service.ArchiveProject(v.ctx, v.actor, v.org, pool.ProjectID(v.param("project")), v.text("archived") != "no")
	return v.changed(err, nil, "archive", "The project was changed.")
}

// projectJoin puts a member into the project.
func (s *Server) projectJoin(v *visit) error {
	id := pool.ProjectID(v.param("project"))
	err := s.service.SaveProjectMember(v.ctx, v.actor, v.org, id, pool.UserID(v.text("user")), v.text("lead") != "")
	if domain.CodeOf(err) == domain.NotFound {
		if _, gone := s.service.Project(v.ctx, v.actor, v.org, id); gone == nil {
			err = domain.Fields{{Field: "user", Message: "Choose a person of the organisation."}}.Err()
		}
	}
	return v.changed(err, nil, "people", "The person is in the project.")
}

// projectLeave takes a person out of it.
func (s *Server) projectLeave(v *visit) error {
	err := s.service.RemoveProjectMember(v.ctx, v.actor, v.org, pool.ProjectID(v.param("project")), pool.UserID(v.text("user")))
	return v.changed(err, nil, "people", "The person is no longer in the project.")
}
