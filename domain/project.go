package domain

import (
	"context"
	"slices"
	"strings"

	"gpupool/domain/money"
	"gpupool/domain/pool"
)

// ProjectInput is the form of a project, money as typed.
type ProjectInput struct {
	Name         string
	Budget       string // per budget period at list price; empty: none
	BudgetPeriod string // month, total; empty: month
	Sites        []pool.SiteID
	Nodes        string   // any, own, unshared; empty: any
	NodeOwners   []string // keys of NodeOwner; empty: all
	Account      pool.AccountID
}

// ProjectView is a project with the billing account its use goes to now.
type ProjectView struct {
	Project
	Account     pool.AccountID // empty: none yet
	AccountName string
	Owners      []NodeOwner // those of NodeOwners, as the organisation sees them
}

// Projects of an organisation that the actor may see, by name, archived ones too.
func (s *Service) Projects(ctx context.Context, a Actor, org pool.OrgID) ([]ProjectView, error) {
	if err := a.Need(org, ActView); err != nil {
		return nil, err
	}
	var out []ProjectView
	err := s.store.View(ctx, func(tx Tx) error {
		all, err := tx.Projects(org)
		if err != nil {
			return err
		}
		accounts, err := tx.Accounts(org)
		if err != nil {
			return err
		}
		assigned, err := tx.ProjectAccounts("")
		if err != nil {
			return err
		}
		var shown []nodeOwner
		if slices.ContainsFunc(all, func(p Project) bool { return len(p.NodeOwners) > 0 }) {
			if shown, err = shownOrgs(tx, org); err != nil {
				return err
			}
		}
		out = nil
		for _, p := range all {
			if !a.SeesProject(org, p.ID) {
				continue
			}
			v := ProjectView{Project: p, Account: accountAt(assigned, p.ID, tx.Now())}
			for _, x := range accounts {
				if x.ID == v.Account {
					v.AccountName = x.Name
				}
			}
			for _, x := range shown {
				if slices.Contains(p.NodeOwners, x.org) {
					v.Owners = append(v.Owners, x.NodeOwner)
				}
			}
			out = append(out, v)
		}
		return nil
	})
	return out, err
}

// accountAt is the billing account of a project at an instant, from rows by From.
func accountAt(rows []AccountOfProject, p pool.ProjectID, at pool.Instant) pool.AccountID {
	var id pool.AccountID
	for _, r := range rows {
		if r.Project == p && r.From <= at {
			id = r.Account
		}
	}
	return id
}

// Project is one that the actor may see.
func (s *Service) Project(ctx context.Context, a Actor, org pool.OrgID, id pool.ProjectID) (ProjectView, error) {
	all, err := s.Projects(ctx, a, org)
	if err != nil {
		return ProjectView{}, err
	}
	for _, p := range all {
		if p.ID == id {
			return p, nil
		}
	}
	return ProjectView{}, Errf(NotFound, "There is no such project.")
}

// CreateProject makes a project. Without an account it takes the only one that
// the organisation has; with none its jobs wait until one is assigned.
func (s *Service) CreateProject(ctx context.Context, a Actor, org pool.OrgID, in ProjectInput) (Project, error) {
	if err := a.Need(org, ActProjects); err != nil {
		return Project{}, err
	}
	id := pool.ProjectID(s.newID("prj-"))
	var p Project
	err := s.update(ctx, org, func(tx Tx) error {
		p = Project{ID: id, Org: org, CreatedAt: tx.Now()}
		if err := in.apply(tx, &p); err != nil {
			return err
		}
		accounts, err := tx.Accounts(org)
		if err != nil {
			return err
		}
		account := in.Account
		if account == "" && len(accounts) == 1 {
			account = accounts[0].ID
		}
		if account != "" && !slices.ContainsFunc(accounts, func(x BillingAccount) bool { return x.ID == account }) {
			return Fields{{Field: "account", Message: "There is no such billing account."}}.Err()
		}
		if err := tx.InsertProject(p); err != nil {
			return err
		}
		if account != "" {
			if err := tx.InsertProjectAccount(AccountOfProject{Project: id, Account: account, From: tx.Now()}); err != nil {
				return err
			}
		}
		shown, err := p.shown(tx)
		if err != nil {
			return err
		}
		return audit(tx, a, org, "project.create", string(id), nil, map[string]any{"project": shown, "account": account})
	})
	return p, err
}

// apply checks the form and puts it into p.
func (in ProjectInput) apply(tx Tx, p *Project) error {
	st, err := tx.Settings()
	if err != nil {
		return err
	}
	var f Fields
	p.Name = checkName(&f, "name", in.Name)
	p.Budget = checkBudget(&f, st.Currency, in.Budget)
	p.BudgetPeriod, p.Nodes = in.BudgetPeriod, in.Nodes
	if p.BudgetPeriod == "" {
		p.BudgetPeriod = "month"
	}
	if p.Nodes == "" {
		p.Nodes = "any"
	}
	checkChoice(&f, "budget_period", p.BudgetPeriod, "month", "total")
	checkChoice(&f, "nodes", p.Nodes, "any", "own", "unshared")
	if err := checkNodeOwners(tx, &f, p, in.NodeOwners); err != nil {
		return err
	}
	sites, err := tx.Sites()
	if err != nil {
		return err
	}
	p.Sites = slices.Compact(slices.Sorted(slices.Values(in.Sites)))
	for _, id := range p.Sites {
		if !slices.ContainsFunc(sites, func(x Site) bool { return x.ID == id }) {
			f.Add("sites", "There is no site %.63q.", string(id))
		}
	}
	all, err := tx.Projects(p.Org)
	if err != nil {
		return err
	}
	for _, x := range all {
		if x.ID != p.ID && !x.Archived && strings.EqualFold(x.Name, p.Name) {
			f.Add("name", "Another project has this name.")
		}
	}
	return f.Err()
}

