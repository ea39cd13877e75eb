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
