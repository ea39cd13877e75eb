package store

import (
	"gpupool/domain"
	"gpupool/domain/pool"
)

type tokenRow struct {
	ID       string       `gorm:"column:id;primaryKey"`
	User     pool.UserID  `gorm:"column:user_id"`
	Name     string       `gorm:"column:name"`
	Hash     string       `gorm:"column:hash"`
	Prefix   string       `gorm:"column:prefix"`
	Scopes   string       `gorm:"column:scopes"`
	Created  pool.Instant `gorm:"column:created_at"`
	Expires  pool.Instant `gorm:"column:expires_at"`
	LastUsed pool.Instant `gorm:"column:last_used"`
	Revoked  pool.Instant `gorm:"column:revoked_at"`
}

func (tokenRow) TableName() string { return "api_tokens" }

func tokenOf(r tokenRow) (domain.APIToken, error) {
	k := domain.APIToken{ID: r.ID, User: r.User, Name: r.Name, Hash: r.Hash, Prefix: r.Prefix,
		CreatedAt: r.Created, ExpiresAt: r.Expires, LastUsed: r.LastUsed, RevokedAt: r.Revoked}
	return k, fromJSON("scopes", r.Scopes, &k.Scopes)
}

func (t *tx) InsertToken(k domain.APIToken) error {
	if err := needed(k.ID, k.Hash, k.User); err != nil {
		return err
	}
	return insert(t, tokenRow{k.ID, k.User, k.Name, k.Hash, k.Prefix, toJSON(k.Scopes), k.CreatedAt, k.ExpiresAt, k.LastUsed, k.RevokedAt})
}

func (t *tx) TokenByHash(hash string) (domain.APIToken, error) {
	return one(t, tokenOf, "hash = ?", hash)
}

// Tokens of a person, newest first.
func (t *tx) Tokens(u pool.UserID) ([]domain.APIToken, error) {
	if err := needed(u); err != nil {
		return nil, err
	}
	return all(t, tokenOf, "created_at DESC, id", "user_id = ?", u)
}

func (t *tx) TouchToken(id string, at pool.Instant) error {
	if err := needed(id); err != nil {
		return err
	}
	return change(t, tokenRow{LastUsed: at}, []string{"last_used"}, "id = ?", id)
}

// RevokeToken keeps the first instant of a token that is revoked twice.
func (t *tx) RevokeToken(u pool.UserID, id string, at pool.Instant) error {
	if err := needed(u); err != nil {
		return err
	}
	k, err := find[tokenRow](t, "id = ? AND user_id = ?", id, u)
	if err != nil || k.Revoked != 0 {
		return err
	}
	return change(t, tokenRow{Revoked: at}, []string{"revoked_at"}, "id = ? AND user_id = ?", id, u)
}
