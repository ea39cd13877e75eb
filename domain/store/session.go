package store

import (
	"time"

	"gpupool/domain"
	"gpupool/domain/pool"
)

type sessionRow struct {
	Token   string       `gorm:"column:token;primaryKey"`
	User    pool.UserID  `gorm:"column:user_id"`
	Data    []byte       `gorm:"column:data"`
	Expires pool.Instant `gorm:"column:expires_at"`
	Created pool.Instant `gorm:"column:created_at"`
	IP      string       `gorm:"column:ip"`
	Agent   string       `gorm:"column:agent"`
}

func (sessionRow) TableName() string { return "sessions" }

func sessionOf(r sessionRow) (domain.Session, error) {
	return domain.Session{Token: r.Token, User: r.User, Data: r.Data, ExpiresAt: r.Expires, CreatedAt: r.Created, IP: r.IP, Agent: r.Agent}, nil
}

type tryRow struct {
	Key   string       `gorm:"column:try_key;primaryKey"`
	At    pool.Instant `gorm:"column:at;primaryKey;autoIncrement:false"`
	Tries int64        `gorm:"column:tries"`
}

func (tryRow) TableName() string { return "sign_in_tries" }

// Session is found after its expiry too: who reads it compares with the wall clock.
func (t *tx) Session(token string) (domain.Session, error) {
	if err := needed(token); err != nil {
		return domain.Session{}, err
	}
	return one(t, sessionOf, "token = ?", token)
}

func (t *tx) SaveSession(s domain.Session) error {
	if err := needed(s.Token); err != nil {
		return err
	}
	if s.Data == nil {
		s.Data = []byte{}
	}
	return put(t, sessionRow{s.Token, s.User, s.Data, s.ExpiresAt, s.CreatedAt, s.IP, s.Agent}, []string{"token"},
		[]string{"user_id", "data", "expires_at", "created_at", "ip", "agent"})
}

// DeleteSession of one that is gone already is success.
func (t *tx) DeleteSession(token string) error {
	if err := needed(token); err != nil {
		return err
	}
	_, err := drop[sessionRow](t, "token = ?", token)
	return err
}

// SessionsOf a person, newest first.
func (t *tx) SessionsOf(u pool.UserID) ([]domain.Session, error) {
	if err := needed(u); err != nil {
		return nil, err
	}
	return all(t, sessionOf, "created_at DESC, token", "user_id = ?", u)
}

// keepTries is how long failed sign-ins are kept: longer than any window.
const keepTries = 24 * time.Hour

// DeleteExpiredSessions also forgets sign-in tries that no window reaches.
func (t *tx) DeleteExpiredSessions(before pool.Instant) error {
	if _, err := drop[sessionRow](t, "expires_at < ?", before); err != nil {
		return err
	}
	_, err := drop[tryRow](t, "at < ?", before.Add(-keepTries))
	return err
}

func (t *tx) CountSignIn(key string, at, from pool.Instant) (int64, error) {
	if err := needed(key); err != nil {
		return 0, err
	}
	_, err := t.exec(`INSERT INTO sign_in_tries (try_key, at, tries) VALUES (?, ?, 1)
		ON CONFLICT (try_key, at) DO UPDATE SET tries = sign_in_tries.tries + 1`, key, at)
	if err != nil {
		return 0, err
	}
	return t.SignInTries(key, from)
}

func (t *tx) SignInTries(key string, from pool.Instant) (int64, error) {
	var n int64
	err := t.db.Model(&tryRow{}).Select("CAST(COALESCE(SUM(tries), 0) AS BIGINT)").Where("try_key = ? AND at >= ?", key, from).Scan(&n).Error
	return n, fail(err)
}
