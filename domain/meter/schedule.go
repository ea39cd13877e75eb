package meter

import (
	"cmp"
	"slices"
	"time"

	"gpupool/domain/pool"
)

// schedule is when which price row of one class and cover applies, spread out
// over one interval.
type schedule struct {
	spans []span // the row that wins comes first
	cuts  []pool.Instant
}

type span struct {
	pool.Interval
	row pool.PriceRowID
}

func newSchedule(rows []PriceWindow, class pool.ClassID, c pool.Cover, part pool.Interval, zone *time.Location) schedule {
	rows = slices.DeleteFunc(slices.Clone(rows), func(w PriceWindow) bool {
		return w.Class != class || w.Cover != c || !w.Valid.Overlaps(part)
	})
	slices.SortFunc(rows, func(a, b PriceWindow) int {
		return cmp.Or(cmp.Compare(b.Valid.Start, a.Valid.Start), compareWhole(a.Daily, b.Daily), cmp.Compare(a.ID, b.ID))
	})
	var s schedule
	for _, w := range rows {
		for _, v := range w.spans(part, zone) {
			s.spans = append(s.spans, span{v, w.ID})
			s.cuts = append(s.cuts, v.Start, v.End)
		}
	}
	return s
}

// compareWhole puts windows with a time of day before whole days.
func compareWhole(a, b TimeOfDay) int {
	rank := func(d TimeOfDay) int {
		if d.WholeDay() {
			return 1
		}
		return 0
	}
	return rank(a) - rank(b)
}

// spans are the intervals inside part in which w applies. The edges of each
// day follow the zone's rules for that date, so a window of eight hours has
// seven or nine in the nights in which the clock changes.
func (w PriceWindow) spans(part pool.Interval, zone *time.Location) []pool.Interval {
	part = part.Intersect(w.Valid)
	if w.Daily.WholeDay() {
		return []pool.Interval{part}
	}
	to := w.Daily.To
	if to <= w.Daily.From {
		to += 24 * 60
	}
	var out []pool.Interval
	y, m, d := part.Start.In(zone).Date()
	for k := -1; ; k++ {
		v := pool.Interval{Start: wallClock(y, m, d+k, w.Daily.From, zone), End: wallClock(y, m, d+k, to, zone)}
		if v.Start >= part.End {
			return out
		}
		if v = v.Intersect(part); !v.Empty() {
			out = append(out, v)
		}
	}
}

func wallClock(y int, m time.Month, d, minute int, zone *time.Location) pool.Instant {
	return pool.At(time.Date(y, m, d, 0, minute, 0, 0, zone))
}

func (s schedule) at(i pool.Instant) (pool.PriceRowID, bool) {
	for _, v := range s.spans {
		if v.Contains(i) {
			return v.row, true
		}
	}
	return "", false
}
