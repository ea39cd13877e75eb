package quota

import (
	"slices"
	"testing"
	"time"

	"gpupool/domain/pool"
)

func TestAReservationHoldsUpAsLittleAsItMust(t *testing.T) {
	t.Parallel()
	long := func(j Job) Job { j.MaxRun = 20 * time.Hour; return j }
	until := func(a Attempt, hours int) Attempt {
		a.MaxEnd = noon.Add(time.Duration(hours) * time.Hour)
		return a
	}
	spotJob := func(j Job) Job { j.Tier = pool.Spot; return j }
	waited := func(j Job, hours int) Job { j.Submitted = noon.Add(-time.Duration(hours) * time.Hour); return j }
	for name, c := range map[string]struct {
		change   func(*Snapshot)
		starts   []pool.JobID
		promised []pool.JobID
		reserved pool.JobID
		on       []pool.NodeID
	}{
		"a job inside its quota, beside work that nobody may stop, reserves at once": {func(s *Snapshot) {
			s.Running = []Attempt{until(holds("x", "uni", "n1", 2), 30), until(holds("y", "lab", "n2", 4), 9)}
			s.Orgs[0].Quotas, s.Orgs[1].Quotas = []Quota{{Class: "a100", Nominal: 8}}, nil
			s.Running[1].Fixed = true
			s.Pending = []Job{ask("big", "uni", 4), long(ask("small", "uni", 2))}
		}, []pool.JobID{"small"}, nil, "big", []pool.NodeID{"n2"}},
		"what only its own organisation's work keeps out of its quota doesn't hold the rest of it up": {func(s *Snapshot) {
			s.Running = []Attempt{until(holds("x", "uni", "n1", 3), 9), until(holds("lent", "lab", "n2", 4), 30)}
			s.Orgs[0].Quotas, s.Orgs[1].Quotas = []Quota{{Class: "a100", Nominal: 5}}, nil
			s.Pending = []Job{waited(ask("big", "uni", 4), 3), long(ask("small", "uni", 2))}
		}, nil, []pool.JobID{"small"}, "", nil},
		"once it has waited long it does, where nobody borrows": {func(s *Snapshot) {
			s.Running = []Attempt{until(holds("x", "uni", "n1", 3), 9), until(holds("y", "lab", "n2", 2), 30)}
			s.Orgs[0].Quotas = []Quota{{Class: "a100", Nominal: 5}}
			s.Pending = []Job{waited(ask("big", "uni", 4), 4), long(ask("small", "uni", 2))}
		}, nil, nil, "big", []pool.NodeID{"n1"}},
		"where others borrow, it doesn't even then": {func(s *Snapshot) {
			s.Running = []Attempt{until(holds("x", "uni", "n1", 3), 9), until(holds("lent", "lab", "n2", 4), 30)}
			s.Orgs[0].Quotas, s.Orgs[1].Quotas = []Quota{{Class: "a100", Nominal: 5}}, nil
			s.Pending = []Job{waited(ask("big", "uni", 4), 4), long(ask("small", "uni", 2))}
		}, nil, []pool.JobID{"small"}, "big", []pool.NodeID{"n2"}}, // when the small one ends
		"spot work fills what waits for a borrower, who may stop it by then": {func(s *Snapshot) {
			s.Running = []Attempt{until(holds("x", "lab", "n1", 4), 9)}
			s.Orgs[0].Quotas = nil
			one := waited(ask("big", "uni", 4), 5)
			one.Nodes = 2
			s.Pending = []Job{one, long(spotJob(ask("small", "uni", 4)))}
		}, []pool.JobID{"small"}, nil, "big", []pool.NodeID{"n1", "n2"}},
		"of nodes that will be free it keeps those that are not yet": {func(s *Snapshot) {
			s.Nodes = append(s.Nodes, Node{ID: "n3", Class: "a100", GPUs: 4, State: Ready, Site: "west"})
			x := until(holds("x", "lab", "n2", 4), 9)
			x.Placement, x.Fixed = append(x.Placement, NodeGPUs{"n3", 4}), true
			s.Running = []Attempt{x}
			s.Orgs[0].Quotas, s.Orgs[1].Quotas = []Quota{{Class: "a100", Nominal: 12}}, nil
			two, stays := ask("big", "uni", 4), long(ask("stays", "lab", 4))
			two.Nodes, stays.Fixed = 2, true // nobody may take it back
			s.Pending = []Job{two, stays}
		}, []pool.JobID{"stays"}, nil, "big", []pool.NodeID{"n2", "n3"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := two()
			s.Policy.ReserveAfter = 4 * time.Hour
			c.change(&s)
			p := Decide(s, noon)
			var starts, promised []pool.JobID
			for _, a := range p.Admit {
				starts = append(starts, a.Job)
			}
			for _, r := range p.Reclaim {
				promised = append(promised, r.Job)
			}
			var reserved pool.JobID
			var on []pool.NodeID
			for _, r := range p.Reserved {
				reserved = r.Job
				for _, n := range r.Placement {
					on = append(on, n.Node)
				}
			}
			if !slices.Equal(starts, c.starts) || !slices.Equal(promised, c.promised) || reserved != c.reserved || !slices.Equal(on, c.on) {
				t.Errorf("starts %v, promises %v, reserves %s on %v; want %v, %v, %s on %v\n%+v", starts, promised, reserved, on, c.starts, c.promised, c.reserved, c.on, p.Wait)
			}
		})
	}
}
