package embedded_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/nomad/api"

	"gpupool/domain/pool"
	"gpupool/nomad/embedded"
)

func TestJobRunsByTheBusinessClock(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.register(spec{id: "train-1", gpus: 2, env: lasts(time.Hour)})

	a := b.only("train-1")
	if a.ClientStatus != "pending" || len(b.devices(a.ID)) != 2 {
		t.Errorf("just placed: %s with %v, want pending with two GPUs", a.ClientStatus, b.devices(a.ID))
	}
	b.clock.Advance(2 * time.Second)
	if a = b.only("train-1"); a.ClientStatus != "running" || kinds(a) != "Received, Task Setup, Started" {
		t.Errorf("after two seconds: %s, %s", a.ClientStatus, kinds(a))
	}
	b.clock.Advance(72 * time.Hour)
	a = b.only("train-1")
	s := a.TaskStates["main"]
	if a.ClientStatus != "complete" || kinds(a) != "Received, Task Setup, Started, Terminated" || s.State != "dead" || s.Failed {
		t.Errorf("after three days: %s, %s", a.ClientStatus, kinds(a))
	}
	start := noon.Add(time.Second)
	if got := pool.At(s.StartedAt); got != start {
		t.Errorf("started %v, want %v", got, start)
	}
	if got := pool.At(s.FinishedAt); got != start.Add(time.Hour) {
		t.Errorf("finished %v, want one hour after %v", got, start)
	}
	j, _, err := b.api.Jobs().Info("train-1", nil)
	b.ok(err)
	if *j.Status != "dead" {
		t.Errorf("job is %s, want dead", *j.Status)
	}
}

func TestDefaultLengthIsTwoToTenMinutesAndEndsBeforeTheLimit(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.register(spec{id: "free", gpus: 1})
	b.register(spec{id: "tight", gpus: 1, max: 90 * time.Second})
	b.clock.Advance(time.Hour)
	for id, lim := range map[string][2]time.Duration{"free": {2 * time.Minute, 10 * time.Minute}, "tight": {time.Minute, 90 * time.Second}} {
		a := b.only(id)
		s := a.TaskStates["main"]
		if d := s.FinishedAt.Sub(s.StartedAt); d < lim[0] || d > lim[1] {
			t.Errorf("%s ran %v, want between %v and %v", id, d, lim[0], lim[1])
		}
		if a.ClientDescription != "All tasks have completed" {
			t.Errorf("%s ended as %q", id, a.ClientDescription)
		}
	}
}

func TestOutcomes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		env      map[string]string
		restarts int
		status   string
		events   string
		code     int
		log      string
	}{
		{"exit code", with(lasts(time.Minute), "SIM_EXIT", "7"), 0, "failed", "Received, Task Setup, Started, Terminated, Not Restarting", 7, "code 7"},
		{"out of GPU memory", with(lasts(time.Minute), "SIM_OOM", "gpu"), 0, "failed", "Received, Task Setup, Started, Terminated, Not Restarting", 1, "CUDA out of memory"},
		{"out of memory", with(lasts(time.Minute), "SIM_OOM", "host"), 0, "failed", "Received, Task Setup, Started, Terminated, Not Restarting", 137, ""},
		{"image is missing", with(lasts(time.Minute), "SIM_IMAGE", "missing"), 0, "failed", "Received, Task Setup, Driver Failure, Not Restarting", 0, ""},
		{"restarts in place keep the last ten events", with(lasts(time.Minute), "SIM_EXIT", "7"), 2, "failed",
			"Task Setup, Started, Terminated, Restarting, Started, Terminated, Restarting, Started, Terminated, Not Restarting", 7, "try 3 of"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.register(spec{id: "j-1", gpus: 1, env: c.env, restarts: c.restarts})
			b.clock.Advance(time.Hour)
			a := b.only("j-1")
			s := a.TaskStates["main"]
			if a.ClientStatus != c.status || kinds(a) != c.events || !s.Failed || int(s.Restarts) != c.restarts {
				t.Errorf("%s, failed %v, restarts %d: %s", a.ClientStatus, s.Failed, s.Restarts, kinds(a))
			}
			for _, e := range s.Events {
				if e.Type == "Terminated" && (e.ExitCode != c.code || e.Details["oom_killed"] != map[bool]string{true: "true", false: "false"}[c.code == 137]) {
					t.Errorf("terminated with %d and %v, want %d", e.ExitCode, e.Details, c.code)
				}
			}
			if c.log != "" {
				_, _, text := b.get("/v1/client/fs/logs/" + a.ID + "?task=main&type=stdout&plain=true")
				if !strings.Contains(text.(string), c.log) {
					t.Errorf("log lacks %q:\n%s", c.log, text)
				}
			}
		})
	}
}

