package domain

import (
	"gpupool/domain/pool"
	"gpupool/domain/quota"
)

// Decision is the engine's last plan with what it was made from.
type Decision struct {
	At       pool.Instant
	Snapshot quota.Snapshot
	Plan     quota.Plan
}

// LastDecision is nil before the first.
func (s *Service) LastDecision() *Decision {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last
}
