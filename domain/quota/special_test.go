package quota

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/google/go-cmp/cmp"

	"gpupool/domain/pool"
)

// The laws that hold only of pools of a special form. Each history gives one of
// them its last pool, brought into that form.

func (w *world) specials() {
	if len(w.snap.Pending) == 0 {
		return
	}
	switch w.next % 4 {
	case 0:
		w.more()
	case 1:
		w.weightless()
	case 2:
		w.scaled()
	case 3:
		w.shares()
	}
}

// flat is the pool with one node for each class, without money, times and
// promises.
func (w *world) flat() Snapshot {
	s := w.snap
	gpus := map[pool.ClassID]int{}
	for _, n := range s.Nodes {
		gpus[n.Class] += n.GPUs
	}
	s.Nodes, s.Windows, s.Budgets, s.Promises = nil, nil, nil, nil
	s.Classes = slices.Clone(s.Classes)
	for i := range s.Classes {
		s.Classes[i].MinRun = 0
		s.Nodes = append(s.Nodes, Node{ID: "all", Class: s.Classes[i].ID, GPUs: gpus[s.Classes[i].ID], State: Ready})
	}
	s.Projects = slices.Clone(s.Projects)
	for i := range s.Projects {
		p := &s.Projects[i]
		p.Sites, p.NodeOwners, p.OwnNodesOnly, p.NoSharedNode = nil, nil, false, false
	}
	s.Running, s.Pending = slices.Clone(s.Running), slices.Clone(s.Pending)
	for i := range s.Running {
		a := &s.Running[i]
		a.Placement = []NodeGPUs{{"all", unitsOf(a.Placement)}}
		a.Fixed, a.Stopping, a.Charges, a.MinRunUntil, a.Started = false, false, nil, 0, min(a.Started, w.now-1)
	}
	for i := range s.Pending {
		j := &s.Pending[i]
		j.Nodes, j.GPUs = 1, j.Units()
		j.DataSite, j.DependsOn, j.NotBefore, j.Paused, j.Charges, j.Fixed = "", nil, 0, "", nil, false
	}
	s.Policy.HalfLife = 0
	return s
}

// I13: with all units k times as large the plan is the same, k times as large.
func (w *world) scaled() {
	const k = 3
	s := w.flat()
	one := Decide(s, w.now)
	for i := range s.Orgs {
		s.Orgs = slices.Clone(s.Orgs)
		s.Orgs[i].Quotas = times(k, s.Orgs[i].Quotas)
	}
	for i := range s.Projects {
		s.Projects[i].Quotas = times(k, s.Projects[i].Quotas)
	}
	for i := range s.Nodes {
		s.Nodes[i].GPUs *= k
	}
	for i := range s.Running {
		a := &s.Running[i]
		a.Placement[0].GPUs *= k
		a.Split = pool.Split{Own: k * a.Split.Own, Loan: k * a.Split.Loan, Spot: k * a.Split.Spot}
	}
	for i := range s.Pending {
		s.Pending[i].GPUs *= k
	}
	large := Decide(s, w.now)
	for i := range one.Admit {
		one.Admit[i].Placement = []NodeGPUs{{"all", k * one.Admit[i].Placement[0].GPUs}}
		x := &one.Admit[i].Split
		*x = pool.Split{Own: k * x.Own, Loan: k * x.Loan, Spot: k * x.Spot}
	}
	for i := range one.Covers {
		x := &one.Covers[i].Split
		*x = pool.Split{Own: k * x.Own, Loan: k * x.Loan, Spot: k * x.Spot}
	}
	for i := range one.Reclaim {
		one.Reclaim[i].Placement = []NodeGPUs{{"all", k * one.Reclaim[i].Placement[0].GPUs}}
	}
	for i := range one.Reserved {
		one.Reserved[i].Placement = []NodeGPUs{{"all", k * one.Reserved[i].Placement[0].GPUs}}
	}
	if w.met.scaled++; !reflect.DeepEqual(brief(one), brief(large)) {
		w.t.Fatalf("I13: %d times as large the plan differs:\n%s", k, cmp.Diff(brief(one), brief(large)))
	}
}

func times(k int, qs []Quota) []Quota {
	qs = slices.Clone(qs)
	for i := range qs {
		q := &qs[i]
		q.Nominal *= k
		for _, limit := range []**int{&q.BorrowLimit, &q.LendLimit} {
			if *limit != nil {
				n := k * **limit
				*limit = &n
			}
		}
	}
	return qs
}

// I11: while all work is inside quota, weights change nothing.
func (w *world) weightless() {
	s := w.snap
	s.Running = slices.DeleteFunc(slices.Clone(s.Running), func(a Attempt) bool { return a.Tier == pool.Spot })
	s.Pending = slices.DeleteFunc(slices.Clone(s.Pending), func(j Job) bool { return j.Tier == pool.Spot })
	s.Promises = nil
	s.Orgs = slices.Clone(s.Orgs)
	for i := range s.Orgs {
		o := &s.Orgs[i]
		o.Quotas = slices.Clone(o.Quotas)
		for k := range o.Quotas {
			q := &o.Quotas[k]
			q.Nominal, q.LendLimit = 0, nil
			for _, a := range s.Running {
				q.Nominal += when(a.Org == o.ID && a.Class == q.Class, unitsOf(a.Placement))
			}
			for _, j := range s.Pending {
				q.Nominal += when(j.Org == o.ID, j.Units())
			}
		}
	}
	one := Decide(s, w.now)
	for i := range s.Orgs {
		s.Orgs[i].Weight = w.upTo(5, "weight")
	}
	if other := Decide(s, w.now); !reflect.DeepEqual(one, other) {
		w.t.Fatalf("I11: all is inside quota and weights change the plan:\n%s", cmp.Diff(one, other))
	}
	w.met.weightless++
}

