package nomad_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/nomad/api"

	"gpupool/domain"
	"gpupool/domain/pool"
	"gpupool/nomad"
)

// bench is one cluster under the contract, with what tells them apart.
type bench struct {
	cluster *nomad.Client
	addr    string
	token   string // may register foreign jobs
	keeps   bool   // our own token may not purge
	driver  string
	class   domain.GPUClass
	org     pool.OrgID
	tick    func() // lets business time pass
	nodes   int    // how many nodes have GPUs of class
}

// work is a job of that length which prints words and ends with exit, on
// whichever driver the cluster has.
func (b *bench) work(length time.Duration, exit int, words string) domain.JobSpec {
	seconds := length.Seconds()
	return domain.JobSpec{
		Image:   "registry.example/train:1",
		Command: "/bin/sh",
		Args:    []string{"-c", "echo " + words + "; sleep " + trim(seconds) + "; exit " + trim(float64(exit))},
		Env:     map[string]string{"GREETING": "你好"},
		Sim:     &domain.Sim{LengthMs: length.Milliseconds(), Exit: exit, Log: words},
	}
}

// attempt is a fresh one on the first node.
func (b *bench) attempt(t *testing.T, gpus int, spec domain.JobSpec) domain.RunSpec {
	t.Helper()
	return domain.RunSpec{
		Attempt: pool.AttemptID{Job: pool.JobID("job-" + token()), N: 1},
		Org:     b.org, Project: "genomics", User: "ada", Name: "contract", Class: b.class,
		Placement: []domain.NodeGPUs{{Node: b.gpuNodes(t)[0].ID, GPUs: gpus}},
		MaxRun:    time.Hour, Spec: spec,
	}
}

func (b *bench) gpuNodes(t *testing.T) []domain.ClusterNode {
	t.Helper()
	all, err := b.cluster.Nodes(t.Context())
	must(t, err)
	return slices.DeleteFunc(all, func(n domain.ClusterNode) bool {
		return !slices.ContainsFunc(n.Groups, func(g domain.DeviceGroup) bool { return g.Model == b.class.Model })
	})
}

// submit places the attempt and takes it away when the test ends.
func (b *bench) submit(t *testing.T, s domain.RunSpec) {
	t.Helper()
	must(t, b.cluster.Submit(t.Context(), s))
	t.Cleanup(func() { _ = b.cluster.Stop(context.WithoutCancel(t.Context()), s.Org, s.Attempt) })
}

// runs of one attempt.
func (b *bench) runs(t *testing.T, a pool.AttemptID) []domain.Run {
	t.Helper()
	all, err := b.cluster.Runs(t.Context())
	must(t, err)
	return slices.DeleteFunc(all, func(r domain.Run) bool { return r.Attempt != a })
}

// wait for the attempt's one run to have the status.
func (b *bench) wait(t *testing.T, a pool.AttemptID, status domain.RunStatus) domain.Run {
	t.Helper()
	var last domain.Run
	b.until(t, "a run that is "+string(status), func() bool {
		for _, r := range b.runs(t, a) {
			last = r
			if r.Status == status {
				return true
			}
		}
		return false
	})
	return last
}

func (b *bench) until(t *testing.T, what string, met func() bool) {
	t.Helper()
	poll := time.NewTicker(30 * time.Millisecond)
	defer poll.Stop()
	limit := time.NewTimer(40 * time.Second)
	defer limit.Stop()
	for !met() {
		select {
		case <-limit.C:
			t.Fatalf("waited in vain for %s", what)
		case <-poll.C:
			b.tick()
		}
	}
}

// contract is what the pool relies on, on every cluster. start makes a bench
// for one test.
func contract(t *testing.T, start func(t *testing.T) *bench) {
	tests := []struct {
		sentence string
		check    func(t *testing.T, b *bench)
	}{
		{"an agent says its version and that it has a leader", pingTells},
		{"a namespace is made once", namespaceTwice},
		{"an attempt submitted twice runs once", submitTwice},
		{"a foreign job of the same id is a conflict", foreignID},
		{"a finished run has its exit code and an interval", finishes},
		{"a failed run has its exit code", fails},
		{"stopping what is unknown is success", stopUnknown},
		{"a stopped attempt stays registered until it is forgotten", stopAndForget},
		{"an extended attempt goes on in place", extends},
		{"a run ends at its maximum run time", maxRun},
		{"a log is read in parts", readsLog},
		{"a log of another organisation is not found", foreignLog},
		{"a signal reaches a running attempt and only known ones are sent", signals},
		{"the watcher tells of changes and ends with its context", watches},
		{"a cordoned node takes nothing new", cordons},
		{"GPUs held by others are counted, ours are not", countsForeign},
		{"a gang runs once on each of its nodes", gangs},
		{"a gang that does not assemble is stopped with all that runs of it", gangDoesNotAssemble},
		{"GPUs that are not there leave the attempt without a run", tooMany},
	}
	for _, tt := range tests {
		t.Run(tt.sentence, func(t *testing.T) {
			tt.check(t, start(t))
		})
	}
}

