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

// due gives some of the waiting jobs that have none a deadline, many of which
// can't be kept for long.
func (w *world) due() {
	for i := range w.snap.Pending {
		j := &w.snap.Pending[i]
		if j.Deadline == 0 && j.Submitted == w.now && w.oneIn(2, "deadline") {
			j.Deadline = w.now.Add(j.MaxRun + time.Duration(w.upTo(45, "minutes to spare"))*time.Minute)
			w.jobs[j.ID] = *j
		}
	}
}

// A job with a deadline starts only where its declared limit ends by then. GPUs
// are neither taken back nor reserved for it when it would be too late, what
// was promised to it lapses with the deadline, and a job that is too late holds
// nobody back.
func TestDeadlines(t *testing.T) {
	t.Parallel()
	var m met
	var kept, late, lapsed, refused, beside int
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld(rt, &m, draws{fair: rapid.Bool().Draw(rt, "fair"), notice: rapid.Bool().Draw(rt, "notice"), priority: rapid.Bool().Draw(rt, "priority")})
		st := NewState(w.snap)
		for range 40 {
			w.happen()
			w.snap.Pending = slices.Clone(w.snap.Pending)
			w.due()
			by := map[pool.JobID]Job{}
			free := clone(w.snap) // without those that are too late
			free.Pending = nil
			for _, j := range w.snap.Pending {
				by[j.ID] = j
				if j.StartBy() >= w.now {
					free.Pending = append(free.Pending, j)
				}
			}
			plan := Decide(w.snap, w.now)
			for _, a := range plan.Admit {
				if j := by[a.Job]; j.Deadline != 0 {
					kept++
					if w.now > j.StartBy() || j.MaxRun > 0 && a.MaxEnd > j.Deadline {
						rt.Fatalf("%s starts at %s and may run to %s, after its deadline %s", a.Job, w.now, a.MaxEnd, j.Deadline)
					}
				}
			}
			for _, p := range plan.Reclaim {
				if j := by[p.Job]; p.StopAt > j.StartBy() {
					rt.Fatalf("GPUs are taken back for %s by %s, when it is too late for its deadline %s", p.Job, p.StopAt, j.Deadline)
				}
			}
			for _, r := range plan.Reserved {
				if j := by[r.Job]; r.At > j.StartBy() {
					rt.Fatalf("%s reserves from %s, too late for its deadline %s", r.Job, r.At, j.Deadline)
				}
			}
			for _, x := range plan.Wait {
				j, named := by[x.Job], pool.Reason{}
				if i := slices.IndexFunc(x.Reasons, func(r pool.Reason) bool { return r.Code == pool.Deadline }); i >= 0 {
					named = x.Reasons[i]
				}
				if tooLate := j.StartBy() < w.now; tooLate != (named.Code != "") || tooLate && named.Until != j.Deadline {
					rt.Fatalf("%s must start by %s, now is %s, and it waits for %+v", j.ID, j.StartBy(), w.now, x.Reasons)
				} else if tooLate {
					late++
				} else if j.Deadline != 0 && w.now.Add(w.snap.Policy.Notice) > j.StartBy() {
					refused++
				}
			}
			for _, x := range plan.Withdrawn {
				if j := by[x.Job]; j.StartBy() < w.now {
					lapsed++
				}
			}
			if other := Decide(free, w.now); !reflect.DeepEqual(plan.Admit, other.Admit) || !reflect.DeepEqual(plan.Reclaim, other.Reclaim) {
				rt.Fatalf("jobs that are too late change the plan:\n%s", cmp.Diff(brief(other), brief(plan)))
			} else if len(free.Pending) < len(w.snap.Pending) && len(plan.Admit)+len(plan.Reclaim) > 0 {
				beside++
			}
			st.Sync(w.snap)
			if got := st.Decide(w.now); !reflect.DeepEqual(got.Admit, plan.Admit) || !reflect.DeepEqual(got.Reclaim, plan.Reclaim) || !reflect.DeepEqual(got.Withdrawn, plan.Withdrawn) || got.Next != plan.Next {
				rt.Fatalf("the kept state decides otherwise:\n%s", cmp.Diff(brief(plan), brief(got)))
			}
			if waits := st.Waits(); !reflect.DeepEqual(waits, plan.Wait) {
				rt.Fatalf("the kept state waits otherwise:\n%s", cmp.Diff(plan.Wait, waits))
			}
			w.apply(plan)
			w.now++
		}
	})
	t.Logf("%d kept, %d times too late, %d promises lapsed, %d times too late to take back, %d decisions beside late jobs", kept, late, lapsed, refused, beside)
	if !t.Failed() && (kept == 0 || late == 0 || lapsed == 0 || refused == 0 || beside == 0) {
		t.Error("too little was met")
	}
}

// Between a decision and its Next nothing changes, deadlines included.
func TestADeadlineWakesTheDecision(t *testing.T) {
	t.Parallel()
	s := Snapshot{Classes: []Class{{ID: "a100"}}, Nodes: []Node{{ID: "n1", Class: "a100", GPUs: 4, State: Ready}}, Orgs: []Org{{ID: "uni", Weight: 1}}}
	s.Running = []Attempt{holds("x", "uni", "n1", 4)}
	j := ask("j", "uni", 2)
	j.Deadline = noon.Add(90 * time.Minute)
	s.Pending = []Job{j}
	if p := Decide(s, noon); p.Next != noon.Add(30*time.Minute)+1 || slices.ContainsFunc(p.Wait[0].Reasons, func(r pool.Reason) bool { return r.Code == pool.Deadline }) {
		t.Errorf("next is %s, waits for %+v", p.Next, p.Wait)
	}
	if a := Quote(s, j, noon); a.Start != pool.Never {
		t.Errorf("a latest start of %s is told, after which it would miss its deadline", a.Start)
	}
	late := noon.Add(30*time.Minute) + 1
	if p := Decide(s, late); len(p.Wait) != 1 || p.Wait[0].Reasons[0] != (pool.Reason{Code: pool.Deadline, Until: j.Deadline}) {
		t.Errorf("waits for %+v", p.Wait)
	}
	s.Running[0].MaxEnd = noon.Add(20 * time.Minute)
	if a := Quote(s, j, noon); a.Start != noon.Add(20*time.Minute) {
		t.Errorf("starts by %s", a.Start)
	}
}
