package domain

import (
	"slices"

	"gpupool/domain/pool"
)

// due is why the calendar ends an attempt, and when; an empty reason when
// it doesn't.
type due struct {
	why    EndReason
	at     pool.Instant
	detail string
}

// calendar gives notice to what a maintenance or closed hours end, so long
// before that they begin when it is over, and takes it back where they were
// called off. What began already ends as soon as the notice allows.
func (a *applying) calendar(tx Tx) error {
	live := false
	for _, p := range a.terms.Policies {
		live = live || p.Closed
	}
	for _, x := range a.terms.Announcements {
		live = live || x.Maintenance && x.End > a.now.Add(-hour)
	}
	if !live {
		return nil
	}
	attempts, err := tx.LiveAttempts()
	if err != nil {
		return err
	}
	closed := a.closedHours()
	for _, t := range attempts {
		end := a.endOf(t, closed)
		switch {
		case end.why != "" && t.StopAt == 0:
			if err := a.notice(tx, t.ID, max(end.at, a.now.Add(a.terms.Settings.Notice)), end.why, end.detail); err != nil {
				return err
			}
			a.moved = true
		case end.why == "" && t.StopReason.planned() && t.StopSent == 0 && t.StopAt > a.now:
			if err := a.keep(tx, t.ID); err != nil {
				return err
			}
			a.moved = true
		}
	}
	return nil
}

// closing is closed hours that hold, or begin within the time of a notice.
type closing struct {
	TimePolicy
	at pool.Instant
}

func (a *applying) closedHours() []closing {
	var out []closing
	soon := pool.Interval{Start: a.now, End: a.now.Add(a.terms.Settings.Notice) + 1}
	for _, p := range a.terms.Policies {
		if !p.Closed {
			continue
		}
		if spans := p.spans(soon, a.terms.Zone); len(spans) > 0 {
			out = append(out, closing{p, spans[0].Start})
		}
	}
	return out
}

// endOf is the soonest end of an attempt by the calendar that its notice is due for.
func (a *applying) endOf(t Attempt, closed []closing) due {
	var end due
	sooner := func(x due) {
		if end.why == "" || x.at < end.at {
			end = x
		}
	}
	for _, n := range a.terms.Nodes {
		if !slices.ContainsFunc(t.Placement, func(p NodeGPUs) bool { return p.Node == n.ID }) {
			continue
		}
		v, texts := a.terms.maintenanceOf(n, a.now)
		if !v.Empty() && v.Start <= a.now.Add(a.terms.Settings.Notice) {
			sooner(due{EndMaintenance, v.Start, texts[0]})
		}
	}
	if t.Tier == pool.Guaranteed {
		return end
	}
	for _, x := range closed {
		if (x.Org == "" || x.Org == t.Org) && (x.Class == "" || x.Class == t.Class) && (x.Tier == "" || x.Tier == t.Tier) {
			sooner(due{EndClosedHours, x.at, x.Name})
		}
	}
	return end
}
