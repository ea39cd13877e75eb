package rating

import (
	"slices"

	"gpupool/domain/money"
	"gpupool/domain/pool"
)

// Commitment is what an admitted, running or asked-for job may still use: its
// GPUs times the maximum run that is left inside the period, over all its
// attempts.
type Commitment struct {
	Job     pool.JobID
	Project pool.ProjectID
	Account pool.AccountID
	Class   pool.ClassID
	Tier    pool.Tier
	Use     pool.GPUMillis
	Plan    pool.PlanVersionID // in force from now to the period's end
}

// Reach are the covers under which a job of the tier can come to run.
func Reach(t pool.Tier) []pool.Cover {
	switch t {
	case pool.Guaranteed:
		return []pool.Cover{pool.Own}
	case pool.Burst:
		return []pool.Cover{pool.Own, pool.Loan}
	default:
		return []pool.Cover{pool.SpotCover}
	}
}

// Dearest is the dearest row for class and cover that is in force at any
// moment of the span, at any time of day, announced lists included. False when
// there is none. Ties go to the smaller id.
func Dearest(rows []PriceRow, class pool.ClassID, c pool.Cover, span pool.Interval) (PriceRow, bool) {
	var best PriceRow
	found := false
	for _, r := range rows {
		if r.Class != class || r.Cover != c || !r.Valid.Overlaps(span) {
			continue
		}
		if !found || r.Price > best.Price || r.Price == best.Price && r.ID < best.ID {
			best, found = r, true
		}
	}
	return best, found
}

// UpTo is the "up to" shown at submit: use at the dearest cover and price row
// the job can fall to at any time after now, rounded up to a whole minor unit.
// Included hours are not counted on, for others may burn them first. What a
// job is charged beyond it is waived (Keep). False when the class has no price
// for a cover that the tier can reach.
func UpTo(rows []PriceRow, class pool.ClassID, t pool.Tier, use pool.GPUMillis, now pool.Instant) (money.Amount, bool) {
	var price money.Price
	for _, c := range Reach(t) {
		row, ok := Dearest(rows, class, c, pool.Interval{Start: now, End: pool.Never})
		if !ok {
			return 0, false
		}
		price = max(price, row.Price)
	}
	return money.ChargeUp(use, price), true
}

// Exposure is what the period's variable charges can come to: Rate of what is
// used and committed. Included hours count first, so a cap of zero still runs
// what the fee covers. Flexible commitments of a class count either all as own
// or all as loan, whichever is dearer: the charge is convex in what is own, so
// no mixture costs more. now is where the commitments begin; a commitment
// without a price row in [now, period end) is an error as in Rate.
func Exposure(in Input, committed []Commitment, now pool.Instant) (money.Amount, error) {
	classes := map[pool.ClassID]bool{}
	for _, t := range in.Totals {
		classes[t.Class] = true
	}
	for _, c := range committed {
		classes[c.Class] = true
	}
	order := make([]pool.ClassID, 0, len(classes))
	for c := range classes {
		order = append(order, c)
	}
	slices.Sort(order)
	var total money.Amount
	for _, class := range order {
		most, err := exposureOf(in, class, committed, now)
		if err != nil {
			return 0, err
		}
		if total, err = total.Add(most); err != nil {
			return 0, err
		}
	}
	return total, nil
}

// exposureOf is the exposure of one class: classes share nothing.
func exposureOf(in Input, class pool.ClassID, committed []Commitment, now pool.Instant) (money.Amount, error) {
	one := in
	one.Totals = ofClass(in.Totals, func(t Total) pool.ClassID { return t.Class }, class)
	one.Short = ofClass(in.Short, func(s Shortfall) pool.ClassID { return s.Class }, class)
	one.Waivers = ofClass(in.Waivers, func(w Waived) pool.ClassID { return w.Class }, class)
	jobs := ofClass(committed, func(c Commitment) pool.ClassID { return c.Class }, class)
	var most money.Amount
	for i, pick := range []func([]pool.Cover) pool.Cover{
		func(reach []pool.Cover) pool.Cover { return reach[0] },
		func(reach []pool.Cover) pool.Cover { return reach[len(reach)-1] },
	} {
		with := one
		with.Totals = slices.Clone(one.Totals)
		for _, c := range jobs {
			with.Totals = append(with.Totals, c.as(pick(Reach(c.Tier)), in.Prices, pool.Interval{Start: now, End: in.Period.End}))
		}
		lines, err := Rate(with)
		if err != nil {
			return 0, err
		}
		cost, err := Charges(lines)
		if err != nil {
			return 0, err
		}
		if i == 0 || cost > most {
			most = cost
		}
	}
	return most, nil
}

// as is the commitment as use of the dearest row of a cover. Without a row its
// PriceRow stays empty, which Rate refuses.
func (c Commitment) as(cover pool.Cover, rows []PriceRow, span pool.Interval) Total {
	row, _ := Dearest(rows, c.Class, cover, span)
	return Total{Bucket{Account: c.Account, Class: c.Class, Cover: cover, PriceRow: row.ID, PlanVersion: c.Plan,
		Project: c.Project, Job: c.Job}, c.Use}
}

func ofClass[T any](in []T, class func(T) pool.ClassID, want pool.ClassID) []T {
	var out []T
	for _, x := range in {
		if class(x) == want {
			out = append(out, x)
		}
	}
	return out
}
