package nomad_test

import (
	"cmp"
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"

	"gpupool/domain"
	"gpupool/domain/pool"
	"gpupool/nomad"
)

// The contract on a real agent with GPUs (or pretended ones), when
// GPUPOOL_TEST_NOMAD_ADDR names one. Its driver is GPUPOOL_TEST_NOMAD_DRIVER,
// raw_exec by default. With ACL on, GPUPOOL_TEST_NOMAD_TOKEN is the portal's
// token and GPUPOOL_TEST_NOMAD_NAMESPACE_TOKEN a management token, so that the
// rights in deploy are tried too.
func TestContractOnAgent(t *testing.T) {
	t.Parallel()
	addr := os.Getenv("GPUPOOL_TEST_NOMAD_ADDR")
	if addr == "" {
		fmt.Println("real agent: not run")
		t.Skip("GPUPOOL_TEST_NOMAD_ADDR names no agent")
	}
	secret := os.Getenv("GPUPOOL_TEST_NOMAD_TOKEN")
	admin := os.Getenv("GPUPOOL_TEST_NOMAD_NAMESPACE_TOKEN")
	driver := cmp.Or(os.Getenv("GPUPOOL_TEST_NOMAD_DRIVER"), "raw_exec")
	// One after the other: they share the agent's GPUs and its one node.
	contract(t, func(t *testing.T) *bench {
		c, err := nomad.New(nomad.Config{Addr: addr, Token: secret, NamespaceToken: admin, Driver: driver, TestPool: true, KillTimeout: time.Second})
		must(t, err)
		t.Cleanup(c.Close)
		b := &bench{cluster: c, addr: addr, token: cmp.Or(admin, secret), keeps: admin != "", driver: driver, tick: func() {}, org: pool.OrgID("org-" + token())}
		nodes, err := c.Nodes(t.Context())
		must(t, err)
		for _, n := range nodes {
			for _, g := range n.Groups {
				if b.class.Model == "" || b.class.Model == g.Model {
					b.class = domain.GPUClass{ID: "test", Vendor: g.Vendor, Type: g.Type, Model: g.Model, CPUPerGPU: 50, MemPerGPU: 32}
					b.nodes++
				}
			}
		}
		if b.nodes == 0 {
			t.Fatalf("the agent at %s has no devices", addr)
		}
		return b
	})
}

func trim(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }
