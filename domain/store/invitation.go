package store

import (
	"gpupool/domain"
	"gpupool/domain/pool"
)

type invitationRow struct {
	ID        string         `gorm:"column:id;primaryKey"`
	TokenHash string         `gorm:"column:token_hash"`
	Org       pool.OrgID     `gorm:"column:org_id"`
	Email     string         `gorm:"column:email"`
	Role      pool.Role      `gorm:"column:role"`
	Project   pool.ProjectID `gorm:"column:project_id"`
	InvitedBy pool.UserID    `gorm:"column:invited_by"`
	Created   pool.Instant   `gorm:"column:created_at"`
	Expires   pool.Instant   `gorm:"column:expires_at"`
	Accepted  pool.Instant   `gorm:"column:accepted_at"`
	Revoked   pool.Instant   `gorm:"column:revoked_at"`
}

func (invitationRow) TableName() string { return "invitations" }

func invitationOf(r invitationRow) (domain.Invitation, error) {
	return domain.Invitation{ID: r.ID, TokenHash: r.TokenHash, Org: r.Org, Email: r.Email, Role: r.Role, Project: r.Project,
		InvitedBy: r.InvitedBy, CreatedAt: r.Created, ExpiresAt: r.Expires, AcceptedAt: r.Accepted, RevokedAt: r.Revoked}, nil
}

func (t *tx) InsertInvitation(i domain.Invitation) error {
	if err := needed(i.ID, i.TokenHash, i.Org); err != nil {
		return err
	}
	return insert(t, invitationRow{i.ID, i.TokenHash, i.Org, i.Email, i.Role, i.Project, i.InvitedBy, i.CreatedAt, i.ExpiresAt, i.AcceptedAt, i.RevokedAt})
}

func (t *tx) InvitationByHash(hash string) (domain.Invitation, error) {
	return one(t, invitationOf, "token_hash = ?", hash)
}

func (t *tx) Invitations(org pool.OrgID) ([]domain.Invitation, error) {
	if err := needed(org); err != nil {
		return nil, err
	}
	return all(t, invitationOf, "created_at DESC, id DESC", "org_id = ?", org)
}

// UpdateInvitation changes what happens to it: expiry, acceptance, revocation.
func (t *tx) UpdateInvitation(i domain.Invitation) error {
	if err := needed(i.ID, i.Org); err != nil {
		return err
	}
	r := invitationRow{Expires: i.ExpiresAt, Accepted: i.AcceptedAt, Revoked: i.RevokedAt}
	return change(t, r, []string{"expires_at", "accepted_at", "revoked_at"}, "id = ? AND org_id = ?", i.ID, i.Org)
}
