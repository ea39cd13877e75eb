package domain

import (
	"context"
	"slices"
	"strings"
	"time"

	"gpupool/domain/pool"
)

// TimePolicyInput is the operator's form, as typed.
type TimePolicyInput struct {
	Name       string
	Org        pool.OrgID   // empty only for closed hours: every member
	Class      pool.ClassID // empty only for closed hours: every GPU type
	Closed     bool
	Tier       pool.Tier // of closed hours; empty: every tier
	Guaranteed string    // 24 sets, +8 and -4 change; empty: stays
	Borrow     string    // empty: stays
	Lend       string    // empty: stays
	First      string    // 2026-03-01; empty: from now on
	Last       string    // 2026-03-31, included; empty: until it is ended
	Days       []string  // of Weekdays; none: every day
	From, To   string    // 08:00 and 18:00, 24:00 for the day's end; both empty: the whole day
}

// Weekdays as forms and the API name them, Monday first.
var Weekdays = []string{"mon", "tue", "wed", "thu", "fri", "sat", "sun"}

const (
	maxPolicyGPUs  = 10_000
	maxPolicyYears = 5
)

// AddTimePolicy makes a rule that holds from now on, at its hours.
func (s *Service) AddTimePolicy(ctx context.Context, a Actor, in TimePolicyInput) (TimePolicy, []Warning, error) {
	if err := a.NeedOperator(); err != nil {
		return TimePolicy{}, nil, err
	}
	id := s.newID("tp-")
	var p TimePolicy
	var warnings []Warning
	err := s.update(ctx, in.Org, func(tx Tx) error {
		t, err := LoadTerms(tx)
		if err != nil {
			return err
		}
		var f Fields
		p = in.policy(&f, t, tx.Now())
		p.ID = id
		for _, x := range t.Policies {
			if field := p.clashes(x); field != "" && f.Err() == nil {
				f.Add(field, "%s sets the same at some of these hours. End it first, or choose other hours.", x.Name)
			}
		}
		if err := f.Err(); err != nil {
			return err
		}
		if err := tx.InsertTimePolicy(p); err != nil {
			return err
		}
		if err := tx.BumpVersion(); err != nil {
			return err
		}
		t.Policies = append(slices.Clone(t.Policies), p)
		warnings = t.overbooked(p, tx.Now())
		return audit(tx, a, in.Org, "time_policy.create", id, nil, p)
	})
	return p, warnings, err
}

// policy checks the form and reads it.
func (in TimePolicyInput) policy(f *Fields, t Terms, now pool.Instant) TimePolicy {
	p := TimePolicy{Name: checkName(f, "name", in.Name), Org: in.Org, Class: in.Class, Closed: in.Closed, CreatedAt: now, EndedAt: pool.Never}
	if (in.Org != "" || !in.Closed) && !slices.ContainsFunc(t.Orgs, func(o Organisation) bool { return o.ID == in.Org }) {
		f.Add("org", "There is no member %.63q.", string(in.Org))
	}
	if (in.Class != "" || !in.Closed) && !slices.ContainsFunc(t.Classes, func(c GPUClass) bool { return c.ID == in.Class }) {
		f.Add("class", "There is no such GPU type.")
	}
	if in.Closed {
		if p.Tier = in.Tier; p.Tier != "" && !p.Tier.Valid() {
			f.Add("tier", "Please choose guaranteed, flexible or spot.")
		}
	} else {
		in.values(f, &p)
	}
	in.calendar(f, &p, t, now)
	return p
}

