package quota

import "gpupool/domain/pool"

// Answer is what would happen to a job that isn't there yet.
type Answer struct {
	Admitted  bool         // would start now
	Promised  bool         // would start when GPUs taken back for it are free
	Class     pool.ClassID // the class it gets; its first class while it waits
	Tier      pool.Tier
	Split     pool.Split // what it would be charged as at its start; zero while it waits
	Placement []NodeGPUs
	Reasons   []pool.Reason // while it waits
	Position  int
	// Start is an upper bound from declared ends, if nothing new is submitted
	// and no owner claims: now when admitted, pool.Never when it can't be told.
	Start pool.Instant
}

// Quote asks Decide about one more job.
func Quote(s Snapshot, j Job, now pool.Instant) Answer {
	return Answer{Tier: j.Tier, Start: ExpectedStart(s, j, now)}
}

// ExpectedStart is the latest start of a job, pending or new, by the declared
// ends of what runs and of what is started before it. pool.Never when that
// can't be told: work without a declared end is in the way.
func ExpectedStart(s Snapshot, j Job, now pool.Instant) pool.Instant {
	return pool.Never
}
