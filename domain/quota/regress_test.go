package quota

import (
	"reflect"
	"slices"
	"testing"

	"gpupool/domain/pool"
)

// Faults that the random histories found, each shrunk to a few lines.

func TestAVictimIsNotGivenBackBeyondABorrowLimit(t *testing.T) {
	t.Parallel()
	s, none := two(), 0
	s.Orgs[0].Quotas = []Quota{{Class: "a100", Nominal: 3, BorrowLimit: &none}}
	mine, kept := holds("x", "uni", "n1", 1), holds("y", "uni", "n1", 2)
	kept.Tier = pool.Guaranteed
	s.Running = []Attempt{mine, kept, holds("z", "lab", "n2", 3)}
	j := ask("j", "uni", 1)
	j.Tier = pool.Guaranteed
	s.Pending = []Job{j}
	p := Decide(s, noon)
	if len(p.Admit) > 0 || len(p.Reclaim) != 1 || !slices.Equal(p.Reclaim[0].Victims, []pool.AttemptID{mine.ID}) {
		t.Errorf("n2 has room, but uni may borrow nothing: admitted %+v, promised %+v", p.Admit, p.Reclaim)
	}
}

func TestTheOrderInsideAPromiseDoesNotMatter(t *testing.T) {
	t.Parallel()
	s := two()
	j := ask("j", "uni", 2)
	j.Nodes = 2
	s.Pending = []Job{j}
	s.Promises = []Promise{{Job: "j", Class: "a100", Placement: []NodeGPUs{{"n1", 2}, {"n2", 2}}, StopAt: noon - 1, Sent: true}}
	one := Decide(s, noon)
	s.Promises[0].Placement = []NodeGPUs{{"n2", 2}, {"n1", 2}}
	if other := Decide(s, noon); len(one.Admit) != 1 || !reflect.DeepEqual(one, other) {
		t.Errorf("%+v and %+v", one, other)
	}
	s.Pending = nil
	s.Running = []Attempt{holds("x", "lab", "n1", 2), holds("y", "lab", "n2", 2)}
	s.Promises[0].Sent = false
	s.Promises[0].Victims = []pool.AttemptID{s.Running[1].ID, s.Running[0].ID}
	if p := Decide(s, noon); len(p.Withdrawn) != 1 || !slices.Equal(p.Withdrawn[0].Keep, []pool.AttemptID{s.Running[0].ID, s.Running[1].ID}) {
		t.Errorf("kept %+v, want x, y", p.Withdrawn)
	}
}

func TestAGuaranteedJobTakesLoansBackOnceItsOwnWorkMadeRoom(t *testing.T) {
	t.Parallel()
	s := two()
	s.Orgs[1].Quotas = nil
	s.Projects = []Project{{ID: "west", Org: "uni", Sites: []pool.SiteID{"west"}}}
	s.Running = []Attempt{holds("own", "uni", "n1", 4), holds("lent", "lab", "n2", 4)}
	j := ask("j", "uni", 4)
	j.Tier, j.Project = pool.Guaranteed, "west"
	s.Pending = []Job{j}
	p := Decide(s, noon)
	if len(p.Reclaim) != 1 || !slices.Equal(p.Reclaim[0].Victims, []pool.AttemptID{s.Running[1].ID, s.Running[0].ID}) {
		t.Errorf("uni's quota is full of its own flexible work and n2 of a loan: promised %+v, waits %+v", p.Reclaim, p.Wait)
	}
}

func TestAWaitNamesAllThatHoldsIt(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*Snapshot, *Job)
		want   []pool.ReasonCode
	}{
		"paused, and nothing is free": {func(s *Snapshot, j *Job) {
			j.Paused = "by its owner"
			s.Running = []Attempt{holds("x", "uni", "n1", 4), holds("y", "lab", "n2", 4)}
		}, []pool.ReasonCode{pool.ProjectPaused, pool.ClassFull}},
		"what owners keep back wouldn't be enough": {func(s *Snapshot, j *Job) {
			j.GPUs = 4
			s.Orgs[0].Quotas = nil
			s.Orgs[1].Quotas = []Quota{{Class: "a100", Nominal: 8, LendLimit: ptr(7)}}
			s.Running = []Attempt{holds("x", "lab", "n1", 2), holds("y", "uni", "n2", 3)}
		}, []pool.ReasonCode{pool.ClassFull}},
		"its data is where its project may not be": {func(s *Snapshot, j *Job) {
			s.Projects = []Project{{ID: "p", Org: "uni", Sites: []pool.SiteID{"east"}}}
			j.Project, j.DataSite = "p", "west"
			s.Running = []Attempt{holds("x", "lab", "n1", 4)}
		}, []pool.ReasonCode{pool.Site}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, j := two(), ask("j", "uni", 2)
			c.change(&s, &j)
			s.Pending = []Job{j}
			p := Decide(s, noon)
			var got []pool.ReasonCode
			if len(p.Wait) == 1 {
				for _, r := range p.Wait[0].Reasons {
					got = append(got, r.Code)
				}
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("got %v, want %v; %+v", got, c.want, p.Wait)
			}
		})
	}
}

func ptr(n int) *int { return &n }

func TestJobsThatWaitForOneAnotherAreNamed(t *testing.T) {
	t.Parallel()
	s := two()
	a, b, c := ask("a", "uni", 1), ask("b", "uni", 1), ask("c", "lab", 1)
	a.DependsOn, b.DependsOn, c.DependsOn = []pool.JobID{"b"}, []pool.JobID{"a"}, []pool.JobID{"a"}
	s.Pending = []Job{a, b, c}
	p := Decide(s, noon)
	if len(p.Problems) != 2 || len(p.Wait) != 3 {
		t.Fatalf("problems %q, waits %+v", p.Problems, p.Wait)
	}
	for _, w := range p.Wait {
		in := slices.ContainsFunc(w.Reasons, func(r pool.Reason) bool { return r.Code == pool.DependencyCycle })
		if in != (w.Job != "c") || w.Reasons[0].Code != pool.Dependency {
			t.Errorf("%s waits for %+v", w.Job, w.Reasons)
		}
	}
}
