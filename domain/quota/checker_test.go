package quota

import (
	"slices"
	"sort"
	"testing"

	"pgregory.net/rapid"

	"gpupool/domain/pool"
)

// The checker looks at decisions on few jobs. It decides nothing by itself: it
// enumerates the legal sets of victims and says whether the one that was taken
// is legal, has no member too many, and stands first in the order.

// few is the most jobs, running and pending, that it looks at.
const few = 8

// checker asks the engine about one waiting job of the history beside what runs.
func (l laws) checker() {
	if len(l.before.Pending) == 0 {
		return
	}
	j := l.before.Pending[l.turn%len(l.before.Pending)]
	if j.Tier == pool.Spot {
		return
	}
	s := l.before
	s.Pending, s.Promises = []Job{j}, nil
	s.Running = slices.DeleteFunc(slices.Clone(s.Running), func(a Attempt) bool { return a.Stopping })
	s.Running = s.Running[max(0, len(s.Running)-few+1):]
	plan := Decide(s, l.now)
	if len(plan.Reclaim) != 1 || len(plan.Reclaim[0].Victims) == 0 {
		return
	}
	p := plan.Reclaim[0]
	s.Running = slices.Clone(s.Running)
	enforced(s.Running, plan) // what ends for no other job goes first
	m := read(&s, l.now)
	k := claimed{m: m, j: &j, c: m.classes[p.Class]}
	k.was = m.uses(&j, k.c)
	for _, v := range p.Victims {
		k.set = append(k.set, slices.IndexFunc(m.held, func(h *holder) bool { return h.id == v }))
	}
	if !k.fits(k.set) {
		l.t.Fatalf("checker: %s doesn't fit in the place of %v: %+v", j.ID, p.Victims, j)
	}
	allowed := map[Rule]func() bool{ByQuota: k.byQuota, OverSpot: k.overSpot, ByPriority: k.byPriority, ByFairness: k.byFairness}[p.Rule]
	if !allowed() {
		l.t.Fatalf("checker: %v may not be stopped for %+v by %s", p.Victims, j, p.Rule)
	}
	for i := range k.set {
		if less := slices.Delete(slices.Clone(k.set), i, i+1); k.fits(less) && !(p.Rule == ByPriority && k.grows(less)) && (p.Rule != ByQuota || k.legal(less)) {
			l.t.Fatalf("checker: %s fits without stopping %v: %+v", j.ID, p.Victims[i], p)
		}
	}
	l.met.claims++
	if p.Rule != ByQuota {
		return
	}
	if want := k.first(); !slices.Equal(sorted(want), sorted(k.set)) {
		l.t.Fatalf("checker: %v are stopped for %+v; the first in order are %v", p.Victims, j, k.ids(want))
	}
	all := sets{m: m, j: &j, c: k.c, most: 1 << few}
	least, ok := all.smallest()
	if !ok {
		l.t.Fatalf("checker: there is no legal set for %s, and %v are stopped", j.ID, p.Victims)
	}
	l.met.stopped += len(p.Victims)
	l.met.least += len(least)
	l.met.fewer += when(len(least) < len(p.Victims), 1)
}

// byQuota: each may be stopped when those before it are gone, in some order.
func (k *claimed) byQuota() bool { return k.legal(k.set) }

func (k *claimed) overSpot() bool {
	return !slices.ContainsFunc(k.set, func(i int) bool { h := k.m.held[i]; return h.tier != pool.Spot || h.fixed || h.minRun > k.m.now })
}

// byPriority: lower priority of the own organisation, which has no more on loan
// afterwards; a sibling project keeps its own quota.
func (k *claimed) byPriority() bool {
	for _, i := range k.set {
		h := k.m.held[i]
		sibling := h.account != k.m.account(k.j.Org, k.j.Project)
		below := sibling && k.without(k.set, func() bool { b := k.m.books[k.c][h.account]; return b.use < b.subtree })
		if h.org != k.m.orgs[k.j.Org] || h.tier != pool.Burst || h.priority >= k.j.Priority || h.fixed || h.minRun > k.m.now || below {
			return false
		}
	}
	return !k.grows(k.set)
}

// grows says whether the organisation has more on loan when the job has taken
// the place of a set.
func (k *claimed) grows(set []int) bool {
	o := k.m.orgs[k.j.Org]
	before := k.m.books[k.c][o].over()
	return k.without(set, func() bool { b := k.m.books[k.c][o]; return max(0, b.use+k.j.Units()-b.subtree) > before })
}

