package domain

import (
	"slices"

	"gpupool/domain/pool"
	"gpupool/domain/quota"
)

// outlook is from the start of now's day to where time policies are laid out:
// it moves once a day, so that what is laid out stays the same in between.
func (t Terms) outlook(now pool.Instant) pool.Interval {
	y, m, d := now.In(t.Zone).Date()
	return pool.Interval{Start: min(now, pool.DayStart(y, m, d, t.Zone)), End: pool.DayStart(y, m, d+comingDays, t.Zone)}
}

// edges collects instants inside (part.Start, part.End).
type edges struct {
	part pool.Interval
	at   []pool.Instant
}

func (e *edges) add(all ...pool.Instant) {
	for _, i := range all {
		if i > e.part.Start && i < e.part.End {
			e.at = append(e.at, i)
		}
	}
}

func (e *edges) sorted() []pool.Instant {
	slices.Sort(e.at)
	return slices.Compact(e.at)
}

// changes are the instants inside part at which the quota of a member, or of
// any with "", or the hardware may change by its dates.
func (t Terms) changes(org pool.OrgID, part pool.Interval) []pool.Instant {
	e := edges{part: part}
	for _, s := range t.Subscriptions {
		if org == "" || s.Org == org {
			e.add(s.Start, s.End)
		}
	}
	for _, c := range t.Contributions {
		if org == "" || c.Org == org {
			e.add(c.From, c.To)
		}
	}
	for _, l := range t.Limits {
		if org == "" || l.Org == org {
			e.add(l.From)
		}
	}
	for _, p := range t.Policies {
		if !p.Closed && (org == "" || p.Org == org) {
			for _, v := range p.spans(part, t.Zone) {
				e.add(v.Start, v.End)
			}
		}
	}
	for _, a := range t.Announcements {
		if v := a.Interval(); a.Maintenance && !v.Empty() {
			e.add(v.Start, v.End)
		}
	}
	return e.sorted()
}

// QuotaChange is the quota of a member in a class from an instant on.
type QuotaChange struct {
	From          pool.Instant
	Before, After ClassQuota
}

// Changes are how the quota of a member changes inside part, in order; at one
// instant by class. At most limit.
func (t Terms) Changes(org pool.OrgID, part pool.Interval, limit int) []QuotaChange {
	var out []QuotaChange
	before := t.Quota(org, part.Start)
	for _, at := range t.changes(org, part) {
		after := t.Quota(org, at)
		for _, c := range t.Classes {
			x, y := quotaIn(before, c.ID), quotaIn(after, c.ID)
			if x.Nominal != y.Nominal || x.Borrow != y.Borrow || x.Lend != y.Lend {
				out = append(out, QuotaChange{From: at, Before: x, After: y})
			}
		}
		if before = after; len(out) >= limit {
			return out[:limit]
		}
	}
	return out
}

func quotaIn(all []ClassQuota, c pool.ClassID) ClassQuota {
	for _, q := range all {
		if q.Class == c {
			return q
		}
	}
	return ClassQuota{Class: c}
}

// quotas are those of a member as the engine reads them: a row for each class,
// with what time policies make of it later.
func (t Terms) quotas(org pool.OrgID, now pool.Instant) []quota.Quota {
	have := t.Quota(org, now)
	var out []quota.Quota
	for _, c := range t.Classes {
		q := quotaIn(have, c.ID)
		out = append(out, quota.Quota{Class: c.ID, Nominal: q.Nominal, BorrowLimit: &q.Borrow, LendLimit: &q.Lend})
	}
	type laid struct {
		TimePolicy
		spans []pool.Interval
	}
	part := t.outlook(now)
	e := edges{part: pool.Interval{Start: now, End: part.End}}
	var own []laid
	for _, p := range t.Policies {
		if !p.Closed && p.Org == org {
			x := laid{p, p.spans(part, t.Zone)}
			for _, v := range x.spans {
				e.add(v.Start, v.End)
			}
			own = append(own, x)
		}
	}
	for _, at := range e.sorted() {
		var holding []TimePolicy
		for _, x := range own {
			if slices.ContainsFunc(x.spans, func(v pool.Interval) bool { return v.Contains(at) }) {
				holding = append(holding, x.TimePolicy)
			}
		}
		then := t.quota(org, now, holding)
		for i := range out {
			q, x := quotaIn(then, out[i].Class), &out[i]
			step := quota.QuotaStep{From: at, Nominal: q.Nominal, BorrowLimit: q.Borrow, LendLimit: q.Lend}
			last := quota.QuotaStep{Nominal: x.Nominal, BorrowLimit: *x.BorrowLimit, LendLimit: *x.LendLimit}
			if n := len(x.Ahead); n > 0 {
				last = x.Ahead[n-1]
			}
			if last.From = at; step != last {
				x.Ahead = append(x.Ahead, step)
			}
		}
	}
	return out
}

// windows are the closed hours as the engine reads them. What can be stopped
// isn't started when its notice would come before its minimum run time is over.
func (t Terms) windows(now pool.Instant) []quota.Window {
	var out []quota.Window
	for _, p := range t.Policies {
		if !p.Closed {
			continue
		}
		for _, v := range p.spans(t.outlook(now), t.Zone) {
			for _, tier := range pool.Tiers {
				if p.Tier != "" && p.Tier != tier {
					continue
				}
				w := quota.Window{Org: p.Org, Class: p.Class, Tier: tier, Closed: v}
				if tier != pool.Guaranteed {
					w.Closed.Start = v.Start.Add(-t.Settings.Notice - minimumRun)
				}
				out = append(out, w)
			}
		}
	}
	return out
}

// nextChange is when what a decision reads changes by its dates: quotas, closed
// hours and maintenance, with the notice that goes before. pool.Never: not in
// the time that is laid out.
func (t Terms) nextChange(now pool.Instant) pool.Instant {
	part := pool.Interval{Start: now, End: t.outlook(now).End}
	e := edges{part: part, at: t.changes("", part)}
	notice := t.Settings.Notice
	begins := func(v pool.Interval) { e.add(v.Start.Add(-notice), v.Start, v.End) }
	for _, p := range t.Policies {
		if p.Closed {
			for _, v := range p.spans(pool.Interval{Start: now, End: part.End.Add(notice)}, t.Zone) {
				begins(v)
			}
		}
	}
	for _, a := range t.Announcements {
		if a.Maintenance {
			begins(a.Interval())
		}
	}
	if all := e.sorted(); len(all) > 0 {
		return all[0]
	}
	return pool.Never
}
