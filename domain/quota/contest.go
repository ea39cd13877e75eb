package quota

import "gpupool/domain/pool"

// contest asks the heads of the organisations' queues one after the other, in
// an order that follows what the contest itself changes. Its slices are kept
// from one contest to the next.
type contest struct {
	e       *engine
	takes   func(*job) bool
	key     func(o int32, j *job) share // the smallest is asked first
	byPrio  bool                        // equal keys: priority before age
	buckets [][]int32                   // of each lane: a heap of its buckets
	fronts  []front                     // of each lane
	lanes   [][]int32                   // of each organisation: a heap of its lanes
	at      []int32                     // where a lane lies in the heap of its organisation, -1 = not
	orgs    heap[int32]                 // organisations
	place   []int32                     // where an organisation lies in orgs, -1 = not
	keys    []entry
}

// entry is what an organisation is compared by.
type entry struct {
	share
	priority  int
	submitted pool.Instant
}

// front is the head of a lane with what it is compared by.
type front struct {
	job        *job
	used       share // of its project, in the lane's class
	guaranteed bool
}

// touch is a project whose use of a class changed.
type touch struct{ class, account int32 }

// run offers every head to try until each is admitted or was refused once.
// over, which may be nil, ends it as soon as nobody else could be taken.
func (e *engine) contest(takes func(*job) bool, key func(int32, *job) share, byPrio bool, over func() bool, try func(*job) bool) {
	c := &e.ring
	c.e, c.takes, c.key, c.byPrio = e, takes, key, byPrio
	if over != nil && over() {
		e.touched = e.touched[:0]
		return
	}
	c.start()
	for len(c.orgs.items) > 0 {
		o := c.orgs.items[0]
		l := c.lanes[o][0]
		j := c.fronts[l].job
		e.work.asked++
		if try(j) {
			j.done = true
			if e.headOf(c.buckets[l][0]) != nil {
				c.lane(l).fix(0)
			} else {
				c.drop(l)
			}
		} else {
			c.drop(l)
		}
		if over != nil && over() {
			break
		}
		c.renew(l, o)
		for i, t := range e.touched {
			if x := e.laneOf(t.class, t.account); x >= 0 && x != l && c.at[x] >= 0 && (i == 0 || t != e.touched[i-1]) {
				c.fronts[x].used = e.used(t.class, t.account)
				c.own(e.lanes[x].org).fix(int(c.at[x]))
			}
		}
		c.refresh(o)
		last := o
		for _, t := range e.touched {
			if to := e.projects[t.account].org; to != last && to != o {
				c.refresh(to)
				last = to
			}
		}
		e.touched = e.touched[:0]
	}
	e.touched = e.touched[:0]
}

func (c *contest) start() {
	e := c.e
	c.buckets = grown(c.buckets, len(e.lanes))
	c.fronts = grown(c.fronts, len(e.lanes))
	c.at = grown(c.at, len(e.lanes))
	c.lanes = grown(c.lanes, len(e.orgs))
	c.place, c.keys = grown(c.place, len(e.orgs)), grown(c.keys, len(e.orgs))
	c.orgs = heap[int32]{items: c.orgs.items[:0], less: c.before, moved: func(o int32, at int) { c.place[o] = int32(at) }}
	for o := range e.orgs {
		c.place[o] = -1
		c.lanes[o] = c.lanes[o][:0]
		for _, l := range e.orgs[o].lanes {
			c.at[l] = -1
			c.buckets[l] = c.buckets[l][:0]
			for _, b := range e.lanes[l].buckets {
				if j := e.headOf(b); j != nil && c.takes(j) {
					c.buckets[l] = append(c.buckets[l], b)
				}
			}
			if len(c.buckets[l]) > 0 {
				c.lane(l).init()
				c.read(l)
				c.fronts[l].used = e.used(e.lanes[l].class, e.lanes[l].account)
				c.at[l] = int32(len(c.lanes[o]))
				c.lanes[o] = append(c.lanes[o], l)
			}
		}
		if len(c.lanes[o]) > 0 {
			c.own(int32(o)).init()
			c.aim(int32(o))
			c.place[o] = int32(len(c.orgs.items))
			c.orgs.items = append(c.orgs.items, int32(o))
		}
	}
	c.orgs.init()
	e.touched = e.touched[:0]
}

