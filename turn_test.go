package main

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"gpupool/domain"
	"gpupool/domain/domaintest"
	"gpupool/domain/pool"
	"gpupool/nomad/embedded"
)

func TestNomadGoesAwayAndComesBackAndNothingIsLost(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, r *rig) {
		runs := r.submit(r.ask(pool.Guaranteed, 2, 10*time.Minute, time.Hour))
		r.turn()
		r.pass(time.Minute, 10*second)
		r.cluster.FailNext(-1, embedded.Match{}, 500, "No cluster leader")
		comes := r.submit(r.ask(pool.Guaranteed, 2, 10*time.Minute, time.Hour))
		for range 4 {
			r.Clock.Add(5 * time.Minute)
			if err := r.Service.Cycle(ctx, true); err == nil {
				t.Fatal("a cluster without a leader is no error")
			}
		}
		if h := r.Service.ClusterHealth(); h.OK || h.Err == "" {
			t.Errorf("health %+v while Nomad is away", h)
		}
		r.wants(runs.ID, "running")
		r.wants(comes.ID, "starting") // decided; its registration waits
		r.cluster.Heal()
		r.until(runs.ID, "ended finished", 0, second)
		r.until(comes.ID, "ended finished", 30*time.Minute, 10*second)
		if n := len(r.attempts(comes.ID)); n != 1 {
			t.Errorf("%d attempts, want one", n)
		}
		r.truth()
	})
}

func TestAnAnswerThatIsLostIsNotDoneTwice(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, r *rig) {
		for _, drop := range []func(int, embedded.Match){r.cluster.DropBefore, r.cluster.DropAfter} {
			drop(1, embedded.Match{Method: "PUT", Path: "/v1/jobs"})
			drop(1, embedded.Match{Method: "DELETE", Path: "/v1/job/"})
			j := r.submit(r.ask(pool.Guaranteed, 2, 50*time.Minute, time.Hour))
			r.until(j.ID, "running", 5*time.Minute, second)
			if err := r.Service.StopJob(ctx, r.Member, r.Org, j.ID); err != nil {
				t.Fatal(err)
			}
			r.until(j.ID, "ended stopped ming", 5*time.Minute, second)
			if n := len(r.runsOf(j.ID)); n != 1 {
				t.Errorf("%d runs, want one", n)
			}
		}
		r.truth()
	})
}

func TestAGangOfTwoNodesRunsOnBothAndEndsTogether(t *testing.T) {
	t.Parallel()
	domaintest.Each(t, func(t *testing.T, p *domaintest.Pool) {
		r := onCluster(t, p, gpuNode("gpu-a", 4), gpuNode("gpu-b", 4))
		in := r.ask(pool.Burst, 4, 25*time.Minute, time.Hour)
		in.Nodes = 2
		j := r.submit(in)
		r.until(j.ID, "running", time.Minute, second)
		runs := r.runsOf(j.ID)
		if len(runs) != 2 || runs[0].Node == runs[1].Node || len(runs[0].Devices) != 4 {
			t.Fatalf("runs %+v, want 4 GPUs on each node", runs)
		}
		r.until(j.ID, "ended finished", time.Hour, 10*second)
		own, loan := pool.GPUMillis(0), pool.GPUMillis(0)
		for _, s := range r.ledger(j.ID) {
			if s.Cover == pool.Own {
				own += s.Use()
			} else {
				loan += s.Use()
			}
		}
		// 6 of 8 GPUs are own: all of one run and half of the other.
		if own != 6*25*60_000 || loan != 2*25*60_000 {
			t.Errorf("own %d and loan %d GPU-ms; %+v %s", own, loan, r.attempts(j.ID), show(r.ledger(j.ID)))
		}
		again := r.submit(in)
		r.until(again.ID, "running", time.Minute, second)
		if err := r.cluster.NodeDown("gpu-b"); err != nil {
			t.Fatal(err)
		}
		r.keep()
		for range 15 {
			r.pass(time.Minute, 10*second)
		}
		if as := r.attempts(again.ID); as[0].State != domain.AttemptEnded || as[0].End != domain.EndNodeFault {
			t.Errorf("attempt %+v, want both ended as one node was lost", as[0])
		}
		for _, x := range r.runsOf(again.ID) {
			if !x.Status.Terminal() {
				t.Errorf("the run on %s goes on as %s", x.Node, x.Status)
			}
		}
		r.wants(again.ID, "waiting")
	})
}

