package domain

import (
	"sync"
	"time"

	"gpupool/domain/pool"
	"gpupool/domain/quota"
)

// pastJobs of each member tell how its declared limits are used.
const pastJobs = 500

// habitsAge is how long what was learnt is good for.
const habitsAge = pool.Instant(time.Hour / time.Millisecond)

// habits keeps what was learnt of how limits are used, for an hour of business
// time: one more job changes it little, and every page asks for it.
type habits struct {
	mu    sync.Mutex
	found bool
	hour  pool.Instant
	value *quota.Habits
	kept  StartsKept
}

// lately is how far back submissions are looked at: as much will come.
const (
	lately     = 7 * 24 * time.Hour
	mostLately = 2000 // submissions
)

// of is what is known now.
func (h *habits) of(tx Tx, orgs []quota.Org) (*quota.Habits, error) {
	value, _, err := h.known(tx, orgs)
	return value, err
}

// known is the same with how told starts came true. It costs a statement for
// each member and two more, once an hour.
func (h *habits) known(tx Tx, orgs []quota.Org) (*quota.Habits, StartsKept, error) {
	hour := tx.Now() / habitsAge
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.found && h.hour == hour {
		return h.value, h.kept, nil
	}
	var past []quota.Past
	for _, o := range orgs {
		all, err := tx.LastAttempts(o.ID, pastJobs)
		if err != nil {
			return nil, h.kept, err
		}
		for _, a := range all {
			if p, ok := pastOf(a, tx.Now()); ok {
				past = append(past, p)
			}
		}
	}
	value := quota.Learn(past)
	if value != nil {
		jobs, err := submittedLately(tx)
		if err != nil {
			return nil, h.kept, err
		}
		told, err := tx.ToldStarts(quota.LastTold)
		if err != nil {
			return nil, h.kept, err
		}
		came := make([]quota.Told, len(told))
		for i, t := range told {
			came[i] = t.asTold(tx.Now())
		}
		value, h.kept = value.Expecting(jobs).Judged(came), startsKept(told)
	}
	h.found, h.hour, h.value = true, hour, value
	return value, h.kept, nil
}

// submittedLately are the jobs of the last days as the engine had them when
// they were submitted.
func submittedLately(tx Tx) ([]quota.Job, error) {
	t, err := LoadTerms(tx)
	if err != nil {
		return nil, err
	}
	jobs, err := tx.SubmittedSince(tx.Now().Add(-lately), mostLately)
	if err != nil {
		return nil, err
	}
	v := view{now: tx.Now(), terms: t}
	out := make([]quota.Job, len(jobs))
	for i, j := range jobs {
		j.DependsOn = ""
		out[i] = v.pending(j, 0, nil)
	}
	return out, nil
}

// pastOf reads an attempt as evidence. One that runs will run longer than it
// did: left out, only the short ones of the last jobs would count.
func pastOf(a Attempt, now pool.Instant) (quota.Past, bool) {
	p := quota.Past{Org: a.Org, Class: a.Class, Declared: a.MaxEnd.Sub(a.AdmittedAt)}
	if a.StartedAt == 0 || a.MaxEnd == 0 || a.MaxEnd == pool.Never {
		return p, false
	}
	end := a.EndedAt
	if a.State != AttemptEnded {
		end, p.Cut = now, true
	}
	switch a.End {
	case EndTakenBack, EndNodeFault, EndVanished, EndNotPlaced, EndSetup, EndGang:
		p.Cut = true
	}
	p.Ran = max(0, end.Sub(a.AdmittedAt))
	return p, true
}
