package embedded_test

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/nomad/api"
	"pgregory.net/rapid"

	"gpupool/nomad/embedded"
)

func TestBlockedJobSaysWhy(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name                           string
		s                              spec
		pool                           string
		filtered, exhausted            string
		evaluated, nFiltered, nExhaust int
	}{
		{"GPUs are busy", spec{gpus: 8}, "", "", "devices: no devices match request", 3, 2, 1},
		{"no such GPU", spec{gpus: 1, model: h100}, "", "missing devices", "", 3, 3, 0},
		{"more than any node has", spec{gpus: 9}, "", "missing devices", "", 3, 3, 0},
		{"pinned to a node that is not there", spec{gpus: 1, node: "^nowhere$"}, "", "${node.unique.id} regexp ^nowhere$", "", 3, 3, 0},
		{"no node in the pool", spec{gpus: 1}, "empty", "", "", 0, 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.register(spec{id: "first", gpus: 1, node: b.nodeID("gpu-01"), env: lasts(time.Hour)})
			_, err := b.api.NodePools().Register(&api.NodePool{Name: "empty"}, nil)
			b.ok(err)
			c.s.id = "second"
			j := job(c.s)
			if c.pool != "" {
				j.NodePool = &c.pool
			}
			dry, _, err := b.api.Jobs().Plan(j, false, nil)
			b.ok(err)
			if dry.FailedTGAllocs["g"] == nil {
				t.Fatal("the dry run finds room")
			}
			if _, _, err := b.api.Jobs().Info("second", nil); err == nil {
				t.Fatal("the dry run registered the job")
			}
			r, _, err := b.api.Jobs().Register(j, nil)
			b.ok(err)
			e, _, err := b.api.Evaluations().Info(r.EvalID, nil)
			b.ok(err)
			m := e.FailedTGAllocs["g"]
			if m == nil || e.Status != "complete" || e.BlockedEval == "" || e.QueuedAllocations["g"] != 1 {
				t.Fatalf("evaluation: %+v", e)
			}
			if m.NodesEvaluated != c.evaluated || m.NodesFiltered != c.nFiltered || m.NodesExhausted != c.nExhaust {
				t.Errorf("evaluated %d, filtered %d, exhausted %d", m.NodesEvaluated, m.NodesFiltered, m.NodesExhausted)
			}
			if c.filtered != "" && m.ConstraintFiltered[c.filtered] == 0 || c.exhausted != "" && m.DimensionExhausted[c.exhausted] == 0 {
				t.Errorf("filtered %v, exhausted %v", m.ConstraintFiltered, m.DimensionExhausted)
			}
		})
	}
}

func TestPlacement(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.register(spec{id: "fills", gpus: 3, env: lasts(time.Hour)})
	if a := b.only("fills"); a.NodeName != "gpu-02" {
		t.Errorf("three GPUs went to %s, want the node that they fill best", a.NodeName)
	}
	b.register(spec{id: "pinned", gpus: 1, node: "^(" + b.nodeID("gpu-01") + ")$", env: lasts(time.Hour)})
	if a := b.only("pinned"); a.NodeName != "gpu-01" {
		t.Errorf("a pinned job went to %s", a.NodeName)
	}
	b.register(spec{id: "gang", n: 2, gpus: 1, distinct: true, env: lasts(time.Hour)})
	as := b.allocs("gang")
	if len(as) != 2 || as[0].NodeID == as[1].NodeID {
		t.Errorf("a gang on distinct hosts got %d allocations", len(as))
	}
	b.register(spec{id: "slices", gpus: 2, model: mig, env: lasts(time.Hour)})
	if ids := b.devices(b.only("slices").ID); len(ids) != 2 || !strings.HasPrefix(ids[0], "MIG-") {
		t.Errorf("slices: %v", ids)
	}
	big := job(spec{id: "big", gpus: 1, env: lasts(time.Hour)})
	big.TaskGroups[0].Tasks[0].Resources.Devices[0].Constraints = []*api.Constraint{{LTarget: "${device.attr.memory}", Operand: ">=", RTarget: "40 GiB"}}
	_, _, err := b.api.Jobs().Register(big, nil)
	b.ok(err)
	if a := b.only("big"); a.NodeName == "gpu-03" {
		t.Error("a request for 40 GiB got a slice of 9.5 GiB")
	}
}

func TestSmallJobJumpsABlockedBigOneAndBlockedOnesArePlacedWhenRoomComes(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	n := b.nodeID("gpu-01")
	b.register(spec{id: "runs", gpus: 6, node: n, env: lasts(time.Hour)})
	b.register(spec{id: "big", gpus: 8, node: n, env: lasts(time.Hour)})
	b.register(spec{id: "small", gpus: 2, node: n, env: lasts(10 * time.Minute)})
	if len(b.allocs("big")) != 0 || len(b.allocs("small")) != 1 {
		t.Fatal("want the big one blocked and the small one placed past it")
	}
	b.clock.Advance(24 * time.Hour)
	runs, big := b.only("runs"), b.only("big")
	if got, want := big.CreateTime, runs.TaskStates["main"].FinishedAt.UnixNano(); got != want {
		t.Errorf("placed at %v, want when the last GPU came free, %v", time.Unix(0, got).UTC(), time.Unix(0, want).UTC())
	}
	evals, _, err := b.api.Jobs().Evaluations("big", nil)
	b.ok(err)
	for _, e := range evals {
		if e.Status != "complete" {
			t.Errorf("evaluation %s is %s", e.TriggeredBy, e.Status)
		}
	}
}