func pingTells(t *testing.T, b *bench) {
	info, err := b.cluster.Ping(t.Context())
	must(t, err)
	if !info.Leader || !strings.Contains(info.Version, ".") {
		t.Fatalf("ping: %+v", info)
	}
}

func namespaceTwice(t *testing.T, b *bench) {
	must(t, b.cluster.EnsureNamespace(t.Context(), b.org))
	must(t, b.cluster.EnsureNamespace(t.Context(), b.org))
}

func submitTwice(t *testing.T, b *bench) {
	must(t, b.cluster.EnsureNamespace(t.Context(), b.org))
	s := b.attempt(t, 2, b.work(time.Minute, 0, "hello"))
	b.submit(t, s)
	must(t, b.cluster.Submit(t.Context(), s))
	r := b.wait(t, s.Attempt, domain.RunRunning)
	must(t, b.cluster.Submit(t.Context(), s))
	if all := b.runs(t, s.Attempt); len(all) != 1 {
		t.Fatalf("%d runs of one attempt", len(all))
	}
	if r.Org != b.org || r.Node != s.Placement[0].Node || len(r.Devices) != 2 || r.Desired != "run" {
		t.Fatalf("the run is %+v", r)
	}
	if at(r, "Started") < at(r, "Received") || at(r, "Received") < r.Created-1000 || r.Finished != 0 {
		t.Fatalf("the times of the run are %+v", r)
	}
}

func foreignID(t *testing.T, b *bench) {
	must(t, b.cluster.EnsureNamespace(t.Context(), b.org))
	s := b.attempt(t, 1, b.work(time.Minute, 0, "hello"))
	b.register(t, "gpupool-"+string(b.org), s.Attempt.NomadID(), 1)
	if err := b.cluster.Submit(t.Context(), s); domain.CodeOf(err) != domain.Conflict {
		t.Fatalf("a taken id gives %v", err)
	}
}

func finishes(t *testing.T, b *bench) {
	must(t, b.cluster.EnsureNamespace(t.Context(), b.org))
	s := b.attempt(t, 1, b.work(time.Second, 0, "hello"))
	b.submit(t, s)
	r := b.wait(t, s.Attempt, domain.RunComplete)
	if r.Finished <= at(r, "Started") || at(r, "Started") == 0 {
		t.Fatalf("no interval in %+v", r)
	}
	if e := last(r, "Terminated"); e.Exit != 0 || e.OOM {
		t.Fatalf("the end is %+v", e)
	}
}

func fails(t *testing.T, b *bench) {
	must(t, b.cluster.EnsureNamespace(t.Context(), b.org))
	s := b.attempt(t, 1, b.work(200*time.Millisecond, 3, "hello"))
	b.submit(t, s)
	r := b.wait(t, s.Attempt, domain.RunFailed)
	if e := last(r, "Terminated"); e.Exit != 3 {
		t.Fatalf("the end is %+v", e)
	}
	if n := count(r, "Started"); n != 1 {
		t.Fatalf("it was started %d times", n)
	}
}

func stopUnknown(t *testing.T, b *bench) {
	must(t, b.cluster.EnsureNamespace(t.Context(), b.org))
	must(t, b.cluster.Stop(t.Context(), b.org, pool.AttemptID{Job: "never", N: 1}))
	must(t, b.cluster.Stop(t.Context(), "nobody", pool.AttemptID{Job: "never", N: 1}))
	must(t, b.cluster.Forget(t.Context(), b.org, pool.AttemptID{Job: "never", N: 1}))
}

