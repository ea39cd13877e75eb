package store

import (
	"strings"

	"gpupool/domain"
	"gpupool/domain/pool"
)

type userRow struct {
	ID           pool.UserID  `gorm:"column:id;primaryKey"`
	Email        string       `gorm:"column:email"`
	Name         string       `gorm:"column:name"`
	PasswordHash string       `gorm:"column:password_hash"`
	Operator     bool         `gorm:"column:operator"`
	Lang         string       `gorm:"column:lang"`
	TimeZone     string       `gorm:"column:time_zone"`
	Created      pool.Instant `gorm:"column:created_at"`
	Disabled     bool         `gorm:"column:disabled"`
}

func (userRow) TableName() string { return "users" }

func userOf(r userRow) (domain.User, error) {
	return domain.User{ID: r.ID, Email: r.Email, Name: r.Name, PasswordHash: r.PasswordHash, Operator: r.Operator,
		Lang: r.Lang, TimeZone: r.TimeZone, CreatedAt: r.Created, Disabled: r.Disabled}, nil
}

func rowOfUser(u domain.User) userRow {
	return userRow{u.ID, strings.ToLower(u.Email), u.Name, u.PasswordHash, u.Operator, u.Lang, u.TimeZone, u.CreatedAt, u.Disabled}
}

func (t *tx) User(id pool.UserID) (domain.User, error) {
	if err := needed(id); err != nil {
		return domain.User{}, err
	}
	return one(t, userOf, "id = ?", id)
}

func (t *tx) UserByEmail(email string) (domain.User, error) {
	return one(t, userOf, "email = ?", strings.ToLower(email))
}

func (t *tx) Users() ([]domain.User, error) { return all(t, userOf, "email", "") }

func (t *tx) CountUsers() (int64, error) {
	var n int64
	err := t.db.Model(&userRow{}).Count(&n).Error
	return n, fail(err)
}

func (t *tx) InsertUser(u domain.User) error {
	if err := needed(u.ID, u.Email); err != nil {
		return err
	}
	return insert(t, rowOfUser(u))
}

// UpdateUser is Conflict when the new e-mail is another person's.
func (t *tx) UpdateUser(u domain.User) error {
	if err := needed(u.ID); err != nil {
		return err
	}
	other, err := find[userRow](t, "email = ? AND id <> ?", strings.ToLower(u.Email), u.ID)
	if err == nil {
		return conflict(other)
	} else if domain.CodeOf(err) != domain.NotFound {
		return err
	}
	return change(t, rowOfUser(u), []string{"email", "name", "password_hash", "operator", "lang", "time_zone", "disabled"}, "id = ?", u.ID)
}

func (t *tx) Memberships(u pool.UserID) ([]domain.Membership, error) {
	if err := needed(u); err != nil {
		return nil, err
	}
	return all(t, membershipOf, "org_id", "user_id = ?", u)
}

func (t *tx) ProjectsOf(u pool.UserID) ([]domain.Project, error) {
	if err := needed(u); err != nil {
		return nil, err
	}
	return all(t, projectOf, "id", "id IN (SELECT project_id FROM project_members WHERE user_id = ?)", u)
}
