package quota

import (
	"slices"

	"gpupool/domain/pool"
)

// bulk is from how many jobs on lists are swept rather than searched.
const bulk = 32

// sweep takes what is no more out of the lists, so that its slots can be used
// again.
func (e *engine) sweep() {
	if len(e.deadJobs) > 0 {
		e.sweepJobs()
	}
	if len(e.deadRuns) > 0 {
		for c := range e.endings {
			e.endings[c].settle()
			e.backs[c].settle()
		}
		e.guarded = slices.DeleteFunc(e.guarded, func(i int32) bool { return e.runs[i].dead })
		e.freeRuns = append(e.freeRuns, e.deadRuns...)
		e.deadRuns = e.deadRuns[:0]
	}
}

func (e *engine) sweepJobs() {
	dead := func(i int32) bool { return e.jobs[i].dead }
	if len(e.deadJobs) > bulk {
		for l := range e.lines {
			e.lines[l].jobs = slices.DeleteFunc(e.lines[l].jobs, dead)
		}
		for b := range e.buckets {
			e.buckets[b].jobs, e.buckets[b].head = slices.DeleteFunc(e.buckets[b].jobs, dead), 0
		}
	} else {
		for _, i := range e.deadJobs {
			j := &e.jobs[i]
			e.lines[j.line].jobs = e.strike(e.lines[j.line].jobs, e.lines[j.line].loose, i)
			if j.bucket >= 0 {
				b := &e.buckets[j.bucket]
				b.jobs, b.head = e.strike(b.jobs, b.loose, i), 0
			}
		}
	}
	e.notBefore, e.deadlines = slices.DeleteFunc(e.notBefore, dead), slices.DeleteFunc(e.deadlines, dead)
	e.freeJobs = append(e.freeJobs, e.deadJobs...)
	e.deadJobs = e.deadJobs[:0]
}

// strike takes one job out of a list.
func (e *engine) strike(list []int32, loose bool, i int32) []int32 {
	if !loose {
		j := &e.jobs[i]
		lo, hi := 0, len(list)
		for lo < hi {
			if m := (lo + hi) / 2; e.jobBefore(&e.jobs[list[m]], j) {
				lo = m + 1
			} else {
				hi = m
			}
		}
		if lo < len(list) && list[lo] == i {
			return slices.Delete(list, lo, lo+1)
		}
	}
	return slices.DeleteFunc(list, func(k int32) bool { return k == i })
}

// resume brings the state that a decision left to an instant, for the next.
func (e *engine) resume(now pool.Instant) {
	if now != e.now {
		e.now = now
		e.pass()
	}
	e.forgetRefusals()
	e.plan = Plan{Version: e.in.Version}
	clear(e.surplus)
	clear(e.tries)
	e.cleared, e.work = 0, work{}
	for c := range e.reserved {
		if e.reserved[c].set {
			e.clearReservation(int32(c))
		}
		e.orderSpots(int32(c))
	}
	if e.policy.HalfLife != 0 {
		clear(e.loanMean)
		e.indexDecay()
	}
	for i := range e.promises {
		e.clearNotice(e.promises[i].victims)
	}
	e.openPromises()
	for i := range e.promises {
		o := &e.promises[i]
		if o.over {
			continue
		}
		for _, v := range o.victims {
			e.runs[v].stopAt = max(e.runs[v].stopAt, o.stored.StopAt)
		}
		j, r := &e.jobs[o.job], &e.runs[o.run]
		j.promised, j.stopAt, j.victims = true, o.stored.StopAt, e.holding(o.victims)
		r.end, r.minRun = e.endOf(j), max(e.now.Add(e.classes[o.class].MinRun), e.now+1)
		e.outlines[o.run].end, e.outlines[o.run].minRun = r.end, r.minRun
	}
	if len(e.budgets.list) > 0 {
		e.recommit()
	}
	e.checkPromises()
	e.touched = e.touched[:0]
}

// pass lets time go by: minimum run times end, jobs come to their moment, and
// deadlines can be kept no more.
func (e *engine) pass() {
	e.guarded = slices.DeleteFunc(e.guarded, func(i int32) bool {
		r := &e.runs[i]
		if r.minRun > e.now {
			return false
		}
		r.protected = false
		if r.tier != pool.Spot {
			e.held[e.oc(r.class, r.org)].covered = false // its tail moves
			e.owes(r.class, r.org)
		}
		return true
	})
	e.notBefore = slices.DeleteFunc(e.notBefore, func(i int32) bool {
		j := &e.jobs[i]
		if j.dead || j.of.NotBefore > e.now {
			return j.dead
		}
		e.fileBucket(i)
		return true
	})
	e.deadlines = slices.DeleteFunc(e.deadlines, func(i int32) bool {
		j := &e.jobs[i]
		if j.dead || j.startBy >= e.now {
			return j.dead
		}
		e.miss(i)
		return true
	})
}

// miss takes a job that can't end before its deadline any more out of the
// contest; what was promised to it is looked at next.
func (e *engine) miss(i int32) {
	for k := range e.promises {
		if o := &e.promises[k]; o.active && o.job == i {
			e.deactivate(o)
		}
	}
	j := &e.jobs[i]
	if j.bucket >= 0 {
		b := &e.buckets[j.bucket]
		b.jobs = e.strike(b.jobs, b.loose, i)
		e.stir(j.bucket)
		j.bucket = -1
	}
	j.reasons = e.excluded(j)
}

// recommit counts anew what is committed against the budgets: it shrinks as
// time goes by.
func (e *engine) recommit() {
	e.budgets = budgets{}
	e.indexBudgets()
	for i := range e.runs {
		r := &e.runs[i]
		if r.dead || len(r.charges) == 0 || r.running && r.leaves() {
			continue
		}
		e.budgets.commit(e, r, 1)
		if r.gone {
			e.budgets.commit(e, r, -1)
		}
	}
}
