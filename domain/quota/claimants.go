package quota

import (
	"slices"

	"gpupool/domain/pool"
)

// reclaim is the claim of an owner on its quota.
func (e *engine) reclaim(j *job, c int32) bool {
	k, ok := e.open(j, c, ByQuota)
	if !ok {
		return false
	}
	for !k.fits() && !k.takeForQuota() {
		k.undo()
		if k.picky || !slices.ContainsFunc(e.orgs, func(o orgState) bool { return o.split }) {
			return false
		}
		k.picky = true // where projects have quota, what is stopped in vain may have covered what would help
	}
	return k.settle()
}

// byPriority lets a job replace lower priority of its own organisation, when
// that doesn't grow what the organisation has on loan.
func (e *engine) byPriority(j *job, c int32) bool {
	k, ok := e.open(j, c, ByPriority)
	if !ok {
		return false
	}
	if k.fits() { // the surplus is enough
		return false
	}
	before := e.org(c, j.org).over()
	grows := func() bool { x := e.org(c, j.org); return max(0, x.use+j.units-x.subtree) > before }
	runs := e.cover(c, j.org).runs
	done := false
	for at := len(runs) - 1; at >= 0 && !done; at-- {
		r := &e.runs[runs[at]]
		if r.gone || r.protected || r.tier != pool.Burst || r.priority >= j.priority {
			continue
		}
		if r.account != j.account {
			if s := e.ledger.at(c, r.account); s.use-r.units < s.subtree {
				continue // the sibling would lose its own quota
			}
		}
		k.take(runs[at])
		done = k.fits() && !grows()
	}
	if !done {
		k.undo()
		return false
	}
	for i := len(k.taken) - 1; i >= 0; i-- {
		k.turn(k.taken[i], false)
		if k.fits() && !grows() {
			k.taken = slices.Delete(k.taken, i, i+1)
		} else {
			k.turn(k.taken[i], true)
		}
	}
	nodes := e.bestLater(c, j.n, j.g, k.filter())
	if nodes == nil {
		k.undo()
		return false
	}
	e.promise(j, c, nodes, k.taken, ByPriority)
	return true
}

// overSpot lets burst work take the place of spot work.
func (e *engine) overSpot(j *job, c int32) bool {
	if e.spotUse[c] == 0 || !e.ledger.allows(c, j.account, j.units) { // spot work uses no quota
		return false
	}
	k, ok := e.open(j, c, OverSpot)
	if !ok || !k.spotsHelp() {
		return false
	}
	if k.fits() || !k.takeSpots() { // what fits later waits for it
		k.undo()
		return false
	}
	return k.settle()
}

// byFairness lets a borrower take from richer ones: after the move, and on the
// final set, it may not be richer than any of those it took from.
func (e *engine) byFairness(j *job, c int32) bool {
	k, ok := e.open(j, c, ByFairness)
	if !ok || k.fits() {
		return false
	}
	after := share{int64(max(0, e.org(c, j.org).use+j.units-e.org(c, j.org).subtree)), e.weights[e.oc(c, j.org)]}
	fair := func(o int32, less int) bool {
		x := e.org(c, o)
		// Weight 0 is no licence to take what quota covers.
		return x.use-less >= x.subtree && after.compare(share{int64(max(0, x.use-less-x.subtree)), e.weights[e.oc(c, o)]}) <= 0
	}
	legal := func(r *run) bool { return !e.surplus[e.oc(c, r.org)] && fair(r.org, r.units) }
	if after.den == 0 || !e.ledger.allows(c, j.account, j.units) && len(k.legalLenders(legal).items) == 0 {
		return false // spot work uses no quota, and nobody else may be stopped
	}
	if !k.takeSpots() && !k.takeLoans(legal) {
		k.undo()
		return false
	}
	k.minimise()
	for _, i := range k.taken {
		if r := &e.runs[i]; r.tier != pool.Spot && !fair(r.org, 0) {
			k.undo()
			return false
		}
	}
	return k.settle()
}