// grown is a slice of that length that keeps what it has.
func grown[T any](s []T, n int) []T {
	if n <= cap(s) {
		return s[:n]
	}
	return append(s[:cap(s)], make([]T, n-cap(s))...)
}

// lane is the heap of a lane's buckets, by the order of their heads.
func (c *contest) lane(l int32) *heap[int32] {
	return &heap[int32]{items: c.buckets[l], less: func(x, y int32) bool { return c.e.jobBefore(c.e.headOf(x), c.e.headOf(y)) }}
}

// own is the heap of an organisation's lanes.
func (c *contest) own(o int32) *heap[int32] {
	return &heap[int32]{items: c.lanes[o], less: c.ahead, moved: func(l int32, at int) { c.at[l] = int32(at) }}
}

// read takes the head of a lane from its buckets.
func (c *contest) read(l int32) {
	j := c.e.headOf(c.buckets[l][0])
	c.fronts[l].job, c.fronts[l].guaranteed = j, j.tier == pool.Guaranteed
}

// drop takes the first bucket out of a lane.
func (c *contest) drop(l int32) {
	h := c.buckets[l]
	last := len(h) - 1
	h[0] = h[last]
	c.buckets[l] = h[:last]
	if last > 0 {
		c.lane(l).down(0)
	}
}

// renew brings the first lane of an organisation to its place after its head
// changed.
func (c *contest) renew(l, o int32) {
	h := c.own(o)
	if len(c.buckets[l]) > 0 {
		c.read(l)
		c.fronts[l].used = c.e.used(c.e.lanes[l].class, c.e.lanes[l].account)
		h.fix(int(c.at[l]))
		return
	}
	h.pop()
	c.lanes[o], c.at[l] = h.items, -1
}

// ahead is the order inside an organisation: guaranteed work first, then the
// project that uses the least of its quota, then priority, then age. Where
// priority may stop work of a sibling, it comes before the projects' shares, so
// that the order that admits is the order that stops.
func (c *contest) ahead(x, y int32) bool {
	a, b := &c.fronts[x], &c.fronts[y]
	if a.guaranteed != b.guaranteed {
		return a.guaranteed
	}
	if c.e.policy.OwnPriority && a.job.priority != b.job.priority {
		return a.job.priority > b.job.priority
	}
	if s := a.used.compare(b.used); s != 0 {
		return s < 0
	}
	return c.e.jobBefore(a.job, b.job)
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

// aim reads the key of an organisation from its first lane.
func (c *contest) aim(o int32) {
	j := c.fronts[c.lanes[o][0]].job
	c.keys[o] = entry{c.key(o, j), 0, j.submitted}
	if c.byPrio {
		c.keys[o].priority = j.priority
	}
}

// refresh brings an organisation to its place after a change.
func (c *contest) refresh(o int32) {
	at := c.place[o]
	if at < 0 {
		return
	}
	if len(c.lanes[o]) > 0 {
		c.aim(o)
		c.orgs.fix(int(at))
		return
	}
	last := int32(len(c.orgs.items) - 1)
	moved := c.orgs.items[last]
	c.orgs.set(int(at), moved)
	c.orgs.items = c.orgs.items[:last]
	if at != last {
		c.orgs.fix(int(at))
	}
	c.place[o] = -1
}

func (c *contest) before(x, y int32) bool {
	c.e.work.compared++
	a, b := &c.keys[x], &c.keys[y]
	if k := a.compare(b.share); k != 0 {
		return k < 0
	}
	if a.priority != b.priority {
		return a.priority > b.priority
	}
	if a.submitted != b.submitted {
		return a.submitted < b.submitted
	}
	return x < y
}
