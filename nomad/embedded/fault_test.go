package embedded_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/nomad/api"

	"gpupool/domain/pool"
	"gpupool/nomad/embedded"
)

func TestRequestFaults(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	register := func(id string) error {
		_, _, err := b.api.Jobs().EnforceRegister(job(spec{id: id, gpus: 1}), 0, nil)
		return err
	}
	exists := func(id string) bool { _, _, err := b.api.Jobs().Info(id, nil); return err == nil }
	put := embedded.Match{Method: "PUT", Path: "/v1/jobs"}

	b.c.FailNext(2, put, 500, "no cluster leader")
	for range 2 {
		if err := register("a"); err == nil || !strings.Contains(err.Error(), "no cluster leader") {
			t.Errorf("failed request: %v", err)
		}
	}
	if err := register("a"); err != nil {
		t.Errorf("third request: %v", err)
	}
	b.c.DropBefore(1, put)
	if err := register("b"); err == nil || exists("b") {
		t.Errorf("dropped before: %v, exists %v; want an error and nothing done", err, exists("b"))
	}
	b.c.DropAfter(1, put)
	if err := register("c"); err == nil || !exists("c") {
		t.Errorf("dropped after: %v, exists %v; want an error and the job done", err, exists("c"))
	}
	if err := register("c"); err == nil || !strings.Contains(err.Error(), "job already exists") {
		t.Errorf("the same again: %v", err)
	}
	b.c.Delay(1, embedded.Match{Path: "/v1/nodes"}, 30*time.Millisecond)
	start := time.Now()
	b.get("/v1/nodes")
	if d := time.Since(start); d < 30*time.Millisecond {
		t.Errorf("delayed request took %v", d)
	}
	var seen []string
	b.c.OnRequest(func(method, path string, when embedded.Moment) {
		if when == embedded.After {
			seen = append(seen, method+" "+path)
		}
	})
	b.ok(register("d"))
	if !slices.Contains(seen, "PUT /v1/jobs") {
		t.Errorf("hook saw %v", seen)
	}
}

func TestBrokenGPU(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	ids := embedded.DeviceIDs("GPU", "gpu-01", 8)
	n := b.nodeID("gpu-01")
	b.register(spec{id: "runs", gpus: 2, node: n, env: lasts(time.Hour)})
	b.clock.Advance(time.Minute)
	b.ok(b.c.BreakGPU("gpu-01", ids[0], "XID 79: GPU has fallen off the bus"))
	b.ok(b.c.RemoveGPU("gpu-01", ids[7]))
	b.ok(b.c.AddErrors("gpu-01", ids[1], 12))
	if err := b.c.BreakGPU("gpu-01", "GPU-none", "x"); err == nil {
		t.Error("an unknown device broke")
	}
	info, _, err := b.api.Nodes().Info(n, nil)
	b.ok(err)
	shown := info.NodeResources.Devices[0].Instances
	if len(shown) != 7 || shown[0].Healthy || !strings.Contains(shown[0].HealthDescription, "XID 79") || !shown[1].Healthy {
		t.Errorf("%d devices, first %+v", len(shown), shown[0])
	}
	if a := b.only("runs"); a.ClientStatus != "running" {
		t.Errorf("what runs on it is %s, want running", a.ClientStatus)
	}
	stats, err := b.api.Nodes().Stats(n, nil)
	b.ok(err)
	if v := stats.DeviceStats[0].InstanceStats[ids[1]].Stats.Attributes["ECC memory errors"]; *v.IntNumeratorVal != 12 {
		t.Errorf("memory errors %d, want 12", *v.IntNumeratorVal)
	}
	b.register(spec{id: "seven", gpus: 7, node: n})
	if len(b.allocs("seven")) != 0 {
		t.Error("seven GPUs were found where six are whole")
	}
	b.ok(b.c.RepairGPU("gpu-01", ids[0]))
	b.ok(b.c.RepairGPU("gpu-01", ids[7]))
	_, _, err = b.api.Jobs().Deregister("runs", false, nil)
	b.ok(err)
	b.clock.Advance(time.Minute)
	b.only("seven")
}

