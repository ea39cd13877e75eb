package quota

import (
	"slices"

	"gpupool/domain/pool"
)

// Above is guaranteed work that its organisation's quota holds no longer: the
// quota was cut under it, which stops nothing. It runs on as own until then
// (pool.Never: to its declared end), and goes on as burst work. Until 0: the
// quota holds it again.
type Above struct {
	Attempt pool.AttemptID
	Until   pool.Instant
}

// honour finds the guaranteed work above each quota: the last in the order of
// cover. Who was above it before keeps its time.
func (e *engine) honour() {
	for c := range e.classes {
		for o := range e.orgs {
			if x := e.org(int32(c), int32(o)); x.guaranteed > x.subtree {
				e.honourIn(int32(c), int32(o))
			}
		}
	}
	for _, i := range e.cuts {
		if r := &e.runs[i]; !r.dead && !r.above && r.until != 0 {
			r.until = 0
			e.plan.Above = append(e.plan.Above, Above{r.id, 0})
		}
	}
	e.cuts = slices.DeleteFunc(e.cuts, func(i int32) bool {
		r := &e.runs[i]
		r.above = false
		return r.dead || r.until == 0
	})
	sortBy(e.plan.Above, func(x, y Above) bool { return attemptBefore(x.Attempt, y.Attempt) })
	sortBy(e.plan.ToBurst, attemptBefore)
}

func (e *engine) honourIn(c, o int32) {
	left := e.org(c, o).subtree
	for _, i := range slices.Clone(e.cover(c, o).runs) {
		r := &e.runs[i]
		if r.gone || r.tier != pool.Guaranteed {
			continue
		}
		if left -= r.units; left >= 0 || !r.running {
			continue
		}
		switch {
		case r.until == 0:
			r.until = pool.Never
			if e.policy.CutNotice > 0 {
				r.until = e.now.Add(e.policy.CutNotice)
			}
			r.above = true
			e.cuts = append(e.cuts, i)
			e.plan.Above = append(e.plan.Above, Above{r.id, r.until})
		case r.until <= e.now:
			left += r.units
			n := *r
			e.leave(i)
			n.tier, n.until, n.gone, n.charges = pool.Burst, 0, false, asBurst(n.charges)
			k := e.enter(n)
			e.name(k)
			e.guard(k)
			e.plan.ToBurst = append(e.plan.ToBurst, n.id)
		default:
			r.above = true
		}
	}
}
