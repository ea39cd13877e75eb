package embedded_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/nomad/api"

	"gpupool/domain/pool"
	"gpupool/nomad/embedded"
)

func (b *bench) log(alloc, query string) (int, string) {
	b.t.Helper()
	resp, err := http.Get(b.url + "/v1/client/fs/logs/" + alloc + "?task=main&type=stdout" + query)
	b.ok(err)
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	b.ok(err)
	return resp.StatusCode, string(raw)
}

func TestLogsGrowWithTheClock(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.register(spec{id: "j-1", gpus: 2, env: with(lasts(time.Minute), "SIM_LOG", "alpha\nbeta", "SIM_LOG_EVERY_MS", "10000")})
	id := b.only("j-1").ID
	if status, text := b.log(id, "&plain=true"); status != 404 || !strings.Contains(text, "not started yet") {
		t.Errorf("before the start: %d %s", status, text)
	}
	b.clock.Advance(22 * time.Second)
	_, early := b.log(id, "&plain=true")
	if strings.Count(early, "alpha") != 1 || strings.Count(early, "beta") != 1 || !strings.Contains(early, "2 GPUs") {
		t.Errorf("after 22 seconds:\n%s", early)
	}
	b.clock.Advance(time.Hour)
	_, full := b.log(id, "&plain=true")
	if !strings.HasPrefix(full, early) || strings.Count(full, "alpha") != 3 || !strings.HasSuffix(full, "finished\n") {
		t.Errorf("in the end:\n%s", full)
	}
	if _, part := b.log(id, "&plain=true&offset=10"); part != full[10:] {
		t.Errorf("from offset 10:\n%s", part)
	}
	if _, part := b.log(id, "&plain=true&origin=end&offset=9"); part != full[len(full)-9:] {
		t.Errorf("last 9 bytes: %q", part)
	}
	_, framed := b.log(id, "")
	var f api.StreamFrame
	b.ok(json.NewDecoder(strings.NewReader(framed)).Decode(&f))
	if string(f.Data) != full || f.File != "alloc/logs/main.stdout.0" || f.Offset != int64(len(full)) {
		t.Errorf("frame %q, file %s, offset %d of %d", f.Data, f.File, f.Offset, len(full))
	}
	if status, text := b.log("unknown", ""); status != 404 || !strings.Contains(text, "Unknown allocation") {
		t.Errorf("unknown allocation: %d %s", status, text)
	}
}

func TestFollowedLogEndsWithTheTask(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.register(spec{id: "j-1", gpus: 1, env: lasts(time.Minute)})
	id := b.only("j-1").ID
	b.clock.Advance(5 * time.Second)
	got := make(chan string, 1)
	go func() {
		resp, err := http.Get(b.url + "/v1/client/fs/logs/" + id + "?task=main&type=stdout&follow=true&plain=true")
		if err != nil {
			got <- err.Error()
			return
		}
		defer resp.Body.Close()
		raw, _ := io.ReadAll(resp.Body)
		got <- string(raw)
	}()
	for {
		b.clock.Advance(10 * time.Second)
		select {
		case text := <-got:
			if _, full := b.log(id, "&plain=true"); text != full {
				t.Errorf("followed:\n%s\nwhole:\n%s", text, full)
			}
			return
		case <-time.After(2 * time.Millisecond):
		}
	}
}

func TestDeviceStatisticsFollowTheJob(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	n := b.nodeID("gpu-01")
	b.register(spec{id: "works", gpus: 1, node: n, env: with(lasts(time.Hour), "SIM_UTIL", "90")})
	b.register(spec{id: "idles", gpus: 1, node: n, env: with(lasts(time.Hour), "SIM_UTIL", "0")})
	b.register(spec{id: "slice", gpus: 1, model: mig, env: lasts(time.Hour)})
	b.clock.Advance(time.Minute)
	stats := func(node, id string) map[string]*api.StatValue {
		s, err := b.api.Nodes().Stats(node, nil)
		b.ok(err)
		return s.DeviceStats[0].InstanceStats[id].Stats.Attributes
	}
	works, idles := b.devices(b.only("works").ID)[0], b.devices(b.only("idles").ID)[0]
	if v := *stats(n, works)["GPU utilization"].IntNumeratorVal; v < 85 || v > 95 {
		t.Errorf("a busy GPU shows %d %%", v)
	}
	if v := *stats(n, idles)["GPU utilization"].IntNumeratorVal; v != 0 {
		t.Errorf("an idle job's GPU shows %d %%", v)
	}
	if v := *stats(n, idles)["Memory state"].IntNumeratorVal; v <= 3 {
		t.Errorf("an idle job's GPU shows %d MiB, want what the job holds", v)
	}
	m := stats(b.nodeID("gpu-03"), b.devices(b.only("slice").ID)[0])["GPU utilization"]
	if m.StringVal == nil || *m.StringVal != "N/A" || m.IntNumeratorVal != nil {
		t.Errorf("a slice shows %+v, want N/A", m)
	}
	b.clock.Advance(2 * time.Hour)
	if v := *stats(n, works)["GPU utilization"].IntNumeratorVal; v != 0 {
		t.Errorf("after the job the GPU shows %d %%", v)
	}
}

