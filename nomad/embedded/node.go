package embedded

import (
	"crypto/sha256"
	"fmt"
	"strconv"

	"gpupool/domain/pool"
)

// node is a simulated machine as this cluster keeps it.
type node struct {
	Spec                     NodeSpec
	CreateIndex, ModifyIndex uint64
	Status                   string // ready, down, disconnected
	StatusAt                 pool.Instant
	Eligible                 bool
	Drain                    *drain
	LastDrain                *lastDrain
	Events                   []nodeEvent
	Sick                     map[string]string // device id: why it is unhealthy
	Gone                     map[string]bool   // device id: vanished from the machine
	ECC                      map[string]int64  // device id: memory errors shown
	LastAllocUpdate          uint64
	Skew                     int64 // nanoseconds that its own clock is ahead
}

type drain struct {
	Started  pool.Instant
	Deadline int64        // nanoseconds as asked
	ForceAt  pool.Instant // pool.Never: no deadline
	Forced   bool
}

type lastDrain struct {
	Started, Updated pool.Instant
	Status           string
	Meta             map[string]string
}

type nodeEvent struct {
	Index     uint64
	At        pool.Instant
	Message   string
	Subsystem string
	Details   map[string]string
}

func (n *node) connected() bool { return n.Status == "ready" }

func (n *node) note(index uint64, at pool.Instant, subsystem, text string) {
	n.Events = append(n.Events, nodeEvent{Index: index, At: at, Message: text, Subsystem: subsystem})
	if len(n.Events) > keptEvents {
		n.Events = n.Events[len(n.Events)-keptEvents:]
	}
}

// uuidOf is a UUID that depends on the words only.
func uuidOf(words ...string) string {
	var in []byte
	for _, w := range words {
		in = append(append(in, w...), 0)
	}
	h := sha256.Sum256(in)
	return fmt.Sprintf("%x-%x-%x-%x-%x", h[0:4], h[4:6], h[6:8], h[8:10], h[10:16])
}

// DeviceIDs makes n device ids that depend on the prefix ("GPU" or "MIG") and
// the node's name only.
func DeviceIDs(prefix, node string, n int) []string {
	ids := make([]string, n)
	for i := range ids {
		ids[i] = prefix + "-" + uuidOf("device", prefix, node, strconv.Itoa(i))
	}
	return ids
}

// NodeUUID is the id of a node whose spec gives none.
func NodeUUID(name string) string { return uuidOf("node", name) }

func (s NodeSpec) filled() NodeSpec {
	if s.ID == "" {
		s.ID = NodeUUID(s.Name)
	}
	if s.Datacenter == "" {
		s.Datacenter = "dc1"
	}
	if s.Pool == "" {
		s.Pool = "default"
	}
	if s.CPU == 0 {
		s.CPU = 128_000
	}
	if s.MemoryMB == 0 {
		s.MemoryMB = 1 << 20
	}
	if s.DiskMB == 0 {
		s.DiskMB = 4_000_000
	}
	if len(s.Drivers) == 0 {
		s.Drivers = []string{"docker", "podman", "exec"}
	}
	devices := make([]DeviceSpec, len(s.Devices))
	for i, d := range s.Devices {
		if d.Vendor == "" {
			d.Vendor = "nvidia"
		}
		if d.Type == "" {
			d.Type = "gpu"
		}
		if d.MemoryMiB == 0 {
			d.MemoryMiB = 81920
		}
		if d.PowerW == 0 {
			d.PowerW = 400
		}
		devices[i] = d
	}
	s.Devices = devices
	return s
}

// attributes of a device group, as HashiCorp's plugin for this vendor names them.
func (d DeviceSpec) attributes() map[string]attribute {
	i := func(v int64, unit string) attribute { return attribute{Int: &v, Unit: unit} }
	s := func(v string) attribute { return attribute{String: &v} }
	return map[string]attribute{
		"memory": i(d.MemoryMiB, "MiB"), "power": i(d.PowerW, "W"), "bar1": i(131072, "MiB"),
		"cores_clock": i(1410, "MHz"), "memory_clock": i(1593, "MHz"), "pci_bandwidth": i(31504, "MB/s"),
		"driver_version": s("550.54.15"), "persistence_mode": s("Enabled"), "display_state": s("Disabled"),
	}
}

// attribute is a typed value with a unit; exactly one of the four is set.
type attribute struct {
	Bool   *bool
	Float  *float64
	Int    *int64
	String *string
	Unit   string
}

// findNode by id or name.
func (c *Cluster) findNode(key string) *node {
	if n := c.s.nodes[key]; n != nil {
		return n
	}
	for _, n := range c.s.nodes {
		if n.Spec.Name == key {
			return n
		}
	}
	return nil
}

// usable tells whether a device can be given to a task.
func (n *node) usable(id string) bool { return !n.Gone[id] && n.Sick[id] == "" }
