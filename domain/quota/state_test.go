package quota

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"gpupool/domain/pool"
)

// rebuilt is the decision whose every step begins with the snapshot that the
// steps before leave, read from nothing: what resolve does in place.
func rebuilt(s *Snapshot, now pool.Instant) Plan {
	var out Plan
	from := *s
	for step := 0; step < maxSteps; step++ {
		e := build(&from, now)
		e.decide()
		if step == 0 {
			e.conclude(&decision{})
			out.Problems = slices.Clone(e.faults)
		}
		p := e.plan
		for _, w := range p.Withdrawn {
			n := len(out.Reclaim)
			out.Reclaim = slices.DeleteFunc(out.Reclaim, func(r Promise) bool { return r.Job == w.Job })
			if len(out.Reclaim) == n {
				out.Withdrawn = append(out.Withdrawn, w)
				continue
			}
			for _, v := range w.Keep {
				for i := range out.Withdrawn {
					o := &out.Withdrawn[i]
					had := slices.ContainsFunc(s.Promises, func(x Promise) bool { return x.Job == o.Job && !x.Sent && slices.Contains(x.Victims, v) })
					if had && !slices.Contains(o.Keep, v) {
						o.Keep = append(o.Keep, v)
					}
				}
			}
		}
		for _, a := range p.Admit {
			out.Reclaim = slices.DeleteFunc(out.Reclaim, func(r Promise) bool { return r.Job == a.Job })
			out.Admit = append(out.Admit, a)
		}
		out.Reclaim = append(out.Reclaim, p.Reclaim...)
		out.Above, out.ToBurst = append(out.Above, p.Above...), append(out.ToBurst, p.ToBurst...)
		out.Stop, out.Resume, out.ToSpot = append(out.Stop, p.Stop...), append(out.Resume, p.Resume...), append(out.ToSpot, p.ToSpot...)
		out.Reserved = p.Reserved
		if !p.Changes() {
			if !s.Brief {
				out.Wait = e.explain()
			}
			break
		}
		from = after(&from, p, now)
	}
	splits := map[pool.AttemptID]pool.Split{}
	for _, a := range from.Running {
		splits[a.ID] = a.Split
	}
	for i := range out.Admit {
		out.Admit[i].Split = splits[pool.AttemptID{Job: out.Admit[i].Job, N: freshTry}]
	}
	for _, a := range s.Running {
		if x := splits[a.ID]; x != a.Split {
			out.Covers = append(out.Covers, CoverChange{a.ID, x})
		}
	}
	sortBy(out.Covers, func(x, y CoverChange) bool { return attemptBefore(x.Attempt, y.Attempt) })
	out.Version = s.Version
	e := build(&from, now)
	e.decide()
	out.Next = e.next()
	return out
}

// A decision takes up the plan of each of its steps in place. It must come to
// the plan that is found when every step reads its snapshot from nothing.
func TestStepsInPlaceAreStepsFromNothing(t *testing.T) {
	t.Parallel()
	var m met
	steps := 0
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld(rt, &m, draws{fair: rapid.Bool().Draw(rt, "fair"), notice: rapid.Bool().Draw(rt, "notice"), priority: rapid.Bool().Draw(rt, "priority"), rules: rapid.Bool().Draw(rt, "rules")})
		for range 40 {
			w.happen()
			x := resolve(&w.snap, w.now)
			steps += x.followed
			if want := rebuilt(&w.snap, w.now); !reflect.DeepEqual(x.plan, want) {
				rt.Fatalf("in place another plan than from nothing:\n%s", cmp.Diff(want, x.plan))
			}
			w.apply(x.plan)
			w.now++
		}
	})
	if !t.Failed() && steps == 0 {
		t.Error("no decision had several steps")
	}
}

