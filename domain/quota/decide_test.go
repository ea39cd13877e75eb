package quota

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"gpupool/domain/money"
	"gpupool/domain/pool"
)

const noon pool.Instant = 1_700_000_000_000

// two is a pool of two members with 4 guaranteed GPUs each on two nodes of 4.
func two() Snapshot {
	q := []Quota{{Class: "a100", Nominal: 4}}
	return Snapshot{
		Classes: []Class{{ID: "a100"}},
		Nodes:   []Node{{ID: "n1", Class: "a100", GPUs: 4, State: Ready, Site: "east"}, {ID: "n2", Class: "a100", GPUs: 4, State: Ready, Site: "west"}},
		Orgs:    []Org{{ID: "uni", Weight: 1, Quotas: q}, {ID: "lab", Weight: 1, Quotas: q}},
	}
}

func ask(id pool.JobID, org pool.OrgID, gpus int) Job {
	return Job{ID: id, Org: org, Classes: []pool.ClassID{"a100"}, Nodes: 1, GPUs: gpus, Tier: pool.Burst, Submitted: noon, MaxRun: time.Hour}
}

func holds(id pool.JobID, org pool.OrgID, node pool.NodeID, gpus int) Attempt {
	return Attempt{ID: pool.AttemptID{Job: id, N: 1}, Org: org, Class: "a100", Placement: []NodeGPUs{{node, gpus}}, Tier: pool.Burst, Started: noon - 1000, MaxEnd: noon.Add(time.Hour)}
}

func TestAWaitNamesItsReason(t *testing.T) {
	t.Parallel()
	zero := 0
	for name, c := range map[string]struct {
		change func(*Snapshot, *Job)
		want   pool.Reason
	}{
		"an unfinished job before it": {func(_ *Snapshot, j *Job) { j.DependsOn = []pool.JobID{"first"} }, pool.Reason{Code: pool.Dependency, Ref: "first"}},
		"a time to wait for":          {func(_ *Snapshot, j *Job) { j.NotBefore = noon + 5 }, pool.Reason{Code: pool.NotBefore, Until: noon + 5}},
		"a pause of everything":       {func(s *Snapshot, _ *Job) { s.Policy.AdmissionPaused = true }, pool.Reason{Code: pool.AdmissionPaused}},
		"a paused organisation":       {func(s *Snapshot, _ *Job) { s.Orgs[0].Paused = "unpaid" }, pool.Reason{Code: pool.ProjectPaused, Ref: "unpaid"}},
		"no subscription":             {func(s *Snapshot, _ *Job) { s.Orgs[0].NoSubscription = true }, pool.Reason{Code: pool.NoSubscription}},
		"bigger than any node":        {func(_ *Snapshot, j *Job) { j.GPUs = 5 }, pool.Reason{Code: pool.NeverFits, Class: "a100", Need: 5, Limit: 4}},
		"bigger than quota and borrow limit": {func(s *Snapshot, j *Job) {
			j.Nodes, j.GPUs = 2, 4
			s.Orgs[0].Quotas = []Quota{{Class: "a100", Nominal: 4, BorrowLimit: &zero}}
		}, pool.Reason{Code: pool.NeverFits, Class: "a100", Need: 8, Limit: 4}},
		"guaranteed above quota": {func(s *Snapshot, j *Job) {
			j.Tier = pool.Guaranteed
			a := holds("x", "uni", "n1", 3)
			a.Tier = pool.Guaranteed
			s.Running = []Attempt{a}
		}, pool.Reason{Code: pool.QuotaFull, Class: "a100", Need: 2, Have: 1, Limit: 4}},
		"the borrow limit": {func(s *Snapshot, j *Job) {
			s.Orgs[0].Quotas = []Quota{{Class: "a100", Nominal: 4, BorrowLimit: &zero}}
			s.Running = []Attempt{holds("x", "uni", "n1", 4)}
		}, pool.Reason{Code: pool.BorrowLimit, Class: "a100", Need: 2, Have: 0, Limit: 0}},
		"what others keep back": {func(s *Snapshot, j *Job) {
			s.Orgs[1].Quotas = []Quota{{Class: "a100", Nominal: 4, LendLimit: &zero}}
			s.Running = []Attempt{holds("x", "uni", "n1", 4)}
		}, pool.Reason{Code: pool.LendLimit, Class: "a100", Need: 2, Have: 0, Limit: 4, Quota: 4, Used: 4}},
		"everything used": {func(s *Snapshot, j *Job) {
			s.Running = []Attempt{holds("x", "uni", "n1", 4), holds("y", "lab", "n2", 4)}
		}, pool.Reason{Code: pool.ClassFull, Class: "a100", Need: 2, Have: 0, Limit: 8, Quota: 4, Used: 4}},
		"free but scattered": {func(s *Snapshot, j *Job) {
			s.Running = []Attempt{holds("x", "lab", "n1", 3), holds("y", "uni", "n2", 3)}
		}, pool.Reason{Code: pool.Scattered, Class: "a100", Need: 2, Have: 2, Limit: 1, Quota: 4, Used: 3}},
		"free at another site": {func(s *Snapshot, j *Job) {
			s.Projects = []Project{{ID: "p", Org: "uni", Sites: []pool.SiteID{"east"}}}
			j.Project = "p"
			s.Running = []Attempt{holds("x", "lab", "n1", 4)}
		}, pool.Reason{Code: pool.Site, Class: "a100", Have: 1, Limit: 2, Ref: "east", Quota: 4, Elsewhere: 4}},
		"data at a site without room": {func(s *Snapshot, j *Job) {
			j.DataSite = "east"
			s.Running = []Attempt{holds("x", "lab", "n1", 4)}
		}, pool.Reason{Code: pool.Data, Class: "a100", Need: 2, Limit: 4, Ref: "east"}},
		"a closed window": {func(s *Snapshot, j *Job) {
			s.Windows = []Window{{Tier: pool.Burst, Closed: pool.Interval{Start: noon - 1, End: noon + 9}}}
		}, pool.Reason{Code: pool.PolicyWindow, Class: "a100", Until: noon + 9}},
		"a node in maintenance": {func(s *Snapshot, j *Job) {
			s.Nodes[1].Maintenance = pool.Interval{Start: noon - 1, End: noon + 9}
			s.Running = []Attempt{holds("x", "lab", "n1", 4)}
		}, pool.Reason{Code: pool.Maintenance, Class: "a100", Need: 2, Limit: 4, Until: noon + 9, Quota: 4}},
		"maintenance before it would end": {func(s *Snapshot, j *Job) {
			s.Nodes[0].Maintenance = pool.Interval{Start: noon + 60_000, End: noon + 90_000}
			s.Nodes[1].Maintenance = pool.Interval{Start: noon + 60_000, End: noon + 80_000}
		}, pool.Reason{Code: pool.Maintenance, Class: "a100", Need: 2, Limit: 8, Until: noon + 80_000, Quota: 4}},
		"no node": {func(s *Snapshot, j *Job) { s.Nodes = nil }, pool.Reason{Code: pool.ClassUnavailable, Class: "a100"}},
		"a cap": {func(s *Snapshot, j *Job) {
			s.Budgets = []Budget{{ID: "b", Kind: pool.Cap, Ref: "uni", Limit: 300, Spent: 100}}
			j.Charges = []Charge{{Budget: "b", Price: 150_000_000}}
		}, pool.Reason{Code: pool.Cap, Class: "a100", Need: 300, Have: 200, Limit: 300, Ref: "uni"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, j := two(), ask("j", "uni", 2)
			c.change(&s, &j)
			s.Pending = []Job{j}
			p := Decide(s, noon)
			if len(p.Wait) != 1 || p.Wait[0].Reasons[0] != c.want {
				t.Errorf("got %+v, want %+v; admitted %+v, promised %+v", p.Wait, c.want, p.Admit, p.Reclaim)
			}
		})
	}
}

