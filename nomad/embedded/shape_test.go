package embedded_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gpupool/nomad/embedded"
)

func encoded(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}

// recorded is an answer of a real Nomad.
func recorded(t *testing.T, name string) (status int, headers map[string]string, body any) {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	var f struct {
		Status  int
		Headers map[string]string
		Body    any
	}
	if err := json.Unmarshal(raw, &f); err != nil {
		t.Fatal(err)
	}
	return f.Status, f.Headers, f.Body
}

// open are objects whose keys are data, not names.
var open = []string{"Attributes", "Config", "Meta", "Drivers", "Tasks", "TaskStates", "TaskResources", "TaskLifecycles", "Details",
	"Summary", "NodesAvailable", "Scores", "DesiredTGUpdates", "QueuedAllocations", "FailedTGAllocs", "ClassEligibility",
	"DimensionExhausted", "ConstraintFiltered", "ResourcesExhausted", "InstanceStats", "Pids", "Env", "Items", "Tags", "Links"}

// differences compares keys and types, not values; null fits every type.
func differences(path string, real, ours any) []string {
	if real == nil || ours == nil {
		return nil
	}
	switch r := real.(type) {
	case map[string]any:
		o, ok := ours.(map[string]any)
		if !ok {
			return []string{fmt.Sprintf("%s: is %T, want an object", path, ours)}
		}
		if slices.Contains(open, path[strings.LastIndex(path, ".")+1:]) {
			return compareAny(path, r, o)
		}
		var out []string
		for k, v := range r {
			if w, has := o[k]; has {
				out = append(out, differences(path+"."+k, v, w)...)
			} else {
				out = append(out, path+"."+k+": missing")
			}
		}
		for k := range o {
			if _, has := r[k]; !has {
				out = append(out, path+"."+k+": not in the real answer")
			}
		}
		return out
	case []any:
		o, ok := ours.([]any)
		if !ok {
			return []string{fmt.Sprintf("%s: is %T, want a list", path, ours)}
		}
		if len(r) > 0 && len(o) > 0 {
			return differences(path+"[]", r[0], o[0])
		}
		return nil
	}
	if fmt.Sprintf("%T", real) != fmt.Sprintf("%T", ours) {
		return []string{fmt.Sprintf("%s: is %T, want %T", path, ours, real)}
	}
	return nil
}

// compareAny compares the keys that both have, or one value of each where the
// keys are data.
func compareAny(path string, r, o map[string]any) []string {
	var out []string
	shared := false
	for k, v := range r {
		if w, has := o[k]; has {
			shared = true
			out = append(out, differences(path+"."+k, v, w)...)
		}
	}
	if shared {
		return out
	}
	for _, v := range r {
		for _, w := range o {
			return differences(path+"[*]", v, w)
		}
	}
	return nil
}

