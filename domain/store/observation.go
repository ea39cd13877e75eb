package store

import (
	"cmp"
	"fmt"
	"math"

	"gpupool/domain"
	"gpupool/domain/pool"
)

type observationRow struct {
	AllocID     string `gorm:"column:alloc_id;primaryKey"`
	ModifyIndex int64  `gorm:"column:modify_index;primaryKey;autoIncrement:false"`
	JobID       string `gorm:"column:job_id"`
	N           int64  `gorm:"column:n"`
	Run         string `gorm:"column:run"`
	ReceivedAt  int64  `gorm:"column:received_at"`
}

func (observationRow) TableName() string { return "observations" }

func (r observationRow) noun() (domain.Observation, error) {
	o := domain.Observation{
		Alloc: pool.AllocID(r.AllocID), ModifyIndex: uint64(r.ModifyIndex),
		Attempt: pool.AttemptID{Job: pool.JobID(r.JobID), N: int(r.N)}, ReceivedAt: pool.Instant(r.ReceivedAt),
	}
	return o, fromJSON("run", r.Run, &o.Run)
}

// InsertObservation stores what was seen once; false when the allocation was
// seen at this index before.
func (t *tx) InsertObservation(o domain.Observation) (bool, error) {
	if err := cmp.Or(needed(o.Alloc), neededAttempt(o.Attempt)); err != nil {
		return false, err
	}
	if o.ModifyIndex > math.MaxInt64 {
		return false, fmt.Errorf("store: modify index %d of %s is out of range", o.ModifyIndex, o.Alloc)
	}
	return insertNew(t, observationRow{
		AllocID: string(o.Alloc), ModifyIndex: int64(o.ModifyIndex), JobID: string(o.Attempt.Job), N: int64(o.Attempt.N),
		Run: toJSON(o.Run), ReceivedAt: int64(o.ReceivedAt),
	})
}

// Observations are the latest one of each allocation of the attempt, by allocation.
func (t *tx) Observations(a pool.AttemptID) ([]domain.Observation, error) {
	if err := neededAttempt(a); err != nil {
		return nil, err
	}
	return all(t, observationRow.noun, "alloc_id", `job_id = ? AND n = ? AND modify_index =
		(SELECT MAX(o.modify_index) FROM observations AS o WHERE o.alloc_id = observations.alloc_id)`, a.Job, a.N)
}