func TestNamespaceParameterBeatsTheJobsOwn(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for _, n := range []string{"one", "two"} {
		_, err := b.api.Namespaces().Register(&api.Namespace{Name: n, Capabilities: &api.NamespaceCapabilities{EnabledTaskDrivers: []string{"docker"}}}, nil)
		b.ok(err)
	}
	j := job(spec{id: "j-1", gpus: 1})
	j.Namespace = ptr("one")
	_, _, err := b.api.Jobs().Register(j, &api.WriteOptions{Namespace: "two"})
	b.ok(err)
	if _, _, err := b.api.Jobs().Info("j-1", &api.QueryOptions{Namespace: "two"}); err != nil {
		t.Errorf("not in the parameter's namespace: %v", err)
	}
	if js, _, _ := b.api.Jobs().List(&api.QueryOptions{Namespace: "one"}); len(js) != 0 {
		t.Error("it is in the job's own namespace")
	}
	j.TaskGroups[0].Tasks[0].Driver = "raw_exec"
	if _, _, err := b.api.Jobs().Register(j, nil); err == nil || !strings.Contains(err.Error(), "driver") {
		t.Errorf("a driver that the namespace forbids: %v", err)
	}
	j.Namespace = ptr("nowhere")
	if _, _, err := b.api.Jobs().Register(j, nil); err == nil || !strings.Contains(err.Error(), "nonexistent namespace") {
		t.Errorf("a namespace that is not there: %v", err)
	}
}

func TestDevicesInTwoNodesAreRefused(t *testing.T) {
	t.Parallel()
	two := nodes()
	two[1].Devices[0].IDs = two[0].Devices[0].IDs[:1]
	if _, err := embedded.Open(embedded.Options{Now: (&clock{}).Now, Nodes: two}); err == nil {
		t.Error("one GPU in two nodes was accepted")
	}
}

// How often somebody looks must not matter: a cluster that is looked at every
// few seconds and one that is looked at once at the end tell the same story.
// On the way no GPU is ever held by two.
func TestLookingChangesNothing(t *testing.T) {
	t.Parallel()
	busy := 0
	rapid.Check(t, func(rt *rapid.T) {
		often, seldom := newBench(t), newBench(t)
		defer often.c.Close()
		defer seldom.c.Close()
		for i := range rapid.IntRange(1, 8).Draw(rt, "commands") {
			s := spec{id: fmt.Sprintf("j-%d", i), n: rapid.IntRange(1, 3).Draw(rt, "n"), gpus: rapid.IntRange(1, 6).Draw(rt, "gpus"),
				restarts: rapid.IntRange(0, 1).Draw(rt, "restarts"), kill: time.Duration(rapid.IntRange(1, 25).Draw(rt, "kill")) * time.Second,
				env: map[string]string{"SIM_LENGTH_MS": fmt.Sprint(rapid.IntRange(1, 900_000).Draw(rt, "length")), "SIM_EXIT": fmt.Sprint(rapid.IntRange(0, 1).Draw(rt, "exit"))}}
			if rapid.Bool().Draw(rt, "limited") {
				s.max = time.Duration(rapid.IntRange(1, 600).Draw(rt, "max")) * time.Second
			}
			stop := rapid.Bool().Draw(rt, "stop")
			for _, b := range []*bench{often, seldom} {
				b.register(s)
				if stop {
					b.send("DELETE", fmt.Sprintf("/v1/job/j-%d?purge=false", i/2), nil)
				}
			}
			gap := rapid.IntRange(0, 400).Draw(rt, "gap")
			for left := gap; left > 0; left -= 11 {
				often.clock.Advance(time.Duration(min(left, 11)) * time.Second)
				often.c.Wake()
			}
			busy += often.checkHolders(rt)
			seldom.clock.Advance(time.Duration(gap) * time.Second)
		}
		if a, b := often.stories(), seldom.stories(); a != b {
			rt.Fatalf("looked at often:\n%s\nlooked at once:\n%s", a, b)
		}
	})
	if busy == 0 {
		t.Error("no GPU was ever held: the generator proves nothing")
	}
}

// direct is an answer without a network in between.
func (b *bench) direct(path string) any {
	w := httptest.NewRecorder()
	b.c.ServeHTTP(w, httptest.NewRequest("GET", path, nil))
	var v any
	b.ok(json.Unmarshal(w.Body.Bytes(), &v))
	return v
}

// checkHolders counts the held GPUs and fails when one has two holders.
func (b *bench) checkHolders(rt *rapid.T) int {
	holder := map[string]string{}
	v := b.direct("/v1/allocations?namespace=*&resources=true")
	var as []*api.AllocationListStub
	if err := json.Unmarshal(encoded(v), &as); err != nil {
		rt.Fatal(err)
	}
	for _, a := range as {
		if a.ClientStatus != "running" && a.ClientStatus != "pending" {
			continue
		}
		for _, t := range a.AllocatedResources.Tasks {
			for _, d := range t.Devices {
				for _, id := range d.DeviceIDs {
					if o := holder[id]; o != "" {
						rt.Fatalf("GPU %s is held by %s and %s", id, o, a.Name)
					}
					holder[id] = a.Name
				}
			}
		}
	}
	return len(holder)
}

// stories is what every allocation went through, without the times of learning.
func (b *bench) stories() string {
	v := b.direct("/v1/allocations?namespace=*&resources=true")
	var rows []string
	for _, r := range v.([]any) {
		m := r.(map[string]any)
		for _, k := range []string{"CreateIndex", "ModifyIndex", "ModifyTime"} {
			delete(m, k)
		}
		rows = append(rows, string(encoded(m)))
	}
	slices.Sort(rows)
	return strings.Join(rows, "\n")
}
