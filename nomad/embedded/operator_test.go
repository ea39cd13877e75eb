package embedded_test

import (
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/nomad/api"

	"gpupool/nomad/embedded"
)

func TestOperatorAnswers(t *testing.T) {
	t.Parallel()
	b := newBench(t, func(o *embedded.Options) { o.Management, o.Read = "secret-m", "secret-r" })
	own, _, err := b.client("secret-r").ACLTokens().Self(nil)
	b.ok(err)
	if own.Type != "client" || own.SecretID != "secret-r" {
		t.Errorf("the read token is %s", own.Type)
	}
	m := b.client("secret-m")
	c, _, err := m.Operator().SchedulerGetConfiguration(nil)
	b.ok(err)
	next := *c.SchedulerConfig
	next.SchedulerAlgorithm = "spread"
	done, _, err := m.Operator().SchedulerCASConfiguration(&next, nil)
	b.ok(err)
	late, _, err := m.Operator().SchedulerCASConfiguration(&next, nil)
	b.ok(err)
	if !done.Updated || late.Updated {
		t.Errorf("check and set: first %v, second from an old index %v", done.Updated, late.Updated)
	}
}

func TestCancelledDrainLetsWorkIn(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	n := b.nodeID("gpu-01")
	b.register(spec{id: "runs", gpus: 1, node: n, env: lasts(time.Hour)})
	_, err := b.api.Nodes().UpdateDrain(n, &api.DrainSpec{Deadline: time.Minute}, false, nil)
	b.ok(err)
	_, err = b.api.Nodes().UpdateDrain(n, nil, true, nil)
	b.ok(err)
	b.clock.Advance(10 * time.Minute)
	if a := b.only("runs"); a.ClientStatus != "running" {
		t.Errorf("after the cancelled drain: %s, want running", a.ClientStatus)
	}
	info, _, err := b.api.Nodes().Info(n, nil)
	b.ok(err)
	if info.LastDrain.Status != "canceled" || info.SchedulingEligibility != "eligible" {
		t.Errorf("last drain %s, node %s", info.LastDrain.Status, info.SchedulingEligibility)
	}
	as, _, err := b.api.Nodes().Allocations(n, nil)
	b.ok(err)
	if len(as) != 1 || as[0].JobID != "runs" || as[0].Job == nil {
		t.Errorf("the node shows %d allocations", len(as))
	}
}

func TestForcedDrainStopsAtOnce(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	n := b.nodeID("gpu-01")
	b.register(spec{id: "runs", gpus: 1, node: n, env: lasts(time.Hour)})
	b.clock.Advance(time.Minute)
	_, err := b.api.Nodes().UpdateDrain(n, &api.DrainSpec{Deadline: -1}, false, nil)
	b.ok(err)
	a, _, err := b.api.Allocations().Info(b.only("runs").ID, nil)
	b.ok(err)
	if a.DesiredStatus != "stop" || a.DesiredTransition.Migrate == nil || !*a.DesiredTransition.Migrate {
		t.Errorf("desired %s, transition %+v", a.DesiredStatus, a.DesiredTransition)
	}
}

func TestNewMachineTakesWhatWaits(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.register(spec{id: "waits", gpus: 1, model: h100, env: lasts(time.Hour)})
	if len(b.allocs("waits")) != 0 {
		t.Fatal("placed without such a GPU")
	}
	b.ok(b.c.SetNodes([]embedded.NodeSpec{{Name: "gpu-09", Pool: "default",
		Devices: []embedded.DeviceSpec{{Model: h100, IDs: embedded.DeviceIDs("GPU", "gpu-09", 2)}}}}))
	if a := b.only("waits"); a.NodeName != "gpu-09" || a.NodeID != embedded.NodeUUID("gpu-09") {
		t.Errorf("placed on %s", a.NodeName)
	}
}

func TestConstraintOperators(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		l, op, r string
		want     bool
	}{
		{"${meta.site}", "=", "north", true},
		{"${meta.site}", "!=", "north", false},
		{"${meta.site}", "is_set", "", true},
		{"${meta.rack}", "is_set", "", false},
		{"${meta.rack}", "is_not_set", "", true},
		{"${meta.rack}", "=", "", false},
		{"${node.unique.name}", "set_contains_any", "gpu-09, gpu-01", true},
		{"gpu-01,gpu-02", "set_contains", "${node.unique.name}", true},
		{"gpu-01,gpu-02", "set_contains_any", "x,gpu-02", true},
		{"gpu-01,gpu-02", "set_contains", "gpu-01,x", false},
		{"${node.datacenter}", "regexp", "^dc[0-9]$", true},
		{"${node.unique.id}", "regexp", "(", false},
		{"${attr.driver.docker}", "=", "1", true},
		{"${attr.cpu.totalcompute}", ">=", "100000", true},
		{"${attr.cpu.totalcompute}", "<", "100000", false},
		{"${node.pool}", "is", "default", true},
		{"${node.class}", "somehow", "x", false},
	} {
		b := newBench(t)
		j := job(spec{id: "j-1", gpus: 1})
		j.Constraints = []*api.Constraint{{LTarget: "${node.unique.name}", Operand: "=", RTarget: "gpu-01"}, {LTarget: c.l, Operand: c.op, RTarget: c.r}}
		_, _, err := b.api.Jobs().Register(j, nil)
		b.ok(err)
		if got := len(b.allocs("j-1")) == 1; got != c.want {
			t.Errorf("%s %s %s on gpu-01 holds %v, want %v", c.l, c.op, c.r, got, c.want)
		}
	}
}

func TestNamespaceWithWorkIsKept(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	_, err := b.api.Namespaces().Register(&api.Namespace{Name: "rheinau"}, nil)
	b.ok(err)
	j := job(spec{id: "j-1", gpus: 1, env: lasts(time.Minute)})
	j.Namespace = ptr("rheinau")
	_, _, err = b.api.Jobs().Register(j, nil)
	b.ok(err)
	if _, err := b.api.Namespaces().Delete("rheinau", nil); err == nil || !strings.Contains(err.Error(), "non-terminal") {
		t.Errorf("deleted with a running job: %v", err)
	}
	b.clock.Advance(time.Hour)
	if _, err := b.api.Namespaces().Delete("rheinau", nil); err != nil {
		t.Errorf("after its end: %v", err)
	}
	if _, err := b.api.Namespaces().Delete("default", nil); err == nil {
		t.Error("the default namespace was deleted")
	}
	if _, err := b.api.Namespaces().Register(&api.Namespace{Name: "a b"}, nil); err == nil {
		t.Error("a namespace with a space was made")
	}
}
