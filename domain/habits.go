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
	known bool
	hour  pool.Instant
	value *quota.Habits
}

// of is what is known now. It costs a statement for each member once an hour.
func (h *habits) of(tx Tx, orgs []quota.Org) (*quota.Habits, error) {
	hour := tx.Now() / habitsAge
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.known && h.hour == hour {
		return h.value, nil
	}
	var past []quota.Past
	for _, o := range orgs {
		all, err := tx.LastAttempts(o.ID, pastJobs)
		if err != nil {
			return nil, err
		}
		for _, a := range all {
			if p, ok := pastOf(a, tx.Now()); ok {
				past = append(past, p)
			}
		}
	}
	h.known, h.hour, h.value = true, hour, quota.Learn(past)
	return h.value, nil
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
	case EndTakenBack, EndNodeFault, EndVanished, EndNotPlaced:
		p.Cut = true
	}
	p.Ran = max(0, end.Sub(a.AdmittedAt))
	return p, true
}