func TestMaxRunDurationStopsAndIsExtendedInPlace(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	s := spec{id: "long-1", gpus: 1, max: time.Hour, env: lasts(24 * time.Hour)}
	b.register(s)
	b.clock.Advance(50 * time.Minute)
	before := b.only("long-1")

	s.max = 2 * time.Hour
	_, _, err := b.api.Jobs().Register(job(s), nil)
	b.ok(err)
	b.clock.Advance(30 * time.Minute)
	if a := b.only("long-1"); a.ID != before.ID || a.ClientStatus != "running" || a.JobVersion != 1 {
		t.Errorf("extended: %s is %s at version %d, want the same one running at 1", a.ID, a.ClientStatus, a.JobVersion)
	}
	b.clock.Advance(24 * time.Hour)
	a := b.only("long-1")
	if a.ClientStatus != "complete" || a.ClientDescription != "allocation exceeded max_run_duration" || a.DesiredStatus != "run" {
		t.Errorf("past its limit: %s, %q, desired %s", a.ClientStatus, a.ClientDescription, a.DesiredStatus)
	}
	if got, want := pool.At(a.TaskStates["main"].FinishedAt), noon.Add(2*time.Hour+500*time.Millisecond); got != want {
		t.Errorf("finished %v, want %v: limit from placement, then half a second to stop", got, want)
	}
	if kinds(a) != "Received, Task Setup, Started, Killing, Terminated, Killed" {
		t.Errorf("events: %s", kinds(a))
	}
}

func TestChangedMetaOrSizeRunsAgain(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	s := spec{id: "again", gpus: 1, env: lasts(time.Hour)}
	b.register(s)
	b.clock.Advance(time.Minute)
	j := job(s)
	j.Meta["gpupool.org"] = "other"
	_, _, err := b.api.Jobs().Register(j, nil)
	b.ok(err)
	b.clock.Advance(time.Minute)
	as := b.allocs("again")
	if len(as) != 2 || as[1].ClientStatus != "complete" || as[0].ClientStatus != "running" {
		t.Errorf("changed meta: %d allocations", len(as))
	}
}

func TestKillTimeoutHoldsTheGPUs(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	n := b.nodeID("gpu-02")
	b.register(spec{id: "stubborn", gpus: 4, node: n, kill: 20 * time.Second,
		env: map[string]string{"sim_length_ms": "3600000", "sim_setup_ms": "1000"}})
	b.clock.Advance(time.Minute)
	_, _, err := b.api.Jobs().Deregister("stubborn", false, nil)
	b.ok(err)
	b.register(spec{id: "next", gpus: 4, node: n, env: lasts(time.Minute)})
	b.clock.Advance(19 * time.Second)
	if a := b.only("stubborn"); a.ClientStatus != "running" || a.DesiredStatus != "stop" || kinds(a) != "Received, Task Setup, Started, Killing" {
		t.Errorf("in its kill timeout: %s, desired %s, %s", a.ClientStatus, a.DesiredStatus, kinds(a))
	}
	if as := b.allocs("next"); len(as) != 0 {
		t.Error("the next job was placed on GPUs that are still held")
	}
	b.clock.Advance(2 * time.Second)
	a := b.only("stubborn")
	last := a.TaskStates["main"].Events[4]
	if a.ClientStatus != "complete" || last.ExitCode != 137 || last.Signal != 9 {
		t.Errorf("after it: %s with %d", a.ClientStatus, last.ExitCode)
	}
	if got, want := b.only("next").CreateTime, a.TaskStates["main"].FinishedAt.UnixNano(); got != want {
		t.Errorf("next placed at %d, want at the very end of the other, %d", got, want)
	}
}