func TestWorkThatTheFeeCoversRunsUnderACapOfZero(t *testing.T) {
	t.Parallel()
	s := two()
	s.Budgets = []Budget{{ID: "b", Kind: pool.Cap, Limit: 0, Included: []Included{{"a100", 2 * pool.MillisPerHour}}}}
	for _, id := range []pool.JobID{"one", "two"} {
		j := ask(id, "uni", 2)
		j.Tier, j.Charges = pool.Guaranteed, []Charge{{Budget: "b", Price: 1_000_000, Included: true}}
		s.Pending = append(s.Pending, j)
	}
	p := Decide(s, noon)
	if len(p.Admit) != 1 || p.Admit[0].Job != "one" || p.Wait[0].Reasons[0].Code != pool.Cap {
		t.Errorf("admitted %+v, waits %+v", p.Admit, p.Wait)
	}
}

func TestTwentyJobsAgainstACapForTenAdmitTen(t *testing.T) {
	t.Parallel()
	s := two()
	s.Nodes[0].GPUs = 40
	s.Budgets = []Budget{{ID: "b", Kind: pool.Cap, Limit: 1000}}
	for i := range 20 {
		j := ask(pool.JobID(rune('a'+i)), "uni", 1)
		j.Charges = []Charge{{Budget: "b", Price: 100_000_000}}
		s.Pending = append(s.Pending, j)
	}
	if p := Decide(s, noon); len(p.Admit) != 10 {
		t.Errorf("%d admitted, want 10", len(p.Admit))
	}
}

