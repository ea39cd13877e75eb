package pool

import "time"

// WallClock is the first instant at which the clocks of a zone show a minute
// of a day (0 to 1440, or beyond, which is the next day) or a later time.
// Where they show it twice it is the first of both; where they skip it, the
// moment of the change. So it never falls as the minute grows, and windows
// that meet on the clock meet in time on every day.
func WallClock(y int, m time.Month, d, minute int, loc *time.Location) Instant {
	want := time.Date(y, m, d, 0, minute, 0, 0, time.UTC) // as if the zone were UTC
	first, change := Never, Never
	for _, near := range []int{-1, 1} {
		_, offset := want.AddDate(0, 0, near).In(loc).Zone()
		t := want.Add(-time.Duration(offset) * time.Second).In(loc)
		if shown := shownAt(t); shown.Equal(want) {
			first = min(first, At(t))
		} else if shown.After(want) {
			begin, _ := t.ZoneBounds()
			change = min(change, At(begin))
		}
	}
	if first == Never { // the clocks skipped it
		return change
	}
	return first
}

// shownAt is what the clock shows, as if the zone were UTC.
func shownAt(t time.Time) time.Time {
	_, offset := t.Zone()
	return t.UTC().Add(time.Duration(offset) * time.Second)
}
