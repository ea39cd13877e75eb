package quota

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"gpupool/domain/pool"
)

// laws checks the invariants on one decision of a world.
type laws struct {
	*world
	before  Snapshot
	plan    Plan
	cleared int   // reservations that ended in it
	tries   []int // reservations tried in each class
}

// settles bounds the decisions until nothing changes, when nothing happens but
// that victims stop and a moment passes: no eviction loop.
const settles = 12

func TestDecisionsKeepTheLaws(t *testing.T) {
	t.Parallel()
	var m met
	rapid.Check(t, func(rt *rapid.T) {
		d := draws{fair: rapid.Bool().Draw(rt, "fair"), notice: rapid.Bool().Draw(rt, "notice"), priority: rapid.Bool().Draw(rt, "priority")}
		w := newWorld(rt, &m, d)
		for range 40 {
			w.happen()
			for cycle := 0; ; cycle++ {
				before := w.snap
				x := resolve(&before, w.now)
				l := laws{world: w, before: before, plan: x.plan, tries: x.tries, cleared: x.cleared}
				l.check()
				if !l.plan.Changes() {
					break
				}
				m.decisions++
				m.followed += min(1, x.followed)
				m.mostSteps = max(m.mostSteps, x.followed)
				if cycle == settles {
					rt.Fatalf("I7: still changing after %d decisions though only victims stop: %+v\n%s", cycle, brief(l.plan), l.story(l.plan))
				}
				w.apply(l.plan)
				if again := Decide(w.snap, w.now); again.Changes() {
					rt.Fatalf("I7: decided again without an event: %+v\nafter %+v\n%s", brief(again), brief(l.plan), l.story(again))
				}
				w.now++
				if !d.notice {
					w.wait(0)
				}
			}
		}
	})
	if t.Failed() {
		return
	}
	for what, n := range map[string]int{"admissions": m.admissions, "reclaims": m.reclaims, "straddled victims": m.straddles, "gangs": m.gangs,
		"guaranteed": m.guaranteed, "spot victims": m.spotVictims, "withdrawn notices": m.withdrawn, "places found elsewhere": m.elsewhere,
		"covers changed": m.recovers, "reservations": m.reserved, "scattered": m.scattered, "fair moves": m.fair, "own priority": m.priority,
		"sites": m.sites, "lend limits": m.lend, "borrow limits": m.borrow, "promises fulfilled": m.promisesKept, "minimal sets": m.minimal, "owners that wait": m.owners, "decisions of several steps": m.followed} {
		if n == 0 {
			t.Errorf("the generator met no %s", what)
		}
	}
	t.Logf("met %+v", m)
}

func (l laws) check() {
	l.count()
	l.stays()
	l.capacity()
	l.guaranteed()
	l.victims()
	l.grounds()
	l.owners()
	l.splits()
	l.waits()
	l.order()
}

// I7: no job is admitted and stopped in one plan, none is promised GPUs twice,
// and no attempt is stopped that doesn't run.
func (l laws) stays() {
	running, moved := map[pool.AttemptID]bool{}, map[pool.JobID]bool{}
	for _, a := range l.before.Running {
		running[a.ID] = true
	}
	for _, a := range l.plan.Admit {
		if moved[a.Job] {
			l.t.Fatalf("I7: %s is admitted twice: %+v", a.Job, brief(l.plan))
		}
		moved[a.Job] = true
	}
	for _, p := range l.plan.Reclaim {
		if moved[p.Job] {
			l.t.Fatalf("I7: %s is admitted and promised, or promised twice: %+v", p.Job, brief(l.plan))
		}
		moved[p.Job] = true
	}
	for _, p := range l.plan.Reclaim {
		for _, v := range p.Victims {
			if !running[v] {
				l.t.Fatalf("I7: %s is stopped and doesn't run before the plan: %+v", v.NomadID(), brief(l.plan))
			}
		}
	}
}

// I1: what runs never exceeds a node; nor does what will run.
func (l laws) capacity() {
	type use struct{ held, planned, added int }
	nodes := map[nodeName]*use{}
	for _, n := range l.before.Nodes {
		nodes[nodeName{n.ID, n.Class}] = &use{held: n.Foreign, planned: n.Foreign}
	}
	gone := l.gone()
	for _, a := range l.before.Running {
		for _, p := range a.Placement {
			u := nodes[nodeName{p.Node, a.Class}]
			u.held += p.GPUs
			if !gone[a.ID] {
				u.planned += p.GPUs
			}
		}
	}
	for _, a := range l.plan.Admit {
		for _, p := range a.Placement {
			u := nodes[nodeName{p.Node, a.Class}]
			u.held, u.planned, u.added = u.held+p.GPUs, u.planned+p.GPUs, u.added+p.GPUs
		}
	}
	for _, p := range l.open() {
		for _, x := range p.Placement {
			u := nodes[nodeName{x.Node, p.Class}]
			u.planned += x.GPUs
		}
	}
	for _, n := range l.before.Nodes {
		u := nodes[nodeName{n.ID, n.Class}]
		if u.held > n.GPUs || u.planned > n.GPUs {
			l.t.Fatalf("I1: node %s has %d, holds %d, will hold %d", n.ID, n.GPUs, u.held, u.planned)
		}
		if u.added > 0 && n.State != Ready {
			l.t.Fatalf("node %s is %s and gets work", n.ID, n.State)
		}
	}
}

