package quota

import (
	"math"
	"slices"
	"time"

	"gpupool/domain/pool"
)

// StopRule is why a running attempt ends for no other job.
type StopRule string

const (
	OverBudget StopRule = "budget" // the money for it ran out
)

// Stop ends a running attempt for no other job: notice now, stop then. Its job
// queues again. Until the stop is sent a later plan may take it back (Resume).
type Stop struct {
	Attempt pool.AttemptID
	At      pool.Instant
	Rule    StopRule
	Reason  pool.Reason // the limit that was exceeded, with its numbers
}

// enforce comes before anything is admitted: what runs and exceeds a limit
// that admission keeps is stopped, least deserving first, and what an earlier
// plan put under notice without need runs on.
func (e *engine) enforce() {
	stops := append(e.shed(), e.spendLess()...)
	sortBy(e.noticed, e.stopsBefore)
	for k := len(e.noticed) - 1; k >= 0; k-- { // the most deserving first
		i := e.noticed[k]
		if e.restore(i); !e.bearable(i) {
			e.release(i)
			continue
		}
		e.runs[i].notice, e.runs[i].stopAt, e.runs[i].noticeAt = "", 0, 0
		e.plan.Resume = append(e.plan.Resume, e.runs[i].id)
	}
	e.noticed = slices.DeleteFunc(e.noticed, func(i int32) bool { return e.runs[i].notice == "" })
	for k := len(stops) - 1; k >= 0; k-- { // what turned out not to be needed
		i := stops[k].run
		if e.restore(i); e.bearable(i) {
			continue
		}
		e.release(i)
		s := stops[k].stop
		s.Attempt, s.At = e.runs[i].id, e.now.Add(e.policy.Notice)
		e.runs[i].notice, e.runs[i].stopAt, e.runs[i].noticeAt = s.Rule, s.At, s.At
		e.noticed = append(e.noticed, i)
		e.plan.Stop = append(e.plan.Stop, s)
	}
	e.honour()
	sortBy(e.plan.Stop, func(x, y Stop) bool { return attemptBefore(x.Attempt, y.Attempt) })
	sortBy(e.plan.Resume, attemptBefore)
	sortBy(e.plan.ToSpot, attemptBefore)
}

// stopped is a run that enforce takes away.
type stopped struct {
	run  int32
	stop Stop
}

// stopsBefore is the reverse of the order that admits inside an organisation:
// spot, then burst, then guaranteed work; lower priority, newest start, id.
func (e *engine) stopsBefore(x, y int32) bool {
	if a, b := tierRank(e.runs[x].tier), tierRank(e.runs[y].tier); a != b {
		return a < b
	}
	return e.milder(x, y)
}

func tierRank(t pool.Tier) int {
	switch t {
	case pool.Spot:
		return 0
	case pool.Burst:
		return 1
	}
	return 2
}

// beyondMeans says whether a budget that a run counts against is exceeded for
// certain, whatever is done about running work.
func (e *engine) beyondMeans(i int32) bool {
	r := &e.runs[i]
	return slices.ContainsFunc(r.charges, func(c Charge) bool {
		b, ok := e.budgets.at[c.Budget]
		return ok && e.pays(r, c.Budget) && e.budgets.least(b) > int64(e.budgets.list[b].Limit)
	})
}

// bearable says whether a run that was put back breaks no limit: money, or the
// GPUs of its nodes.
func (e *engine) bearable(i int32) bool {
	r := &e.runs[i]
	for _, c := range r.charges {
		if b, ok := e.budgets.at[c.Budget]; ok && e.pays(r, c.Budget) && e.overdrawn(b) {
			return false
		}
	}
	return !e.overbooked(known(r.nodes))
}

// leaves says whether a run ends whatever becomes of the promises that count
// on it.
func (r *run) leaves() bool { return r.stopping || r.notice != "" }

// least is what a budget is charged at the least when everything runs to its
// declared end: every commitment was rounded up and every line may be.
func (b *budgets) least(i int) int64 {
	return b.exposure(i) - int64(b.count[i]) - int64(max(0, b.list[i].Lines))
}

// overdrawn says whether what runs exceeds a budget for certain, and something
// is to be done about it.
func (e *engine) overdrawn(i int) bool {
	b := &e.budgets
	x := &b.list[i]
	switch {
	case x.AtLimit == RunOn || b.least(i) <= int64(x.Limit):
		return false
	case x.AtLimit == BillToLimit:
		return e.spentBy(i, e.now.Add(max(e.policy.Notice, time.Minute))) > int64(x.Limit)
	case slices.ContainsFunc(b.open[i*b.classes:(i+1)*b.classes], func(l line) bool { return l.use > l.left }):
		return e.spentBy(i, pool.Never) > int64(x.Limit) // what has gone may have left its price there
	}
	return true
}

