package quota

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"gpupool/domain/pool"
)

// pasts are attempts with a limit of ten hours that ended after so many.
func pasts(org pool.OrgID, n int, hours int, cut bool) []Past {
	return slices.Repeat([]Past{{Org: org, Class: "a100", Declared: 10 * time.Hour, Ran: time.Duration(hours) * time.Hour, Cut: cut}}, n)
}

func tenHours(org pool.OrgID, ran time.Duration) *Attempt {
	return &Attempt{ID: pool.AttemptID{Job: "x", N: 1}, Org: org, Class: "a100", Started: noon.Add(-ran), MaxEnd: noon.Add(10*time.Hour - ran)}
}

func TestHabitsTellWhenWorkEnds(t *testing.T) {
	t.Parallel()
	const early, mid, late = certain / 10, certain / 2, certain / 10 * 9
	for name, c := range map[string]struct {
		past []Past
		org  pool.OrgID
		ran  time.Duration
		u    int64
		want time.Duration // after its start; a part of the limit is 36 seconds
	}{
		"half of the limit is the habit":                   {pasts("uni", 30, 5, false), "uni", 0, mid, 5 * time.Hour},
		"what was cut short would have run on":             {append(pasts("uni", 30, 5, false), pasts("uni", 30, 2, true)...), "uni", 0, early, 5 * time.Hour},
		"the soonest of two habits":                        {append(pasts("uni", 30, 1, false), pasts("uni", 30, 9, false)...), "uni", 0, early, time.Hour},
		"what ran past the short habit has the long one":   {append(pasts("uni", 30, 1, false), pasts("uni", 30, 9, false)...), "uni", 2 * time.Hour, early, 9 * time.Hour},
		"another organisation's habit counts with its own": {append(pasts("uni", 30, 1, false), pasts("lab", 30, 9, false)...), "lab", 0, mid, 9 * time.Hour},
		"who has no history has the pool's":                {pasts("uni", 30, 5, false), "new", 0, mid, 5 * time.Hour},
		"who ran longer than anybody ends at any moment":   {pasts("uni", 30, 2, false), "uni", 4 * time.Hour, mid, 7 * time.Hour},
		"the limit is the limit":                           {pasts("uni", 30, 10, false), "uni", 0, late, 10 * time.Hour},
	} {
		a := tenHours(c.org, c.ran)
		got := Learn(c.past).end(a, noon, c.u).Sub(a.Started)
		if d := got - c.want; d < -40*time.Second || d > 40*time.Second {
			t.Errorf("%s: ends after %s, want %s", name, got, c.want)
		}
	}
	if Learn(pasts("uni", evidence-1, 5, false)) != nil || Learn(pasts("uni", 100, 5, true)) != nil {
		t.Error("habits are told without enough ends")
	}
}

func TestADrawnEndLiesBetweenNowAndTheLimit(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		var past []Past
		for range rapid.IntRange(evidence, 80).Draw(rt, "pasts") {
			past = append(past, Past{Org: pool.OrgID(rapid.SampledFrom([]string{"a", "b"}).Draw(rt, "org")), Class: "a100",
				Declared: time.Duration(rapid.IntRange(1, 3000).Draw(rt, "declared")) * time.Minute, Ran: time.Duration(rapid.IntRange(0, 3000).Draw(rt, "ran")) * time.Minute,
				Cut: rapid.IntRange(0, 3).Draw(rt, "cut") == 0})
		}
		h := Learn(past)
		if h == nil {
			return
		}
		a := &Attempt{Org: "a", Class: "a100", Started: noon.Add(-time.Duration(rapid.IntRange(0, 4000).Draw(rt, "run")) * time.Minute)}
		a.MaxEnd = a.Started.Add(time.Duration(rapid.IntRange(1, 4000).Draw(rt, "limit")) * time.Minute)
		before := pool.Instant(0)
		for u := int64(0); u <= certain; u += certain / 16 {
			end := h.end(a, noon, u)
			if end < before || end > a.MaxEnd || end < min(noon, a.MaxEnd) {
				rt.Fatalf("at %d of %d it ends at %s; before that at %s, the limit is %s", u, int64(certain), end, before, a.MaxEnd)
			}
			before = end
		}
	})
}

// cameTrue are starts that came just as the plays had said.
func cameTrue(n int) []Told {
	return slices.Repeat([]Told{{At: noon, Played: Likely{noon + 1, noon + 1, noon + 1}, Start: noon + 1}}, n)
}

