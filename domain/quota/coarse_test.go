package quota

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"gpupool/domain/pool"
)

// waitingPool has organisations that all want more than there is.
func waitingPool(orgs, running, pending int) Snapshot {
	r := rand.New(rand.NewPCG(5, 20261201))
	s := Snapshot{Classes: []Class{{ID: "gpu"}}}
	for n := range running / 4 {
		s.Nodes = append(s.Nodes, Node{ID: pool.NodeID(fmt.Sprintf("node-%04d", n)), Class: "gpu", GPUs: 8, State: Ready})
	}
	var past []Past
	for o := range orgs {
		id := pool.OrgID(fmt.Sprintf("org-%02d", o))
		s.Orgs = append(s.Orgs, Org{ID: id, Weight: 1 + o%3, Quotas: []Quota{{Class: "gpu", Nominal: running * 2 / orgs / 2}}})
		for range 60 {
			past = append(past, Past{Org: id, Class: "gpu", Declared: 10 * time.Hour, Ran: time.Duration(r.Int64N(int64(10 * time.Hour)))})
		}
	}
	for i := range running {
		o := s.Orgs[i%orgs].ID
		start := noon.Add(-time.Duration(r.Int64N(int64(5 * time.Hour))))
		s.Running = append(s.Running, Attempt{ID: pool.AttemptID{Job: pool.JobID(fmt.Sprintf("run-%05d", i)), N: 1}, Org: o, Class: "gpu",
			Placement: []NodeGPUs{{s.Nodes[i/4].ID, 2}}, Tier: pool.Burst, Started: start, MaxEnd: start.Add(10 * time.Hour)})
	}
	for i := range pending {
		s.Pending = append(s.Pending, Job{ID: pool.JobID(fmt.Sprintf("wait-%05d", i)), Org: s.Orgs[r.IntN(orgs)].ID, Classes: []pool.ClassID{"gpu"}, Nodes: 1, GPUs: 2,
			Tier: pool.Burst, Submitted: noon.Add(-time.Duration(pending-i) * time.Second), MaxRun: 10 * time.Hour})
	}
	s.Habits = Learn(past)
	return s
}

// Where nodes and reclaim don't matter, a coarse play says nearly what
// decisions say.
func TestACoarsePlayIsNearTheOneByDecisions(t *testing.T) {
	t.Parallel()
	s := waitingPool(6, 200, 240)
	e := build(&s, noon)
	e.resolve()
	fine, rough := play(s, noon, ""), coarsely(e, s.Habits)
	near, all := 0, 0
	for _, j := range s.Pending {
		x, y := fine[j.ID].likely(), rough[j.ID].likely()
		if !x.Known() || !y.Known() {
			t.Fatalf("%s: %+v and %+v", j.ID, x, y)
		}
		a, b := x.Middle.Sub(noon), y.Middle.Sub(noon)
		all++
		if d := max(a-b, b-a); d <= a/4+10*time.Minute {
			near++
		}
	}
	t.Logf("%d of %d middles are within a quarter", near, all)
	if near < all*9/10 {
		t.Errorf("%d of %d middles are within a quarter", near, all)
	}
}

// A large pool is told its starts too; each organisation's jobs start in their
// order, none before now, and the order of what is handed in doesn't matter.
func TestALargePoolIsToldItsStarts(t *testing.T) {
	t.Parallel()
	s := waitingPool(10, 2000, 4000)
	o := NewOutlook(s, Plan{}, noon, noon)
	o.played = o.plays()
	last := map[pool.OrgID]pool.Instant{}
	told := make([]Start, 0, len(s.Pending)/100)
	for i, j := range s.Pending {
		p := o.played[j.ID]
		if p[0] < noon || p[0] < last[j.Org] || !slices.IsSorted(p[:]) {
			t.Fatalf("%s starts at %v, one before it at %s", j.ID, p, last[j.Org])
		}
		last[j.Org] = p[0]
		if i%100 == 0 {
			x := o.Start(j.ID)
			if !x.Likely.Known() || x.Likely.Early > x.Likely.Middle || x.Likely.Middle > x.Likely.Late || x.Likely.Late > x.Latest {
				t.Fatalf("%s: %+v", j.ID, x)
			}
			told = append(told, x)
		}
		if i > 400 {
			break
		}
	}
	slices.Reverse(s.Running)
	slices.Reverse(s.Pending)
	slices.Reverse(s.Nodes)
	again := NewOutlook(s, Plan{}, noon, noon)
	for i, x := range told {
		if y := again.Start(pool.JobID(fmt.Sprintf("wait-%05d", i*100))); y != x {
			t.Errorf("in another order %+v instead of %+v", y, x)
		}
	}
}
