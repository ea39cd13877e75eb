// Package meter folds what was observed of an allocation into immutable usage
// segments. It is pure: the store keeps the segments append-only and makes
// sure by compare-and-set that no millisecond is metered twice.
package meter

import "gpupool/domain/pool"

// Quality tells how well the ends of a segment are known.
type Quality string

const (
	Exact     Quality = "exact"
	Estimated Quality = "estimated" // the end was concluded, not observed
)

// Segment is an immutable piece of metered use: GPUs of one allocation under
// one cover, price row, plan version, project and billing account. It names no
// lender. End > Start, GPUs > 0, Sign is +1 or -1 (a reversal).
type Segment struct {
	Seq         int64 // per billing account, given by the store; 0 before
	Alloc       pool.AllocID
	Attempt     pool.AttemptID
	Start, End  pool.Instant
	Class       pool.ClassID
	GPUs        int
	Cover       pool.Cover
	PriceRow    pool.PriceRowID
	PlanVersion pool.PlanVersionID // empty where no plan was in force
	Org         pool.OrgID
	Project     pool.ProjectID
	User        pool.UserID
	Account     pool.AccountID
	Node        pool.NodeID
	Source      string // who observed it, e.g. nomad
	Quality     Quality
	Sign        int
	Revision    int
}

// Interval is [Start, End).
func (s Segment) Interval() pool.Interval { return pool.Interval{Start: s.Start, End: s.End} }

// Use is the signed quantity: GPUs times milliseconds times Sign.
func (s Segment) Use() pool.GPUMillis {
	return pool.GPUMillis(int64(s.GPUs) * s.Interval().Millis() * int64(s.Sign))
}

// Key is unique in the ledger; writing it is what makes a segment counted once.
type Key struct {
	Alloc    pool.AllocID
	Start    pool.Instant
	Cover    pool.Cover
	Revision int
	Sign     int
}

func (s Segment) Key() Key { return Key{s.Alloc, s.Start, s.Cover, s.Revision, s.Sign} }
