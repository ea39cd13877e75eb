package main

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gpupool/domain"
	"gpupool/domain/domaintest"
	"gpupool/domain/meter"
	"gpupool/domain/pool"
)

const second = time.Second

// each runs fn on a pool with a cluster, on SQLite and on PostgreSQL.
func each(t *testing.T, fn func(t *testing.T, r *rig)) {
	domaintest.Each(t, func(t *testing.T, p *domaintest.Pool) { fn(t, onCluster(t, p)) })
}

func TestAJobRunsToItsEndAndIsMeteredToTheMillisecond(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, r *rig) {
		j := r.submit(r.ask(pool.Guaranteed, 2, 1234567*time.Millisecond, time.Hour))
		r.turn()
		r.wants(j.ID, "starting")
		r.pass(2*second, second)
		r.wants(j.ID, "running")
		r.pass(21*time.Minute, 7*second)
		r.wants(j.ID, "ended finished")
		run := r.runsOf(j.ID)[0]
		at := r.attempts(j.ID)[0]
		want := []domain.Segment{{Seq: 1, Alloc: run.Alloc, Attempt: at.ID, Start: startOf(run), End: startOf(run) + 1234567, Class: r.Class, GPUs: 2,
			Cover: pool.Own, PriceRow: r.price(pool.Own), PlanVersion: r.Campus.ID, Org: r.Org, Project: r.Project.ID, User: r.Member.User,
			Account: r.Account.ID, Node: run.Node, Source: "nomad", Quality: meter.Exact, Sign: 1}}
		if d := cmp.Diff(want, r.ledger(j.ID)); d != "" {
			t.Errorf("ledger (-want +got):\n%s", d)
		}
		if at.State != domain.AttemptEnded || at.EndedAt != run.Finished || at.StartedAt != startOf(run) {
			t.Errorf("attempt %+v", at)
		}
		r.truth()
	})
}

func TestTheNinthGPUOfEightWaitsWithATrueReasonAndStartsWhenOneEnds(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, r *rig) {
		first := r.submit(r.ask(pool.Burst, 4, 20*time.Minute, time.Hour))
		r.turn()
		other := r.submit(r.ask(pool.Burst, 4, 50*time.Minute, time.Hour))
		r.turn()
		ninth := r.submit(r.ask(pool.Burst, 1, 10*time.Minute, time.Hour))
		r.turn()
		r.wants(first.ID, "starting")
		r.wants(other.ID, "starting")
		r.wants(ninth.ID, "waiting")
		j := r.job(ninth.ID)
		if len(j.Reasons) == 0 || j.Reasons[0].Code != pool.ClassFull || j.Reasons[0].Need != 1 || j.Reasons[0].Have != 0 {
			t.Errorf("reasons %+v, want class full with 0 free", j.Reasons)
		}
		r.pass(19*time.Minute, time.Minute)
		r.wants(ninth.ID, "waiting")
		r.until(ninth.ID, "running", 3*time.Minute, second)
		r.wants(first.ID, "ended finished")
		r.until(ninth.ID, "ended finished", 15*time.Minute, 20*second)
		r.until(other.ID, "ended finished", time.Hour, time.Minute)
		r.truth()
	})
}

