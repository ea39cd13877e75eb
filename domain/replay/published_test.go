package replay

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"gpupool/domain/money"
)

// traceDays is how many days of the spot trace a test runs: more in CI.
func traceDays(t testing.TB) int {
	t.Helper()
	v := os.Getenv("GPUPOOL_TEST_TRACE_DAYS")
	if v == "" {
		return 2
	}
	n, err := strconv.Atoi(v)
	if err != nil || n < 1 || n > 14 {
		t.Fatalf("GPUPOOL_TEST_TRACE_DAYS: %q is not from 1 to 14", v)
	}
	return n
}

// TestThePublishedTracesKeepTheGuaranteesAndFillThePool runs the first thirty
// days of Philly, and days of the synthetic spot trace with gangs on a pool
// that is short of everything, beside first come first served and without
// lending.
func TestThePublishedTracesKeepTheGuaranteesAndFillThePool(t *testing.T) {
	t.Parallel()
	cur, err := money.CurrencyOf("EUR")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		trace, pool string
		days, jobs  int
	}{
		{"philly_30d.csv.gz", "philly.json", 30, 4779},
		{"spot2026_synthetic_14d.csv.gz", "spot2026_tight.json", traceDays(t), 5000},
	} {
		t.Run(tt.pool, func(t *testing.T) {
			t.Parallel()
			p := load(t, file(t, tt.pool))
			p.Trace.Days = tt.days
			tr := read(t, file(t, tt.trace), p)
			if len(tr.Jobs) < tt.jobs && tt.days > 1 || len(tr.Synthetic) == 0 || !strings.HasPrefix(tr.Synthetic[0], "declared limits: ") {
				t.Fatalf("%d jobs, %v", len(tr.Jobs), tr.Synthetic)
			}
			base := Setting{Name: "as the pool says", Pool: p, Check: true}
			without, err := base.Without("lending")
			if err != nil {
				t.Fatal(err)
			}
			var rs []Report
			for _, s := range []Setting{base, without, base.Baseline(false), base.Baseline(true)} {
				res, r, err := s.Run(tr.Jobs)
				if err != nil {
					t.Fatal(err)
				}
				if len(res.Problems) > 0 {
					t.Errorf("%s: %v", s.Name, res.Problems)
				}
				rs = append(rs, r)
			}
			t.Logf("\n%s%s", tr.Print(), Compare(rs, cur))
			engine, alone, first, fit := rs[0], rs[1], rs[2], rs[3]
			for _, r := range rs[:2] {
				if r.Law.Broken > 0 || r.Law.Moments < len(tr.Jobs) {
					t.Errorf("%s: %s", r.Name, r.Law)
				}
			}
			if engine.Law.Contests == 0 || engine.Preemptions == 0 {
				t.Errorf("nobody contended: %s, %d preempted", engine.Law, engine.Preemptions)
			}
			const twoPoints = 200
			allocated := func(w Window) int64 { return percent100(w.Held, w.Offered) }
			for i, c := range engine.Classes {
				if mine, theirs := allocated(c.Coming), allocated(first.Classes[i].Coming); mine < theirs-twoPoints {
					t.Errorf("%s: allocated %s while jobs arrive, first come first served %s", c.Class, share(mine), share(theirs))
				}
			}
			for _, r := range []Report{first, fit} {
				if mine, theirs := allocated(engine.Coming()), allocated(r.Coming()); mine < theirs-twoPoints {
					t.Errorf("allocated %s while jobs arrive, %s %s", share(mine), r.Name, share(theirs))
				}
			}
			useful := func(r Report) int64 { w := r.Coming(); return percent100(w.Useful, w.Offered) }
			if useful(engine) < useful(first)-twoPoints || engine.Share() < first.Share()-twoPoints {
				t.Errorf("useful %s, first come first served %s; allocated over all %s and %s", share(useful(engine)), share(useful(first)), share(engine.Share()), share(first.Share()))
			}
			if useful(alone) > useful(engine) {
				t.Errorf("useful %s without lending, %s with it", share(useful(alone)), share(useful(engine)))
			}
		})
	}
}
