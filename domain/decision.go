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

	mu      sync.Mutex
	waits   map[pool.JobID]int // after it: where in Snapshot.Pending
	looked  pool.Instant       // when
	outlook *quota.Outlook     // was made; nil: nobody asked yet
}

// LastDecision is nil before the first.
func (s *Service) LastDecision() *Decision {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last
}

// Explained is the state that the plan leaves, by class. It is shared: never
// change it.
func (d *Decision) Explained() []quota.ClassState {
	d.once.Do(func() { d.classes = quota.Explain(d.Snapshot, d.Plan, d.At) })
	return d.classes
}

// looksFor bounds the decisions of a forecast by the length of the queue, so
// that a page stays quick: fewer looks give later bounds, never earlier ones.
func looksFor(s quota.Snapshot) int {
	if len(s.Pending) > 2000 {
		return 8
	}
	return 24
}