func TestStopUnknownAndPurgeRunning(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	if _, _, err := b.api.Jobs().Deregister("nobody", true, nil); err != nil {
		t.Errorf("stopping an unknown job: %v, want no error", err)
	}
	b.register(spec{id: "gone", gpus: 8, env: lasts(time.Hour)})
	b.clock.Advance(time.Minute)
	held := b.devices(b.only("gone").ID)
	_, _, err := b.api.Jobs().Deregister("gone", true, nil)
	b.ok(err)
	if as := b.allocs("gone"); len(as) != 0 {
		t.Error("a purged job still shows allocations")
	}
	b.register(spec{id: "heir", gpus: 8, env: lasts(time.Hour)})
	if got := b.devices(b.only("heir").ID); !slices.Equal(got, held) {
		t.Error("the purged job's GPUs did not go to the next one at once")
	}
}

func TestStoppedJobThatIsRegisteredAgainRunsAgain(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	s := spec{id: "twice", gpus: 1, env: lasts(time.Minute)}
	b.register(s)
	b.clock.Advance(time.Hour)
	_, _, err := b.api.Jobs().Register(job(s), nil)
	b.ok(err)
	if n := len(b.allocs("twice")); n != 1 {
		t.Errorf("the same finished job sent again: %d allocations, want 1", n)
	}
	_, _, err = b.api.Jobs().Deregister("twice", false, nil)
	b.ok(err)
	_, _, err = b.api.Jobs().Register(job(s), nil)
	b.ok(err)
	if n := len(b.allocs("twice")); n != 2 {
		t.Errorf("after a stop: %d allocations, want 2", n)
	}
}

func TestRegistrationIsGuardedByTheIndex(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.register(spec{id: "once", gpus: 1})
	_, _, err := b.api.Jobs().EnforceRegister(job(spec{id: "once", gpus: 1}), 0, nil)
	if err == nil || !strings.Contains(err.Error(), "Enforcing job modify index 0: job already exists") {
		t.Errorf("second creation: %v", err)
	}
	j, _, err := b.api.Jobs().Info("once", nil)
	b.ok(err)
	_, _, err = b.api.Jobs().EnforceRegister(job(spec{id: "once", gpus: 1}), *j.JobModifyIndex, nil)
	b.ok(err)
}

func (b *bench) nodeID(name string) string {
	b.t.Helper()
	ns, _, err := b.api.Nodes().List(nil)
	b.ok(err)
	for _, n := range ns {
		if n.Name == name {
			return n.ID
		}
	}
	b.t.Fatalf("no node %s", name)
	return ""
}

func TestStateSurvivesTheProcess(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "cluster.db")
	onFile := func(o *embedded.Options) { o.Path = path }
	b := newBench(t, onFile)
	b.register(spec{id: "short", gpus: 2, env: lasts(time.Minute)})
	b.register(spec{id: "long", n: 2, gpus: 2, env: lasts(48 * time.Hour)})
	b.register(spec{id: "waits", gpus: 8, env: lasts(time.Minute)})
	b.clock.Advance(30 * time.Second)
	_, _, err := b.api.Variables().Create(&api.Variable{Path: "nomad/jobs/long", Items: map[string]string{"K": "v"}}, nil)
	b.ok(err)
	before := b.everything()

	// The first process is never closed: its file is taken as a kill leaves it.
	path = taken(t, path)
	b.open(onFile)
	if after := b.everything(); after != before {
		t.Errorf("a second process reads another state:\n%s\n%s", before, after)
	}
	b.clock.Advance(24 * time.Hour)
	path = taken(t, path)
	b.open(onFile)
	if a := b.only("short"); a.ClientStatus != "complete" || pool.At(a.TaskStates["main"].FinishedAt) != noon.Add(61*time.Second) {
		t.Errorf("what ended while no process ran: %s at %v", a.ClientStatus, a.TaskStates["main"].FinishedAt)
	}
	for _, a := range b.allocs("long") {
		if a.ClientStatus != "running" {
			t.Errorf("long is %s, want running", a.ClientStatus)
		}
	}
}

