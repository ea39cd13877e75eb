package quota

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"gpupool/domain/money"
	"gpupool/domain/pool"
)

// spends is an attempt of uni that counts against its cap: 1.00 a GPU-hour, or
// 0.20 as spot.
func spends(id pool.JobID, node pool.NodeID, gpus int) Attempt {
	a := holds(id, "uni", node, gpus)
	a.Split = pool.Split{Own: gpus}
	a.Charges = []Charge{{Budget: "cap", Class: "a100", Price: 100_000_000, Spot: 20_000_000}}
	return a
}

// capped is two with a cap of uni of which some is spent, on work that costs up
// to 4.00 in the hour that is left to it.
func capped(limit, spent money.Amount, rule AtLimit) Snapshot {
	s := two()
	s.Policy.Notice = 5 * time.Minute
	s.Budgets = []Budget{{ID: "cap", Kind: pool.Cap, Ref: "uni", Limit: limit, Spent: spent, AtLimit: rule}}
	s.Running = []Attempt{spends("first", "n1", 2), spends("later", "n2", 2)}
	s.Running[1].Started++
	return s
}

func TestWorkThatTheMoneyNoLongerBearsFollowsItsOrganisationsChoice(t *testing.T) {
	t.Parallel()
	at := noon.Add(5 * time.Minute)
	stop := func(id pool.JobID, need, limit int64) []Stop {
		return []Stop{{Attempt: pool.AttemptID{Job: id, N: 1}, At: at, Rule: OverBudget, Reason: pool.Reason{Code: pool.Cap, Class: "a100", Need: need, Limit: limit, Ref: "uni"}}}
	}
	later := pool.AttemptID{Job: "later", N: 1}
	for name, c := range map[string]struct {
		snap   Snapshot
		change func(*Snapshot)
		want   Plan
	}{
		"what fits is left alone":                        {capped(800, 400, StopAtLimit), nil, Plan{}},
		"a rounding is no excess":                        {capped(798, 400, StopAtLimit), nil, Plan{}},
		"the newest stops, and only that":                {capped(700, 400, StopAtLimit), nil, Plan{Stop: stop("later", 800, 700)}},
		"without a choice too":                           {capped(700, 400, ""), nil, Plan{Stop: stop("later", 800, 700)}},
		"burst before guaranteed, whatever is newer":     {capped(700, 400, StopAtLimit), func(s *Snapshot) { s.Running[1].Tier = pool.Guaranteed }, Plan{Stop: stop("first", 800, 700)}},
		"lower priority before newer":                    {capped(700, 400, StopAtLimit), func(s *Snapshot) { s.Running[0].Priority = -1 }, Plan{Stop: stop("first", 800, 700)}},
		"flexible work goes on as spot":                  {capped(700, 400, SpotAtLimit), nil, Plan{ToSpot: []pool.AttemptID{later}, Covers: []CoverChange{{later, pool.Split{Spot: 2}}}}},
		"and stops when spot has no room":                {capped(700, 400, SpotAtLimit), func(s *Snapshot) { lendNothing(s) }, Plan{Stop: stop("later", 800, 700)}},
		"or when even that is too dear":                  {capped(401, 400, SpotAtLimit), func(s *Snapshot) { s.Running = s.Running[1:] }, Plan{ToSpot: []pool.AttemptID{later}, Stop: stop("later", 600, 401)}},
		"guaranteed work never becomes spot":             {capped(500, 400, SpotAtLimit), func(s *Snapshot) { s.Running = s.Running[1:]; s.Running[0].Tier = pool.Guaranteed }, Plan{Stop: stop("later", 600, 500)}},
		"until it is used up everything runs":            {capped(700, 400, BillToLimit), nil, Plan{}},
		"then it stops in time":                          {capped(400, 370, BillToLimit), nil, Plan{Stop: stop("later", 770, 400)}},
		"who only wants to know is left alone":           {capped(700, 800, RunOn), nil, Plan{}},
		"notice that is needed stays":                    {capped(700, 400, StopAtLimit), func(s *Snapshot) { s.Running[1].Notice, s.Running[1].StopAt = OverBudget, at }, Plan{}},
		"notice that isn't needed any more is withdrawn": {capped(900, 400, StopAtLimit), func(s *Snapshot) { s.Running[1].Notice, s.Running[1].StopAt = OverBudget, at }, Plan{Resume: []pool.AttemptID{later}}},
		"but not after the stop was sent": {capped(900, 400, StopAtLimit), func(s *Snapshot) {
			s.Running[1].Notice, s.Running[1].StopAt, s.Running[1].Stopping = OverBudget, at, true
		}, Plan{}},
		"a promise ends before running work does": {capped(700, 400, StopAtLimit), func(s *Snapshot) {
			s.Running[1] = holds("lent", "lab", "n2", 4)
			s.Running[1].Split = pool.Split{Own: 4}
			j := ask("next", "uni", 4)
			j.Charges = s.Running[0].Charges
			s.Pending = []Job{j}
			s.Promises = []Promise{{Job: "next", Class: "a100", Placement: []NodeGPUs{{"n2", 4}}, Victims: []pool.AttemptID{{Job: "lent", N: 1}}, StopAt: at, Rule: ByQuota}}
		}, Plan{Withdrawn: []Withdrawal{{Job: "next", Why: Unpayable, Keep: []pool.AttemptID{{Job: "lent", N: 1}}}}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if c.change != nil {
				c.change(&c.snap)
			}
			got := brief(Decide(c.snap, noon))
			got.Next = 0
			if cmp.Diff(c.want, got) != "" {
				t.Errorf("want (-), got (+):\n%s", cmp.Diff(c.want, got))
			}
		})
	}
}

