package quota

import (
	"slices"

	"gpupool/domain/pool"
)

// Decide turns a snapshot into a plan. It is pure and deterministic, whatever
// the order of the snapshot's slices, and it never panics: what a snapshot
// contradicts stands in Plan.Problems and the rest is decided.
func Decide(s Snapshot, now pool.Instant) Plan {
	return resolve(&s, now).plan
}

// decide asks in the one order: quota first, then surplus, then what is idle.
// Stopping a victim may free more than its beneficiary takes, so it asks again
// until nothing more is stopped, withdrawn or no longer reserved.
func (e *engine) decide() {
	e.enforce()
	for before := -1; before != e.moves(); {
		before = e.moves()
		e.contest(e.owners(), e.takeQuota)
		e.reconsider(true)
		e.contest(e.borrowers(), e.takeSurplus)
		e.reconsider(false)
		if e.policy.OwnPriority {
			e.contest(rules{kind: byPriority, takes: burst, key: e.byQuotaUsed, may: func(_, _ int32, s *stand) bool { return !e.remembers(byPriority, s) }}, func(j *job) bool { return e.inSome(j, e.byPriority) })
		}
		if e.policy.FairReclaim {
			e.contest(rules{kind: byFairness, takes: burst, key: e.byScore, byPrio: true, may: func(_, _ int32, s *stand) bool { return !e.remembers(byFairness, s) }}, func(j *job) bool { return e.inSome(j, e.byFairness) })
		}
		e.contest(rules{kind: byIdle, takes: spot, key: e.byScore, may: e.mayIdle, over: e.noneFree}, e.takeIdle)
		e.giveBack()
	}
	e.nameVictims()
	e.finish()
}

// noneFree ends a contest for what is idle: nothing is.
func (e *engine) noneFree() bool {
	for c := range e.racks {
		if e.racks[c].at.free > 0 {
			return false
		}
	}
	return true
}

// noSurplus ends the contest for the surplus: nothing is free, no spot work
// can give way, and nobody may reserve.
func (e *engine) noSurplus() bool {
	for c := range e.racks {
		if e.racks[c].at.free > 0 || e.spotUse[c] > 0 || e.policy.ReserveAfter > 0 && e.mayReserve(int32(c)) {
			return false
		}
	}
	return true
}

// moves counts what may let a job start that was refused before. Beside a
// reservation an admission may too: more of its organisation's work is then a
// loan, which the reserved owner can take back.
func (e *engine) moves() int {
	n := len(e.plan.Reclaim) + len(e.plan.Withdrawn) + e.cleared
	for c := range e.reserved {
		if e.reserved[c].set {
			return n + len(e.plan.Admit)
		}
	}
	return n
}

// tiers is a set of them.
type tiers int8

const (
	spot tiers = 1 << iota
	burst
	guaranteed
)

func (s tiers) has(t pool.Tier) bool {
	switch t {
	case pool.Spot:
		return s&spot != 0
	case pool.Burst:
		return s&burst != 0
	}
	return s&guaranteed != 0
}

func (e *engine) owners() rules {
	return rules{kind: byQuota, takes: burst | guaranteed, key: e.byQuotaUsed, may: e.mayClaim}
}

func (e *engine) borrowers() rules {
	return rules{kind: bySurplus, takes: burst, key: e.byScore, byPrio: true, may: e.maySurplus, over: e.noSurplus}
}

// mayClaim, maySurplus and mayIdle are what takeQuota, takeSurplus and takeIdle
// ask for at least. They are quick, and false is certain.
func (e *engine) mayClaim(o, _ int32, s *stand) bool {
	inside := false
	for _, c := range e.classLists[s.classes] {
		org := e.org(c, o)
		used := org.use
		if s.tier == pool.Guaranteed {
			used = org.guaranteed
		}
		k := int(s.units)
		if k <= org.subtree && e.mayReserve(c) {
			return true
		}
		inside = inside || used+k <= org.subtree
	}
	return inside && !e.remembers(byQuota, s)
}

func (e *engine) maySurplus(_, account int32, s *stand) bool {
	fits := false
	for _, c := range e.classLists[s.classes] {
		if e.policy.ReserveAfter > 0 && e.mayReserve(c) {
			return true
		}
		fits = fits || e.racks[c].at.may(s) && e.ledger.avail(c, account) >= int(s.units) || e.spotUse[c] > 0 && e.ledger.allows(c, account, int(s.units))
	}
	return fits && !e.remembers(bySurplus, s)
}

