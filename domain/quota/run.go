package quota

import (
	"slices"
	"sort"

	"gpupool/domain/pool"
)

// run is one holder of GPUs in the working state: a running attempt, the
// beneficiary of a promise, or a job admitted by this decision.
type run struct {
	of        *Attempt // as it was handed in; nil for what a plan starts
	from      *Job     // what a plan starts
	id        pool.AttemptID
	org       int32
	account   int32 // project
	class     int32
	units     int
	tier      pool.Tier
	priority  int
	started   pool.Instant
	end       pool.Instant
	minRun    pool.Instant
	running   bool // an attempt of the snapshot, or one that an earlier step admitted
	protected bool // fixed, inside its minimum run, or started by this decision
	fixed     bool
	stopping  bool     // a stop was sent
	broken    bool     // one of its devices is
	notice    StopRule // it ends for no other job; empty when not
	noticeAt  pool.Instant
	fresh     bool // started by this decision
	gone      bool // stopping, or a victim: counts only on its nodes
	dead      bool // no holder any more
	holds     bool // on its nodes now
	lasting   bool // beyond the reservation of its class, and not to be taken back by then
	seen      uint32
	judged    uint32 // the reservation for which lasting is right
	promised  int    // open promises it is a victim of
	stopAt    pool.Instant
	until     pool.Instant // above its quota, guaranteed until then; 0 = not above it
	above     bool         // and it is still, found by honour
	split     pool.Split   // what it is charged as, by the snapshot and the steps so far
	nodes     []hold
	charges   []Charge
	rank      int32 // in its holding
	own, loan int   // GPUs by cover, set by holding.cover
}

type hold struct {
	node int32 // -1 when the node isn't known
	gpus int
}

// holding is what one organisation runs in one class, in the order in which
// quota covers it.
type holding struct {
	runs    []int32
	sorted  bool
	covered bool // own and loan of its runs are right
	written bool // and they are what the plan says
	first   int  // index of the first run with a loan
	tail    int  // no run at or after it can be a victim
	stays   bool // one of those still runs
}

// coversBefore is the order of cover: guaranteed, priority, start. Victims are
// taken from its end, so that what is stopped was on loan.
func (e *engine) coversBefore(x, y int32) bool {
	a, b := &e.runs[x], &e.runs[y]
	if (a.tier == pool.Guaranteed) != (b.tier == pool.Guaranteed) {
		return a.tier == pool.Guaranteed
	}
	if a.priority != b.priority {
		return a.priority > b.priority
	}
	if a.started != b.started {
		return a.started < b.started
	}
	return attemptBefore(a.id, b.id)
}

func attemptBefore(a, b pool.AttemptID) bool {
	return a.Job < b.Job || a.Job == b.Job && a.N < b.N
}

func (e *engine) indexRuns() {
	n := len(e.in.Running)
	e.runs = make([]run, 0, n+min(n, len(e.in.Pending))+64)
	e.runSlots.room(n, e.hashRun)
	e.holdBuf = make([]hold, 0, n+16)
	for i := range e.in.Running {
		e.start(&e.in.Running[i])
	}
	for i := range e.nodes {
		if n := &e.nodes[i]; n.held > n.cap {
			e.problem("node %s has %d GPUs for us and runs %d: nothing new goes there", n.id, n.cap, n.held)
		}
	}
}

// start puts a running attempt into the state.
func (e *engine) start(a *Attempt) {
	c, ok := e.classAt[a.Class]
	h := hashJob(a.ID.Job)
	if _, twice := e.runSlots.find(h, func(i int32) bool { return e.runs[i].id == a.ID }); !ok || twice || !a.Tier.Valid() {
		e.problem("attempt %s stands twice, or has the unknown class %q or tier %q", a.ID.NomadID(), a.Class, a.Tier)
		return
	}
	r := run{of: a, id: a.ID, org: e.orgAt[a.Org], account: accountOf(e, a.Org, a.Project, a.ID), class: c, tier: a.Tier,
		priority: a.Priority, started: a.Started, end: a.MaxEnd, running: true, stopping: a.Stopping, fixed: a.Fixed,
		gone: a.Stopping || a.Notice != "", notice: a.Notice, broken: a.Broken, holds: true, split: a.Split, charges: a.Charges}
	if r.end == 0 {
		r.end = pool.Never
	}
	// Nothing is stopped in the instant in which it starts: what one decision
	// admits, the next at the same moment leaves alone.
	r.minRun = max(a.MinRunUntil, a.Started+1)
	r.protected = a.Fixed || r.minRun > e.now
	from := len(e.holdBuf)
	for _, p := range a.Placement {
		n, ok := e.node(p.Node, c)
		if !ok {
			e.problem("attempt %s runs on node %s, which has no GPUs of class %s", a.ID.NomadID(), p.Node, a.Class)
			n = -1
		}
		k := count(e, p.GPUs, "placement", a.ID)
		e.holdBuf = append(e.holdBuf, hold{n, k})
		r.units += k
	}
	r.nodes = e.holdBuf[from:len(e.holdBuf):len(e.holdBuf)]
	if r.units == 0 {
		e.problem("attempt %s holds no GPUs", a.ID.NomadID())
	}
	if a.Notice != "" {
		r.stopAt, r.noticeAt = a.StopAt, a.StopAt
	}
	i := e.enter(r)
	e.runSlots.room(1, e.hashRun)
	e.runSlots.put(h, i)
	if r.until = a.GuaranteedUntil; r.until != 0 {
		e.runs[i].until = r.until
		e.cuts = append(e.cuts, i)
	}
	if a.Notice != "" && !a.Stopping {
		e.noticed = append(e.noticed, i)
	}
	e.guard(i)
	if r.tier == pool.Spot && r.split != (pool.Split{Spot: r.units}) {
		e.oddSpots = append(e.oddSpots, i)
	}
}

