package embedded_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/nomad/api"

	"gpupool/domain/pool"
	"gpupool/nomad/embedded"
)

const (
	a100 = "NVIDIA A100-SXM4-80GB"
	h100 = "NVIDIA H100 80GB HBM3"
	mig  = "NVIDIA A100-SXM4-80GB MIG 1g.10gb"
)

// noon is a Thursday.
var noon = pool.At(time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC))

// clock is a business clock that only the test moves.
type clock struct{ now atomic.Int64 }

func (k *clock) Now() pool.Instant       { return pool.Instant(k.now.Load()) }
func (k *clock) Advance(d time.Duration) { k.now.Add(d.Milliseconds()) }

// bench is a cluster with the real client in front.
type bench struct {
	t     *testing.T
	clock *clock
	c     *embedded.Cluster
	url   string
	api   *api.Client
}

func nodes() []embedded.NodeSpec {
	drivers := []string{"docker", "raw_exec"}
	return []embedded.NodeSpec{
		{Name: "gpu-01", Drivers: drivers, Meta: map[string]string{"site": "north"},
			Devices: []embedded.DeviceSpec{{Model: a100, IDs: embedded.DeviceIDs("GPU", "gpu-01", 8)}}},
		{Name: "gpu-02", Drivers: drivers,
			Devices: []embedded.DeviceSpec{{Model: a100, IDs: embedded.DeviceIDs("GPU", "gpu-02", 4)}}},
		{Name: "gpu-03", Drivers: drivers,
			Devices: []embedded.DeviceSpec{{Model: mig, MemoryMiB: 9728, IDs: embedded.DeviceIDs("MIG", "gpu-03", 7)}}},
	}
}

func newBench(t *testing.T, change ...func(*embedded.Options)) *bench {
	t.Helper()
	b := &bench{t: t, clock: &clock{}}
	b.clock.now.Store(int64(noon))
	b.open(change...)
	return b
}

// open starts a cluster on the bench's clock, also once more on the same file.
func (b *bench) open(change ...func(*embedded.Options)) {
	b.t.Helper()
	opt := embedded.Options{Now: b.clock.Now, Nodes: nodes(), Poll: 2 * time.Millisecond}
	for _, f := range change {
		f(&opt)
	}
	c, err := embedded.Open(opt)
	b.ok(err)
	srv := httptest.NewServer(c)
	b.t.Cleanup(func() { c.Close(); srv.Close() })
	b.c, b.url = c, srv.URL
	b.api = b.client("")
}

func (b *bench) client(token string) *api.Client {
	c, err := api.NewClient(&api.Config{Address: b.url, SecretID: token, HttpClient: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}})
	b.ok(err)
	return c
}

