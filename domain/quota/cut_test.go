package quota

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gpupool/domain/pool"
)

// The quota of uni is cut from four to two under guaranteed and burst work.
func TestAQuotaCutStopsNothing(t *testing.T) {
	t.Parallel()
	cut := func(until pool.Instant) Snapshot {
		s := two()
		s.Policy.CutNotice = 72 * time.Hour
		s.Orgs[0].Quotas = []Quota{{Class: "a100", Nominal: 2}}
		first, above, burst := holds("first", "uni", "n1", 2), holds("above", "uni", "n1", 2), holds("burst", "uni", "n2", 1)
		first.Started--
		first.Tier, above.Tier, above.GuaranteedUntil = pool.Guaranteed, pool.Guaranteed, until
		first.Split, above.Split, burst.Split = pool.Split{Own: 2}, pool.Split{Own: 2}, pool.Split{Own: 1}
		s.Running = []Attempt{first, above, burst}
		return s
	}
	above, burst := pool.AttemptID{Job: "above", N: 1}, pool.AttemptID{Job: "burst", N: 1}
	loan := CoverChange{burst, pool.Split{Loan: 1}}
	for name, c := range map[string]struct {
		snap   Snapshot
		change func(*Snapshot)
		want   Plan
	}{
		"guaranteed work runs on as own, burst work is a loan": {cut(0), nil, Plan{Covers: []CoverChange{loan}, Above: []Above{{above, noon.Add(72 * time.Hour)}}}},
		"to its declared end without a notice":                 {cut(0), func(s *Snapshot) { s.Policy.CutNotice = 0 }, Plan{Covers: []CoverChange{loan}, Above: []Above{{above, pool.Never}}}},
		"it keeps its time":                                    {cut(noon + 1), nil, Plan{Covers: []CoverChange{loan}}},
		"then it is burst work":                                {cut(noon), nil, Plan{Covers: []CoverChange{{above, pool.Split{Loan: 2}}, loan}, ToBurst: []pool.AttemptID{above}}},
		"a quota that holds it again":                          {cut(noon + 1), func(s *Snapshot) { s.Orgs[0].Quotas[0].Nominal = 4 }, Plan{Covers: []CoverChange{loan}, Above: []Above{{above, 0}}}},
		"an owner can't take it back before": {cut(noon + 1), func(s *Snapshot) {
			s.Nodes[1].GPUs = 1
			s.Pending = []Job{ask("claims", "lab", 2)}
		}, Plan{Covers: []CoverChange{loan}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if c.change != nil {
				c.change(&c.snap)
			}
			got, _ := settled(t, c.snap)
			got = brief(got)
			got.Next, got.Reserved = 0, nil
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("want (-), got (+):\n%s", diff)
			}
		})
	}
}

// Work that goes on as burst burns no included hours for certain any more: what
// the money doesn't bear then stops in the same plan.
func TestWorkThatGoesOnAsBurstPaysForItsHours(t *testing.T) {
	t.Parallel()
	s := capped(50, 0, StopAtLimit)
	s.Running = s.Running[:1]
	a := &s.Running[0]
	a.Tier, a.GuaranteedUntil, a.Split = pool.Guaranteed, noon, pool.Split{Own: unitsOf(a.Placement)}
	a.Charges = slices.Clone(a.Charges)
	a.Charges[0].Included = true
	s.Budgets[0].Included = []Included{{a.Class, 1000 * pool.MillisPerHour}}
	for i := range s.Orgs {
		s.Orgs[i].Quotas = nil
	}
	plan, _ := settled(t, s)
	if len(plan.ToBurst) != 1 || len(plan.Stop) != 1 {
		t.Errorf("want it to go on as burst and to stop for its money: %+v", brief(plan))
	}
}
