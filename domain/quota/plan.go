package quota

import "gpupool/domain/pool"

// Plan is a decision. Applied to its snapshot and decided again at the same
// moment it is empty, except for what still waits.
type Plan struct {
	Version   int64
	Admit     []Admission      // start now
	Covers    []CoverChange    // running attempts whose charge changes from now on
	Reclaim   []Promise        // new promises: give notice to the victims
	Withdrawn []Withdrawal     // stored promises that are over without having been used
	Stop      []Stop           // running attempts that end for no other job: notice now
	Resume    []pool.AttemptID // attempts under such a notice that run on after all
	Above     []Above          // guaranteed work whose quota was cut under it, or holds it again
	ToBurst   []pool.AttemptID // of that, what goes on as burst work; its split stands in Covers
	ToSpot    []pool.AttemptID // running burst work that goes on as spot; its split stands in Covers
	Reserved  []Reservation    // what backfill must leave alone, at most one per class
	Wait      []Waiting        // every pending job that isn't admitted, in queue order
	// Next is the soonest instant after now at which, with this plan applied,
	// the decision could change though nothing happens; pool.Never when there is
	// none. Where what holds a job moves all the time (what is committed against
	// a budget, decayed use), it is at most a minute from now.
	Next     pool.Instant
	Problems []string // where the snapshot contradicts itself
}

// Changes tells whether applying the plan would change anything.
func (p Plan) Changes() bool {
	return len(p.Admit)+len(p.Covers)+len(p.Reclaim)+len(p.Withdrawn) > 0 || p.Enforces()
}

// Enforces tells whether the plan stops or changes running work for no other
// job: for money, for lost hardware, or because a quota was cut.
func (p Plan) Enforces() bool {
	return len(p.Stop)+len(p.Resume)+len(p.ToSpot)+len(p.Above)+len(p.ToBurst) > 0
}

// Admission starts a job now. Where the job had a promise, that is used up.
type Admission struct {
	Job       pool.JobID
	Class     pool.ClassID
	Placement []NodeGPUs // by node id
	Split     pool.Split
	MaxEnd    pool.Instant // now + maximum run time, pool.Never when none
}

// CoverChange is a new split of a running attempt, from the plan's now on.
type CoverChange struct {
	Attempt pool.AttemptID
	Split   pool.Split
}

// Rule is why work of one job may be stopped for another.
type Rule string

const (
	ByQuota    Rule = "quota"    // the owner takes its guaranteed GPUs back
	ByPriority Rule = "priority" // higher priority of the same organisation
	ByFairness Rule = "fairness" // a poorer borrower takes from a richer one
	OverSpot   Rule = "spot"     // paid work takes the place of spot work
)

// Promise is GPUs being freed for a waiting job. In every count but the
// physical one the victims are gone and the beneficiary runs.
type Promise struct {
	Job       pool.JobID
	Class     pool.ClassID
	Placement []NodeGPUs
	Victims   []pool.AttemptID // by id; may be empty when it takes what others already free
	StopAt    pool.Instant     // signal now, stop then
	Rule      Rule
	Sent      bool // the stop was sent: it can't be withdrawn any more
}

// WithdrawReason is why a promise ended unused.
type WithdrawReason string

const (
	Cancelled WithdrawReason = "cancelled" // the job waits no more
	Elsewhere WithdrawReason = "elsewhere" // the job fits without it; it is in Plan.Admit
	Overdue   WithdrawReason = "overdue"   // a victim isn't gone in time: an alarm
	NodeLost  WithdrawReason = "node_lost" // its nodes can't take the job any more
	Unpayable WithdrawReason = "unpayable" // the money for its job ran out
	Unfounded WithdrawReason = "unfounded" // it counted on victims of a promise that is over and has no claim on them itself, or its quota was cut
)

// Withdrawal ends a promise. Keep are the victims to which no stop was sent:
// they run on.
type Withdrawal struct {
	Job  pool.JobID
	Why  WithdrawReason
	Keep []pool.AttemptID
}

// Waiting is one job that isn't admitted, with every reason that holds it.
type Waiting struct {
	Job      pool.JobID
	Reasons  []pool.Reason // the heaviest first; shared, not to be changed
	Position int           // in its organisation's queue for its first class, from 1
	Promised bool          // GPUs are being freed for it
}

// Reservation keeps GPUs for a blocked job that can start at At by declared
// ends. It isn't stored: each decision makes it anew.
type Reservation struct {
	Job       pool.JobID
	Class     pool.ClassID
	At        pool.Instant
	Placement []NodeGPUs
}
