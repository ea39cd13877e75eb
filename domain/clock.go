package domain

import (
	"context"
	"errors"
	"sync"
	"time"

	"gpupool/domain/pool"
)

// BusinessClock is the pool's clock as every part of one process reads it: the
// store's transactions, the loops and the embedded cluster. Without a stored
// row it is system time. The zero value is ready.
type BusinessClock struct {
	mu  sync.RWMutex
	row *ClockRow
}

// Business is the business time at the wall instant.
func (c *BusinessClock) Business(wall pool.Instant) pool.Instant {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if c.row == nil {
		return wall
	}
	return c.row.At(wall)
}

// Speed is how many times as fast as the wall clock it runs: 1 in a real pool.
func (c *BusinessClock) Speed() int {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if c.row == nil {
		return 1
	}
	return c.row.Speed
}

// Until is how long the wall clock needs from a wall instant to a business
// time: 0 when that has come.
func (c *BusinessClock) Until(business, wall pool.Instant) time.Duration {
	left := business - c.Business(wall)
	if left <= 0 {
		return 0
	}
	speed := pool.Instant(max(1, c.Speed()))
	return min(left/speed+1, pool.Instant(maxAdvance.Milliseconds())).Sub(0)
}

// Set follows a stored row.
func (c *BusinessClock) Set(row ClockRow) {
	c.mu.Lock()
	c.row = &row
	c.mu.Unlock()
}

// Load reads the stored row: at the start, and from time to time where several
// processes share a store.
func (c *BusinessClock) Load(ctx context.Context, s Store) error {
	return s.View(ctx, func(tx Tx) error {
		row, err := tx.Clock()
		ok, err := known(err)
		if ok {
			c.Set(row)
		}
		return err
	})
}

// Speeds that the banner offers.
var Speeds = []int{1, 60}

// maxAdvance is the longest step of the clock.
const maxAdvance = 62 * 24 * time.Hour

// A long way is gone in at most clockSteps steps of at least clockStep.
const (
	clockStep  = 15 * time.Minute
	clockSteps = 150
)

// StartClock gives a demo or test pool its clock. Only the program itself does.
func (s *Service) StartClock(ctx context.Context, a Actor, business pool.Instant, speed int) error {
	if a.Via != ViaSystem {
		return Errf(NotFound, "There is no such page.")
	}
	return s.setClock(ctx, a, "clock.start", func(tx Tx, c *ClockRow) error {
		*c = ClockRow{Business: business, Speed: speed}
		return nil
	})
}

// AdvanceClock moves the clock of a demo or test pool forward to an instant,
// at most 62 days at once. Where jobs wait or run it goes there in steps, and
// the loops' work is done after each: what could start in between starts in
// between, as it would have.
func (s *Service) AdvanceClock(ctx context.Context, a Actor, to pool.Instant) error {
	var from pool.Instant
	live := false
	err := s.store.View(ctx, func(tx Tx) error {
		from = tx.Now()
		jobs, err := tx.LiveJobs()
		live = len(jobs) > 0
		return err
	})
	if err != nil {
		return err
	}
	if live && s.cluster != nil && to > from && to <= from.Add(maxAdvance) {
		step := max(clockStep, to.Sub(from)/clockSteps)
		for next := from.Add(step); next < to; next = next.Add(step) {
			if err := s.setClock(ctx, a, "", func(tx Tx, c *ClockRow) error { c.Business = max(tx.Now(), next); return nil }); err != nil {
				return err
			}
			if err := errors.Join(s.Cycle(ctx, true), s.MeterDays(ctx)); err != nil {
				s.log.Warn("while the clock moves", "error", err)
			}
		}
	}
	return s.setClock(ctx, a, "clock.advance", func(tx Tx, c *ClockRow) error {
		switch now := tx.Now(); {
		case to <= from:
			return Errf(Conflict, "The clock only moves forward; it is %s UTC.", now.Time().Format("2006-01-02 15:04:05"))
		case to > from.Add(maxAdvance):
			return Errf(Invalid, "At most %d days at once.", int(maxAdvance/(24*time.Hour)))
		}
		c.Business = max(to, tx.Now())
		return nil
	})
}

// SetClockSpeed makes the clock of a demo or test pool run once or 60 times as
// fast as the wall clock.
func (s *Service) SetClockSpeed(ctx context.Context, a Actor, speed int) error {
	return s.setClock(ctx, a, "clock.speed", func(_ Tx, c *ClockRow) error {
		for _, x := range Speeds {
			if x == speed {
				c.Speed = speed
				return nil
			}
		}
		return Errf(Invalid, "The clock runs %d or %d times as fast.", Speeds[0], Speeds[1])
	})
}

// setClock stores a changed row that begins at this transaction's instant. It
// is audited under the action, unless that is empty.
func (s *Service) setClock(ctx context.Context, a Actor, action string, change func(tx Tx, c *ClockRow) error) error {
	var row ClockRow
	err := s.update(ctx, "", func(tx Tx) error {
		st, err := tx.Settings()
		if err != nil {
			return err
		}
		if err := mayMoveClock(a, st); err != nil {
			return err
		}
		old, err := tx.Clock()
		if ok, err := known(err); err != nil {
			return err
		} else if !ok && action != "clock.start" {
			return Errf(Conflict, "This pool runs on system time.")
		}
		row = ClockRow{Business: tx.Now(), Speed: old.Speed}
		if err := change(tx, &row); err != nil {
			return err
		}
		row.Wall = tx.Wall()
		if err := tx.SaveClock(row); err != nil {
			return err
		}
		if action == "" {
			return nil // a step on the way
		}
		return audit(tx, a, "", action, "clock", clockAudit(old.At(tx.Wall()), old.Speed), clockAudit(row.Business, row.Speed))
	})
	if err == nil && s.clock != nil {
		s.clock.Set(row)
	}
	return err
}

func clockAudit(at pool.Instant, speed int) map[string]any {
	return map[string]any{"business": at.String(), "speed": speed}
}

// mayMoveClock: everybody signed in to a demo, the operator of a test pool,
// nobody in a real one.
func mayMoveClock(a Actor, st Settings) error {
	switch {
	case a.Via == ViaSystem && (st.Demo || st.TestPool):
		return nil
	case st.Demo && a.SignedIn() && a.TokenID == "":
		return nil
	case st.TestPool:
		return a.NeedOperator()
	}
	return Errf(NotFound, "There is no such page.")
}

// ClockTarget is a button of the banner.
type ClockTarget struct {
	Code  string // hour, friday, month_end
	Title string // English, the key of its translation
	At    pool.Instant
}

// ClockTargets are where the banner's buttons lead from now: an hour on, the
// next Friday 15:00 of the billing zone, and the instant at which the month
// can be closed: its end and the grace.
func ClockTargets(now pool.Instant, zone *time.Location, grace time.Duration) []ClockTarget {
	local := now.In(zone)
	day := local.Day() + (int(time.Friday)-int(local.Weekday())+7)%7
	friday := pool.At(time.Date(local.Year(), local.Month(), day, 15, 0, 0, 0, zone))
	if friday <= now {
		friday = pool.At(time.Date(local.Year(), local.Month(), day+7, 15, 0, 0, 0, zone))
	}
	month := pool.MonthOf(now, zone)
	// In the first hours of a month the last one is still in its grace.
	end := month.Prev().Bounds(zone).End.Add(grace)
	if end <= now {
		end = month.Bounds(zone).End.Add(grace)
	}
	return []ClockTarget{
		{"hour", "+1 h", now.Add(time.Hour)},
		{"friday", "to Friday 15:00", friday},
		{"month_end", "to month end", end},
	}
}