// values are what the quota becomes.
func (in TimePolicyInput) values(f *Fields, p *TimePolicy) {
	number := func(field, s string) *int {
		n := int(checkCount(f, field, s, 0, maxPolicyGPUs))
		return &n
	}
	g := trimmed(in.Guaranteed)
	switch {
	case strings.HasPrefix(g, "+"), strings.HasPrefix(g, "-"):
		p.More = int(checkCount(f, "guaranteed", strings.TrimPrefix(g, "+"), -maxPolicyGPUs, maxPolicyGPUs))
	case g != "":
		p.Guaranteed = number("guaranteed", g)
	}
	if trimmed(in.Borrow) != "" {
		p.Borrow = number("borrow", in.Borrow)
	}
	if trimmed(in.Lend) != "" {
		p.Lend = number("lend", in.Lend)
	}
	if p.Guaranteed == nil && p.More == 0 && p.Borrow == nil && p.Lend == nil && f.Err() == nil {
		f.Add("guaranteed", "Say what changes: the guaranteed GPUs, the borrow limit or the lend limit.")
	}
}

// calendar is when it holds.
func (in TimePolicyInput) calendar(f *Fields, p *TimePolicy, t Terms, now pool.Instant) {
	p.First, p.Last = checkDay(f, "first", in.First), checkDay(f, "last", in.Last)
	today, latest := now.In(t.Zone).Format(dayLayout), now.In(t.Zone).AddDate(maxPolicyYears, 0, 0).Format(dayLayout)
	switch {
	case p.Last != "" && p.Last < today:
		f.Add("last", "This day is over.")
	case p.Last != "" && p.Last < p.First:
		f.Add("last", "The last day is before the first.")
	case max(p.First, p.Last) > latest:
		f.Add("first", "At most %d years ahead.", maxPolicyYears)
	}
	for _, d := range in.Days {
		k := slices.Index(Weekdays, d)
		if k < 0 {
			f.Add("days", "Write weekdays as %s.", strings.Join(Weekdays, ", "))
			break
		}
		p.Days |= 1 << k
	}
	if len(in.Days) == 0 {
		p.Days = allDays
	}
	p.From, p.To = 0, 1440
	if trimmed(in.From) != "" || trimmed(in.To) != "" {
		p.From, p.To = checkTime(f, "from", in.From, 1439), checkTime(f, "to", in.To, 1440)
		if p.From == p.To && f.Err() == nil {
			f.Add("to", "It ends when it begins. For the whole day leave both empty.")
		}
	}
	if f.Err() != nil {
		return
	}
	end := now.In(t.Zone).AddDate(0, 0, 15)
	if first, err := time.Parse(dayLayout, p.First); err == nil && first.After(now.Time()) {
		end = first.AddDate(0, 0, 15)
	}
	if len(p.spans(pool.Interval{Start: now, End: pool.At(end)}, t.Zone)) == 0 {
		f.Add("days", "None of these weekdays lies between these days, or their hours are over.")
	}
}

// checkDay is a day as typed; empty stays empty.
func checkDay(f *Fields, field, s string) string {
	s = trimmed(s)
	if t, err := time.Parse(dayLayout, s); s != "" && (err != nil || t.Year() < 1971 || t.Year() > 9998) {
		f.Add(field, "Write a day such as 2026-03-01.")
		return ""
	}
	return s
}

// checkTime is a time of day as typed, in minutes.
func checkTime(f *Fields, field, s string, most int) int {
	s = trimmed(s)
	if s == "24:00" && most == 1440 {
		return 1440
	}
	t, err := time.Parse("15:04", s)
	if err != nil {
		f.Add(field, "Write a time such as 08:00.")
		return 0
	}
	return t.Hour()*60 + t.Minute()
}

// overbooked warns where a policy guarantees more than the hardware that is
// ready, the first time it holds.
func (t Terms) overbooked(p TimePolicy, now pool.Instant) []Warning {
	spans := p.spans(pool.Interval{Start: now, End: t.outlook(now).End}, t.Zone)
	if p.Closed || len(spans) == 0 {
		return nil
	}
	sold, ready := 0, 0
	for _, o := range t.Orgs {
		sold += quotaIn(t.Quota(o.ID, spans[0].Start), p.Class).Nominal
	}
	for _, n := range t.Nodes {
		if n.Class == p.Class && n.State == NodeReady && !n.Cordoned {
			ready += n.GPUs
		}
	}
	if sold <= ready {
		return nil
	}
	return []Warning{{"%s: %d GPUs are guaranteed when it holds; %d are ready.", []any{string(p.Class), sold, ready}}}
}

