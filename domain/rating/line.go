package rating

import (
	"cmp"
	"slices"

	"gpupool/domain/money"
	"gpupool/domain/pool"
)

// Kind of a rated line.
type Kind string

const (
	Fee      Kind = "fee"      // monthly fee of a plan version
	Included Kind = "included" // own use that the fee covers; costs nothing
	Overage  Kind = "overage"  // own use beyond the included hours
	Loan     Kind = "loan"
	Spot     Kind = "spot"
	Minimum  Kind = "minimum" // the rest up to the minimum charge
	Waiver   Kind = "waiver"  // negative; names its cause
)

// Kinds in the order in which lines are printed.
var Kinds = []Kind{Fee, Included, Overage, Loan, Spot, Minimum, Waiver}

// Variable tells whether the kind counts against caps: all but the fee.
func (k Kind) Variable() bool { return k != Fee }

// Line is one priced position. Parts divide Quantity and Amount by project,
// user and job and sum to both exactly. A fee has no quantity and no parts.
//
// Amount is Charge(Quantity, Price), rounded once, except on the lines that
// are a difference of two ratings, each rounded once: waivers (negative or 0)
// and adjustments. So a position and its corrections always sum to what the
// position would cost if it had been right from the start.
type Line struct {
	Kind     Kind
	Account  pool.AccountID
	Class    pool.ClassID
	Cover    pool.Cover
	PriceRow pool.PriceRowID
	Plan     pool.PlanVersionID // fee only
	Cause    Cause              // waiver only
	Service  pool.Interval      // the time that the line is for
	Quantity pool.GPUMillis
	Price    money.Price
	Amount   money.Amount
	Parts    []Part
	// Adjusts is the closed month that the line corrects, as 2026-10; empty for
	// the regular lines of a month.
	Adjusts string
}

// Part is one job's share of a line.
type Part struct {
	Project  pool.ProjectID
	User     pool.UserID
	Job      pool.JobID
	Quantity pool.GPUMillis
	Amount   money.Amount
}

// Key tells which position of an invoice a line is; a rating has each once.
type Key struct {
	Kind     Kind
	Account  pool.AccountID
	Class    pool.ClassID
	Cover    pool.Cover
	PriceRow pool.PriceRowID
	Plan     pool.PlanVersionID
	Cause    Cause
	Price    money.Price
	Start    pool.Instant // of the service period, for fees only
}

func (l Line) Key() Key {
	k := Key{l.Kind, l.Account, l.Class, l.Cover, l.PriceRow, l.Plan, l.Cause, l.Price, 0}
	if l.Kind == Fee {
		k.Start = l.Service.Start
	}
	return k
}

// Compare orders lines as they are printed; only a line with the same Key is
// its equal. Fees stand in the order of their time.
func (l Line) Compare(o Line) int {
	a, b := l.Key(), o.Key()
	return cmp.Or(cmp.Compare(a.Account, b.Account), cmp.Compare(slices.Index(Kinds, a.Kind), slices.Index(Kinds, b.Kind)),
		cmp.Compare(a.Start, b.Start), cmp.Compare(a.Class, b.Class), cmp.Compare(coverRank(a.Cover), coverRank(b.Cover)),
		cmp.Compare(a.PriceRow, b.PriceRow), cmp.Compare(a.Plan, b.Plan), cmp.Compare(a.Cause, b.Cause), cmp.Compare(a.Price, b.Price))
}

// Net is the sum of the lines.
func Net(lines []Line) (money.Amount, error) { return sum(lines, func(Line) bool { return true }) }

// Charges is the sum of the variable lines, which caps limit.
func Charges(lines []Line) (money.Amount, error) {
	return sum(lines, func(l Line) bool { return l.Kind.Variable() })
}

func sum(lines []Line, take func(Line) bool) (total money.Amount, err error) {
	for _, l := range lines {
		if take(l) {
			if total, err = total.Add(l.Amount); err != nil {
				return 0, err
			}
		}
	}
	return total, nil
}

// For returns the lines of one billing account.
func For(account pool.AccountID, lines []Line) []Line {
	var out []Line
	for _, l := range lines {
		if l.Account == account {
			out = append(out, l)
		}
	}
	return out
}
