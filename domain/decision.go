package domain

import (
	"sync"

	"gpupool/domain/pool"
	"gpupool/domain/quota"
)

// Decision is the engine's last plan with what it was made from.
type Decision struct {
	At       pool.Instant
	Snapshot quota.Snapshot
	Plan     quota.Plan

	once    sync.Once // what only the operator's pages ask is made when they do
	classes []quota.ClassState
	starts  map[pool.JobID]pool.Instant
}

// LastDecision is nil before the first.
func (s *Service) LastDecision() *Decision {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last
}

// Explained is the state that the plan leaves, by class, and when the waiting
// jobs start by the declared ends. Both are shared: never change them.
func (d *Decision) Explained() ([]quota.ClassState, map[pool.JobID]pool.Instant) {
	d.once.Do(func() {
		d.classes = quota.Explain(d.Snapshot, d.Plan, d.At)
		d.starts = quota.Starts(d.Snapshot, d.Plan, d.At, looksFor(d.Snapshot))
	})
	return d.classes, d.starts
}

// looksFor bounds the decisions of a forecast by the length of the queue, so
// that a page stays quick: fewer looks give later bounds, never earlier ones.
func looksFor(s quota.Snapshot) int {
	if len(s.Pending) > 2000 {
		return 8
	}
	return 24
}
