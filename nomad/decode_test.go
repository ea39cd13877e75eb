package nomad

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/nomad/api"

	"gpupool/domain"
	"gpupool/domain/pool"
)

// recorded reads an answer of a real cluster.
func recorded(t *testing.T, name string, out any) (status int) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Response struct {
			Body   json.RawMessage
			Status int
		}
	}
	body := b
	if json.Unmarshal(b, &file) == nil && file.Response.Body != nil {
		body = file.Response.Body
	}
	if err := json.Unmarshal(body, out); err != nil {
		t.Fatal(err)
	}
	return file.Response.Status
}

func TestARunThatReachedItsMaximumIsReadToTheMillisecond(t *testing.T) {
	t.Parallel()
	var a api.AllocationListStub
	recorded(t, "alloc_info_max_run_duration", &a)
	got := run(&a)
	want := []domain.RunEvent{
		{Type: "Received", At: 1796097774753, Message: "Task received by client"},
		{Type: "Task Setup", At: 1796097775017, Message: "Building Task Directory"},
		{Type: "Started", At: 1796097775679, Message: "Task started by client"},
		{Type: "Killing", At: 1796097777679, Message: "allocation exceeded max_run_duration"},
		{Type: "Terminated", At: 1796097777728, Message: "Exit Code: 130, Signal: 2", Exit: 130, Signal: 2},
		{Type: "Killed", At: 1796097777729, Message: "Task successfully killed"},
	}
	if d := cmp.Diff(want, got.Events); d != "" {
		t.Error(d)
	}
	if got.Status != domain.RunComplete || got.Finished != 1796097777729 || got.Desired != "run" {
		t.Errorf("%s, finished %d", got.Status, got.Finished)
	}
}

func TestARestartedRunShowsEveryEndItWasGiven(t *testing.T) {
	t.Parallel()
	var a api.AllocationListStub
	recorded(t, "alloc_info_failed_with_restarts", &a)
	got := run(&a)
	exits := 0
	for _, e := range got.Events {
		if e.Type == "Terminated" && e.Exit == 7 && !e.OOM {
			exits++
		}
	}
	if exits != 3 || got.Status != domain.RunFailed || got.Finished != 1796097109841 {
		t.Errorf("%d exits, %s, finished %d", exits, got.Status, got.Finished)
	}
	if !slices.IsSortedFunc(got.Events, func(a, b domain.RunEvent) int { return int(a.At - b.At) }) {
		t.Error("the events are not in order")
	}
}

func TestDevicesOfAListedRun(t *testing.T) {
	t.Parallel()
	var list []*api.AllocationListStub
	recorded(t, "allocations_list_resources", &list)
	got := run(list[0])
	want := []string{"GPU-70ce2a52-9ea4-5cbe-c2c6-03c4fe7f5991", "GPU-a3b80b80-9c8a-5fbc-72ad-98509c5eefa7"}
	if d := cmp.Diff(want, got.Devices); d != "" {
		t.Error(d)
	}
	if got.Created != 1796096857592 || got.Modified != 1796096859065 || got.ModifyIndex != 15 || got.Finished != 0 {
		t.Errorf("%+v", got)
	}
}

func TestDevicesOfANode(t *testing.T) {
	t.Parallel()
	var healthy, sick []*api.NodeListStub
	recorded(t, "nodes_list_resources", &healthy)
	recorded(t, "nodes_list_unhealthy_device_body", &sick)
	g := deviceGroups(healthy[0].NodeResources.Devices)[0]
	if g.Vendor != "nvidia" || g.Type != "gpu" || g.Model != "NVIDIA A100-SXM4-80GB" || g.MemoryMiB != 81920 || len(g.Healthy) != 8 || len(g.Unhealthy) != 0 {
		t.Errorf("%+v", g)
	}
	g = deviceGroups(sick[0].NodeResources.Devices)[0]
	if d := cmp.Diff([]string{"GPU-aeda2752-446b-9567-515a-b5245edf595b"}, g.Unhealthy); d != "" || len(g.Healthy) != 7 {
		t.Errorf("%d healthy, %s", len(g.Healthy), d)
	}
	if nodeState(healthy[0]) != domain.NodeReady {
		t.Error("a ready node isn't")
	}
}

