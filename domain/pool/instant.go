package pool

import (
	"fmt"
	"time"
)

// Instant is a moment in milliseconds since 1970-01-01T00:00:00Z. It is what
// the ledger stores: an integer, floored, with no zone.
type Instant int64

// Never is the open end of an interval that has not ended.
const Never Instant = 1<<63 - 1

// At floors t to the millisecond.
func At(t time.Time) Instant {
	ms := t.UnixMilli() // rounds toward zero for the nanoseconds of a negative time
	if time.UnixMilli(ms).After(t) {
		ms--
	}
	return Instant(ms)
}

func (i Instant) Time() time.Time                 { return time.UnixMilli(int64(i)).UTC() }
func (i Instant) Add(d time.Duration) Instant     { return i + Instant(d.Milliseconds()) }
func (i Instant) Sub(j Instant) time.Duration     { return time.Duration(i-j) * time.Millisecond }
func (i Instant) Before(j Instant) bool           { return i < j }
func (i Instant) In(loc *time.Location) time.Time { return i.Time().In(loc) }
func (i Instant) String() string {
	if i == Never {
		return "never"
	}
	return i.Time().Format("2006-01-02T15:04:05.000Z")
}

// Interval is half-open: [Start, End).
type Interval struct{ Start, End Instant }

func (v Interval) Empty() bool             { return v.End <= v.Start }
func (v Interval) Contains(i Instant) bool { return v.Start <= i && i < v.End }
func (v Interval) Overlaps(w Interval) bool {
	return v.Start < w.End && w.Start < v.End
}

// Millis is the length in milliseconds, zero when empty.
func (v Interval) Millis() int64 {
	if v.Empty() {
		return 0
	}
	return int64(v.End - v.Start)
}

// Intersect is the part that v and w share; Empty when none.
func (v Interval) Intersect(w Interval) Interval {
	return Interval{max(v.Start, w.Start), min(v.End, w.End)}
}

// GPUMillis is use: GPUs times milliseconds.
type GPUMillis int64

const MillisPerHour = 3_600_000

// GPUHours as an exact decimal text with up to 3 digits, rounded half away
// from zero. For people; never computed with.
func (g GPUMillis) Hours() string {
	n, sign := int64(g), ""
	if n < 0 {
		n, sign = -n, "-"
	}
	th := (n/MillisPerHour)*1000 + ((n%MillisPerHour)*1000+MillisPerHour/2)/MillisPerHour
	return fmt.Sprintf("%s%d.%03d", sign, th/1000, th%1000)
}

// Month is a billing period: a calendar month of the billing zone.
type Month struct {
	Year  int
	Month time.Month
}

// MonthOf is the billing month in which i lies.
func MonthOf(i Instant, loc *time.Location) Month {
	t := i.In(loc)
	return Month{t.Year(), t.Month()}
}

func (m Month) Next() Month { return m.Plus(1) }
func (m Month) Prev() Month { return m.Plus(-1) }
func (m Month) Plus(n int) Month {
	k := m.Year*12 + int(m.Month) - 1 + n
	return Month{k / 12, time.Month(k%12 + 1)}
}
func (m Month) Before(o Month) bool {
	return m.Year < o.Year || m.Year == o.Year && m.Month < o.Month
}

// String is the month as 2026-11.
func (m Month) String() string { return fmt.Sprintf("%04d-%02d", m.Year, int(m.Month)) }

// Bounds computes each edge with the zone's own rules for that date, so
// neighbouring months tile the line in every zone.
func (m Month) Bounds(loc *time.Location) Interval {
	n := m.Next()
	return Interval{
		DayStart(m.Year, m.Month, 1, loc),
		DayStart(n.Year, n.Month, 1, loc),
	}
}

// ParseMonth reads 2026-11.
func ParseMonth(s string) (Month, error) {
	t, err := time.Parse("2006-01", s)
	if err != nil {
		return Month{}, fmt.Errorf("month %q: write it as 2026-11", s)
	}
	return Month{t.Year(), t.Month()}, nil
}

// DayStart is the first instant of a day in a zone. Where clocks skip midnight
// it is the moment of the change, where they show it twice the first of both,
// where the zone left the whole day out the start of the next.
func DayStart(y int, m time.Month, d int, loc *time.Location) Instant {
	return WallClock(y, m, d, 0, loc)
}

// NextMidnight is the first midnight of the zone strictly after i. Where a
// day has no midnight (a clock change), it is the first instant of that day.
func NextMidnight(i Instant, loc *time.Location) Instant {
	y, m, d := i.In(loc).Date()
	for k := 1; ; k++ {
		if n := DayStart(y, m, d+k, loc); n > i {
			return n
		}
	}
}
