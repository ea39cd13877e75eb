package quota

import (
	"slices"

	"gpupool/domain/pool"
)

// openPromise is a stored promise that still holds in this decision.
type openPromise struct {
	stored  *Promise
	job     int32
	class   int32
	run     int32 // the beneficiary
	victims []int32
	nodes   []hold
	active  bool // its victims are gone from the counts, its beneficiary is there
	fresh   bool // made by this decision
	over    bool
	kept    bool // over because its job starts
}

// indexPromises puts the open promises into the working state: their victims
// are gone, their beneficiaries run, only the nodes still hold the victims.
func (e *engine) indexPromises() {
	for i := range e.in.Promises {
		e.promises = append(e.promises, openPromise{stored: &e.in.Promises[i]})
	}
	e.openPromises()
}

// openPromises looks at every promise: those that don't hold any more are
// withdrawn, those that are new to the state are put into it.
func (e *engine) openPromises() {
	sortBy(e.promises, func(x, y openPromise) bool { return x.stored.Job < y.stored.Job })
	for i := range e.promises {
		o := &e.promises[i]
		if !o.active {
			o.job, o.class, o.victims, o.nodes = 0, 0, nil, nil
			for _, v := range o.stored.Victims {
				if k, ok := e.find(v); ok {
					o.victims = append(o.victims, k)
				}
			}
			e.byID(o.victims)
			o.victims = slices.Compact(o.victims)
		}
		if why, ok := e.holdsStill(o.stored, o); !ok {
			if o.active {
				e.deactivate(o)
			}
			o.over = true
			e.withdraw(o, why)
			continue
		}
		if !o.active {
			e.notice(o)
			j := &e.jobs[o.job]
			j.done = true
			e.stir(j.bucket)
		}
	}
	for i := range e.promises { // one may count on the victims of another
		if o := &e.promises[i]; !o.over && !o.active {
			e.occupy(o)
			o.active = true
		}
	}
}

// checkPromises ends the promises that the state can't keep any more and
// fulfils those whose GPUs are free.
func (e *engine) checkPromises() {
	for i := len(e.promises) - 1; i >= 0; i-- {
		if !e.promises[i].over && e.overbooked(e.promises[i].nodes) {
			e.giveUp(&e.promises[i], NodeLost)
		}
	}
	for i := len(e.promises) - 1; i >= 0; i-- {
		if o := &e.promises[i]; !o.over && e.beyondMeans(o.run) {
			e.giveUp(o, Unpayable)
		}
	}
	for i := len(e.promises) - 1; i >= 0; i-- { // a quota that was cut holds nothing new
		if o := &e.promises[i]; !o.over && e.runs[o.run].tier == pool.Guaranteed {
			if org := e.org(o.class, e.runs[o.run].org); org.guaranteed > org.subtree {
				e.giveUp(o, Unfounded)
			}
		}
	}
	e.dropUnfounded()
	e.releaseKept()
	for i := range e.promises {
		if o := &e.promises[i]; !o.over {
			e.fulfil(o)
		}
	}
}

// reconsider withdraws promises, of owners or of others, whose jobs fit
// elsewhere. Each kind is asked at its place in the order of the decision.
func (e *engine) reconsider(owners bool) {
	for i := range e.promises {
		if o := &e.promises[i]; !o.over && !o.stored.Sent && (o.stored.Rule == ByQuota) == owners {
			e.elsewhere(i)
		}
	}
}

// holdsStill checks a promise against the snapshot and reads its places.
func (e *engine) holdsStill(p *Promise, o *openPromise) (WithdrawReason, bool) {
	j, ok := e.jobAt(p.Job)
	if !ok || !e.competes(&e.jobs[j]) || e.jobs[j].done && !o.active {
		return Cancelled, false
	}
	c, ok := e.classAt[p.Class]
	if !ok || !slices.Contains(e.jobs[j].classes, c) || len(p.Placement) != e.jobs[j].n {
		return Cancelled, false
	}
	o.job, o.class, o.nodes = j, c, o.nodes[:0]
	for _, x := range p.Placement {
		n, ok := e.node(x.Node, c)
		if !ok || !e.nodes[n].open || x.GPUs != e.jobs[j].g || !e.reaches(&e.jobs[j], &e.nodes[n]) {
			return NodeLost, false
		}
		o.nodes = append(o.nodes, hold{n, x.GPUs})
	}
	sortBy(o.nodes, func(x, y hold) bool { return x.node < y.node })
	if limit := e.policy.DrainLimit; limit > 0 && e.now > p.StopAt.Add(limit) && e.holding(o.victims) > 0 {
		return Overdue, false
	}
	return "", true
}

