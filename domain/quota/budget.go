package quota

import (
	"math"
	"math/bits"

	"gpupool/domain/money"
	"gpupool/domain/pool"
)

// budgets holds what is committed against each limit. Its bound is never below
// what rating will charge: hours burn the dearest use first there, and pay for
// the cheapest first here.
type budgets struct {
	at      map[BudgetID]int
	list    []Budget
	classes int
	count   []int  // commitments, each of which was rounded up
	open    []line // of budget b and class c: b*classes+c, use that hours may pay for
	fixed   []int64
}

type line struct {
	use   int64 // GPU-milliseconds
	left  int64 // included hours that are unused
	price int64 // the dearest so far
}

func (e *engine) indexBudgets() {
	b := &e.budgets
	b.at = make(map[BudgetID]int, len(e.in.Budgets))
	b.classes = len(e.classes)
	for _, x := range e.in.Budgets {
		if _, twice := b.at[x.ID]; twice {
			e.problem("budget %s stands twice", x.ID)
			continue
		}
		b.at[x.ID] = len(b.list)
		b.list = append(b.list, x)
		lines := make([]line, b.classes)
		for _, i := range x.Included {
			if c, ok := e.classAt[i.Class]; ok {
				lines[c].left += max(0, int64(i.Left))
			}
		}
		b.open = append(b.open, lines...)
		b.fixed = append(b.fixed, 0)
		b.count = append(b.count, 0)
	}
}

// cost is GPU-milliseconds times a price per GPU-hour, in minor units, rounded
// up; it saturates.
func cost(use, price int64) int64 {
	if use <= 0 || price <= 0 {
		return 0
	}
	const unit = pool.MillisPerHour * 1_000_000
	hi, lo := bits.Mul64(uint64(use), uint64(price))
	lo, carry := bits.Add64(lo, unit-1, 0)
	if hi += carry; hi >= unit {
		return math.MaxInt64 / 4
	}
	q, _ := bits.Div64(hi, lo, unit)
	return int64(min(q, math.MaxInt64/4))
}

// span is how long GPUs are committed inside a period: all of it without a
// declared end, for ever without a period.
func span(x Budget, now, end pool.Instant) int64 {
	if x.Period.End > 0 {
		end = min(end, x.Period.End)
	}
	if end == pool.Never {
		return math.MaxInt64 / maxGPUs / 4
	}
	return max(0, min(int64(end-now), math.MaxInt64/maxGPUs/4))
}

// commit adds (sign 1) or takes away what a run may still use.
func (b *budgets) commit(e *engine, r *run, sign int) {
	for _, c := range r.charges {
		i, ok := b.at[c.Budget]
		if !ok || c.Class != "" && c.Class != e.classes[r.class].ID {
			continue
		}
		b.count[i] += sign
		use := int64(r.units) * span(b.list[i], e.now, r.end)
		if !c.Included {
			b.fixed[i] = add(b.fixed[i], int64(sign)*cost(use, int64(c.Price)))
			continue
		}
		l := &b.open[i*b.classes+int(r.class)]
		l.use = add(l.use, int64(sign)*use)
		l.price = max(l.price, int64(c.Price)) // stays when taken away: a bound
	}
}

func add(a, b int64) int64 {
	return max(-math.MaxInt64/4, min(a, math.MaxInt64/4)) + max(-math.MaxInt64/4, min(b, math.MaxInt64/4))
}

// exposure is what a budget may be charged if nothing more starts.
func (b *budgets) exposure(i int) int64 {
	sum := add(int64(b.list[i].Spent), b.fixed[i])
	for _, l := range b.open[i*b.classes : (i+1)*b.classes] {
		sum = add(sum, cost(l.use-l.left, l.price))
	}
	return sum
}

// affordable says whether every budget of a job can bear it in a class.
func (e *engine) affordable(j *job, c int32) bool {
	return len(e.charges(j)) == 0 || e.exceeded(j, c) == nil
}

// exceeded lists the budgets that can't bear a job, with what it may cost.
func (e *engine) exceeded(j *job, c int32) []pool.Reason {
	b := &e.budgets
	var out []pool.Reason
	for _, ch := range e.charges(j) {
		i, ok := b.at[ch.Budget]
		if !ok || ch.Class != "" && ch.Class != e.classes[c].ID {
			continue
		}
		r := run{class: c, units: j.units, end: e.endOf(j), charges: []Charge{ch}}
		l := &b.open[i*b.classes+int(c)]
		was, before := *l, b.exposure(i)
		fixed, count := b.fixed[i], b.count[i]
		b.commit(e, &r, 1)
		after := b.exposure(i)
		*l, b.fixed[i], b.count[i] = was, fixed, count
		if x := b.list[i]; after > int64(x.Limit) && after > before {
			out = append(out, pool.Reason{Code: x.Kind, Class: e.classes[c].ID, Need: after - before,
				Have: max(0, int64(x.Limit)-before), Limit: int64(x.Limit), Ref: x.Ref})
		}
	}
	return out
}

// UpTo is the most that units GPUs can cost in d at a price, rounded up to a
// minor unit: the bound that admission uses.
func UpTo(use pool.GPUMillis, price money.Price) money.Amount {
	return money.Amount(cost(int64(use), int64(price)))
}