func stopAndForget(t *testing.T, b *bench) {
	must(t, b.cluster.EnsureNamespace(t.Context(), b.org))
	s := b.attempt(t, 1, b.work(time.Hour, 0, "hello"))
	b.submit(t, s)
	b.wait(t, s.Attempt, domain.RunRunning)
	if err := b.cluster.Forget(t.Context(), b.org, s.Attempt); domain.CodeOf(err) != domain.Conflict {
		t.Fatalf("forgetting what runs gives %v", err)
	}
	if stopped, ok := b.registered(t)[s.Attempt]; !ok || stopped {
		t.Fatalf("registered %v, stopped %v", ok, stopped)
	}
	must(t, b.cluster.Stop(t.Context(), b.org, s.Attempt))
	must(t, b.cluster.Stop(t.Context(), b.org, s.Attempt))
	r := b.wait(t, s.Attempt, domain.RunComplete)
	if r.Desired != "stop" || r.Finished == 0 || count(r, "Killed") != 1 {
		t.Fatalf("the stopped run is %+v", r)
	}
	if stopped, ok := b.registered(t)[s.Attempt]; !ok || !stopped {
		t.Fatalf("registered %v, stopped %v", ok, stopped)
	}
	must(t, b.cluster.Forget(t.Context(), b.org, s.Attempt))
	must(t, b.cluster.Forget(t.Context(), b.org, s.Attempt))
	if _, ok := b.registered(t)[s.Attempt]; ok != b.keeps {
		t.Fatal("a forgotten attempt is still registered")
	}
}

func extends(t *testing.T, b *bench) {
	must(t, b.cluster.EnsureNamespace(t.Context(), b.org))
	s := b.attempt(t, 1, b.work(5*time.Second, 0, "hello"))
	s.MaxRun = 3 * time.Second
	b.submit(t, s)
	before := b.wait(t, s.Attempt, domain.RunRunning)
	s.MaxRun = time.Hour
	must(t, b.cluster.ExtendRun(t.Context(), s))
	r := b.wait(t, s.Attempt, domain.RunComplete)
	if r.Alloc != before.Alloc || count(r, "Started") != 1 || last(r, "Terminated").Exit != 0 {
		t.Fatalf("the extended run is %+v", r)
	}
	if r.Finished.Sub(at(r, "Started")) < 4*time.Second {
		t.Fatalf("it ended after %s", r.Finished.Sub(at(r, "Started")))
	}
	if err := b.cluster.ExtendRun(t.Context(), b.attempt(t, 1, s.Spec)); domain.CodeOf(err) != domain.NotFound {
		t.Fatalf("extending what is unknown gives %v", err)
	}
}

func maxRun(t *testing.T, b *bench) {
	must(t, b.cluster.EnsureNamespace(t.Context(), b.org))
	s := b.attempt(t, 1, b.work(time.Hour, 0, "hello"))
	s.MaxRun = 2 * time.Second
	b.submit(t, s)
	r := b.wait(t, s.Attempt, domain.RunComplete)
	// Counted from the placement on a real agent: set-up is inside.
	if had := r.Finished.Sub(r.Created); had < 1900*time.Millisecond || had > 20*time.Second {
		t.Fatalf("it had its GPUs for %s", had)
	}
}

func readsLog(t *testing.T, b *bench) {
	must(t, b.cluster.EnsureNamespace(t.Context(), b.org))
	s := b.attempt(t, 1, b.work(6*time.Second, 0, "epoch-one"))
	b.submit(t, s)
	r := b.wait(t, s.Attempt, domain.RunRunning)
	read := func(offset, limit int64) (string, int64) {
		var w bytes.Buffer
		next, err := b.cluster.Logs(t.Context(), b.org, r.Alloc, "stdout", offset, limit, false, &w)
		must(t, err)
		return w.String(), next
	}
	b.until(t, "the first words", func() bool { text, _ := read(0, 1<<20); return strings.Contains(text, "epoch-one") })
	b.wait(t, s.Attempt, domain.RunComplete)
	whole, end := read(0, 1<<20)
	head, next := read(0, 4)
	tail, after := read(next, 1<<20)
	if head+tail != whole || next != 4 || after != end || end != int64(len(whole)) {
		t.Fatalf("%q + %q is not %q (next %d, end %d, %d)", head, tail, whole, next, end, after)
	}
	if rest, at := read(end, 1<<20); rest != "" || at != end {
		t.Fatalf("after the end there is %q", rest)
	}
	if tail, n := read(-4, 1<<20); tail != whole[len(whole)-4:] || n != 4 {
		t.Fatalf("the last four bytes are %q (%d)", tail, n)
	}
	if all, n := read(-1<<15, 1<<15); all != whole || n != end {
		t.Fatalf("a longer tail than the log is %q (%d)", all, n)
	}
	var followed bytes.Buffer
	_, err := b.cluster.Logs(t.Context(), b.org, r.Alloc, "stdout", 0, 1<<20, true, &followed)
	must(t, err)
	if followed.String() != whole {
		t.Fatalf("following an ended run gives %q", followed.String())
	}
	_, err = b.cluster.Logs(t.Context(), b.org, "6ba7b810-9dad-11d1-80b4-00c04fd430c8", "stdout", 0, 9, false, &followed)
	if domain.CodeOf(err) != domain.NotFound {
		t.Fatalf("the log of an unknown run gives %v", err)
	}
}

