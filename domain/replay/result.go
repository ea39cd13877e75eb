package replay

import (
	"time"

	"gpupool/domain/pool"
	"gpupool/domain/quota"
)

// Options of a run.
type Options struct {
	// Until ends the run: what is running then is in flight, what is not
	// submitted yet is left out. pool.Never runs to the last end.
	Until pool.Instant
	// Lending off keeps every GPU with its owner.
	NoLending bool
	// Restart makes a preempted job begin again; else it goes on from the
	// checkpoint that it wrote at the signal.
	Restart bool
	cold    bool // decide from the snapshot each time, for tests
	// Calibrate asks about so many of the jobs that wait, up to twice as many,
	// evenly over the run; 0: about none.
	Calibrate int
}

// Attempt is one try of a job in a run.
type Attempt struct {
	N         int
	Class     pool.ClassID
	Placement []quota.NodeGPUs
	Admitted  pool.Instant
	Started   pool.Instant // after the set-up
	Notice    pool.Instant // 0: none
	StopAt    pool.Instant
	End       pool.Instant // pool.Never while it runs at Until
	MaxEnd    pool.Instant
	Planned   pool.Instant // when it ends if nothing stops it
	Covers    []Cover
	Promised  pool.JobID // who takes its GPUs, when it is under notice
	Rule      quota.Rule
	Kept      time.Duration // of its work that counts; what is beyond is done again
	Finished  bool          // the job ended with it
	TimeLimit bool
	Stopped   bool // for another job
}

// Cover is a decided split from an instant on.
type Cover struct {
	From  pool.Instant
	Split pool.Split
}

// Outcome is what became of a job.
type Outcome struct {
	Job
	Attempts []Attempt
	Reasons  []pool.Reason // while it waits at Until
	Position int
	Left     time.Duration // of its length, at Until
}

// Promise is a reclaim of the run.
type Promise struct {
	Job     pool.JobID
	Class   pool.ClassID
	Place   []quota.NodeGPUs
	Victims []pool.AttemptID
	Made    pool.Instant
	StopAt  pool.Instant
	Rule    quota.Rule
	Kept    pool.Instant // 0: not
	Over    pool.Instant // when it was withdrawn; 0: it wasn't
	Open    bool         // at Until
}

// Reservation is a time in which the engine kept GPUs of a class for one job,
// which could start at At by declared ends.
type Reservation struct {
	Class    pool.ClassID
	Job      pool.JobID
	From, To pool.Instant // To is pool.Never while it holds
	At       pool.Instant
	Place    []quota.NodeGPUs
}

// Result is everything that happened.
type Result struct {
	From, Until pool.Instant
	Jobs        []Outcome // in the order of the trace
	Promises    []Promise
	Reserved    []Reservation // in the order of From
	Preemptions int
	LostWork    pool.GPUMillis // work done again
	Decisions   int
	Problems    []string
	Expected    *Calibration       // nil: nobody asked
	Loans       []quota.DecayedUse // what members borrow at the end, and borrowed before, with the pool's half-life
	capacity    int
}

// close ends a run at its last end, where nothing else ended it.
func (r *Result) close() {
	if r.Until != pool.Never {
		return
	}
	r.Until = r.From
	for _, j := range r.Jobs {
		for _, a := range j.Attempts {
			if a.End != pool.Never {
				r.Until = max(r.Until, a.End)
			}
		}
	}
}