// Between a decision and its Next nothing changes by itself.
func TestNothingChangesBeforeNext(t *testing.T) {
	t.Parallel()
	var m met
	changed, looked := 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld(rt, &m, draws{fair: rapid.Bool().Draw(rt, "fair"), notice: rapid.Bool().Draw(rt, "notice"), priority: rapid.Bool().Draw(rt, "priority"), rules: rapid.Bool().Draw(rt, "rules")})
		for range 40 {
			w.happen()
			plan := Decide(w.snap, w.now)
			w.apply(plan)
			s := w.snap
			s.Brief = true
			for range 3 {
				if plan.Next <= w.now {
					rt.Fatalf("next is %s, now %s", plan.Next, w.now)
				}
				at := plan.Next - 1
				if span := min(int64(plan.Next), int64(w.now.Add(12*time.Hour))) - int64(w.now); rapid.Bool().Draw(rt, "in between") {
					at = w.now + pool.Instant(rapid.Int64Range(0, span-1).Draw(rt, "later"))
				}
				if looked++; at > w.now && at != pool.Never-1 && (plan.Next > w.now.Add(continuous) || len(s.Budgets)+len(s.Decayed) == 0) {
					if other := Decide(s, at); other.Changes() {
						rt.Fatalf("at %s, before next %s, the decision of %s changed: %+v", at, plan.Next, w.now, brief(other))
					}
				}
			}
			if plan.Next != pool.Never && Decide(s, plan.Next).Changes() {
				changed++
			}
			w.now++
		}
	})
	if !t.Failed() && changed == 0 {
		t.Error("no decision changed at its Next")
	}
	t.Logf("%d of %d changed at their Next", changed, looked/3)
}

// A state that follows what happens comes to the plan, and to the waits, that
// are found when the same snapshot is read from nothing.
func TestAKeptStateDecidesAsOneFromNothing(t *testing.T) {
	t.Parallel()
	var m met
	builds, decisions := 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld(rt, &m, draws{fair: rapid.Bool().Draw(rt, "fair"), notice: rapid.Bool().Draw(rt, "notice"), priority: rapid.Bool().Draw(rt, "priority"), rules: rapid.Bool().Draw(rt, "rules")})
		st := NewState(w.snap)
		last, lost := clone(w.snap), false
		for range 40 {
			w.happen()
			if rapid.Bool().Draw(rt, "by events") && !lost {
				tell(st, last, w.snap)
			} else {
				st.Sync(w.snap)
			}
			want := Decide(w.snap, w.now)
			got := st.Decide(w.now)
			waits := want.Wait
			want.Wait = nil
			if !reflect.DeepEqual(got, want) {
				rt.Fatalf("the kept state decides otherwise (built %d times):\n%s", st.builds, cmp.Diff(want, got))
			}
			if kept := st.Waits(); !reflect.DeepEqual(kept, waits) {
				rt.Fatalf("the kept state waits otherwise (built %d times):\n%s", st.builds, cmp.Diff(waits, kept))
			}
			for _, x := range waits {
				if one, ok := st.Wait(x.Job); !ok || !reflect.DeepEqual(one, x) {
					rt.Fatalf("one wait differs:\n%s", cmp.Diff(x, one))
				}
			}
			decisions++
			if lost = rapid.IntRange(0, 9).Draw(rt, "lost") == 0; !lost { // else the plan came too late
				w.apply(got)
			}
			last = clone(w.snap)
			w.now++
		}
		builds += st.builds
	})
	if t.Logf("built %d times in %d decisions", builds, decisions); !t.Failed() && builds*2 > decisions {
		t.Errorf("the state was built %d times in %d decisions", builds, decisions)
	}
}

func clone(s Snapshot) Snapshot {
	s.Classes, s.Nodes, s.Orgs, s.Projects = slices.Clone(s.Classes), slices.Clone(s.Nodes), slices.Clone(s.Orgs), slices.Clone(s.Projects)
	s.Running, s.Pending, s.Promises = slices.Clone(s.Running), slices.Clone(s.Pending), slices.Clone(s.Promises)
	s.Budgets, s.Decayed, s.Windows = slices.Clone(s.Budgets), slices.Clone(s.Decayed), slices.Clone(s.Windows)
	return s
}

// tell turns the difference of two snapshots into events, where there are such.
func tell(st *State, before, now Snapshot) {
	work := func(s Snapshot) Snapshot { s.Running, s.Pending, s.Promises = nil, nil, nil; return s }
	if !reflect.DeepEqual(work(before), work(now)) {
		st.Sync(now)
		return
	}
	for _, a := range before.Running {
		if !slices.ContainsFunc(now.Running, func(x Attempt) bool { return x.ID == a.ID }) {
			st.DropAttempt(a.ID)
		}
	}
	for _, j := range before.Pending {
		if !slices.ContainsFunc(now.Pending, func(x Job) bool { return x.ID == j.ID }) {
			st.DropJob(j.ID)
		}
	}
	for _, p := range before.Promises {
		if !slices.ContainsFunc(now.Promises, func(x Promise) bool { return x.Job == p.Job }) {
			st.DropPromise(p.Job)
		}
	}
	for _, a := range now.Running {
		st.PutAttempt(a)
	}
	for _, j := range now.Pending {
		st.PutJob(j)
	}
	for _, p := range now.Promises {
		st.PutPromise(p)
	}
}