func TestLostIsNotFinal(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.register(spec{id: "lost-1", gpus: 1, node: b.nodeID("gpu-02"), lost: 10 * time.Minute, keep: true, env: lasts(time.Hour)})
	b.register(spec{id: "plain-1", gpus: 1, node: b.nodeID("gpu-02"), env: lasts(2 * time.Hour)})
	b.clock.Advance(10 * time.Minute)
	b.ok(b.c.NodeDown("gpu-02"))
	if a := b.only("lost-1"); a.ClientStatus != "unknown" || a.DesiredStatus != "run" {
		t.Errorf("with disconnect: %s, desired %s, want unknown and run", a.ClientStatus, a.DesiredStatus)
	}
	if a := b.only("plain-1"); a.ClientStatus != "lost" || a.DesiredStatus != "stop" {
		t.Errorf("without: %s, desired %s, want lost and stop", a.ClientStatus, a.DesiredStatus)
	}
	b.clock.Advance(20 * time.Minute)
	if a := b.only("lost-1"); a.ClientStatus != "lost" {
		t.Errorf("after lost_after: %s, want lost", a.ClientStatus)
	}
	if n, _, _ := b.api.Nodes().Info(b.nodeID("gpu-02"), nil); n.Status != "down" {
		t.Errorf("node is %s, want down", n.Status)
	}
	b.ok(b.c.NodeUp("gpu-02"))
	if a := b.only("lost-1"); a.ClientStatus != "running" {
		t.Errorf("when its node is back: %s, want running", a.ClientStatus)
	}
	b.clock.Advance(24 * time.Hour)
	a := b.only("lost-1")
	if got, want := pool.At(a.TaskStates["main"].FinishedAt), noon.Add(time.Hour+time.Second); a.ClientStatus != "complete" || got != want {
		t.Errorf("in the end: %s at %v, want complete at %v", a.ClientStatus, got, want)
	}
	first := b.allocs("plain-1")
	slices.SortFunc(first, func(x, y *api.AllocationListStub) int { return int(x.CreateIndex) - int(y.CreateIndex) })
	if got, want := pool.At(first[0].TaskStates["main"].FinishedAt), noon.Add(30*time.Minute+500*time.Millisecond); got != want {
		t.Errorf("the replaced one was stopped at %v, want when its node was back, %v", got, want)
	}
	if len(first) != 2 {
		t.Errorf("%d allocations, want the lost one and its replacement", len(first))
	}
}

func TestWhatEndedWhileTheNodeWasAwayKeepsItsTime(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.register(spec{id: "j-1", gpus: 1, node: b.nodeID("gpu-02"), lost: 24 * time.Hour, keep: true, env: lasts(time.Hour)})
	b.clock.Advance(10 * time.Minute)
	b.ok(b.c.NodeDown("gpu-02"))
	b.clock.Advance(5 * time.Hour)
	if a := b.only("j-1"); a.ClientStatus != "unknown" {
		t.Errorf("away: %s, want unknown", a.ClientStatus)
	}
	b.ok(b.c.NodeUp("gpu-02"))
	a := b.only("j-1")
	if got, want := pool.At(a.TaskStates["main"].FinishedAt), noon.Add(time.Hour+time.Second); a.ClientStatus != "complete" || got != want {
		t.Errorf("back: %s, finished %v, want %v", a.ClientStatus, got, want)
	}
	if got, want := pool.At(time.Unix(0, a.ModifyTime)), noon.Add(5*time.Hour+10*time.Minute); got != want {
		t.Errorf("learned of at %v, want %v", got, want)
	}
}

