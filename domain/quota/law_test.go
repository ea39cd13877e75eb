package quota

import (
	"maps"
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
	before, after Snapshot
	plan          Plan
	was, is       *model // of before and after
}

// settles bounds the decisions until nothing changes, when nothing happens but
// that victims stop and a moment passes: no eviction loop.
const settles = 12

// kinds of histories are drawn side by side. Each forces one of the switches,
// so that none is met by chance only.
var kinds = map[string]func(*draws){
	"notice":   func(d *draws) { d.notice = true },
	"at once":  func(d *draws) { d.notice = false },
	"fair":     func(d *draws) { d.fair, d.priority = true, false },
	"priority": func(d *draws) { d.priority = true },
	"rules":    func(d *draws) { d.rules = true },
}

func TestDecisionsKeepTheLaws(t *testing.T) {
	var all met
	t.Run("histories", func(t *testing.T) {
		for i, name := range slices.Sorted(maps.Keys(kinds)) {
			force := kinds[name]
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				var m met
				rapid.Check(t, func(rt *rapid.T) {
					for range i { // each kind has histories of its own, though all have one seed
						rapid.Uint64().Draw(rt, "kind")
					}
					for range each() {
						d := draws{fair: rapid.Bool().Draw(rt, "fair"), notice: rapid.Bool().Draw(rt, "notice"),
							priority: rapid.Bool().Draw(rt, "priority"), small: rapid.Bool().Draw(rt, "small")}
						force(&d)
						live(newWorld(rt, &m, d))
					}
				})
				all.add(&m)
			})
		}
	})
	if !t.Failed() {
		all.enough(t)
	}
}

// live plays one history.
func live(w *world) {
	w.crowd(8)
	for i := range w.between(5, 10, "events") {
		if i == 1 {
			w.crowd(4)
		}
		for cycle := 0; ; cycle++ {
			plan := Decide(w.snap, w.now)
			l := laws{world: w, before: w.snap, plan: plan, after: applied(w.snap, plan, w.now)}
			l.was, l.is = read(&l.before, w.now), read(&l.after, w.now)
			l.check()
			if !plan.Changes() {
				l.idle()
				break
			}
			if cycle == settles {
				w.t.Fatalf("I7: still changing after %d decisions though only victims stop: %+v", cycle, brief(plan))
			}
			w.apply(plan)
			if again := Decide(w.snap, w.now); again.Changes() {
				w.t.Fatalf("I7: decided again without an event: %+v\nafter %+v", brief(again), brief(plan))
			}
			w.now++
			if w.snap.Policy.Notice == 0 {
				w.send(false)
			}
		}
		w.happen()
	}
	w.met.histories++
	w.end()
	w.plain()
	w.specials()
}

// check holds of every decision.
func (l laws) check() {
	l.count()
	l.stays()
	l.capacity()
	l.limits()
	l.victims()
	l.grounds()
	l.splits()
	l.waits()
	l.queue()
	l.checker()
	if l.plan.Changes() || l.turn%4 == 0 {
		l.order()
	}
}

// idle holds where nothing is left to decide.
func (l laws) idle() {
	l.works()
	l.owners()
	l.lifts()
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
		for _, v := range p.Victims {
			if !running[v] {
				l.t.Fatalf("I7: %s is stopped and doesn't run before the plan: %+v", v.NomadID(), brief(l.plan))
			}
		}
	}
}

// I1: what is started or promised fits on its nodes, beside what runs now and
// beside what will.
func (l laws) capacity() {
	touched := func(where []NodeGPUs, c pool.ClassID, now bool) {
		for _, x := range where {
			n := &l.is.nodes[l.is.at[nodeName{x.Node, c}]]
			if now && n.held > n.cap || n.planned > n.cap || !n.open {
				l.t.Fatalf("I1: node %s is %s, has %d for us, holds %d, will hold %d: %+v", n.ID, n.State, n.cap, n.held, n.planned, brief(l.plan))
			}
		}
	}
	for _, a := range l.plan.Admit {
		touched(a.Placement, a.Class, true)
	}
	for _, p := range l.plan.Reclaim {
		touched(p.Placement, p.Class, false)
	}
}

