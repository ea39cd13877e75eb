package pool_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

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

func TestAWallClockTimeThatIsSkippedOrRepeated(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, zone string
		day        string
		minute     int
		want       string
	}{
		{"an ordinary morning", "Europe/Berlin", "2026-06-15", 8 * 60, "2026-06-15T06:00:00Z"},
		{"before the skipped hour", "Europe/Berlin", "2026-03-29", 119, "2026-03-29T00:59:00Z"},
		{"the skipped hour begins", "Europe/Berlin", "2026-03-29", 120, "2026-03-29T01:00:00Z"},
		{"inside the skipped hour: when the clocks change", "Europe/Berlin", "2026-03-29", 150, "2026-03-29T01:00:00Z"},
		{"the skipped hour ends", "Europe/Berlin", "2026-03-29", 180, "2026-03-29T01:00:00Z"},
		{"shown twice: the first of both", "Europe/Berlin", "2026-10-25", 150, "2026-10-25T00:30:00Z"},
		{"the repeated hour ends: after both", "Europe/Berlin", "2026-10-25", 180, "2026-10-25T02:00:00Z"},
		{"midnight at a day's end", "Europe/Berlin", "2026-10-25", 1440, "2026-10-25T23:00:00Z"},
		{"over midnight", "Europe/Berlin", "2026-03-28", 24*60 + 150, "2026-03-29T01:00:00Z"},
		{"after the skipped hour", "Europe/Berlin", "2026-03-29", 240, "2026-03-29T02:00:00Z"},
		{"before the repeated hour", "Europe/Berlin", "2026-10-25", 60, "2026-10-24T23:00:00Z"},
		{"skipped midnight", "America/Santiago", "2026-09-06", 0, "2026-09-06T04:00:00Z"},
		{"inside the hour after a skipped midnight", "America/Santiago", "2026-09-06", 30, "2026-09-06T04:00:00Z"},
		{"after it", "America/Santiago", "2026-09-06", 60, "2026-09-06T04:00:00Z"},
		{"the last hour of a day, shown twice", "America/Santiago", "2026-04-04", 23*60 + 30, "2026-04-05T02:30:00Z"},
		{"the midnight after it", "America/Santiago", "2026-04-04", 1440, "2026-04-05T04:00:00Z"},
		{"a day that the zone left out", "Pacific/Apia", "2011-12-30", 8 * 60, "2011-12-30T10:00:00Z"},
		{"a day shown again for a minute", "America/St_Johns", "2010-11-07", 0, "2010-11-07T02:30:00Z"},
	} {
		day, err := time.Parse("2006-01-02", c.day)
		if err != nil {
			t.Fatal(err)
		}
		want, err := time.Parse(time.RFC3339, c.want)
		if err != nil {
			t.Fatal(err)
		}
		if got := pool.WallClock(day.Year(), day.Month(), day.Day(), c.minute, zone(t, c.zone)); got != pool.At(want) {
			t.Errorf("%s, %s: %s %d min is %s, want %s", c.name, c.zone, c.day, c.minute, got, c.want)
		}
	}
}

// It never falls as the minute grows, and at midnight it is the day's start.
func TestWallClockTimesAreInOrder(t *testing.T) {
	t.Parallel()
	zones := []string{"Europe/Berlin", "America/Santiago", "Australia/Lord_Howe", "Africa/Casablanca", "UTC", "Asia/Kathmandu"}
	rapid.Check(t, func(t *rapid.T) {
		loc, err := time.LoadLocation(rapid.SampledFrom(zones).Draw(t, "zone"))
		if err != nil {
			t.Fatal(err)
		}
		d := rapid.IntRange(0, 4000).Draw(t, "day")
		a := rapid.IntRange(0, 2880).Draw(t, "a")
		b := rapid.IntRange(a, 2880).Draw(t, "b")
		at := func(minute int) pool.Instant { return pool.WallClock(2020, 1, 1+d, minute, loc) }
		if at(a) > at(b) {
			t.Fatalf("minute %d is %s, minute %d is %s", a, at(a), b, at(b))
		}
		want := time.Date(2020, 1, 1+d, 0, a, 0, 0, time.UTC)
		shown := func(i pool.Instant) time.Time {
			_, offset := i.In(loc).Zone()
			return i.Time().Add(time.Duration(offset) * time.Second)
		}
		if got := shown(at(a)); !got.Equal(want) && (got.Before(want) || !shown(at(a)-1).Before(want)) {
			t.Fatalf("minute %d is %s, which the clocks show as %s, and as %s before", a, at(a), got, shown(at(a)-1))
		}
		if got, want := at(0), pool.DayStart(2020, 1, 1+d, loc); got != want {
			t.Fatalf("midnight is %s, the day starts %s", got, want)
		}
		if got, want := at(1440), pool.DayStart(2020, 1, 2+d, loc); got != want {
			t.Fatalf("the end of the day is %s, the next starts %s", got, want)
		}
	})
}
