package store

import (
	"gpupool/domain"
	"gpupool/domain/pool"
)

type poolRow struct {
	ID      int64 `gorm:"column:id;primaryKey;autoIncrement:false"`
	Version int64 `gorm:"column:version"`
	Terms   int64 `gorm:"column:terms_version"`
}

func (poolRow) TableName() string { return "pool" }

type leaseRow struct {
	Name   string       `gorm:"column:name;primaryKey"`
	Holder string       `gorm:"column:holder"`
	Until  pool.Instant `gorm:"column:until"`
}

func (leaseRow) TableName() string { return "leases" }

type flagRow struct {
	Name  string `gorm:"column:name;primaryKey"`
	Value string `gorm:"column:value"`
}

func (flagRow) TableName() string { return "flags" }

// poolOnce reads the versions: once in a View, of which everything is then at
// least as new; each time in Update, which may change them.
func (t *tx) poolOnce() (poolRow, error) {
	if t.pool != nil && !t.writes {
		return *t.pool, nil
	}
	r, err := find[poolRow](t, "id = 1")
	if err == nil {
		t.pool = &r
	}
	return r, err
}

func (t *tx) Version() (int64, error) {
	r, err := t.poolOnce()
	return r.Version, err
}

func (t *tx) BumpVersion() error {
	_, err := t.exec("UPDATE pool SET version = version + 1 WHERE id = 1")
	return err
}

func (t *tx) AdvanceVersion(from int64) (bool, error) {
	n, err := t.exec("UPDATE pool SET version = version + 1 WHERE id = 1 AND version = ?", from)
	return n == 1, err
}

// TakeLease renews the holder's own lease and takes one that has run out.
func (t *tx) TakeLease(name, holder string, until pool.Instant) (bool, error) {
	if err := needed(name, holder); err != nil {
		return false, err
	}
	n, err := t.exec(`INSERT INTO leases (name, holder, until) VALUES (?, ?, ?)
		ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, until = excluded.until
		WHERE leases.holder = excluded.holder OR leases.until <= ?`, name, holder, until, t.wall)
	return n == 1, err
}

func (t *tx) Flag(name string) (string, error) {
	r, err := find[flagRow](t, "name = ?", name)
	if domain.CodeOf(err) == domain.NotFound && err != nil {
		return "", nil
	}
	return r.Value, err
}

func (t *tx) SetFlag(name, value string) error {
	if err := needed(name); err != nil {
		return err
	}
	if value == "" {
		_, err := drop[flagRow](t, "name = ?", name)
		return err
	}
	return put(t, flagRow{name, value}, []string{"name"}, []string{"value"})
}
