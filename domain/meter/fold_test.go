package meter

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gpupool/domain/pool"
)

func zone(t testing.TB, name string) *time.Location {
	t.Helper()
	loc, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return loc
}

func at(t testing.TB, s string) pool.Instant {
	t.Helper()
	i, err := time.Parse(time.RFC3339, s)
	if err != nil {
		t.Fatal(err)
	}
	return pool.At(i)
}

var always = pool.Interval{Start: 0, End: pool.Never}

// one is the history of an allocation of gpus GPUs, all own, held over v.
func one(v pool.Interval, gpus int) History {
	var devices []string
	for i := range gpus {
		devices = append(devices, fmt.Sprintf("GPU-%d", i))
	}
	prices := []PriceWindow{}
	for _, c := range pool.Covers {
		prices = append(prices, PriceWindow{ID: pool.PriceRowID("day-" + c), Class: "a100", Cover: c, Valid: always})
	}
	return History{
		Run: Run{Alloc: "a1", Attempt: pool.AttemptID{Job: "j", N: 1}, Org: "o", User: "u", Class: "a100", Node: "n", Source: "nomad",
			Devices: devices, Held: Held{Start: v.Start, End: v.End, Seen: v.End, Quality: Exact}},
		Covers:      []CoverRow{{v.Start, pool.Split{Own: gpus}}},
		Prices:      prices,
		Plans:       []PlanWindow{{always, "lab-1"}},
		Assignments: []Assignment{{always, "llm", "acc"}},
	}
}

// short prints segments as "cover gpus row plan account [start,end)" in minutes.
func short(t testing.TB, from pool.Instant, segments []Segment) []string {
	t.Helper()
	var out []string
	for _, s := range segments {
		out = append(out, fmt.Sprintf("%s %d %s %s %s [%d,%d)", s.Cover, s.GPUs, s.PriceRow, s.PlanVersion, s.Account,
			(s.Start-from)/60_000, (s.End-from)/60_000))
	}
	return out
}

func TestFoldCutsWhereTheMoneyChanges(t *testing.T) {
	t.Parallel()
	utc := time.UTC
	noon := at(t, "2026-11-12T12:00:00Z")
	hour := pool.Interval{Start: noon, End: noon.Add(time.Hour)}
	day := pool.Interval{Start: noon, End: noon.Add(24 * time.Hour)}
	m := func(n int) pool.Instant { return noon.Add(time.Duration(n) * time.Minute) }
	for _, c := range []struct {
		what string
		held pool.Interval
		gpus int
		set  func(*History)
		want []string
	}{
		{"a quiet hour is one segment", hour, 2, nil, []string{"own 2 day-own lab-1 acc [0,60)"}},
		{"a gang of 8 with 3 of quota left is two", hour, 8, func(h *History) { h.Covers[0].Split = pool.Split{Own: 3, Loan: 5} },
			[]string{"own 3 day-own lab-1 acc [0,60)", "loan 5 day-loan lab-1 acc [0,60)"}},
		{"a new cover holds from its instant on", hour, 4, func(h *History) {
			h.Covers = []CoverRow{{m(20), pool.Split{Own: 1, Loan: 3}}, {m(0), pool.Split{Own: 4}}}
		}, []string{"own 4 day-own lab-1 acc [0,20)", "own 1 day-own lab-1 acc [20,60)", "loan 3 day-loan lab-1 acc [20,60)"}},
		{"a cover row that changes nothing cuts nothing", hour, 4, func(h *History) {
			h.Covers = append(h.Covers, CoverRow{m(20), pool.Split{Own: 4}})
		}, []string{"own 4 day-own lab-1 acc [0,60)"}},
		{"a start before the first decision has its cover", hour, 1, func(h *History) { h.Covers[0].From = m(1) },
			[]string{"own 1 day-own lab-1 acc [0,60)"}},
		{"midnight cuts", day, 1, nil, []string{"own 1 day-own lab-1 acc [0,720)", "own 1 day-own lab-1 acc [720,1440)"}},
		{"a night row applies at night", day, 1, func(h *History) {
			h.Prices = append(h.Prices, PriceWindow{ID: "night-own", Class: "a100", Cover: pool.Own, Valid: always, Daily: TimeOfDay{22 * 60, 6 * 60}})
		}, []string{"own 1 day-own lab-1 acc [0,600)", "own 1 night-own lab-1 acc [600,720)", "own 1 night-own lab-1 acc [720,1080)", "own 1 day-own lab-1 acc [1080,1440)"}},
		{"a night that began yesterday goes on", pool.Interval{Start: noon.Add(-11 * time.Hour), End: noon}, 1, func(h *History) {
			h.Prices = append(h.Prices, PriceWindow{ID: "night-own", Class: "a100", Cover: pool.Own, Valid: always, Daily: TimeOfDay{22 * 60, 6 * 60}})
		}, []string{"own 1 night-own lab-1 acc [-660,-360)", "own 1 day-own lab-1 acc [-360,0)"}},
		{"a night row of another cover cuts nothing", day, 1, func(h *History) {
			h.Prices = append(h.Prices, PriceWindow{ID: "night-spot", Class: "a100", Cover: pool.SpotCover, Valid: always, Daily: TimeOfDay{22 * 60, 6 * 60}})
		}, []string{"own 1 day-own lab-1 acc [0,720)", "own 1 day-own lab-1 acc [720,1440)"}},
		{"the list that became valid last wins", hour, 1, func(h *History) {
			h.Prices = append(h.Prices, PriceWindow{ID: "new-own", Class: "a100", Cover: pool.Own, Valid: pool.Interval{Start: m(30), End: pool.Never}})
		}, []string{"own 1 day-own lab-1 acc [0,30)", "own 1 new-own lab-1 acc [30,60)"}},
		{"a new plan version cuts, the instant belongs to it", hour, 1, func(h *History) {
			h.Plans = []PlanWindow{{pool.Interval{Start: m(30), End: m(50)}, "lab-2"}, {pool.Interval{Start: 0, End: m(30)}, "lab-1"}}
		}, []string{"own 1 day-own lab-1 acc [0,30)", "own 1 day-own lab-2 acc [30,50)", "own 1 day-own  acc [50,60)"}},
		{"a new billing account cuts", hour, 1, func(h *History) {
			h.Assignments = []Assignment{{pool.Interval{Start: 0, End: m(30)}, "llm", "acc"}, {pool.Interval{Start: m(30), End: pool.Never}, "llm", "acc-2"}}
		}, []string{"own 1 day-own lab-1 acc [0,30)", "own 1 day-own lab-1 acc-2 [30,60)"}},
		{"a device that is named twice counts once", hour, 2, func(h *History) { h.Run.Devices = append(h.Run.Devices, h.Run.Devices[0]) },
			[]string{"own 2 day-own lab-1 acc [0,60)"}},
		{"the second allocation of a gang takes what the first left", hour, 4, func(h *History) {
			h.Covers[0].Split, h.Run.Offset = pool.Split{Own: 5, Loan: 3}, 4
		}, []string{"own 1 day-own lab-1 acc [0,60)", "loan 3 day-loan lab-1 acc [0,60)"}},
		{"an empty hold is nothing", pool.Interval{Start: noon, End: noon}, 1, nil, nil},
	} {
		h := one(c.held, c.gpus)
		if c.set != nil {
			c.set(&h)
		}
		got, err := Fold(h, pool.Interval{Start: 0, End: day.End}, day.End, utc)
		if err != nil {
			t.Errorf("%s: %v", c.what, err)
		}
		if diff := cmp.Diff(c.want, short(t, noon, got)); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", c.what, diff)
		}
	}
}

