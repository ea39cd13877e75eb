package quota

import (
	"slices"
	"sort"
	"strings"

	"gpupool/domain/pool"
)

// lane is the buckets of one project for one first class.
type lane struct {
	org, account, class int32
	buckets             []int32
	order               []stand // those that have a head, in the order of their heads
	stirred             []int32 // buckets whose heads may not be those of order
}

// stand is a bucket in its lane's order: its head, with what that is compared
// by and what most refusals are for.
type stand struct {
	bucket, head int32
	units, n, g  int32
	classes      int32 // which of the lists
	paid         bool  // it counts against budgets
	tier         pool.Tier
	priority     int
	submitted    pool.Instant
}

// fewStirred buckets are put to their places one by one.
const fewStirred = 8

// stir notes that another job may be the head of a bucket.
func (e *engine) stir(b int32) {
	x := &e.buckets[b]
	x.head = 0
	if !x.stirred {
		x.stirred = true
		l := &e.lanes[x.lane]
		l.stirred = append(l.stirred, b)
	}
}

// lineUp brings the order of a lane up to date.
func (e *engine) lineUp(l int32) {
	x := &e.lanes[l]
	if len(x.stirred) == 0 {
		return
	}
	if len(x.stirred) > fewStirred {
		x.order = x.order[:0]
		for _, b := range x.buckets {
			if s, ok := e.standOf(b); ok {
				x.order = append(x.order, s)
			}
		}
		slices.SortFunc(x.order, func(a, b stand) int { return e.standOrder(&a, &b) })
	} else {
		for _, b := range x.stirred {
			if i := slices.IndexFunc(x.order, func(s stand) bool { return s.bucket == b }); i >= 0 {
				x.order = slices.Delete(x.order, i, i+1)
			}
		}
		for _, b := range x.stirred {
			if s, ok := e.standOf(b); ok {
				x.order = slices.Insert(x.order, e.standAt(x.order, &s), s)
			}
		}
	}
	for _, b := range x.stirred {
		e.buckets[b].stirred = false
	}
	x.stirred = x.stirred[:0]
}

// standOf is the place of a bucket in its lane; false when it has no head.
func (e *engine) standOf(b int32) (stand, bool) {
	j := e.headOf(b)
	if j == nil {
		return stand{}, false
	}
	x := &e.buckets[b]
	return stand{bucket: b, head: x.jobs[x.head], units: int32(min(j.units, 1<<30)), n: int32(j.n), g: int32(j.g), classes: x.classes, paid: x.charges >= 0, tier: j.tier, priority: j.priority, submitted: j.submitted}, true
}

// standAt is where a bucket belongs in an order.
func (e *engine) standAt(order []stand, s *stand) int {
	return sort.Search(len(order), func(i int) bool { return e.standOrder(s, &order[i]) < 0 })
}

// moveOn brings the bucket at a place of its lane, whose head was taken, to the
// place of its next job, or takes it out.
func (e *engine) moveOn(l, at int32) {
	x := &e.lanes[l]
	s, ok := e.standOf(x.order[at].bucket)
	if !ok {
		x.order = slices.Delete(x.order, int(at), int(at)+1)
		return
	}
	rest := x.order[at:]
	to := e.standAt(rest[1:], &s)
	copy(rest, rest[1:to+1])
	rest[to] = s
}

// standOrder is the order of jobBefore for two heads.
func (e *engine) standOrder(x, y *stand) int {
	switch {
	case x.head == y.head:
		return 0
	case x.tier != y.tier && (x.tier == pool.Guaranteed || y.tier == pool.Guaranteed):
		return when(x.tier == pool.Guaranteed, -2) + 1
	case x.priority != y.priority:
		return compare(y.priority, x.priority)
	case x.submitted != y.submitted:
		return compare(int64(x.submitted), int64(y.submitted))
	}
	return strings.Compare(string(e.jobs[x.head].of.ID), string(e.jobs[y.head].of.ID))
}
