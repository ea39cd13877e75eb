package quota

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"gpupool/domain/money"
	"gpupool/domain/pool"
)

// What a snapshot contradicts stands in Plan.Problems; the rest is decided.
func TestAContradictorySnapshotNeverPanics(t *testing.T) {
	t.Parallel()
	rapid.Check(t, contradictory)
}

// FuzzDecide lets the fuzzer draw the same snapshots; its seeds run in go test.
func FuzzDecide(f *testing.F) {
	for _, b := range []byte{0, 1, 7, 31, 127, 255} {
		f.Add([]byte(strings.Repeat(string([]byte{b, b ^ 0x5a, b >> 1, 3 * b}), 2048)))
	}
	f.Fuzz(rapid.MakeFuzz(contradictory))
}

// contradictory draws few names, so that rows contradict one another.
func contradictory(rt *rapid.T) {
	ids := rapid.SampledFrom([]string{"", "a", "b", "c"})
	n := rapid.SampledFrom([]int{-1 << 62, -1, 0, 1, 3, 8, 1 << 40})
	at := rapid.SampledFrom([]pool.Instant{-1 << 62, 0, noon - 1, noon, noon + 1, pool.Never})
	var s Snapshot
	for range rapid.IntRange(0, 6).Draw(rt, "rows") {
		limit := n.Draw(rt, "n")
		q := []Quota{{Class: pool.ClassID(ids.Draw(rt, "id")), Nominal: n.Draw(rt, "n"), BorrowLimit: &limit, LendLimit: &limit,
			Ahead: []QuotaStep{{From: at.Draw(rt, "at"), Nominal: n.Draw(rt, "n"), BorrowLimit: limit, LendLimit: limit}}}}
		where := []NodeGPUs{{pool.NodeID(ids.Draw(rt, "id")), n.Draw(rt, "n")}}
		tier := pool.Tier(rapid.SampledFrom([]string{"", "guaranteed", "burst", "spot"}).Draw(rt, "tier"))
		charge := []Charge{{Budget: BudgetID(ids.Draw(rt, "id")), Price: money.Price(n.Draw(rt, "n"))}}
		job := pool.JobID(ids.Draw(rt, "id"))
		c, o, p := pool.ClassID(ids.Draw(rt, "id")), pool.OrgID(ids.Draw(rt, "id")), pool.ProjectID(ids.Draw(rt, "id"))
		v := pool.Interval{Start: at.Draw(rt, "at"), End: at.Draw(rt, "at")}
		s.Classes = append(s.Classes, Class{ID: c, MinRun: time.Duration(n.Draw(rt, "n"))})
		s.Nodes = append(s.Nodes, Node{ID: where[0].Node, Class: c, GPUs: n.Draw(rt, "n"), Foreign: n.Draw(rt, "n"), State: Ready, Maintenance: v})
		s.Orgs = append(s.Orgs, Org{ID: o, Weight: n.Draw(rt, "n"), Quotas: q})
		s.Projects = append(s.Projects, Project{ID: p, Org: o, Quotas: q, NoSharedNode: limit == 3, OwnNodesOnly: limit == 8})
		s.Running = append(s.Running, Attempt{ID: pool.AttemptID{Job: job, N: 1}, Org: o, Project: p, Class: c, Placement: where, Tier: tier, Started: v.Start, MaxEnd: v.End, Charges: charge})
		s.Pending = append(s.Pending, Job{ID: job + "!", Org: o, Project: p, Classes: []pool.ClassID{c}, Nodes: n.Draw(rt, "n"), GPUs: n.Draw(rt, "n"), Tier: tier, Submitted: v.Start, MaxRun: time.Duration(n.Draw(rt, "n")), Charges: charge})
		s.Promises = append(s.Promises, Promise{Job: job + "!", Class: c, Placement: where, Victims: []pool.AttemptID{{Job: job, N: 1}}, StopAt: v.End, Sent: limit == 1})
		s.Budgets = append(s.Budgets, Budget{ID: charge[0].Budget, Kind: pool.Cap, Limit: money.Amount(n.Draw(rt, "n")), Spent: money.Amount(n.Draw(rt, "n")), Period: v})
		s.Decayed = append(s.Decayed, DecayedUse{Org: o, Class: c, Use: pool.GPUMillis(n.Draw(rt, "n")), At: v.Start, Rate: limit})
		s.Windows = append(s.Windows, Window{Class: c, Closed: v})
	}
	s.Policy = Policy{FairReclaim: true, OwnPriority: true, HalfLife: time.Duration(n.Draw(rt, "n")), Notice: time.Duration(n.Draw(rt, "n")), DrainLimit: 1, ReserveAfter: 1}
	there(rt, s, Decide(s, noon))
	if len(s.Pending) > 0 {
		Quote(s, s.Pending[0], noon)
	}
}

// there fails when a plan starts or promises work on hardware that isn't there.
func there(rt *rapid.T, s Snapshot, p Plan) {
	free := map[nodeName]int{}
	for _, n := range s.Nodes {
		k := nodeName{n.ID, n.Class}
		if n.State == Ready {
			free[k] = max(free[k], min(max(0, n.GPUs), maxGPUs)-min(max(0, n.Foreign), maxGPUs)) // a row that stands twice counts once
		}
	}
	starts := func(c pool.ClassID, where []NodeGPUs) {
		for _, x := range where {
			if free[nodeName{x.Node, c}] -= x.GPUs; x.GPUs < 1 || free[nodeName{x.Node, c}] < 0 {
				rt.Fatalf("%d GPUs of %q on node %q, which it hasn't: %+v", x.GPUs, c, x.Node, brief(p))
			}
		}
	}
	for _, a := range p.Admit {
		starts(a.Class, a.Placement)
	}
	for _, r := range p.Reclaim {
		starts(r.Class, r.Placement)
	}
}