// EndTimePolicy ends a rule from now on. What held stays in the books.
func (s *Service) EndTimePolicy(ctx context.Context, a Actor, id string) (TimePolicy, error) {
	if err := a.NeedOperator(); err != nil {
		return TimePolicy{}, err
	}
	var p TimePolicy
	err := s.update(ctx, "", func(tx Tx) error {
		all, err := tx.TimePolicies()
		if err != nil {
			return err
		}
		i := slices.IndexFunc(all, func(x TimePolicy) bool { return x.ID == id })
		if i < 0 {
			return Errf(NotFound, "There is no such time policy.")
		}
		before := all[i]
		p = before
		p.EndedAt = tx.Now()
		if err := tx.EndTimePolicy(id, p.EndedAt); err != nil {
			return err
		}
		if err := tx.BumpVersion(); err != nil {
			return err
		}
		return audit(tx, a, p.Org, "time_policy.end", id, before, p)
	})
	return p, err
}

// TimePolicyView is a time policy with when it holds.
type TimePolicyView struct {
	TimePolicy
	Now  pool.Instant  // until when it holds now; 0: it doesn't
	Next pool.Interval // when it holds next; empty: not in the two months to come
	Over bool          // ended, or its last day has passed
}

func (t Terms) viewOf(p TimePolicy, now pool.Instant) TimePolicyView {
	v := TimePolicyView{TimePolicy: p}
	for _, x := range p.spans(pool.Interval{Start: now, End: t.outlook(now).End}, t.Zone) {
		if x.Contains(now) {
			v.Now = x.End
			continue
		}
		v.Next = x
		break
	}
	last := p.Last
	if p.To <= p.From {
		last += "~" // it goes on after its last day
	}
	v.Over = p.EndedAt <= now || v.Now == 0 && v.Next.Empty() && p.Last != "" && last < now.In(t.Zone).Format(dayLayout)
	return v
}

// TimePolicies of the whole pool for the operator: those that stand, then
// those that are over, each by when it was made.
func (s *Service) TimePolicies(ctx context.Context, a Actor) ([]TimePolicyView, error) {
	if err := a.NeedOperatorView(); err != nil {
		return nil, err
	}
	var out []TimePolicyView
	err := s.store.View(ctx, func(tx Tx) error {
		t, err := LoadTerms(tx)
		if err != nil {
			return err
		}
		out = nil
		for _, p := range t.Policies {
			out = append(out, t.viewOf(p, tx.Now()))
		}
		return nil
	})
	slices.SortStableFunc(out, func(x, y TimePolicyView) int {
		switch {
		case x.Over == y.Over:
			return 0
		case x.Over:
			return 1
		}
		return -1
	})
	return out, err
}

// Schedule is what time makes of a member's quota.
type Schedule struct {
	Policies []TimePolicyView // its own and closed hours that concern it, those that stand
	Changes  []QuotaChange    // of the four weeks to come, at most scheduleRows
}

const (
	scheduleRows = 20
	scheduleDays = 28
)

// ScheduleOf a member: what holds now, what comes next.
func (s *Service) ScheduleOf(ctx context.Context, a Actor, org pool.OrgID) (Schedule, error) {
	if err := a.Need(org, ActView); err != nil {
		return Schedule{}, err
	}
	var out Schedule
	err := s.store.View(ctx, func(tx Tx) error {
		t, err := LoadTerms(tx)
		if err != nil {
			return err
		}
		now := tx.Now()
		out = Schedule{Changes: t.Changes(org, pool.Interval{Start: now, End: now.Add(scheduleDays * 24 * time.Hour)}, scheduleRows)}
		for _, p := range t.Policies {
			if p.Org != org && (p.Org != "" || !p.Closed) {
				continue
			}
			if v := t.viewOf(p, now); !v.Over {
				out.Policies = append(out.Policies, v)
			}
		}
		return nil
	})
	return out, err
}
