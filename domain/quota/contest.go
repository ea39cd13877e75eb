package quota

import "gpupool/domain/pool"

// rules say who takes part in a contest, and in which order.
type rules struct {
	kind   kind
	takes  tiers
	key    func(o, c int32, units int) share     // the smallest is asked first
	byPrio bool                                  // equal keys: priority before age
	may    func(o, account int32, s *stand) bool // false: refused for certain, as things are
	over   func() bool                           // nobody else could be taken; may be nil
}

// contest asks the heads of the queues one after the other, in an order that
// follows what the contest itself changes. An organisation has a queue in each
// class: what it asks for in one class doesn't move its turn in another. The
// slices are kept from one contest to the next.
type contest struct {
	rules
	e      *engine
	next   []int32     // of each lane: where the contest is in its order
	fronts []front     // of each lane
	lanes  [][]int32   // of each queue: a heap of its lanes
	mine   heap[int32] // one of them
	at     []int32     // where a lane lies in the heap of its queue, -1 = not
	queues heap[int32]
	place  []int32 // where a queue lies in queues, -1 = not
	keys   []entry // of each queue
}

// entry is what a queue is compared by.
type entry struct {
	share
	priority  int
	submitted pool.Instant
}

// front is the head of a lane with what it is compared by.
type front struct {
	stand
	used share // of its project, in the lane's class
}

// touch is a project whose use of a class changed.
type touch struct{ class, account int32 }

// fewRefusals in a row are asked before a contest looks whether anybody is left
// that could be taken; each time twice as many.
const fewRefusals = 16

// contest offers every head to try until each is admitted or was refused once
// since a reservation ended.
// It ends as soon as nobody could be taken any more: a refusal changes nothing.
func (e *engine) contest(r rules, try func(*job) bool) {
	c := &e.ring
	c.e, c.rules = e, r
	if c.over != nil && c.over() || !c.lineUp() {
		e.touched = e.touched[:0]
		return
	}
	c.start()
	cleared := e.cleared
	for refused, patience := 0, fewRefusals; len(c.queues.items) > 0; {
		q := c.queues.items[0]
		l := c.lanes[q][0]
		if c.ask(l, try) {
			refused = 0
		} else {
			refused++
		}
		if c.over != nil && c.over() {
			break
		}
		if e.cleared != cleared { // who was refused for its reservation comes before who is behind
			cleared, refused = e.cleared, 0
			if !c.lineUp() {
				break
			}
			c.start()
			continue
		}
		if refused >= patience {
			if !c.anyLeft() {
				break
			}
			patience *= 2
		}
		c.renew(l, q)
		for i, t := range e.touched {
			if x := e.laneOf(t.class, t.account); x >= 0 && x != l && c.at[x] >= 0 && (i == 0 || t != e.touched[i-1]) {
				c.fronts[x].used = e.used(t.class, t.account)
				c.own(c.queueOf(x)).fix(int(c.at[x]))
			}
		}
		c.refresh(q)
		last := q
		for _, t := range e.touched {
			if to := int32(e.oc(t.class, e.projects[t.account].org)); to != last && to != q {
				c.refresh(to)
				last = to
			}
		}
		e.touched = e.touched[:0]
	}
	e.touched = e.touched[:0]
}

// ask offers the head of a lane to try.
func (c *contest) ask(l int32, try func(*job) bool) bool {
	e, f := c.e, &c.fronts[l]
	if c.may(e.lanes[l].org, e.lanes[l].account, &f.stand) {
		j := &e.jobs[f.head]
		e.work.asked++
		if try(j) {
			j.done = true
			e.moveOn(l, c.next[l])
			return true
		}
		e.remember(c.kind, &f.stand)
	}
	c.next[l]++
	return false
}

// lineUp brings all to their places; false when none of them could be taken.
func (c *contest) lineUp() bool {
	c.next = grown(c.next, len(c.e.lanes))
	clear(c.next)
	for l := range c.e.lanes {
		c.e.lineUp(int32(l))
	}
	return c.anyLeft()
}

// start makes the heaps.
func (c *contest) start() {
	e := c.e
	c.fronts, c.at = grown(c.fronts, len(e.lanes)), grown(c.at, len(e.lanes))
	n := len(e.orgs) * len(e.classes)
	c.lanes, c.place, c.keys = grown(c.lanes, n), grown(c.place, n), grown(c.keys, n)
	c.mine = heap[int32]{less: c.ahead, moved: func(l int32, at int) { c.at[l] = int32(at) }}
	c.queues = heap[int32]{items: c.queues.items[:0], less: c.before, moved: func(q int32, at int) { c.place[q] = int32(at) }}
	for q := range c.lanes {
		c.place[q], c.lanes[q] = -1, c.lanes[q][:0]
	}
	for i := range e.lanes {
		l := int32(i)
		if c.at[l] = -1; c.read(l) {
			q := c.queueOf(l)
			if c.at[l] = int32(len(c.lanes[q])); c.at[l] == 0 {
				c.place[q] = int32(len(c.queues.items))
				c.queues.items = append(c.queues.items, q)
			}
			c.lanes[q] = append(c.lanes[q], l)
		}
	}
	for _, q := range c.queues.items {
		c.own(q).init()
		c.aim(q)
	}
	c.queues.init()
	e.touched = e.touched[:0]
}

