package main

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"gpupool/domain"
	"gpupool/domain/pool"
)

// pace is how often loops run when nothing wakes them (wall time).
type pace struct {
	look time.Duration // at the cluster
	keep time.Duration // housekeeping
}

var (
	demoPace  = pace{look: time.Second, keep: 5 * time.Second}
	servePace = pace{look: 10 * time.Second, keep: 15 * time.Second}
)

// runLoops starts the loops and returns when all have ended, after ctx has.
// They only tick: the work is in the service's methods.
func runLoops(ctx context.Context, s *domain.Service, p pace, clock *domain.BusinessClock, st domain.Store, log *slog.Logger) {
	var wg sync.WaitGroup
	wg.Go(func() { workLoop(ctx, s, p.look, clock, log) })
	wg.Go(func() { keepLoop(ctx, s, p.keep, log) })
	wg.Go(func() { watchLoop(ctx, s, log) })
	wg.Go(func() { clockLoop(ctx, clock, st, p.look, log) })
	wg.Wait()
}

// workLoop turns the cycle when woken, when the decision could change by
// itself, and at least every look.
func workLoop(ctx context.Context, s *domain.Service, look time.Duration, clock *domain.BusinessClock, log *slog.Logger) {
	timer := time.NewTimer(look)
	defer timer.Stop()
	said := said{log: log, what: "cycle"}
	for {
		said.note(ctx, s.Cycle(ctx, true))
		timer.Reset(pause(s.NextDecision(), look, clock, pool.At(wall())))
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		case <-s.Hub().Woken():
		}
	}
}

// pause is how long the loop rests: until the decision could change by itself,
// at most look. A moment that has passed is one that a failed cycle left: it
// doesn't make the loop turn faster.
func pause(next pool.Instant, look time.Duration, clock *domain.BusinessClock, wall pool.Instant) time.Duration {
	if d := clock.Until(next, wall); d > 0 {
		return min(d, look)
	}
	return look
}

func keepLoop(ctx context.Context, s *domain.Service, every time.Duration, log *slog.Logger) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	said := said{log: log, what: "housekeeping"}
	for {
		said.note(ctx, s.Housekeeping(ctx))
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// watchLoop listens to the cluster's events, and again after a pause when
// they end.
func watchLoop(ctx context.Context, s *domain.Service, log *slog.Logger) {
	said := said{log: log, what: "event stream"}
	for ctx.Err() == nil {
		said.note(ctx, s.WatchCluster(ctx))
		select {
		case <-ctx.Done():
		case <-time.After(2 * time.Second):
		}
	}
}

// said logs an error when it changes, not at each turn.
type said struct {
	log  *slog.Logger
	what string
	last string
}

func (s *said) note(ctx context.Context, err error) {
	text := ""
	if err != nil {
		text = err.Error()
	}
	if ctx.Err() != nil || text == s.last {
		return
	}
	s.last = text
	if err != nil {
		s.log.Warn(s.what+" failed; it goes on", "error", err)
	} else {
		s.log.Info(s.what + " works again")
	}
}

// clockLoop follows a clock that another process moved (gpupool demo advance).
func clockLoop(ctx context.Context, c *domain.BusinessClock, st domain.Store, every time.Duration, log *slog.Logger) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	said := said{log: log, what: "clock"}
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			said.note(ctx, c.Load(ctx, st))
		}
	}
}
