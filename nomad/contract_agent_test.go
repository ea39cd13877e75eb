package nomad_test

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"regexp"
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
	// One after the other: they share the agent's GPUs and its one node.
	contract(t, onAgent)
}

// onAgent is a bench on the agent, in an organisation of its own.
func onAgent(t *testing.T) *bench {
	t.Helper()
	addr := os.Getenv("GPUPOOL_TEST_NOMAD_ADDR")
	if addr == "" {
		fmt.Println("real agent: not run")
		t.Skip("GPUPOOL_TEST_NOMAD_ADDR names no agent")
	}
	secret := os.Getenv("GPUPOOL_TEST_NOMAD_TOKEN")
	admin := os.Getenv("GPUPOOL_TEST_NOMAD_NAMESPACE_TOKEN")
	driver := cmp.Or(os.Getenv("GPUPOOL_TEST_NOMAD_DRIVER"), "raw_exec")
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
}

// TestAGangKnowsItsRankOnAgent has a second node that does not exist, so that one run
// of the gang starts on the agent's only node.
func TestAGangKnowsItsRankOnAgent(t *testing.T) {
	t.Parallel()
	b := onAgent(t)
	must(t, b.cluster.EnsureNamespace(t.Context(), b.org))
	s := b.attempt(t, 1, domain.JobSpec{Command: "/bin/sh", Args: []string{"-c", "echo rank $NODE_RANK of $NNODES x $GPUS_PER_NODE at $MASTER_ADDR:$MASTER_PORT; sleep 60"}})
	s.Placement = append([]domain.NodeGPUs{}, s.Placement[0], domain.NodeGPUs{Node: "11111111-2222-3333-4444-555555555555", GPUs: 1})
	b.submit(t, s)
	r := b.wait(t, s.Attempt, domain.RunRunning)
	words := regexp.MustCompile(`^rank 0 of 2 x 1 at [0-9a-f.:]+:1[0-9]{4}\n$`)
	b.until(t, "the rank in the log", func() bool {
		var w bytes.Buffer
		_, err := b.cluster.Logs(t.Context(), b.org, r.Alloc, "stdout", 0, 1<<16, false, &w)
		must(t, err)
		return words.MatchString(w.String())
	})
}

// The namespace allows one driver; a job with another is refused for good.
func TestADriverThatTheNamespaceForbidsIsRefusedOnAgent(t *testing.T) {
	t.Parallel()
	b := onAgent(t)
	must(t, b.cluster.EnsureNamespace(t.Context(), b.org))
	other, err := nomad.New(nomad.Config{Addr: b.addr, Token: b.token, Driver: "mock_driver", TestPool: true})
	must(t, err)
	t.Cleanup(other.Close)
	s := b.attempt(t, 1, b.work(time.Second, 0, "hello"))
	if err := other.Submit(t.Context(), s); domain.CodeOf(err) != domain.Invalid {
		t.Fatalf("gives %v", err)
	}
	// Into a namespace that is not there.
	s.Org += "-unknown"
	if err := b.cluster.Submit(t.Context(), s); domain.CodeOf(err) != domain.NotFound {
		t.Fatalf("a namespace that is missing gives %v", err)
	}
}

func trim(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }
