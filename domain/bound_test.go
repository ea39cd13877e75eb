package domain

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"gpupool/domain/money"
	"gpupool/domain/pool"
	"gpupool/domain/quota"
	"gpupool/domain/rating"
)

// sixtieth are the steps of an even draw: rapid's ranges lean to small numbers.
var sixtieth = func() (out []int64) {
	for i := range int64(61) {
		out = append(out, i)
	}
	return out
}()

// even draws from lo to hi, both included.
func even(t *rapid.T, lo, hi int64, what string) int64 {
	return lo + (hi-lo)/60*rapid.SampledFrom(sixtieth).Draw(t, what) + min((hi-lo)%60, rapid.Int64Range(0, 59).Draw(t, what+", rest"))
}

// ledgerOf is a month of one organisation with random price lists, plans,
// accounts, past use and running work.
type ledgerOf struct {
	*rapid.T
	view
	month pool.Interval
	rows  []UsageRow
	ends  map[pool.JobID]pool.Instant
	gpus  map[pool.JobID]int
	tiers map[pool.JobID]pool.Tier
	on    map[pool.JobID]pool.ProjectID
	n     int
}

func newLedger(t *rapid.T) *ledgerOf {
	w := &ledgerOf{T: t, ends: map[pool.JobID]pool.Instant{}, gpus: map[pool.JobID]int{}, tiers: map[pool.JobID]pool.Tier{}, on: map[pool.JobID]pool.ProjectID{}}
	w.month = pool.MonthOf(pool.At(time.Date(2026, 11, 10, 0, 0, 0, 0, time.UTC)), time.UTC).Bounds(time.UTC)
	w.now = w.month.Start + pool.Instant(even(t, 0, w.month.Millis()-1, "now"))
	w.terms = Terms{Zone: time.UTC, Versions: map[pool.PlanVersionID]PlanVersion{},
		Classes: []GPUClass{{ID: "a"}, {ID: "b"}}, Orgs: []Organisation{{ID: "lab"}},
		Projects: []Project{{ID: "p0", Org: "lab", Name: "p0", Budget: new(int64), BudgetPeriod: "month"}, {ID: "p1", Org: "lab"}},
		Assigned: []AccountOfProject{{Project: "p0", Account: "acc0"}, {Project: "p1", Account: pool.AccountID(rapid.SampledFrom([]string{"acc0", "acc1"}).Draw(t, "account"))}}}
	from := pool.Instant(0)
	for l := range rapid.IntRange(1, 3).Draw(t, "lists") {
		list := PriceList{ID: pool.PriceListID(fmt.Sprintf("l%d", l)), From: from, PublishedAt: 1}
		for _, c := range w.terms.Classes {
			for _, cover := range pool.Covers {
				cut := rapid.SampledFrom([]int{1440, 480}).Draw(t, "time of day")
				for at := 0; at < 1440; at += cut {
					list.Rows = append(list.Rows, PriceRow{ID: pool.PriceRowID(fmt.Sprintf("%s-%s-%s-%d", list.ID, c.ID, cover, at)), Class: c.ID, Cover: cover,
						Price: money.Price(even(t, 1, 5_000_000, "price") * 100), FromMinute: at, ToMinute: at + cut})
				}
			}
		}
		w.terms.Lists = append(w.terms.Lists, list)
		from = w.month.Start + pool.Instant(even(t, 1, w.month.Millis()-1, "next list"))
		from = max(from, list.From+1)
	}
	w.terms.rows = w.terms.priceRows()
	start := pool.Instant(0)
	for range rapid.IntRange(1, 3).Draw(t, "plans") { // one may come back
		id := rapid.SampledFrom([]pool.PlanVersionID{"v0", "v1"}).Draw(t, "version")
		w.terms.Versions[id] = PlanVersion{ID: id, Classes: []PlanClass{{Class: "a", Guaranteed: 100,
			Included: pool.GPUMillis(even(t, 0, 400, "included") * pool.MillisPerHour)}}}
		end := w.month.Start + pool.Instant(even(t, 1, 2*w.month.Millis(), "plan ends"))
		end = max(end, start+1)
		w.terms.Subscriptions = append(w.terms.Subscriptions, Subscription{Org: "lab", Version: id, Account: "acc0", Start: start, End: end})
		start = end
	}
	for _, o := range w.terms.Orgs {
		w.snap.Orgs = append(w.snap.Orgs, quota.Org{ID: o.ID, Weight: 1, Quotas: []quota.Quota{{Class: "a", Nominal: 100}, {Class: "b", Nominal: 100}}})
	}
	for _, c := range w.terms.Classes {
		w.snap.Classes = append(w.snap.Classes, quota.Class{ID: c.ID})
		w.snap.Nodes = append(w.snap.Nodes, quota.Node{ID: pool.NodeID("n-" + c.ID), Class: c.ID, GPUs: 1000, State: quota.Ready})
	}
	for _, p := range w.terms.Projects {
		w.snap.Projects = append(w.snap.Projects, quota.Project{ID: p.ID, Org: p.Org})
	}
	return w
}