func (e *engine) mayIdle(_, _ int32, s *stand) bool {
	for _, c := range e.classLists[s.classes] {
		if e.racks[c].at.may(s) && e.ledger.avail(c, 0)-e.spotUse[c] >= int(s.units) {
			return !e.remembers(byIdle, s)
		}
	}
	return false
}

// byQuotaUsed asks first who uses the least of its quota in the head's class.
func (e *engine) byQuotaUsed(o, c int32, _ int) share { return e.used(c, o+1) }

// byScore asks first who would have the least surplus by weight, with half of
// its decayed loan use added. It is local to the class: what is borrowed in
// one class costs nothing in another.
func (e *engine) byScore(o, c int32, units int) share {
	have := int64(e.org(c, o).over()+units)*1000 + e.loanMean[e.oc(c, o)]/2
	return share{have, e.weights[e.oc(c, o)] * int64(e.scale(c))}
}

// scale is what of a class can be lent; where owners keep all of it, its GPUs,
// so that a score stays a part of something.
func (e *engine) scale(c int32) int {
	if e.whole[c] > 0 {
		return e.whole[c]
	}
	return max(1, e.racks[c].gpus)
}

// inSome tries the classes of a job in their order.
func (e *engine) inSome(j *job, try func(*job, int32) bool) bool {
	return slices.ContainsFunc(j.classes, func(c int32) bool { return try(j, c) })
}

// entitled says whether a job is inside the quota of its organisation.
func (e *engine) entitled(j *job, c int32) bool {
	org := e.org(c, j.org)
	if j.tier == pool.Guaranteed {
		return org.guaranteed+j.units <= org.subtree
	}
	return j.tier == pool.Burst && org.use+j.units <= org.subtree
}

// takeQuota admits a job inside its quota, else takes loans back for it, else
// lets it reserve.
func (e *engine) takeQuota(j *job) bool {
	for _, c := range j.classes {
		if e.entitled(j, c) {
			if nodes := e.fitsNow(j, c); nodes != nil {
				e.admit(j, c, nodes)
				return true
			}
		}
	}
	for _, c := range j.classes {
		if e.entitled(j, c) && e.reclaim(j, c) {
			return true
		}
	}
	for _, c := range j.classes {
		if !e.mayReserve(c) || j.units > e.org(c, j.org).subtree || e.window(j, c) != 0 || !e.affordable(j, c) {
			continue
		}
		// A job that only its own organisation's work keeps outside of its quota
		// doesn't hold the rest of that up before it has waited long, and not
		// where no GPUs are missing.
		waited := j.tier == pool.Guaranteed || e.now >= j.submitted.Add(e.policy.ReserveAfter)
		if (e.entitled(j, c) || waited && e.nodesFor(j, c) == nil) && e.reserve(j, c, true) {
			break
		}
	}
	return false
}

// takeSurplus admits burst work on what owners leave idle, or in the place of
// spot work; who waited too long may reserve.
func (e *engine) takeSurplus(j *job) bool {
	for _, c := range j.classes {
		if nodes := e.fitsNow(j, c); nodes != nil {
			e.surplus[e.oc(c, j.org)] = true
			e.admit(j, c, nodes)
			return true
		}
	}
	if e.inSome(j, e.overSpot) {
		return true
	}
	if after := e.policy.ReserveAfter; after > 0 && e.now >= j.submitted.Add(after) {
		for _, c := range j.classes {
			if e.mayReserve(c) && e.window(j, c) == 0 && e.affordable(j, c) && e.reserve(j, c, false) {
				break
			}
		}
	}
	return false
}

// takeIdle admits spot work on idle hardware that owners don't keep back.
func (e *engine) takeIdle(j *job) bool {
	for _, c := range j.classes {
		if nodes := e.fitsNow(j, c); nodes != nil {
			e.admit(j, c, nodes)
			return true
		}
	}
	return false
}

