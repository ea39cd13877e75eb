package pool

import (
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func zone(t testing.TB, name string) *time.Location {
	t.Helper()
	loc, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return loc
}

func TestMonthsHaveTheSecondsOfTheirZone(t *testing.T) {
	t.Parallel()
	berlin := zone(t, "Europe/Berlin")
	for _, c := range []struct {
		m    Month
		want int64
	}{{Month{2026, time.March}, 2_674_800}, {Month{2026, time.October}, 2_682_000}} {
		if got := c.m.Bounds(berlin).Millis() / 1000; got != c.want {
			t.Errorf("%s has %d s, want %d", c.m, got, c.want)
		}
	}
}

func TestMonthsTileTheLineInEveryZone(t *testing.T) {
	t.Parallel()
	zones := []string{"Europe/Berlin", "America/Asuncion", "Asia/Shanghai", "Asia/Kathmandu", "Pacific/Apia", "America/New_York", "UTC"}
	rapid.Check(t, func(rt *rapid.T) {
		loc := zone(t, rapid.SampledFrom(zones).Draw(rt, "zone"))
		m := Month{rapid.IntRange(1990, 2060).Draw(rt, "year"), time.Month(rapid.IntRange(1, 12).Draw(rt, "month"))}
		b := m.Bounds(loc)
		if b.Empty() || b.End != m.Next().Bounds(loc).Start {
			rt.Fatalf("%s %s: %v does not meet %v", loc, m, b, m.Next().Bounds(loc))
		}
		i := b.Start + Instant(rapid.Int64Range(0, b.Millis()-1).Draw(rt, "inside"))
		if MonthOf(i, loc) != m {
			rt.Fatalf("%s lies in %s, not in %s", i, MonthOf(i, loc), m)
		}
		n := NextMidnight(i, loc)
		if n <= i || n.Sub(i) > 26*time.Hour {
			rt.Fatalf("next midnight of %s is %s", i, n)
		}
	})
}

func TestADayStartsWhereTheClocksChange(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ zone, day, want string }{
		{"Europe/Berlin", "2026-03-29", "2026-03-28T23:00:00.000Z"},
		{"America/Asuncion", "1990-10-01", "1990-10-01T04:00:00.000Z"},  // midnight is skipped
		{"America/Havana", "2026-11-01", "2026-11-01T04:00:00.000Z"},    // midnight comes twice
		{"America/Sao_Paulo", "2018-02-18", "2018-02-18T03:00:00.000Z"}, // clocks go from midnight back to 23:00
		{"Pacific/Apia", "2011-12-30", "2011-12-30T10:00:00.000Z"},      // there is no such day: the next begins
		{"Pacific/Apia", "2011-12-31", "2011-12-30T10:00:00.000Z"},
	} {
		day, err := time.Parse(time.DateOnly, c.day)
		if err != nil {
			t.Fatal(err)
		}
		if got := DayStart(day.Year(), day.Month(), day.Day(), zone(t, c.zone)).String(); got != c.want {
			t.Errorf("%s in %s starts at %s, not %s", c.day, c.zone, got, c.want)
		}
	}
}

func TestAtFloors(t *testing.T) {
	t.Parallel()
	if At(time.Unix(0, -1)) != -1 || At(time.Unix(0, 999_999)) != 0 {
		t.Error("an instant is floored, before 1970 too")
	}
}

func TestEveryReasonHasOneRow(t *testing.T) {
	t.Parallel()
	seen := map[ReasonCode]bool{}
	cases := map[string]bool{}
	for _, r := range Reasons {
		if seen[r.Code] || cases[r.CaseCode] || r.Sentence == "" || r.Lifts == "" {
			t.Errorf("reason %q is doubled or incomplete", r.Code)
		}
		// "It starts when" asks for who does what: a subject and its verb, no order.
		if first, _, _ := strings.Cut(r.Lifts, " "); !slices.Contains([]string{"a", "an", "the", "that", "jobs", "owners", "finance", "running", "GPUs"}, first) || strings.HasSuffix(r.Lifts, ".") {
			t.Errorf("reason %q: It starts when %s", r.Code, r.Lifts)
		}
		if s, _ := r.Outlook(); (r.Code == NeverFits) != strings.HasPrefix(s, "It can never start") {
			t.Errorf("reason %q: %s", r.Code, s)
		}
		seen[r.Code], cases[r.CaseCode] = true, true
	}
	if len(seen) != 25 {
		t.Errorf("%d reasons, want 25", len(seen))
	}
}

func TestHoursAreRoundedAwayFromZero(t *testing.T) {
	t.Parallel()
	for in, want := range map[GPUMillis]string{0: "0.000", 3_600_000: "1.000", 1800: "0.001", 1799: "0.000", -1800: "-0.001", 1<<63 - 1: "2562047788015.216"} {
		if got := in.Hours(); got != want {
			t.Errorf("%d is %s, want %s", in, got, want)
		}
	}
}
