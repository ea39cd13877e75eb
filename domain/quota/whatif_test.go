package quota

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"gpupool/domain/pool"
)

func grant(org pool.OrgID, gpus int) Change {
	return Change{Grants: []Grant{{org, "a100", gpus}}}
}

// full is two members of which uni borrows what lab doesn't use.
func full() Snapshot {
	s := two()
	own, lent := holds("own", "uni", "n1", 4), holds("lent", "uni", "n2", 4)
	own.Split, lent.Split = pool.Split{Own: 4}, pool.Split{Loan: 4}
	lent.Started, lent.MaxEnd = own.Started+1, noon.Add(3*time.Hour)
	s.Running = []Attempt{own, lent}
	return s
}

func TestAChangedPoolIsAnsweredByItsDifference(t *testing.T) {
	t.Parallel()
	yes := true
	for name, c := range map[string]struct {
		snap   func(*Snapshot)
		change Change
		want   map[pool.JobID]func(JobChange) bool // every job that differs
	}{
		"nothing changes": {func(*Snapshot) {}, Change{}, nil},
		"two more guaranteed GPUs cover what was on loan": {func(*Snapshot) {}, grant("uni", 2), map[pool.JobID]func(JobChange) bool{
			"lent": func(j JobChange) bool { return j.After.Runs && j.After.Split == pool.Split{Own: 2, Loan: 2} },
		}},
		"with quota of its own a borrower takes back": {func(s *Snapshot) {
			s.Orgs = append(s.Orgs, Org{ID: "new", Weight: 1})
			s.Pending = []Job{ask("wants", "new", 2)}
		}, grant("new", 2), map[pool.JobID]func(JobChange) bool{
			"wants": func(j JobChange) bool { return j.Before.Waits() && !j.Before.Promised && j.After.Promised },
			"lent": func(j JobChange) bool {
				return j.Before.Runs && j.After.Stopped && j.After.By == ByQuota && j.After.For == "wants"
			},
		}},
		"a drained node lets its work run out": {func(s *Snapshot) {
			s.Running = s.Running[:1]
			s.Pending = []Job{ask("next", "lab", 4)}
		}, Change{Drain: []pool.NodeID{"n2"}}, map[pool.JobID]func(JobChange) bool{
			"next": func(j JobChange) bool {
				return j.Before.Admitted && j.After.Waits() && j.After.Reasons[0].Code == pool.ClassFull
			},
		}},
		"what is moved starts elsewhere": {func(s *Snapshot) { s.Running = s.Running[:1] }, Change{Drain: []pool.NodeID{"n1"}, Move: true}, map[pool.JobID]func(JobChange) bool{
			"own": func(j JobChange) bool {
				return j.Before.Runs && j.After.Admitted && j.After.Placement[0].Node == "n2"
			},
		}},
		"what is moved waits where there is no room": {func(*Snapshot) {}, Change{Drain: []pool.NodeID{"n1"}, Move: true}, map[pool.JobID]func(JobChange) bool{
			"own":  func(j JobChange) bool { return j.After.Stopped && len(j.After.Reasons) > 0 && j.After.By == "" },
			"lent": func(j JobChange) bool { return j.After.Runs && j.After.Split.Own == 4 },
		}},
		"more nodes take what waits": {func(s *Snapshot) { s.Pending = []Job{ask("more", "uni", 4)} }, Change{Add: []Addition{{"a100", "east", 1, 4}}}, map[pool.JobID]func(JobChange) bool{
			"more": func(j JobChange) bool { return j.After.Admitted && j.After.Placement[0].Node == "new-1" },
		}},
		"without lending a borrower waits": {func(s *Snapshot) {
			s.Running = s.Running[:1]
			s.Pending = []Job{ask("more", "uni", 2)}
		}, Change{NoLending: true}, map[pool.JobID]func(JobChange) bool{
			"more": func(j JobChange) bool { return j.Before.Admitted && j.After.Reasons[0].Code == pool.LendLimit },
		}},
		"with fair reclaim the poorer borrower takes": {func(s *Snapshot) {
			s.Orgs = append(s.Orgs, Org{ID: "new", Weight: 1})
			s.Orgs[0].Quotas = []Quota{{Class: "a100"}}
			s.Running[0].Split, s.Running[1].Split = pool.Split{Loan: 4}, pool.Split{Loan: 4}
			s.Pending = []Job{ask("wants", "new", 4)}
		}, Change{Fair: &yes}, map[pool.JobID]func(JobChange) bool{
			"wants": func(j JobChange) bool { return j.After.Promised },
			"lent":  func(j JobChange) bool { return j.After.Stopped && j.After.By == ByFairness },
		}},
	} {
		s := full()
		c.snap(&s)
		d, err := WhatIf(s, c.change, noon)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for _, j := range d.Jobs {
			if ok := c.want[j.Job]; ok == nil || !ok(j) {
				t.Errorf("%s: %+v", name, j)
			}
			delete(c.want, j.Job)
		}
		for id := range c.want {
			t.Errorf("%s: nothing is said of %s", name, id)
		}
	}
}

