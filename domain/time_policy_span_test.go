package domain

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"gpupool/domain/pool"
)

func place(t testing.TB, name string) *time.Location {
	t.Helper()
	loc, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return loc
}

func utc(t testing.TB, s string) pool.Instant {
	t.Helper()
	x, err := time.Parse("2006-01-02T15:04", s)
	if err != nil {
		t.Fatal(err)
	}
	return pool.At(x)
}

// always holds at its hours from the beginning of time.
func always(days, from, to int) TimePolicy {
	return TimePolicy{Days: days, From: from, To: to, EndedAt: pool.Never}
}

func TestWhenATimePolicyHolds(t *testing.T) {
	t.Parallel()
	const workdays = 31
	dated := func(p TimePolicy, first, last string) TimePolicy { p.First, p.Last = first, last; return p }
	for _, c := range []struct {
		name, zone string
		policy     TimePolicy
		from, to   string
		want       []string // UTC, pairs
	}{
		{"workdays by day", "Europe/Berlin", always(workdays, 480, 1080), "2026-06-12T00:00", "2026-06-16T00:00",
			[]string{"2026-06-12T06:00", "2026-06-12T16:00", "2026-06-15T06:00", "2026-06-15T16:00"}},
		{"nights begin on their day and end on the next", "Europe/Berlin", always(1<<4, 1320, 360), "2026-06-12T00:00", "2026-06-16T00:00", // Friday
			[]string{"2026-06-12T20:00", "2026-06-13T04:00"}},
		{"a month of whole days is one time", "Europe/Berlin", dated(always(127, 0, 1440), "2026-03-01", "2026-03-31"), "2026-01-01T00:00", "2026-12-01T00:00",
			[]string{"2026-02-28T23:00", "2026-03-31T22:00"}},
		{"hours that are skipped are none", "Europe/Berlin", always(1<<6, 120, 180), "2026-03-29T00:00", "2026-03-30T00:00", nil},
		{"hours that begin in a skipped hour", "Europe/Berlin", always(1<<6, 150, 240), "2026-03-29T00:00", "2026-03-30T00:00",
			[]string{"2026-03-29T01:00", "2026-03-29T02:00"}},
		{"hours that are shown twice are two", "Europe/Berlin", always(1<<6, 120, 180), "2026-10-25T00:00", "2026-10-26T00:00",
			[]string{"2026-10-25T00:00", "2026-10-25T02:00"}},
		{"hours that end in the repeated hour end at its first", "Europe/Berlin", always(1<<6, 60, 150), "2026-10-24T22:00", "2026-10-26T00:00",
			[]string{"2026-10-24T23:00", "2026-10-25T00:30"}},
		{"a night in which midnight is skipped", "America/Santiago", always(1<<5, 1320, 120), "2026-09-05T12:00", "2026-09-06T12:00", // 22 to 2, three hours
			[]string{"2026-09-06T02:00", "2026-09-06T05:00"}},
		{"a day that begins an hour late", "America/Santiago", always(1<<6, 0, 1440), "2026-09-05T12:00", "2026-09-08T00:00",
			[]string{"2026-09-06T04:00", "2026-09-07T03:00"}},
		{"a day of which the last hour is shown twice", "America/Santiago", always(1<<5, 0, 1440), "2026-04-03T12:00", "2026-04-06T00:00",
			[]string{"2026-04-04T03:00", "2026-04-05T04:00"}},
	} {
		var want []pool.Interval
		for i := 0; i < len(c.want); i += 2 {
			want = append(want, pool.Interval{Start: utc(t, c.want[i]), End: utc(t, c.want[i+1])})
		}
		got := c.policy.spans(pool.Interval{Start: utc(t, c.from), End: utc(t, c.to)}, place(t, c.zone))
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: want (-), got (+):\n%s", c.name, diff)
		}
	}
}