// The organisation chose that a flexible job which the cap holds goes on as
// spot: cheaper, so it fits.
func TestACapTurnsFlexibleJobsIntoSpotWhereThatIsChosen(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, r *rig) {
		// One GPU for two hours: 2.50 at the dearest as flexible, 0.90 as spot.
		if _, err := r.Service.SetCap(ctx, r.Owner, r.Org, domain.CapInput{Amount: "1.00", Mode: domain.CapDowngrade}); err != nil {
			t.Fatal(err)
		}
		j := r.submit(r.ask(pool.Burst, 1, 30*time.Minute, 2*time.Hour))
		r.turn()
		r.turn()
		if got := r.job(j.ID); got.Tier != pool.Spot || got.State == domain.JobWaiting || got.UpTo != j.UpTo {
			t.Errorf("it is %s and %s with %v, up to %d (was %d)", got.Tier, got.State, got.Reasons, got.UpTo, j.UpTo)
		}
		keeps := r.submit(r.ask(pool.Guaranteed, 1, 30*time.Minute, 2*time.Hour))
		r.turn()
		if got := r.job(keeps.ID); got.Tier != pool.Guaranteed {
			t.Errorf("a guaranteed job became %s", got.Tier)
		}
		r.until(j.ID, "ended finished", 2*time.Hour, time.Minute)
		r.truth()
	})
}

