package quota

import (
	"slices"

	"gpupool/domain/pool"
)

// begun puts the work that the plan starts or promises into the model of the
// snapshot before it: it moves the cover of its organisation before others
// claim, and nobody is gone yet.
func (l laws) begun() *model {
	s := l.before
	s.Running = slices.Clone(s.Running)
	execute(s.Running, l.plan) // what ends for no other job goes first
	m := read(&s, l.now)
	put := func(id pool.JobID, c pool.ClassID, where []NodeGPUs) {
		if slices.ContainsFunc(l.before.Promises, func(p Promise) bool { return p.Job == id }) {
			return
		}
		j := l.jobs[id]
		m.held = append(m.held, m.start(&j, c, where))
	}
	for _, a := range l.plan.Admit {
		put(a.Job, a.Class, a.Placement)
	}
	for _, p := range l.plan.Reclaim {
		put(p.Job, p.Class, p.Placement)
	}
	m.tally()
	return m
}

// I3: another organisation stops only spot work, or burst work of which a GPU
// is on loan. Nobody stops fixed or guaranteed work, or work in its minimum
// run. And each rule stops only what it may.
func (l laws) victims() {
	if len(l.plan.Reclaim) == 0 {
		return
	}
	old := stopping(l.before)
	m := l.begun()
	kept := slices.ContainsFunc(l.plan.Withdrawn, func(x Withdrawal) bool { return len(x.Keep) > 0 })
	for _, p := range l.plan.Reclaim {
		j := l.jobs[p.Job]
		for _, v := range p.Victims {
			if old[v] {
				continue
			}
			old[v] = true // later promises of the plan count on it, they didn't take it
			h := m.held[slices.IndexFunc(m.held, func(h *holder) bool { return h.id == v })]
			if h.tier == pool.Guaranteed || h.fixed || h.minRun > l.now {
				l.t.Fatalf("I3: %s is %s (fixed %t, minimum run until %d) and is stopped for %s", v.NomadID(), h.tier, h.fixed, h.minRun, p.Job)
			}
			others := slices.ContainsFunc(l.plan.Reclaim, func(q Promise) bool { return q.Job != p.Job && slices.Contains(q.Victims, v) })
			if p.Rule == OverSpot && h.tier != pool.Spot && !others { // else it may count on what others stop
				l.t.Fatalf("I3: %s is %s and is stopped for %s by %s", v.NomadID(), h.tier, p.Job, p.Rule)
			}
			own := slices.ContainsFunc(l.plan.Reclaim, func(q Promise) bool {
				return slices.Contains(q.Victims, v) && m.orgs[l.jobs[q.Job].Org] == h.org
			})
			// It may stop for its own organisation while others count on what
			// is left of its GPUs. Where victims of a withdrawn promise run on,
			// the state before doesn't show them in the covers.
			if h.org != m.orgs[j.Org] && h.tier != pool.Spot && !kept && !own {
				if m.cover(h.class, h.org); h.loan < 1 {
					l.t.Fatalf("I3: %s is fully covered and stopped for %s by %s: %+v", v.NomadID(), p.Job, p.Rule, brief(l.plan))
				}
				if h.loan < h.units {
					l.met.straddles++
				}
			}
			l.needed(p, v)
		}
	}
}

// I3 for victims that stay under notice while a promise that counted on them
// ends: one that is left must have a claim on them by itself.
func (l laws) grounds() {
	for _, w := range l.plan.Withdrawn {
		for _, p := range l.before.Promises {
			if p.Job != w.Job || p.Sent {
				continue
			}
			for _, v := range p.Victims {
				left := slices.DeleteFunc(slices.Clone(l.after.Promises), func(q Promise) bool { return !slices.Contains(q.Victims, v) })
				i := slices.IndexFunc(l.is.held, func(h *holder) bool { return h.id == v })
				if i < 0 || len(left) == 0 || l.is.isStopping(v) || l.is.held[i].tier == pool.Spot {
					continue
				}
				if l.met.grounds++; !slices.ContainsFunc(left, func(q Promise) bool { return q.Sent || l.claims(q, i) }) {
					l.t.Fatalf("I3: %s still stops for %+v, which have no claim on it: %+v", v.NomadID(), left, brief(l.plan))
				}
			}
		}
	}
}