func TestALikelyStartFollowsTheHabits(t *testing.T) {
	t.Parallel()
	s := two()
	s.Running = []Attempt{holds("x", "uni", "n1", 4), holds("y", "lab", "n2", 4)}
	for i := range s.Running {
		s.Running[i].Started, s.Running[i].MaxEnd = noon, noon.Add(10*time.Hour)
	}
	if a := Quote(s, ask("j", "uni", 4), noon); a.Likely.Known() || a.Start == pool.Never {
		t.Errorf("without a history: %+v", a)
	}
	s.Habits = Learn(append(pasts("uni", 30, 5, false), pasts("lab", 30, 8, false)...)).Judged(cameTrue(40))
	a := Quote(s, ask("j", "uni", 4), noon)
	want := noon.Add(5 * time.Hour)
	for _, at := range []pool.Instant{a.Likely.Early, a.Likely.Middle, a.Likely.Late} {
		if d := at.Sub(want); d < -40*time.Minute || d > 80*time.Minute || a.Start < at || at == a.Likely.Middle && (d < -time.Minute || d > time.Minute) {
			t.Errorf("likely %+v, at the latest %s, want about %s", a.Likely, a.Start, want)
		}
	}
	slices.Reverse(s.Running)
	slices.Reverse(s.Nodes)
	slices.Reverse(s.Orgs)
	if b := Quote(s, ask("j", "uni", 4), noon); b.Likely != a.Likely || b.Start != a.Start {
		t.Errorf("in another order %+v instead of %+v", b.Likely, a.Likely)
	}
}

// Where work ends as it did before and nothing new comes, eight starts of ten
// lie in their intervals as soon as the pool has learnt from the first ones.
func TestIntervalsHoldEightOfTen(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 20261201))
	length := func() time.Duration { // most are short, some run to the limit
		return min(10*time.Hour, time.Duration(r.ExpFloat64()*float64(3*time.Hour)))
	}
	var past []Past
	for range 400 {
		past = append(past, Past{Org: "uni", Class: "a100", Declared: 10 * time.Hour, Ran: length()})
	}
	s := two()
	habits := Learn(past)
	const first, trials = 60, 360
	var told []Told
	inside, spread := 0, time.Duration(0)
	for n := range trials {
		s.Running, s.Pending = nil, nil
		ends := map[pool.JobID]pool.Instant{}
		for k := range 8 { // eight that run, two that wait before the job
			x := holds(pool.JobID(fmt.Sprintf("r%d-%d", n, k)), "uni", pool.NodeID(fmt.Sprintf("n%d", 1+k/4)), 1)
			x.Started, x.MaxEnd = noon, noon.Add(10*time.Hour)
			s.Running = append(s.Running, x)
			ends[x.ID.Job] = noon.Add(length())
		}
		for k := range 2 {
			j := ask(pool.JobID(fmt.Sprintf("w%d-%d", n, k)), "uni", 1)
			j.MaxRun, j.Submitted = 10*time.Hour, noon-10
			s.Pending = append(s.Pending, j)
		}
		j := ask(pool.JobID(fmt.Sprintf("j%d", n)), "uni", 1)
		s.Habits = habits.Judged(told)
		a := Quote(s, j, noon)
		f := newForecast(with(s, j), noon, func(a *Attempt, now pool.Instant) pool.Instant {
			if end, ok := ends[a.ID.Job]; ok {
				return end
			}
			return min(a.MaxEnd, now.Add(length()))
		}, nil)
		at := pool.Never
		for at == pool.Never {
			plan, ok := f.look(0)
			if !ok {
				t.Fatal("the job never starts")
			}
			if slices.ContainsFunc(plan.Admit, func(a Admission) bool { return a.Job == j.ID }) {
				at = f.now
			}
		}
		told = append(told, Told{At: noon, Played: a.Played, Start: at})
		if n < first {
			continue
		}
		if at >= a.Likely.Early && at <= a.Likely.Late {
			inside++
		}
		spread += a.Likely.Late.Sub(a.Likely.Early) / (trials - first)
	}
	t.Logf("%d of %d inside, intervals of %s on average", inside, trials-first, spread.Round(time.Minute))
	if inside < (trials-first)*74/100 || inside > (trials-first)*86/100 {
		t.Errorf("%d of %d starts lie in their intervals", inside, trials-first)
	}
}