func TestACapAdmitsExactlyWhatFits(t *testing.T) {
	t.Parallel()
	domaintest.Each(t, func(t *testing.T, p *domaintest.Pool) {
		r := onCluster(t, p, gpuNode("gpu-a", 32))
		// Spot at 0.45 an hour: ten of one GPU for at most an hour are 4.50.
		if _, err := r.Service.SetCap(ctx, r.Owner, r.Org, domain.CapInput{Amount: "4.50", Mode: domain.CapStop}); err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		ids := make([]pool.JobID, 20)
		for i := range ids {
			wg.Go(func() {
				j, err := r.Service.SubmitJob(ctx, r.Member, r.Org, r.ask(pool.Spot, 1, 30*time.Minute, time.Hour))
				if err != nil {
					t.Error(err)
				}
				ids[i] = j.ID
				if err := r.Service.Cycle(ctx, false); err != nil && domain.CodeOf(err) != domain.Conflict {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		r.turn()
		in, out := 0, 0
		for _, id := range ids {
			switch j := r.job(id); {
			case j.State != domain.JobWaiting:
				in++
			case len(j.Reasons) > 0 && (j.Reasons[0].Code == pool.Cap || slices.ContainsFunc(j.Reasons, func(x pool.Reason) bool { return x.Code == pool.Cap })):
				out++
			default:
				t.Errorf("job %s waits with %+v", id, j.Reasons)
			}
		}
		if in != 10 || out != 10 {
			t.Fatalf("%d admitted and %d wait for the cap, want 10 and 10", in, out)
		}
		// Those end after half their time: what they did not use admits more.
		r.pass(35*time.Minute, time.Minute)
		in = 0
		for _, id := range ids {
			if r.job(id).State != domain.JobWaiting {
				in++
			}
		}
		if in != 15 {
			t.Errorf("%d were admitted after the first ten used half, want 15", in)
		}
		r.truth()
	})
}

// nearMonthEnd moves the pool's clock to three hours before its month's end.
func nearMonthEnd(r *rig) (month pool.Month, end pool.Instant) {
	r.T.Helper()
	zone := must[*time.Location](r, "zone")(time.LoadLocation("Europe/Berlin"))
	month = pool.MonthOf(r.Clock.Now(), zone)
	end = month.Bounds(zone).End
	r.Clock.Set(end.Add(-3 * time.Hour))
	r.turn()
	r.keep()
	return month, end
}

func TestAMonthIsClosedOnceByEightWhoTryWhileJobsRunOn(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, r *rig) {
		month, end := nearMonthEnd(r)
		long := r.submit(r.ask(pool.Burst, 8, 40*time.Hour, 50*time.Hour))
		r.turn()
		r.pass(2*time.Hour, 20*time.Minute)
		r.pass(27*time.Hour, 30*time.Minute)
		r.keep()
		r.pass(time.Hour, 30*time.Minute)
		type result struct {
			closed []domain.Closed
			err    error
		}
		results := make([]result, 8)
		var wg sync.WaitGroup
		for i := range results {
			wg.Go(func() { results[i].closed, results[i].err = r.Service.CloseMonth(ctx, r.Operator, month) })
		}
		wg.Wait()
		first, fresh := pool.InvoiceID(""), 0
		for _, x := range results {
			if x.err != nil || x.closed[0].Err != nil {
				t.Fatalf("closing: %v %v", x.err, x.closed)
			}
			if !x.closed[0].Again {
				fresh++
			}
			if first == "" {
				first = x.closed[0].Invoice.ID
			}
			if x.closed[0].Invoice.ID != first {
				t.Errorf("invoices %s and %s", first, x.closed[0].Invoice.ID)
			}
		}
		if fresh != 1 {
			t.Errorf("%d of eight made the invoice, want one", fresh)
		}
		invoices := must[[]domain.InvoiceRow](r, "invoices")(r.Service.Invoices(ctx, r.Operator, ""))
		if len(invoices) != 1 {
			t.Fatalf("%d invoices, want one", len(invoices))
		}
		// What ran in the month, to the millisecond: 6 own and 2 borrowed GPUs.
		started := startOf(r.runsOf(long.ID)[0])
		f, err := invoices[0].Invoice.Open()
		if err != nil {
			t.Fatal(err)
		}
		var used pool.GPUMillis
		for _, l := range f.Document.Lines {
			if l.Kind.Variable() || l.Kind == "included" {
				used += l.Quantity
			}
		}
		if want := pool.GPUMillis(8 * int64(end-started)); used != want {
			t.Errorf("the invoice bills %d GPU-ms, want %d", used, want)
		}
		r.until(long.ID, "ended finished", 24*time.Hour, time.Hour)
		r.truth()
		r.verified()
	})
}

// verified recomputes all invoices.
func (r *rig) verified() {
	r.T.Helper()
	v := must[domain.VerifyResult](r, "verify")(r.Service.Verify(ctx))
	for _, d := range v.Differences {
		r.T.Errorf("verify: %s", d)
	}
	if v.Invoices == 0 {
		r.T.Error("no invoice was verified")
	}
}

func TestUseThatBecomesKnownAfterClosingIsAnAdjustmentOfTheNextInvoice(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, r *rig) {
		month, end := nearMonthEnd(r)
		known := r.submit(r.ask(pool.Guaranteed, 2, 30*time.Minute, time.Hour))
		r.until(known.ID, "ended finished", time.Hour, 10*second)
		late := r.submit(r.ask(pool.Spot, 4, 30*time.Minute, time.Hour))
		r.turn() // registered, and then nobody looks for long
		r.Clock.Set(end.Add(25 * time.Hour))
		closed := must[[]domain.Closed](r, "close")(r.Service.CloseMonth(ctx, r.Operator, month))
		if closed[0].Err != nil {
			t.Fatal(closed[0].Err)
		}
		total := closed[0].Invoice.Total
		r.until(late.ID, "ended finished", time.Minute, second)
		r.truth()
		next := month.Next()
		r.Clock.Set(next.Bounds(must[domain.Settings](r, "settings")(r.Service.Settings(ctx)).Location()).End.Add(25 * time.Hour))
		r.turn()
		r.keep()
		again := must[[]domain.Closed](r, "close")(r.Service.CloseMonth(ctx, r.Operator, month))
		if !again[0].Again || again[0].Invoice.Total != total {
			t.Errorf("closing again: %+v", again[0])
		}
		then := must[[]domain.Closed](r, "close")(r.Service.CloseMonth(ctx, r.Operator, next))
		if then[0].Err != nil {
			t.Fatal(then[0].Err)
		}
		f, err := then[0].Invoice.Open()
		if err != nil {
			t.Fatal(err)
		}
		var adjusted pool.GPUMillis
		for _, l := range f.Document.Lines {
			if l.Adjusts == month.String() {
				adjusted += l.Quantity
			}
		}
		if adjusted != 4*30*60_000 {
			t.Errorf("adjustments for %s bill %d GPU-ms, want those of the late job", month, adjusted)
		}
		r.verified()
	})
}

