package rating

import (
	"cmp"
	"slices"

	"gpupool/domain/money"
	"gpupool/domain/pool"
)

// ownUse burns the included hours of each class and charges the rest.
func (r *rating) ownUse() error {
	included, overage := r.burn(r.Totals)
	r.add(Included, included, false)
	r.add(Overage, overage, true)
	return nil
}

// burn divides the own use of the totals into what the fee covers and what it
// does not. The hours are one pool per class and period. They burn by plan
// window in time order, inside a window at the dearest price first, ties by
// price row. Where the pool ends inside a bucket, its jobs share what is left
// by largest remainder. Use under no plan burns nothing.
func (r *rating) burn(totals []Total) (included, overage []Total) {
	windows := r.windows()
	left := Pool(r.Plans, r.Period)
	for _, bucket := range r.ownBuckets(totals, windows) {
		weights, use := make([]int64, len(bucket)), pool.GPUMillis(0)
		for i, t := range bucket {
			weights[i] = int64(t.Use)
			use += t.Use
		}
		free := min(use, left[bucket[0].Class])
		if _, planned := windows[bucket[0].PlanVersion]; !planned {
			free = 0
		}
		left[bucket[0].Class] -= free
		for i, q := range money.Split(free, weights) {
			in, over := bucket[i], bucket[i]
			in.Use, over.Use = q, bucket[i].Use-q
			included, overage = append(included, in), append(overage, over)
		}
	}
	return included, overage
}

// windows ranks the plan versions of the period by their first instant.
func (r *rating) windows() map[pool.PlanVersionID]pool.Instant {
	first := map[pool.PlanVersionID]pool.Instant{}
	for _, w := range inPeriod(r.Plans, r.Period) {
		if at, ok := first[w.Version]; !ok || w.Valid.Start < at {
			first[w.Version] = w.Valid.Start
		}
	}
	return first
}

// ownBuckets groups own use by class, plan version and price row in the order
// in which it burns.
func (r *rating) ownBuckets(totals []Total, windows map[pool.PlanVersionID]pool.Instant) [][]Total {
	var own []Total
	for _, t := range totals {
		if t.Cover == pool.Own {
			own = append(own, t)
		}
	}
	order := func(a, b Total) int {
		return cmp.Or(cmp.Compare(a.Class, b.Class), cmp.Compare(windows[a.PlanVersion], windows[b.PlanVersion]),
			cmp.Compare(a.PlanVersion, b.PlanVersion),
			cmp.Compare(r.rows[b.PriceRow].Price, r.rows[a.PriceRow].Price), cmp.Compare(a.PriceRow, b.PriceRow))
	}
	slices.SortStableFunc(own, func(a, b Total) int { return cmp.Or(order(a, b), compareBuckets(a.Bucket, b.Bucket)) })
	var out [][]Total
	for i, t := range own {
		if i == 0 || order(own[i-1], t) != 0 {
			out = append(out, nil)
		}
		out[len(out)-1] = append(out[len(out)-1], t)
	}
	return out
}

// Pool is the included GPU-milliseconds by class in a period: each plan
// version's hours, prorated by its seconds in the whole period.
func Pool(plans []PlanWindow, period pool.Interval) map[pool.ClassID]pool.GPUMillis {
	left := map[pool.ClassID]pool.GPUMillis{}
	for _, w := range inPeriod(plans, period) {
		for class, hours := range w.Included {
			left[class] += prorate(hours, w.Valid, period)
		}
	}
	return left
}