func foreignLog(t *testing.T, b *bench) {
	must(t, b.cluster.EnsureNamespace(t.Context(), b.org))
	must(t, b.cluster.EnsureNamespace(t.Context(), b.org+"x"))
	s := b.attempt(t, 1, b.work(time.Minute, 0, "secret-words"))
	b.submit(t, s)
	r := b.wait(t, s.Attempt, domain.RunRunning)
	var w bytes.Buffer
	_, err := b.cluster.Logs(t.Context(), b.org+"x", r.Alloc, "stdout", 0, 1<<20, false, &w)
	if domain.CodeOf(err) != domain.NotFound || w.Len() != 0 {
		t.Fatalf("another organisation's log gives %q, %v", w.String(), err)
	}
}

func signals(t *testing.T, b *bench) {
	must(t, b.cluster.EnsureNamespace(t.Context(), b.org))
	s := b.attempt(t, 1, b.work(time.Minute, 0, "hello"))
	must(t, b.cluster.Signal(t.Context(), b.org, s.Attempt, "SIGUSR1"))
	b.submit(t, s)
	b.wait(t, s.Attempt, domain.RunRunning)
	must(t, b.cluster.Signal(t.Context(), b.org, s.Attempt, "SIGUSR1"))
	b.until(t, "the signal in the run's events", func() bool { return count(b.runs(t, s.Attempt)[0], "Signaling") == 1 })
	if err := b.cluster.Signal(t.Context(), b.org, s.Attempt, "SIGSTOP"); domain.CodeOf(err) != domain.Invalid {
		t.Fatalf("SIGSTOP gives %v", err)
	}
}

func watches(t *testing.T, b *bench) {
	must(t, b.cluster.EnsureNamespace(t.Context(), b.org))
	ctx, stop := context.WithCancel(t.Context())
	var changes atomic.Int64
	ended := make(chan error, 1)
	go func() { ended <- b.cluster.Watch(ctx, func() { changes.Add(1) }) }()
	b.until(t, "the first word of the stream", func() bool { return changes.Load() > 0 })
	before := changes.Load()
	s := b.attempt(t, 1, b.work(time.Minute, 0, "hello"))
	b.submit(t, s)
	b.until(t, "an event of the new job", func() bool { return changes.Load() > before })
	stop()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Fatalf("the watcher ended with %v", err)
	}
}

func cordons(t *testing.T, b *bench) {
	node := b.gpuNodes(t)[0]
	state := func() domain.NodeState { return b.gpuNodes(t)[0].State }
	if state() != domain.NodeReady {
		t.Fatalf("the node is %s", state())
	}
	must(t, b.cluster.SetEligible(t.Context(), node.ID, false))
	defer func() { must(t, b.cluster.SetEligible(t.Context(), node.ID, true)) }()
	if state() != domain.NodeDraining {
		t.Fatalf("the cordoned node is %s", state())
	}
	must(t, b.cluster.SetEligible(t.Context(), node.ID, true))
	if state() != domain.NodeReady {
		t.Fatalf("the node is %s again", state())
	}
	g := node.Groups[0]
	if node.Site == "" || g.MemoryMiB < 1024 || len(g.Healthy) < 8 || g.Vendor != "nvidia" || g.Type != "gpu" {
		t.Fatalf("the node is %+v", node)
	}
}

func countsForeign(t *testing.T, b *bench) {
	must(t, b.cluster.EnsureNamespace(t.Context(), b.org))
	held := func() int { return b.gpuNodes(t)[0].Foreign[b.class.Model] }
	before := held()
	s := b.attempt(t, 2, b.work(time.Minute, 0, "hello"))
	b.submit(t, s)
	b.wait(t, s.Attempt, domain.RunRunning)
	if held() != before {
		t.Fatalf("our own GPUs count as foreign")
	}
	b.register(t, "default", "foreign-"+token(), 3)
	b.until(t, "three foreign GPUs", func() bool { return held() == before+3 })
}

