package store

import (
	"gpupool/domain"
	"gpupool/domain/pool"
	"gpupool/domain/quota"
)

type toldStartRow struct {
	JobID        string `gorm:"column:job_id;primaryKey"`
	AtMs         int64  `gorm:"column:at_ms"`
	Latest       int64  `gorm:"column:latest"`
	Early        int64  `gorm:"column:early"`
	Middle       int64  `gorm:"column:middle"`
	Late         int64  `gorm:"column:late"`
	PlayedEarly  int64  `gorm:"column:played_early"`
	PlayedMiddle int64  `gorm:"column:played_middle"`
	PlayedLate   int64  `gorm:"column:played_late"`
}

func (toldStartRow) TableName() string { return "told_starts" }

// cameRow is a told start with what came of it; it is no table.
type cameRow struct {
	Told  toldStartRow `gorm:"embedded"`
	Start int64        `gorm:"column:start"`
	Over  int64        `gorm:"column:over"`
}

func (c cameRow) noun() domain.ToldStart {
	r := c.Told
	i := func(x int64) pool.Instant { return pool.Instant(x) }
	return domain.ToldStart{Job: pool.JobID(r.JobID), At: i(r.AtMs), Latest: i(r.Latest),
		Likely: quota.Likely{Early: i(r.Early), Middle: i(r.Middle), Late: i(r.Late)},
		Played: quota.Likely{Early: i(r.PlayedEarly), Middle: i(r.PlayedMiddle), Late: i(r.PlayedLate)}, Start: i(c.Start), Over: i(c.Over)}
}

const toldStarts = `SELECT t.*, COALESCE(a.admitted_at, 0) AS start, CASE WHEN a.job_id IS NULL THEN j.ended_at ELSE 0 END AS over
	FROM told_starts t JOIN jobs j ON j.id = t.job_id LEFT JOIN attempts a ON a.job_id = t.job_id AND a.n = 1 `

// InsertToldStart keeps what a job was told; false when it was told before.
// What came of it is read from its first attempt.
func (t *tx) InsertToldStart(s domain.ToldStart) (bool, error) {
	if err := needed(s.Job); err != nil {
		return false, err
	}
	return insertNew(t, toldStartRow{JobID: string(s.Job), AtMs: int64(s.At), Latest: int64(s.Latest),
		Early: int64(s.Likely.Early), Middle: int64(s.Likely.Middle), Late: int64(s.Likely.Late),
		PlayedEarly: int64(s.Played.Early), PlayedMiddle: int64(s.Played.Middle), PlayedLate: int64(s.Played.Late)})
}

// ToldStarts are the starts that were told last, the newest first.
func (t *tx) ToldStarts(limit int) ([]domain.ToldStart, error) {
	return t.toldStarts("ORDER BY t.at_ms DESC, t.job_id LIMIT ?", max(0, limit))
}

// ToldStart is what a job was told; false when it was told nothing.
func (t *tx) ToldStart(id pool.JobID) (domain.ToldStart, bool, error) {
	all, err := t.toldStarts("WHERE t.job_id = ?", id)
	if err != nil || len(all) == 0 {
		return domain.ToldStart{}, false, err
	}
	return all[0], true, nil
}

func (t *tx) toldStarts(where string, args ...any) ([]domain.ToldStart, error) {
	var rows []cameRow
	if err := t.db.Raw(toldStarts+where, args...).Scan(&rows).Error; err != nil {
		return nil, fail(err)
	}
	out := make([]domain.ToldStart, len(rows))
	for i, r := range rows {
		out[i] = r.noun()
	}
	return out, nil
}

// SubmittedSince are the jobs of all members that were submitted at from or
// later, the newest first, without their logs.
func (t *tx) SubmittedSince(from pool.Instant, limit int) ([]domain.Job, error) {
	var rows []jobRow
	err := t.db.Where("submitted_at >= ?", from).Order("submitted_at DESC, id DESC").Limit(max(0, limit)).Find(&rows).Error
	return mapped(rows, fail(err), jobRow.noun)
}