type nodeName struct {
	id    pool.NodeID
	class pool.ClassID
}

// open are the promises after the plan.
func (l laws) open() []Promise {
	var out []Promise
	for _, p := range l.before.Promises {
		used := slices.ContainsFunc(l.plan.Admit, func(a Admission) bool { return a.Job == p.Job })
		over := slices.ContainsFunc(l.plan.Withdrawn, func(x Withdrawal) bool { return x.Job == p.Job })
		if !used && !over {
			out = append(out, p)
		}
	}
	return append(out, l.plan.Reclaim...)
}

func (l laws) gone() map[pool.AttemptID]bool { return stopping(Snapshot{Promises: l.open()}) }

func (l laws) quotaOf(o pool.OrgID, c pool.ClassID) int {
	n := 0
	for _, x := range l.before.Orgs {
		if x.ID == o {
			n += nominalOf(x.Quotas, c)
		}
	}
	for _, p := range l.before.Projects {
		if p.Org == o {
			n += nominalOf(p.Quotas, c)
		}
	}
	return n
}

func nominalOf(qs []Quota, c pool.ClassID) int {
	for _, q := range qs {
		if q.Class == c {
			return q.Nominal
		}
	}
	return 0
}

// I2: no guaranteed work starts, and none is promised GPUs, above the quota.
func (l laws) guaranteed() {
	type key struct {
		o pool.OrgID
		c pool.ClassID
	}
	use, grown := map[key]int{}, map[key]bool{}
	for _, a := range l.before.Running {
		if a.Tier == pool.Guaranteed {
			use[key{a.Org, a.Class}] += unitsOf(a.Placement)
		}
	}
	add := func(id pool.JobID, c pool.ClassID, fresh bool) {
		if j := l.jobs[id]; j.Tier == pool.Guaranteed {
			use[key{j.Org, c}] += j.Units()
			grown[key{j.Org, c}] = grown[key{j.Org, c}] || fresh
		}
	}
	for _, a := range l.plan.Admit {
		promised := slices.ContainsFunc(l.before.Promises, func(p Promise) bool { return p.Job == a.Job })
		add(a.Job, a.Class, !promised)
	}
	for _, p := range l.open() {
		add(p.Job, p.Class, slices.ContainsFunc(l.plan.Reclaim, func(q Promise) bool { return q.Job == p.Job }))
	}
	for k := range grown {
		if grown[k] && use[k] > l.quotaOf(k.o, k.c) {
			l.t.Fatalf("I2: %s has %d guaranteed GPUs of %s, quota %d", k.o, use[k], k.c, l.quotaOf(k.o, k.c))
		}
	}
}

func unitsOf(p []NodeGPUs) int {
	n := 0
	for _, x := range p {
		n += x.GPUs
	}
	return n
}

// I3: another organisation stops only spot work, or burst work of which a GPU
// is on loan. I6: no victim can be given back. And nobody stops fixed or
// guaranteed work, or work that this plan starts.
func (l laws) victims() {
	old := stopping(l.before)
	e := build(&l.before, l.now)
	l.start(e)
	kept := slices.ContainsFunc(l.plan.Withdrawn, func(x Withdrawal) bool { return len(x.Keep) > 0 })
	for _, p := range l.plan.Reclaim {
		j := l.jobs[p.Job]
		for _, v := range p.Victims {
			if old[v] {
				continue
			}
			old[v] = true // later promises of the plan count on it, they didn't take it
			i, ok := e.find(v)
			if !ok {
				l.t.Fatalf("%s is stopped but doesn't run", v.NomadID())
			}
			r := &e.runs[i]
			if r.tier == pool.Guaranteed || r.protected {
				l.t.Fatalf("%s is %s (protected %t) and is stopped for %s", v.NomadID(), r.tier, r.protected, p.Job)
			}
			own := slices.ContainsFunc(l.plan.Reclaim, func(q Promise) bool {
				return slices.Contains(q.Victims, v) && l.jobs[q.Job].Org == e.orgs[r.org].id
			})
			// It may stop for its own organisation while others count on what
			// is left of its GPUs. Where victims of a withdrawn promise run on, the state before
			// doesn't show them in the covers.
			if e.orgs[r.org].id != j.Org && r.tier != pool.Spot && !kept && !own {
				e.cover(r.class, r.org)
				if r.loan < 1 {
					l.t.Fatalf("I3: %s is fully covered and stopped for %s by %s: %+v", v.NomadID(), p.Job, p.Rule, brief(l.plan))
				}
				if r.loan < r.units {
					l.met.straddles++
				}
			}
			l.needed(p, v)
		}
	}
}

