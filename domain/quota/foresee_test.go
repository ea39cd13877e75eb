package quota

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"gpupool/domain/money"
	"gpupool/domain/pool"
)

// foreseen counts what the bound came across.
type foreseen struct {
	bounds, never, kept, atOnce, exact, gangs, dependent, later, windows, maintained, promised, stopped, early int
	slack                                                                                                      time.Duration
}

// If nothing new is submitted and work ends no later than declared, a job
// starts no later than its bound, however early other work ends.
func TestAJobStartsNoLaterThanItsBound(t *testing.T) {
	t.Parallel()
	var m foreseen
	one := func(rt *rapid.T) {
		f := newOutlook(rt)
		j := rapid.SampledFrom(f.snap.Pending).Draw(rt, "job")
		a := Quote(f.snap, j, f.now)
		m.bounds++
		if a.Start == pool.Never {
			m.never++
			return
		}
		from, plan := f.now, Decide(f.snap, f.now)
		dump := fmt.Sprintf("%+v", f.snap)
		at := f.play(j.ID, a.Start)
		if len(j.DependsOn) > 0 && f.stopped[j.DependsOn[0]] {
			m.stopped++
			return
		}
		if at > a.Start {
			rt.Fatalf("%s waits at %s, after its bound of %s (now %s; admitted %v, promised %v)\n%s\nfirst plan %+v\njob %+v\nsnapshot %s", j.ID, min(at, 1e15), a.Start, from, a.Admitted, a.Promised, f.log, brief(plan), j, dump)
		}
		m.kept++
		m.slack += a.Start.Sub(at)
		count := func(n *int, yes bool) {
			if yes {
				*n++
			}
		}
		count(&m.atOnce, at == from)
		count(&m.exact, at > from && at == a.Start)
		count(&m.gangs, at > from && j.Nodes > 1)
		count(&m.dependent, at > from && len(j.DependsOn) > 0)
		count(&m.later, j.NotBefore > from)
		count(&m.windows, at > from && len(f.snap.Windows) > 0)
		count(&m.maintained, at > from && slices.ContainsFunc(f.snap.Nodes, func(n Node) bool { return n.Maintenance.End > 0 }))
		count(&m.promised, a.Promised)
		count(&m.early, f.early > 0)
	}
	rapid.Check(t, func(rt *rapid.T) {
		for range 4 {
			one(rt)
		}
	})
	t.Logf("met %+v", m)
	for what, n := range map[string]int{"bounds kept": m.kept, "starts at the bound": m.exact, "gangs": m.gangs, "dependent jobs": m.dependent,
		"jobs for later": m.later, "time policies": m.windows, "maintenance": m.maintained, "promises": m.promised, "early ends": m.early} {
		if n == 0 && !t.Failed() {
			t.Errorf("the generator met no %s", what)
		}
	}
}

// outlook is a world in which nothing new is submitted.
type outlook struct {
	*world
	ends    map[pool.AttemptID]pool.Instant // when it ends, never after its declared end
	left    map[pool.JobID]time.Duration    // of its limit, for a job that was stopped
	stopped map[pool.JobID]bool
	lazy    bool // everything runs to its declared end
	early   int
	log     string
}

