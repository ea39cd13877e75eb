package meter

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"gpupool/domain/pool"
)

// bucket is what use is charged by; two foldings are the same when their
// buckets are.
type bucket struct {
	cover   pool.Cover
	row     pool.PriceRowID
	plan    pool.PlanVersionID
	project pool.ProjectID
	account pool.AccountID
	day     pool.Instant
}

func sums(segments []Segment, loc *time.Location) map[bucket]pool.GPUMillis {
	out := map[bucket]pool.GPUMillis{}
	for _, s := range segments {
		b := bucket{s.Cover, s.PriceRow, s.PlanVersion, s.Project, s.Account, pool.NextMidnight(s.Start, loc)}
		if out[b] += s.Use(); out[b] == 0 {
			delete(out, b)
		}
	}
	return out
}

// histories draws a run of up to nine days around a clock change, with covers,
// plans, price lists, time-of-day rows and accounts that change inside it.
func histories(rt *rapid.T, loc *time.Location) History {
	base := pool.At(time.Date(2026, 10, 20, 0, 0, 0, 0, loc))
	instant := func(what string) pool.Instant {
		return base + pool.Instant(rapid.Int64Range(0, 9*86_400_000).Draw(rt, what))
	}
	a, b := instant("a"), instant("b")
	h := one(pool.Interval{Start: min(a, b), End: max(a, b) + 1}, rapid.IntRange(1, 8).Draw(rt, "gpus"))
	n := h.Run.GPUs()
	h.Covers = nil
	for range rapid.IntRange(1, 5).Draw(rt, "covers") {
		own := rapid.IntRange(0, n).Draw(rt, "own")
		row := CoverRow{instant("cover"), pool.Split{Own: own, Loan: n - own}}
		if rapid.IntRange(0, 4).Draw(rt, "spot") == 0 {
			row.Split = pool.Split{Spot: n}
		}
		if !slices.ContainsFunc(h.Covers, func(c CoverRow) bool { return c.From == row.From }) {
			h.Covers = append(h.Covers, row)
		}
	}
	for _, c := range pool.Covers {
		h.Prices = append(h.Prices,
			PriceWindow{ID: pool.PriceRowID("night-" + c), Class: "a100", Cover: c, Valid: always, Daily: TimeOfDay{rapid.IntRange(0, 1439).Draw(rt, "from"), rapid.IntRange(0, 1439).Draw(rt, "to")}},
			PriceWindow{ID: pool.PriceRowID("new-" + c), Class: "a100", Cover: c, Valid: pool.Interval{Start: instant("list"), End: pool.Never}})
	}
	p, q := instant("plan"), instant("account")
	h.Plans = []PlanWindow{{pool.Interval{Start: p, End: pool.Never}, "lab-2"}, {pool.Interval{Start: 0, End: p}, "lab-1"}}
	h.Assignments = []Assignment{{pool.Interval{Start: q, End: pool.Never}, "llm", "acc-2"}, {pool.Interval{Start: 0, End: q}, "llm", "acc"}}
	return h
}

func fold(rt *rapid.T, h History, v pool.Interval, loc *time.Location) []Segment {
	rt.Helper()
	got, err := Fold(h, v, pool.Never-pool.Instant(ClockSlack.Milliseconds()), loc)
	if err != nil {
		rt.Fatal(err)
	}
	return got
}

func TestSegmentsTileTheRun(t *testing.T) {
	t.Parallel()
	loc := zone(t, "Europe/Berlin")
	met := map[string]int{}
	rapid.Check(t, func(rt *rapid.T) {
		h := histories(rt, loc)
		all := fold(rt, h, always, loc)
		keys := map[Key]bool{}
		end := map[pool.Cover]pool.Instant{}
		var use pool.GPUMillis
		for _, s := range all {
			if s.End <= s.Start || s.GPUs <= 0 || s.Start < end[s.Cover] || keys[s.Key()] {
				rt.Fatalf("segment %+v is empty, overlaps or has its key twice", s)
			}
			if pool.NextMidnight(s.Start, loc) < s.End {
				rt.Fatalf("segment %+v crosses midnight", s)
			}
			keys[s.Key()], end[s.Cover] = true, s.End
			use += s.Use()
			met[string(s.Cover)]++
			met[string(s.PriceRow[:3])]++
			met[string(s.PlanVersion)]++
		}
		if want := pool.GPUMillis(int64(h.Run.GPUs()) * h.Run.Held.Interval().Millis()); use != want {
			rt.Fatalf("%d GPU-ms metered of %d", use, want)
		}
	})
	for _, must := range []string{"own", "loan", "spot", "day", "nig", "new", "lab-1", "lab-2"} {
		if met[must] == 0 {
			t.Errorf("no history met %s: too tame", must)
		}
	}
}

