package quota

import (
	"slices"

	"gpupool/domain/pool"
)

// madePromise is a promise of this decision with the victims that it took.
type madePromise struct {
	at    int // in Plan.Reclaim
	job   int32
	run   int32 // the beneficiary
	nodes []int32
	taken []int32
	rides []int32 // victims of other promises on whose GPUs it counts
}

// ridesOn finds the victims of other promises that a promise counts on, in the
// state as it is.
func (e *engine) ridesOn(m *madePromise) []int32 {
	var out []int32
	g := e.jobs[m.job].g
	for _, n := range m.nodes {
		x := &e.nodes[n]
		if x.cap-max(x.held, x.planned-g)+e.heldOn(m.taken, n) >= g {
			continue
		}
		for _, k := range x.runs {
			if r := &e.runs[k]; r.gone && r.holds && r.promised > 0 && !slices.Contains(m.taken, k) && !slices.Contains(out, k) {
				out = append(out, k)
			}
		}
	}
	for _, k := range out {
		e.runs[k].promised++
	}
	return out
}

// promise earmarks GPUs for a job until the victims are gone.
func (e *engine) promise(j *job, c int32, nodes, victims []int32, rule Rule) {
	slices.Sort(nodes)
	p := Promise{Job: e.id(j), Class: e.classes[c].ID, Rule: rule}
	holds := make([]hold, len(nodes))
	for i, n := range nodes {
		holds[i] = hold{n, j.g}
		p.Placement = append(p.Placement, NodeGPUs{e.nodes[n].id, j.g})
	}
	j.promised, j.promisedIn = true, c
	e.unreserve(j)
	run := e.enter(e.runOf(j, c, holds, false))
	for _, v := range victims {
		e.runs[v].promised++
		e.runs[v].stopAt = e.now.Add(e.policy.Notice)
	}
	e.plan.Reclaim = append(e.plan.Reclaim, p)
	m := madePromise{at: len(e.plan.Reclaim) - 1, job: j.slot, run: run, nodes: nodes, taken: slices.Clone(victims)}
	m.rides = e.ridesOn(&m)
	e.made = append(e.made, m)
}

// giveBack returns, last promise first, the victims that later claims have made
// unneeded by freeing more than they take.
func (e *engine) giveBack() {
	for i := len(e.made) - 1; i >= 0; i-- {
		m := &e.made[i]
		if e.plan.Reclaim[m.at].Rule == ByPriority {
			continue // these may stop only to keep the organisation's loan from growing
		}
		for k := len(m.taken) - 1; k >= 0; k-- {
			v := m.taken[k]
			r := &e.runs[v]
			if r.promised > 1 {
				continue
			}
			paid := !e.overspent(r)
			e.restore(v)
			if e.overbooked(known(r.nodes)) || paid && e.overspent(r) || r.tier != pool.Spot && e.ledger.strained(r.class, r.account) || e.reserved[r.class].set || e.bringsInside(v, m) {
				e.release(v)
				continue
			}
			r.promised--
			r.stopAt = 0
			m.taken = slices.Delete(m.taken, k, k+1)
			before := m.rides
			m.rides = e.ridesOn(m) // while what it counted on still shows as promised
			for _, x := range before {
				if e.runs[x].promised--; e.runs[x].promised == 0 {
					e.runOn(x, m)
				}
			}
		}
	}
}

// overspent says whether a budget that a run counts against can't bear all that
// is committed: what was promised since may have taken its place there too.
func (e *engine) overspent(r *run) bool {
	return slices.ContainsFunc(r.charges, func(c Charge) bool {
		b, ok := e.budgets.at[c.Budget]
		return ok && e.pays(r, c.Budget) && e.budgets.exposure(b) > int64(e.budgets.list[b].Limit)
	})
}

// bringsInside says whether a promise takes loans of others back, and its
// organisation is inside its quota, as it must be for that, only without v.
func (e *engine) bringsInside(v int32, m *madePromise) bool {
	r, j := &e.runs[v], &e.jobs[m.job]
	if org := e.org(r.class, j.org); r.org != j.org || r.tier == pool.Spot || org.use <= org.subtree {
		return false
	}
	return slices.ContainsFunc(m.taken, func(i int32) bool { return e.runs[i].org != j.org && e.runs[i].tier != pool.Spot })
}

// runOn spares a victim on which no promise counts any more, since the one
// that put it under notice was withdrawn in this step. Where there is no room
// for that, m goes on counting on it.
func (e *engine) runOn(v int32, m *madePromise) {
	r := &e.runs[v]
	if !r.gone || r.leaves() {
		return
	}
	e.restore(v)
	if e.overbooked(known(r.nodes)) {
		e.release(v)
		m.rides = append(m.rides, v)
		r.promised++
		return
	}
	for i := range e.promises {
		if o := &e.promises[i]; o.over && !o.stored.Sent && slices.Contains(o.victims, v) {
			w := slices.IndexFunc(e.plan.Withdrawn, func(w Withdrawal) bool { return w.Job == o.stored.Job })
			if w >= 0 && !slices.Contains(e.plan.Withdrawn[w].Keep, r.id) {
				e.plan.Withdrawn[w].Keep = append(e.plan.Withdrawn[w].Keep, r.id)
			}
		}
	}
}

// nameVictims writes the victims into the promises: those that were taken for
// it, and those of other promises on whose GPUs it counts.
func (e *engine) nameVictims() {
	for _, m := range e.made {
		p, j := &e.plan.Reclaim[m.at], &e.jobs[m.job]
		all := append(slices.Clone(m.taken), m.rides...)
		p.StopAt = e.now
		for _, k := range all {
			p.Victims = append(p.Victims, e.runs[k].id)
			p.StopAt = max(p.StopAt, e.runs[k].stopAt)
		}
		p.StopAt = max(p.StopAt, e.leaving(&m, all))
		sortBy(p.Victims, attemptBefore)
		j.stopAt, j.victims = p.StopAt, len(p.Victims)
	}
}

// leaving is when those have left on whose GPUs a promise counts beside its
// victims: an earlier decision, or this one, ends them for no other job.
func (e *engine) leaving(m *madePromise, victims []int32) pool.Instant {
	at := e.now
	for _, n := range m.nodes {
		x := &e.nodes[n]
		if x.cap-x.held+e.heldOn(victims, n) >= e.jobs[m.job].g {
			continue
		}
		for _, k := range x.runs {
			if r := &e.runs[k]; r.holds && !r.dead && r.notice != "" {
				at = max(at, r.noticeAt)
			}
		}
	}
	return at
}

// heldOn is how many GPUs of a node some runs hold.
func (e *engine) heldOn(runs []int32, n int32) int {
	k := 0
	for _, i := range runs {
		for _, h := range e.runs[i].nodes {
			if h.node == n {
				k += h.gpus
			}
		}
	}
	return k
}

// unreserve frees the reservation of a job that needs it no more.
func (e *engine) unreserve(j *job) {
	for c := range e.reserved {
		if v := &e.reserved[c]; v.set && v.job == e.id(j) {
			e.clearReservation(int32(c))
			e.cleared++
			e.tries[c] = 0
		}
	}
}

func (e *engine) clearReservation(c int32) {
	for _, i := range e.reserved[c].on {
		e.nodes[i].slack = unlimited
	}
	e.reserved[c] = reservation{}
	e.versions[c]++
}
