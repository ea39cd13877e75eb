package quota

import (
	"slices"

	"gpupool/domain/pool"
)

// milder is the order of victims that owe nothing to anybody: lower priority,
// newest start, id.
func (e *engine) milder(x, y int32) bool {
	a, b := &e.runs[x], &e.runs[y]
	if a.priority != b.priority {
		return a.priority < b.priority
	}
	if a.started != b.started {
		return a.started > b.started
	}
	return attemptBefore(b.id, a.id)
}

// spotsHelp says whether there are enough nodes with room if all spot work were
// gone from them.
func (k *claim) spotsHelp() bool {
	fits := 0
	for i := k.e.racks[k.c].lo; i < k.e.racks[k.c].hi && fits < k.j.n; i++ {
		if n := &k.e.nodes[i]; n.open && n.cap-n.planned+n.spot >= k.j.g {
			fits++
		}
	}
	return fits >= k.j.n
}

// takeSpots takes spot work until the job fits.
func (k *claim) takeSpots() bool {
	for _, i := range k.e.spots[k.c] {
		if r := &k.e.runs[i]; !r.gone && !r.protected && !k.vain(r) {
			if k.take(i); k.fits() {
				return true
			}
		}
	}
	return false
}

// takeLoans takes loans of other organisations, the richest by weight first,
// until the job fits. legal, when not nil, may refuse a victim.
func (k *claim) takeLoans(legal func(*run) bool) bool {
	e := k.e
	h := e.lendersOf(k.c)
	if legal == nil && !k.slow {
		if done, fits := k.tryLoans(h); done {
			return fits
		}
		h = e.lendersOf(k.c)
	}
	if legal != nil {
		h = k.legalLenders(legal)
	}
	for len(h.items) > 0 {
		x := h.items[0]
		if legal != nil && !legal(&e.runs[x.victim]) {
			if k.picky && k.next(&x, legal) { // others of it may still be
				h.set(0, x)
				h.down(0)
			} else {
				h.pop()
			}
			continue
		}
		if k.take(x.victim); k.fits() {
			return true
		}
		if x.over = e.over(k.c, x.org); k.next(&x, legal) {
			h.set(0, x)
			h.down(0)
			continue
		}
		if h.pop(); legal == nil {
			e.lenders[k.c].at[x.org] = -1
		}
	}
	return false
}

// legalLenders are those of other organisations that have a victim which a rule
// allows.
func (k *claim) legalLenders(legal func(*run) bool) *heap[lender] {
	h := &heap[lender]{less: k.e.lendsBefore}
	for _, x := range k.e.lendersOf(k.c).items {
		if x.at++; x.org != k.j.org && k.next(&x, legal) {
			h.items = append(h.items, x)
		}
	}
	h.init()
	return h
}

// next walks an organisation's holding from its end: what is stopped is the
// last to be covered, so that at least one of its GPUs is on loan.
func (k *claim) next(x *lender, legal func(*run) bool) bool { return k.e.nextLoan(k.c, x, legal) }

func (e *engine) nextLoan(c int32, x *lender, legal func(*run) bool) bool {
	if e.org(c, x.org).over() == 0 {
		return false
	}
	h := &e.held[e.oc(c, x.org)]
	if !h.covered && e.orgs[x.org].split {
		h = e.cover(c, x.org)
	}
	if e.orgs[x.org].split {
		return e.nextOfSplit(x, h, legal)
	}
	for x.at--; x.at >= h.first; x.at-- {
		i := h.runs[x.at]
		e.work.victims++
		if r := &e.runs[i]; !r.gone && !r.protected && r.tier == pool.Burst && r.loan > 0 && (legal == nil || legal(r)) {
			x.victim = i
			return true
		}
	}
	return false
}

// nextOfSplit is nextLoan where projects have quota of their own: what is wholly
// on loan goes before what isn't. To stop that frees quota too, which then covers
// others, that could have been taken.
func (e *engine) nextOfSplit(x *lender, h *holding, legal func(*run) bool) bool {
	for _, part := range []bool{false, true} {
		for at := len(h.runs) - 1; at >= h.first; at-- {
			i := h.runs[at]
			e.work.victims++
			if r := &e.runs[i]; !r.gone && !r.protected && r.tier == pool.Burst && r.loan > 0 && (r.own > 0) == part && (legal == nil || legal(r)) {
				x.at, x.victim = at, i
				return true
			}
		}
	}
	return false
}

// trim moves the tail of a holding before the runs that can be no victims of
// this decision any more.
func (e *engine) trim(h *holding) {
	for ; h.tail > 0; h.tail-- {
		r := &e.runs[h.runs[h.tail-1]]
		if !r.gone && !r.protected && r.tier == pool.Burst {
			return
		}
		h.stays = h.stays || !r.gone
	}
}

// keepCovers marks the covers of lenders as right where only their last
// covered runs went: nothing moves then for those that stay.
func (k *claim) keepCovers() {
	for _, i := range k.taken {
		r := &k.e.runs[i]
		h := &k.e.held[k.e.oc(r.class, r.org)]
		if r.tier == pool.Spot || r.org == k.j.org || k.e.orgs[r.org].split || h.covered {
			continue
		}
		k.e.trim(h)
		h.covered = !h.stays && !slices.ContainsFunc(k.taken, func(t int32) bool {
			x := &k.e.runs[t]
			return x.org == r.org && int(x.rank) < h.tail
		})
	}
}

// over is what an organisation has on loan in a class, by weight.
func (e *engine) over(c, o int32) share {
	return share{int64(e.org(c, o).over()), e.weights[e.oc(c, o)]}
}

// takeSiblings takes burst work of the job's own organisation: any for a
// guaranteed job; otherwise that of projects over their quota, for a project
// inside its own.
func (k *claim) takeSiblings() bool {
	e, j := k.e, k.j
	mine := e.ledger.at(k.c, j.account)
	if j.tier != pool.Guaranteed && mine.use+j.units > mine.subtree {
		return false
	}
	runs := e.cover(k.c, j.org).runs
	for at := len(runs) - 1; at >= 0; at-- {
		r := &e.runs[runs[at]]
		if r.gone || r.protected || r.tier != pool.Burst || k.vain(r) {
			continue
		}
		if j.tier != pool.Guaranteed && (r.account == j.account || e.ledger.at(k.c, r.account).over() == 0) {
			continue
		}
		if k.take(runs[at]); k.fits() {
			return true
		}
	}
	return false
}

// takeForQuota takes victims in the order of owners until the job fits.
func (k *claim) takeForQuota() bool {
	var legal func(*run) bool
	if k.picky {
		legal = func(r *run) bool { return !k.vain(r) }
	}
	if k.inside() {
		return k.takeSpots() || k.takeLoans(legal) || k.takeSiblings()
	}
	return k.takeSiblings() || k.takeSpots() || k.inside() && k.takeLoans(legal)
}

// vain says whether a picky claim leaves a run alone: GPUs are missing on nodes,
// and it holds none of those.
func (k *claim) vain(r *run) bool {
	return k.picky && k.lacks() && !slices.ContainsFunc(r.nodes, func(h hold) bool {
		return h.node >= 0 && k.e.nodes[h.node].later() < k.j.g && k.suits(&k.e.nodes[h.node])
	})
}
