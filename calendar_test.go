package main

import (
	"testing"
	"time"

	"gpupool/domain"
	"gpupool/domain/pool"
)

// clock is an instant of the pool's zone on Monday 2 November 2026, the day on
// which a rig begins at 10:00.
func clock(hour, minute int) pool.Instant {
	loc, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		panic(err)
	}
	return pool.At(time.Date(2026, 11, 2, hour, minute, 0, 0, loc))
}

// passTo lets the time pass in minutes, with a turn at each.
func (r *rig) passTo(to pool.Instant) {
	r.T.Helper()
	r.pass(to.Sub(r.Clock.Now()), time.Minute)
}

// By day rheinau has two GPUs instead of the six that its plan guarantees, and borrows.
// In the evening its quota is back: what it borrowed is its own from that
// millisecond on, what waits takes back what kestrelis borrowed, and the
// invoice has the loan till then and not a second more.
func TestTheLoopCrossesABoundaryOfAQuota(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, r *rig) {
		owner, project := r.starter()
		evening := clock(18, 0)
		if _, _, err := r.Service.AddTimePolicy(ctx, r.Operator, domain.TimePolicyInput{Name: "Days", Org: r.Org, Class: r.Class, Guaranteed: "2", Borrow: "4", From: "08:00", To: "18:00"}); err != nil {
			t.Fatal(err)
		}
		r.Clock.Set(clock(16, 0))
		in := r.ask(pool.Burst, 3, 5*time.Hour, 20*time.Hour)
		in.Project = project
		lent := must[domain.Job](r, "submit")(r.Service.SubmitJob(ctx, owner, r.Other, in))
		r.turn()
		mine := r.submit(r.ask(pool.Burst, 3, 4*time.Hour, 7*time.Hour))
		r.turn()
		late := r.submit(r.ask(pool.Guaranteed, 3, time.Hour, 2*time.Hour)) // more than the two of now, not of the evening
		r.passTo(clock(17, 50))
		if got := r.attempts(mine.ID)[0].Split; got != (pool.Split{Own: 2, Loan: 1}) {
			t.Fatalf("by day it is charged as %+v", got)
		}
		if rs := r.job(late.ID).Reasons; len(rs) != 1 || rs[0].Code != pool.PolicyWindow || rs[0].Until != evening {
			t.Errorf("it waits for %+v, want the evening", rs)
		}
		if at := r.Service.NextDecision(); at > evening {
			t.Errorf("the loop would sleep until %s", at)
		}
		r.passTo(evening)
		if got := r.attempts(mine.ID)[0]; got.Split != (pool.Split{Own: 3}) || got.State != domain.AttemptRunning {
			t.Fatalf("in the evening it is %s, charged as %+v", got.State, got.Split)
		}
		victim := r.attempts(lent.ID)[0]
		if victim.StopReason != domain.EndTakenBack || victim.NoticeAt != evening || victim.StopAt != evening.Add(10*time.Minute) {
			t.Fatalf("the borrower stops by %q, notice %s, stop %s", victim.StopReason, victim.NoticeAt, victim.StopAt)
		}
		r.until(late.ID, "running", 20*time.Minute, time.Minute)
		r.until(mine.ID, "ended finished", 5*time.Hour, 5*time.Minute)
		r.until(late.ID, "ended finished", 5*time.Hour, 5*time.Minute)
		loan, cut := pool.GPUMillis(0), false
		for _, s := range r.ledger(mine.ID) {
			if s.Cover == pool.Loan {
				loan += s.Use()
				cut = cut || s.End == evening
			} else if s.Start < evening && s.End > evening {
				t.Errorf("a segment goes over the boundary: %+v", s)
			}
		}
		if want := pool.GPUMillis(int64(evening - startOf(r.runsOf(mine.ID)[0]))); !cut || loan != want {
			t.Errorf("on loan %d GPU-ms, want %d to the boundary: %s", loan, want, show(r.ledger(mine.ID)))
		}
		r.until(lent.ID, "ended finished", 15*time.Hour, 10*time.Minute)
		r.truth()

		// The invoice of the month has exactly that loan.
		r.Clock.Set(pool.Month{Year: 2026, Month: 12}.Bounds(time.UTC).Start.Add(48 * time.Hour))
		r.turn()
		r.keep()
		must[[]domain.Closed](r, "close")(r.Service.CloseMonth(ctx, r.Operator, pool.Month{Year: 2026, Month: 11}))
		var billed pool.GPUMillis
		for _, x := range must[[]domain.InvoiceRow](r, "invoices")(r.Service.Invoices(ctx, r.Finance, r.Org)) {
			for _, l := range must[domain.InvoiceView](r, "invoice")(r.Service.Invoice(ctx, r.Finance, r.Org, x.Invoice.Number)).Frozen.Document.Lines {
				if l.Cover == pool.Loan {
					billed += l.Quantity
				}
			}
		}
		if billed != loan {
			t.Errorf("billed %d GPU-ms of loan, the ledger has %d", billed, loan)
		}
	})
}

