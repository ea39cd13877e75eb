package main

import (
	"strings"
	"testing"
	"time"

	"gpupool/domain"
	"gpupool/domain/domaintest"
	"gpupool/domain/pool"
)

func TestARunThatDoesNotStartInTimeIsStoppedTriedAgainAndGivenUp(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, r *rig) {
		in := r.ask(pool.Guaranteed, 2, time.Minute, 4*time.Hour)
		in.Spec.Env = map[string]string{"sim_setup_ms": "7200000"}
		j := r.submit(in)
		r.turn()
		r.pass(29*time.Minute, 30*second)
		r.wants(j.ID, "starting")
		for n := 1; n <= 3; n++ {
			r.pass(32*time.Minute, 10*second)
			if at := r.attempts(j.ID)[n-1]; at.End != domain.EndSetup || at.StartedAt != 0 || !strings.HasPrefix(at.EndDetail, "not running after 30 minutes, last: ") {
				t.Fatalf("try %d: %+v", n, at)
			}
		}
		got := r.job(j.ID)
		if got.State != domain.JobEnded || got.End != domain.EndSetup || got.Attempts != 3 {
			t.Fatalf("job %+v", got)
		}
		// Each try is free for ten minutes and costs until it was stopped.
		var use pool.GPUMillis
		for _, s := range r.ledger(j.ID) {
			use += s.Use()
		}
		if low, high := pool.GPUMillis(3*2*20*60_000), pool.GPUMillis(3*2*22*60_000); use < low || use > high {
			t.Errorf("charged %d GPU-milliseconds, want %d to %d", use, low, high)
		}
		r.truth()
	})
}

func TestAGangThatDoesNotAssembleIsStoppedCostsNothingAndRunsAgain(t *testing.T) {
	t.Parallel()
	domaintest.Each(t, func(t *testing.T, p *domaintest.Pool) {
		r := onCluster(t, p, gpuNode("gpu-a", 4), gpuNode("gpu-b", 4))
		if err := r.cluster.NodeDown("gpu-b"); err != nil { // the pool hasn't heard of it
			t.Fatal(err)
		}
		in := r.ask(pool.Burst, 4, 25*time.Minute, time.Hour)
		in.Nodes = 2
		j := r.submit(in)
		r.turn()
		r.pass(10*time.Minute, 10*second)
		r.wants(j.ID, "starting")
		if runs := r.runsOf(j.ID); len(runs) != 1 || runs[0].Status != domain.RunRunning {
			t.Fatalf("runs %+v, want one of the two", runs)
		}
		r.keep()
		r.pass(2*time.Minute, 10*second)
		r.wants(j.ID, "waiting")
		at := r.attempts(j.ID)[0]
		if at.End != domain.EndGang || at.EndDetail != "1 of 2 nodes had started after 10 minutes" {
			t.Fatalf("attempt %+v", at)
		}
		if s := r.ledger(j.ID); len(s) != 0 {
			t.Errorf("charged %s, want nothing", show(s))
		}
		v := must[domain.JobView](r, "job")(r.Service.Job(ctx, r.Member, r.Org, j.ID))
		if v.Charged != 0 {
			t.Errorf("%d charged", v.Charged)
		}
		if err := r.cluster.NodeUp("gpu-b"); err != nil {
			t.Fatal(err)
		}
		r.keep()
		r.until(j.ID, "ended finished", time.Hour, 10*second)
		r.truth()
	})
}

// Over midnight use is stored while the gang still hopes for its other node;
// it is taken back.
func TestAGangThatDoesNotAssembleOverMidnightCostsNothing(t *testing.T) {
	t.Parallel()
	r := onCluster(t, domaintest.New(t), gpuNode("gpu-a", 4), gpuNode("gpu-b", 4))
	st := must[domain.Settings](r, "settings")(r.Service.Settings(ctx))
	midnight := pool.NextMidnight(r.Clock.Now(), st.Location())
	r.pass(midnight.Sub(r.Clock.Now())-4*time.Minute, time.Hour)
	r.keep()
	if err := r.cluster.NodeDown("gpu-b"); err != nil {
		t.Fatal(err)
	}
	in := r.ask(pool.Burst, 4, 25*time.Minute, time.Hour)
	in.Nodes = 2
	j := r.submit(in)
	r.turn()
	r.pass(8*time.Minute, 10*second)
	if err := r.Service.MeterDays(ctx); err != nil {
		t.Fatal(err)
	}
	if len(r.ledger(j.ID)) == 0 {
		t.Fatal("nothing was stored at midnight")
	}
	r.pass(4*time.Minute, 10*second)
	if at := r.attempts(j.ID)[0]; at.End != domain.EndGang {
		t.Fatalf("attempt %+v", at)
	}
	r.truth()
}
