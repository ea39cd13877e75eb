package quota

import (
	"slices"
	"time"

	"gpupool/domain/pool"
)

// continuous is how often a decision is looked at again where what it depends
// on moves all the time: what is committed against a budget that holds a job,
// decayed use where it orders a reservation.
const continuous = time.Minute

// moment finds the soonest of several instants after now.
type moment struct{ now, at pool.Instant }

func (m *moment) add(t pool.Instant) {
	if t > m.now && t < m.at {
		m.at = t
	}
}

// next is the soonest instant after now at which the decision could change
// though nothing happens, with its plan taken up; pool.Never when there is none.
func (e *engine) next() pool.Instant {
	m := moment{e.now, pool.Never}
	m.add(e.steady())
	e.nextOfNodes(&m)
	e.nextOfLimits(&m)
	if e.nextOfJobs(&m) {
		e.nextOfRuns(&m)
		e.nextOfReservations(&m)
	}
	return m.at
}

// nextOfNodes is when maintenance begins or ends, and when a promise can't be
// kept any more: its victims are overdue, or its nodes are taken away too soon.
func (e *engine) nextOfNodes(m *moment) {
	for i := range e.nodes {
		if n := &e.nodes[i]; n.maintenance.End > e.now {
			m.add(n.maintenance.Start)
			m.add(n.maintenance.End)
		}
	}
	for i := range e.promises {
		o := &e.promises[i]
		if o.over {
			continue
		}
		if limit := e.policy.DrainLimit; limit > 0 {
			m.add(o.stored.StopAt.Add(limit) + 1)
		}
		for _, h := range o.nodes {
			m.add(e.nodes[h.node].maintenance.Start - e.jobs[o.job].longest + 1)
		}
	}
}

// nextOfLimits is when running work may come to exceed a limit, or no longer does.
func (e *engine) nextOfLimits(m *moment) {
	for i := range e.budgets.list {
		x := &e.budgets.list[i]
		m.add(x.Period.End)
		if x.AtLimit == BillToLimit && e.budgets.least(i) > int64(x.Limit) {
			m.add(e.now.Add(continuous))
		}
	}
	for _, i := range e.cuts {
		m.add(e.runs[i].until)
	}
	if len(e.noticed) > 0 {
		m.add(e.now.Add(continuous))
	}
}

// nextOfJobs is when waiting jobs may start by their own wish or by a window,
// or may reserve. It says whether any competes, or soon does.
func (e *engine) nextOfJobs(m *moment) bool {
	waits := false
	for _, i := range e.notBefore {
		if j := &e.jobs[i]; !j.dead && j.of.NotBefore > e.now {
			m.add(j.of.NotBefore)
		}
	}
	for _, i := range e.deadlines {
		if j := &e.jobs[i]; !j.dead {
			m.add(j.startBy + 1)
			m.add(j.startBy.Add(-e.policy.Notice) + 1)
		}
	}
	for l := range e.lanes {
		e.lineUp(int32(l))
		order := e.lanes[l].order
		waits = waits || len(order) > 0
		for i := range order {
			s := &order[i]
			if s.tier == pool.Burst && e.policy.ReserveAfter > 0 {
				m.add(s.submitted.Add(e.policy.ReserveAfter))
			}
			if j := &e.jobs[s.head]; s.paid && slices.ContainsFunc(j.classes, func(c int32) bool { return !e.affordable(j, c) }) {
				m.add(e.now.Add(continuous))
			}
		}
	}
	if waits {
		for _, w := range e.in.Windows {
			m.add(w.Closed.Start)
			m.add(w.Closed.End)
		}
	}
	return waits
}

// nextOfRuns is when the next of those that may be stopped leaves its minimum
// run time.
func (e *engine) nextOfRuns(m *moment) {
	for _, i := range e.guarded {
		if r := &e.runs[i]; !r.dead && !r.gone && r.running && r.tier != pool.Guaranteed {
			m.add(r.minRun)
		}
	}
}

// nextOfReservations is when the shadow of a reservation may look different: a
// declared end passes now, or what moves along with now, the first moment at
// which an owner could take back and the ends of what waits for its GPUs. What
// the reserved job would run into begins to count from its bound on.
func (e *engine) nextOfReservations(m *moment) {
	for c := range e.reserved {
		v := &e.reserved[c]
		if !v.set && e.tries[c] == 0 {
			continue
		}
		// Which borrower is asked first moves with decayed use; who reserves
		// inside its quota was asked before them.
		if !(v.set && v.claims) && e.policy.ReserveAfter > 0 && len(e.in.Decayed) > 0 && e.policy.HalfLife > 0 {
			m.add(e.now.Add(continuous))
		}
		along := e.along(int32(c))
		if len(along) > fewMoments {
			m.add(e.now.Add(continuous))
			along = along[:1]
		}
		for _, i := range e.endings[c].settle() {
			r := &e.runs[i]
			if r.gone {
				continue
			}
			for _, d := range along {
				m.add(r.end - d)
				m.add(r.end - d + 1)
			}
			if r.end-along[len(along)-1] > m.at {
				break
			}
		}
		k, ok := e.jobAt(v.job)
		if !v.set || !ok {
			continue
		}
		longest := e.jobs[k].longest
		for _, w := range e.in.Windows {
			m.add(w.Closed.Start - longest + 1)
		}
		for i := e.racks[c].lo; i < e.racks[c].hi && e.anyMaintenance; i++ {
			m.add(e.nodes[i].maintenance.Start - longest + 1)
		}
	}
}

// fewMoments that move along with now are followed one by one.
const fewMoments = 16

// along is how far from now the moments are that move along with it, ascending.
func (e *engine) along(c int32) []pool.Instant {
	out := []pool.Instant{0, pool.Instant(e.policy.Notice.Milliseconds())}
	for i := range e.promises {
		if o := &e.promises[i]; o.active && !o.over && o.class == c && e.jobs[o.job].maxRun > 0 {
			out = append(out, e.jobs[o.job].maxRun)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