func checkBudget(f *Fields, c money.Currency, s string) *int64 {
	if trimmed(s) == "" {
		return nil
	}
	n := int64(checkAmount(f, "budget", c, s))
	return &n
}

// UpdateProject changes everything but the billing account, see AssignAccount.
func (s *Service) UpdateProject(ctx context.Context, a Actor, org pool.OrgID, id pool.ProjectID, in ProjectInput) (Project, error) {
	if err := a.Need(org, ActProjects); err != nil {
		return Project{}, err
	}
	return s.changeProject(ctx, a, org, id, "project.update", func(tx Tx, p *Project) error { return in.apply(tx, p) })
}

// SetBudget is what the lead of a project may change, and the owner.
func (s *Service) SetBudget(ctx context.Context, a Actor, org pool.OrgID, id pool.ProjectID, budget, period string) (Project, error) {
	return s.changeProject(ctx, a, org, id, "project.budget", func(tx Tx, p *Project) error {
		if err := needLead(tx, a, org, id); err != nil {
			return err
		}
		st, err := tx.Settings()
		if err != nil {
			return err
		}
		var f Fields
		p.Budget, p.BudgetPeriod = checkBudget(&f, st.Currency, budget), period
		checkChoice(&f, "budget_period", period, "month", "total")
		return f.Err()
	})
}

// ArchiveProject closes a project without live jobs to new ones; its use stays
// in every report.
func (s *Service) ArchiveProject(ctx context.Context, a Actor, org pool.OrgID, id pool.ProjectID, archived bool) (Project, error) {
	if err := a.Need(org, ActProjects); err != nil {
		return Project{}, err
	}
	return s.changeProject(ctx, a, org, id, "project.archive", func(tx Tx, p *Project) error {
		jobs, err := tx.Jobs(JobFilter{Org: org, Project: id, States: []JobState{JobWaiting, JobStarting, JobRunning, JobStopping}, Limit: 200})
		if err != nil {
			return err
		}
		if archived && len(jobs) > 0 {
			return Errf(Conflict, "%d jobs of the project are not done. Stop them first.", len(jobs))
		}
		all, err := tx.Projects(org)
		if err != nil {
			return err
		}
		for _, x := range all {
			if !archived && x.ID != id && !x.Archived && strings.EqualFold(x.Name, p.Name) {
				return Errf(Conflict, "Another project is called %s now.", p.Name)
			}
		}
		p.Archived = archived
		return nil
	})
}

func (s *Service) changeProject(ctx context.Context, a Actor, org pool.OrgID, id pool.ProjectID, action string, change func(tx Tx, p *Project) error) (Project, error) {
	if err := a.Need(org, ActView); err != nil {
		return Project{}, err
	}
	var p Project
	err := s.update(ctx, org, func(tx Tx) error {
		old, err := tx.Project(org, id)
		if err != nil {
			return err
		}
		p = old
		if err := change(tx, &p); err != nil {
			return err
		}
		if err := tx.UpdateProject(p); err != nil {
			return err
		}
		if err := tx.BumpVersion(); err != nil {
			return err
		}
		before, err := old.shown(tx)
		if err != nil {
			return err
		}
		after, err := p.shown(tx)
		if err != nil {
			return err
		}
		return audit(tx, a, org, action, string(id), before, after)
	})
	return p, err
}

// AssignAccount sends a project's use to another billing account from now on.
// What was used before stays where it is.
func (s *Service) AssignAccount(ctx context.Context, a Actor, org pool.OrgID, id pool.ProjectID, account pool.AccountID) error {
	if err := a.Need(org, ActBilling); err != nil {
		return err
	}
	return s.update(ctx, org, func(tx Tx) error {
		if _, err := tx.Project(org, id); err != nil {
			return err
		}
		if ok, err := known(second(tx.Account(org, account))); err != nil {
			return err
		} else if !ok {
			return Fields{{Field: "account", Message: "There is no such billing account."}}.Err()
		}
		rows, err := tx.ProjectAccounts(id)
		if err != nil {
			return err
		}
		before := accountAt(rows, id, pool.Never-1)
		if before == account {
			return nil
		}
		return assign(tx, a, org, id, rows, account)
	})
}

// assign dates the change now, or right after the last one.
func assign(tx Tx, a Actor, org pool.OrgID, id pool.ProjectID, rows []AccountOfProject, account pool.AccountID) error {
	row := AccountOfProject{Project: id, Account: account, From: tx.Now()}
	var before any
	if n := len(rows); n > 0 {
		before = rows[n-1]
		row.From = max(row.From, rows[n-1].From+1)
	}
	if err := tx.InsertProjectAccount(row); err != nil {
		return err
	}
	if err := tx.BumpVersion(); err != nil {
		return err
	}
	return audit(tx, a, org, "project.account", string(id), before, row)
}