// piece is use of some work in a span of time, as the meter would store it.
func (w *ledgerOf) piece(id pool.JobID, p pool.ProjectID, c pool.ClassID, tier pool.Tier, gpus int, span pool.Interval) []UsageRow {
	var out []UsageRow
	for at := span.Start; at < span.End; {
		end := span.End
		for _, l := range w.terms.Lists {
			if l.From > at {
				end = min(end, l.From)
			}
		}
		var version pool.PlanVersionID
		for _, s := range w.terms.Subscriptions {
			if s.Start <= at && at < s.End {
				version, end = s.Version, min(end, s.End)
			} else if s.Start > at {
				end = min(end, s.Start)
			}
		}
		if rapid.Bool().Draw(w.T, "cut") {
			end = at + pool.Instant(even(w.T, 1, int64(end-at), "to"))
		}
		cover := rapid.SampledFrom(rating.Reach(tier)).Draw(w.T, "cover")
		var rows []pool.PriceRowID
		for i, l := range w.terms.Lists {
			for _, r := range l.Rows {
				if r.Class == c && r.Cover == cover && w.terms.validity(i).Contains(at) {
					rows = append(rows, r.ID)
				}
			}
		}
		out = append(out, UsageRow{Class: c, Cover: cover, Row: rapid.SampledFrom(rows).Draw(w.T, "row"), Version: version, Project: p,
			Account: w.terms.AccountOf(p, at), Org: "lab", Job: id, Use: pool.GPUMillis(int64(gpus) * int64(end-at))})
		at = end
	}
	return out
}

// work draws a job with a limit.
func (w *ledgerOf) work() (pool.JobID, pool.ClassID) {
	w.n++
	id := pool.JobID(fmt.Sprintf("j%d", w.n))
	w.gpus[id] = rapid.IntRange(1, 8).Draw(w.T, "gpus")
	w.tiers[id] = rapid.SampledFrom(pool.Tiers).Draw(w.T, "tier")
	w.on[id] = rapid.SampledFrom([]pool.ProjectID{"p0", "p1"}).Draw(w.T, "project")
	w.ends[id] = w.now + pool.Instant(even(w.T, 60_000, 31*24*pool.MillisPerHour, "limit"))
	return id, rapid.SampledFrom([]pool.ClassID{"a", "b"}).Draw(w.T, "class")
}

// rest is what a job uses from now on inside the month: all that it may, or less.
func (w *ledgerOf) rest(id pool.JobID, c pool.ClassID, all bool) []UsageRow {
	end := min(w.ends[id], w.month.End)
	if !all {
		end = w.now + pool.Instant(even(w.T, 0, int64(end-w.now), "ends"))
	}
	return w.piece(id, w.on[id], c, w.tiers[id], w.gpus[id], pool.Interval{Start: w.now, End: end})
}

// charged is what the month costs with these rows, and on how many lines.
func (w *ledgerOf) charged(rows []UsageRow) (money.Amount, int) {
	lines, err := rating.Rate(rating.Input{Period: w.month, Plans: w.terms.PlanWindows("lab"), Prices: w.terms.Prices(), Totals: totalsOf(rows, nil)})
	if err != nil {
		w.T.Fatal(err)
	}
	sum, err := rating.Charges(lines)
	if err != nil {
		w.T.Fatal(err)
	}
	return sum, len(lines)
}