func TestAPromiseIsKeptAfterItsNotice(t *testing.T) {
	t.Parallel()
	s := two()
	s.Policy.Notice = 10 * time.Minute
	s.Running = []Attempt{holds("x", "lab", "n1", 4), holds("y", "lab", "n2", 4)}
	s.Running[1].Started++
	s.Pending = []Job{ask("j", "uni", 3)}
	p := Decide(s, noon)
	want := Promise{Job: "j", Class: "a100", Placement: []NodeGPUs{{"n2", 3}}, Victims: []pool.AttemptID{{Job: "y", N: 1}}, StopAt: noon.Add(10 * time.Minute), Rule: ByQuota}
	if len(p.Reclaim) != 1 || p.Reclaim[0].Job != want.Job || p.Reclaim[0].Placement[0] != want.Placement[0] || p.Reclaim[0].Victims[0] != want.Victims[0] || p.Reclaim[0].StopAt != want.StopAt {
		t.Fatalf("got %+v, want %+v", p.Reclaim, want)
	}
	s.Promises = p.Reclaim
	if p := Decide(s, noon+1); len(p.Admit)+len(p.Reclaim)+len(p.Withdrawn) > 0 || !p.Wait[0].Promised {
		t.Errorf("under notice the plan is %+v", p)
	}
	gone := s
	gone.Running = s.Running[:1]
	if p := Decide(gone, noon+2); len(p.Admit) != 1 || p.Admit[0].Split != (pool.Split{Own: 3}) {
		t.Errorf("after the notice the plan is %+v", p)
	}
	freed := s
	freed.Running = s.Running[1:]
	if p := Decide(freed, noon+3); len(p.Admit) != 1 || len(p.Withdrawn) != 1 || p.Withdrawn[0].Why != Elsewhere || len(p.Withdrawn[0].Keep) != 1 {
		t.Errorf("when it fits elsewhere the plan is %+v", p)
	}
	cancelled := s
	cancelled.Pending = nil
	if p := Decide(cancelled, noon+3); len(p.Withdrawn) != 1 || p.Withdrawn[0].Why != Cancelled || len(p.Withdrawn[0].Keep) != 1 {
		t.Errorf("when the job is cancelled the plan is %+v", p)
	}
}

func TestAQuoteTellsWhatDecideWouldDo(t *testing.T) {
	t.Parallel()
	s := two()
	if a := Quote(s, ask("j", "uni", 4), noon); !a.Admitted || a.Start != noon || a.Split != (pool.Split{Own: 4}) {
		t.Errorf("in an idle pool: %+v", a)
	}
	s.Running = []Attempt{holds("x", "uni", "n1", 4), holds("y", "lab", "n2", 4)}
	a := Quote(s, ask("j", "uni", 4), noon)
	if a.Admitted || a.Start != noon.Add(time.Hour) || len(a.Reasons) == 0 || a.Position != 1 {
		t.Errorf("in a full pool: %+v", a)
	}
	s.Pending = []Job{ask("before", "uni", 4)}
	s.Pending[0].Submitted--
	if got := Quote(s, ask("j", "uni", 4), noon).Start; got != noon.Add(time.Hour+time.Second) { // in whole seconds
		t.Errorf("behind one job, with two nodes coming free: %s", got)
	}
	s.Running[1].MaxEnd = pool.Never
	if got := Quote(s, ask("j", "uni", 4), noon).Start; got != noon.Add(2*time.Hour+time.Second) {
		t.Errorf("behind one job, with one node coming free: %s", got)
	}
}

func TestDecayedUseFollowsItsHalfLife(t *testing.T) {
	t.Parallel()
	const h = 24 * time.Hour
	d := DecayedUse{Use: 1 << 40, At: noon}
	if got := d.Advance(noon.Add(h), h).Use; got < 1<<39-1 || got > 1<<39 {
		t.Errorf("after one half-life %d is left of %d", got, d.Use)
	}
	steady := DecayedUse{At: noon, Rate: 8}.Advance(noon.Add(60*h), h)
	if got := steady.Mean(h); got < 7_990 || got > 8_000 {
		t.Errorf("8 GPUs held for long have a mean of %d thousandths", got)
	}
	rapid.Check(t, func(rt *rapid.T) {
		d := DecayedUse{Use: pool.GPUMillis(rapid.Int64Range(0, 1<<45).Draw(rt, "use")), At: noon, Rate: rapid.IntRange(0, 1000).Draw(rt, "rate")}
		a := noon + pool.Instant(rapid.Int64Range(0, 1<<33).Draw(rt, "a"))
		b := a + pool.Instant(rapid.Int64Range(0, 1<<33).Draw(rt, "b"))
		once, twice := d.Advance(b, h).Use, d.Advance(a, h).Advance(b, h).Use
		if diff := once - twice; diff < -1<<16 || diff > 1<<16 {
			rt.Fatalf("in one step %d, in two %d", once, twice)
		}
	})
}

func TestACostIsNeverBelowTheExactOne(t *testing.T) {
	t.Parallel()
	if got := UpTo(pool.MillisPerHour, money.Price(180_000_000)); got != 180 {
		t.Errorf("an hour at 1.80 costs %d", got)
	}
	if got := UpTo(1, 1); got != 1 {
		t.Errorf("a trace of use costs %d, want one minor unit", got)
	}
	if got := UpTo(1<<62, 1<<62); got < 1<<60 {
		t.Errorf("an absurd cost wraps to %d", got)
	}
}