func TestBurstOverQuotaIsOwnAndLoanAndTheLedgerIsCutWhereQuotaFrees(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, r *rig) {
		small := r.submit(r.ask(pool.Guaranteed, 4, 20*time.Minute, time.Hour))
		r.turn()
		big := r.submit(r.ask(pool.Burst, 4, 40*time.Minute, time.Hour))
		r.turn()
		if at := r.attempts(big.ID)[0]; at.Split != (pool.Split{Own: 2, Loan: 2}) {
			t.Fatalf("split %+v, want 2 own and 2 loan: 6 guaranteed, 4 of them used", at.Split)
		}
		r.until(small.ID, "ended finished", 25*time.Minute, 13*second)
		at := r.attempts(big.ID)[0]
		if at.Split != (pool.Split{Own: 4}) {
			t.Fatalf("split %+v after quota came free, want 4 own", at.Split)
		}
		r.until(big.ID, "ended finished", time.Hour, time.Minute)
		var covers []domain.CoverRow
		r.view(func(tx domain.Tx) (err error) { covers, err = tx.Covers(at.ID); return err })
		run := r.runsOf(big.ID)[0]
		type row struct {
			Start, End pool.Instant
			GPUs       int
			Cover      pool.Cover
		}
		var got []row
		for _, s := range r.ledger(big.ID) {
			got = append(got, row{s.Start, s.End, s.GPUs, s.Cover})
		}
		if len(covers) != 2 {
			t.Fatalf("covers %+v, want two", covers)
		}
		change := covers[1].From
		want := []row{{startOf(run), change, 2, pool.Own}, {startOf(run), change, 2, pool.Loan}, {change, run.Finished, 4, pool.Own}}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("ledger (-want +got):\n%s", d)
		}
		r.truth()
	})
}

func TestAReclaimGivesNoticeSignalsStopsAndTheVictimRunsAgain(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, r *rig) {
		owner, project := r.starter()
		in := r.ask(pool.Burst, 3, 90*time.Minute, 2*time.Hour)
		in.Project = project
		victim, err := r.Service.SubmitJob(ctx, owner, r.Other, in)
		if err != nil {
			t.Fatal(err)
		}
		r.turn()
		r.pass(20*time.Minute, time.Minute)
		r.wants(victim.ID, "running")
		claim := r.submit(r.ask(pool.Guaranteed, 6, 30*time.Minute, time.Hour))
		r.turn()
		r.wants(claim.ID, "waiting")
		r.wants(victim.ID, "stopping")
		at := r.attempts(victim.ID)[0]
		notice := r.Clock.Now()
		if at.NoticeAt != notice || at.StopAt != notice.Add(10*time.Minute) || at.StopSent != 0 || at.StopReason != domain.EndTakenBack {
			t.Fatalf("attempt under notice: %+v", at)
		}
		if run := r.runsOf(victim.ID)[0]; run.Desired != "run" || run.Status != domain.RunRunning || run.Events[len(run.Events)-1].Type != "Signaling" {
			t.Fatalf("the run is %s/%s, events %+v; want running with a signal", run.Desired, run.Status, run.Events)
		}
		r.pass(9*time.Minute+50*second, 10*second)
		r.wants(victim.ID, "stopping")
		r.pass(11*second, second)
		if r.attempts(victim.ID)[0].StopSent == 0 {
			t.Fatal("no stop was sent after the notice")
		}
		r.until(claim.ID, "running", 2*time.Minute, second)
		again := r.job(victim.ID)
		if again.State != domain.JobWaiting && again.State != domain.JobStarting || again.SubmittedAt != victim.SubmittedAt {
			t.Fatalf("victim %s submitted %s, want it queued as of %s", again.State, again.SubmittedAt, victim.SubmittedAt)
		}
		first := r.runsOf(victim.ID)[0]
		got := r.ledger(victim.ID)
		if end := got[len(got)-1].End; end != notice {
			t.Errorf("charged up to %s, want up to the signal at %s", end, notice)
		}
		r.until(victim.ID, "running", time.Hour, 30*second)
		second := r.attempts(victim.ID)[1]
		used := notice.Sub(startOf(first))
		if got, want := second.MaxEnd.Sub(second.AdmittedAt), 2*time.Hour-used; got != want {
			t.Errorf("the second attempt may run for %s, want what is left: %s", got, want)
		}
		r.until(victim.ID, "ended finished", 3*time.Hour, time.Minute)
		r.wants(claim.ID, "ended finished")
		r.truth()
	})
}

