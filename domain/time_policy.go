package domain

import (
	"slices"
	"time"

	"gpupool/domain/pool"
)

// TimePolicy is a rule that holds at some hours of some days in the pool's
// zone. It changes the quota of a member in a GPU type, or closes hours to
// work of a tier. Rows are never edited, only ended: what held at a past
// instant is what is stored.
type TimePolicy struct {
	ID    string
	Name  string       // what people call it
	Org   pool.OrgID   // empty: every member; only where it closes hours
	Class pool.ClassID // empty: every GPU type; only where it closes hours

	// Closed: no work of the tier runs then. Flexible and spot work is stopped
	// with notice before it begins; guaranteed work isn't started where it
	// could still run then, and what runs already goes on.
	Closed bool
	Tier   pool.Tier // empty: every tier

	// Else: the quota that holds then. nil: as it is without this policy.
	Guaranteed *int // instead of plan and contributions
	More       int  // added to the guaranteed GPUs; may be negative
	Borrow     *int // borrow limit
	Lend       *int // lend limit, contributed GPUs included

	First, Last string // days on which it begins, 2026-03-01, both included; empty: open
	Days        int    // weekdays on which it begins: bit 0 is Monday, 127 all
	From, To    int    // minutes of the day; a To not after From is on the next day, 0 and 1440 the whole day

	CreatedAt pool.Instant
	EndedAt   pool.Instant // pool.Never while it stands
}

const allDays = 1<<7 - 1

const dayLayout = "2006-01-02"

// comingDays is how far ahead time policies are laid out: longer than any job runs.
const comingDays = 2 * 31

// on tells whether the policy begins on a day.
func (p TimePolicy) on(day time.Time) bool {
	text := day.Format(dayLayout)
	weekday := (int(day.Weekday()) + 6) % 7
	return p.Days>>weekday&1 == 1 && (p.First == "" || p.First <= text) && (p.Last == "" || text <= p.Last)
}

// minutes of the day at which it begins and ends.
func (p TimePolicy) minutes() (from, to int) {
	if to = p.To; to <= p.From {
		to += 1440
	}
	return p.From, to
}

// spans are the times inside part at which the policy holds, in order and
// apart from each other. part ends before pool.Never.
func (p TimePolicy) spans(part pool.Interval, zone *time.Location) []pool.Interval {
	part = part.Intersect(pool.Interval{Start: p.CreatedAt, End: p.EndedAt})
	if part.Empty() {
		return nil
	}
	from, to := p.minutes()
	y, m, d := part.Start.In(zone).Date()
	first := time.Date(y, m, d, 0, 0, 0, 0, time.UTC).AddDate(0, 0, -2) // one may last till here from the days before
	if start, err := time.Parse(dayLayout, p.First); err == nil && start.After(first) {
		first = start
	}
	var out []pool.Interval
	for day := first; p.Last == "" || day.Format(dayLayout) <= p.Last; day = day.AddDate(0, 0, 1) {
		y, m, d := day.Date()
		if pool.WallClock(y, m, d, 0, zone) >= part.End {
			break
		}
		if !p.on(day) {
			continue
		}
		v := pool.Interval{Start: pool.WallClock(y, m, d, from, zone), End: pool.WallClock(y, m, d, to, zone)}.Intersect(part)
		if v.Empty() {
			continue
		}
		if n := len(out); n > 0 && v.Start <= out[n-1].End {
			out[n-1].End = max(out[n-1].End, v.End)
			continue
		}
		out = append(out, v)
	}
	return out
}

// holds tells whether the policy is in force at an instant.
func (p TimePolicy) holds(at pool.Instant, zone *time.Location) bool {
	return len(p.spans(pool.Interval{Start: at, End: at + 1}, zone)) > 0
}

// sets says which absolute values of a quota the policy replaces.
func (p TimePolicy) sets() (guaranteed, borrow, lend bool) {
	return p.Guaranteed != nil, p.Borrow != nil, p.Lend != nil
}

// clashes names what two policies would both set at some time; "" when they
// leave each other alone. Added GPUs add up, and closed hours close together.
func (p TimePolicy) clashes(q TimePolicy) string {
	if p.Closed || q.Closed || p.Org != q.Org || p.Class != q.Class {
		return ""
	}
	g, b, l := p.sets()
	g2, b2, l2 := q.sets()
	field := ""
	switch {
	case g && g2:
		field = "guaranteed"
	case b && b2:
		field = "borrow"
	case l && l2:
		field = "lend"
	}
	if field == "" || !p.meets(q) {
		return ""
	}
	return field
}

// meets tells whether two policies hold together on some day of the calendar,
// clock changes apart. After two weeks of both their weekdays repeat.
func (p TimePolicy) meets(q TimePolicy) bool {
	if p.EndedAt <= q.CreatedAt || q.EndedAt <= p.CreatedAt {
		return false
	}
	first, last := max(p.First, q.First), ""
	for _, x := range []string{p.Last, q.Last} {
		if x != "" && (last == "" || x < last) {
			last = x
		}
	}
	day, err := time.Parse(dayLayout, first)
	if err != nil {
		day = time.Date(2026, 1, 5, 0, 0, 0, 0, time.UTC)
		if end, err := time.Parse(dayLayout, last); err == nil {
			day = end.AddDate(0, 0, -14)
		}
	}
	clock := func(x TimePolicy) []pool.Interval { // in minutes
		var out []pool.Interval
		for k := -1; k <= 15; k++ {
			if x.on(day.AddDate(0, 0, k)) {
				from, to := x.minutes()
				out = append(out, pool.Interval{Start: pool.Instant(k*1440 + from), End: pool.Instant(k*1440 + to)})
			}
		}
		return out
	}
	mine, others := clock(p), clock(q)
	return slices.ContainsFunc(mine, func(v pool.Interval) bool { return slices.ContainsFunc(others, v.Overlaps) })
}

// apply changes the quota of a member as the policies say that hold: first
// what replaces, then what adds.
func apply(holding []TimePolicy, of func(pool.ClassID) *ClassQuota) {
	for _, p := range holding {
		q := of(p.Class)
		if q.Policies = append(q.Policies, p.Name); p.Guaranteed != nil {
			q.Nominal = *p.Guaranteed
		}
		if p.Borrow != nil {
			q.MostBorrow = *p.Borrow
		}
		if p.Lend != nil {
			q.MostLend = *p.Lend
		}
		q.Borrow, q.Lend = q.MostBorrow, q.MostLend
	}
	for _, p := range holding {
		q := of(p.Class)
		q.Nominal = max(0, q.Nominal+p.More)
	}
}