// queueOf is the queue of a lane.
func (c *contest) queueOf(l int32) int32 { return int32(c.e.oc(c.e.lanes[l].class, c.e.lanes[l].org)) }

// anyLeft says whether one of those who weren't asked yet could be taken.
func (c *contest) anyLeft() bool {
	for l := range c.e.lanes {
		x := &c.e.lanes[l]
		for i := int(c.next[l]); i < len(x.order); i++ {
			if s := &x.order[i]; c.takes.has(s.tier) && c.may(x.org, x.account, s) {
				return true
			}
		}
	}
	return false
}

// read takes the head of a lane from its order; false when it has none.
func (c *contest) read(l int32) bool {
	x := &c.e.lanes[l]
	for ; int(c.next[l]) < len(x.order); c.next[l]++ {
		if s := &x.order[c.next[l]]; c.takes.has(s.tier) {
			c.fronts[l] = front{*s, c.e.used(x.class, x.account)}
			return true
		}
	}
	return false
}

// kind is what a head is asked for.
type kind int

const (
	byQuota kind = iota
	byPriority
	bySurplus
	byFairness
	byIdle
	kindsOfAsking
)

// remember notes that a head was refused in the classes as they are. What money
// refuses isn't noted: other classes move it too.
func (e *engine) remember(k kind, s *stand) {
	if s.paid {
		return
	}
	if n := len(e.buckets); len(e.refused[k]) < n {
		e.refused[k] = append(e.refused[k], make([]refusal, n-len(e.refused[k]))...)
	}
	e.refused[k][s.bucket] = refusal{s.head, e.versionOf(s)}
}

// refusal is the head that was refused, and the state in which it was.
type refusal struct {
	head    int32
	version uint64
}

// remembers says whether a head was refused already in the classes as they are.
func (e *engine) remembers(k kind, s *stand) bool {
	return int(s.bucket) < len(e.refused[k]) && e.refused[k][s.bucket] == refusal{s.head, e.versionOf(s)}
}

func (e *engine) forgetRefusals() {
	for c := range e.versions {
		e.versions[c]++
	}
}

// versionOf counts what has changed in the classes of a job: a count only grows.
func (e *engine) versionOf(s *stand) uint64 {
	sum := uint64(0)
	for _, c := range e.classLists[s.classes] {
		sum += e.versions[c]
	}
	return sum
}

// grown is a slice of that length that keeps what it has.
func grown[T any](s []T, n int) []T {
	if n <= cap(s) {
		return s[:n]
	}
	return append(s[:cap(s)], make([]T, n-cap(s))...)
}

// own is the heap of a queue's lanes.
func (c *contest) own(q int32) *heap[int32] {
	c.mine.items = c.lanes[q]
	return &c.mine
}

// renew brings the first lane of a queue to its place after its head changed.
func (c *contest) renew(l, q int32) {
	h := c.own(q)
	if c.read(l) {
		h.fix(int(c.at[l]))
		return
	}
	h.pop()
	c.lanes[q], c.at[l] = h.items, -1
}

// ahead is the order inside a queue: guaranteed work first, then the
// project that uses the least of its quota, then priority, then age. Where
// priority may stop work of a sibling, it comes before the projects' shares, so
// that the order that admits is the order that stops.
func (c *contest) ahead(x, y int32) bool {
	a, b := &c.fronts[x], &c.fronts[y]
	if g := a.tier == pool.Guaranteed; g != (b.tier == pool.Guaranteed) {
		return g
	}
	if c.e.policy.OwnPriority && a.priority != b.priority {
		return a.priority > b.priority
	}
	if s := a.used.compare(b.used); s != 0 {
		return s < 0
	}
	return c.e.standOrder(&a.stand, &b.stand) < 0
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

// aim reads the key of a queue from its first lane.
func (c *contest) aim(q int32) {
	l := c.lanes[q][0]
	f, x := &c.fronts[l], &c.e.lanes[l]
	c.keys[q] = entry{c.key(x.org, x.class, int(f.units)), 0, f.submitted}
	if c.byPrio {
		c.keys[q].priority = f.priority
	}
}

// refresh brings a queue to its place after a change.
func (c *contest) refresh(q int32) {
	at := c.place[q]
	if at < 0 {
		return
	}
	if len(c.lanes[q]) > 0 {
		c.aim(q)
		c.queues.fix(int(at))
		return
	}
	c.queues.remove(int(at))
	c.place[q] = -1
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
