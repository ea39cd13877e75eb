package quota

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"gpupool/domain/pool"
)

func TestAClassIsExplainedInFigures(t *testing.T) {
	t.Parallel()
	s := full()
	s.Orgs = append(s.Orgs, Org{ID: "new", Weight: 2})
	s.Nodes = append(s.Nodes, Node{ID: "n3", Class: "a100", GPUs: 4, Foreign: 1, State: Ready}, Node{ID: "n4", Class: "a100", GPUs: 2, State: Draining})
	spot := holds("spot", "new", "n3", 1)
	spot.Tier, spot.Split, spot.MinRunUntil = pool.Spot, pool.Split{Spot: 1}, noon+500
	s.Running = append(s.Running, spot)
	s.Pending = []Job{ask("wide", "new", 4)}
	x := Explain(s, Decide(s, noon), noon)[0]
	got := [...]int{x.Capacity, x.Closed, x.Foreign, x.Own, x.Loan, x.Spot, x.Free, x.Whole, x.Scattered, x.Reserved, x.Widest, x.Pool}
	if want := [...]int{11, 2, 1, 4, 4, 1, 2, 0, 2, 0, 2, 3}; got != want {
		t.Errorf("figures %v, want %v", got, want)
	}
	if len(x.Victims) != 1 || x.Victims[0].Attempt.Job != "lent" || x.Victims[0].Loan != 4 {
		t.Errorf("next to stop: %+v", x.Victims)
	}
	if len(x.Protected) != 1 || x.Protected[0].Attempt.Job != "spot" || x.Protected[0].Until != noon+500 {
		t.Errorf("protected: %+v", x.Protected)
	}
	b := x.Borrowers[0]
	if b.Org != "new" || b.Head != "wide" || b.Units != 4 || b.Waiting != 1 || b.ScoreNum != 4000 || b.ScoreDen != 2*int64(x.Lendable) {
		t.Errorf("first borrower: %+v", b)
	}
}

// Figures add up, orders are orders, and who is named as the next victim is
// whom a claim stops.
func TestTheExplanationAgreesWithTheEngine(t *testing.T) {
	t.Parallel()
	var m met
	claims, freeing, reserved, scattered := 0, 0, 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld(rt, &m, draws{fair: rapid.Bool().Draw(rt, "fair"), notice: rapid.Bool().Draw(rt, "notice")})
		for range 20 {
			w.happen()
			plan := Decide(w.snap, w.now)
			all := Explain(w.snap, plan, w.now)
			w.apply(plan)
			for i, x := range all {
				if len(plan.Problems) == 0 && x.Own+x.Loan+x.Spot+x.Free+x.Promised != x.Capacity || x.Whole+x.Scattered+x.Reserved != x.Free {
					rt.Fatalf("figures don't add up: %+v", x)
				}
				freeing, reserved, scattered = freeing+x.Freeing, reserved+x.Reserved, scattered+x.Scattered
				ordered(rt, x)
				claims += w.claims(x, all, i)
			}
			w.now++
		}
	})
	if !t.Failed() && (claims == 0 || freeing == 0 || reserved == 0 || scattered == 0) {
		t.Errorf("met %d claims, %d GPUs being freed, %d reserved, %d scattered", claims, freeing, reserved, scattered)
	}
}

func ordered(t *rapid.T, x ClassState) {
	heads := func(all []Turn) []Turn {
		return slices.DeleteFunc(slices.Clone(all), func(x Turn) bool { return x.Head == "" })
	}
	if !slices.IsSortedFunc(heads(x.Owners), func(a, b Turn) int { return usedPart(a).compare(usedPart(b)) }) {
		t.Fatalf("owners out of order: %+v", x.Owners)
	}
	if !slices.IsSortedFunc(heads(x.Borrowers), func(a, b Turn) int {
		return share{a.ScoreNum, a.ScoreDen}.compare(share{b.ScoreNum, b.ScoreDen})
	}) {
		t.Fatalf("borrowers out of order: %+v", x.Borrowers)
	}
}

func usedPart(x Turn) share {
	if x.Use == 0 {
		return share{0, 1}
	}
	return share{int64(x.Use), int64(x.Quota)}
}

// claims lets every organisation with quota left ask for one GPU more of a full
// class, and compares whom that stops with the order that was explained.
func (w *world) claims(x ClassState, all []ClassState, at int) int {
	n := 0
	closed := func(y Node) bool { return y.State != Ready || y.Maintenance.End > w.now }
	private := func(p Project) bool { return p.NoSharedNode }
	if slices.ContainsFunc(w.snap.Nodes, closed) || slices.ContainsFunc(w.snap.Projects, private) { // what stops may free nothing for a claim
		return 0
	}
	if len(x.Victims) == 0 || x.Free+x.Promised > 0 || x.Freeing > 0 || len(w.snap.Promises) > 0 {
		return 0
	}
	quiet := w.snap
	quiet.Pending = nil
	for _, o := range x.Owners {
		if o.Use >= o.Quota {
			continue
		}
		// Spot work may free hardware and no quota: then it is the first loan.
		first := func(spot bool) pool.JobID {
			i := slices.IndexFunc(x.Victims, func(v Victim) bool { return (v.Tier == pool.Spot) == spot && (spot || v.Org != o.Org) })
			if i < 0 {
				return ""
			}
			return x.Victims[i].Attempt.Job
		}
		p := Decide(with(quiet, Job{ID: "probe", Org: o.Org, Classes: []pool.ClassID{x.Class}, Nodes: 1, GPUs: 1, Tier: pool.Burst, Submitted: w.now}), w.now)
		for _, r := range p.Reclaim {
			if r.Job == "probe" && len(r.Victims) == 1 && r.Victims[0].Job != first(true) && r.Victims[0].Job != first(false) {
				w.t.Fatalf("a claim of %s stops %v, the order says %+v\nall %+v", o.Org, r.Victims, x.Victims, all[at])
			}
			n++
		}
	}
	return n
}
