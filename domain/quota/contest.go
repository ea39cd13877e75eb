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

// contest asks the heads of the organisations' queues one after the other, in
// an order that follows what the contest itself changes. Its slices are kept
// from one contest to the next.
type contest struct {
	rules
	e      *engine
	next   []int32     // of each lane: where the contest is in its order
	fronts []front     // of each lane
	lanes  [][]int32   // of each organisation: a heap of its lanes
	mine   heap[int32] // one of them
	at     []int32     // where a lane lies in the heap of its organisation, -1 = not
	orgs   heap[int32] // organisations
	place  []int32     // where an organisation lies in orgs, -1 = not
	keys   []entry
}

// entry is what an organisation is compared by.
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
	for refused, patience := 0, fewRefusals; len(c.orgs.items) > 0; {
		o := c.orgs.items[0]
		l := c.lanes[o][0]
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
	c.lanes, c.place, c.keys = grown(c.lanes, len(e.orgs)), grown(c.place, len(e.orgs)), grown(c.keys, len(e.orgs))
	c.mine = heap[int32]{less: c.ahead, moved: func(l int32, at int) { c.at[l] = int32(at) }}
	c.orgs = heap[int32]{items: c.orgs.items[:0], less: c.before, moved: func(o int32, at int) { c.place[o] = int32(at) }}
	for o := range e.orgs {
		c.place[o] = -1
		c.lanes[o] = c.lanes[o][:0]
		for _, l := range e.orgs[o].lanes {
			if c.at[l] = -1; c.read(l) {
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

// own is the heap of an organisation's lanes.
func (c *contest) own(o int32) *heap[int32] {
	c.mine.items = c.lanes[o]
	return &c.mine
}

// renew brings the first lane of an organisation to its place after its head
// changed.
func (c *contest) renew(l, o int32) {
	h := c.own(o)
	if c.read(l) {
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

// aim reads the key of an organisation from its first lane.
func (c *contest) aim(o int32) {
	l := c.lanes[o][0]
	f := &c.fronts[l]
	c.keys[o] = entry{c.key(o, c.e.lanes[l].class, int(f.units)), 0, f.submitted}
	if c.byPrio {
		c.keys[o].priority = f.priority
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