// I3 for victims that stay under notice while a promise that counted on them
// ends: one that is left must have a claim on them by itself.
func (l laws) grounds() {
	next := after(&l.before, l.plan, l.now, build(&l.before, l.now).jobs)
	var e *engine
	for _, w := range l.plan.Withdrawn {
		for _, p := range l.before.Promises {
			if p.Job != w.Job || p.Sent {
				continue
			}
			for _, v := range p.Victims {
				left := slices.DeleteFunc(slices.Clone(next.Promises), func(q Promise) bool { return !slices.Contains(q.Victims, v) })
				if e == nil {
					e = build(&next, l.now)
				}
				i, runs := e.find(v)
				if !runs || len(left) == 0 || slices.ContainsFunc(left, func(q Promise) bool { return q.Sent || l.jobs[q.Job].Org == l.jobs[v.Job].Org }) {
					continue
				}
				r := &e.runs[i]
				if r.gone {
					e.restore(i)
					e.cover(r.class, r.org)
					e.release(i)
				}
				if l.met.grounds++; r.tier != pool.Spot && r.loan < 1 {
					l.t.Fatalf("I3: %s is fully covered and still stops for %+v: %+v", v.NomadID(), left, brief(l.plan))
				}
			}
		}
	}
}

// start puts the work that the plan starts into a state, as it moves the cover
// of its organisation before others claim.
func (l laws) start(e *engine) {
	put := func(id pool.JobID, c pool.ClassID, where []NodeGPUs) {
		k, ok := e.jobAt[id]
		if !ok || e.jobs[k].done {
			return
		}
		var holds []hold
		for _, x := range where {
			n, _ := e.node(x.Node, e.classAt[c])
			holds = append(holds, hold{n, x.GPUs})
		}
		e.enter(e.runOf(&e.jobs[k], e.classAt[c], holds, true))
		e.jobs[k].done = true
	}
	for _, a := range l.plan.Admit {
		put(a.Job, a.Class, a.Placement)
	}
	for _, p := range l.plan.Reclaim {
		put(p.Job, p.Class, p.Placement)
	}
}

// needed fails when a promise would also fit in its place with one victim
// running on.
func (l laws) needed(p Promise, v pool.AttemptID) {
	if p.Rule == ByPriority {
		return // a victim may be needed to keep the organisation's loan from growing
	}
	for _, q := range l.plan.Reclaim {
		if q.Job != p.Job && slices.Contains(q.Victims, v) {
			return // another promise needs it too
		}
	}
	s := l.before
	s.Promises = nil
	for _, q := range l.open() {
		if q.Job != p.Job {
			s.Promises = append(s.Promises, q)
			continue
		}
		for _, x := range q.Victims { // the others stop for nobody
			if x != v {
				s.Running = slices.Clone(s.Running)
				for i := range s.Running {
					s.Running[i].Stopping = s.Running[i].Stopping || s.Running[i].ID == x
				}
			}
		}
	}
	after := world{t: l.t, snap: s, now: l.now, jobs: l.jobs, met: l.met}
	after.apply(Plan{Admit: l.plan.Admit})
	e := build(&after.snap, l.now)
	k, ok := e.jobAt[p.Job]
	if !ok || l.tries[e.classAt[p.Class]] > 0 || l.cleared > 0 || len(l.plan.Withdrawn) > 0 {
		return // a reservation, or a promise that ended later in the plan, kept the job from a place
	}
	l.met.minimal++
	j, c := &e.jobs[k], e.classAt[p.Class]
	stays := slices.ContainsFunc(p.Placement, func(x NodeGPUs) bool {
		at, _ := e.node(x.Node, c)
		n := &e.nodes[at]
		return n.later() < x.GPUs || !e.suits(j, n)
	})
	clash := len(e.plan.Withdrawn) > 0 // another promise has no room then
	if e.ledger.avail(c, j.account) >= j.units && !stays && !clash {
		l.t.Fatalf("I6: %s needn't stop for %s by %s: %+v", v.NomadID(), p.Job, p.Rule, brief(l.plan))
	}
}

