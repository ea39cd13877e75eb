package quota

import (
	"slices"

	"gpupool/domain/pool"
)

// claim frees GPUs for one job by stopping others: a legal set, taken in the
// one order, then given back as far as it isn't needed.
type claim struct {
	e     *engine
	j     *job
	c     int32
	rule  Rule
	taken []int32
	short int // nodes with enough GPUs still missing
	slow  bool
	picky bool       // take only what frees GPUs where they are missing, while any are
	was   [depth]int // what the job's accounts used before it

	version uint64 // of the class, before anything was taken
	touched int
}

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

// open starts a claim; false when no victim could ever help.
func (e *engine) open(j *job, c int32, rule Rule) (*claim, bool) {
	room := e.ledger.room(c, j.account)
	if rule == ByQuota || rule == ByPriority { // it may take burst work of its own organisation
		room = max(room, e.ledger.roomBesideGuaranteed(c, j.account))
	}
	if e.now.Add(e.policy.Notice) > j.startBy { // they would be gone too late
		return nil, false
	}
	if room < j.units || e.window(j, c) != 0 || !e.affordable(j, c) {
		return nil, false
	}
	k := &claim{e: e, j: j, c: c, rule: rule, version: e.versions[c], touched: len(e.touched), slow: e.anyPrivate || e.reserved[c].set && e.reserved[c].org == j.org}
	k.short = j.n - k.fitting()
	for i, a := 0, j.account; a >= 0; i, a = i+1, e.ledger.parent[a] {
		k.was[i] = e.ledger.at(c, a).visible
	}
	return k, true
}

// allowed says whether quota lets the job start if the victims were gone: it
// stays inside every limit, or where one was cut under what runs, in the place
// of work that it stops.
func (k *claim) allowed() bool {
	if k.e.ledger.avail(k.c, k.j.account) >= k.j.units {
		return true
	}
	more := k.j.units
	for i, a := 0, k.j.account; a >= 0; i, a = i+1, k.e.ledger.parent[a] {
		x := k.e.ledger.at(k.c, a)
		limit := x.subtree
		if k.e.ledger.parent[a] >= 0 {
			limit += x.borrow
		}
		if x.visible+more > max(limit, k.was[i]) {
			return false
		}
		more = max(0, x.visible+more-x.local) - max(0, x.visible-x.local)
	}
	return true
}

// suits says whether a node counts for the claim.
func (k *claim) suits(n *node) bool {
	return n.open && k.e.suits(k.j, n) && k.e.backfills(k.j, k.c, n)
}

// fitting counts the nodes that have room when the victims are gone.
func (k *claim) fitting() int { return k.e.fitting(k.c, k.j.g, k.filter()) }

// filter is suits, nil where every open node counts.
func (k *claim) filter() func(*node) bool {
	if k.e.anywhere(k.j, k.c) {
		return nil
	}
	return k.suits
}

// fits says whether the job could start if the victims were gone.
func (k *claim) fits() bool {
	if !k.allowed() {
		return false
	}
	return !k.lacks()
}

// turn releases (or restores) a run and keeps the count of fitting nodes.
func (k *claim) turn(i int32, release bool) {
	e := k.e
	r := &e.runs[i]
	for pass := range 2 {
		for _, h := range r.nodes {
			if h.node >= 0 {
				if n := &e.nodes[h.node]; n.later() >= k.j.g && k.suits(n) {
					k.short += 1 - 2*pass
				}
			}
		}
		if pass == 0 && release {
			e.release(i)
		} else if pass == 0 {
			e.restore(i)
		}
	}
}

func (k *claim) take(i int32) {
	k.e.work.victims++
	k.turn(i, true)
	k.taken = append(k.taken, i)
}

// undo gives everything back: the class is as it was.
func (k *claim) undo() {
	for i := len(k.taken) - 1; i >= 0; i-- {
		k.turn(k.taken[i], false)
	}
	k.taken = nil
	k.e.versions[k.c], k.e.touched = k.version, k.e.touched[:k.touched]
}

// minimise gives back, last taken first, every victim that isn't needed.
func (k *claim) minimise() {
	for i := len(k.taken) - 1; i >= 0; i-- {
		k.turn(k.taken[i], false)
		if k.fits() && (k.rule != ByQuota || k.inside() || !k.takesLoans(i)) {
			k.taken = slices.Delete(k.taken, i, i+1)
		} else {
			k.turn(k.taken[i], true)
		}
	}
}

// inside says whether the job's organisation stays inside its quota with it:
// only then it may take loans of others back.
func (k *claim) inside() bool {
	org := k.e.org(k.c, k.j.org)
	return org.use+k.j.units <= org.subtree
}

// takesLoans says whether a victim, one left out, is a loan of somebody else.
func (k *claim) takesLoans(but int) bool {
	for n, i := range k.taken {
		if r := &k.e.runs[i]; n != but && r.tier != pool.Spot && r.org != k.j.org {
			return true
		}
	}
	return false
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

// lacks says whether nodes with enough GPUs are missing.
func (k *claim) lacks() bool {
	if k.slow {
		return k.fitting() < k.j.n
	}
	return k.short > 0
}

// settle makes the set minimal and promises its GPUs to the job.
func (k *claim) settle() bool {
	k.minimise()
	e, j := k.e, k.j
	nodes := e.bestLater(k.c, j.n, j.g, k.filter())
	if nodes == nil {
		k.undo()
		return false
	}
	k.keepCovers()
	e.promise(j, k.c, nodes, k.taken, k.rule)
	return true
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
