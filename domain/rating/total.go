// Package rating turns a period's totals of metered use into rated lines. It
// is pure: lines depend on the totals, the plan windows and the price rows,
// never on the order in which use became known.
package rating

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"gpupool/domain/meter"
	"gpupool/domain/money"
	"gpupool/domain/pool"
)

// Segment is a piece of metered use, as the meter makes it.
type Segment = meter.Segment

// Bucket is what use is summed over: it decides the price and who pays.
type Bucket struct {
	Account     pool.AccountID
	Class       pool.ClassID
	Cover       pool.Cover
	PriceRow    pool.PriceRowID
	PlanVersion pool.PlanVersionID
	Project     pool.ProjectID
	User        pool.UserID
	Job         pool.JobID
}

// Total is the use of one bucket in a period, reversals deducted: never negative.
type Total struct {
	Bucket
	Use pool.GPUMillis
}

// ErrNegativeUse says that more was reversed than was metered.
var ErrNegativeUse = errors.New("more use was taken back than was metered")

// Totals sums segments by bucket, ordered. Empty buckets are left out. The
// store may sum in SQL instead and must come to the same.
func Totals(segments []Segment) ([]Total, error) {
	sums := map[Bucket]pool.GPUMillis{}
	for _, s := range segments {
		sums[Bucket{s.Account, s.Class, s.Cover, s.PriceRow, s.PlanVersion, s.Project, s.User, s.Attempt.Job}] += s.Use()
	}
	var out []Total
	for b, use := range sums {
		if use < 0 {
			return nil, fmt.Errorf("job %s, %s as %s: %w", b.Job, b.Class, b.Cover, ErrNegativeUse)
		}
		if use > 0 {
			out = append(out, Total{b, use})
		}
	}
	slices.SortFunc(out, func(a, b Total) int { return compareBuckets(a.Bucket, b.Bucket) })
	return out, nil
}

func compareBuckets(a, b Bucket) int {
	return cmp.Or(cmp.Compare(a.Account, b.Account), cmp.Compare(a.Class, b.Class),
		cmp.Compare(coverRank(a.Cover), coverRank(b.Cover)), cmp.Compare(a.PriceRow, b.PriceRow),
		cmp.Compare(a.PlanVersion, b.PlanVersion), cmp.Compare(a.Project, b.Project),
		cmp.Compare(a.User, b.User), cmp.Compare(a.Job, b.Job))
}

func coverRank(c pool.Cover) int { return slices.Index(pool.Covers, c) }

// PriceRow is a row of a published price list: when it applies and what a
// GPU-hour costs. LenderShare is what a lender gets of it. MinimumRun is the
// time that an attempt is charged at least, in milliseconds per GPU; 0, the
// default, means no minimum.
type PriceRow struct {
	meter.PriceWindow
	List        pool.PriceListID
	Price       money.Price
	LenderShare money.BasisPoints
	MinimumRun  int64
}

// PlanWindow is a plan version in force for an organisation over an interval:
// its monthly fee, the included GPU-milliseconds a month by class, and the
// billing account that pays the fee. One interval may be longer than a period.
type PlanWindow struct {
	Version  pool.PlanVersionID
	Account  pool.AccountID
	Valid    pool.Interval
	Fee      money.Amount
	Included map[pool.ClassID]pool.GPUMillis
}

// Hours is n GPU-hours, for included hours.
func Hours(n int64) pool.GPUMillis { return pool.GPUMillis(n * pool.MillisPerHour) }

// Digest is the SHA-256 over the canonical form of segments, in hex.
func Digest(segments []Segment) string { return meter.Digest(segments) }