func TestDrainAndCordon(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	n := b.nodeID("gpu-01")
	b.register(spec{id: "runs", gpus: 1, node: n, env: lasts(5 * time.Hour)})
	b.clock.Advance(time.Minute)
	_, err := b.api.Nodes().ToggleEligibility(n, false, nil)
	b.ok(err)
	b.register(spec{id: "cordoned", gpus: 1, node: n})
	if len(b.allocs("cordoned")) != 0 {
		t.Error("a cordoned node takes work")
	}
	_, err = b.api.Nodes().UpdateDrain(n, &api.DrainSpec{Deadline: time.Hour}, false, nil)
	b.ok(err)
	b.clock.Advance(59 * time.Minute)
	if a := b.only("runs"); a.ClientStatus != "running" || a.DesiredStatus != "run" {
		t.Errorf("before the deadline: %s, desired %s", a.ClientStatus, a.DesiredStatus)
	}
	b.clock.Advance(10 * time.Minute)
	a := b.only("runs")
	if got, want := pool.At(a.TaskStates["main"].FinishedAt), noon.Add(time.Hour+time.Minute+500*time.Millisecond); a.ClientStatus != "complete" || got != want {
		t.Errorf("after it: %s at %v, want %v", a.ClientStatus, got, want)
	}
	info, _, err := b.api.Nodes().Info(n, nil)
	b.ok(err)
	if info.Drain || info.SchedulingEligibility != "ineligible" || info.LastDrain.Status != "complete" {
		t.Errorf("drain %v, %s, last %v", info.Drain, info.SchedulingEligibility, info.LastDrain)
	}
	_, err = b.api.Nodes().ToggleEligibility(n, true, nil)
	b.ok(err)
	if len(b.allocs("cordoned")) != 1 || len(b.allocs("runs")) != 2 {
		t.Error("what waited for the node was not placed when it came back")
	}
}

func TestGarbageCollectionIsSilent(t *testing.T) {
	t.Parallel()
	b := newBench(t, func(o *embedded.Options) { o.Retain = 4 * time.Hour })
	b.register(spec{id: "old", gpus: 1, env: lasts(time.Minute)})
	b.register(spec{id: "young", gpus: 1, env: lasts(3 * time.Hour)})
	b.clock.Advance(3 * time.Hour)
	b.only("old")
	s := b.stream("?index=99999&topic=Job")
	s.next()
	s.next() // the newest batch, once more
	b.clock.Advance(2 * time.Hour)
	if len(b.allocs("old")) != 0 {
		t.Error("kept beyond its time")
	}
	b.only("young")
	for {
		if s.silent() {
			break
		}
	}
	b.ok(b.c.CollectGarbage())
	if len(b.allocs("young")) != 0 {
		t.Error("ended, but not collected")
	}
}

func TestStoppedAllocationIsReplaced(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.register(spec{id: "j-1", gpus: 1, env: lasts(time.Hour)})
	b.clock.Advance(time.Minute)
	a, _, err := b.api.Allocations().Info(b.only("j-1").ID, nil)
	b.ok(err)
	r, err := b.api.Allocations().Stop(a, nil)
	b.ok(err)
	if as := b.allocs("j-1"); len(as) != 2 || r.EvalID == "" {
		t.Errorf("%d allocations, evaluation %q", len(as), r.EvalID)
	}
}

func TestSignalIsKeptAndCheckpoints(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.register(spec{id: "j-1", gpus: 1, env: lasts(time.Hour)})
	a, _, err := b.api.Allocations().Info(b.only("j-1").ID, nil)
	b.ok(err)
	if err := b.api.Allocations().Signal(a, nil, "main", "SIGUSR1"); err == nil || !strings.Contains(err.Error(), "not running") {
		t.Errorf("signal before the start: %v", err)
	}
	b.clock.Advance(time.Minute)
	b.ok(b.api.Allocations().Signal(a, nil, "main", "SIGUSR1"))
	if got := b.only("j-1"); !strings.HasSuffix(kinds(got), "Signaling") || got.ClientStatus != "running" {
		t.Errorf("%s: %s", got.ClientStatus, kinds(got))
	}
	_, _, text := b.get("/v1/client/fs/logs/" + a.ID + "?task=main&type=stdout&plain=true")
	if !strings.Contains(text.(string), "received SIGUSR1: checkpoint written") {
		t.Errorf("log:\n%s", text)
	}
}
