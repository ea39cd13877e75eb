package main

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"gpupool/domain"
	"gpupool/domain/domaintest"
	"gpupool/domain/pool"
	"gpupool/nomad"
)

// TestTheWholePathOnARealAgent submits jobs through the portal's core to the
// Nomad that GPUPOOL_TEST_NOMAD_ADDR names: they run on its GPUs, end as they
// should, and the ledger has the time that Nomad itself tells.
func TestTheWholePathOnARealAgent(t *testing.T) {
	t.Parallel()
	addr := os.Getenv("GPUPOOL_TEST_NOMAD_ADDR")
	if addr == "" {
		t.Skip("real agent: not run (GPUPOOL_TEST_NOMAD_ADDR names none)")
	}
	client, err := nomad.New(nomad.Config{Addr: addr, Token: os.Getenv("GPUPOOL_TEST_NOMAD_TOKEN"),
		NamespaceToken: os.Getenv("GPUPOOL_TEST_NOMAD_NAMESPACE_TOKEN"), TestPool: true,
		Driver: cmp.Or(os.Getenv("GPUPOOL_TEST_NOMAD_DRIVER"), "raw_exec"), Prefix: fmt.Sprintf("path-%d", os.Getpid()), KillTimeout: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	p := domaintest.New(t, func(c *domain.Config) { c.Cluster = client })
	tick := func() { p.Clock.Set(max(p.Clock.Now(), wallInstant())) } // the business clock is system time
	tick()
	p.Update(func(tx domain.Tx) error {
		st, err := tx.Settings()
		if err != nil {
			return err
		}
		st.TestPool = true
		return tx.SaveSettings(st)
	})
	if err := p.Service.SyncInventory(ctx); err != nil {
		t.Fatal(err)
	}
	submit := func(name string, gpus int, script string) domain.Job {
		t.Helper()
		tick()
		j, err := p.Service.SubmitJob(ctx, p.Member, p.Org, domain.JobInput{Project: p.Project.ID, Name: name, Classes: []pool.ClassID{p.Class},
			Nodes: 1, GPUsPerNode: gpus, Tier: pool.Burst, MaxRun: 10 * time.Minute,
			Spec: domain.JobSpec{Image: "none", Command: "/bin/sh", Args: []string{"-c", script}}})
		if err != nil {
			t.Fatal(err)
		}
		return j
	}
	until := func(id pool.JobID, what string, ok func(v domain.JobView) bool) domain.JobView {
		t.Helper()
		for end := time.Now().Add(time.Minute); ; {
			tick()
			if err := p.Service.Cycle(ctx, true); err != nil {
				t.Fatal(err)
			}
			v, err := p.Service.Job(ctx, p.Owner, p.Org, id)
			if err != nil {
				t.Fatal(err)
			}
			if ok(v) {
				return v
			}
			if time.Now().After(end) {
				t.Fatalf("%s: not %s but %s %v", v.Job.Name, what, v.Job.State, v.Job.Reasons)
			}
			select {
			case <-t.Context().Done():
			case <-time.After(200 * time.Millisecond): // the agent's time, which nobody else can turn
			}
		}
	}
	ended := func(v domain.JobView) bool { return v.Job.State == domain.JobEnded }
	running := func(v domain.JobView) bool { return v.Job.State == domain.JobRunning }

	six := submit("six", 6, "echo hello from the job; sleep 4")
	until(six.ID, "running", running)
	four := submit("four", 4, "exit 3") // 8 in all: it waits
	if v := until(four.ID, "waiting", func(v domain.JobView) bool { return len(v.Job.Reasons) > 0 }); v.Job.State != domain.JobWaiting {
		t.Errorf("the ninth GPU of eight: %s", v.Job.State)
	}
	v := until(six.ID, "ended", ended)
	if v.Job.End != domain.EndFinished || len(v.Segments) == 0 {
		t.Errorf("six ended as %s with %d usage records", v.Job.End, len(v.Segments))
	}
	if held := v.Segments[len(v.Segments)-1].End.Sub(v.Segments[0].Start); held < 4*time.Second || held > 15*time.Second {
		t.Errorf("a run of 4 s is metered as %s", held)
	}
	if !bytes.Contains(v.Job.LogTail, []byte("hello from the job")) && !logHas(t, p, six.ID, "hello from the job") {
		t.Error("its log is not to be read")
	}
	if v := until(four.ID, "ended", ended); v.Job.End != domain.EndExitCode || v.Attempts[0].ExitCode != 3 {
		t.Errorf("four ended as %s %d", v.Job.End, v.Attempts[0].ExitCode)
	}
	long := submit("long", 1, "sleep 300")
	until(long.ID, "running", running)
	if err := p.Service.StopJob(ctx, p.Member, p.Org, long.ID); err != nil {
		t.Fatal(err)
	}
	if v := until(long.ID, "ended", ended); v.Job.End != domain.EndStopped {
		t.Errorf("long ended as %s", v.Job.End)
	}
}

func logHas(t *testing.T, p *domaintest.Pool, id pool.JobID, want string) bool {
	t.Helper()
	var b strings.Builder
	if _, err := p.Service.JobLog(ctx, p.Owner, p.Org, id, "stdout", 0, 1<<16, false, &b); err != nil {
		t.Error(err)
	}
	return strings.Contains(b.String(), want)
}
