package quota_test

import (
	"testing"
	"time"

	"gpupool/domain/pool"
	"gpupool/domain/quota"
)

// What a member borrows counts against it in the order of borrowers for as
// long as the half-life says, from the decision that lent it.
func TestLoansAreRememberedFromTheirDecisionOn(t *testing.T) {
	t.Parallel()
	const h = 7 * 24 * time.Hour
	now := pool.Instant(1_000_000)
	s := quota.Snapshot{Policy: quota.Policy{HalfLife: h}, Pending: []quota.Job{{ID: "j", Org: "b"}},
		Running: []quota.Attempt{{ID: pool.AttemptID{Job: "r", N: 1}, Org: "a", Class: "g", Split: pool.Split{Own: 2, Loan: 4}},
			{ID: pool.AttemptID{Job: "s", N: 1}, Org: "a", Class: "g", Split: pool.Split{Loan: 1}}},
		Decayed: []quota.DecayedUse{{Org: "a", Class: "g", Use: 100, At: 0, Rate: 5}, {Org: "c", Class: "g", Use: 9_000, At: 0, Rate: 3}}}
	p := quota.Plan{Covers: []quota.CoverChange{{Attempt: pool.AttemptID{Job: "s", N: 1}, Split: pool.Split{Own: 1}}},
		Admit: []quota.Admission{{Job: "j", Class: "g", Split: pool.Split{Loan: 2}}}}
	got := quota.LoansAfter(s, p, now)
	want := []struct {
		org  pool.OrgID
		rate int
	}{{"a", 4}, {"b", 2}, {"c", 0}} // a gave one back, b borrows, c has nothing left that runs
	if len(got) != len(want) {
		t.Fatalf("%+v", got)
	}
	for i, w := range want {
		if got[i].Org != w.org || got[i].Rate != w.rate || got[i].At != now {
			t.Errorf("%+v, not %+v", got[i], w)
		}
	}
	if got[0].Use < 4_900_000 || got[2].Use < 2_900_000 || got[1].Use != 0 { // 5 and 3 GPUs for 1000 s, hardly decayed
		t.Errorf("%+v", got)
	}
	s.Decayed = got
	s.Running = []quota.Attempt{{Org: "a", Class: "g", Split: pool.Split{Loan: 4}}, {Org: "b", Class: "g", Split: pool.Split{Loan: 2}}}
	if again := quota.LoansAfter(s, quota.Plan{}, now+50); len(again) != 0 {
		t.Errorf("nothing changed and %+v is written", again)
	}
}
