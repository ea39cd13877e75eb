package main

import (
	"testing"
	"time"

	"gpupool/domain"
	"gpupool/domain/pool"
)

func TestTheLoopRestsUntilTheDecisionCouldChange(t *testing.T) {
	t.Parallel()
	const wall, look = pool.Instant(1_000_000), 10 * time.Second
	for _, x := range []struct {
		name  string
		next  pool.Instant // business time; it is 5 000 000 now
		speed int
		want  time.Duration
	}{
		{"in three seconds", 5_003_000, 1, 3*time.Second + time.Millisecond},
		{"in three minutes of a quick clock", 5_180_000, 60, 3*time.Second + time.Millisecond},
		{"later than it looks anyway", 6_000_000, 1, look},
		{"never", pool.Never, 1, look},
		{"passed: the cycle failed", 4_999_999, 1, look},
		{"before the first decision", 0, 1, look},
	} {
		var clock domain.BusinessClock
		clock.Set(domain.ClockRow{Wall: wall, Business: 5_000_000, Speed: x.speed})
		if got := pause(x.next, look, &clock, wall); got != x.want {
			t.Errorf("%s: rests %v, want %v", x.name, got, x.want)
		}
	}
}

func TestADecisionSaysWhenItCouldChange(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, r *rig) {
		r.turn()
		if at := r.Service.NextDecision(); at != pool.Never {
			t.Errorf("an idle pool changes by itself at %s", at)
		}
		later := r.ask(pool.Guaranteed, 1, 10*time.Minute, time.Hour)
		later.NotBefore = r.Clock.Now().Add(40 * time.Minute)
		j := r.submit(later)
		r.turn()
		if at := r.Service.NextDecision(); at != later.NotBefore {
			t.Errorf("the decision could change at %s, want %s", at, later.NotBefore)
		}
		r.wants(j.ID, "waiting")
		r.Clock.Add(r.Service.NextDecision().Sub(r.Clock.Now()))
		r.turn()
		r.wants(j.ID, "starting")
	})
}
