package quota

import "gpupool/domain/pool"

// contest asks the heads of the organisations' queues one after the other, in
// an order that follows what the contest itself changes.
type contest struct {
	e       *engine
	takes   func(*job) bool
	key     func(o int32, j *job) share // the smallest is asked first
	byPrio  bool                        // equal keys: priority before age
	lanes   [][]int32                   // of each lane: a heap of its buckets
	entries heap[int32]                 // organisations
	at      []int32                     // where an organisation lies in entries, -1 = not
	head    []int32                     // its bucket to ask, -1 = none
	keys    []share
}

// run offers every head to try until each is admitted or was refused once.
func (e *engine) contest(takes func(*job) bool, key func(int32, *job) share, byPrio bool, try func(*job) bool) {
	c := &contest{e: e, takes: takes, key: key, byPrio: byPrio}
	c.start()
	for len(c.entries.items) > 0 {
		o := c.entries.items[0]
		b := c.head[o]
		l := e.buckets[b].lane
		j := e.headOf(b)
		if j != nil && try(j) {
			j.done = true
			if next := e.headOf(b); next != nil {
				c.lane(l).fix(0)
			} else {
				c.drop(l)
			}
		} else {
			c.drop(l)
		}
		c.refresh(o)
		for _, t := range e.touched {
			if t != o {
				c.refresh(t)
			}
		}
		e.touched = e.touched[:0]
	}
}

func (c *contest) start() {
	e := c.e
	c.lanes = make([][]int32, len(e.lanes))
	for l := range e.lanes {
		for _, b := range e.lanes[l].buckets {
			if j := e.headOf(b); j != nil && c.takes(j) {
				c.lanes[l] = append(c.lanes[l], b)
			}
		}
		c.lane(int32(l)).init()
	}
	n := len(e.orgs)
	c.at, c.head, c.keys = make([]int32, n), make([]int32, n), make([]share, n)
	c.entries = heap[int32]{less: c.before, moved: func(o int32, at int) { c.at[o] = int32(at) }}
	for o := range e.orgs {
		c.at[o] = -1
		if c.aim(int32(o)) {
			c.entries.items = append(c.entries.items, int32(o))
		}
	}
	c.entries.init()
	e.touched = e.touched[:0]
}

// lane is the heap of a lane's buckets, by the order of their heads.
func (c *contest) lane(l int32) *heap[int32] {
	return &heap[int32]{items: c.lanes[l], less: func(x, y int32) bool {
		a, b := c.e.headOf(x), c.e.headOf(y)
		if o := c.e.queueOrder(a, b); o != 0 {
			return o < 0
		}
		return a.source != b.source && c.e.id(a) < c.e.id(b)
	}}
}

// drop takes the first bucket out of a lane.
func (c *contest) drop(l int32) {
	h := c.lanes[l]
	last := len(h) - 1
	h[0] = h[last]
	c.lanes[l] = h[:last]
	if last > 0 {
		c.lane(l).down(0)
	}
}

// aim finds the head of an organisation: guaranteed work first, then the
// project that uses the least of its quota, then priority, then age. Where
// priority may stop work of a sibling, it comes before the projects' shares, so
// that the order that admits is the order that stops.
func (c *contest) aim(o int32) bool {
	e := c.e
	best, bestAt := int32(-1), share{}
	for _, l := range e.orgs[o].lanes {
		if len(c.lanes[l]) == 0 {
			continue
		}
		b, at := c.lanes[l][0], e.used(e.lanes[l].class, e.lanes[l].account)
		if best < 0 || c.ahead(e.headOf(b), at, e.headOf(best), bestAt) {
			best, bestAt = b, at
		}
	}
	c.head[o] = best
	if best >= 0 {
		c.keys[o] = c.key(o, e.headOf(best))
	}
	return best >= 0
}

func (c *contest) ahead(x *job, xs share, y *job, ys share) bool {
	if gx, gy := x.tier == pool.Guaranteed, y.tier == pool.Guaranteed; gx != gy {
		return gx
	}
	if c.e.policy.OwnPriority && x.priority != y.priority {
		return x.priority > y.priority
	}
	if s := xs.compare(ys); s != 0 {
		return s < 0
	}
	if o := c.e.queueOrder(x, y); o != 0 {
		return o < 0
	}
	return c.e.id(x) < c.e.id(y)
}

// used is the part of its quota that an account uses; use without quota is
// above every part, no use is nothing.
func (e *engine) used(c, a int32) share {
	x := e.ledger.at(c, a)
	if x.use == 0 {
		return share{0, 1}
	}
	return share{int64(x.use), int64(x.subtree)}
}

// refresh brings an organisation to its place after a change.
func (c *contest) refresh(o int32) {
	at := c.at[o]
	if at < 0 {
		return
	}
	if c.aim(o) {
		c.entries.fix(int(at))
		return
	}
	last := int32(len(c.entries.items) - 1)
	moved := c.entries.items[last]
	c.entries.set(int(at), moved)
	c.entries.items = c.entries.items[:last]
	if at != last {
		c.entries.fix(int(at))
	}
	c.at[o] = -1
}

func (c *contest) before(x, y int32) bool {
	if k := c.keys[x].compare(c.keys[y]); k != 0 {
		return k < 0
	}
	a, b := c.e.headOf(c.head[x]), c.e.headOf(c.head[y])
	if c.byPrio && a.priority != b.priority {
		return a.priority > b.priority
	}
	if a.submitted != b.submitted {
		return a.submitted < b.submitted
	}
	return x < y
}
