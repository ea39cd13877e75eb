package quota

import (
	"reflect"
	"slices"
	"testing"
	"time"

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

func TestWhoWasRefusedForAReservationComesBeforeWhoIsBehind(t *testing.T) {
	t.Parallel()
	s := two()
	s.Nodes = append(s.Nodes, Node{ID: "n3", Class: "a100", GPUs: 4, State: Ready, Site: "east"}, Node{ID: "n4", Class: "a100", GPUs: 4, State: Ready, Site: "west"})
	s.Orgs[0].Quotas, s.Orgs[0].Weight, s.Orgs[1].Quotas = []Quota{{Class: "a100", Nominal: 2}}, 0, nil
	s.Policy.OwnPriority = true
	s.Projects = []Project{{ID: "east", Org: "uni", Sites: []pool.SiteID{"east"}}}
	low, high, short, second := ask("a", "uni", 4), ask("b", "uni", 4), ask("c", "uni", 1), ask("d", "uni", 2)
	low.Project, high.Project = "east", "east"
	high.Priority, short.Priority, second.Priority = 1, 1, 1
	short.MaxRun = 20 * time.Minute
	s.Pending = []Job{low, high, short, second}
	var got []pool.JobID
	for _, a := range Decide(s, noon).Admit {
		got = append(got, a.Job)
	}
	slices.Sort(got)
	if !slices.Equal(got, []pool.JobID{"b", "c", "d"}) {
		t.Errorf("b has the higher priority and stands before a: admitted %v", got)
	}
}

// The limit of uni was cut under four loans.
func TestAClaimReplacesAsMuchAsItNeedsUnderALimitThatWasCut(t *testing.T) {
	t.Parallel()
	s, none := two(), 0
	s.Orgs[0].Quotas = []Quota{{Class: "a100", Nominal: 1, BorrowLimit: &none}}
	s.Orgs[1].Quotas = nil
	for _, id := range []pool.JobID{"a", "b", "c", "d"} {
		s.Running = append(s.Running, holds(id, "uni", "n1", 1))
	}
	j := ask("j", "uni", 1)
	j.Tier = pool.Guaranteed
	s.Pending = []Job{j}
	if p := Decide(s, noon); len(p.Reclaim) != 1 || len(p.Reclaim[0].Victims) != 1 {
		t.Errorf("one of four would do: %+v", p.Reclaim)
	}
}

func TestWhatAnAccountKeepsBackIsThereHoweverMuchOthersUse(t *testing.T) {
	t.Parallel()
	s, none := two(), 0
	s.Orgs = []Org{{ID: "uni", Weight: 1, Quotas: []Quota{{Class: "a100", Nominal: 2, LendLimit: &none}}}, {ID: "lab", Weight: 1, Quotas: []Quota{{Class: "a100", Nominal: 3}}},
		{ID: "spare", Weight: 1, Quotas: []Quota{{Class: "a100", Nominal: 3, LendLimit: &none}}}}
	over := holds("x", "lab", "n1", 4)
	over.Fixed = true
	s.Running = []Attempt{over}
	s.Pending = []Job{ask("j", "uni", 2)}
	if p := Decide(s, noon); len(p.Admit) != 1 {
		t.Errorf("uni keeps two back and four are free: %+v", p.Wait)
	}
}

func TestAPromiseWaitsForAllItCountsOn(t *testing.T) {
	t.Parallel()
	s := two()
	s.Policy.Notice = 10 * time.Minute
	s.Nodes[0].GPUs, s.Nodes[1].State = 3, Down
	s.Orgs[1].Quotas = nil
	x := holds("x", "lab", "n1", 4)
	x.Notice, x.StopAt = Shed, noon.Add(7*time.Minute)
	s.Running = []Attempt{x}
	s.Pending = []Job{ask("j", "uni", 2)}
	if p := Decide(s, noon); len(p.Reclaim) != 1 || p.Reclaim[0].StopAt != x.StopAt {
		t.Errorf("x leaves in seven minutes: %+v", p.Reclaim)
	}
}