func TestAnswersHaveTheKeysAndTypesOfARealNomad(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	n1 := b.nodeID("gpu-01")
	eval := b.register(spec{id: "run-1", gpus: 2, node: n1, env: lasts(time.Hour)})
	b.register(spec{id: "done-1", gpus: 1, env: lasts(time.Minute)})
	b.register(spec{id: "fail-1", gpus: 1, restarts: 2, env: with(lasts(time.Second), "SIM_EXIT", "7")})
	b.register(spec{id: "limit-1", gpus: 1, max: 2 * time.Minute, env: lasts(time.Hour)})
	b.register(spec{id: "stopped-1", gpus: 1, node: n1, env: lasts(time.Hour)})
	b.register(spec{id: "lost-1", gpus: 1, node: b.nodeID("gpu-02"), lost: 10 * time.Minute, keep: true, env: lasts(time.Hour)})
	busy := b.register(spec{id: "busy-1", gpus: 8, env: lasts(time.Hour)})
	absent := b.register(spec{id: "absent-1", gpus: 1, model: h100, env: lasts(time.Hour)})
	b.clock.Advance(5 * time.Minute)
	_, _, err := b.api.Jobs().Deregister("stopped-1", false, nil)
	b.ok(err)
	b.clock.Advance(time.Minute)
	b.ok(b.c.NodeDown("gpu-02"))
	e, _, err := b.api.Evaluations().Info(busy, nil)
	b.ok(err)
	id := func(job string) string { return b.only(job).ID }
	node := b.nodeID("gpu-01")
	namespace := map[string]any{"Name": "rheinau", "Description": "x", "Meta": map[string]string{"org_id": "42"},
		"Capabilities": map[string]any{"EnabledTaskDrivers": []string{"docker"}, "EnabledNetworkModes": []string{"bridge"}}}
	if s, _, v := b.send("PUT", "/v1/namespace", namespace); s != 200 {
		t.Fatal(s, v)
	}
	variable := map[string]any{"Path": "nomad/jobs/run-1", "Namespace": "default", "Items": map[string]string{"K": "v"}}
	submitted := func(s spec) any { return map[string]any{"Job": job(s), "EnforceIndex": true, "JobModifyIndex": 0} }

	for _, c := range []struct {
		fixture, method, path string
		body                  any
	}{
		{"alloc_info_complete_batch", "GET", "/v1/allocation/" + id("done-1"), nil},
		{"alloc_info_failed_with_restarts", "GET", "/v1/allocation/" + id("fail-1"), nil},
		{"alloc_info_max_run_duration", "GET", "/v1/allocation/" + id("limit-1"), nil},
		{"alloc_info_stopped", "GET", "/v1/job/stopped-1/allocations?all=true", nil},
		{"alloc_stats", "GET", "/v1/client/allocation/" + id("run-1") + "/stats", nil},
		{"allocations_list_resources", "GET", "/v1/allocations?namespace=*&resources=true", nil},
		{"client_stats", "GET", "/v1/client/stats?node_id=" + node, nil},
		{"agent_self_trim", "GET", "/v1/agent/self", nil},
		{"eval_complete", "GET", "/v1/evaluation/" + eval + "?related=true", nil},
		{"eval_complete_with_blocked", "GET", "/v1/evaluation/" + busy + "?related=true", nil},
		{"eval_blocked", "GET", "/v1/evaluation/" + e.BlockedEval + "?related=true", nil},
		{"eval_filtered_missing_devices", "GET", "/v1/evaluation/" + absent + "?related=true", nil},
		{"filter_error", "GET", "/v1/allocations?filter=Bogus+%3D%3D+%22x", nil},
		{"job_allocations", "GET", "/v1/job/run-1/allocations", nil},
		{"job_allocations_after_purge", "GET", "/v1/job/nobody/allocations", nil},
		{"job_info_404", "GET", "/v1/job/nobody", nil},
		{"job_info_pending", "GET", "/v1/job/busy-1", nil},
		{"job_info_dead", "GET", "/v1/job/stopped-1", nil},
		{"job_summary_pending", "GET", "/v1/job/busy-1/summary", nil},
		{"jobs_list_wildcard_meta", "GET", "/v1/jobs?meta=true&namespace=*&filter=Meta%5B%22gpupool.org%22%5D+%3D%3D+%22rheinau%22", nil},
		{"job_plan", "PUT", "/v1/job/plan-1/plan", submitted(spec{id: "plan-1"})},
		{"job_plan_blocked", "PUT", "/v1/job/plan-2/plan", submitted(spec{id: "plan-2", gpus: 8})},
		{"job_register", "PUT", "/v1/jobs", submitted(spec{id: "new-1", gpus: 1})},
		{"job_register_enforce_conflict", "PUT", "/v1/jobs", submitted(spec{id: "run-1", gpus: 1})},
		{"job_validate", "PUT", "/v1/validate/job", submitted(spec{id: "v"})},
		{"job_deregister", "DELETE", "/v1/job/new-1?purge=false", nil},
		{"job_deregister_unknown", "DELETE", "/v1/job/nobody?purge=true", nil},
		{"job_stop_purge", "DELETE", "/v1/job/new-1?purge=true", nil},
		{"namespace_info", "GET", "/v1/namespace/rheinau", nil},
		{"node_info", "GET", "/v1/node/" + node, nil},
		{"nodes_list_resources", "GET", "/v1/nodes?resources=true", nil},
		{"node_pools", "GET", "/v1/node/pools", nil},
		{"scheduler_config_get", "GET", "/v1/operator/scheduler/configuration", nil},
		{"status_leader", "GET", "/v1/status/leader", nil},
		{"var_put", "PUT", "/v1/var/nomad/jobs/run-1", variable},
		{"var_list", "GET", "/v1/vars", nil},
		{"alloc_stop", "PUT", "/v1/allocation/" + id("run-1") + "/stop", nil},
		{"node_eligibility", "PUT", "/v1/node/" + node + "/eligibility", map[string]any{"NodeID": node, "Eligibility": "ineligible"}},
		{"node_drain", "PUT", "/v1/node/" + node + "/drain", map[string]any{"NodeID": node, "DrainSpec": map[string]any{"Deadline": 10_000_000_000}, "Meta": map[string]string{"reason": "x"}}},
		{"node_info_draining", "GET", "/v1/node/" + node, nil},
		{"alloc_info_unknown", "GET", "/v1/allocation/" + id("lost-1"), nil},
	} {
		status, headers, want := recorded(t, c.fixture)
		gotStatus, gotHeaders, got := b.send(c.method, c.path, c.body)
		if gotStatus != status {
			t.Errorf("%s: status %d, want %d (%v)", c.fixture, gotStatus, status, got)
			continue
		}
		for k, v := range headers {
			if g := gotHeaders.Get(k); g == "" || k == "Content-Type" && g != v {
				t.Errorf("%s: header %s is %q, recorded %q", c.fixture, k, g, v)
			}
		}
		for _, d := range differences("", want, got) {
			if !known(c.fixture, d) {
				t.Errorf("%s %s", c.fixture, d)
			}
		}
	}
}

// known are the places where we differ from the record on purpose.
func known(fixture, difference string) bool {
	for _, k := range []string{
		".Config[*]",                   // a task's own words
		".DeploymentID: missing",       // there are no deployments
		".FollowupEvalID: missing",     // nor delayed evaluations
		"._trimmed: missing",           // the record itself was shortened
		".Diff.ID: not in the real",    // so was this
		".config.ACL: not in the real", // and this
		"alloc_info_unknown .Job.",     // a service job with an affinity
		".DesiredTransition: not in the real",
	} {
		if strings.Contains(fixture+" "+difference, k) {
			return true
		}
	}
	return false
}

func TestTextsOfARealNomad(t *testing.T) {
	t.Parallel()
	b := newBench(t, func(o *embedded.Options) { o.Management, o.Read = "m", "r" })
	_, _, want := recorded(t, "acl_denied")
	if s, _, got := b.get("/v1/jobs"); s != 403 || got != want {
		t.Errorf("without a token: %d %v, want 403 %v", s, got, want)
	}
	b = newBench(t)
	for path, fixture := range map[string]string{"/v1/job/does-not-exist": "job_info_404", "/v1/allocations?filter=Bogus+%3D%3D+%22x": "filter_error"} {
		_, _, want := recorded(t, fixture)
		if _, _, got := b.get(path); got != strings.TrimSpace(want.(string)) {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
}

func read(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
