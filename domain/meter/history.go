package meter

import "gpupool/domain/pool"

// Run is one allocation of an attempt: what never changes, and the GPUs it
// held.
type Run struct {
	Alloc   pool.AllocID
	Attempt pool.AttemptID
	Org     pool.OrgID
	User    pool.UserID
	Class   pool.ClassID
	Node    pool.NodeID
	Source  string
	Devices []string // UUIDs of the GPUs, the evidence of the count; doubles count once
	Offset  int      // GPUs of the attempt's earlier allocations; 0 unless it is a gang
	Held    Held
}

// CoverRow says as what the GPUs of a whole attempt are charged from an
// instant on, until the next row. It was decided then and is never derived.
type CoverRow struct {
	From  pool.Instant
	Split pool.Split
}

// PriceWindow says when a price row applies: inside Valid, at the hours of
// Daily. The price itself is no business of the meter. When several rows apply
// the one that became valid last wins, then the one with a time of day, then
// the smaller id.
type PriceWindow struct {
	ID    pool.PriceRowID
	Class pool.ClassID
	Cover pool.Cover
	Valid pool.Interval
	Daily TimeOfDay
}

// TimeOfDay is a daily window in minutes after midnight of the billing zone,
// [From, To). To <= From wraps over midnight: {22*60, 6*60} is 22:00 to 06:00.
// The zero value and {0, 24*60} are the whole day.
type TimeOfDay struct{ From, To int }

// WholeDay tells whether the window does not restrict anything.
func (d TimeOfDay) WholeDay() bool { return d.From == 0 && d.To%(24*60) == 0 }

// PlanWindow says which plan version the organisation had.
type PlanWindow struct {
	Valid   pool.Interval
	Version pool.PlanVersionID
}

// Assignment says to which project, and through it to which billing account,
// the use of a job belonged.
type Assignment struct {
	Valid   pool.Interval
	Project pool.ProjectID
	Account pool.AccountID
}

// History is everything that Fold looks at for one allocation. The slices may
// be in any order and hold more than is needed.
type History struct {
	Run         Run
	Covers      []CoverRow
	Prices      []PriceWindow
	Plans       []PlanWindow
	Assignments []Assignment
}
