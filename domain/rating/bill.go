package rating

import (
	"slices"
	"time"

	"gpupool/domain/pool"
)

// Basis is all that the regular invoice of one billing account for one month
// is computed from.
type Basis struct {
	Account  pool.AccountID
	Timing   Timing
	Month    pool.Month
	Zone     *time.Location
	Use      Input // the organisation's month, all its accounts; Period is set by Bill
	Promises []Promise
	PaidFees []Line // fee lines of Month on earlier invoices (advance only)
	Late     []LateMonth
}

// LateMonth is a closed month for which use became known or was corrected
// after its invoice. Accounts of one organisation share included hours, so late
// use of one may move the lines of the others: give the month to all of them.
type LateMonth struct {
	Month    pool.Month
	Use      Input  // all that is known of it now
	Billed   []Line // the variable lines of the account on earlier invoices, adjustments included
	Promises []Promise
}

// Bill gives the lines of the regular invoice: use of the month, its fee (or
// the next month's, in advance), then adjustments of closed months.
func Bill(b Basis) ([]Line, error) {
	lines, err := usageOf(b.Account, b.Month, b.Zone, b.Use, b.Promises)
	if err != nil {
		return nil, err
	}
	fees := For(b.Account, MonthFees(b.Timing, b.Use.Plans, b.Month, b.Zone, b.PaidFees))
	lines = append(fees, lines...)
	late := slices.Clone(b.Late)
	slices.SortFunc(late, func(x, y LateMonth) int {
		if x.Month.Before(y.Month) {
			return -1
		}
		return 1
	})
	for _, l := range late {
		right, err := usageOf(b.Account, l.Month, b.Zone, l.Use, l.Promises)
		if err != nil {
			return nil, err
		}
		lines = append(lines, Adjust(l.Month, l.Billed, right)...)
	}
	return lines, nil
}

func usageOf(account pool.AccountID, m pool.Month, zone *time.Location, in Input, promises []Promise) ([]Line, error) {
	in.Period = m.Bounds(zone)
	lines, err := Rate(in)
	if err != nil {
		return nil, err
	}
	return For(account, Keep(lines, promises)), nil
}
