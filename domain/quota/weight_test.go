package quota

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"gpupool/domain/pool"
)

// A weight counts in its class alone: who weighs more is asked first there, and
// is the poorer one where loans are taken back.
func TestWeightsCountByClass(t *testing.T) {
	t.Parallel()
	weigh := func(a100, h100 int) []Quota {
		return []Quota{{Class: "a100", Weight: &a100}, {Class: "h100", Weight: &h100}}
	}
	s := Snapshot{Classes: []Class{{ID: "a100"}, {ID: "h100"}}, Policy: Policy{FairReclaim: true},
		Nodes: []Node{{ID: "n1", Class: "a100", GPUs: 4, State: Ready}, {ID: "n2", Class: "h100", GPUs: 4, State: Ready}},
		Orgs:  []Org{{ID: "lab", Weight: 9, Quotas: weigh(1, 3)}, {ID: "uni", Weight: 9, Quotas: weigh(3, 1)}}}
	turns := map[pool.ClassID]map[pool.OrgID]int{"a100": {"lab": 1, "uni": 3}, "h100": {"lab": 3, "uni": 1}}
	for _, asked := range [][]pool.ClassID{{"a100"}, {"h100"}, {"a100", "h100"}} {
		s.Pending = nil
		for i := range 4 {
			for _, o := range []pool.OrgID{"lab", "uni"} {
				for _, c := range asked {
					j := ask(pool.JobID(string(o)+"-"+string(c)+"-"+string(rune('0'+i))), o, 1)
					j.Classes = []pool.ClassID{c}
					s.Pending = append(s.Pending, j)
				}
			}
		}
		plan, got, want := Decide(s, noon), map[pool.ClassID]map[pool.OrgID]int{}, map[pool.ClassID]map[pool.OrgID]int{}
		for _, c := range asked {
			got[c], want[c] = map[pool.OrgID]int{}, turns[c]
		}
		for _, a := range plan.Admit {
			got[a.Class][s.Pending[slices.IndexFunc(s.Pending, func(j Job) bool { return j.ID == a.Job })].Org]++
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%v: admitted %v, want %v", asked, got, want)
		}
		for _, x := range Explain(s, plan, noon) {
			for _, b := range x.Borrowers {
				if n, ok := want[x.Class][b.Org]; ok && b.Weight != n {
					t.Errorf("%s weighs %d in %s, want %d", b.Org, b.Weight, x.Class, n)
				}
			}
		}
	}
	for _, x := range Standings(s, noon) {
		if x.Org == "lab" && x.Weight != map[pool.ClassID]int{"a100": 1, "h100": 3}[x.Class] {
			t.Errorf("lab stands in %s with weight %d", x.Class, x.Weight)
		}
	}
	// Two on loan with weight 3 are less than two with weight 1: the heavier may take from the other.
	s.Pending, s.Running = nil, nil
	for i, o := range []pool.OrgID{"lab", "lab", "uni", "uni"} {
		a := holds(pool.JobID("x"+string(rune('0'+i))), o, "n1", 1)
		a.Split, a.MinRunUntil, a.Started = pool.Split{Loan: 1}, noon, noon.Add(-time.Hour)
		s.Running = append(s.Running, a)
	}
	for _, o := range []pool.OrgID{"lab", "uni"} {
		s.Pending = []Job{ask("more", o, 1)}
		if p := Decide(s, noon); (len(p.Reclaim) == 1) != (o == "uni") {
			t.Errorf("%s asks for more: %+v", o, brief(p))
		}
	}
}

// Weights that are named class by class decide as that of the organisation.
func TestAWeightIsThatOfTheOrganisationWhereNoClassNamesOne(t *testing.T) {
	t.Parallel()
	var m met
	moved := 0
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld(rt, &m, draws{fair: true, notice: rapid.Bool().Draw(rt, "notice")})
		st := NewState(w.snap)
		for range 20 {
			w.happen()
			s := clone(w.snap)
			for i := range s.Orgs {
				o := &s.Orgs[i]
				weight := o.Weight
				o.Quotas, o.Weight = slices.Clone(o.Quotas), w.upTo(7, "of nothing")
				for k := range o.Quotas {
					o.Quotas[k].Weight = &weight
				}
			}
			plan := Decide(w.snap, w.now)
			if other := Decide(s, w.now); !reflect.DeepEqual(plan, other) {
				rt.Fatalf("another plan where classes name the weight:\n%s", cmp.Diff(brief(plan), brief(other)))
			}
			if w.oneIn(3, "other weights") { // a kept state follows them
				for i := range s.Orgs {
					x := w.upTo(7, "weight")
					s.Orgs[i].Quotas[0].Weight = &x
				}
			}
			other := Decide(s, w.now)
			st.Sync(s)
			if got := st.Decide(w.now); !reflect.DeepEqual(got.Admit, other.Admit) || !reflect.DeepEqual(got.Reclaim, other.Reclaim) {
				rt.Fatalf("the kept state decides otherwise:\n%s", cmp.Diff(brief(other), brief(got)))
			}
			moved += when(!reflect.DeepEqual(plan.Admit, other.Admit) || !reflect.DeepEqual(plan.Reclaim, other.Reclaim), 1)
			w.apply(plan)
			w.now++
		}
	})
	if t.Logf("other weights moved %d plans", moved); !t.Failed() && moved == 0 {
		t.Error("weights moved nothing")
	}
}
