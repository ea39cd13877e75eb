package nomad

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gpupool/domain"
	"gpupool/domain/pool"
)

func rendered(t *testing.T, c *Client, s domain.RunSpec, master string) map[string]any {
	t.Helper()
	job, err := c.render(s, master)
	if err != nil {
		t.Fatal(err)
	}
	again, err := c.render(s, master)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(job, again); d != "" {
		t.Fatalf("rendering again differs: %s", d)
	}
	b, err := json.Marshal(job)
	if err != nil {
		t.Fatal(err)
	}
	var m map[string]any
	if err := json.Unmarshal(b, &m); err != nil {
		t.Fatal(err)
	}
	return m
}

// dig follows keys and indexes.
func dig(v any, path ...any) any {
	for _, p := range path {
		switch p := p.(type) {
		case string:
			m, _ := v.(map[string]any)
			v = m[p]
		case int:
			l, _ := v.([]any)
			if p >= len(l) {
				return nil
			}
			v = l[p]
		}
	}
	return v
}

func spec() domain.RunSpec {
	return domain.RunSpec{
		Attempt: pool.AttemptID{Job: "train", N: 2}, Org: "acme", Project: "genomics", User: "ada", MaxRun: 2 * time.Hour,
		Class:     domain.GPUClass{Vendor: "nvidia", Type: "gpu", Model: "NVIDIA H100", CPUPerGPU: 100, MemPerGPU: 1000},
		Placement: []domain.NodeGPUs{{Node: "n1", GPUs: 4}},
		Spec: domain.JobSpec{Image: "ghcr.io/acme/train:1", Command: "python train.py", Env: map[string]string{"A": "1"},
			Sim: &domain.Sim{LengthMs: 5, Exit: 3, OOM: true, Idle: true, Log: "hi"}},
	}
}

func TestAJobIsRenderedAsPlanned(t *testing.T) {
	t.Parallel()
	c, err := New(Config{Addr: "http://x", Driver: "docker"})
	if err != nil {
		t.Fatal(err)
	}
	j := rendered(t, c, spec(), "")
	g, task := dig(j, "TaskGroups", 0), dig(j, "TaskGroups", 0, "Tasks", 0)
	want := map[string]any{
		"ID": "train-2", "Namespace": "gpupool-acme", "Type": "batch", "NodePool": "all",
		"Meta": map[string]any{"gpupool.pool": "gpupool", "gpupool.org": "acme", "gpupool.project": "genomics", "gpupool.user": "ada",
			"gpupool.job": "train", "gpupool.attempt": "2"},
		"Count": 1.0, "MaxRun": 7.2e12, "Restarts": 0.0, "Reschedules": 0.0, "Replace": false,
		"Pin":    map[string]any{"LTarget": "${node.unique.id}", "Operand": "=", "RTarget": "n1"},
		"Device": "nvidia/gpu", "GPUs": 4.0, "Model": map[string]any{"LTarget": "${device.model}", "Operand": "=", "RTarget": "NVIDIA H100"},
		"CPU": 400.0, "Memory": 4000.0, "Driver": "docker", "Kill": 3e10, "Env": map[string]any{"A": "1"},
		"Config":    map[string]any{"image": "ghcr.io/acme/train:1", "command": "/bin/sh", "args": []any{"-c", "python train.py"}},
		"Templates": nil, "Networks": nil, "Devices": 1,
	}
	got := map[string]any{
		"ID": j["ID"], "Namespace": j["Namespace"], "Type": j["Type"], "NodePool": j["NodePool"], "Meta": j["Meta"],
		"Count": dig(g, "Count"), "MaxRun": dig(g, "MaxRunDuration"), "Restarts": dig(g, "RestartPolicy", "Attempts"),
		"Reschedules": dig(g, "ReschedulePolicy", "Attempts"), "Replace": dig(g, "Disconnect", "Replace"), "Pin": dig(g, "Constraints", 0),
		"Device": dig(task, "Resources", "Devices", 0, "Name"), "GPUs": dig(task, "Resources", "Devices", 0, "Count"),
		"Model": dig(task, "Resources", "Devices", 0, "Constraints", 0), "CPU": dig(task, "Resources", "CPU"), "Memory": dig(task, "Resources", "MemoryMB"),
		"Driver": dig(task, "Driver"), "Kill": dig(task, "KillTimeout"), "Env": dig(task, "Env"), "Config": dig(task, "Config"),
		"Templates": dig(task, "Templates"), "Networks": dig(g, "Networks"), "Devices": len(dig(task, "Resources", "Devices").([]any)),
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Fatal(d)
	}
}

