package store

import (
	"cmp"

	"gpupool/domain"
	"gpupool/domain/meter"
	"gpupool/domain/pool"
)

type meterRow struct {
	AllocID      string `gorm:"column:alloc_id;primaryKey"`
	JobID        string `gorm:"column:job_id"`
	N            int64  `gorm:"column:n"`
	OrgID        string `gorm:"column:org_id"`
	NodeID       string `gorm:"column:node_id"`
	GPUs         int64  `gorm:"column:gpus"`
	Devices      string `gorm:"column:devices"`
	MeteredFrom  int64  `gorm:"column:metered_from"`
	MeteredUntil int64  `gorm:"column:metered_until"`
	EndAt        int64  `gorm:"column:end_at"`
	Quality      string `gorm:"column:quality"`
	Closed       bool   `gorm:"column:closed"`
}

func (meterRow) TableName() string { return "meters" }

func rowOfMeter(m domain.Meter) meterRow {
	return meterRow{
		AllocID: string(m.Alloc), JobID: string(m.Attempt.Job), N: int64(m.Attempt.N), OrgID: string(m.Org), NodeID: string(m.Node),
		GPUs: int64(m.GPUs), Devices: toJSON(m.Devices), MeteredFrom: int64(m.From), MeteredUntil: int64(m.Until),
		EndAt: int64(m.End), Quality: string(m.Quality), Closed: m.Closed,
	}
}

func (r meterRow) noun() (domain.Meter, error) {
	m := domain.Meter{
		Alloc: pool.AllocID(r.AllocID), Attempt: pool.AttemptID{Job: pool.JobID(r.JobID), N: int(r.N)}, Org: pool.OrgID(r.OrgID),
		Node: pool.NodeID(r.NodeID), GPUs: int(r.GPUs), From: pool.Instant(r.MeteredFrom), Until: pool.Instant(r.MeteredUntil),
		End: pool.Instant(r.EndAt), Quality: meter.Quality(r.Quality), Closed: r.Closed,
	}
	return m, fromJSON("devices", r.Devices, &m.Devices)
}

func (t *tx) Meter(a pool.AllocID) (domain.Meter, error) {
	if err := needed(a); err != nil {
		return domain.Meter{}, err
	}
	return one(t, meterRow.noun, "alloc_id = ?", a)
}

// MetersOf the attempt, by allocation.
func (t *tx) MetersOf(a pool.AttemptID) ([]domain.Meter, error) {
	if err := neededAttempt(a); err != nil {
		return nil, err
	}
	return all(t, meterRow.noun, "alloc_id", "job_id = ? AND n = ?", a.Job, a.N)
}

// OpenMeters of all members, by allocation.
func (t *tx) OpenMeters() ([]domain.Meter, error) {
	return all(t, meterRow.noun, "alloc_id", "NOT closed")
}

// OpenMetersOf one member, by allocation.
func (t *tx) OpenMetersOf(org pool.OrgID) ([]domain.Meter, error) {
	if err := needed(org); err != nil {
		return nil, err
	}
	return all(t, meterRow.noun, "alloc_id", "org_id = ? AND NOT closed", org)
}

func (t *tx) InsertMeter(m domain.Meter) error {
	if err := cmp.Or(needed(m.Alloc), neededAttempt(m.Attempt), needed(m.Org)); err != nil {
		return err
	}
	return insert(t, rowOfMeter(m))
}

// UpdateMeter writes the end, its quality, whether it is closed and the
// devices; From and Until change by compare-and-set only.
func (t *tx) UpdateMeter(m domain.Meter) error {
	if err := needed(m.Alloc); err != nil {
		return err
	}
	return change(t, rowOfMeter(m), []string{"end_at", "quality", "closed", "devices"}, "alloc_id = ?", m.Alloc)
}

// AdvanceMeter claims [from, to) for the caller, who then appends its segments
// in the same transaction; false: somebody else metered from there. The claim
// and the segments commit together or not at all.
func (t *tx) AdvanceMeter(a pool.AllocID, from, to pool.Instant) (bool, error) {
	if err := needed(a); err != nil {
		return false, err
	}
	if to <= from {
		return false, domain.Errf(domain.Invalid, "A meter only moves forward.")
	}
	n, err := t.exec("UPDATE meters SET metered_until = ? WHERE alloc_id = ? AND metered_until = ?", to, a, from)
	return n == 1, err
}

// ExtendMeterBack claims [to, from) before what is metered, for a start that
// was found later; false: somebody else did.
func (t *tx) ExtendMeterBack(a pool.AllocID, from, to pool.Instant) (bool, error) {
	if err := needed(a); err != nil {
		return false, err
	}
	if to >= from {
		return false, domain.Errf(domain.Invalid, "A meter's start only moves back.")
	}
	n, err := t.exec("UPDATE meters SET metered_from = ? WHERE alloc_id = ? AND metered_from = ?", to, a, from)
	return n == 1, err
}