// byFairness: spot work, or loans of others that after the move still have at
// least as much on loan, by weight, as the taker.
func (k *claimed) byFairness() bool {
	return k.without(k.set, func() bool {
		o := k.m.orgs[k.j.Org]
		mine, w := k.m.books[k.c][o], k.m.s.Orgs[o-1].Weight
		after := max(0, mine.use+k.j.Units()-mine.subtree)
		return !slices.ContainsFunc(k.set, func(i int) bool {
			h := k.m.held[i]
			its, v := k.m.books[k.c][h.org], k.m.s.Orgs[h.org-1].Weight
			richer := w > 0 && (v == 0 || after*v <= its.over()*w) && its.use >= its.subtree
			return h.fixed || h.minRun > k.m.now || h.tier != pool.Spot && (h.tier != pool.Burst || h.org == o || !richer)
		})
	})
}

func sorted(s []int) []int { return slices.Sorted(slices.Values(s)) }

// claimed is a claim with the victims taken for it, by index in the model.
type claimed struct {
	m   *model
	j   *Job
	c   int
	set []int
	was map[int]int // what its accounts used before
}

func (k *claimed) ids(set []int) []pool.AttemptID {
	var out []pool.AttemptID
	for _, i := range set {
		out = append(out, k.m.held[i].id)
	}
	return out
}

// without asks about the state in which a set is gone.
func (k *claimed) without(set []int, ask func() bool) bool {
	for _, i := range set {
		k.m.held[i].gone = true
	}
	k.m.tally()
	yes := ask()
	for _, i := range set {
		k.m.held[i].gone = false
	}
	k.m.tally()
	return yes
}

func (k *claimed) fits(set []int) bool {
	return k.without(set, func() bool { return k.m.fitsFor(k.j, k.c, k.was) })
}

// legal says whether the set can be stopped in some order, each when those
// before it are gone.
func (k *claimed) legal(set []int) bool {
	if len(set) == 0 {
		return true
	}
	for i, last := range set {
		rest := slices.Delete(slices.Clone(set), i, i+1)
		if k.without(rest, func() bool { return k.m.mayStop(k.j, k.c, k.m.held[last]) }) && k.legal(rest) {
			return true
		}
	}
	return false
}

// first is the set that the one order gives: spot work, then loans, the richest
// organisation's last covered first, then siblings; then, last taken first,
// without those that aren't needed. A claim of an organisation that is over its
// quota takes siblings before spot work, and loans only when that brings it
// inside. Where that isn't enough and projects have quota, again without what
// frees no GPUs where they are missing.
func (k *claimed) first() []int {
	taken := k.inOrder(false)
	if !k.fits(taken) && slices.ContainsFunc(k.m.s.Projects, func(p Project) bool { return len(p.Quotas) > 0 }) {
		return k.inOrder(true)
	}
	return taken
}

// vain says whether, while GPUs are missing on nodes, a holder has none of those.
func (k *claimed) vain(h *holder) bool {
	return !k.m.room(k.j, k.c, true) && !slices.ContainsFunc(k.m.nodes, func(n place) bool {
		return n.class == k.c && on(h, n.ID) > 0 && n.cap-n.planned < k.j.GPUs && k.m.suits(k.j, &n)
	})
}

func (k *claimed) inOrder(picky bool) []int {
	m, org := k.m, k.m.orgs[k.j.Org]
	var taken []int
	take := func(next func() int) bool {
		for !k.fits(taken) {
			i := -1
			k.without(taken, func() bool { i = next(); return true })
			if i < 0 {
				return false
			}
			taken = append(taken, i)
		}
		return true
	}
	pickBest := func(of func(h *holder) bool, before func(a, b *holder) bool) func() int {
		return func() int {
			best := -1
			for i, h := range m.held {
				if of(h) && m.mayStop(k.j, k.c, h) && !(picky && k.vain(h)) && (best < 0 || before(h, m.held[best])) {
					best = i
				}
			}
			return best
		}
	}
	spots := pickBest(func(h *holder) bool { return h.tier == pool.Spot }, milderOf)
	loans := func() int { // of each organisation the last covered, then the richest of those
		last := map[int]int{}
		after := func(a, b *holder) bool { // what is partly own goes last
			if (a.own > 0) != (b.own > 0) {
				return b.own > 0
			}
			return coveredAfter(a, b)
		}
		for i, h := range m.held {
			if h.tier == pool.Burst && h.org != org && m.mayStop(k.j, k.c, h) && !(picky && k.vain(h)) {
				if b, ok := last[h.org]; !ok || after(h, m.held[b]) {
					last[h.org] = i
				}
			}
		}
		best := -1
		for _, i := range last {
			if best < 0 || k.richer(m.held[i], m.held[best]) {
				best = i
			}
		}
		return best
	}
	siblings := pickBest(func(h *holder) bool { return h.tier == pool.Burst && h.org == org }, coveredAfter)
	inside := func(set []int) bool {
		return k.without(set, func() bool { b := &m.books[k.c][org]; return b.use+k.j.Units() <= b.subtree })
	}
	if inside(nil) {
		_ = take(spots) || take(loans) || take(siblings)
	} else {
		_ = take(siblings) || take(spots) || take(loans)
	}
	for i := len(taken) - 1; i >= 0; i-- {
		less := slices.Delete(slices.Clone(taken), i, i+1)
		others := slices.ContainsFunc(less, func(i int) bool { return m.held[i].tier != pool.Spot && m.held[i].org != org })
		if k.fits(less) && (!others || inside(less)) {
			taken = less
		}
	}
	return taken
}