func TestListsFilterAndPage(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for _, id := range []string{"a-1", "a-2", "b-1", "b-2"} {
		b.register(spec{id: id, gpus: 1, env: lasts(time.Hour)})
	}
	for _, c := range []struct {
		filter string
		want   int
	}{
		{`JobID == "a-1"`, 1}, {`JobID != "a-1"`, 3}, {`JobID == "a-1" or JobID == "b-1"`, 2},
		{`JobID matches "^a-" and ClientStatus == "pending"`, 2}, {`not (JobID matches "^a-")`, 2},
		{`JobID contains "-2"`, 2}, {`NextAllocation is empty`, 4}, {`"main" in TaskStates`, 0}, {`ClientStatus == "running"`, 0},
	} {
		as, _, err := b.api.Allocations().List(&api.QueryOptions{Filter: c.filter})
		if err != nil || len(as) != c.want {
			t.Errorf("%s: %d and %v, want %d", c.filter, len(as), err, c.want)
		}
	}
	for _, bad := range []string{`JobID`, `JobID ==`, `(JobID == "a"`, `Nothing == "a"`, `JobID == "a" b`} {
		if _, _, err := b.api.Allocations().List(&api.QueryOptions{Filter: bad}); err == nil {
			t.Errorf("filter %q was accepted", bad)
		}
	}
	seen := map[string]int{}
	q := &api.QueryOptions{PerPage: 3}
	for {
		as, meta, err := b.api.Allocations().List(q)
		b.ok(err)
		for _, a := range as {
			seen[a.JobID]++
		}
		if meta.NextToken == "" {
			break
		}
		q.NextToken = meta.NextToken
	}
	if len(seen) != 4 || seen["a-1"] != 1 {
		t.Errorf("pages showed %v", seen)
	}
	js, _, err := b.api.Jobs().PrefixList("a-")
	b.ok(err)
	if len(js) != 2 {
		t.Errorf("prefix a-: %d jobs", len(js))
	}
}

func TestVariablesAreCheckedAndSet(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	vars := b.api.Variables()
	v := &api.Variable{Path: "nomad/jobs/j-1", Items: map[string]string{"TOKEN": "x"}}
	made, _, err := vars.CheckedCreate(v, nil)
	b.ok(err)
	if _, _, err := vars.CheckedCreate(v, nil); err == nil {
		t.Error("created twice")
	}
	made.Items["TOKEN"] = "y"
	next, _, err := vars.CheckedUpdate(made, nil)
	b.ok(err)
	if _, _, err := vars.CheckedUpdate(made, nil); err == nil {
		t.Error("updated from an old index")
	}
	got, _, err := vars.Read("nomad/jobs/j-1", nil)
	b.ok(err)
	if got.Items["TOKEN"] != "y" || got.ModifyIndex != next.ModifyIndex {
		t.Errorf("read %+v", got)
	}
	list, _, err := vars.PrefixList("nomad/jobs/", nil)
	b.ok(err)
	if len(list) != 1 {
		t.Errorf("%d variables", len(list))
	}
	_, err = vars.Delete("nomad/jobs/j-1", nil)
	b.ok(err)
	if _, _, err := vars.Read("nomad/jobs/j-1", nil); err == nil {
		t.Error("read after the deletion")
	}
}

func TestParseTakesJSONAndRefusesHCL(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	_, err := b.api.Jobs().ParseHCL(`job "x" { type = "batch" }`, true)
	if err == nil || !strings.Contains(err.Error(), "without an HCL parser") {
		t.Errorf("HCL: %v", err)
	}
	for _, text := range []string{string(encoded(job(spec{id: "x", gpus: 1}))), string(encoded(map[string]any{"Job": job(spec{id: "x", gpus: 1})}))} {
		j, err := b.api.Jobs().ParseHCL(text, true)
		b.ok(err)
		if *j.ID != "x" || *j.TaskGroups[0].Count != 1 {
			t.Errorf("parsed %+v", j)
		}
	}
}

func TestInvalidJobsAreRefused(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for name, change := range map[string]func(*api.Job){
		"no groups":         func(j *api.Job) { j.TaskGroups = nil },
		"no tasks":          func(j *api.Job) { j.TaskGroups[0].Tasks = nil },
		"a space in its id": func(j *api.Job) { j.ID = ptr("a b") },
		"a wrong priority":  func(j *api.Job) { j.Priority = ptr(101) },
		"a system job":      func(j *api.Job) { j.Type = ptr("system") },
		"periodic":          func(j *api.Job) { j.Periodic = &api.PeriodicConfig{Spec: ptr("* * * * *")} },
		"an unknown pool":   func(j *api.Job) { j.NodePool = ptr("nowhere") },
	} {
		j := job(spec{id: "bad", gpus: 1})
		change(j)
		if _, _, err := b.api.Jobs().Register(j, nil); err == nil {
			t.Errorf("registered: %s", name)
		}
	}
	for _, body := range []string{"", "{", "[]", `{"Job": null}`, `{"Job": 7}`, `{"Job": {"TaskGroups": [{"Tasks": [null]}]}}`, `{"Job": {"TaskGroups": [null]}}`} {
		resp, err := http.Post(b.url+"/v1/jobs", "application/json", strings.NewReader(body))
		if err != nil {
			t.Errorf("body %q: %v", body, err)
			continue
		}
		resp.Body.Close()
		if resp.StatusCode < 400 {
			t.Errorf("body %q: %s", body, resp.Status)
		}
	}
}

