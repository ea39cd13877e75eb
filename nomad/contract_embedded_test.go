package nomad_test

import (
	"sync/atomic"
	"testing"
	"time"

	"gpupool/domain"
	"gpupool/domain/pool"
	"gpupool/nomad"
	"gpupool/nomad/embedded"
)

const a100 = "NVIDIA A100-SXM4-80GB"

// simulated is a bench on an embedded cluster of its own, with ACL on.
type simulated struct {
	*bench
	c     *embedded.Cluster
	clock *atomic.Int64 // business milliseconds
}

func simulate(t *testing.T, change ...func(*embedded.Options, *nomad.Config)) simulated {
	t.Helper()
	clock := &atomic.Int64{}
	clock.Store(time.Date(2026, 11, 2, 9, 0, 0, 0, time.UTC).UnixMilli())
	spec := func(name string) embedded.NodeSpec {
		return embedded.NodeSpec{Name: name, Meta: map[string]string{"gpupool_site": "north"},
			Devices: []embedded.DeviceSpec{{Model: a100, IDs: embedded.DeviceIDs("GPU", name, 8)}}}
	}
	opt := embedded.Options{
		Now:        func() pool.Instant { return pool.Instant(clock.Load()) },
		Nodes:      []embedded.NodeSpec{spec("gpu-01"), spec("gpu-02")},
		Management: "management-secret",
		Poll:       time.Millisecond,
	}
	cfg := nomad.Config{Token: "management-secret", Driver: "docker", Sim: true, KillTimeout: time.Second}
	for _, f := range change {
		f(&opt, &cfg)
	}
	c, err := embedded.Open(opt)
	must(t, err)
	t.Cleanup(func() { _ = c.Close() })
	if cfg.Addr, err = c.Serve("127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	client, err := nomad.New(cfg)
	must(t, err)
	t.Cleanup(client.Close)
	return simulated{c: c, clock: clock, bench: &bench{
		cluster: client, addr: cfg.Addr, token: cfg.Token, driver: "docker", nodes: len(opt.Nodes), org: "acme",
		class: domain.GPUClass{ID: "a100-80g", Vendor: "nvidia", Type: "gpu", Model: a100, CPUPerGPU: 1000, MemPerGPU: 1024},
		tick:  func() { clock.Add(200) },
	}}
}

func TestContractOnEmbeddedCluster(t *testing.T) {
	t.Parallel()
	contract(t, func(t *testing.T) *bench {
		t.Parallel()
		return simulate(t).bench
	})
}
