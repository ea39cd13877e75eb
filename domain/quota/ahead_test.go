package quota

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"gpupool/domain/pool"
)

// night is two with a quota of uni that falls to two GPUs in an hour, and
// comes back to four in three.
func night() Snapshot {
	s := two()
	s.Orgs[0].Quotas = []Quota{{Class: "a100", Nominal: 4, Ahead: []QuotaStep{
		{From: noon.Add(time.Hour), Nominal: 2, BorrowLimit: 8, LendLimit: 2},
		{From: noon.Add(3 * time.Hour), Nominal: 4, BorrowLimit: 8, LendLimit: 4},
	}}}
	return s
}

func TestGuaranteedWorkIsNotStartedPastALowerQuota(t *testing.T) {
	t.Parallel()
	guaranteed := func(gpus int, limit time.Duration) Job {
		j := ask("j", "uni", gpus)
		j.Tier, j.MaxRun = pool.Guaranteed, limit
		return j
	}
	runs := func(gpus int, end time.Duration) Attempt {
		a := holds("r", "uni", "n1", gpus)
		a.Tier, a.MaxEnd = pool.Guaranteed, noon.Add(end)
		return a
	}
	back := []pool.Reason{{Code: pool.PolicyWindow, Class: "a100", Until: noon.Add(3 * time.Hour)}}
	for name, c := range map[string]struct {
		job     Job
		running []Attempt
		change  func(*Snapshot)
		want    []pool.Reason // nil: it starts
	}{
		"it ends before":                            {job: guaranteed(4, time.Hour)},
		"it would run into it":                      {job: guaranteed(4, 2*time.Hour), want: back},
		"what is left holds it":                     {job: guaranteed(2, 24*time.Hour)},
		"not beside work that runs till then":       {job: guaranteed(2, 2*time.Hour), running: []Attempt{runs(1, 2*time.Hour)}, want: back},
		"beside work that ends before":              {job: guaranteed(2, 2*time.Hour), running: []Attempt{runs(1, time.Hour)}},
		"beside flexible work, which gives way":     {job: guaranteed(2, 2*time.Hour), running: []Attempt{func() Attempt { a := runs(2, 2*time.Hour); a.Tier = pool.Burst; return a }()}},
		"flexible work can be taken back":           {job: func() Job { j := guaranteed(4, 2*time.Hour); j.Tier = pool.Burst; return j }()},
		"spot work is nobody's quota":               {job: func() Job { j := guaranteed(4, 2*time.Hour); j.Tier = pool.Spot; return j }()},
		"another member's quota":                    {job: func() Job { j := guaranteed(4, 2*time.Hour); j.Org = "lab"; return j }()},
		"without a limit it would run into it":      {job: guaranteed(3, 0), want: back},
		"a cut for good is waited for to its start": {job: guaranteed(3, 2*time.Hour), change: func(s *Snapshot) { s.Orgs[0].Quotas[0].Ahead = s.Orgs[0].Quotas[0].Ahead[:1] }, want: []pool.Reason{{Code: pool.PolicyWindow, Class: "a100", Until: noon.Add(time.Hour)}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := night()
			s.Running, s.Pending = c.running, []Job{c.job}
			if c.change != nil {
				c.change(&s)
			}
			p := Decide(s, noon)
			if len(p.Problems) > 0 {
				t.Fatal(p.Problems)
			}
			if c.want == nil {
				if len(p.Admit) != 1 {
					t.Fatalf("it waits for %+v", p.Wait)
				}
				return
			}
			if len(p.Admit) != 0 || len(p.Wait) != 1 {
				t.Fatalf("admitted %+v, waits %+v", p.Admit, p.Wait)
			}
			if diff := cmp.Diff(c.want, p.Wait[0].Reasons); diff != "" {
				t.Errorf("want (-), got (+):\n%s", diff)
			}
		})
	}
}

// What never fits now but will by a time policy waits for that time, and
// starts when it comes.
func TestAQuotaThatComesIsWaitedFor(t *testing.T) {
	t.Parallel()
	s := two()
	none := 0
	rise := noon.Add(2 * time.Hour)
	s.Orgs[0].Quotas = []Quota{{Class: "a100", Nominal: 1, BorrowLimit: &none, Ahead: []QuotaStep{{From: rise, Nominal: 3, BorrowLimit: 1, LendLimit: 0}}}}
	for tier, most := range map[pool.Tier]int{pool.Guaranteed: 3, pool.Burst: 4} {
		j := ask("j", "uni", most)
		j.Tier = tier
		s.Pending = []Job{j}
		p := Decide(s, noon)
		if len(p.Wait) != 1 || p.Next != rise {
			t.Fatalf("%s: waits %+v, next %s", tier, p.Wait, p.Next)
		}
		if diff := cmp.Diff([]pool.Reason{{Code: pool.PolicyWindow, Class: "a100", Until: rise}}, p.Wait[0].Reasons); diff != "" {
			t.Errorf("%s: want (-), got (+):\n%s", tier, diff)
		}
		if p := Decide(s, rise); len(p.Admit) != 1 {
			t.Errorf("%s: at its time it waits for %+v", tier, p.Wait)
		}
		j.GPUs = most + 1 // beyond what ever comes, unless it is beyond the node
		if j.GPUs > 4 {
			j.Nodes, j.GPUs = 5, 1
		}
		s.Pending = []Job{j}
		if p := Decide(s, noon); len(p.Wait) != 1 || p.Wait[0].Reasons[0].Code != pool.NeverFits {
			t.Errorf("%s: more than that waits for %+v", tier, p.Wait)
		}
	}
}

