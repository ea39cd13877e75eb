package store

import (
	"cmp"

	"gpupool/domain"
	"gpupool/domain/pool"
)

type lendingDayRow struct {
	DayAt       int64  `gorm:"column:day_at;primaryKey;autoIncrement:false"`
	OrgID       string `gorm:"column:org_id;primaryKey"`
	ClassID     string `gorm:"column:class_id;primaryKey"`
	UnusedGPUMs int64  `gorm:"column:unused_gpums"`
	UntilAt     int64  `gorm:"column:until_at"`
}

func (lendingDayRow) TableName() string { return "lending_days" }

func (r lendingDayRow) noun() (domain.LendingDay, error) {
	return domain.LendingDay{
		Org: pool.OrgID(r.OrgID), Class: pool.ClassID(r.ClassID), Day: pool.Instant(r.DayAt),
		Unused: pool.GPUMillis(r.UnusedGPUMs), Until: pool.Instant(r.UntilAt),
	}, nil
}

// LendingDays that begin in [from, to), by day, member and class.
func (t *tx) LendingDays(from, to pool.Instant) ([]domain.LendingDay, error) {
	return all(t, lendingDayRow.noun, "day_at, org_id, class_id", "day_at >= ? AND day_at < ?", from, to)
}

// SaveLendingDay inserts the day or replaces what was integrated so far.
func (t *tx) SaveLendingDay(d domain.LendingDay) error {
	if err := cmp.Or(needed(d.Org), needed(d.Class)); err != nil {
		return err
	}
	row := lendingDayRow{
		DayAt: int64(d.Day), OrgID: string(d.Org), ClassID: string(d.Class), UnusedGPUMs: int64(d.Unused), UntilAt: int64(d.Until),
	}
	return put(t, row, []string{"day_at", "org_id", "class_id"}, []string{"unused_gpums", "until_at"})
}
