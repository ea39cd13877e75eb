package quota

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"gpupool/domain/pool"
)

// A node of ten GPUs lost some. uni and lab have four guaranteed each.
func shrunk(gpus int, running ...Attempt) Snapshot {
	s := two()
	s.Nodes = []Node{{ID: "n1", Class: "a100", GPUs: gpus, State: Ready}, {ID: "n2", Class: "a100", GPUs: 4, State: Draining}}
	s.Policy.Notice = 5 * time.Minute
	s.Running = running
	return s
}

func TestWhatExceedsANodeStopsInTheReverseOfTheOrderThatAdmits(t *testing.T) {
	t.Parallel()
	run := func(id pool.JobID, org pool.OrgID, gpus int, change func(*Attempt)) Attempt {
		a := holds(id, org, "n1", gpus)
		if change != nil {
			change(&a)
		}
		return a
	}
	guaranteed := func(a *Attempt) { a.Tier = pool.Guaranteed }
	spot := func(a *Attempt) { a.Tier = pool.Spot }
	older := func(a *Attempt) { a.Started-- }
	broken := func(a *Attempt) { a.Tier, a.Broken = pool.Guaranteed, true }
	for name, c := range map[string]struct {
		snap Snapshot
		want []pool.JobID
	}{
		"what fits stays":               {shrunk(8, run("a", "uni", 4, nil), run("b", "lab", 4, nil)), nil},
		"spot first":                    {shrunk(8, run("a", "uni", 6, nil), run("b", "lab", 2, spot), run("c", "lab", 1, nil)), []pool.JobID{"b"}},
		"then loans":                    {shrunk(8, run("a", "uni", 4, older), run("b", "uni", 1, nil), run("c", "lab", 4, nil)), []pool.JobID{"b"}},
		"of the richest borrower":       {shrunk(10, run("a", "uni", 4, older), run("b", "uni", 2, nil), run("c", "lab", 4, older), run("d", "lab", 1, nil)), []pool.JobID{"b"}},
		"then what quota covers":        {shrunk(7, run("a", "uni", 4, guaranteed), run("b", "lab", 2, guaranteed), run("c", "lab", 2, nil)), []pool.JobID{"c"}},
		"guaranteed of who uses most":   {shrunk(5, run("a", "uni", 4, guaranteed), run("b", "lab", 2, guaranteed)), []pool.JobID{"a"}},
		"who holds the broken device":   {shrunk(7, run("a", "uni", 2, spot), run("b", "lab", 2, broken), run("c", "lab", 4, nil)), []pool.JobID{"b"}},
		"no more than needed":           {shrunk(7, run("a", "uni", 1, spot), run("b", "uni", 4, spot), run("c", "lab", 4, nil)), []pool.JobID{"b"}},
		"a node that is down sheds not": {func() Snapshot { s := shrunk(0, run("a", "uni", 4, nil)); s.Nodes[0].State = Down; return s }(), nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []pool.JobID
			for _, s := range Decide(c.snap, noon).Stop {
				if got = append(got, s.Attempt.Job); s.Rule != Shed || s.At != noon.Add(5*time.Minute) || s.Reason.Ref != "n1" {
					t.Errorf("%+v", s)
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("want (-), got (+):\n%s", diff)
			}
		})
	}
}

// After a decision every node carries what runs on it, nothing stops that
// needn't, no covered work while a loan or spot work stays on the node, the
// same moment decides nothing more, and GPUs that come back let all run on.
func TestSheddingIsMinimalAndSettles(t *testing.T) {
	t.Parallel()
	met := map[string]int{}
	rapid.Check(t, func(rt *rapid.T) {
		s := two()
		s.Policy.Notice = 5 * time.Minute
		for n := range s.Nodes {
			s.Nodes[n].GPUs = rapid.IntRange(0, 8).Draw(rt, "gpus")
			s.Nodes[n].Foreign = rapid.IntRange(0, 2).Draw(rt, "foreign")
			s.Nodes[n].State = rapid.SampledFrom([]NodeState{Ready, Ready, Draining, Down}).Draw(rt, "state")
		}
		for k := range rapid.IntRange(0, 8).Draw(rt, "running") {
			a := holds(pool.JobID(fmt.Sprint("j", k)), rapid.SampledFrom([]pool.OrgID{"uni", "lab"}).Draw(rt, "org"),
				rapid.SampledFrom([]pool.NodeID{"n1", "n2"}).Draw(rt, "node"), rapid.IntRange(1, 3).Draw(rt, "holds"))
			if rapid.IntRange(0, 3).Draw(rt, "gang") == 0 {
				a.Placement = []NodeGPUs{{"n1", 1}, {"n2", 1}}
			}
			a.Tier = rapid.SampledFrom(pool.Tiers).Draw(rt, "tier")
			a.Started -= pool.Instant(rapid.IntRange(0, 2).Draw(rt, "age"))
			if rapid.IntRange(0, 3).Draw(rt, "noticed") == 0 {
				a.Notice, a.StopAt = Shed, noon+1
			}
			s.Running = append(s.Running, a)
		}
		plan, next := settled(rt, s)
		met["stops"] += len(plan.Stop)
		met["resumed"] += len(plan.Resume)
		use := func(but int) map[pool.NodeID]int {
			m := map[pool.NodeID]int{}
			for i, a := range next.Running {
				for _, p := range a.Placement {
					if a.Notice == "" || i == but {
						m[p.Node] += p.GPUs
					}
				}
			}
			return m
		}
		over := func(but int) bool {
			for _, n := range next.Nodes {
				if m := use(but); n.State != Down && m[n.ID] > max(0, n.GPUs-n.Foreign) {
					return true
				}
			}
			return false
		}
		if over(-1) {
			rt.Fatalf("a node still has too few GPUs: %+v", brief(plan))
		}
		for i, a := range next.Running {
			onDown := false
			for _, n := range next.Nodes {
				for _, p := range a.Placement {
					onDown = onDown || n.State == Down && n.ID == p.Node
				}
			}
			if a.Notice != "" && !onDown && !over(i) {
				rt.Fatalf("%s needn't stop: %+v", a.ID.NomadID(), brief(plan))
			}
			if a.Notice != "" && len(a.Placement) == 1 && a.Tier == pool.Guaranteed {
				met["guaranteed"]++
			}
		}
		for n := range next.Nodes {
			next.Nodes[n] = Node{ID: next.Nodes[n].ID, Class: "a100", GPUs: 100, State: Ready}
		}
		allRunOn(rt, next, "the GPUs are")
	})
	metAll(t, met, "stops", "resumed", "guaranteed")
	t.Log(met)
}