func lendNothing(s *Snapshot) {
	zero := 0
	for i := range s.Orgs {
		s.Orgs[i].Quotas = []Quota{{Class: "a100", Nominal: 4, LendLimit: &zero}}
	}
}

// What is stopped is needed, what is left is paid for, the same moment decides
// nothing more, and money that comes back lets all run on.
func TestStopsForMoneyAreMinimalAndSettle(t *testing.T) {
	t.Parallel()
	met := map[string]int{}
	rapid.Check(t, func(rt *rapid.T) {
		s := two()
		s.Policy.Notice = 5 * time.Minute
		s.Nodes = []Node{{ID: "n1", Class: "a100", GPUs: 100, State: Ready}}
		for i := range s.Orgs {
			s.Orgs[i].Quotas = []Quota{{Class: "a100", Nominal: 50}}
		}
		for _, id := range []BudgetID{"cap", "project"} {
			s.Budgets = append(s.Budgets, Budget{ID: id, Kind: pool.Cap, Limit: money.Amount(rapid.IntRange(0, 3000).Draw(rt, "limit")),
				AtLimit: rapid.SampledFrom([]AtLimit{StopAtLimit, SpotAtLimit, BillToLimit, RunOn}).Draw(rt, "rule"), Lines: rapid.IntRange(0, 2).Draw(rt, "lines")})
		}
		for k := range rapid.IntRange(0, 8).Draw(rt, "running") {
			a := spends(pool.JobID(fmt.Sprint("j", k)), "n1", rapid.IntRange(1, 8).Draw(rt, "gpus"))
			a.Tier = rapid.SampledFrom(pool.Tiers).Draw(rt, "tier")
			a.Priority = rapid.IntRange(0, 1).Draw(rt, "priority")
			a.MaxEnd = noon.Add(time.Duration(rapid.IntRange(1, 300).Draw(rt, "minutes")) * time.Minute)
			if rapid.Bool().Draw(rt, "project") {
				c := a.Charges[0]
				c.Budget = "project"
				a.Charges = append(a.Charges, c)
			}
			if rapid.IntRange(0, 3).Draw(rt, "noticed") == 0 {
				a.Notice, a.StopAt = OverBudget, noon+1
			}
			s.Running = append(s.Running, a)
		}
		for k := range rapid.IntRange(0, 4).Draw(rt, "waiting") {
			j := ask(pool.JobID(fmt.Sprint("w", k)), rapid.SampledFrom([]pool.OrgID{"uni", "lab"}).Draw(rt, "org"), rapid.IntRange(1, 60).Draw(rt, "gpus"))
			if j.Org == "uni" && len(s.Running) > 0 {
				j.Charges = s.Running[0].Charges
			}
			s.Pending = append(s.Pending, j)
		}
		plan, next := settled(rt, s)
		met["stops"] += len(plan.Stop)
		met["resumed"] += len(plan.Resume)
		met["spot"] += len(plan.ToSpot)
		over := func(running []Attempt) bool {
			x := next
			x.Running = running
			e := build(&x, noon)
			for b := range e.budgets.list {
				if e.overdrawn(b) {
					return true
				}
			}
			return false
		}
		if over(next.Running) {
			rt.Fatalf("what is left exceeds a budget: %+v", brief(plan))
		}
		for i, a := range next.Running {
			if a.Notice == "" {
				continue
			}
			met["under notice"]++
			with := slices.Clone(next.Running)
			with[i].Notice, with[i].StopAt = "", 0
			if !over(with) {
				rt.Fatalf("%s needn't stop: %+v", a.ID.NomadID(), brief(plan))
			}
		}
		for b := range next.Budgets {
			next.Budgets = slices.Clone(next.Budgets)
			next.Budgets[b].Limit = 1 << 40
		}
		allRunOn(rt, next, "the money is")
	})
	metAll(t, met, "stops", "resumed", "spot", "under notice")
}

// settled decides once: in place as from nothing, and nothing more at the same
// moment. It returns the plan and what it leaves.
func settled(t interface{ Fatalf(string, ...any) }, s Snapshot) (Plan, Snapshot) {
	plan := Decide(s, noon)
	if want := rebuilt(&s, noon); !cmp.Equal(want, plan) {
		t.Fatalf("in place another plan than from nothing:\n%s", cmp.Diff(want, plan))
	}
	next := after(&s, plan, noon)
	if again := Decide(next, noon); again.Changes() {
		t.Fatalf("decided again: %+v\nafter %+v", brief(again), brief(plan))
	}
	return plan, next
}

// allRunOn decides where nothing is missing any more: all notice is taken back.
func allRunOn(rt *rapid.T, s Snapshot, what string) {
	s.Pending, s.Promises = nil, nil // where GPUs are promised already, notice stays
	noticed := 0
	for _, a := range s.Running {
		noticed += when(a.Notice != "", 1)
	}
	if back := Decide(s, noon); noticed != len(back.Resume) {
		rt.Fatalf("%d were under notice, %d run on when %s back", noticed, len(back.Resume), what)
	}
}

// metAll fails a test whose generator met too little.
func metAll(t *testing.T, met map[string]int, names ...string) {
	t.Helper()
	for _, what := range names {
		if met[what] == 0 {
			t.Errorf("the generator met none: %s", what)
		}
	}
	t.Log(met)
}
