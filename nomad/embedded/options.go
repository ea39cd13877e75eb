package embedded

import (
	"time"

	"gpupool/domain/pool"
)

// Options of a cluster. Only Now is required.
type Options struct {
	// Path of the database file, e.g. data/cluster.db. Empty: state lives in
	// memory and ends with the process.
	Path string
	// Now reads the business clock. It never goes back; if it does, the cluster
	// stays where it was.
	Now func() pool.Instant
	// Nodes are registered when the cluster is new; a cluster that has nodes
	// already keeps its own. See SetNodes.
	Nodes []NodeSpec
	// Version that the agent reports; default "2.0.6". Below 2.0.0 a denied
	// event stream answers 403, from then on it answers 200 and stays silent.
	Version string
	// Region, default "global".
	Region string
	// Seed makes the ids of this cluster differ from those of another one.
	Seed string
	// Management and Read are the secrets of two tokens. ACL is on when
	// Management is not empty: requests without a known token are denied.
	Management, Read string
	// Heartbeat is the wall time between two `{}` on a stream; default 30 s.
	Heartbeat time.Duration
	// Poll is the wall time after which a waiting request looks at the business
	// clock again; default 50 ms. Wake makes it look at once.
	Poll time.Duration
	// Ring is the number of event batches that the stream can resume from;
	// default 100.
	Ring int
	// MaxKillTimeout caps a task's kill timeout, as the client's setting does;
	// default 30 s.
	MaxKillTimeout time.Duration
	// Retain is the business time after which what ended is removed silently.
	// Zero keeps it until CollectGarbage.
	Retain time.Duration
}

func (o Options) filled() Options {
	if o.Version == "" {
		o.Version = "2.0.6"
	}
	if o.Region == "" {
		o.Region = "global"
	}
	if o.Heartbeat == 0 {
		o.Heartbeat = 30 * time.Second
	}
	if o.Poll == 0 {
		o.Poll = 50 * time.Millisecond
	}
	if o.Ring == 0 {
		o.Ring = 100
	}
	if o.MaxKillTimeout == 0 {
		o.MaxKillTimeout = 30 * time.Second
	}
	return o
}

// NodeSpec describes a simulated machine.
type NodeSpec struct {
	ID         string // a UUID; empty: derived from the name
	Name       string // e.g. gpu-01
	Datacenter string // default dc1
	Pool       string // node pool, default "default"
	Class      string
	Meta       map[string]string // e.g. site
	CPU        int               // MHz, default 128 000
	MemoryMB   int               // default 1 048 576
	DiskMB     int               // default 4 000 000
	Drivers    []string          // default docker, podman, exec
	Devices    []DeviceSpec
}

// DeviceSpec is a group of equal devices: whole GPUs or MIG slices.
type DeviceSpec struct {
	Vendor, Type string   // default nvidia, gpu
	Model        string   // e.g. "NVIDIA A100-SXM4-80GB"
	IDs          []string // distinct in the whole cluster; see DeviceIDs
	MemoryMiB    int64    // default 81 920
	PowerW       int64    // at most; default 400
}

// InFlight is a job that runs already when the cluster takes it over.
type InFlight struct {
	// Job is the job object as it stands under "Job" in a registration.
	Job []byte
	// Namespace beats the job's own; empty: the job's, or default.
	Namespace string
	Runs      []Run // one per member of the job's first group, at most its count
}

// Run is one allocation of a job in flight.
type Run struct {
	AllocID string   // empty: made by the cluster
	Node    string   // node id or name
	Devices []string // empty: free ones are chosen; else as many as the task asks for
	Placed  pool.Instant
	Started pool.Instant // zero: placed plus the set-up time of the simulation
}