// Windows that meet on the clock tile every day, whatever the clocks do.
func TestTimePoliciesThatMeetOnTheClockTileTime(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		zone := place(t, rapid.SampledFrom([]string{"Europe/Berlin", "America/Santiago", "UTC"}).Draw(rt, "zone"))
		cut := rapid.IntRange(1, 1439).Draw(rt, "cut")
		start := utc(t, "2026-01-01T00:00").Add(time.Duration(rapid.IntRange(0, 365*24).Draw(rt, "hour")) * time.Hour)
		part := pool.Interval{Start: start, End: start.Add(72 * time.Hour)}
		all := append(always(127, 0, cut).spans(part, zone), always(127, cut, 1440).spans(part, zone)...)
		slices.SortFunc(all, func(a, b pool.Interval) int { return int(a.Start - b.Start) })
		at := part.Start
		for _, v := range all {
			if v.Start != at {
				rt.Fatalf("from %s to %s none of both holds, or both do: %v", at, v.Start, all)
			}
			at = v.End
		}
		if at != part.End {
			rt.Fatalf("it ends at %s", at)
		}
		p := always(rapid.IntRange(1, 127).Draw(rt, "days"), rapid.IntRange(0, 1439).Draw(rt, "from"), rapid.IntRange(0, 1440).Draw(rt, "to"))
		if p.From == p.To {
			return
		}
		i := start.Add(time.Duration(rapid.IntRange(0, 72*60-1).Draw(rt, "minute")) * time.Minute)
		in := slices.ContainsFunc(p.spans(part, zone), func(v pool.Interval) bool { return v.Contains(i) })
		if got := p.holds(i, zone); got != in {
			rt.Fatalf("holds at %s is %v, its times say %v", i, got, in)
		}
	})
}

func TestTimePoliciesThatSetTheSameClash(t *testing.T) {
	t.Parallel()
	n := 4
	set := func(p TimePolicy) TimePolicy { p.Org, p.Class, p.Lend = "uni", "a100", &n; return p }
	day, night := set(always(31, 480, 1080)), set(always(127, 1080, 480))
	march := set(always(127, 0, 1440))
	march.First, march.Last = "2026-03-01", "2026-03-31"
	saturday := set(always(1<<5, 0, 1440))
	saturday.First, saturday.Last = "2026-03-02", "2026-03-06" // from Monday to Friday: never
	for _, c := range []struct {
		name string
		p, q TimePolicy
		want string
	}{
		{"day and night meet and don't overlap", day, night, ""},
		{"the same hours", day, day, "lend"},
		{"a month over every day", march, day, "lend"},
		{"another member", march, func() TimePolicy { q := day; q.Org = "lab"; return q }(), ""},
		{"another type", march, func() TimePolicy { q := day; q.Class = "h100"; return q }(), ""},
		{"another value", march, func() TimePolicy { q := day; q.Lend, q.Borrow = nil, &n; return q }(), ""},
		{"added GPUs add up", func() TimePolicy { q := march; q.Lend, q.More = nil, 8; return q }(), func() TimePolicy { q := march; q.Lend, q.More = nil, 4; return q }(), ""},
		{"a night that goes on after its last day", func() TimePolicy { q := night; q.Last = "2026-02-28"; return q }(), march, "lend"},
		{"months apart", march, func() TimePolicy { q := march; q.First, q.Last = "2026-04-01", "2026-04-30"; return q }(), ""},
		{"one that has ended before", func() TimePolicy { q := day; q.EndedAt = 10; return q }(), func() TimePolicy { q := day; q.CreatedAt = 10; return q }(), ""},
		{"weekdays that its days don't have", saturday, march, ""},
		{"closed hours", func() TimePolicy { q := day; q.Closed = true; return q }(), day, ""},
	} {
		if got := c.p.clashes(c.q); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
		if got := c.q.clashes(c.p); got != c.want {
			t.Errorf("%s, the other way: %q, want %q", c.name, got, c.want)
		}
	}
}