// A maintenance is planned over running work and over work that waits.
func TestAMaintenanceIsPlanned(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, r *rig) {
		long := r.submit(r.ask(pool.Guaranteed, 4, 90*time.Minute, 8*time.Hour))
		r.turn()
		r.passTo(clock(10, 50))
		node := r.runsOf(long.ID)[0].Node
		plan := must[domain.Announcement](r, "plan")(r.Service.Announce(ctx, r.Operator, domain.AnnouncementInput{Text: "New switch", Start: "2026-11-02 11:30",
			End: "2026-11-02 13:00", Maintenance: true, Node: node}))
		short := r.submit(r.ask(pool.Burst, 1, 20*time.Minute, 30*time.Minute))
		hour := r.submit(r.ask(pool.Spot, 1, 20*time.Minute, time.Hour))
		r.turn()
		r.passTo(clock(10, 51))
		r.wants(short.ID, "running")
		r.wants(hour.ID, "waiting")
		if rs := r.job(hour.ID).Reasons; len(rs) != 1 || rs[0].Code != pool.Maintenance || rs[0].Until != clock(13, 0) {
			t.Errorf("it waits for %+v", rs)
		}
		r.passTo(clock(11, 19))
		r.wants(long.ID, "running")
		if at := r.Service.NextDecision(); at > clock(11, 20) {
			t.Errorf("the loop would sleep until %s", at)
		}
		r.passTo(clock(11, 20))
		a := r.attempts(long.ID)[0]
		if a.StopReason != domain.EndMaintenance || a.NoticeAt != clock(11, 20) || a.StopAt != clock(11, 30) || a.StopDetail != "New switch" {
			t.Fatalf("it stops by %q (%s), notice %s, stop %s", a.StopReason, a.StopDetail, a.NoticeAt, a.StopAt)
		}
		r.wants(long.ID, "stopping")
		r.passTo(clock(12, 0))
		r.wants(long.ID, "waiting")
		if a := r.attempts(long.ID)[0]; a.End != domain.EndMaintenance || a.EndDetail != "New switch" {
			t.Errorf("it ended by %q: %s", a.End, a.EndDetail)
		}
		for _, s := range r.ledger(long.ID) {
			if s.End > clock(11, 20) {
				t.Errorf("it is charged until %s, the notice came at 11:20", s.End)
			}
		}
		if free := r.Service.LastDecision().Plan; len(free.Admit) > 0 {
			t.Errorf("it starts work in the maintenance: %+v", free.Admit)
		}
		// It is over sooner than planned.
		r.passTo(clock(12, 30))
		must[domain.Announcement](r, "end")(r.Service.EndAnnouncement(ctx, r.Operator, plan.ID))
		r.turn()
		r.passTo(clock(12, 32))
		r.wants(long.ID, "running")
		r.wants(hour.ID, "running")
		r.until(long.ID, "ended finished", 3*time.Hour, time.Minute)
		r.truth()
	})
}

// Hours that are closed to spot work stop it with notice before they begin, and
// let it wait for their end. Called off in time, the notice is taken back.
func TestClosedHours(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, r *rig) {
		close := func(name string) domain.TimePolicy {
			p, _, err := r.Service.AddTimePolicy(ctx, r.Operator, domain.TimePolicyInput{Name: name, Closed: true, Tier: pool.Spot, From: "11:00", To: "12:00"})
			if err != nil {
				t.Fatal(err)
			}
			return p
		}
		spot := r.submit(r.ask(pool.Spot, 2, 3*time.Hour, 5*time.Hour))
		flexible := r.submit(r.ask(pool.Burst, 2, 3*time.Hour, 5*time.Hour))
		r.turn()
		r.passTo(clock(10, 30))
		off := close("Teaching")
		r.passTo(clock(10, 45)) // less than the minimum run and the notice before eleven
		barred := r.submit(r.ask(pool.Spot, 1, time.Hour, 2*time.Hour))
		r.turn()
		if rs := r.job(barred.ID).Reasons; len(rs) != 1 || rs[0].Code != pool.PolicyWindow || rs[0].Until != clock(12, 0) {
			t.Errorf("it waits for %+v", rs)
		}
		r.passTo(clock(10, 50))
		if a := r.attempts(spot.ID)[0]; a.StopReason != domain.EndClosedHours || a.StopAt != clock(11, 0) || a.StopDetail != "Teaching" {
			t.Fatalf("it stops by %q (%s) at %s", a.StopReason, a.StopDetail, a.StopAt)
		}
		r.passTo(clock(10, 55))
		must[domain.TimePolicy](r, "end")(r.Service.EndTimePolicy(ctx, r.Operator, off.ID))
		r.turn()
		r.wants(spot.ID, "running")
		r.passTo(clock(11, 10))
		r.wants(barred.ID, "running")
		close("Exam") // in the middle of its hours
		r.turn()
		noticed := clock(11, 10)
		if a := r.attempts(spot.ID)[0]; a.NoticeAt != noticed || a.StopAt != noticed.Add(10*time.Minute) {
			t.Fatalf("notice %s, stop %s", a.NoticeAt, a.StopAt)
		}
		r.passTo(clock(11, 40))
		r.wants(spot.ID, "waiting")
		r.wants(flexible.ID, "running")
		if a := r.attempts(spot.ID)[0]; a.End != domain.EndClosedHours || a.EndDetail != "Exam" {
			t.Errorf("it ended by %q: %s", a.End, a.EndDetail)
		}
		r.passTo(clock(11, 59))
		r.wants(spot.ID, "waiting")
		r.passTo(clock(12, 1))
		r.wants(spot.ID, "running")
		for _, s := range r.ledger(spot.ID) {
			if s.Start < clock(12, 0) && s.End > noticed && s.End != clock(10, 55) {
				t.Errorf("it is charged from %s to %s", s.Start, s.End)
			}
		}
		r.until(spot.ID, "ended finished", 5*time.Hour, time.Minute)
		r.truth()
	})
}