func gangs(t *testing.T, b *bench) {
	nodes := b.gpuNodes(t)
	if b.nodes < 2 {
		t.Log("this cluster has one node with GPUs: the gang is tried on the embedded cluster only")
		return
	}
	must(t, b.cluster.EnsureNamespace(t.Context(), b.org))
	s := b.attempt(t, 2, b.work(time.Minute, 0, "hello"))
	s.Placement = []domain.NodeGPUs{{Node: nodes[1].ID, GPUs: 2}, {Node: nodes[0].ID, GPUs: 2}}
	b.submit(t, s)
	b.until(t, "two running runs", func() bool {
		n := 0
		for _, r := range b.runs(t, s.Attempt) {
			if r.Status == domain.RunRunning && len(r.Devices) == 2 {
				n++
			}
		}
		return n == 2
	})
	rs := b.runs(t, s.Attempt)
	if len(rs) != 2 || rs[0].Node == rs[1].Node {
		t.Fatalf("the gang runs as %+v", rs)
	}
}

func tooMany(t *testing.T, b *bench) {
	must(t, b.cluster.EnsureNamespace(t.Context(), b.org))
	s := b.attempt(t, 1000, b.work(time.Minute, 0, "hello"))
	s.Class.CPUPerGPU, s.Class.MemPerGPU = 0, 0
	b.submit(t, s)
	if _, ok := b.registered(t)[s.Attempt]; !ok {
		t.Fatal("it is not registered")
	}
	if rs := b.runs(t, s.Attempt); len(rs) != 0 {
		t.Fatalf("it runs: %+v", rs)
	}
}

// registered is the port's answer.
func (b *bench) registered(t *testing.T) map[pool.AttemptID]bool {
	t.Helper()
	m, err := b.cluster.Registered(t.Context())
	must(t, err)
	return m
}

// register puts a job on the cluster that isn't ours.
func (b *bench) register(t *testing.T, ns, id string, gpus int) {
	t.Helper()
	a, err := api.NewClient(&api.Config{Address: b.addr, SecretID: b.token, HttpClient: &http.Client{}})
	must(t, err)
	t.Cleanup(a.Close)
	job := api.NewBatchJob(id, id, "", 50)
	job.Region, job.Namespace, job.Datacenters, job.NodePool = nil, new(ns), []string{"*"}, new("all")
	task := api.NewTask("other", b.driver)
	task.Config = map[string]any{"command": "/bin/sh", "args": []string{"-c", "sleep 60"}}
	if b.driver == "docker" {
		task.Config = map[string]any{"image": "registry.example/other:1"}
	}
	task.Resources = &api.Resources{CPU: new(20), MemoryMB: new(20), Devices: []*api.RequestedDevice{{Name: "nvidia/gpu", Count: new(uint64(gpus)),
		Constraints: []*api.Constraint{api.NewConstraint("${device.model}", "=", b.class.Model)}}}}
	g := api.NewTaskGroup("g", 1)
	g.Constraints = []*api.Constraint{api.NewConstraint("${node.unique.id}", "=", string(b.gpuNodes(t)[0].ID))}
	g.Tasks = []*api.Task{task}
	job.TaskGroups = []*api.TaskGroup{g}
	_, _, err = a.Jobs().Register(job, (&api.WriteOptions{Namespace: ns}).WithContext(t.Context()))
	must(t, err)
	t.Cleanup(func() { _, _, _ = a.Jobs().Deregister(id, true, &api.WriteOptions{Namespace: ns}) })
}

func at(r domain.Run, kind string) pool.Instant {
	for _, e := range r.Events {
		if e.Type == kind {
			return e.At
		}
	}
	return 0
}

func last(r domain.Run, kind string) domain.RunEvent {
	for _, e := range slices.Backward(r.Events) {
		if e.Type == kind {
			return e
		}
	}
	return domain.RunEvent{Exit: -1}
}

func count(r domain.Run, kind string) int {
	n := 0
	for _, e := range r.Events {
		if e.Type == kind {
			n++
		}
	}
	return n
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func token() string {
	b := make([]byte, 5)
	_, _ = rand.Read(b) // never fails
	return hex.EncodeToString(b)
}
