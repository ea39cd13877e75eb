package store

import (
	"cmp"

	"gpupool/domain"
	"gpupool/domain/pool"
)

type outboxRow struct {
	ID        int64  `gorm:"column:id;primaryKey;autoIncrement"`
	Kind      string `gorm:"column:kind"`
	IdemKey   string `gorm:"column:idem_key"`
	Payload   string `gorm:"column:payload"`
	Created   int64  `gorm:"column:created_at"`
	NextAt    int64  `gorm:"column:next_at"`
	Tries     int64  `gorm:"column:tries"`
	LastError string `gorm:"column:last_error"`
	DoneAt    int64  `gorm:"column:done_at"`
}

func (outboxRow) TableName() string { return "outbox" }

func rowOfOutbox(r domain.OutboxRow) outboxRow {
	return outboxRow{
		Kind: r.Kind, IdemKey: r.Key, Payload: string(r.Payload), Created: int64(r.CreatedAt), NextAt: int64(r.NextAt),
		Tries: int64(r.Tries), LastError: printable(r.LastError), DoneAt: int64(r.DoneAt),
	}
}

func (r outboxRow) noun() (domain.OutboxRow, error) {
	return domain.OutboxRow{
		ID: r.ID, Kind: r.Kind, Key: r.IdemKey, Payload: []byte(r.Payload), CreatedAt: pool.Instant(r.Created), NextAt: pool.Instant(r.NextAt),
		Tries: int(r.Tries), LastError: r.LastError, DoneAt: pool.Instant(r.DoneAt),
	}, nil
}

// InsertOutbox stores work to do; its id is given here. One with the same key
// that is there, done or not, is left as it is.
func (t *tx) InsertOutbox(r domain.OutboxRow) error {
	if err := cmp.Or(needed(r.Kind), needed(r.Key)); err != nil {
		return err
	}
	_, err := insertNew(t, rowOfOutbox(r))
	return err
}

// DueOutbox is open work whose time has come, oldest first.
func (t *tx) DueOutbox(wall pool.Instant, limit int) ([]domain.OutboxRow, error) {
	var rows []outboxRow
	err := t.db.Where("done_at = 0 AND next_at <= ?", wall).Order("id").Limit(page(limit)).Find(&rows).Error
	return mapped(rows, fail(err), outboxRow.noun)
}

// UpdateOutbox writes what became of a try; kind, key and payload are frozen.
func (t *tx) UpdateOutbox(r domain.OutboxRow) error {
	return change(t, rowOfOutbox(r), []string{"next_at", "tries", "last_error", "done_at"}, "id = ?", r.ID)
}

// OpenOutbox counts the work not done yet.
func (t *tx) OpenOutbox() (int64, error) {
	var n int64
	err := t.db.Model(&outboxRow{}).Where("done_at = 0").Count(&n).Error
	return n, fail(err)
}