func TestAStoppedRunIsCompleteAndWasKilled(t *testing.T) {
	t.Parallel()
	var list []*api.AllocationListStub
	recorded(t, "alloc_info_stopped", &list)
	got := run(list[0])
	end := got.Events[len(got.Events)-1]
	if got.Status != domain.RunComplete || got.Desired != "stop" || end.Type != "Killed" || got.Finished < end.At-1 {
		t.Errorf("%s, %s, ends with %+v at %d", got.Status, got.Desired, end, got.Finished)
	}
}

func TestARecordedStreamIsReadLineByLine(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("testdata", "event_stream_batch_lifecycle.ndjson"))
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if got := r.URL.Query()["topic"]; len(got) != 4 || r.URL.Query().Get("namespace") != "*" {
			t.Errorf("asked for %v", r.URL)
		}
		_, _ = w.Write(text)
	}))
	defer srv.Close()
	c, err := New(Config{Addr: srv.URL, Driver: "docker"})
	if err != nil {
		t.Fatal(err)
	}
	lines := make(chan batch)
	go c.stream(t.Context(), lines)
	var got []uint64
	for b := range lines {
		got = append(got, b.Index)
	}
	if len(got) != 15 || got[0] != 0 || !slices.IsSorted(got) || got[14] != 381 {
		t.Errorf("the indexes are %v", got)
	}
}

func TestRefusalsAreTold(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]domain.Code{
		"acl_denied": domain.Forbidden, "job_info_404": domain.NotFound, "job_register_enforce_conflict": domain.Conflict,
	} {
		var text string
		status := recorded(t, name, &text)
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, text, status) }))
		defer srv.Close()
		c, err := New(Config{Addr: srv.URL, Driver: "docker"})
		if err != nil {
			t.Fatal(err)
		}
		if got := domain.CodeOf(c.write(t.Context(), "/v1/jobs", "x", "", nil, nil)); got != want {
			t.Errorf("%s is %s", name, got)
		}
	}
}

func TestAnAgentIsReadAndWarnedOf(t *testing.T) {
	t.Parallel()
	var s self
	recorded(t, "agent_self_trim", &s)
	c := &Client{cfg: Config{PollEvery: 1}}
	if s.Config.Version.Version != "2.0.6" || len(c.warnings(s, true)) != 0 {
		t.Errorf("%q warns %q", s.Config.Version.Version, c.warnings(s, true))
	}
	for version, want := range map[string]int{"1.6.10": 1, "2.0.3": 1, "2.0.4": 0, "2.1.0": 0} {
		s.Config.Version.Version = version
		if got := len(c.warnings(s, true)); got != want {
			t.Errorf("%s has %d warnings", version, got)
		}
	}
}

func TestOurMetaIsReadBack(t *testing.T) {
	t.Parallel()
	c := &Client{cfg: Config{Prefix: "gpupool"}}
	s := domain.RunSpec{Attempt: pool.AttemptID{Job: "train", N: 12}, Org: "acme", Project: "p", User: "u"}
	org, a, ok := c.owner(c.meta(s))
	if !ok || org != "acme" || a != s.Attempt {
		t.Errorf("%s %v %v", org, a, ok)
	}
	var foreign []*api.JobListStub
	recorded(t, "jobs_list_wildcard_meta", &foreign)
	other := &Client{cfg: Config{Prefix: "other"}}
	for _, m := range []map[string]string{foreign[0].Meta, nil, {metaPool: "gpupool", metaOrg: "a", metaJob: "j", metaAttempt: "0"}} {
		if _, _, ok := c.owner(m); ok {
			t.Errorf("%v counts as ours", m)
		}
	}
	if _, _, ok := other.owner(c.meta(s)); ok {
		t.Error("another pool's job counts as ours")
	}
}
