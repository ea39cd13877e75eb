package quota

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"gpupool/domain/pool"
)

// crowd is a pool of one class: organisations with projects, of which the
// borrowers run everything and the owners want it back.
type crowd struct {
	orgs, projects, running, pending int
	owners                           bool // the pending work is inside quota, so it takes loans back
	nodes                            bool // nodes of 8; else one big node
}

func (c crowd) snapshot() Snapshot {
	var s Snapshot
	s.Classes = []Class{{ID: "gpu"}}
	room := c.running
	if !c.owners {
		room += c.pending / 10
	}
	if c.nodes {
		for n := range (room + 7) / 8 {
			s.Nodes = append(s.Nodes, Node{ID: pool.NodeID(fmt.Sprintf("node-%05d", n)), Class: "gpu", GPUs: 8, State: Ready})
		}
	} else {
		s.Nodes = []Node{{ID: "all", Class: "gpu", GPUs: room, State: Ready}}
	}
	for o := range c.orgs {
		org := Org{ID: pool.OrgID(fmt.Sprintf("org-%04d", o)), Weight: 1}
		if !c.owners || o%2 == 1 {
			org.Quotas = []Quota{{Class: "gpu", Nominal: room / c.orgs}}
		}
		s.Orgs = append(s.Orgs, org)
		for p := range c.projects {
			s.Projects = append(s.Projects, Project{ID: pool.ProjectID(fmt.Sprintf("p-%04d-%03d", o, p)), Org: org.ID})
		}
	}
	owner := func(i int, even bool) (pool.OrgID, pool.ProjectID) {
		o := i % c.orgs
		if c.owners {
			o = i % ((c.orgs + 1) / 2) * 2
			if !even {
				o = min(o+1, c.orgs-1)
			}
		}
		if c.projects == 0 {
			return s.Orgs[o].ID, ""
		}
		return s.Orgs[o].ID, s.Projects[o*c.projects+i/c.orgs%c.projects].ID
	}
	for i := range c.running {
		o, p := owner(i, true)
		node := pool.NodeID("all")
		if c.nodes {
			node = s.Nodes[i/8].ID
		}
		s.Running = append(s.Running, Attempt{ID: pool.AttemptID{Job: pool.JobID(fmt.Sprintf("run-%06d", i)), N: 1}, Org: o, Project: p, Class: "gpu",
			Placement: []NodeGPUs{{node, 1}}, Tier: pool.Burst, Started: pool.Instant(1_000_000 + i), MaxEnd: pool.Instant(90_000_000 + i), Split: pool.Split{Loan: 1}})
	}
	for i := range c.pending {
		o, p := owner(i, false)
		s.Pending = append(s.Pending, Job{ID: pool.JobID(fmt.Sprintf("wait-%06d", i)), Org: o, Project: p, Classes: []pool.ClassID{"gpu"}, Nodes: 1, GPUs: 1,
			Tier: pool.Burst, Submitted: pool.Instant(2_000_000 + i), MaxRun: time.Hour})
	}
	return s
}

// BenchmarkDecide takes cold decisions in the sizes at which other engines are
// measured, and prints the goal, what was measured, and whether it is met.
func BenchmarkDecide(b *testing.B) {
	const now = 10_000_000
	for _, x := range []struct {
		name string
		crowd
		goal time.Duration
	}{
		{"30 queues admit", crowd{orgs: 30, running: 600, pending: 3000}, 100 * time.Millisecond},
		{"30 queues reclaim", crowd{orgs: 30, running: 600, pending: 3000, owners: true}, 100 * time.Millisecond},
		{"10x100 queues admit", crowd{orgs: 10, projects: 100, running: 20_000, pending: 100_000}, 500 * time.Millisecond},
		{"10x100 queues reclaim", crowd{orgs: 10, projects: 100, running: 20_000, pending: 100_000, owners: true}, 500 * time.Millisecond},
		{"10x100 queues reclaim on nodes", crowd{orgs: 10, projects: 100, running: 20_000, pending: 100_000, owners: true, nodes: true}, 500 * time.Millisecond},
		{"1000 organisations", crowd{orgs: 1000, running: 10_000, pending: 20_000}, 500 * time.Millisecond},
	} {
		b.Run(x.name, func(b *testing.B) {
			s := x.snapshot()
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			var p Plan
			for b.Loop() {
				p = Decide(s, now)
			}
			runtime.ReadMemStats(&after)
			took := b.Elapsed() / time.Duration(b.N)
			verdict := "ok"
			if took > x.goal {
				verdict = "missed"
			}
			victims := 0
			for _, r := range p.Reclaim {
				victims += len(r.Victims)
			}
			b.Logf("%s: goal %v, measured %v, %s; %d admitted, %d promised, %d victims, %d MB a decision", x.name, x.goal,
				took.Round(time.Microsecond), verdict, len(p.Admit), len(p.Reclaim), victims, (after.TotalAlloc-before.TotalAlloc)/uint64(b.N)>>20)
		})
	}
}
