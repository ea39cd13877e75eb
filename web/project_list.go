package web

import (
	"net/http"
	"slices"
	"strings"

	"github.com/a-h/templ"

	"gpupool/domain"
	"gpupool/domain/money"
	"gpupool/domain/pool"
	"gpupool/views"
	"gpupool/views/ui"
)

// projectForm is what was typed.
type projectForm struct {
	Name, Budget, Period, Nodes, Account string
	Sites, Owners                        []string
}

func (v *visit) sentProject() projectForm {
	return projectForm{v.text("name"), v.text("budget"), v.text("budget_period"), v.text("nodes"), v.text("account"), v.texts("sites"), v.texts("node_owners")}
}

func (f projectForm) input() domain.ProjectInput {
	in := domain.ProjectInput{Name: f.Name, Budget: f.Budget, BudgetPeriod: f.Period, Nodes: f.Nodes, Account: pool.AccountID(f.Account), NodeOwners: f.Owners}
	for _, x := range f.Sites {
		in.Sites = append(in.Sites, pool.SiteID(x))
	}
	return in
}

// projectList shows the projects that the person sees, and lets the owner make one.
func (s *Server) projectList(v *visit) error {
	return v.projectsPage(projectForm{Period: "month", Nodes: "any"}, refusal{status: http.StatusOK})
}

func (v *visit) projectsPage(f projectForm, r refusal) error {
	all, err := v.server.service.Projects(v.ctx, v.actor, v.org)
	if err != nil {
		return err
	}
	sites, err := v.server.service.Sites(v.ctx, v.actor)
	if err != nil {
		return err
	}
	t := ui.Table{ID: "projects", Caption: v.T("Projects"), Hidden: true, Topics: "org", Columns: v.columns("Project", "#Budget", "Runs on", "Billing account", "State"),
		Empty: ui.Empty{Title: v.T("No project yet."), Text: v.T("A project is a cost centre: it has a budget, people and a billing account, and every job belongs to one.")},
		Note:  v.T("Budgets count use at list price, included hours too.")}
	for _, p := range all {
		account := text(p.AccountName)
		if p.Account == "" {
			account = badge(ui.ToneBadge(ui.Warn, v.T("none: its jobs are refused")))
		}
		state := "active"
		if p.Archived {
			state = "archived"
		} else if len(p.Pauses) > 0 {
			state = "paused"
		}
		t.Rows = append(t.Rows, row(sub(head(p.Name, v.projectPath(p.ID, "")), string(p.ID)), num(v.budget(p.Project)), text(v.nodePolicy(p, sites)), account, badge(v.state(state))))
	}
	blocks := []templ.Component{t.Show()}
	if v.actor.Can(v.org, domain.ActProjects) {
		form, err := v.projectFields(f, r, nil, true)
		if err != nil {
			return err
		}
		blocks = append(blocks, views.Form{ID: "new-project", Title: v.T("New project"), Action: v.orgPath("/projects"), Nonce: newNonce(), Problem: r.whole, Submit: v.T("Make the project"), Fields: form}.Show())
	}
	return v.show(r.status, views.Page{Title: v.T("Projects"), Heading: v.T("Projects"), Live: v.live()}, views.Arrange(blocks...))
}

func (v *visit) projectPath(id pool.ProjectID, rest string) string {
	return v.orgPath("/projects/" + string(id) + rest)
}

func (v *visit) budget(p domain.Project) string {
	if p.Budget == nil {
		return v.T("none")
	}
	if p.BudgetPeriod == "month" {
		return v.T("%s a month", v.money(money.Amount(*p.Budget)))
	}
	return v.T("%s in total", v.money(money.Amount(*p.Budget)))
}

// nodePolicy says where the project's jobs may run.
func (v *visit) nodePolicy(p domain.ProjectView, sites []domain.Site) string {
	said := v.T(map[string]string{"any": "any node", "own": "own nodes only", "unshared": "nodes without jobs of others"}[p.Nodes])
	if len(p.Owners) > 0 {
		var names []string
		for _, x := range p.Owners {
			names = append(names, v.nodeOwner(x))
		}
		said += ", " + v.T("put in by: %s", strings.Join(names, ", "))
	}
	if len(p.Sites) > 0 {
		var names []string
		for _, x := range sites {
			if slices.Contains(p.Sites, x.ID) {
				names = append(names, x.Name)
			}
		}
		said += ", " + v.T("sites: %s", strings.Join(names, ", "))
	}
	return said
}