// name lets find see a running attempt.
func (e *engine) name(i int32) {
	e.runSlots.room(1, e.hashRun)
	e.runSlots.put(e.hashRun(i), i)
}

// guard remembers when a run leaves its minimum run time.
func (e *engine) guard(i int32) {
	if r := &e.runs[i]; !r.fixed && r.minRun > e.now {
		e.guarded = append(e.guarded, i)
	}
}

func (e *engine) hashRun(i int32) uint64 { return hashJob(e.runs[i].id.Job) }

// find looks a running attempt up.
func (e *engine) find(id pool.AttemptID) (int32, bool) {
	return e.runSlots.find(hashJob(id.Job), func(i int32) bool { return e.runs[i].id == id })
}

// enter adds a holder to every count. Before the racks are built it may not
// move nodes between buckets, so their counts change directly.
func (e *engine) enter(r run) int32 {
	i := int32(len(e.runs))
	if n := len(e.freeRuns); n > 0 {
		i, e.freeRuns = e.freeRuns[n-1], e.freeRuns[:n-1]
		e.runs[i] = r
	} else {
		e.runs = append(e.runs, r)
	}
	b := outline{end: r.end, minRun: r.minRun, org: r.org, account: r.account, units: int32(min(r.units, 1<<30)), node: -1, spot: r.tier == pool.Spot, gone: r.gone}
	if len(r.nodes) == 1 {
		b.node = r.nodes[0].node
	}
	if int(i) < len(e.outlines) {
		e.outlines[i] = b
	} else {
		e.outlines = append(e.outlines, b)
	}
	for _, h := range r.nodes {
		if h.node < 0 {
			continue
		}
		n := &e.nodes[h.node]
		n.runs = append(n.runs, i)
		if !e.racks[r.class].ready {
			if r.holds {
				n.held += h.gpus
			}
			if !r.gone {
				n.planned += h.gpus
				n.spot += when(r.tier == pool.Spot, h.gpus)
			}
			continue
		}
		e.shift(h.node, when(r.holds, h.gpus), when(!r.gone, h.gpus))
		n.spot += when(!r.gone && r.tier == pool.Spot, h.gpus)
	}
	if r.tier == pool.Spot {
		e.spots[r.class] = append(e.spots[r.class], i)
		e.spotsLoose[r.class] = true
	} else {
		e.hold(i)
	}
	e.rank(i)
	if v := &e.reserved[r.class]; v.set {
		x := &e.runs[i]
		x.lasting, x.judged = e.lasts(x, v), v.number // once, so that release and restore undo each other
	}
	if !r.gone {
		e.count1(i, 1)
	}
	return i
}

// leave takes a holder out of the state. Its slot is free when the lists have
// been swept.
func (e *engine) leave(i int32) {
	r := &e.runs[i]
	if !r.gone {
		e.release(i)
	}
	for _, h := range r.nodes {
		if h.node >= 0 {
			n := &e.nodes[h.node]
			n.runs = less(n.runs, i)
			if r.holds {
				e.shift(h.node, -h.gpus, 0)
			}
		}
	}
	if r.tier == pool.Spot {
		e.spots[r.class] = less(e.spots[r.class], i)
		e.oddSpots = less(e.oddSpots, i)
	} else {
		h := &e.held[e.oc(r.class, r.org)]
		h.runs, h.covered = less(h.runs, i), false
		e.owes(r.class, r.org)
	}
	if r.running {
		e.runSlots.drop(e.hashRun(i), i)
	}
	if r.notice != "" {
		e.noticed = less(e.noticed, i)
	}
	e.unrank(i)
	r.dead = true
	e.deadRuns = append(e.deadRuns, i)
}

// less is a list without one run.
func less(list []int32, i int32) []int32 {
	if k := slices.Index(list, i); k >= 0 {
		return slices.Delete(list, k, k+1)
	}
	return list
}