func TestAWithdrawnNoticeLeavesNoHoleInTheLedger(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, r *rig) {
		owner, project := r.starter()
		in := r.ask(pool.Burst, 3, 90*time.Minute, 2*time.Hour)
		in.Project = project
		victim := must[domain.Job](r, "victim")(r.Service.SubmitJob(ctx, owner, r.Other, in))
		r.turn()
		r.pass(20*time.Minute, time.Minute)
		claim := r.submit(r.ask(pool.Guaranteed, 6, 30*time.Minute, time.Hour))
		r.turn()
		r.wants(victim.ID, "stopping")
		r.pass(3*time.Minute, time.Minute)
		if err := r.Service.StopJob(ctx, r.Member, r.Org, claim.ID); err != nil {
			t.Fatal(err)
		}
		r.turn()
		r.wants(victim.ID, "running")
		r.until(victim.ID, "ended finished", 2*time.Hour, time.Minute)
		if n := len(r.attempts(victim.ID)); n != 1 {
			t.Errorf("%d attempts, want one", n)
		}
		r.truth()
	})
}

func TestWhatANodeDidWhileItWasOutOfTouchAtMidnightIsNotCharged(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, r *rig) {
		_, end := nearMonthEnd(r)
		j := r.submit(r.ask(pool.Guaranteed, 4, 20*time.Hour, 24*time.Hour))
		r.turn()
		r.Clock.Set(end.Add(-5 * time.Minute))
		r.turn()
		if err := r.cluster.NodeDown("gpu-a"); err != nil {
			t.Fatal(err)
		}
		down := r.Clock.Now()
		r.pass(9*time.Minute, time.Minute) // past midnight, and still unknown
		r.keep()
		r.pass(10*time.Minute, time.Minute)
		r.keep()
		if as := r.attempts(j.ID); as[0].End != domain.EndNodeFault {
			t.Fatalf("attempt %+v", as[0])
		}
		for _, s := range r.ledger(j.ID) {
			if s.End > down {
				t.Errorf("charged up to %s, want at most the last heartbeat at %s", s.End, down)
			}
		}
		r.truth()
	})
}

func TestUseThatWasStoredTooLongIsTakenBack(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, r *rig) {
		_, end := nearMonthEnd(r)
		j := r.submit(r.ask(pool.Burst, 8, 20*time.Hour, 24*time.Hour))
		r.turn()
		r.Clock.Set(end.Add(-5 * time.Minute))
		r.turn()
		// The list that is stored says for ten minutes more that it runs.
		stale := must[[]domain.Run](r, "runs")(r.client.Runs(ctx))
		r.Clock.Set(end.Add(5 * time.Minute))
		blind := domain.New(domain.Config{Store: r.Store, Cluster: stuck{r.client, stale}, Clock: r.Business})
		if err := errors.Join(blind.Reconcile(ctx), blind.MeterDays(ctx)); err != nil {
			t.Fatal(err)
		}
		if s := r.ledger(j.ID); s[len(s)-1].End != end {
			t.Fatalf("ledger %s, want up to midnight", show(s))
		}
		gone := end.Add(-2 * time.Minute)
		lost := stale[0]
		lost.Status, lost.Heartbeat, lost.ModifyIndex = domain.RunLost, gone, lost.ModifyIndex+1000
		blind = domain.New(domain.Config{Store: r.Store, Cluster: stuck{r.client, []domain.Run{lost}}, Clock: r.Business})
		if err := blind.Reconcile(ctx); err != nil {
			t.Fatal(err)
		}
		if why := tiles(r.ledger(j.ID), pool.Interval{Start: startOf(lost), End: gone}, 8); why != "" {
			t.Errorf("%s; ledger %s", why, show(r.ledger(j.ID)))
		}
	})
}

// stuck is a cluster that shows the same runs whatever happens.
type stuck struct {
	domain.Cluster
	runs []domain.Run
}

func (s stuck) Runs(context.Context) ([]domain.Run, error) { return s.runs, nil }
