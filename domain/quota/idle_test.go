package quota

import (
	"slices"

	"gpupool/domain/pool"
)

// I4, where nothing is left to decide: no job inside its quota waits while it
// would fit beside what is promised, or in the place of one victim that it may
// stop. It looks at single victims, one after the other, and knows nothing of
// the order in which the engine takes them.
func (l laws) owners() {
	if l.plan.Changes() {
		return
	}
	e := build(&l.before, l.now)
	for b := range e.buckets {
		j := e.headOf(int32(b))
		if j == nil || j.tier == pool.Spot {
			continue
		}
		for _, c := range j.classes {
			reserved := slices.ContainsFunc(l.plan.Reserved, func(r Reservation) bool { return r.Class == e.classes[c].ID && r.Job != e.id(j) })
			if !e.entitled(j, c) || reserved {
				continue
			}
			l.met.owners++
			if l.couldRun(e, j, c) {
				l.t.Fatalf("I4: %+v is inside its quota, fits in %s and waits", l.jobs[e.id(j)], e.classes[c].ID)
			}
			for i := range e.runs {
				if !l.mayStop(e, j, c, &e.runs[i]) {
					continue
				}
				e.release(int32(i))
				fits := l.couldRun(e, j, c)
				e.restore(int32(i))
				if fits {
					l.t.Fatalf("I4: %+v is inside its quota, may stop %s, and waits", l.jobs[e.id(j)], e.runs[i].id.NomadID())
				}
			}
		}
	}
}

// couldRun says whether a job has room by quota and on nodes when all victims
// are gone.
func (l laws) couldRun(e *engine, j *job, c int32) bool {
	places := 0
	for i := range e.nodes {
		if n := &e.nodes[i]; n.class == c && n.later() >= j.g && e.suits(j, n) {
			places++
		}
	}
	return places >= j.n && e.ledger.avail(c, j.account) >= j.units
}

// mayStop is the law of claims on quota: spot work; loans of others, for an
// organisation inside its quota; burst work of its own, for a guaranteed job.
func (l laws) mayStop(e *engine, j *job, c int32, r *run) bool {
	if r.class != c || r.gone || r.protected || !slices.Contains([]pool.Tier{pool.Spot, pool.Burst}, r.tier) {
		return false
	}
	if r.tier == pool.Spot {
		return true
	}
	if r.org == j.org {
		return j.tier == pool.Guaranteed
	}
	org := e.org(c, j.org)
	e.cover(c, r.org)
	return r.loan > 0 && org.use+j.units <= org.subtree
}