func newOutlook(t *rapid.T) *outlook {
	w := newWorld(t, &met{}, draws{fair: rapid.Bool().Draw(t, "fair"), notice: rapid.Bool().Draw(t, "notice"), priority: rapid.Bool().Draw(t, "priority"), small: rapid.Bool().Draw(t, "small")})
	f := &outlook{world: w, ends: map[pool.AttemptID]pool.Instant{}, left: map[pool.JobID]time.Duration{}, stopped: map[pool.JobID]bool{}, lazy: rapid.IntRange(0, 3).Draw(t, "lazy") == 0}
	for range rapid.IntRange(3, 25).Draw(t, "events") {
		w.happen()
		f.settle("")
		w.now++
	}
	for len(w.snap.Pending) == 0 {
		w.crowd(1)
	}
	minutes := func(name string, from, to int) pool.Instant {
		return w.now.Add(time.Duration(rapid.IntRange(from, to).Draw(t, name)) * time.Minute)
	}
	clear(f.ends)
	endless := rapid.IntRange(0, 7).Draw(t, "endless") == 0
	for i := range w.snap.Running {
		if a := &w.snap.Running[i]; a.MaxEnd == pool.Never && !endless {
			a.MaxEnd = minutes("declared", 1, 300)
		}
	}
	for i := range w.snap.Pending {
		j := &w.snap.Pending[i]
		if j.MaxRun == 0 && !endless {
			j.MaxRun = 45 * time.Minute
		}
		switch rapid.IntRange(0, 9).Draw(t, "ties") {
		case 0:
			j.NotBefore = minutes("not before", 1, 120)
		case 1:
			if n := len(w.snap.Running); n > 0 {
				j.DependsOn = []pool.JobID{w.snap.Running[rapid.IntRange(0, n-1).Draw(t, "after run")].ID.Job}
			}
		case 2:
			if k := rapid.IntRange(0, i).Draw(t, "after job"); k < i {
				j.DependsOn = []pool.JobID{w.snap.Pending[k].ID}
			}
		}
		w.jobs[j.ID] = *j
	}
	w.snap.Policy.AdmissionPaused = false
	for _, o := range w.orgs() {
		o.Paused, o.NoSubscription = "", false
	}
	w.snap.Nodes = slices.Clone(w.snap.Nodes)
	for i := range w.snap.Nodes {
		if n := &w.snap.Nodes[i]; n.State != Ready && rapid.Bool().Draw(t, "mended") {
			n.State = Ready
		}
	}
	if rapid.IntRange(0, 3).Draw(t, "window") == 0 {
		x := Window{Tier: rapid.SampledFrom([]pool.Tier{"", pool.Guaranteed, pool.Burst, pool.Spot}).Draw(t, "window's tier")}
		x.Closed.Start = minutes("closes", -30, 90)
		x.Closed.End = x.Closed.Start.Add(time.Duration(rapid.IntRange(10, 120).Draw(t, "closed")) * time.Minute)
		w.snap.Windows = append(slices.Clone(w.snap.Windows), x)
	}
	if rapid.IntRange(0, 3).Draw(t, "maintenance") == 0 {
		n := &w.snap.Nodes[rapid.IntRange(0, len(w.snap.Nodes)-1).Draw(t, "maintained")]
		n.Maintenance.Start = minutes("maintenance", -30, 90)
		n.Maintenance.End = n.Maintenance.Start.Add(time.Duration(rapid.IntRange(10, 120).Draw(t, "lasts")) * time.Minute)
	}
	return f
}

// play lets the pool live until a job starts or the bound has passed.
func (f *outlook) play(id pool.JobID, bound pool.Instant) pool.Instant {
	f.end() // nobody is late
	for range 4000 {
		if f.settle(id) {
			return f.now
		}
		if f.now > bound {
			return f.now
		}
		next := f.next()
		if next > bound {
			next = bound + 1
		}
		f.spend(next)
		f.now = next
		f.end()
	}
	f.t.Fatalf("the future doesn't end: now %s, bound %s", f.now, bound)
	return 0
}

// settle decides and applies until nothing changes at this moment.
func (f *outlook) settle(id pool.JobID) bool {
	for cycle := 0; ; cycle++ {
		p := Decide(f.snap, f.now)
		if !p.Changes() {
			return false
		}
		f.apply(p)
		f.log += fmt.Sprintf("\n%s: %+v", f.now, brief(p))
		if slices.ContainsFunc(p.Admit, func(a Admission) bool { return a.Job == id }) {
			return true
		}
		if cycle > 100 {
			f.t.Fatalf("no rest at %s: %+v", f.now, brief(p))
		}
		f.end()
	}
}