func TestAPersonStopsAWaitingAndARunningJob(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, r *rig) {
		run := r.submit(r.ask(pool.Burst, 8, 50*time.Minute, time.Hour))
		r.Clock.Add(second)
		wait := r.submit(r.ask(pool.Burst, 8, 50*time.Minute, time.Hour))
		r.turn()
		r.pass(10*time.Minute, time.Minute)
		for _, id := range []pool.JobID{wait.ID, run.ID} {
			if err := r.Service.StopJob(ctx, r.Member, r.Org, id); err != nil {
				t.Fatal(err)
			}
		}
		r.wants(wait.ID, "ended cancelled ming")
		r.wants(run.ID, "stopping")
		r.until(run.ID, "ended stopped ming", 2*time.Minute, second)
		if len(r.attempts(wait.ID)) != 0 || len(r.runsOf(wait.ID)) != 0 {
			t.Error("a job that was stopped while it waited was started")
		}
		if x := r.runsOf(run.ID)[0]; x.Finished.Sub(startOf(x)) < 10*time.Minute {
			t.Errorf("run %+v", x)
		}
		r.truth()
	})
}

func TestAJobThatIsStoppedBeforeItsSubmissionIsNeverStarted(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, r *rig) {
		j := r.submit(r.ask(pool.Burst, 1, 50*time.Minute, time.Hour))
		if _, err := r.Service.RunEngine(ctx); err != nil {
			t.Fatal(err)
		}
		if err := r.Service.StopJob(ctx, r.Member, r.Org, j.ID); err != nil {
			t.Fatal(err)
		}
		r.turn()
		r.turn()
		r.wants(j.ID, "ended stopped ming")
		if len(r.runsOf(j.ID)) != 0 || len(r.ledger(j.ID)) != 0 {
			t.Error("it was started or charged")
		}
	})
}

func TestHowAJobEnds(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		sim   domain.Sim
		limit time.Duration
		want  string
	}{
		{"by itself", domain.Sim{LengthMs: 300_000}, time.Hour, "ended finished"},
		{"with an exit code", domain.Sim{LengthMs: 300_000, Exit: 7}, time.Hour, "ended exit_code 7"},
		{"out of GPU memory, by its log", domain.Sim{LengthMs: 300_000, OOM: true}, time.Hour, "ended gpu_memory"},
		{"at its time limit", domain.Sim{LengthMs: 7_200_000}, 15 * time.Minute, "ended time_limit"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			each(t, func(t *testing.T, r *rig) {
				in := r.ask(pool.Guaranteed, 1, 0, c.limit)
				in.Spec.Sim = &c.sim
				j := r.submit(in)
				r.until(j.ID, c.want, 20*time.Minute, 9*second)
				r.truth()
				if len(r.job(j.ID).LogTail) == 0 {
					t.Error("no log was kept")
				}
			})
		})
	}
}

func TestALostNodeEndsTheAttemptAtItsLastHeartbeatAndTheJobRunsElsewhere(t *testing.T) {
	t.Parallel()
	domaintest.Each(t, func(t *testing.T, p *domaintest.Pool) {
		r := onCluster(t, p, gpuNode("gpu-a", 4), gpuNode("gpu-b", 4))
		j := r.submit(r.ask(pool.Guaranteed, 4, 40*time.Minute, time.Hour))
		r.turn()
		r.pass(12*time.Minute, time.Minute)
		run := r.runsOf(j.ID)[0]
		if err := r.cluster.NodeDown(string(run.Node)); err != nil {
			t.Fatal(err)
		}
		down := r.Clock.Now()
		r.keep()
		r.pass(9*time.Minute, time.Minute)
		r.wants(j.ID, "running") // nobody knows yet whether it still runs
		r.until(j.ID, "running", 0, second)
		for range 10 {
			r.pass(time.Minute, 10*second)
		}
		as := r.attempts(j.ID)
		if len(as) != 2 || as[0].End != domain.EndNodeFault || as[1].Placement[0].Node == as[0].Placement[0].Node {
			t.Fatalf("attempts %+v, want a second one on the other node", as)
		}
		of := r.ledger(j.ID)
		if last := of[0]; last.End > down || last.Quality != meter.Estimated {
			t.Errorf("charged %s to %s as %s, want at most the last heartbeat at %s, estimated", last.Start, last.End, last.Quality, down)
		}
		if err := r.cluster.NodeUp(string(run.Node)); err != nil {
			t.Fatal(err)
		}
		r.until(j.ID, "ended finished", 2*time.Hour, time.Minute)
		r.pass(2*time.Minute, time.Minute)
		for _, x := range r.runsOf(j.ID) {
			if !x.Status.Terminal() {
				t.Errorf("run %s of attempt %d goes on as %s after its node came back", x.Alloc, x.Attempt.N, x.Status)
			}
		}
	})
}

