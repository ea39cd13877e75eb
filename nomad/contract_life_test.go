package nomad_test

import (
	"testing"
	"time"

	"gpupool/domain"
)

// What the pool does with an attempt while it lives.

// gangDoesNotAssemble has a second node that does not exist: one run of the
// two starts, and nothing of them is left when the attempt is stopped.
func gangDoesNotAssemble(t *testing.T, b *bench) {
	must(t, b.cluster.EnsureNamespace(t.Context(), b.org))
	s := b.attempt(t, 1, b.work(time.Hour, 0, "hello"))
	s.Placement = append([]domain.NodeGPUs{}, s.Placement[0], domain.NodeGPUs{Node: "11111111-2222-3333-4444-555555555555", GPUs: 1})
	b.submit(t, s)
	b.wait(t, s.Attempt, domain.RunRunning)
	must(t, b.cluster.Stop(t.Context(), b.org, s.Attempt))
	b.wait(t, s.Attempt, domain.RunComplete)
	if rs := b.runs(t, s.Attempt); len(rs) != 1 || rs[0].Desired != "stop" {
		t.Fatalf("runs of a gang that was stopped: %+v", rs)
	}
	if stopped, ok := b.registered(t)[s.Attempt]; !ok || !stopped {
		t.Fatalf("registered %v, stopped %v", ok, stopped)
	}
	must(t, b.cluster.Forget(t.Context(), b.org, s.Attempt))
}