// byID sorts runs by their ids.
func (e *engine) byID(runs []int32) {
	sortBy(runs, e.idsBefore)
}

func (e *engine) idsBefore(x, y int32) bool { return attemptBefore(e.runs[x].id, e.runs[y].id) }

func (e *engine) holding(victims []int32) int {
	n := 0
	for _, v := range victims {
		if e.runs[v].holds {
			n++
		}
	}
	return n
}

// notice takes the victims out of every count but the physical one.
func (e *engine) notice(o *openPromise) {
	for _, v := range o.victims {
		r := &e.runs[v]
		r.promised++
		r.stopAt = max(r.stopAt, o.stored.StopAt)
		if !r.gone {
			e.release(v)
		}
	}
}

// occupy counts the beneficiary as running.
func (e *engine) occupy(o *openPromise) {
	j := &e.jobs[o.job]
	o.run = e.enter(e.runOf(j, o.class, o.nodes, false))
	j.done, j.promised, j.promisedIn, j.stopAt, j.victims = true, true, o.class, o.stored.StopAt, e.holding(o.victims)
}

// runOf is a holder for a job that doesn't run yet. One that still waits for
// its GPUs is covered last, as if it started at no time yet.
func (e *engine) runOf(j *job, c int32, nodes []hold, holds bool) run {
	minRun, started := max(e.now.Add(e.classes[c].MinRun), e.now+1), e.now
	if !holds {
		started = pool.Never
	}
	return run{from: j.of, fixed: j.fixed, minRun: minRun, id: pool.AttemptID{Job: e.id(j)}, org: j.org, account: j.account, class: c, units: j.units, tier: j.tier,
		priority: j.priority, started: started, end: e.endOf(j), protected: true, holds: holds, nodes: nodes, charges: e.charges(j)}
}

// deactivate takes a promise out of the counts, as if it had never been read.
func (e *engine) deactivate(o *openPromise) {
	o.active = false
	if r := &e.runs[o.run]; !r.gone {
		e.release(o.run)
	}
	e.leave(o.run)
	if j := &e.jobs[o.job]; !j.dead && j.bucket >= 0 {
		j.done, j.promised = false, false
		e.stir(j.bucket)
	}
	for _, v := range o.victims {
		r := &e.runs[v]
		r.stopAt = r.noticeAt
		if r.promised--; r.promised == 0 && r.gone && !r.leaves() {
			e.restore(v)
		}
	}
}

func (e *engine) overbooked(nodes []hold) bool {
	return slices.ContainsFunc(nodes, func(h hold) bool { return e.nodes[h.node].planned > e.nodes[h.node].cap })
}

// giveUp takes a promise out of the working state again.
func (e *engine) giveUp(o *openPromise, why WithdrawReason) {
	e.release(o.run)
	j := &e.jobs[o.job]
	j.done, j.promised = false, false
	e.stir(j.bucket) // it may have been passed over
	o.over = true
	for _, v := range o.victims {
		e.runs[v].promised--
	}
	e.withdraw(o, why)
}

// withdraw records the end of a promise. Its victims run on if nobody sent
// them a stop and no other promise counts on them: releaseKept settles that
// when all promises are known.
func (e *engine) withdraw(o *openPromise, why WithdrawReason) {
	if !o.fresh {
		e.ended = append(e.ended, o.stored)
	}
	e.plan.Withdrawn = append(e.plan.Withdrawn, Withdrawal{Job: o.stored.Job, Why: why})
	e.kept = append(e.kept, keeping{at: len(e.plan.Withdrawn) - 1, sent: o.stored.Sent, victims: o.victims})
}

// dropUnfounded ends promises that counted on the victims of a promise that is
// over now, when none of those that are left may stop them by itself.
func (e *engine) dropUnfounded() {
	for at := 0; at < len(e.kept); at++ { // grows
		for _, v := range e.kept[at].victims {
			if e.kept[at].sent || e.runs[v].promised == 0 || e.founded(v, -1) {
				continue
			}
			for i := range e.promises {
				if o := &e.promises[i]; !o.over && slices.Contains(o.victims, v) {
					e.giveUp(o, Unfounded)
				}
			}
		}
	}
}