// A life with restarts is the same life: one cluster is killed and opened again
// between the commands, the other one never.
func TestRestartsChangeNothing(t *testing.T) {
	t.Parallel()
	for seed := range uint64(12) {
		chance := rand.New(rand.NewPCG(seed, 7))
		path := filepath.Join(t.TempDir(), "cluster.db")
		killed, steady := newBench(t, func(o *embedded.Options) { o.Path = path }), newBench(t)
		for i := range 6 {
			s := spec{id: fmt.Sprintf("j-%d", i), n: 1 + chance.IntN(2), gpus: 1 + chance.IntN(5), restarts: chance.IntN(2), lost: time.Hour, keep: true,
				env: map[string]string{"SIM_LENGTH_MS": fmt.Sprint(1 + chance.IntN(600_000)), "SIM_EXIT": fmt.Sprint(chance.IntN(2))}}
			stop, down, up, gap := chance.IntN(i+1), chance.IntN(4) == 0, chance.IntN(4) == 0, time.Duration(chance.IntN(300))*time.Second
			for _, b := range []*bench{killed, steady} {
				b.register(s)
				if i%2 == 1 {
					b.send("DELETE", fmt.Sprintf("/v1/job/j-%d?purge=%v", stop, i == 5), nil)
				}
				if down {
					b.ok(b.c.NodeDown("gpu-02"))
				}
				if up {
					b.ok(b.c.NodeUp("gpu-02"))
				}
				b.clock.Advance(gap)
			}
			if chance.IntN(2) == 0 {
				path = taken(t, path)
				killed.open(func(o *embedded.Options) { o.Path = path })
			}
		}
		if a, b := killed.everything(), steady.everything(); a != b {
			t.Fatalf("seed %d: with restarts:\n%s\nwithout:\n%s", seed, a, b)
		}
	}
}

// taken copies a database file with its write-ahead log, as a kill leaves them.
func taken(t *testing.T, path string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "cluster.db")
	for _, suffix := range []string{"", "-wal"} {
		raw, err := os.ReadFile(path + suffix)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(to+suffix, raw, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return to
}

func TestTwoProcessesNeverContinueTheSameCluster(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "cluster.db")
	b := newBench(t, func(o *embedded.Options) { o.Path = path })
	open := func() (*embedded.Cluster, error) {
		return embedded.Open(embedded.Options{Path: path, Now: b.clock.Now})
	}
	if _, err := open(); err == nil || !strings.Contains(err.Error(), "in use by another gpupool process") {
		t.Errorf("opened twice: %v", err)
	}
	b.ok(b.c.Close())
	c, err := open()
	b.ok(err)
	b.ok(c.Close())
}

func TestServesOnLoopbackOnly(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for _, addr := range []string{"0.0.0.0:0", ":0", "192.0.2.1:0", "nonsense"} {
		if url, err := b.c.Serve(addr); err == nil {
			t.Errorf("serves on %s as %s", addr, url)
		}
	}
	url, err := b.c.Serve("127.0.0.1:0")
	b.ok(err)
	c, err := api.NewClient(&api.Config{Address: url})
	b.ok(err)
	if _, err := c.Status().Leader(); err != nil {
		t.Error(err)
	}
}

func TestSameTextAgainChangesNothing(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	s := spec{id: "j-1", gpus: 1, env: lasts(time.Hour)}
	first, _, err := b.api.Jobs().Register(job(s), nil)
	b.ok(err)
	again, _, err := b.api.Jobs().Register(job(s), nil)
	b.ok(err)
	if again.JobModifyIndex != first.JobModifyIndex || again.EvalID == first.EvalID {
		t.Errorf("index %d after %d, evaluation %s after %s", again.JobModifyIndex, first.JobModifyIndex, again.EvalID, first.EvalID)
	}
	b.only("j-1")
}

func TestNodeReportsByItsOwnClock(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.ok(b.c.SkewNode("gpu-02", -3*time.Hour))
	b.register(spec{id: "j-1", gpus: 1, node: b.nodeID("gpu-02"), env: lasts(time.Hour)})
	b.clock.Advance(time.Minute)
	a := b.only("j-1")
	if got, want := pool.At(a.TaskStates["main"].StartedAt), noon.Add(time.Second-3*time.Hour); got != want || pool.At(time.Unix(0, a.CreateTime)) != noon {
		t.Errorf("started %v, created %v; want %v and %v", got, time.Unix(0, a.CreateTime).UTC(), want, noon)
	}
}

// everything is the whole state as the lists show it.
func (b *bench) everything() string {
	b.t.Helper()
	var out strings.Builder
	for _, p := range []string{"/v1/jobs?namespace=*&meta=true", "/v1/allocations?namespace=*&resources=true", "/v1/evaluations?namespace=*", "/v1/nodes?resources=true", "/v1/vars?namespace=*"} {
		_, _, v := b.get(p)
		out.Write(encoded(v))
		out.WriteByte('\n')
	}
	return out.String()
}