// quotaLeft is what quota lets a job take: for spot work what owners lend and
// spot work doesn't use yet.
func (e *engine) quotaLeft(j *job, c int32) int {
	if j.tier == pool.Spot {
		return e.ledger.avail(c, 0) - e.spotUse[c]
	}
	return e.ledger.avail(c, j.account)
}

// fitsNow finds the nodes for a job that may start now; nil when it may not.
func (e *engine) fitsNow(j *job, c int32) []int32 {
	if e.racks[c].at.free < j.units || e.quotaLeft(j, c) < j.units || e.window(j, c) != 0 || !e.affordable(j, c) {
		return nil
	}
	return e.nodesFor(j, c)
}

// nodesFor finds the nodes on which a job has room now; nil when there are none.
func (e *engine) nodesFor(j *job, c int32) []int32 {
	var ok func(*node) bool
	if !e.anywhere(j, c) {
		ok = func(n *node) bool { return e.suits(j, n) && e.backfills(j, c, n) }
	}
	e.nodeBuf = e.bestFit(c, j.n, j.g, ok, e.nodeBuf)
	return e.nodeBuf
}

// window is the end of a time policy that keeps a job from starting now, 0
// when none does. What nobody can stop must also end before the next begins.
func (e *engine) window(j *job, c int32) pool.Instant {
	until := e.crossing(j, c)
	for _, w := range e.in.Windows {
		if w.Org != "" && w.Org != e.orgs[j.org].id || w.Class != "" && w.Class != e.classes[c].ID || w.Tier != "" && w.Tier != j.tier {
			continue
		}
		stays := j.tier == pool.Guaranteed || j.fixed
		if w.Closed.Contains(e.now) || stays && w.Closed.Overlaps(pool.Interval{Start: e.now, End: e.boundOf(j)}) {
			until = max(until, w.Closed.End)
		}
	}
	return until
}

// admit starts a job on nodes.
func (e *engine) admit(j *job, c int32, nodes []int32) {
	slices.Sort(nodes)
	holds := make([]hold, len(nodes))
	for i, n := range nodes {
		holds[i] = hold{n, j.g}
	}
	e.unreserve(j)
	e.admission(j, e.enter(e.runOf(j, c, holds, true)))
}

func (e *engine) admission(j *job, i int32) {
	r := &e.runs[i]
	a := Admission{Job: e.id(j), Class: e.classes[r.class].ID, MaxEnd: r.end, Placement: make([]NodeGPUs, len(r.nodes))}
	for k, h := range r.nodes {
		a.Placement[k] = NodeGPUs{e.nodes[h.node].id, h.gpus}
	}
	j.done = true
	e.plan.Admit = append(e.plan.Admit, a)
	e.started = append(e.started, i)
	if r.tier != pool.Spot {
		e.held[e.oc(r.class, r.org)].written = false
	}
}

// finish writes down what the working state has come to.
func (e *engine) finish() {
	for c := range e.classes {
		for o := range e.orgs {
			if h := &e.held[e.oc(int32(c), int32(o))]; !h.written {
				e.cover(int32(c), int32(o))
				for _, i := range h.runs {
					e.recover(i, pool.Split{Own: e.runs[i].own, Loan: e.runs[i].loan})
				}
				h.written = true
			}
		}
	}
	e.oddSpots = slices.DeleteFunc(e.oddSpots, func(i int32) bool {
		e.recover(i, pool.Split{Spot: e.runs[i].units})
		return !e.runs[i].gone
	})
	for k, i := range e.started {
		r := &e.runs[i]
		r.split = pool.Split{Own: r.own, Loan: r.loan}
		if r.tier == pool.Spot {
			r.split = pool.Split{Spot: r.units}
		}
		e.plan.Admit[k].Split = r.split
	}
	for c := range e.reserved {
		if v := &e.reserved[c]; v.set {
			e.plan.Reserved = append(e.plan.Reserved, Reservation{v.job, e.classes[c].ID, v.at, v.places})
		}
	}
}

// recover changes what a running attempt is charged as.
func (e *engine) recover(i int32, split pool.Split) {
	r := &e.runs[i]
	if !r.running || r.gone || r.split == split {
		return
	}
	e.plan.Covers = append(e.plan.Covers, CoverChange{r.id, split})
	if !r.fresh {
		if _, again := e.was[i]; !again {
			e.was[i] = r.split
		}
	}
	r.split = split
}