func TestCuttingTheTimeLineAnywhereChangesNoSum(t *testing.T) {
	t.Parallel()
	loc := zone(t, "Europe/Berlin")
	rapid.Check(t, func(rt *rapid.T) {
		h := histories(rt, loc)
		held := h.Run.Held.Interval()
		var parts []Segment
		from := pool.Instant(0)
		cuts := rapid.SliceOfN(rapid.Int64Range(int64(held.Start)-5, int64(held.End)+5), 0, 6).Draw(rt, "cuts")
		slices.Sort(cuts)
		for _, c := range append(cuts, int64(held.End)+10) {
			v := pool.Interval{Start: from, End: pool.Instant(c)}
			parts = append(parts, fold(rt, h, v, loc)...)
			from = h.Run.Reach(v)
		}
		if diff := cmp.Diff(sums(fold(rt, h, always, loc), loc), sums(parts, loc), cmp.AllowUnexported(bucket{})); diff != "" {
			rt.Fatalf("cut at %v: (-whole +parts)\n%s", cuts, diff)
		}
		if from != held.End {
			rt.Fatalf("metered until %s, held until %s", from, held.End)
		}
	})
}

func TestTheOrderOfTheRowsChangesNothing(t *testing.T) {
	t.Parallel()
	loc := zone(t, "Europe/Berlin")
	rapid.Check(t, func(rt *rapid.T) {
		h := histories(rt, loc)
		want := fold(rt, h, always, loc)
		h.Covers = rapid.Permutation(h.Covers).Draw(rt, "covers")
		h.Prices = rapid.Permutation(h.Prices).Draw(rt, "prices")
		h.Plans = rapid.Permutation(h.Plans).Draw(rt, "plans")
		h.Assignments = rapid.Permutation(h.Assignments).Draw(rt, "assignments")
		h.Run.Devices = append(rapid.Permutation(h.Run.Devices).Draw(rt, "devices"), h.Run.Devices[0])
		if diff := cmp.Diff(want, fold(rt, h, always, loc)); diff != "" {
			rt.Fatal(diff)
		}
	})
}

func TestSharesOfAGangAreItsCover(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		n := func(what string) int { return rapid.IntRange(0, 9).Draw(rt, what) }
		whole := pool.Split{Own: n("own"), Loan: n("loan"), Spot: n("spot")}
		var sum pool.Split
		for offset := 0; offset < whole.Total(); {
			g := rapid.IntRange(1, whole.Total()-offset).Draw(rt, "gpus")
			s := Share(whole, offset, g)
			if s.Total() != g {
				rt.Fatalf("%+v of %d GPUs", s, g)
			}
			sum = pool.Split{Own: sum.Own + s.Own, Loan: sum.Loan + s.Loan, Spot: sum.Spot + s.Spot}
			offset += g
		}
		if sum != whole {
			rt.Fatalf("shares sum to %+v, not to %+v", sum, whole)
		}
	})
}

func TestACorrectedLedgerCountsWhatIsRight(t *testing.T) {
	t.Parallel()
	loc := zone(t, "Europe/Berlin")
	reversed := 0
	rapid.Check(t, func(rt *rapid.T) {
		h := histories(rt, loc)
		ledger := fold(rt, h, always, loc)
		keys := map[Key]bool{}
		for _, s := range ledger {
			keys[s.Key()] = true
		}
		for range rapid.IntRange(1, 3).Draw(rt, "corrections") {
			next := histories(rt, loc)
			next.Run.Alloc = h.Run.Alloc
			right := fold(rt, next, always, loc)
			rows, err := Replace(ledger, right)
			if err != nil {
				rt.Fatal(err)
			}
			for _, s := range rows {
				if keys[s.Key()] {
					rt.Fatalf("row %+v has a key that is in the ledger", s)
				}
				keys[s.Key()] = true
				if s.Sign < 0 {
					reversed++
				}
			}
			ledger = append(ledger, rows...)
			if diff := cmp.Diff(sums(right, loc), sums(ledger, loc), cmp.AllowUnexported(bucket{})); diff != "" {
				rt.Fatalf("reversal and replacement are not the replacement alone: %s", diff)
			}
			if again, err := Replace(ledger, right); err != nil || len(again) != 0 {
				rt.Fatalf("correcting what is right appends %+v, %v", again, err)
			}
		}
	})
	if reversed == 0 {
		t.Error("nothing was ever reversed: too tame")
	}
}
