package web

import (
	"context"
	"io"
	"slices"
	"sync"

	"gpupool/domain"
	"gpupool/domain/pool"
)

// fakeCluster has nodes and runs nothing: pages are tested here, not placement.
type fakeCluster struct {
	mu       sync.Mutex
	nodes    []domain.ClusterNode
	eligible map[pool.NodeID]bool
	down     error
}

func newFakeCluster() *fakeCluster { return &fakeCluster{eligible: map[pool.NodeID]bool{}} }

func (c *fakeCluster) add(id, model string, gpus int) {
	g := domain.DeviceGroup{Vendor: "nvidia", Type: "gpu", Model: model, MemoryMiB: 81920}
	for i := range gpus {
		g.Healthy = append(g.Healthy, "GPU-"+id+"-"+string(rune('0'+i)))
	}
	c.nodes = append(c.nodes, domain.ClusterNode{ID: pool.NodeID(id), Name: id, State: domain.NodeReady, Site: "campus", Groups: []domain.DeviceGroup{g}})
}

func (c *fakeCluster) EnsureNamespace(context.Context, pool.OrgID) error { return c.down }
func (c *fakeCluster) Submit(context.Context, domain.RunSpec) error      { return c.down }
func (c *fakeCluster) Signal(context.Context, pool.OrgID, pool.AttemptID, string) error {
	return c.down
}
func (c *fakeCluster) Stop(context.Context, pool.OrgID, pool.AttemptID) error   { return c.down }
func (c *fakeCluster) ExtendRun(context.Context, domain.RunSpec) error          { return c.down }
func (c *fakeCluster) Forget(context.Context, pool.OrgID, pool.AttemptID) error { return c.down }
func (c *fakeCluster) Runs(context.Context) ([]domain.Run, error)               { return nil, c.down }
func (c *fakeCluster) Registered(context.Context) (map[pool.AttemptID]bool, error) {
	return nil, c.down
}
func (c *fakeCluster) Watch(ctx context.Context, _ func()) error { <-ctx.Done(); return ctx.Err() }
func (c *fakeCluster) Ping(context.Context) (domain.ClusterInfo, error) {
	return domain.ClusterInfo{Version: "1.10.0", Leader: true}, c.down
}

func (c *fakeCluster) Nodes(context.Context) ([]domain.ClusterNode, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.nodes), c.down
}

func (c *fakeCluster) SetEligible(_ context.Context, n pool.NodeID, eligible bool) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.eligible[n] = eligible
	return c.down
}

func (c *fakeCluster) Logs(context.Context, pool.OrgID, pool.AllocID, string, int64, int64, bool, io.Writer) (int64, error) {
	return 0, domain.Errf(domain.NotFound, "The log was collected.")
}