// founded says whether one of the promises that count on a victim, but for one
// of that index, may stop it by its own rule, or nothing can keep it any more.
func (e *engine) founded(v int32, but int) bool {
	r := &e.runs[v]
	if r.tier == pool.Spot || !r.holds || r.leaves() {
		return true
	}
	gone := r.gone
	if gone {
		e.restore(v)
		defer e.release(v)
	}
	e.cover(r.class, r.org)
	for i := range e.promises {
		o := &e.promises[i]
		if i != but && !o.over && slices.Contains(o.victims, v) && (o.stored.Sent || e.mayStop(&e.jobs[o.job], o.stored.Rule, r)) {
			return true
		}
	}
	return slices.ContainsFunc(e.made, func(m madePromise) bool {
		return slices.Contains(m.taken, v) || slices.Contains(m.rides, v) && e.mayStop(&e.jobs[m.job], e.plan.Reclaim[m.at].Rule, r)
	})
}

// mayStop says whether a promise may stop burst work that runs on, by its rule:
// loans of others, for an owner or a poorer borrower; inside its organisation
// any for guaranteed work, lower priority, or what a sibling has beyond its
// quota.
func (e *engine) mayStop(j *job, rule Rule, r *run) bool {
	switch {
	case rule == OverSpot:
		return false
	case r.org != j.org:
		return rule != ByPriority && r.loan > 0
	case rule == ByPriority:
		return r.priority < j.priority
	}
	return rule == ByQuota && (j.tier == pool.Guaranteed || r.account != j.account && e.ledger.at(r.class, r.account).over() > 0)
}

// keeping is the victims of a withdrawn promise.
type keeping struct {
	at      int
	sent    bool
	victims []int32
}

func (e *engine) releaseKept() {
	for _, k := range e.kept {
		for _, v := range k.victims {
			r := &e.runs[v]
			switch {
			case k.sent || r.leaves():
				if !r.gone {
					e.release(v)
				}
				if !r.leaves() {
					e.sentOff = append(e.sentOff, v)
				}
			case r.promised == 0:
				if r.gone {
					e.restore(v)
				}
				w := &e.plan.Withdrawn[k.at]
				w.Keep = append(w.Keep, r.id)
			}
		}
	}
	e.kept = nil
}

// fulfil starts the beneficiary when every victim is gone and its places are
// free.
func (e *engine) fulfil(o *openPromise) {
	if e.holding(o.victims) > 0 {
		return
	}
	for _, h := range o.nodes {
		if n := &e.nodes[h.node]; n.held+h.gpus > n.cap {
			return
		}
	}
	r := &e.runs[o.run]
	r.holds, r.started = true, e.now
	if r.tier != pool.Spot {
		h := &e.held[e.oc(r.class, r.org)]
		h.sorted, h.covered = false, false
		e.owes(r.class, r.org)
	}
	if r.end != pool.Never {
		e.endings[r.class].fresh = append(e.endings[r.class].fresh, o.run)
	}
	for _, h := range o.nodes {
		e.shift(h.node, h.gpus, 0)
	}
	j := &e.jobs[o.job]
	j.promised = false
	e.admission(j, o.run)
	o.over, o.kept = true, true
}

// elsewhere withdraws a promise when the job fits now with all its victims
// running on, but for those on which other promises count that may stop them
// by themselves.
func (e *engine) elsewhere(i int) {
	o := &e.promises[i]
	j := &e.jobs[o.job]
	e.release(o.run)
	var back []int32
	for _, v := range o.victims {
		if r := &e.runs[v]; r.holds && r.promised == 1 && !r.leaves() {
			e.restore(v)
			back = append(back, v)
		}
	}
	clash := slices.ContainsFunc(back, func(v int32) bool { return e.overbooked(known(e.runs[v].nodes)) }) ||
		slices.ContainsFunc(o.victims, func(v int32) bool { return e.runs[v].promised > 1 && !e.founded(v, i) })
	if !clash {
		if nodes := e.fitsNow(j, o.class); nodes != nil {
			j.promised, o.over = false, true
			for _, v := range o.victims {
				e.runs[v].promised--
			}
			e.withdraw(o, Elsewhere)
			e.releaseKept()
			e.admit(j, o.class, nodes)
			return
		}
	}
	for _, v := range back {
		e.release(v)
	}
	e.restore(o.run)
}

func known(nodes []hold) []hold {
	out := make([]hold, 0, len(nodes))
	for _, h := range nodes {
		if h.node >= 0 {
			out = append(out, h)
		}
	}
	return out
}
