package store

import (
	"gpupool/domain"
	"gpupool/domain/pool"
)

type projectRow struct {
	ID           pool.ProjectID `gorm:"column:id;primaryKey"`
	Org          pool.OrgID     `gorm:"column:org_id"`
	Name         string         `gorm:"column:name"`
	Budget       *int64         `gorm:"column:budget"`
	BudgetPeriod string         `gorm:"column:budget_period"`
	Sites        string         `gorm:"column:sites"`
	Nodes        string         `gorm:"column:nodes"`
	Created      pool.Instant   `gorm:"column:created_at"`
	Pauses       string         `gorm:"column:pauses"`
	Archived     bool           `gorm:"column:archived"`
	NodeOwners   string         `gorm:"column:node_owners"`
}

func (projectRow) TableName() string { return "projects" }

func projectOf(r projectRow) (domain.Project, error) {
	p := domain.Project{ID: r.ID, Org: r.Org, Name: r.Name, Budget: r.Budget, BudgetPeriod: r.BudgetPeriod, Nodes: r.Nodes,
		CreatedAt: r.Created, Archived: r.Archived}
	if err := fromJSON("sites", r.Sites, &p.Sites); err != nil {
		return p, err
	}
	if err := fromJSON("node_owners", r.NodeOwners, &p.NodeOwners); err != nil {
		return p, err
	}
	return p, fromJSON("pauses", r.Pauses, &p.Pauses)
}

func rowOfProject(p domain.Project) projectRow {
	return projectRow{p.ID, p.Org, p.Name, p.Budget, p.BudgetPeriod, toJSON(p.Sites), p.Nodes, p.CreatedAt, toJSON(p.Pauses), p.Archived, toJSON(p.NodeOwners)}
}

type projectMemberRow struct {
	Project pool.ProjectID `gorm:"column:project_id;primaryKey"`
	User    pool.UserID    `gorm:"column:user_id;primaryKey"`
	Lead    bool           `gorm:"column:lead"`
}

func (projectMemberRow) TableName() string { return "project_members" }

func projectMemberOf(r projectMemberRow) (domain.ProjectMember, error) {
	return domain.ProjectMember(r), nil
}

type projectAccountRow struct {
	Project pool.ProjectID `gorm:"column:project_id;primaryKey"`
	From    pool.Instant   `gorm:"column:valid_from;primaryKey;autoIncrement:false"`
	Account pool.AccountID `gorm:"column:account_id"`
}

func (projectAccountRow) TableName() string { return "project_accounts" }

func projectAccountOf(r projectAccountRow) (domain.AccountOfProject, error) {
	return domain.AccountOfProject{Project: r.Project, Account: r.Account, From: r.From}, nil
}

func (t *tx) Project(org pool.OrgID, id pool.ProjectID) (domain.Project, error) {
	if err := needed(org, id); err != nil {
		return domain.Project{}, err
	}
	return one(t, projectOf, "org_id = ? AND id = ?", org, id)
}

func (t *tx) Projects(org pool.OrgID) ([]domain.Project, error) {
	if err := needed(org); err != nil {
		return nil, err
	}
	return all(t, projectOf, "name, id", "org_id = ?", org)
}

// AllProjects by organisation, then name.
func (t *tx) AllProjects() ([]domain.Project, error) {
	return all(t, projectOf, "org_id, name, id", "")
}

func (t *tx) InsertProject(p domain.Project) error {
	if err := needed(p.ID, p.Org); err != nil {
		return err
	}
	return insert(t, rowOfProject(p))
}

func (t *tx) UpdateProject(p domain.Project) error {
	if err := needed(p.ID, p.Org); err != nil {
		return err
	}
	return change(t, rowOfProject(p), []string{"name", "budget", "budget_period", "sites", "nodes", "pauses", "archived", "node_owners"},
		"org_id = ? AND id = ?", p.Org, p.ID)
}

func (t *tx) ProjectMembers(p pool.ProjectID) ([]domain.ProjectMember, error) {
	if err := needed(p); err != nil {
		return nil, err
	}
	return all(t, projectMemberOf, "user_id", "project_id = ?", p)
}

func (t *tx) SaveProjectMember(m domain.ProjectMember) error {
	if err := needed(m.Project, m.User); err != nil {
		return err
	}
	return put(t, projectMemberRow(m), []string{"project_id", "user_id"}, []string{"lead"})
}

func (t *tx) DeleteProjectMember(p pool.ProjectID, u pool.UserID) error {
	if err := needed(p, u); err != nil {
		return err
	}
	n, err := drop[projectMemberRow](t, "project_id = ? AND user_id = ?", p, u)
	if err == nil && n == 0 {
		return notFound(projectMemberRow{})
	}
	return err
}

func (t *tx) ProjectAccounts(p pool.ProjectID) ([]domain.AccountOfProject, error) {
	if p == "" {
		return all(t, projectAccountOf, "valid_from, project_id", "")
	}
	return all(t, projectAccountOf, "valid_from", "project_id = ?", p)
}

func (t *tx) InsertProjectAccount(a domain.AccountOfProject) error {
	if err := needed(a.Project, a.Account); err != nil {
		return err
	}
	return insert(t, projectAccountRow{a.Project, a.From, a.Account})
}