func TestImportTakesOverWhatRuns(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	ids := embedded.DeviceIDs("GPU", "gpu-01", 8)
	flight := func(s spec, runs ...embedded.Run) embedded.InFlight {
		return embedded.InFlight{Job: encoded(job(s)), Runs: runs}
	}
	placed := noon.Add(-10 * time.Hour)
	b.ok(b.c.Import([]embedded.InFlight{
		flight(spec{id: "long-1", gpus: 2, env: lasts(12 * time.Hour)},
			embedded.Run{AllocID: "11111111-2222-3333-4444-555555555555", Node: "gpu-01", Devices: ids[3:5], Placed: placed, Started: placed.Add(7 * time.Second)}),
		flight(spec{id: "over-1", gpus: 1, env: lasts(time.Hour)}, embedded.Run{Node: "gpu-01", Placed: placed}),
		flight(spec{id: "gang-1", n: 2, gpus: 1, env: lasts(24 * time.Hour)},
			embedded.Run{Node: "gpu-01", Placed: placed}, embedded.Run{Node: "gpu-02", Placed: placed}),
	}))
	a := b.only("long-1")
	if a.ID != "11111111-2222-3333-4444-555555555555" || a.ClientStatus != "running" || pool.At(a.TaskStates["main"].StartedAt) != placed.Add(7*time.Second) {
		t.Errorf("%s is %s since %v", a.ID, a.ClientStatus, a.TaskStates["main"].StartedAt)
	}
	if got := b.devices(a.ID); strings.Join(got, " ") != strings.Join(ids[3:5], " ") {
		t.Errorf("it holds %v", got)
	}
	if a := b.only("over-1"); a.ClientStatus != "complete" || pool.At(a.TaskStates["main"].FinishedAt) != placed.Add(time.Hour+time.Second) {
		t.Errorf("what has ended by now is %s at %v", a.ClientStatus, a.TaskStates["main"].FinishedAt)
	}
	if n := len(b.allocs("gang-1")); n != 2 {
		t.Errorf("the gang has %d members", n)
	}
	before := b.everything()
	for name, f := range map[string]embedded.InFlight{
		"it exists already":  flight(spec{id: "long-1", gpus: 1}, embedded.Run{Node: "gpu-01", Placed: placed}),
		"a taken device":     flight(spec{id: "x", gpus: 1}, embedded.Run{Node: "gpu-01", Devices: ids[3:4], Placed: placed}),
		"an unknown device":  flight(spec{id: "x", gpus: 1}, embedded.Run{Node: "gpu-01", Devices: []string{"GPU-x"}, Placed: placed}),
		"too few devices":    flight(spec{id: "x", gpus: 2}, embedded.Run{Node: "gpu-01", Devices: ids[7:], Placed: placed}),
		"an unknown node":    flight(spec{id: "x", gpus: 1}, embedded.Run{Node: "nowhere", Placed: placed}),
		"the future":         flight(spec{id: "x", gpus: 1}, embedded.Run{Node: "gpu-01", Placed: noon.Add(time.Hour)}),
		"no runs":            flight(spec{id: "x", gpus: 1}),
		"nothing but a name": {Job: []byte(`{"ID": "x"}`)},
	} {
		if err := b.c.Import([]embedded.InFlight{flight(spec{id: "fine", gpus: 1}, embedded.Run{Node: "gpu-02", Placed: placed}), f}); err == nil {
			t.Errorf("imported: %s", name)
		}
	}
	if b.everything() != before {
		t.Error("a refused import left something behind")
	}
	b.clock.Advance(3 * time.Hour)
	if a := b.only("long-1"); pool.At(a.TaskStates["main"].FinishedAt) != placed.Add(12*time.Hour+7*time.Second) {
		t.Errorf("it went on until %v", a.TaskStates["main"].FinishedAt)
	}
}

func TestAgentNamesItsVersion(t *testing.T) {
	t.Parallel()
	b := newBench(t, func(o *embedded.Options) { o.Version = "2.0.6-dev" })
	self, err := b.api.Agent().Self()
	b.ok(err)
	if v := self.Config["Version"].(map[string]any); v["Version"] != "2.0.6" || v["VersionPrerelease"] != "dev" {
		t.Errorf("version %v", v)
	}
	if _, err := b.api.Agent().Health(); err != nil {
		t.Errorf("health: %v", err)
	}
}