func TestAnAllocationThatVanishesIsChargedUpToWhenItWasLastSeen(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, r *rig) {
		j := r.submit(r.ask(pool.Guaranteed, 2, 30*time.Minute, time.Hour))
		r.turn()
		r.pass(10*time.Minute, time.Minute)
		seen := r.Clock.Now()
		// It is stopped and collected before anybody looks again.
		r.Clock.Add(5 * time.Minute)
		if err := r.client.Stop(ctx, r.Org, r.attempts(j.ID)[0].ID); err != nil {
			t.Fatal(err)
		}
		start := startOf(r.runsOf(j.ID)[0])
		r.Clock.Add(5 * time.Minute)
		if err := r.cluster.CollectGarbage(); err != nil {
			t.Fatal(err)
		}
		r.turn()
		got := r.ledger(j.ID)
		if len(got) != 1 || got[0].Start != start || got[0].End != seen || got[0].Quality != meter.Estimated {
			t.Fatalf("ledger %+v, want [%s,%s) estimated", got, start, seen)
		}
		if as := r.attempts(j.ID); as[0].End != domain.EndVanished {
			t.Errorf("attempt %+v", as[0])
		}
		r.until(j.ID, "ended finished", time.Hour, time.Minute)
		if n := len(r.attempts(j.ID)); n != 2 {
			t.Errorf("%d attempts, want a second one that finishes", n)
		}
	})
}

func TestAJobRemovedBehindOurBackIsStartedAgainOnce(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, r *rig) {
		j := r.submit(r.ask(pool.Guaranteed, 2, 30*time.Minute, time.Hour))
		r.turn() // registered, nothing has started
		at := r.attempts(j.ID)[0]
		if err := r.client.Stop(ctx, r.Org, at.ID); err != nil {
			t.Fatal(err)
		}
		r.Clock.Add(2 * second)
		if err := r.client.Forget(ctx, r.Org, at.ID); err != nil {
			t.Fatal(err)
		}
		if n := len(r.runsOf(j.ID)); n != 0 {
			t.Fatalf("%d runs are left", n)
		}
		r.until(j.ID, "running", 10*time.Minute, 10*second)
		if n := len(r.runsOf(j.ID)); n != 1 {
			t.Errorf("%d runs, want one", n)
		}
		r.until(j.ID, "ended finished", time.Hour, time.Minute)
		r.truth()
	})
}

func TestLookingTwiceChangesNothing(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, r *rig) {
		j := r.submit(r.ask(pool.Burst, 8, 20*time.Minute, time.Hour))
		for range 30 {
			r.pass(time.Minute, time.Minute)
			before, seq := r.job(j.ID), len(r.ledger(j.ID))
			attempts := r.attempts(j.ID)
			for range 2 {
				if err := r.Service.Reconcile(ctx); err != nil {
					t.Fatal(err)
				}
			}
			r.restart() // remembers nothing and sees everything anew
			r.turn()
			r.turn()
			if d := cmp.Diff(before, r.job(j.ID)) + cmp.Diff(attempts, r.attempts(j.ID)); d != "" || len(r.ledger(j.ID)) != seq {
				t.Fatalf("at %s (-before +after):\n%s", r.Clock.Now(), d)
			}
		}
		r.wants(j.ID, "ended finished")
		r.truth()
	})
}