func TestAGangIsOneGroupOnItsNodes(t *testing.T) {
	t.Parallel()
	c, err := New(Config{Addr: "http://x", Driver: "docker"})
	if err != nil {
		t.Fatal(err)
	}
	s := spec()
	s.Placement = []domain.NodeGPUs{{Node: "n.2", GPUs: 4}, {Node: "n1", GPUs: 4}}
	j := rendered(t, c, s, "10.0.0.2")
	g, task := dig(j, "TaskGroups", 0), dig(j, "TaskGroups", 0, "Tasks", 0)
	port := dig(g, "Networks", 0, "ReservedPorts", 0, "Value").(float64)
	if port < 10000 || port >= 20000 || dig(g, "Count") != 2.0 || dig(g, "Networks", 0, "Mode") != "bridge" {
		t.Fatalf("the group is %v", g)
	}
	if dig(g, "Constraints", 0, "RTarget") != `^(n\.2|n1)$` || dig(g, "Constraints", 1, "Operand") != "distinct_hosts" {
		t.Fatalf("the constraints are %v", dig(g, "Constraints"))
	}
	env := dig(task, "Env").(map[string]any)
	if env["NNODES"] != "2" || env["GPUS_PER_NODE"] != "4" || env["MASTER_ADDR"] != "10.0.0.2" || env["MASTER_PORT"] == "" || env["A"] != "1" {
		t.Fatalf("the variables are %v", env)
	}
	if s.Spec.Env["NNODES"] != "" {
		t.Fatal("the caller's variables were changed")
	}
	want := "{{ if eq (env \"node.unique.id\") \"n.2\" }}NODE_RANK=0{{ end }}\n{{ if eq (env \"node.unique.id\") \"n1\" }}NODE_RANK=1{{ end }}\n"
	if d := cmp.Diff(want, dig(task, "Templates", 0, "EmbeddedTmpl")); d != "" {
		t.Fatal(d)
	}
}

func TestSimulationIsToldToTheEmbeddedClusterOnly(t *testing.T) {
	t.Parallel()
	for _, sim := range []bool{false, true} {
		c, err := New(Config{Addr: "http://x", Driver: "docker", Sim: sim})
		if err != nil {
			t.Fatal(err)
		}
		meta := rendered(t, c, spec(), "")["Meta"].(map[string]any)
		want := map[string]any{}
		if sim {
			want = map[string]any{"sim_length_ms": "5", "sim_exit": "3", "sim_oom": "gpu", "sim_util": "0", "sim_log": "hi"}
		}
		for k := range meta {
			if k[:3] != "sim" {
				delete(meta, k)
			}
		}
		if d := cmp.Diff(want, meta); d != "" {
			t.Error(d)
		}
	}
}

func TestAPlacementThatIsNoneIsOurFault(t *testing.T) {
	t.Parallel()
	c, err := New(Config{Addr: "http://x", Driver: "docker"})
	if err != nil {
		t.Fatal(err)
	}
	for _, on := range [][]domain.NodeGPUs{nil, {{Node: "n1"}}, {{Node: "", GPUs: 1}}, {{Node: "n1", GPUs: 1}, {Node: "n2", GPUs: 2}}} {
		s := spec()
		s.Placement = on
		if _, err := c.render(s, ""); domain.CodeOf(err) != domain.Internal {
			t.Errorf("%v gives %v", on, err)
		}
	}
}