// At the boundary covers change, nothing is stopped, and an owner whose quota
// rises takes loans back.
func TestABoundaryOfAQuota(t *testing.T) {
	t.Parallel()
	s := night()
	a := holds("a", "uni", "n1", 4)
	a.Split, a.MaxEnd = pool.Split{Own: 4}, noon.Add(10*time.Hour)
	s.Running = []Attempt{a}
	if p := Decide(s, noon); p.Changes() || p.Next != noon.Add(time.Hour) {
		t.Fatalf("now: %+v", brief(p))
	}
	p := Decide(s, noon.Add(time.Hour))
	if diff := cmp.Diff([]CoverChange{{a.ID, pool.Split{Own: 2, Loan: 2}}}, p.Covers); diff != "" || len(p.Reclaim)+len(p.Stop) > 0 {
		t.Fatalf("at the cut: %+v", brief(p))
	}
	s.Running[0].Split = pool.Split{Own: 2, Loan: 2}
	if p := Decide(s, noon.Add(3*time.Hour)); !slices.Contains(p.Covers, CoverChange{a.ID, pool.Split{Own: 4}}) {
		t.Fatalf("back: %+v", brief(p))
	}
}

// A state that is kept crosses the steps of a quota as a decision from nothing
// does, whatever happens in between.
func TestAKeptStateCrossesStepsOfQuotas(t *testing.T) {
	t.Parallel()
	crossed, held := 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		s := two()
		for o := range s.Orgs {
			q := Quota{Class: "a100", Nominal: 4}
			at := noon
			for range rapid.IntRange(0, 4).Draw(rt, "steps") {
				at = at.Add(time.Duration(rapid.IntRange(1, 40).Draw(rt, "minutes")) * time.Minute)
				n := rapid.IntRange(0, 6).Draw(rt, "nominal")
				q.Ahead = append(q.Ahead, QuotaStep{From: at, Nominal: n, BorrowLimit: rapid.IntRange(0, 4).Draw(rt, "borrow"), LendLimit: rapid.IntRange(0, 4).Draw(rt, "lend")})
			}
			s.Orgs[o].Quotas = []Quota{q}
		}
		kept, now := NewState(s), noon
		for k := range 12 {
			j := ask(pool.JobID(string(rune('a'+k))), s.Orgs[k%2].ID, rapid.IntRange(1, 4).Draw(rt, "gpus"))
			j.Tier = rapid.SampledFrom(pool.Tiers).Draw(rt, "tier")
			j.Submitted, j.MaxRun = now, time.Duration(rapid.IntRange(1, 60).Draw(rt, "run"))*time.Minute
			s.Pending = append(s.Pending, j)
			kept.Sync(s)
			got := kept.Decide(now)
			got.Wait = kept.Waits()
			want := Decide(s, now)
			if diff := cmp.Diff(want, got); diff != "" {
				rt.Fatalf("at %s from nothing (-), kept (+):\n%s", now, diff)
			}
			for _, w := range want.Wait {
				for _, r := range w.Reasons {
					if r.Code == pool.PolicyWindow {
						held++
					}
				}
			}
			s = after(&s, want, now)
			for i := range s.Running {
				s.Running[i].ID.N = 1
			}
			for i := range s.Promises {
				for v := range s.Promises[i].Victims {
					s.Promises[i].Victims[v].N = 1
				}
			}
			next := now.Add(time.Duration(rapid.IntRange(1, 20).Draw(rt, "pass")) * time.Minute)
			if rapid.Bool().Draw(rt, "to the next moment") && want.Next != pool.Never {
				next = want.Next
			}
			for o := range s.Orgs {
				for _, x := range s.Orgs[o].Quotas[0].Ahead {
					if now < x.From && x.From <= next {
						crossed++
					}
				}
			}
			now = next
			s.Running = slices.DeleteFunc(s.Running, func(a Attempt) bool { return a.MaxEnd <= now })
		}
	})
	if crossed < 50 || held < 50 {
		t.Errorf("only %d steps were crossed, %d waits were for one", crossed, held)
	}
}
