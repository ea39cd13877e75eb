package rating

import (
	"slices"
	"time"

	"gpupool/domain/pool"
)

// Timing is when a billing account pays the fee of a month.
type Timing string

const (
	Advance Timing = "advance" // with the invoice of the month before
	Arrears Timing = "arrears" // with the invoice of the month itself
)

// FeeLines are the fees of one month: a line per plan window, prorated by its
// seconds in the whole month, with its own service period. A change instant
// belongs to the new plan only.
func FeeLines(plans []PlanWindow, period pool.Interval) []Line {
	var out []Line
	for _, w := range inPeriod(plans, period) {
		if w.Fee == 0 {
			continue
		}
		out = append(out, Line{Kind: Fee, Account: w.Account, Plan: w.Version, Service: w.Valid,
			Amount: prorate(w.Fee, w.Valid, period)})
	}
	slices.SortStableFunc(out, Line.Compare)
	return out
}

// StartLines are the lines of the `start` invoice of an account that pays in
// advance: the rest of the month in which the plan begins. In arrears there is
// no such invoice and no line.
func StartLines(t Timing, plans []PlanWindow, month pool.Month, zone *time.Location) []Line {
	if t == Arrears {
		return nil
	}
	return FeeLines(plans, month.Bounds(zone))
}

// MonthFees are the fee lines of the regular invoice of a month. In arrears:
// the month's own fees. In advance: the next month's fees and, where the plan
// changed after the month was paid, the difference for the month itself;
// paid are the month's fee lines that stand on earlier invoices.
func MonthFees(t Timing, plans []PlanWindow, month pool.Month, zone *time.Location, paid []Line) []Line {
	own := FeeLines(plans, month.Bounds(zone))
	if t == Arrears {
		return own
	}
	return append(Adjust(month, paid, own), FeeLines(plans, month.Next().Bounds(zone))...)
}