// I2 and the limits: no account in which something was started or promised
// exceeds what it may borrow, no organisation its quota with guaranteed work,
// and all together not what owners lend.
func (l laws) limits() {
	if slices.ContainsFunc(l.plan.Withdrawn, func(x Withdrawal) bool { return len(x.Keep) > 0 }) {
		return // work that was to stop runs on
	}
	grown := func(id pool.JobID, c pool.ClassID) {
		j, at := l.jobs[id], l.is.classes[c]
		if slices.ContainsFunc(l.before.Promises, func(p Promise) bool { return p.Job == id }) {
			return // it counted before, and quotas may have been cut since
		}
		org := &l.is.books[at][l.is.orgs[j.Org]]
		if j.Tier == pool.Guaranteed && org.guaranteed > org.subtree {
			l.t.Fatalf("I2: %s has %d guaranteed GPUs of %s, quota %d", j.Org, org.guaranteed, c, org.subtree)
		}
		if j.Tier == pool.Spot {
			return
		}
		for a := l.is.account(j.Org, j.Project); a > 0; a = l.is.parent[a] {
			b, was := &l.is.books[at][a], &l.was.books[at][a]
			if max(0, b.visible-b.local) > max(b.subtree-b.local+b.borrow, was.visible-was.local) {
				l.t.Fatalf("%s goes beyond a borrow limit: %+v: %+v", id, *b, brief(l.plan))
			}
		}
		if root := &l.is.books[at][0]; root.visible > max(root.subtree, l.was.books[at][0].visible) {
			l.t.Fatalf("%s uses what owners keep back: %+v", id, *root)
		}
	}
	for _, a := range l.plan.Admit {
		grown(a.Job, a.Class)
	}
	for _, p := range l.plan.Reclaim {
		grown(p.Job, p.Class)
	}
}

// I9: the split of everything that runs adds up, and it is what the quota
// covers in the one order.
func (l laws) splits() {
	for c := range l.is.books {
		for _, o := range l.is.orgs {
			l.is.cover(c, o)
		}
	}
	for _, a := range l.after.Running {
		i := slices.IndexFunc(l.is.held, func(h *holder) bool { return h.id == a.ID })
		h := l.is.held[i]
		want := pool.Split{Own: h.own, Loan: h.loan}
		if h.tier == pool.Spot {
			want = pool.Split{Spot: h.units}
		}
		if !h.gone && a.Split != want || a.Split.Total() != h.units {
			l.t.Fatalf("I9: %s is %s with %d GPUs and split %+v, want %+v", a.ID.NomadID(), a.Tier, h.units, a.Split, want)
		}
	}
}

// I9 over time: what an attempt was charged is what it held.
func (w *world) balanced(id pool.AttemptID) {
	if u := w.used[id]; u.own+u.loan+u.spot != u.held {
		w.t.Fatalf("I9: %s held %d GPU-milliseconds and was charged %+v", id.NomadID(), u.held, *u)
	}
	w.met.metered++
}

// end settles the account of what still runs.
func (w *world) end() {
	for i := range w.snap.Running {
		w.charge(&w.snap.Running[i])
		w.balanced(w.snap.Running[i].ID)
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
	shuffle(r, &s.Budgets)
	shuffle(r, &s.Decayed)
	shuffle(r, &s.Windows)
	for i := range s.Orgs {
		shuffle(r, &s.Orgs[i].Quotas)
	}
	for i := range s.Projects {
		shuffle(r, &s.Projects[i].NodeOwners)
	}
	for i := range s.Promises {
		shuffle(r, &s.Promises[i].Victims)
		shuffle(r, &s.Promises[i].Placement)
	}
	for i := range s.Running {
		shuffle(r, &s.Running[i].Placement)
		shuffle(r, &s.Running[i].Charges)
	}
	if other := Decide(s, l.now); !reflect.DeepEqual(l.plan, other) {
		l.t.Fatalf("I8: another order gives another plan:\n%s", cmp.Diff(l.plan, other))
	}
}

func shuffle[T any](r *rand.Rand, s *[]T) {
	if len(*s) < 2 {
		return
	}
	c := slices.Clone(*s)
	r.Shuffle(len(c), func(i, j int) { c[i], c[j] = c[j], c[i] })
	*s = c
}

func brief(p Plan) Plan { p.Wait = nil; return p }
