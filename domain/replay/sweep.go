package replay

import (
	"cmp"
	"slices"

	"gpupool/domain/pool"
	"gpupool/domain/quota"
)

// The order of changes at one instant: what ends, before what begins.
const (
	chEnd = iota
	chOver
	chSubmit
	chAdmit
	chCover
	chMade
)

// change is one thing that happened in a run.
type change struct {
	at   pool.Instant
	kind int
	i    int32 // job, or promise
	n    int32 // attempt
	k    int32 // cover
}

// shape is what a job asks of nodes.
type shape struct{ nodes, gpus int }

// scene is the pool at one moment of a run, put together from what the run
// wrote down. It knows nothing of the engine or of its state.
type scene struct {
	pool    Pool
	res     *Result
	orgs    map[pool.OrgID]int
	classes []sceneClass
	classAt map[pool.ClassID]int
	nodeAt  map[pool.NodeID]int32
	nodes   []sceneNode
	live    []int // attempts of each job; 0 while none runs
	inRun   []int32
	inWait  []int32
	hopes   []bool // whether the job counts while it waits
	promise map[int32]bool
	jobAt   map[pool.JobID]int32
}

type sceneNode struct {
	class      int
	gpus, free int
}

type sceneClass struct {
	id      pool.ClassID
	gpus    int
	lo, hi  int32 // its nodes
	byFree  []int // how many nodes have that many free GPUs
	free    int
	spot    int             // GPUs that spot work holds
	shapes  map[shape]int   // of what waits
	running []int32         // jobs
	waiting []int32         // jobs, without an order
	members []memberOfClass // by organisation
	touched bool
}

// memberOfClass is one member's share of a class now, spot work excluded.
type memberOfClass struct {
	guaranteed, most int // by its plan; most with what it may borrow
	weight           int
	use, wants       int // GPUs that run, and that wait
}

func newScene(p Pool, res *Result) *scene {
	s := &scene{pool: p, res: res, orgs: map[pool.OrgID]int{}, classAt: map[pool.ClassID]int{}, nodeAt: map[pool.NodeID]int32{}, promise: map[int32]bool{}}
	for i, o := range p.Orgs {
		s.orgs[o.ID] = i
	}
	nodes := p.NodeList()
	slices.SortStableFunc(nodes, func(a, b quota.Node) int { return cmp.Or(cmp.Compare(a.Class, b.Class), cmp.Compare(a.ID, b.ID)) })
	for i, c := range p.Classes {
		s.classAt[c.ID] = i
		s.classes = append(s.classes, sceneClass{id: c.ID, shapes: map[shape]int{}, members: p.membersOf(c.ID)})
	}
	for i, n := range nodes {
		c := &s.classes[s.classAt[n.Class]]
		if c.gpus == 0 {
			c.lo = int32(i)
		}
		c.hi = int32(i) + 1
		c.gpus += n.GPUs
		c.free += n.GPUs
		for len(c.byFree) <= n.GPUs {
			c.byFree = append(c.byFree, 0)
		}
		c.byFree[n.GPUs]++
		s.nodeAt[n.ID] = int32(i)
		s.nodes = append(s.nodes, sceneNode{s.classAt[n.Class], n.GPUs, n.GPUs})
	}
	s.live, s.inRun, s.inWait, s.hopes = make([]int, len(res.Jobs)), make([]int32, len(res.Jobs)), make([]int32, len(res.Jobs)), make([]bool, len(res.Jobs))
	for i := range res.Jobs {
		j := &res.Jobs[i]
		s.hopes[i] = len(j.Attempts) > 0 || s.couldStart(j)
	}
	return s
}

// membersOf is what each member's plan gives it of a class.
func (p Pool) membersOf(c pool.ClassID) []memberOfClass {
	out := make([]memberOfClass, len(p.Orgs))
	for i, o := range p.Orgs {
		out[i].weight = 1
		if o.Weight != nil {
			out[i].weight = *o.Weight
		}
		for _, pl := range p.Plans {
			if q, ok := pl.Classes[c]; ok && pl.ID == o.Plan {
				out[i].guaranteed, out[i].most = q.Guaranteed, q.Guaranteed+q.Borrow
			}
		}
	}
	return out
}

// couldStart tells whether an empty pool would ever take a job.
func (s *scene) couldStart(j *Outcome) bool {
	c := &s.classes[s.classAt[j.Class]]
	m := c.members[s.orgs[j.Org]]
	nodes := 0
	for _, n := range s.nodes[c.lo:c.hi] {
		if n.gpus >= j.GPUs {
			nodes++
		}
	}
	return nodes >= j.Nodes && (j.Tier != pool.Guaranteed || j.Units() <= m.guaranteed) && (j.Tier != pool.Burst || j.Units() <= m.most)
}

// changes of a run in their order, up to its end.
func changes(res *Result) []change {
	var out []change
	add := func(c change) {
		if c.at <= res.Until {
			out = append(out, c)
		}
	}
	for i := range res.Jobs {
		j := &res.Jobs[i]
		add(change{at: j.Submit, kind: chSubmit, i: int32(i)})
		for n := range j.Attempts {
			a := &j.Attempts[n]
			add(change{at: a.Admitted, kind: chAdmit, i: int32(i), n: int32(n)})
			add(change{at: a.End, kind: chEnd, i: int32(i), n: int32(n)})
			for k := range a.Covers {
				if k > 0 {
					add(change{at: a.Covers[k].From, kind: chCover, i: int32(i), n: int32(n), k: int32(k)})
				}
			}
		}
	}
	for i := range res.Promises {
		p := &res.Promises[i]
		add(change{at: p.Made, kind: chMade, i: int32(i)})
		if over := max(p.Kept, p.Over); over > 0 {
			add(change{at: over, kind: chOver, i: int32(i)})
		}
	}
	slices.SortFunc(out, func(a, b change) int {
		if a.at != b.at {
			return cmp.Compare(a.at, b.at)
		}
		if a.kind != b.kind {
			return a.kind - b.kind
		}
		return cmp.Or(cmp.Compare(a.i, b.i), cmp.Compare(a.n, b.n))
	})
	return out
}

