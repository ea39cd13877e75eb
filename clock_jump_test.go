package main

import (
	"testing"
	"time"

	"gpupool/domain"
	"gpupool/domain/domaintest"
	"gpupool/domain/pool"
)

// The clock jumps over days: what could start in between starts in between,
// and is charged for when it ran.
func TestAJumpOfTheClockLetsTheTimeInBetweenHappen(t *testing.T) {
	t.Parallel()
	p := domaintest.New(t)
	r := onCluster(t, p)
	r.now = func() pool.Instant { return p.Business.Business(p.Clock.Now()) }
	r.restart()
	start := r.now()
	if err := r.Service.StartClock(ctx, domain.System("test"), start, 1); err != nil {
		t.Fatal(err)
	}
	first := r.submit(r.ask(pool.Burst, 8, 3*time.Hour, 4*time.Hour))
	in := r.ask(pool.Burst, 8, 2*time.Hour, 4*time.Hour)
	in.DependsOn = first.ID
	second := r.submit(in)
	r.turn()
	if err := r.Service.AdvanceClock(ctx, r.Operator, start.Add(4*24*time.Hour)); err != nil {
		t.Fatal(err)
	}
	r.turn()
	r.wants(first.ID, "ended finished")
	r.wants(second.ID, "ended finished")
	began := r.attempts(second.ID)[0].AdmittedAt.Sub(start)
	if began < 3*time.Hour || began > 4*time.Hour {
		t.Errorf("the second job began %s after the start; the first ended after 3 h", began)
	}
	r.truth()
}