// richer compares the organisations of two victims by loan over weight.
func (k *claimed) richer(a, b *holder) bool {
	m := k.m
	x, y := m.books[k.c][a.org].over(), m.books[k.c][b.org].over()
	v, w := m.s.Orgs[a.org-1].Weight, m.s.Orgs[b.org-1].Weight
	switch {
	case v == 0 && w == 0 && x != y:
		return x > y
	case (v == 0) != (w == 0):
		return v == 0
	case v > 0 && x*w != y*v:
		return x*w > y*v
	}
	return milderOf(a, b)
}

func milderOf(a, b *holder) bool {
	if a.priority != b.priority {
		return a.priority < b.priority
	}
	if a.started != b.started {
		return a.started > b.started
	}
	return attemptBefore(b.id, a.id)
}

// coveredAfter is the end of the order of cover.
func coveredAfter(a, b *holder) bool { return milderOf(a, b) }

// shares looks at a pool of unit jobs in which nothing runs yet: inside quota
// nobody got more of its quota than somebody who waits, and beyond it nobody
// more by weight.
func (w *world) shares() {
	s := w.units()
	s.Running, s.Projects = nil, slices.Clone(s.Projects)
	for i := range s.Projects {
		s.Projects[i].Quotas = nil
	}
	s.Pending = slices.DeleteFunc(s.Pending, func(j Job) bool { return j.Tier == pool.Spot })
	plan := Decide(s, w.now)
	after := applied(s, plan, w.now)
	m := read(&after, w.now)
	waits := map[int]Job{}
	for _, x := range plan.Wait {
		j := s.Pending[slices.IndexFunc(s.Pending, func(j Job) bool { return j.ID == x.Job })]
		if !slices.ContainsFunc(x.Reasons, func(r pool.Reason) bool { return r.Code != pool.ClassFull && r.Code != pool.Behind }) {
			waits[m.orgs[j.Org]] = j
		}
	}
	all := make([]int, 0, len(waits))
	for o := range waits {
		all = append(all, o)
	}
	sort.Ints(all)
	for _, o := range all {
		j := waits[o]
		mine := m.books[0][o]
		for q := range s.Orgs {
			its := m.books[0][1+q]
			switch {
			case 1+q == o || j.Tier != pool.Burst:
			case its.over() == 0 && its.use > 0 && mine.use < mine.subtree && (its.use-1)*mine.subtree > mine.use*its.subtree:
				w.t.Fatalf("order: %s got %d of %d and %s %d of %d, and %s waits\n%+v", s.Orgs[q].ID, its.use, its.subtree, j.Org, mine.use, mine.subtree, j.ID, brief(plan))
			case its.over() > 0 && (its.over())*s.Orgs[o-1].Weight > (mine.over()+1)*s.Orgs[q].Weight:
				w.t.Fatalf("order: %s got %d on loan by %d and %s %d by %d, and %s waits\n%+v", s.Orgs[q].ID, its.over(), s.Orgs[q].Weight, j.Org, mine.over(), s.Orgs[o-1].Weight, j.ID, brief(plan))
			default:
				w.met.shares++
			}
		}
	}
}

// What the one order costs: how many more are stopped than the fewest that
// would do, on the small instances of a fixed number of histories.
func BenchmarkEvictionsBeyondTheMinimum(b *testing.B) {
	for b.Loop() {
		var m met
		small := rapid.Custom(func(t *rapid.T) int {
			live(newWorld(t, &m, draws{small: true}))
			return 0
		})
		for seed := range 2000 {
			small.Example(seed)
		}
		b.ReportMetric(float64(m.claims), "claims")
		b.ReportMetric(float64(m.stopped), "evictions")
		b.ReportMetric(float64(m.stopped-m.least), "beyond-the-minimum")
		b.ReportMetric(float64(m.fewer), "claims-with-fewer")
	}
}
