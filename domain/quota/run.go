package quota

import (
	"sort"

	"gpupool/domain/pool"
)

// run is one holder of GPUs in the working state: a running attempt, the
// beneficiary of a promise, or a job admitted by this decision.
type run struct {
	id        pool.AttemptID
	org       int32
	account   int32 // project
	class     int32
	units     int
	tier      pool.Tier
	priority  int
	started   pool.Instant
	end       pool.Instant
	protected bool // fixed, inside its minimum run, or started by this decision
	fixed     bool
	minRun    pool.Instant
	lasting   bool  // beyond the reservation of its class, and not to be taken back by then
	gone      bool  // stopping, or a victim: counts only on its nodes
	holds     bool  // on its nodes now
	promised  int   // open promises it is a victim of
	admitted  int32 // index+1 in Plan.Admit
	source    int32 // index+1 in Snapshot.Running
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
	order := make([]int32, len(e.in.Running))
	for i := range order {
		order[i] = int32(i)
	}
	sortBy(order, func(x, y int32) bool { return attemptBefore(e.in.Running[x].ID, e.in.Running[y].ID) })
	e.runs = make([]run, 0, len(order)+min(len(order), len(e.in.Pending))+64)
	holds := make([]hold, 0, len(order)+16)
	for _, i := range order {
		a := &e.in.Running[i]
		c, ok := e.classAt[a.Class]
		if twice := len(e.runs) > 0 && e.runs[len(e.runs)-1].id == a.ID; !ok || twice || !a.Tier.Valid() {
			e.problem("attempt %s stands twice, or has the unknown class %q or tier %q", a.ID.NomadID(), a.Class, a.Tier)
			continue
		}
		r := run{id: a.ID, org: e.orgAt[a.Org], account: accountOf(e, a.Org, a.Project, a.ID), class: c, tier: a.Tier,
			priority: a.Priority, started: a.Started, end: a.MaxEnd,
			gone: a.Stopping || a.Notice != "", holds: true, source: i + 1, charges: a.Charges}
		if r.end == 0 {
			r.end = pool.Never
		}
		// Nothing is stopped in the instant in which it starts: what one
		// decision admits, the next at the same moment leaves alone.
		r.fixed, r.minRun = a.Fixed, max(a.MinRunUntil, a.Started+1)
		r.protected = a.Fixed || r.minRun > e.now
		from := len(holds)
		for _, p := range a.Placement {
			n, ok := e.node(p.Node, c)
			if !ok {
				e.problem("attempt %s runs on node %s, which has no GPUs of class %s", a.ID.NomadID(), p.Node, a.Class)
				n = -1
			}
			k := count(e, p.GPUs, "placement", a.ID)
			holds = append(holds, hold{n, k})
			r.units += k
		}
		r.nodes = holds[from:len(holds):len(holds)]
		if a.Notice != "" {
			e.stopAt[int32(len(e.runs))] = a.StopAt
			if !a.Stopping {
				e.noticed = append(e.noticed, int32(len(e.runs)))
			}
		}
		if r.units == 0 {
			e.problem("attempt %s holds no GPUs", a.ID.NomadID())
		}
		e.enter(r)
	}
	e.ran = len(e.runs)
	for i := range e.nodes {
		if n := &e.nodes[i]; n.held > n.cap {
			e.problem("node %s has %d GPUs for us and runs %d: nothing new goes there", n.id, n.cap, n.held)
		}
	}
}

// find looks a running attempt up; they lie first and in the order of their ids.
func (e *engine) find(id pool.AttemptID) (int32, bool) {
	i := sort.Search(e.ran, func(i int) bool { return !attemptBefore(e.runs[i].id, id) })
	return int32(i), i < e.ran && e.runs[i].id == id
}

// enter adds a holder to every count. Before the racks are built it may not
// move nodes between buckets, so their counts change directly.
func (e *engine) enter(r run) int32 {
	i := int32(len(e.runs))
	e.runs = append(e.runs, r)
	for _, h := range r.nodes {
		if h.node < 0 {
			continue
		}
		n := &e.nodes[h.node]
		n.runs = append(n.runs, i)
		if e.racks[r.class].place == nil {
			if r.holds {
				n.held += h.gpus
			}
			if !r.gone {
				n.planned += h.gpus
			}
			continue
		}
		e.shift(h.node, when(r.holds, h.gpus), when(!r.gone, h.gpus))
	}
	if r.tier == pool.Spot {
		e.spots[r.class] = append(e.spots[r.class], i)
	} else {
		h := &e.held[e.oc(r.class, r.org)]
		h.runs = append(h.runs, i)
		h.sorted = false
	}
	if v := &e.reserved[r.class]; v.set {
		e.runs[i].lasting = e.lasts(&e.runs[i], v) // once, so that release and restore undo each other
	}
	if !r.gone {
		e.count1(&e.runs[i], 1)
	}
	return i
}

func when(yes bool, n int) int {
	if yes {
		return n
	}
	return 0
}

// count1 adds (sign 1) or takes away (-1) a holder in quota, budget and
// reservation.
func (e *engine) count1(r *run, sign int) {
	k := sign * r.units
	if r.tier == pool.Spot {
		e.spotUse[r.class] += k
	} else {
		e.ledger.charge(r.class, r.account, k, r.tier == pool.Guaranteed)
		e.held[e.oc(r.class, r.org)].covered = false
		e.touched = append(e.touched, r.org)
	}
	e.budgets.commit(e, r, sign)
	v := &e.reserved[r.class]
	if v.set && r.lasting {
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
	r.gone = true
	for _, h := range r.nodes {
		if h.node >= 0 {
			e.shift(h.node, 0, -h.gpus)
		}
	}
	e.count1(r, -1)
}

// restore undoes release.
func (e *engine) restore(i int32) {
	r := &e.runs[i]
	r.gone = false
	for _, h := range r.nodes {
		if h.node >= 0 {
			e.shift(h.node, 0, h.gpus)
		}
	}
	e.count1(r, 1)
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
			r.own = min(r.units, max(0, *quota))
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
