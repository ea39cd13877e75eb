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

// A device fails under a full node: who holds it gets notice although others
// are newer, the rest runs on, and the ledger has no time after the notice.
func TestANodeThatLostAGPUShedsWhoHoldsIt(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, r *rig) {
		all := make([]pool.JobID, 8)
		for i := range all {
			tier := pool.Spot
			if i < 2 { // what its own quota and its borrowing leave to it
				tier = pool.Burst
			}
			all[i] = r.submit(r.ask(tier, 1, 3*time.Hour, 3*time.Hour)).ID
			r.turn()
		}
		r.pass(20*time.Minute, time.Minute)
		for _, id := range all {
			r.wants(id, "running")
		}
		broken := r.runsOf(all[2])[0].Devices[0]
		if err := r.cluster.BreakGPU("gpu-a", broken, "XID 79"); err != nil {
			t.Fatal(err)
		}
		r.keep()
		r.turn()
		noticed := r.attempts(all[2])[0]
		if noticed.StopReason != domain.EndGPULost || noticed.StopDetail != "gpu-a" {
			n := must[[]domain.ClusterNode](r, "nodes")(r.client.Nodes(ctx))
			t.Fatalf("the attempt stops by %q: %s; nodes %+v; plan %+v", noticed.StopReason, noticed.StopDetail, n, r.Service.LastDecision().Plan)
		}
		r.until(all[2], "waiting", 20*time.Minute, time.Minute)
		for i, id := range all {
			if i != 2 {
				r.wants(id, "running")
			}
		}
		for _, s := range r.ledger(all[2]) {
			if s.End > noticed.NoticeAt {
				t.Errorf("it is charged until %s, the notice came %s", s.End, noticed.NoticeAt)
			}
		}
		r.truth()
	})
}