// The engine's cost of a job is an upper bound of the difference that it makes
// to the month's charges, whatever covers and rows it comes to, and the work that a decision
// leaves never exceeds the cap, whatever it uses. Both up to a minor unit for
// each line, and for running work each commitment, which are rounded by themselves.
func TestTheEnginesCostBoundsWhatRatingCharges(t *testing.T) {
	t.Parallel()
	met := map[string]int{}
	rapid.Check(t, func(rt *rapid.T) {
		w := newLedger(rt)
		for range rapid.IntRange(0, 4).Draw(rt, "past") {
			id, c := w.work()
			w.rows = append(w.rows, w.piece(id, w.on[id], c, w.tiers[id], w.gpus[id], pool.Interval{
				Start: w.month.Start + pool.Instant(even(rt, 0, int64(w.now-w.month.Start), "began")), End: w.now})...)
		}
		class := map[pool.JobID]pool.ClassID{}
		for range rapid.IntRange(0, 4).Draw(rt, "running") {
			id, c := w.work()
			class[id] = c
			split := pool.Split{Own: w.gpus[id]}
			if w.tiers[id] == pool.Spot {
				split = pool.Split{Spot: w.gpus[id]}
			}
			w.snap.Running = append(w.snap.Running, quota.Attempt{ID: pool.AttemptID{Job: id, N: 1}, Org: "lab", Project: w.on[id], Class: c, Tier: w.tiers[id],
				Placement: []quota.NodeGPUs{{Node: pool.NodeID("n-" + c), GPUs: w.gpus[id]}}, Started: w.now - 1, MaxEnd: w.ends[id], Split: split,
				Charges: w.charges("lab", w.on[id], w.tiers[id], []pool.ClassID{c})})
		}
		id, c := w.work()
		w.snap.Pending = []quota.Job{{ID: id, Org: "lab", Project: w.on[id], Classes: []pool.ClassID{c}, Nodes: 1, GPUs: w.gpus[id], Tier: w.tiers[id],
			Submitted: w.now, MaxRun: w.ends[id].Sub(w.now), Charges: w.charges("lab", w.on[id], w.tiers[id], []pool.ClassID{c})}}
		amount := money.Amount(0)
		w.terms.Caps = []SpendingCap{{Org: "lab", Amount: &amount, Mode: CapStop}}
		m := spending{view: &w.view, bounds: w.month, rows: w.rows}
		if err := m.caps(map[pool.OrgID]bool{"lab": true}); err != nil {
			rt.Fatal(err)
		}

		// The cost: with a cap of nothing the reason names it.
		s := w.snap
		s.Running, s.Budgets = nil, []quota.Budget{w.snap.Budgets[0]}
		s.Budgets[0].AtLimit = quota.RunOn
		cost := int64(0)
		for _, x := range quota.Decide(s, w.now).Wait {
			for _, r := range x.Reasons {
				if r.Code == pool.Cap {
					cost = r.Need
				}
			}
		}
		before, _ := w.charged(w.rows)
		after, lines := w.charged(append(append([]UsageRow{}, w.rows...), w.rest(id, c, true)...))
		if int64(after-before) > cost+int64(lines) {
			rt.Fatalf("it adds %d to the month's charges, the engine counts %d", after-before, cost)
		}
		met["costs"] += min(1, int(cost))

		// The cap: what is left after the decision never exceeds it.
		used, _ := w.charged(w.rows)
		most := int64(after)
		for _, a := range w.snap.Running {
			most += int64(quota.UpTo(pool.GPUMillis(int64(w.gpus[a.ID.Job])*int64(a.MaxEnd-w.now)), a.Charges[0].Price))
		}
		amount = money.Amount(even(rt, 0, most, "cap"))
		w.snap.Budgets = nil
		if err := m.caps(map[pool.OrgID]bool{"lab": true}); err != nil {
			rt.Fatal(err)
		}
		plan := quota.Decide(w.snap, w.now)
		all := append([]UsageRow{}, w.rows...)
		left := 0
		for _, a := range w.snap.Running {
			if stopped(plan, a.ID) {
				met["stopped"]++
				continue
			}
			left++
			all = append(all, w.rest(a.ID.Job, a.Class, rapid.Bool().Draw(rt, "all"))...)
		}
		for _, a := range plan.Admit {
			met["admitted"]++
			left++
			all = append(all, w.rest(a.Job, a.Class, rapid.Bool().Draw(rt, "all"))...)
		}
		final, lines := w.charged(all)
		if left > 0 && final > max(amount, used)+money.Amount(left+lines+w.snap.Budgets[0].Lines) {
			rt.Fatalf("the month comes to %d, the cap is %d; %d was used and %d jobs go on", final, amount, used, left)
		}
	})
	for _, what := range []string{"costs", "stopped", "admitted"} {
		if met[what] == 0 {
			t.Errorf("the generator met none: %s", what)
		}
	}
	t.Log(met)
}

func stopped(p quota.Plan, id pool.AttemptID) bool {
	for _, s := range p.Stop {
		if s.Attempt == id {
			return true
		}
	}
	return false
}