// sweep walks through a run. Before the changes of an instant are made,
// before is called for each class that they touch; after them, seen once.
func (s *scene) sweep(before func(c int, now pool.Instant), seen func(now pool.Instant)) {
	list := changes(s.res)
	for len(list) > 0 {
		now := list[0].at
		k := 0
		for k < len(list) && list[k].at == now {
			for _, c := range s.touches(list[k]) {
				if c >= 0 && !s.classes[c].touched {
					s.classes[c].touched = true
					before(c, now)
				}
			}
			k++
		}
		for _, c := range list[:k] {
			s.apply(c)
		}
		seen(now)
		for c := range s.classes {
			s.classes[c].touched = false
		}
		list = list[k:]
	}
}

// touches are the classes that a change is about: of a job its first one,
// where it waits, and the one where it runs.
func (s *scene) touches(c change) [2]int {
	if c.kind == chMade || c.kind == chOver {
		return [2]int{s.classAt[s.res.Promises[c.i].Class], -1}
	}
	j := &s.res.Jobs[c.i]
	out := [2]int{s.classAt[j.Class], -1}
	if c.kind != chSubmit && j.Attempts[c.n].Class != j.Class {
		out[1] = s.classAt[j.Attempts[c.n].Class]
	}
	return out
}

func (s *scene) apply(c change) {
	switch c.kind {
	case chMade:
		s.promise[c.i] = true
		if p := &s.res.Promises[c.i]; max(p.Kept, p.Over) == p.Made { // kept at once: no notice
			delete(s.promise, c.i)
		}
		return
	case chOver:
		delete(s.promise, c.i)
		return
	}
	j := &s.res.Jobs[c.i]
	switch c.kind {
	case chSubmit:
		s.wait(c.i, j, 1)
	case chAdmit:
		s.wait(c.i, j, -1)
		s.live[c.i] = int(c.n) + 1
		s.run(c.i, j, &j.Attempts[c.n], 1)
	case chEnd:
		a := &j.Attempts[c.n]
		if s.live[c.i] == 0 { // it ended in the instant in which it began
			return
		}
		s.run(c.i, j, a, -1)
		s.live[c.i] = 0
		if !a.Finished {
			s.wait(c.i, j, 1)
		}
	}
}

// wait puts a job among those that wait for its first class, or takes it out.
func (s *scene) wait(i int32, j *Outcome, sign int) {
	if !s.hopes[i] {
		return
	}
	c := &s.classes[s.classAt[j.Class]]
	if j.Tier != pool.Spot {
		c.members[s.orgs[j.Org]].wants += sign * j.Units()
	}
	k := shape{j.Nodes, j.GPUs}
	if c.shapes[k] += sign; c.shapes[k] == 0 {
		delete(c.shapes, k)
	}
	c.waiting = moved(c.waiting, s.inWait, i, sign)
}

// run lets an attempt hold its GPUs, or gives them back.
func (s *scene) run(i int32, j *Outcome, a *Attempt, sign int) {
	c := &s.classes[s.classAt[a.Class]]
	for _, g := range a.Placement {
		n := &s.nodes[s.nodeAt[g.Node]]
		c.byFree[n.free]--
		n.free -= sign * g.GPUs
		c.free -= sign * g.GPUs
		c.byFree[n.free]++
	}
	if j.Tier == pool.Spot {
		c.spot += sign * j.Units()
	} else {
		c.members[s.orgs[j.Org]].use += sign * j.Units()
	}
	c.running = moved(c.running, s.inRun, i, sign)
}

// moved adds to a list or takes out of it in O(1).
func moved(list, at []int32, i int32, sign int) []int32 {
	if sign > 0 {
		at[i] = int32(len(list))
		return append(list, i)
	}
	last := list[len(list)-1]
	list[at[i]] = last
	at[last] = at[i]
	return list[:len(list)-1]
}

// usable is how many of the free GPUs of a class some waiting job could take,
// whatever quotas, limits and reservations say, and how many of them none could.
// Both are 0 when nothing waits.
func (c *sceneClass) usable() (usable, fragmented int) {
	if len(c.shapes) == 0 {
		return 0, 0
	}
	for k := range c.shapes {
		nodes, gpus := 0, 0
		for f := k.gpus; f < len(c.byFree); f++ {
			nodes += c.byFree[f]
			gpus += c.byFree[f] * (f / k.gpus * k.gpus)
		}
		if nodes >= k.nodes {
			usable = max(usable, gpus)
		}
	}
	return usable, c.free - usable
}

// split is what a running attempt is covered as at an instant.
func (a *Attempt) split(now pool.Instant) pool.Split {
	k := len(a.Covers) - 1
	for k > 0 && a.Covers[k].From > now {
		k--
	}
	if k < 0 {
		return pool.Split{}
	}
	return a.Covers[k].Split
}