// I9: the split of everything that runs adds up, own is what quota covers.
func (l laws) splits() {
	after := *l.world
	after.apply(l.plan)
	gone := l.gone()
	type key struct {
		o pool.OrgID
		c pool.ClassID
	}
	own, all := map[key]int{}, map[key]int{}
	for _, a := range after.snap.Running {
		n := unitsOf(a.Placement)
		if a.Split.Total() != n || a.Split.Own < 0 || a.Split.Loan < 0 || a.Split.Spot < 0 || (a.Tier == pool.Spot) != (a.Split.Spot == n) {
			l.t.Fatalf("I9: %s is %s with %d GPUs and split %+v", a.ID.NomadID(), a.Tier, n, a.Split)
		}
		if !gone[a.ID] && a.Tier != pool.Spot {
			own[key{a.Org, a.Class}] += a.Split.Own
			all[key{a.Org, a.Class}] += n
		}
	}
	for _, p := range l.open() {
		if j := l.jobs[p.Job]; j.Tier != pool.Spot {
			all[key{j.Org, p.Class}] += j.Units()
		}
	}
	for k, n := range own {
		if most := min(all[k], l.quotaOf(k.o, k.c)); n > most {
			l.t.Fatalf("I9: %s has %d own GPUs of %s, quota covers %d", k.o, n, k.c, most)
		}
	}
}

// Every pending job is admitted or waits with a reason, never both, and the
// fallback reason is never the only one of a head.
func (l laws) waits() {
	seen := map[pool.JobID]int{}
	for _, a := range l.plan.Admit {
		seen[a.Job]++
	}
	for _, x := range l.plan.Wait {
		seen[x.Job]++
		if len(x.Reasons) == 0 {
			l.t.Fatalf("%s waits without a reason", x.Job)
		}
		if x.Reasons[0].Code == pool.Behind {
			l.t.Fatalf("I5: %s (%+v) waits though it fits: %+v", x.Job, l.jobs[x.Job], x.Reasons)
		}
		for _, r := range x.Reasons {
			pool.RowOf(r.Code)
		}
	}
	for _, j := range l.before.Pending {
		if seen[j.ID] != 1 {
			l.t.Fatalf("%s stands %d times in the plan", j.ID, seen[j.ID])
		}
	}
}

// I8: the order of the snapshot's slices doesn't matter.
func (l laws) order() {
	s := l.before
	r := rand.New(rand.NewPCG(uint64(l.next), 7))
	shuffle(r, &s.Classes)
	shuffle(r, &s.Nodes)
	shuffle(r, &s.Orgs)
	shuffle(r, &s.Projects)
	shuffle(r, &s.Running)
	shuffle(r, &s.Pending)
	shuffle(r, &s.Promises)
	if other := Decide(s, l.now); !reflect.DeepEqual(l.plan, other) {
		l.t.Fatalf("I8: another order gives another plan:\n%s", cmp.Diff(l.plan, other))
	}
}

func shuffle[T any](r *rand.Rand, s *[]T) {
	c := slices.Clone(*s)
	r.Shuffle(len(c), func(i, j int) { c[i], c[j] = c[j], c[i] })
	*s = c
}

func brief(p Plan) Plan { p.Wait = nil; return p }

func (l laws) count() {
	m := l.met
	m.admissions += len(l.plan.Admit)
	m.reclaims += len(l.plan.Reclaim)
	m.withdrawn += len(l.plan.Withdrawn)
	m.recovers += len(l.plan.Covers)
	for _, a := range l.plan.Admit {
		if len(a.Placement) > 1 {
			m.gangs++
		}
		if l.jobs[a.Job].Tier == pool.Guaranteed {
			m.guaranteed++
		}
		if slices.ContainsFunc(l.before.Promises, func(p Promise) bool { return p.Job == a.Job }) {
			m.promisesKept++
		}
	}
	for _, w := range l.plan.Withdrawn {
		if w.Why == Elsewhere {
			m.elsewhere++
		}
	}
	for _, p := range l.plan.Reclaim {
		m.victims += len(p.Victims)
		switch p.Rule {
		case ByFairness:
			m.fair++
		case ByPriority:
			m.priority++
		}
		for _, v := range p.Victims {
			if l.jobs[v.Job].Tier == pool.Spot {
				m.spotVictims++
			}
		}
	}
	for _, w := range l.plan.Wait {
		for _, r := range w.Reasons {
			switch r.Code {
			case pool.Reserved:
				m.reserved++
			case pool.Scattered:
				m.scattered++
			case pool.Site:
				m.sites++
			case pool.LendLimit:
				m.lend++
			case pool.BorrowLimit:
				m.borrow++
			}
		}
	}
}

// story tells what the decision before said about the jobs that a plan moves.
func (l laws) story(again Plan) string {
	out := ""
	tell := func(id pool.JobID) {
		for _, w := range l.plan.Wait {
			if w.Job == id {
				out += fmt.Sprintf("%+v\n  waited for %+v\n", l.jobs[id], w.Reasons)
			}
		}
	}
	for _, a := range again.Admit {
		tell(a.Job)
	}
	for _, p := range again.Reclaim {
		tell(p.Job)
	}
	return out
}