// spentBy is what a budget is charged at the least when everything runs to its
// declared end, or until a moment.
func (e *engine) spentBy(i int, until pool.Instant) int64 {
	x := e.budgets.list[i]
	one := budgets{at: map[BudgetID]int{x.ID: 0}, list: []Budget{x}, classes: e.budgets.classes, fixed: []int64{0}, count: []int{0}}
	for _, l := range e.budgets.open[i*one.classes : (i+1)*one.classes] {
		one.open = append(one.open, line{left: l.left})
	}
	for k := range e.runs {
		if r := e.runs[k]; !r.gone && len(r.charges) > 0 {
			r.end = min(r.end, until)
			one.commit(e, &r, 1)
		}
	}
	return one.least(0)
}

// spendLess takes work away, or turns it into spot, until what is left exceeds
// no budget.
func (e *engine) spendLess() []stopped {
	var out []stopped
	b := &e.budgets
	order := make([]int, len(b.list))
	for i := range order {
		order[i] = i
	}
	sortBy(order, func(x, y int) bool { return b.list[x].ID < b.list[y].ID })
	for _, i := range order {
		if !e.overdrawn(i) {
			continue
		}
		x := &b.list[i]
		exposed := b.exposure(i)
		var payers []int32
		for k := range e.runs {
			if r := &e.runs[k]; !r.gone && r.running && e.pays(r, x.ID) {
				payers = append(payers, int32(k))
			}
		}
		sortBy(payers, e.stopsBefore)
		if x.AtLimit == SpotAtLimit {
			for k, p := range payers {
				if !e.overdrawn(i) {
					break
				}
				if n, ok := e.turnSpot(p); ok {
					payers[k] = n
				}
			}
			sortBy(payers, e.stopsBefore)
		}
		for _, p := range payers {
			if !e.overdrawn(i) {
				break
			}
			e.release(p)
			out = append(out, stopped{p, Stop{Rule: OverBudget, Reason: pool.Reason{Code: x.Kind, Class: e.classes[e.runs[p].class].ID,
				Need: min(exposed, math.MaxInt64/8), Limit: int64(x.Limit), Ref: x.Ref}}})
		}
	}
	return out
}

func (e *engine) pays(r *run, id BudgetID) bool {
	return slices.ContainsFunc(r.charges, func(c Charge) bool {
		return c.Budget == id && (c.Class == "" || c.Class == e.classes[r.class].ID)
	})
}

// asSpot are the charges of work that goes on as spot; false when that isn't
// cheaper everywhere.
func asSpot(charges []Charge, class pool.ClassID) ([]Charge, bool) {
	out := slices.Clone(charges)
	for i := range out {
		c := &out[i]
		if c.Class != "" && c.Class != class {
			continue
		}
		if c.Spot <= 0 || c.Spot >= c.Price {
			return nil, false
		}
		c.Price, c.Included = c.Spot, false
	}
	return out, true
}

// asBurst are the charges of guaranteed work that goes on as burst: it may fall
// to a loan, so that included hours pay for none of it for certain.
func asBurst(charges []Charge) []Charge {
	out := slices.Clone(charges)
	for i := range out {
		out[i].Included = false
	}
	return out
}

// turnSpot lets a running burst attempt go on as spot, where owners lend enough;
// it returns the holder that stands for it from now on.
func (e *engine) turnSpot(i int32) (int32, bool) {
	r := e.runs[i]
	charges, cheaper := asSpot(r.charges, e.classes[r.class].ID)
	if r.tier != pool.Burst || !cheaper {
		return i, false
	}
	e.release(i)
	if e.ledger.avail(r.class, 0)-e.spotUse[r.class] < r.units {
		e.restore(i)
		return i, false
	}
	e.leave(i)
	r.tier, r.charges, r.own, r.loan, r.gone = pool.Spot, charges, 0, 0, false
	n := e.enter(r)
	e.name(n)
	e.guard(n)
	e.oddSpots = append(e.oddSpots, n)
	e.orderSpots(r.class)
	e.plan.ToSpot = append(e.plan.ToSpot, r.id)
	return n, true
}

// enforced writes into the snapshot that a plan leaves what enforce decided.
func enforced(running []Attempt, p Plan) {
	if len(p.Stop)+len(p.Resume)+len(p.ToSpot)+len(p.Above)+len(p.ToBurst) == 0 {
		return
	}
	stop := make(map[pool.AttemptID]*Stop, len(p.Stop))
	for i := range p.Stop {
		stop[p.Stop[i].Attempt] = &p.Stop[i]
	}
	for i := range running {
		a := &running[i]
		if s := stop[a.ID]; s != nil {
			a.Notice, a.StopAt = s.Rule, s.At
		}
		if slices.Contains(p.Resume, a.ID) {
			a.Notice, a.StopAt = "", 0
		}
		if k := slices.IndexFunc(p.Above, func(x Above) bool { return x.Attempt == a.ID }); k >= 0 {
			a.GuaranteedUntil = p.Above[k].Until
		}
		if slices.Contains(p.ToBurst, a.ID) {
			a.Tier, a.GuaranteedUntil, a.Charges = pool.Burst, 0, asBurst(a.Charges)
		}
		if slices.Contains(p.ToSpot, a.ID) {
			a.Tier = pool.Spot
			if charges, ok := asSpot(a.Charges, a.Class); ok {
				a.Charges = charges
			}
		}
	}
}
