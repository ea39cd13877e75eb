package store

import (
	"cmp"

	"gpupool/domain"
	"gpupool/domain/pool"
)

type nonceRow struct {
	Nonce  string `gorm:"column:nonce;primaryKey"`
	UserID string `gorm:"column:user_id"`
	At     int64  `gorm:"column:at"`
	Result string `gorm:"column:result"`
}

func (nonceRow) TableName() string { return "nonces" }

// UseNonce claims the nonce for the user. It is false when the same user sent
// it before; then result is the first answer, empty while that is under way.
// The nonce of another user is Conflict.
func (t *tx) UseNonce(n domain.Nonce) (fresh bool, result string, err error) {
	if err := cmp.Or(needed(n.Nonce), needed(n.User)); err != nil {
		return false, "", err
	}
	row := nonceRow{Nonce: n.Nonce, UserID: string(n.User), At: int64(n.At), Result: n.Result}
	if fresh, err = insertNew(t, row); fresh || err != nil {
		return fresh, "", err
	}
	first, err := find[nonceRow](t, "nonce = ?", n.Nonce)
	if err == nil && first.UserID != row.UserID {
		return false, "", conflict(row)
	}
	return false, first.Result, err
}

// FinishNonce keeps the answer for a form that comes again.
func (t *tx) FinishNonce(nonce, result string) error {
	if err := needed(nonce); err != nil {
		return err
	}
	return change(t, nonceRow{Result: result}, []string{"result"}, "nonce = ?", nonce)
}

// DeleteNonces used before the wall instant.
func (t *tx) DeleteNonces(before pool.Instant) error {
	_, err := drop[nonceRow](t, "at < ?", before)
	return err
}
