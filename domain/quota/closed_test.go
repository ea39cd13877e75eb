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

// What is done to running work on a node that takes nothing new moves what the
// pool counts as its own. A plan that does so settles all the same: applied and
// decided again at that moment, by a state that begins anew as the loop's does
// and by one that is kept, nothing is left, and both come to
// what is found from nothing.
func TestWhatIsEnforcedOnAClosedNodeSettles(t *testing.T) {
	t.Parallel()
	const rounds = 1
	var m met
	met := map[string]int{}
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld(rt, &m, draws{fair: rapid.Bool().Draw(rt, "fair"), notice: rapid.Bool().Draw(rt, "notice"), priority: rapid.Bool().Draw(rt, "priority"), rules: true})
		loop, kept := NewState(w.snap), NewState(w.snap)
		decide := func() Plan {
			want := brief(Decide(w.snap, w.now))
			for name, st := range map[string]*State{"loop's": loop, "kept": kept} {
				st.Sync(w.snap)
				if got := st.Decide(w.now); !reflect.DeepEqual(got, want) {
					rt.Fatalf("the %s state decides otherwise:\n%s", name, cmp.Diff(want, got))
				}
			}
			w.apply(want)
			if want.Enforces() {
				loop = NewState(w.snap)
			}
			return want
		}
		for range 25 {
			if rapid.IntRange(0, 1).Draw(rt, "closes") == 1 {
				w.close()
			} else {
				w.happen()
			}
			closed := map[pool.NodeID]bool{}
			for _, n := range w.snap.Nodes {
				closed[n.ID] = n.State != Ready || n.Maintenance.Contains(w.now)
			}
			holds := w.snap.Running
			plan := decide()
			hit := func(id pool.AttemptID) bool {
				return slices.ContainsFunc(holds, func(a Attempt) bool {
					return a.ID == id && slices.ContainsFunc(a.Placement, func(p NodeGPUs) bool { return closed[p.Node] })
				})
			}
			count := func(what string, ids ...pool.AttemptID) {
				for _, id := range ids {
					met[what] += when(hit(id), 1)
				}
			}
			for _, s := range plan.Stop {
				count("stops: "+string(s.Rule), s.Attempt)
			}
			for _, x := range plan.Above {
				count("above a cut", x.Attempt)
			}
			count("resumed", plan.Resume...)
			count("to burst", plan.ToBurst...)
			count("to spot", plan.ToSpot...)
			for round := 0; plan.Changes(); round++ {
				if round == rounds {
					rt.Fatalf("still changing after %d rounds: %+v", rounds, plan)
				}
				plan = decide()
			}
			w.now++
		}
	})
	metAll(t, met, "stops: budget", "stops: shed", "above a cut", "resumed", "to burst", "to spot")
}

// close lets a node on which work runs take nothing new, and then money, quotas
// or GPUs of it go.
func (w *world) close() {
	if n := len(w.snap.Running); n > 0 {
		a := w.snap.Running[w.upTo(n-1, "under whom")]
		w.snap.Nodes = slices.Clone(w.snap.Nodes)
		for i := range w.snap.Nodes {
			x := &w.snap.Nodes[i]
			if x.ID != a.Placement[0].Node || x.Class != a.Class {
				continue
			}
			if x.State == Ready && w.oneIn(3, "maintenance now") {
				x.Maintenance = pool.Interval{Start: w.now, End: w.now.Add(time.Hour)}
			} else {
				x.State = Draining
			}
			if w.oneIn(4, "devices fail") {
				x.Foreign = w.upTo(x.GPUs, "of its GPUs")
			}
		}
	}
	w.strain()
}