func TestADrainedNodeTellsWhenItsWorkEnds(t *testing.T) {
	t.Parallel()
	d, err := WhatIf(full(), Change{Drain: []pool.NodeID{"n2", "n1"}}, noon)
	want := []Drained{
		{Attempt: pool.AttemptID{Job: "own", N: 1}, Org: "uni", Nodes: []pool.NodeID{"n1"}, GPUs: 4, Ends: noon.Add(time.Hour)},
		{Attempt: pool.AttemptID{Job: "lent", N: 1}, Org: "uni", Nodes: []pool.NodeID{"n2"}, GPUs: 4, Ends: noon.Add(3 * time.Hour)},
	}
	if diff := cmp.Diff(want, d.Drained); err != nil || diff != "" {
		t.Error(err, diff)
	}
}

func TestAQuestionThatCannotBeAskedNamesItsField(t *testing.T) {
	t.Parallel()
	for field, c := range map[string]Change{
		"drain": {Drain: []pool.NodeID{"n1", "nowhere"}},
		"org":   grant("nobody", 1),
		"class": {Grants: []Grant{{"uni", "b200", 1}}},
		"grant": grant("uni", MaxGrant+1),
		"nodes": {Add: []Addition{{"a100", "", 0, 8}}},
		"gpus":  {Add: []Addition{{"a100", "", 1, MaxPerNode + 1}}},
	} {
		var e *ChangeError
		if _, err := WhatIf(two(), c, noon); !errors.As(err, &e) || e.Field != field {
			t.Errorf("%s: %v", field, err)
		}
	}
}

// The answer is what Decide makes of the changed snapshot, on any history, and
// asking leaves the snapshot as it was.
func TestWhatIfIsDecideOnTheChangedSnapshot(t *testing.T) {
	t.Parallel()
	var m met
	different, stopped, moved := 0, 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld(rt, &m, draws{fair: rapid.Bool().Draw(rt, "fair"), notice: true})
		for range 12 {
			w.happen()
			before, copied := w.snap, deepCopy(w.snap)
			c := w.change()
			d, err := WhatIf(before, c, w.now)
			if err != nil {
				rt.Fatal(err)
			}
			if diff := cmp.Diff(copied, before); diff != "" {
				rt.Fatal("asking changed the snapshot:", diff)
			}
			changed, _ := c.Apply(before, w.now)
			if diff := cmp.Diff(Decide(changed, w.now), d.After) + cmp.Diff(Decide(before, w.now), d.Before); diff != "" {
				rt.Fatal(diff)
			}
			if none, _ := WhatIf(before, Change{}, w.now); len(none.Jobs) > 0 {
				rt.Fatalf("no change and yet %+v", none.Jobs)
			}
			different += len(d.Jobs)
			for _, j := range d.Jobs {
				stopped += when(j.After.Stopped, 1)
				moved += when(j.Before.Runs && j.After.Admitted, 1)
			}
			w.apply(Decide(w.snap, w.now))
			w.now++
		}
	})
	if !t.Failed() && (different == 0 || stopped == 0 || moved == 0) {
		t.Errorf("the questions met %d differences, %d stops, %d moves", different, stopped, moved)
	}
}

// change draws a question.
func (w *world) change() Change {
	t := w.t
	var c Change
	switch rapid.IntRange(0, 4).Draw(t, "question") {
	case 0:
		c.Drain = []pool.NodeID{w.snap.Nodes[rapid.IntRange(0, len(w.snap.Nodes)-1).Draw(t, "drain")].ID}
		c.Move = rapid.Bool().Draw(t, "move")
	case 1:
		c.Grants = []Grant{{w.snap.Orgs[rapid.IntRange(0, len(w.snap.Orgs)-1).Draw(t, "org")].ID, w.snap.Classes[0].ID, rapid.IntRange(1, 8).Draw(t, "more")}}
	case 2:
		c.Add = []Addition{{w.snap.Classes[0].ID, "site-0", rapid.IntRange(1, 2).Draw(t, "nodes"), 4}}
	case 3:
		c.NoLending = true
	case 4:
		fair := !w.snap.Policy.FairReclaim
		c.Fair = &fair
	}
	return c
}

func deepCopy(s Snapshot) Snapshot {
	s.Nodes, s.Running, s.Pending, s.Promises = slices.Clone(s.Nodes), slices.Clone(s.Running), slices.Clone(s.Pending), slices.Clone(s.Promises)
	orgs := make([]Org, len(s.Orgs))
	for i, o := range s.Orgs {
		orgs[i] = o
		orgs[i].Quotas = nil
		for _, q := range o.Quotas {
			if q.LendLimit != nil {
				l := *q.LendLimit
				q.LendLimit = &l
			}
			orgs[i].Quotas = append(orgs[i].Quotas, q)
		}
	}
	s.Orgs = orgs
	return s
}

func TestWhatMoneyStopsIsToldWithItsLimit(t *testing.T) {
	t.Parallel()
	s := full()
	s.Budgets = []Budget{{ID: "b", Kind: pool.Cap, Ref: "uni", Limit: 100, Spent: 200}}
	s.Running[1].Charges = []Charge{{Budget: "b", Price: 150_000_000}}
	f := fates(s, Decide(s, noon))
	if x := f["lent"]; !x.Stopped || x.Runs || x.Why.Code != pool.Cap {
		t.Errorf("beyond its cap: %+v", x)
	}
	if x := f["own"]; !x.Runs || x.Stopped {
		t.Errorf("without a charge: %+v", x)
	}
}
