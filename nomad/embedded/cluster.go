package embedded

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"gpupool/domain/pool"
)

// Cluster is a simulated Nomad. It is an http.Handler; all methods may be
// called from several goroutines.
type Cluster struct {
	opt   Options
	store *journal // nil: in memory only
	mux   *http.ServeMux

	mu      sync.Mutex
	s       *state
	at      pool.Instant  // the time of what is being done
	changed chan struct{} // closed when something changed, then replaced
	dirty   map[itemKey]bool
	freed   bool // a device came free: what waits is tried again
	batch   []event
	ring    ring
	broken  error // a write failed: memory is ahead of the file

	faults faults

	close  sync.Once
	closed chan struct{}
	server *http.Server
}

// Open starts a cluster from its file, or a new one.
// Errors: the clock is missing, the file can't be opened, read or locked.
func Open(opt Options) (*Cluster, error) {
	if opt.Now == nil {
		return nil, errors.New("embedded cluster: Options.Now is missing")
	}
	c := &Cluster{
		opt: opt.filled(), s: newState(), dirty: map[itemKey]bool{},
		changed: make(chan struct{}), closed: make(chan struct{}),
	}
	c.mux = c.routes()
	if opt.Path != "" {
		j, err := openJournal(opt.Path)
		if err != nil {
			return nil, err
		}
		c.store = j
		if err := j.load(c.s); err != nil {
			return nil, errors.Join(err, j.close())
		}
	}
	if err := c.begin(opt.Nodes); err != nil {
		if c.store != nil {
			err = errors.Join(err, c.store.close())
		}
		return nil, err
	}
	return c, nil
}

// begin makes what every cluster has when it is new.
func (c *Cluster) begin(nodes []NodeSpec) error {
	return c.do(func() error {
		if c.s.Index == 0 {
			c.foundings()
		}
		if len(c.s.nodes) == 0 {
			return c.setNodes(nodes)
		}
		return nil
	})
}

// Close ends streams and waiting requests, stops the server and closes the file.
func (c *Cluster) Close() error {
	var err error
	c.close.Do(func() {
		close(c.closed)
		c.mu.Lock()
		srv := c.server
		c.mu.Unlock()
		if srv != nil {
			err = srv.Close()
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.store != nil {
			err = errors.Join(err, c.store.close())
			c.broken = errors.New("the embedded cluster is closed")
		}
	})
	return err
}

// Serve listens on addr (a loopback address; port 0 takes a free one) and
// returns the address for NOMAD_ADDR, e.g. http://127.0.0.1:4646.
func (c *Cluster) Serve(addr string) (string, error) {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return "", fmt.Errorf("embedded cluster: address %q: %w", addr, err)
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return "", fmt.Errorf("embedded cluster: %q is not a loopback address", host)
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return "", fmt.Errorf("embedded cluster: %w", err)
	}
	c.mu.Lock()
	c.server = &http.Server{Handler: c, ReadHeaderTimeout: 10 * time.Second}
	srv := c.server
	c.mu.Unlock()
	go srv.Serve(l) //nolint:errcheck // ends with ErrServerClosed
	return "http://" + l.Addr().String(), nil
}

// Wake makes waiting requests and streams look at the business clock at once.
func (c *Cluster) Wake() {
	_ = c.do(func() error { c.broadcast(); return nil })
}

// SetNodes adds the machines that are new and replaces the description of
// those that are known; a machine that is not named stays.
func (c *Cluster) SetNodes(nodes []NodeSpec) error {
	return c.do(func() error { return c.setNodes(nodes) })
}

// Index is the cluster's highest index.
func (c *Cluster) Index() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.s.Index
}

// do runs f at the present with everything before it done, and writes the
// outcome to the file before it returns.
func (c *Cluster) do(f func() error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.locked(f)
}

func (c *Cluster) locked(f func() error) error {
	if c.broken != nil {
		return c.broken
	}
	c.advance()
	err := f()
	c.settle()
	if e := c.commit(); e != nil {
		return e
	}
	return err
}

// commit writes what changed and tells those who wait.
func (c *Cluster) commit() error {
	if len(c.dirty) == 0 {
		return nil
	}
	c.touch(itemKey{"meta", ""})
	if c.store != nil {
		if err := c.store.write(c.s, c.dirty); err != nil {
			c.broken = fmt.Errorf("embedded cluster: its file can't be written: %w", err)
			return c.broken
		}
	}
	clear(c.dirty)
	c.broadcast()
	return nil
}

func (c *Cluster) broadcast() {
	close(c.changed)
	c.changed = make(chan struct{})
}

func (c *Cluster) touch(k itemKey) { c.dirty[k] = true }

// newID is a UUID that no other object of this cluster has.
func (c *Cluster) newID(kind string) string {
	c.s.Serial++
	return uuidOf(c.opt.Seed, kind, strconv.FormatUint(c.s.Serial, 10))
}

func (c *Cluster) foundings() {
	for range 5 {
		c.bump()
	}
	c.s.namespaces["default"] = &namespace{Name: "default", Description: "Default shared namespace", CreateIndex: 1, ModifyIndex: 1}
	c.s.pools["all"] = &nodePool{Name: "all", Description: "Node pool with all nodes in the cluster.", CreateIndex: 1, ModifyIndex: 1}
	c.s.pools["default"] = &nodePool{Name: "default", Description: "Default node pool.", CreateIndex: 1, ModifyIndex: 1}
	c.s.Last["namespaces"], c.s.Last["pools"], c.s.Last["scheduler"] = 1, 1, 5
	c.s.Scheduler = schedulerConfig{CreateIndex: 5, ModifyIndex: 5, SchedulerAlgorithm: "binpack"}
	c.s.Scheduler.PreemptionConfig.SystemSchedulerEnabled = true
	for k := range c.s.namespaces {
		c.touch(itemKey{"ns", k})
	}
	for k := range c.s.pools {
		c.touch(itemKey{"pool", k})
	}
}

func (c *Cluster) setNodes(specs []NodeSpec) error {
	for _, s := range specs {
		s = s.filled()
		owner := map[string]string{}
		for _, n := range c.s.nodes {
			if n.Spec.ID == s.ID {
				continue
			}
			for _, d := range n.Spec.Devices {
				for _, id := range d.IDs {
					owner[id] = n.Spec.Name
				}
			}
		}
		for _, d := range s.Devices {
			for _, id := range d.IDs {
				if o, twice := owner[id]; twice {
					return fmt.Errorf("embedded cluster: device %s of node %s is also in node %s", id, s.Name, o)
				}
				owner[id] = s.Name
			}
		}
		i := c.bump("nodes")
		n := c.s.nodes[s.ID]
		if n == nil {
			n = &node{CreateIndex: i, Status: "ready", StatusAt: c.at, Eligible: true,
				Sick: map[string]string{}, Gone: map[string]bool{}, ECC: map[string]int64{}}
			n.note(0, c.at, "Cluster", "Node registered")
			c.s.nodes[s.ID] = n
		}
		n.Spec = s
		c.nodeChanged(n, "NodeRegistration")
		if c.s.pools[s.Pool] == nil {
			c.s.pools[s.Pool] = &nodePool{Name: s.Pool, CreateIndex: i, ModifyIndex: i}
			c.s.Last["pools"] = i
			c.touch(itemKey{"pool", s.Pool})
		}
	}
	c.freed = true
	return nil
}