func TestANightWindowFollowsTheClockChange(t *testing.T) {
	t.Parallel()
	berlin := zone(t, "Europe/Berlin")
	for _, c := range []struct {
		what, noon string
		want       int64 // milliseconds of night between two noons
	}{
		{"an ordinary night", "2026-11-12T12:00:00+01:00", 8 * 3_600_000},
		{"the night that loses an hour", "2026-03-28T12:00:00+01:00", 7 * 3_600_000},
		{"the night that gains an hour", "2026-10-24T12:00:00+02:00", 9 * 3_600_000},
	} {
		start := at(t, c.noon)
		h := one(pool.Interval{Start: start, End: start.Add(24 * time.Hour)}, 1)
		h.Prices = append(h.Prices, PriceWindow{ID: "night", Class: "a100", Cover: pool.Own, Valid: always, Daily: TimeOfDay{22 * 60, 6 * 60}})
		got, err := Fold(h, h.Run.Held.Interval(), h.Run.Held.End, berlin)
		if err != nil {
			t.Fatal(err)
		}
		var night int64
		for _, s := range got {
			if s.PriceRow == "night" {
				night += s.Interval().Millis()
			}
		}
		if night != c.want {
			t.Errorf("%s has %d ms, want %d", c.what, night, c.want)
		}
	}
}

func TestFoldNamesWhatIsMissing(t *testing.T) {
	t.Parallel()
	v := pool.Interval{Start: 1000, End: 2000}
	for _, c := range []struct {
		what string
		set  func(*History)
		now  pool.Instant
		want error
	}{
		{"no cover row", func(h *History) { h.Covers = nil }, 2000, ErrNoCover},
		{"more devices than covered", func(h *History) { h.Covers[0].Split = pool.Split{Own: 1} }, 2000, ErrTooFewCover},
		{"no price row", func(h *History) { h.Prices = h.Prices[1:] }, 2000, ErrNoPrice},
		{"a price row that ends too early", func(h *History) { h.Prices[0].Valid.End = 1500 }, 2000, ErrNoPrice},
		{"no billing account", func(h *History) { h.Assignments = nil }, 2000, ErrNoAssignment},
		{"an end in the future", func(*History) {}, 2000 - 5001, ErrFuture},
	} {
		h := one(v, 2)
		c.set(&h)
		if got, err := Fold(h, v, c.now, time.UTC); !errors.Is(err, c.want) || got != nil {
			t.Errorf("%s: %v, %v; want %v", c.what, got, err, c.want)
		}
	}
}

func TestAnEarlierStartIsOneMoreSegment(t *testing.T) {
	t.Parallel()
	h := one(pool.Interval{Start: 5000, End: 9000}, 1)
	late, err := Fold(h, pool.Interval{Start: 0, End: 9000}, 9000, time.UTC)
	if err != nil {
		t.Fatal(err)
	}
	h.Run.Held.Start = 3000
	early, err := Fold(h, pool.Interval{Start: 3000, End: 5000}, 9000, time.UTC)
	if err != nil {
		t.Fatal(err)
	}
	if len(late) != 1 || len(early) != 1 || early[0].End != late[0].Start || early[0].Start != 3000 || early[0].Key() == late[0].Key() {
		t.Errorf("%+v then %+v", late, early)
	}
}

func TestAWholeDayIsNoTimeOfDay(t *testing.T) {
	t.Parallel()
	for d, want := range map[TimeOfDay]bool{{}: true, {0, 1440}: true, {0, 1439}: false, {1320, 360}: false, {1320, 1440}: false, {60, 60}: false} {
		if d.WholeDay() != want {
			t.Errorf("%v is a whole day: %v", d, !want)
		}
	}
}