// units is the flat pool with one class and jobs of one GPU.
func (w *world) units() Snapshot {
	s := w.flat()
	s.Classes, s.Nodes = s.Classes[:1], s.Nodes[:1]
	c := s.Classes[0].ID
	var running []Attempt
	for _, a := range s.Running {
		for i := range when(a.Class == c, unitsOf(a.Placement)) {
			x := a
			x.ID.Job = pool.JobID(fmt.Sprintf("%s-%d", a.ID.Job, i))
			x.Placement = []NodeGPUs{{"all", 1}}
			running = append(running, x)
		}
	}
	var pending []Job
	for _, j := range s.Pending {
		for i := range when(j.Classes[0] == c, min(4, j.Units())) {
			x := j
			x.ID = pool.JobID(fmt.Sprintf("%s-%d", j.ID, i))
			x.GPUs, x.Classes, x.MaxRun = 1, j.Classes[:1], 0
			pending = append(pending, x)
		}
	}
	s.Running, s.Pending = running, pending
	s.Orgs = slices.Clone(s.Orgs)
	for i := range s.Orgs {
		s.Orgs[i].Quotas = s.Orgs[i].Quotas[:1]
	}
	return s
}

// I10: for jobs of one GPU, more capacity never lowers what an organisation
// gets, and more quota with its capacity never what its owner gets. (Another
// may get one less where both stand equal by weight and age decides.)
func (w *world) more() {
	s := w.units()
	if strained(read(&s, w.now)) || oversold(&s) {
		return
	}
	more := s
	more.Nodes = slices.Clone(s.Nodes)
	more.Nodes[0].GPUs++
	what, whose := "capacity", pool.Consortium
	if w.oneIn(2, "quota too") {
		what = "quota with its capacity"
		more.Orgs = slices.Clone(s.Orgs)
		o := &more.Orgs[w.upTo(len(s.Orgs)-1, "org")]
		o.Quotas = slices.Clone(o.Quotas)
		o.Quotas[0].Nominal++
		whose = o.ID
	}
	before, held := w.gets(s)
	after, holds := w.gets(more)
	if held || holds {
		return
	}
	for k, n := range before {
		if after[k] < n && (whose == pool.Consortium || whose == k) {
			w.t.Fatalf("I10: more %s of %s gives %v %d GPUs, not %d\n%+v", what, s.Classes[0].ID, k, after[k], n, s)
		}
	}
	w.met.more++
}

// strained says whether work runs that no decision would have started: limits
// were cut under it, or hardware was lost. Then who has it may lose it to whom
// more capacity lets in.
func strained(m *model) bool {
	for c := range m.books {
		for a := range m.parent {
			b := m.books[c][a]
			if limit := b.subtree + when(m.parent[a] >= 0, b.borrow); b.visible > limit {
				return true
			}
		}
	}
	return false
}

// oversold says whether more is guaranteed than the hardware has. Then a GPU
// that one account keeps back is one that others were promised too, and a loan
// that runs may take the quota, though not the hardware, of another.
func oversold(s *Snapshot) bool {
	left := map[pool.ClassID]int{}
	for _, n := range s.Nodes {
		left[n.Class] += n.GPUs
	}
	for _, o := range s.Orgs {
		for _, q := range o.Quotas {
			left[q.Class] -= q.Nominal
		}
	}
	for _, p := range s.Projects {
		for _, q := range p.Quotas {
			left[q.Class] -= q.Nominal
		}
	}
	for _, n := range left {
		if n < 0 {
			return true
		}
	}
	return false
}

// gets is what each organisation runs when the pool has settled, and whether
// a reservation held work up on the way: which of its jobs an organisation
// reserves for, and so what it may not borrow meanwhile, hangs on the capacity.
func (w *world) gets(s Snapshot) (out map[pool.OrgID]int, reserved bool) {
	for cycle := 0; ; cycle++ {
		plan := Decide(s, w.now)
		reserved = reserved || len(plan.Reserved) > 0
		if !plan.Changes() {
			break
		}
		if cycle == settles {
			w.t.Fatalf("I7: a pool of unit jobs is still changing after %d decisions", cycle)
		}
		s = applied(s, plan, w.now)
		gone := stopping(s)
		for i := range s.Running {
			a := &s.Running[i]
			if a.Started = min(a.Started, w.now-1); gone[a.ID] {
				s.Pending = append(s.Pending, Job{ID: a.ID.Job, Org: a.Org, Project: a.Project, Classes: []pool.ClassID{a.Class}, Nodes: 1, GPUs: 1,
					Tier: a.Tier, Priority: a.Priority, Submitted: a.Submitted})
			}
		}
		s.Running = slices.DeleteFunc(s.Running, func(a Attempt) bool { return gone[a.ID] })
	}
	out = map[pool.OrgID]int{}
	for _, a := range s.Running {
		out[a.Org]++
	}
	return out, reserved
}
