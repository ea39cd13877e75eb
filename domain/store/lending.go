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

type loanUseRow struct {
	OrgID    string `gorm:"column:org_id;primaryKey"`
	ClassID  string `gorm:"column:class_id;primaryKey"`
	UseGPUMs int64  `gorm:"column:use_gpums"`
	AtMs     int64  `gorm:"column:at_ms"`
	Rate     int64  `gorm:"column:rate"`
}

func (loanUseRow) TableName() string { return "loan_use" }

func (r loanUseRow) noun() (domain.LoanUse, error) {
	return domain.LoanUse{Org: pool.OrgID(r.OrgID), Class: pool.ClassID(r.ClassID), Use: pool.GPUMillis(r.UseGPUMs), At: pool.Instant(r.AtMs), Rate: int(r.Rate)}, nil
}

// LoanUses are the decayed loans of all members.
func (t *tx) LoanUses() ([]domain.LoanUse, error) {
	return all(t, loanUseRow.noun, "org_id, class_id", "")
}

// SaveLoanUse inserts the loan use of a member in a class or replaces it.
func (t *tx) SaveLoanUse(u domain.LoanUse) error {
	if err := cmp.Or(needed(u.Org), needed(u.Class)); err != nil {
		return err
	}
	row := loanUseRow{OrgID: string(u.Org), ClassID: string(u.Class), UseGPUMs: int64(u.Use), AtMs: int64(u.At), Rate: int64(u.Rate)}
	return put(t, row, []string{"org_id", "class_id"}, []string{"use_gpums", "at_ms", "rate"})
}