// endOf draws when an attempt ends, once.
func (f *outlook) endOf(a Attempt) pool.Instant {
	end, ok := f.ends[a.ID]
	if !ok {
		end = a.MaxEnd
		if !f.lazy && rapid.Bool().Draw(f.t, "ends early") {
			end = a.Started.Add(time.Duration(rapid.IntRange(1, 1+int(min(a.MaxEnd, a.Started.Add(12*time.Hour)).Sub(a.Started)/time.Minute)).Draw(f.t, "after minutes")) * time.Minute)
			f.early++
		}
		end = max(min(end, a.MaxEnd), f.now+1)
		f.ends[a.ID] = end
	}
	return max(end, f.now)
}

// end takes away what ends now; victims whose notice is over queue again with
// what is left of their limits.
func (f *outlook) end() {
	for _, a := range slices.Clone(f.snap.Running) {
		if f.endOf(a) <= f.now {
			f.log += fmt.Sprintf("\n%s: %s ends", f.now, a.ID.NomadID())
			f.over(a.ID)
		}
	}
	for _, a := range slices.Clone(f.snap.Running) {
		if a.Stopping || a.Notice != "" && a.StopAt <= f.now {
			f.stop(a.ID)
		}
	}
	f.snap.Promises = slices.Clone(f.snap.Promises)
	for i := range f.snap.Promises {
		if p := &f.snap.Promises[i]; p.StopAt <= f.now {
			p.Sent = true
			for _, v := range p.Victims {
				f.stop(v)
			}
		}
	}
}

// stop takes a victim away; it queues again with what is left of its limit.
func (f *outlook) stop(v pool.AttemptID) {
	k := slices.IndexFunc(f.snap.Running, func(a Attempt) bool { return a.ID == v })
	if k < 0 {
		return
	}
	a := f.snap.Running[k]
	j := f.jobs[v.Job]
	if j.MaxRun > 0 {
		j.MaxRun = a.MaxEnd.Sub(f.now)
	}
	f.stopped[v.Job] = true
	f.log += fmt.Sprintf("\n%s: %s stopped, %s left", f.now, a.ID.NomadID(), j.MaxRun)
	if j.MaxRun <= 0 && a.MaxEnd != pool.Never {
		f.over(v)
		return
	}
	j.DependsOn = nil
	f.jobs[v.Job] = j
	f.gone(v, true)
}

// spend charges what runs until then to its budgets, after their hours.
func (f *outlook) spend(until pool.Instant) {
	f.snap.Budgets = slices.Clone(f.snap.Budgets)
	for _, a := range f.snap.Running {
		for _, c := range a.Charges {
			i := slices.IndexFunc(f.snap.Budgets, func(b Budget) bool { return b.ID == c.Budget })
			use := pool.GPUMillis(int64(unitsOf(a.Placement)) * int64(until-f.now))
			if i < 0 {
				continue
			}
			b := &f.snap.Budgets[i]
			b.Included = slices.Clone(b.Included)
			for k := range b.Included {
				if x := &b.Included[k]; c.Included && x.Class == a.Class {
					free := min(use, x.Left)
					x.Left, use = x.Left-free, use-free
				}
			}
			b.Spent += money.Amount(int64(use) / 1000 * int64(c.Price) / (pool.MillisPerHour * 1000))
		}
	}
}

// over ends a job for good.
func (f *outlook) over(id pool.AttemptID) {
	f.snap.Pending = slices.Clone(f.snap.Pending)
	f.gone(id, false)
}

// next is the next moment at which anything changes.
func (f *outlook) next() pool.Instant {
	at := pool.Never
	add := func(t pool.Instant) {
		if t > f.now && t < at {
			at = t
		}
	}
	for _, a := range f.snap.Running {
		add(f.endOf(a))
		add(a.MinRunUntil)
		add(a.Started + 1)
		if a.Notice != "" {
			add(a.StopAt)
		}
	}
	for _, p := range f.snap.Promises {
		add(p.StopAt)
	}
	for _, j := range f.snap.Pending {
		add(j.NotBefore)
		add(j.Submitted.Add(f.snap.Policy.ReserveAfter))
	}
	for _, w := range f.snap.Windows {
		add(w.Closed.End)
	}
	for _, n := range f.snap.Nodes {
		add(n.Maintenance.Start)
		add(n.Maintenance.End)
	}
	return at
}
