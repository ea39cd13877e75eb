package embedded_test

import (
	"bufio"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/hashicorp/nomad/api"

	"gpupool/domain/pool"
	"gpupool/nomad/embedded"
)

// TestKilledProcessLosesNothing kills a real process that registers and stops
// jobs, at several moments, and compares what it was told with what the next
// process finds.
func TestKilledProcessLosesNothing(t *testing.T) {
	t.Parallel()
	for round := range 5 {
		path := filepath.Join(t.TempDir(), "cluster.db")
		child := exec.Command(os.Args[0], "-test.run=^TestCrashChild$", "-test.v")
		child.Env = append(os.Environ(), "EMBEDDED_CRASH_CHILD="+path)
		out, err := child.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		acknowledged := -1
		lines := bufio.NewScanner(out)
		for lines.Scan() {
			if n := -1; acknowledged < 7+5*round {
				if _, err := fmt.Sscanf(lines.Text(), "done %d", &n); err == nil {
					acknowledged = n
				}
				if acknowledged >= 7+5*round {
					if err := child.Process.Kill(); err != nil {
						t.Fatal(err)
					}
				}
				continue
			}
			var n int
			if _, err := fmt.Sscanf(lines.Text(), "done %d", &n); err == nil {
				acknowledged = n // written between the decision to kill and the kill
			}
		}
		_ = child.Wait() // it was killed
		if acknowledged < 7 {
			t.Fatalf("the child acknowledged %d", acknowledged)
		}
		b := &bench{t: t, clock: &clock{}}
		b.clock.now.Store(int64(noon))
		b.open(func(o *embedded.Options) { o.Path = path })
		for i := range acknowledged + 1 {
			j, _, err := b.api.Jobs().Info(fmt.Sprintf("j-%d", i), nil)
			if err != nil {
				t.Fatalf("round %d: job %d of %d was acknowledged and is gone: %v", round, i, acknowledged, err)
			}
			if got, want := *j.Stop, i%3 == 2; got != want {
				t.Errorf("round %d: job %d stopped %v, want %v", round, i, got, want)
			}
			as := b.allocs(*j.ID)
			evals, _, err := b.api.Jobs().Evaluations(*j.ID, nil)
			b.ok(err)
			if len(as) > 1 || len(as) == 0 && len(evals) == 0 {
				t.Errorf("round %d: job %d has %d allocations", round, i, len(as))
			}
		}
	}
}

// TestCrashChild registers and stops jobs until it is killed.
func TestCrashChild(t *testing.T) {
	path := os.Getenv("EMBEDDED_CRASH_CHILD")
	if path == "" {
		return // only lives in the process that TestKilledProcessLosesNothing kills
	}
	c, err := embedded.Open(embedded.Options{Path: path, Nodes: nodes(), Now: func() pool.Instant { return noon }})
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(c)
	client, err := api.NewClient(&api.Config{Address: srv.URL})
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; ; i++ {
		id := fmt.Sprintf("j-%d", i)
		if _, _, err := client.Jobs().Register(job(spec{id: id, gpus: 1, env: lasts(time.Hour)}), nil); err != nil {
			t.Fatal(err)
		}
		if i%3 == 2 {
			if _, _, err := client.Jobs().Deregister(id, false, nil); err != nil {
				t.Fatal(err)
			}
		}
		fmt.Println("done", i)
	}
}