func (b *bench) ok(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

// spec is a test job of n members with gpus each.
type spec struct {
	id       string
	n, gpus  int
	model    string
	node     string
	max      time.Duration
	kill     time.Duration
	distinct bool
	restarts int
	lost     time.Duration
	keep     bool // don't replace what is lost
	env      map[string]string
}

func job(s spec) *api.Job {
	if s.model == "" {
		s.model = a100
	}
	if s.n == 0 {
		s.n = 1
	}
	if s.kill == 0 {
		s.kill = 5 * time.Second
	}
	task := api.NewTask("main", "docker").SetConfig("image", "example.org/train:1")
	task.Env, task.KillTimeout = s.env, &s.kill
	task.Resources = &api.Resources{CPU: ptr(1000), MemoryMB: ptr(2048)}
	if s.gpus > 0 {
		task.Resources.Devices = []*api.RequestedDevice{{Name: "nvidia/gpu", Count: ptr(uint64(s.gpus)),
			Constraints: []*api.Constraint{{LTarget: "${device.model}", Operand: "=", RTarget: s.model}}}}
	}
	g := api.NewTaskGroup("g", s.n).AddTask(task)
	g.RestartPolicy = &api.RestartPolicy{Attempts: &s.restarts, Mode: ptr("fail"), Delay: ptr(time.Second), Interval: ptr(time.Hour)}
	g.ReschedulePolicy = &api.ReschedulePolicy{Attempts: ptr(0), Unlimited: ptr(false)}
	if s.max > 0 {
		g.MaxRunDuration = &s.max
	}
	if s.lost > 0 || s.keep {
		g.Disconnect = &api.DisconnectStrategy{Replace: ptr(!s.keep), Reconcile: ptr("keep_original")}
		if s.lost > 0 {
			g.Disconnect.LostAfter = &s.lost
		}
	}
	if s.distinct {
		g.Constraints = append(g.Constraints, &api.Constraint{Operand: "distinct_hosts", RTarget: "true"})
	}
	if s.node != "" {
		g.Constraints = append(g.Constraints, &api.Constraint{LTarget: "${node.unique.id}", Operand: "regexp", RTarget: s.node})
	}
	j := api.NewBatchJob(s.id, s.id, "global", 50).AddTaskGroup(g)
	j.Datacenters = []string{"dc1"}
	j.Meta = map[string]string{"gpupool.org": "rheinau"}
	return j
}

func ptr[T any](v T) *T { return &v }

// lasts makes a job run for d after it has started, and stop within a second.
func lasts(d time.Duration) map[string]string {
	return map[string]string{"SIM_LENGTH_MS": strconv.FormatInt(d.Milliseconds(), 10), "SIM_SETUP_MS": "1000", "SIM_STOP_MS": "500"}
}

func with(m map[string]string, kv ...string) map[string]string {
	for i := 0; i < len(kv); i += 2 {
		m[kv[i]] = kv[i+1]
	}
	return m
}

func (b *bench) register(s spec) string {
	b.t.Helper()
	r, _, err := b.api.Jobs().EnforceRegister(job(s), 0, nil)
	b.ok(err)
	return r.EvalID
}

func (b *bench) allocs(id string) []*api.AllocationListStub {
	b.t.Helper()
	as, _, err := b.api.Jobs().Allocations(id, true, nil)
	b.ok(err)
	return as
}

func (b *bench) only(id string) *api.AllocationListStub {
	b.t.Helper()
	as := b.allocs(id)
	if len(as) != 1 {
		b.t.Fatalf("job %s has %d allocations, want 1", id, len(as))
	}
	return as[0]
}

// devices that allocations hold, as the list with resources shows them.
func (b *bench) devices(alloc string) []string {
	b.t.Helper()
	a, _, err := b.api.Allocations().Info(alloc, nil)
	b.ok(err)
	var ids []string
	for _, t := range a.AllocatedResources.Tasks {
		for _, d := range t.Devices {
			ids = append(ids, d.DeviceIDs...)
		}
	}
	return ids
}

func kinds(a *api.AllocationListStub) string {
	var out []string
	for _, e := range a.TaskStates["main"].Events {
		out = append(out, e.Type)
	}
	return strings.Join(out, ", ")
}

// get is an answer without a client in between.
func (b *bench) get(path string) (int, http.Header, any) {
	b.t.Helper()
	return b.send("GET", path, nil)
}

func (b *bench) send(method, path string, body any) (int, http.Header, any) {
	b.t.Helper()
	var in io.Reader
	if body != nil {
		raw, err := json.Marshal(body)
		b.ok(err)
		in = strings.NewReader(string(raw))
	}
	req, err := http.NewRequest(method, b.url+path, in)
	b.ok(err)
	resp, err := http.DefaultClient.Do(req)
	b.ok(err)
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	b.ok(err)
	if !strings.HasPrefix(resp.Header.Get("Content-Type"), "application/json") {
		return resp.StatusCode, resp.Header, string(raw)
	}
	var v any
	if len(raw) > 0 {
		b.ok(json.Unmarshal(raw, &v))
	}
	return resp.StatusCode, resp.Header, v
}

// until waits for a condition that other goroutines bring about.
func until(t *testing.T, what string, cond func() bool) {
	t.Helper()
	limit := time.Now().Add(10 * time.Second)
	for !cond() {
		if time.Now().After(limit) {
			t.Fatalf("never came: %s", what)
		}
		time.Sleep(time.Millisecond)
	}
}