// claims says whether a promise may stop burst work by its rule, were that to
// run on; and with it, for a promise that the plan makes, all that such promises
// stop, as it was before any of it was taken.
func (l laws) claims(q Promise, i int) bool {
	m := read(&l.after, l.now)
	h := m.held[i]
	h.gone = false
	if made := func(p Promise) bool { return p.Job == q.Job }; slices.ContainsFunc(l.plan.Reclaim, made) {
		for _, p := range l.plan.Reclaim {
			for _, o := range m.held {
				o.gone = o.gone && !slices.Contains(p.Victims, o.id)
			}
		}
	}
	m.tally()
	m.cover(h.class, h.org)
	j := l.jobs[q.Job]
	switch {
	case q.Rule == OverSpot:
		return false
	case h.org != m.orgs[j.Org]:
		return q.Rule != ByPriority && h.loan > 0
	case q.Rule == ByPriority:
		return h.priority < j.Priority
	}
	return q.Rule == ByQuota && (j.Tier == pool.Guaranteed || h.account != m.account(j.Org, j.Project) && m.books[h.class][h.account].over() > 0)
}

// frees says whether the plan starts or promises something that the budgets of
// a victim pay for: the money may be what it frees.
func (l laws) frees(v pool.AttemptID) bool {
	pays := func(id pool.JobID) bool {
		return slices.ContainsFunc(l.jobs[id].Charges, func(x Charge) bool {
			return slices.ContainsFunc(l.jobs[v.Job].Charges, func(y Charge) bool { return x.Budget == y.Budget })
		})
	}
	return slices.ContainsFunc(l.plan.Reclaim, func(p Promise) bool { return pays(p.Job) }) ||
		slices.ContainsFunc(l.plan.Admit, func(a Admission) bool { return pays(a.Job) })
}

// I6: no victim can be given back: with it running on, its promise or another
// has no room in its place.
func (l laws) needed(p Promise, v pool.AttemptID) {
	reserved := slices.ContainsFunc(l.plan.Reserved, func(r Reservation) bool { return r.Class == p.Class })
	shared := slices.ContainsFunc(l.plan.Reclaim, func(q Promise) bool { return q.Job != p.Job && slices.Contains(q.Victims, v) })
	if p.Rule == ByPriority || shared || reserved || len(l.plan.Withdrawn) > 0 || l.frees(v) {
		return // it keeps the organisation's loan from growing, or frees more than the promise itself
	}
	l.met.minimal++
	m := read(&l.after, l.now)
	j := l.jobs[p.Job]
	b := m.held[slices.IndexFunc(m.held, func(h *holder) bool { return h.id == pool.AttemptID{Job: p.Job} })]
	m.held[slices.IndexFunc(m.held, func(h *holder) bool { return h.id == v })].gone = false
	b.gone = true
	m.tally()
	spare := m.allowed(&j, b.class) >= b.units
	for _, x := range p.Placement {
		n := &m.nodes[m.at[nodeName{x.Node, p.Class}]]
		spare = spare && n.planned+x.GPUs <= n.cap && m.suits(&j, n)
	}
	b.gone = false
	m.tally()
	if org := &m.books[b.class][b.org]; l.jobs[v.Job].Org == j.Org && org.use > org.subtree { // only inside its quota it may take loans
		spare = spare && !slices.ContainsFunc(p.Victims, func(x pool.AttemptID) bool { return l.jobs[x.Job].Org != j.Org && l.jobs[x.Job].Tier != pool.Spot })
	}
	for i := range m.nodes { // other promises stand there too
		spare = spare && m.nodes[i].planned <= max(m.nodes[i].cap, l.was.nodes[i].planned)
	}
	if spare {
		l.t.Fatalf("I6: %s needn't stop for %s by %s: %+v", v.NomadID(), p.Job, p.Rule, brief(l.plan))
	}
}
