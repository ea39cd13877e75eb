package store

import (
	"gpupool/domain"
	"gpupool/domain/pool"
)

type orgRow struct {
	ID        pool.OrgID   `gorm:"column:id;primaryKey"`
	Name      string       `gorm:"column:name"`
	NameZH    string       `gorm:"column:name_zh"`
	ShowAs    string       `gorm:"column:show_as"`
	Pseudonym string       `gorm:"column:pseudonym"`
	Created   pool.Instant `gorm:"column:created_at"`
	Pauses    string       `gorm:"column:pauses"`
}

func (orgRow) TableName() string { return "organisations" }

func orgOf(r orgRow) (domain.Organisation, error) {
	o := domain.Organisation{ID: r.ID, Name: r.Name, NameZH: r.NameZH, ShowAs: r.ShowAs, Pseudonym: r.Pseudonym, CreatedAt: r.Created}
	return o, fromJSON("pauses", r.Pauses, &o.Pauses)
}

func rowOfOrg(o domain.Organisation) orgRow {
	return orgRow{o.ID, o.Name, o.NameZH, o.ShowAs, o.Pseudonym, o.CreatedAt, toJSON(o.Pauses)}
}

type membershipRow struct {
	User  pool.UserID  `gorm:"column:user_id;primaryKey"`
	Org   pool.OrgID   `gorm:"column:org_id;primaryKey"`
	Role  pool.Role    `gorm:"column:role"`
	Since pool.Instant `gorm:"column:since"`
}

func (membershipRow) TableName() string { return "memberships" }

func membershipOf(r membershipRow) (domain.Membership, error) { return domain.Membership(r), nil }

func (t *tx) Org(id pool.OrgID) (domain.Organisation, error) {
	if err := needed(id); err != nil {
		return domain.Organisation{}, err
	}
	return one(t, orgOf, "id = ?", id)
}

func (t *tx) Orgs() ([]domain.Organisation, error) { return all(t, orgOf, "name, id", "") }

// InsertOrg refuses the name under which the consortium itself contributes.
func (t *tx) InsertOrg(o domain.Organisation) error {
	if err := needed(o.ID); err != nil {
		return err
	}
	if o.ID == pool.Consortium {
		return conflict(orgRow{})
	}
	return insert(t, rowOfOrg(o))
}

func (t *tx) UpdateOrg(o domain.Organisation) error {
	if err := needed(o.ID); err != nil {
		return err
	}
	return change(t, rowOfOrg(o), []string{"name", "name_zh", "show_as", "pseudonym", "pauses"}, "id = ?", o.ID)
}

func (t *tx) Members(org pool.OrgID) ([]domain.Member, error) {
	if err := needed(org); err != nil {
		return nil, err
	}
	var rs []struct {
		User  pool.UserID  `gorm:"column:user_id"`
		Org   pool.OrgID   `gorm:"column:org_id"`
		Role  pool.Role    `gorm:"column:role"`
		Since pool.Instant `gorm:"column:since"`
		Name  string       `gorm:"column:name"`
		Email string       `gorm:"column:email"`
	}
	err := t.db.Raw(`SELECT m.user_id, m.org_id, m.role, m.since, u.name, u.email FROM memberships m
		JOIN users u ON u.id = m.user_id WHERE m.org_id = ? ORDER BY u.name, u.id`, org).Scan(&rs).Error
	ms := make([]domain.Member, len(rs))
	for i, r := range rs {
		ms[i] = domain.Member{Membership: domain.Membership{User: r.User, Org: r.Org, Role: r.Role, Since: r.Since}, Name: r.Name, Email: r.Email}
	}
	return ms, fail(err)
}

// SaveMembership keeps the first Since when it changes the role.
func (t *tx) SaveMembership(m domain.Membership) error {
	if err := needed(m.User, m.Org); err != nil {
		return err
	}
	return put(t, membershipRow(m), []string{"user_id", "org_id"}, []string{"role"})
}

// DeleteMembership also takes the person out of the organisation's projects.
func (t *tx) DeleteMembership(u pool.UserID, org pool.OrgID) error {
	if err := needed(u, org); err != nil {
		return err
	}
	n, err := drop[membershipRow](t, "user_id = ? AND org_id = ?", u, org)
	if err != nil {
		return err
	}
	if n == 0 {
		return notFound(membershipRow{})
	}
	_, err = drop[projectMemberRow](t, "user_id = ? AND project_id IN (SELECT id FROM projects WHERE org_id = ?)", u, org)
	return err
}
