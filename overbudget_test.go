package main

import (
	"testing"
	"time"

	"gpupool/domain"
	"gpupool/domain/pool"
)

// The cap is lowered under running work: what exceeds it gets notice, runs
// free of charge from then on, and waits with the reason; what fits runs on.
// Money that comes back during the notice takes the notice back.
func TestALoweredCapStopsWhatExceedsIt(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, r *rig) {
		setCap := func(amount string, mode domain.CapMode) {
			t.Helper()
			r.Clock.Add(time.Second)
			if _, err := r.Service.SetCap(ctx, r.Owner, r.Org, domain.CapInput{Amount: amount, Mode: mode}); err != nil {
				t.Fatal(err)
			}
			r.turn()
		}
		// One GPU for two hours as flexible: at most 2.50.
		first := r.submit(r.ask(pool.Burst, 1, 2*time.Hour, 2*time.Hour))
		r.turn()
		r.pass(time.Minute, time.Minute)
		later := r.submit(r.ask(pool.Burst, 1, 2*time.Hour, 2*time.Hour))
		r.turn()
		r.pass(10*time.Minute, time.Minute)
		r.wants(later.ID, "running")

		setCap("4.00", domain.CapStop)
		r.wants(first.ID, "running")
		r.wants(later.ID, "stopping")
		a := r.attempts(later.ID)[0]
		if a.StopReason != domain.EndOverBudget || a.NoticeAt == 0 || a.StopAt <= a.NoticeAt {
			t.Fatalf("the attempt stops by %q, notice %d, stop %d", a.StopReason, a.NoticeAt, a.StopAt)
		}
		setCap("9.00", domain.CapStop)
		r.wants(later.ID, "running")
		setCap("4.00", domain.CapStop)
		noticed := r.attempts(later.ID)[0].NoticeAt
		r.until(later.ID, "waiting", 20*time.Minute, time.Minute)
		if a := r.attempts(later.ID)[0]; a.End != domain.EndOverBudget || a.EndDetail != "the spending cap" {
			t.Errorf("the attempt ended by %q: %s", a.End, a.EndDetail)
		}
		if rs := r.job(later.ID).Reasons; len(rs) == 0 || rs[0].Code != pool.Cap {
			t.Errorf("it waits for %+v", rs)
		}
		for _, s := range r.ledger(later.ID) {
			if s.End > noticed {
				t.Errorf("it is charged until %s, the notice came %s", s.End, noticed)
			}
		}
		setCap("", domain.CapStop)
		r.turn()
		if got := r.job(later.ID); got.State == domain.JobWaiting {
			t.Errorf("without a cap it still waits for %+v", got.Reasons)
		}
		r.truth()
	})
}

func TestALoweredCapTurnsRunningWorkIntoSpotWhereThatIsChosen(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, r *rig) {
		j := r.submit(r.ask(pool.Burst, 1, time.Hour, 2*time.Hour))
		r.turn()
		r.pass(10*time.Minute, time.Minute)
		if _, err := r.Service.SetCap(ctx, r.Owner, r.Org, domain.CapInput{Amount: "1.30", Mode: domain.CapDowngrade}); err != nil {
			t.Fatal(err)
		}
		r.turn()
		if got := r.job(j.ID); got.Tier != pool.Spot || got.State != domain.JobRunning {
			t.Errorf("it is %s and %s", got.Tier, got.State)
		}
		if a := r.attempts(j.ID)[0]; a.Tier != pool.Spot || a.Split != (pool.Split{Spot: 1}) {
			t.Errorf("the attempt is %s, charged as %+v", a.Tier, a.Split)
		}
		r.until(j.ID, "ended finished", 3*time.Hour, time.Minute)
		covers := map[pool.Cover]bool{}
		for _, s := range r.ledger(j.ID) {
			covers[s.Cover] = true
		}
		if !covers[pool.SpotCover] || len(covers) != 2 {
			t.Errorf("the ledger has %v, want the time before as it was and the rest as spot", covers)
		}
		r.truth()
	})
}

func TestABillRunsUpToTheCap(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, r *rig) {
		j := r.submit(r.ask(pool.Spot, 4, 4*time.Hour, 4*time.Hour)) // 1.80 an hour
		r.turn()
		if _, err := r.Service.SetCap(ctx, r.Owner, r.Org, domain.CapInput{Amount: "3.60", Mode: domain.CapBill}); err != nil {
			t.Fatal(err)
		}
		r.pass(110*time.Minute, time.Minute)
		r.wants(j.ID, "running")
		r.pass(20*time.Minute, time.Minute)
		r.wants(j.ID, "waiting")
		v, err := r.Service.Cap(ctx, r.Owner, r.Org)
		if err != nil || v.Used > 360 || v.Used < 330 {
			t.Errorf("used %d of 360: %v", v.Used, err)
		}
		r.truth()
	})
}