// hold adds a run to what its organisation holds.
func (e *engine) hold(i int32) {
	r := &e.runs[i]
	h := &e.held[e.oc(r.class, r.org)]
	if h.sorted {
		at := sort.Search(len(h.runs), func(k int) bool { return e.coversBefore(i, h.runs[k]) })
		h.runs = slices.Insert(h.runs, at, i)
	} else {
		h.runs = append(h.runs, i)
	}
	h.covered, h.written = false, false
	e.owes(r.class, r.org)
}

// orderSpots puts the spot attempts of a class in the order of victims.
func (e *engine) orderSpots(c int32) {
	if e.spotsLoose[c] {
		sortBy(e.spots[c], e.milder)
		e.spotsLoose[c] = false
	}
}

func when(yes bool, n int) int {
	if yes {
		return n
	}
	return 0
}

// count1 adds (sign 1) or takes away (-1) a holder in quota, budget and
// reservation.
func (e *engine) count1(i int32, sign int) {
	r := &e.runs[i]
	k := sign * r.units
	e.versions[r.class]++
	if r.tier == pool.Spot {
		e.spotUse[r.class] += k
	} else {
		e.ledger.charge(r.class, r.account, k, r.tier == pool.Guaranteed)
		h := &e.held[e.oc(r.class, r.org)]
		h.covered, h.written = false, false
		e.owes(r.class, r.org)
		e.touched = append(e.touched, touch{r.class, r.account})
	}
	if len(r.charges) > 0 {
		e.budgets.commit(e, r, sign)
	}
	v := &e.reserved[r.class]
	if !v.set {
		return
	}
	if r.judged != v.number { // what was gone when it was made doesn't count
		r.lasting, r.judged = sign < 0 && r.end > v.at && !(int(i) < len(v.returned) && v.returned[i]), v.number
	}
	if r.lasting {
		v.use[r.org] += when(r.tier != pool.Spot, k)
		if r.org == v.org && r.tier != pool.Spot && (!v.guaranteed || r.tier == pool.Guaranteed) {
			v.slack -= k
		}
		for _, h := range r.nodes {
			if h.node >= 0 && e.nodes[h.node].slack < unlimited {
				e.nodes[h.node].slack -= sign * h.gpus
			}
		}
	}
}

// release takes a holder out of every count but the physical one.
func (e *engine) release(i int32) {
	r := &e.runs[i]
	r.gone, e.outlines[i].gone = true, true
	for _, h := range r.nodes {
		if h.node >= 0 {
			e.shift(h.node, 0, -h.gpus)
			e.nodes[h.node].spot -= when(r.tier == pool.Spot, h.gpus)
		}
	}
	e.count1(i, -1)
}

// restore undoes release.
func (e *engine) restore(i int32) {
	r := &e.runs[i]
	r.gone, e.outlines[i].gone = false, false
	for _, h := range r.nodes {
		if h.node >= 0 {
			e.shift(h.node, 0, h.gpus)
			e.nodes[h.node].spot += when(r.tier == pool.Spot, h.gpus)
		}
	}
	e.count1(i, 1)
}

// cover computes which GPUs of an organisation in a class are own and which
// are on loan. A project's own quota covers its own work first, so that a
// project inside its quota lends nothing to a sibling at the loan's price.
func (e *engine) cover(c, o int32) *holding {
	h := &e.held[e.oc(c, o)]
	if h.covered {
		return h
	}
	if !h.sorted {
		sortBy(h.runs, e.coversBefore)
		h.sorted = true
	}
	quota := e.org(c, o).subtree
	e.coverProjects(h, c, &quota)
	h.first = len(h.runs)
	for i, k := range h.runs {
		r := &e.runs[k]
		r.rank = int32(i)
		if r.gone {
			continue
		}
		more := min(r.units-r.own, max(0, quota))
		quota -= more
		r.own += more
		r.loan = r.units - r.own
		if r.loan > 0 && i < h.first {
			h.first = i
		}
	}
	h.covered, h.tail, h.stays = true, len(h.runs), false
	return h
}

// coverProjects gives guaranteed work, then each project's own quota, before
// the rest is shared out.
func (e *engine) coverProjects(h *holding, c int32, quota *int) {
	var left map[int32]int
	for _, k := range h.runs {
		r := &e.runs[k]
		r.own = 0
		if r.gone {
			continue
		}
		mine := r.tier == pool.Guaranteed
		if n := e.ledger.at(c, r.account).nominal; n > 0 {
			if left == nil {
				left = map[int32]int{}
			}
			if _, ok := left[r.account]; !ok {
				left[r.account] = n
			}
		}
		if mine {
			r.own = r.units // also above a quota that was cut under it
			*quota -= r.own
			if left != nil {
				left[r.account] = max(0, left[r.account]-r.own)
			}
		}
	}
	if left == nil {
		return
	}
	for _, k := range h.runs {
		r := &e.runs[k]
		if n := left[r.account]; !r.gone && r.tier != pool.Guaranteed && n > 0 {
			r.own = min(r.units, n, max(0, *quota))
			left[r.account] -= r.own
			*quota -= r.own
		}
	}
}