func (v *visit) nodeOwner(x domain.NodeOwner) string {
	switch {
	case x.Number == 0:
		return v.T("the consortium")
	case x.Name == "":
		return v.T("a member (no. %d)", x.Number)
	}
	return x.Name
}

// projectFields are the questions of a project; its account is asked for only when it is made. The owners of nodes
// that it has chosen stay a choice when their last node is gone.
func (v *visit) projectFields(f projectForm, r refusal, chosen []domain.NodeOwner, account bool) ([]views.Input, error) {
	sites, err := v.server.service.Sites(v.ctx, v.actor)
	if err != nil {
		return nil, err
	}
	owners, err := v.server.service.NodeOwners(v.ctx, v.actor, v.org)
	if err != nil {
		return nil, err
	}
	for _, x := range chosen {
		if !slices.Contains(owners, x) {
			owners = append(owners, x)
		}
	}
	whose := ui.Field{Name: "node_owners", Label: v.T("Nodes put in by"), Error: r.at["node_owners"], Hint: v.T("None chosen: everybody's. Otherwise jobs run only on nodes of those chosen, your own nodes among them only if you choose yourselves.")}
	for _, x := range owners {
		whose.Options = append(whose.Options, ui.Option{Value: x.Key, Label: v.nodeOwner(x), Checked: slices.Contains(f.Owners, x.Key)})
	}
	where := ui.Field{Name: "sites", Label: v.T("Allowed sites"), Error: r.at["sites"], Hint: v.T("None chosen: every site.")}
	for _, x := range sites {
		where.Options = append(where.Options, ui.Option{Value: string(x.ID), Label: x.Name, Checked: slices.Contains(f.Sites, string(x.ID))})
	}
	all := []views.Input{
		{Field: ui.Field{Name: "name", Label: v.T("Name"), Value: f.Name, Error: r.at["name"], Required: true, Autocomplete: "off"}},
		{Kind: "number", Field: ui.Field{Name: "budget", Label: v.T("Budget at list price"), Unit: v.currency.Code, Value: f.Budget, Error: r.at["budget"], Hint: v.T("Empty: none. A job that would go beyond it waits.")}},
		{Kind: "select", Field: ui.Field{Name: "budget_period", Label: v.T("Budget is for"), Value: f.Period, Error: r.at["budget_period"], Options: []ui.Option{option("month", v.T("each month")), option("total", v.T("the whole project"))}}},
		{Kind: "select", Field: ui.Field{Name: "nodes", Label: v.T("Runs on"), Value: f.Nodes, Error: r.at["nodes"], Options: []ui.Option{option("any", v.T("any node")), option("own", v.T("own nodes only")), option("unshared", v.T("nodes without jobs of others"))}}},
	}
	if len(owners) > 1 || len(f.Owners) > 0 {
		all = append(all, views.Input{Kind: "checks", Field: whose})
	}
	if len(sites) > 0 {
		all = append(all, views.Input{Kind: "checks", Field: where})
	}
	if !account || !v.actor.Can(v.org, domain.ActViewBilling) {
		return all, nil
	}
	accounts, err := v.accountOptions()
	if err != nil || len(accounts) < 2 {
		return all, err
	}
	return append(all, views.Input{Kind: "select", Field: ui.Field{Name: "account", Label: v.T("Billing account"), Value: f.Account, Error: r.at["account"], Options: append([]ui.Option{option("", v.T("Choose…"))}, accounts...)}}), nil
}

func (v *visit) accountOptions() ([]ui.Option, error) {
	all, err := v.server.service.Accounts(v.ctx, v.actor, v.org)
	var out []ui.Option
	for _, x := range all {
		out = append(out, option(string(x.ID), x.Name))
	}
	return out, err
}

// projectCreate makes a project.
func (s *Server) projectCreate(v *visit) error {
	f := v.sentProject()
	p, err := s.service.CreateProject(v.ctx, v.actor, v.org, f.input())
	if err != nil {
		if r, ok := v.refused(err); ok {
			return v.projectsPage(f, r)
		}
		return err
	}
	return v.done(v.projectPath(p.ID, ""), "The project %s was made.", p.Name)
}
