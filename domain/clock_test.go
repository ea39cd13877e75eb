package domain_test

import (
	"testing"
	"time"

	"gpupool/domain"
	"gpupool/domain/domaintest"
	"gpupool/domain/pool"
)

func TestTheDemoClockOnlyMovesForward(t *testing.T) {
	t.Parallel()
	p := domaintest.New(t)
	s := p.Service
	now := p.Clock.Now()
	wants(t, s.AdvanceClock(ctx, p.Operator, now.Add(time.Hour)), domain.NotFound) // a real pool
	p.Update(func(tx domain.Tx) error {
		st, err := tx.Settings()
		if err != nil {
			return err
		}
		st.Demo = true
		return tx.SaveSettings(st)
	})
	wants(t, s.AdvanceClock(ctx, p.Operator, now.Add(time.Hour)), domain.Conflict, "runs on system time")
	wants(t, s.StartClock(ctx, p.Operator, now, 60), domain.NotFound)
	if err := s.StartClock(ctx, domain.System("demo"), now, 60); err != nil {
		t.Fatal(err)
	}
	p.Clock.Add(time.Minute)
	business := func() pool.Instant { return ok[pool.Instant](t)(s.BusinessNow(ctx)) }
	if got := business(); got != now.Add(time.Hour) {
		t.Errorf("a minute at 60x: %s", got)
	}
	if err := s.SetClockSpeed(ctx, p.Member, 1); err != nil {
		t.Fatal(err)
	}
	p.Clock.Add(time.Minute)
	if got := business(); got != now.Add(61*time.Minute) {
		t.Errorf("a minute at 1x: %s", got)
	}
	to := now.Add(48 * time.Hour)
	if err := s.AdvanceClock(ctx, p.Member, to); err != nil || business() != to {
		t.Errorf("%v, %s", err, business())
	}
	wants(t, s.AdvanceClock(ctx, p.Member, to), domain.Conflict, "only moves forward; it is 2026-11-04 09:00:00 UTC")
	wants(t, s.AdvanceClock(ctx, p.Member, pool.Never), domain.Invalid, "At most 62 days")
	wants(t, s.SetClockSpeed(ctx, p.Member, 1000), domain.Invalid, "1 or 60")
	wants(t, s.AdvanceClock(ctx, domain.Actor{}, to+1), domain.NotFound)
	again := &domain.BusinessClock{}
	if err := again.Load(ctx, p.Store); err != nil || again.Business(p.Clock.Now()) != to || again.Speed() != 1 {
		t.Errorf("a restart reads %s, %v", again.Business(p.Clock.Now()), err)
	}
	row := ok[[]domain.AuditRow](t)(s.AuditTrail(ctx, p.Operator, "", 0, 1))[0]
	if row.Action != "clock.advance" || row.User != p.Member.User || row.After != `{"business":"2026-11-04T09:00:00.000Z","speed":1}` {
		t.Errorf("%+v", row)
	}
}

func TestClockTargetsLieAhead(t *testing.T) {
	t.Parallel()
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ now, want string }{
		{"2026-11-26 14:05", "2026-11-26 15:05, 2026-11-27 15:00, 2026-12-02 00:00"},
		{"2026-11-27 15:00", "2026-11-27 16:00, 2026-12-04 15:00, 2026-12-02 00:00"},
		{"2026-11-27 14:59", "2026-11-27 15:59, 2026-11-27 15:00, 2026-12-02 00:00"},
		{"2026-12-01 09:00", "2026-12-01 10:00, 2026-12-04 15:00, 2026-12-02 00:00"},
		{"2026-12-02 00:00", "2026-12-02 01:00, 2026-12-04 15:00, 2027-01-02 00:00"},
		{"2026-10-24 20:00", "2026-10-24 21:00, 2026-10-30 15:00, 2026-11-02 00:00"}, // the clocks change in between
	} {
		at, err := time.ParseInLocation("2006-01-02 15:04", c.now, berlin)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for i, x := range domain.ClockTargets(pool.At(at), berlin, 24*time.Hour) {
			if i > 0 {
				got += ", "
			}
			got += x.At.In(berlin).Format("2006-01-02 15:04")
			if x.At <= pool.At(at) {
				t.Errorf("%s: %s is not ahead", c.now, x.Code)
			}
		}
		if got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.now, got, c.want)
		}
	}
}
