package domain

import (
	"gpupool/domain/meter"
	"gpupool/domain/pool"
)

// Segment is a row of the append-only ledger. Seq counts per billing account
// from 1 without gaps and is given by the store.
type Segment = meter.Segment

// Observation is what Nomad said of an allocation, stored once by
// (Alloc, ModifyIndex).
type Observation struct {
	Alloc       pool.AllocID
	ModifyIndex uint64
	Attempt     pool.AttemptID
	Run         Run // as seen; stored as JSON
	ReceivedAt  pool.Instant
}

// CoverRow is a decided change of cover: from From on the attempt is charged
// as Split. The past is never re-covered.
type CoverRow struct {
	Attempt pool.AttemptID
	From    pool.Instant
	Split   pool.Split
}

// Meter is the state of metering of one allocation: its use is in the ledger
// for [From, Until).
type Meter struct {
	Alloc   pool.AllocID
	Attempt pool.AttemptID
	Org     pool.OrgID
	Node    pool.NodeID
	GPUs    int
	Devices []string
	From    pool.Instant // start of charged use
	Until   pool.Instant // metered until here
	End     pool.Instant // pool.Never while it runs
	Quality meter.Quality
	Closed  bool // Until == End, nothing more will come
}

// LoanUse is what a member borrowed of a class, decayed to At with the engine's
// half-life, and how many GPUs it borrows since.
type LoanUse struct {
	Org   pool.OrgID
	Class pool.ClassID
	Use   pool.GPUMillis
	At    pool.Instant
	Rate  int
}

// LendingDay is a member's integrated unused lendable quota of one day of
// the billing zone.
type LendingDay struct {
	Org    pool.OrgID
	Class  pool.ClassID
	Day    pool.Instant // its first instant
	Unused pool.GPUMillis
	Until  pool.Instant // integrated until here
}
