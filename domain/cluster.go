package domain

import (
	"context"
	"io"
	"time"

	"gpupool/domain/pool"
)

// RunSpec is everything the cluster needs to run an attempt; the adapter
// renders it into one pinned batch job.
type RunSpec struct {
	Attempt   pool.AttemptID
	Org       pool.OrgID
	Project   pool.ProjectID
	User      pool.UserID
	Name      string
	Class     GPUClass
	Placement []NodeGPUs // equal GPUs on each node; n > 1 is a gang
	MaxRun    time.Duration
	Spec      JobSpec
}

// RunStatus is Nomad's client status of an allocation.
type RunStatus string

const (
	RunPending  RunStatus = "pending"
	RunRunning  RunStatus = "running"
	RunComplete RunStatus = "complete"
	RunFailed   RunStatus = "failed"
	RunLost     RunStatus = "lost"
	RunUnknown  RunStatus = "unknown"
)

// Terminal tells whether the run will not go on (a lost one may come back).
func (s RunStatus) Terminal() bool {
	return s == RunComplete || s == RunFailed || s == RunLost
}

// RunEvent is a task event.
type RunEvent struct {
	Type    string // Received, Task Setup, Started, Terminated, Killed, …
	At      pool.Instant
	Message string
	Exit    int
	Signal  int
	OOM     bool
}

// Run is what the cluster says of one allocation of ours.
type Run struct {
	Alloc       pool.AllocID
	ModifyIndex uint64
	Attempt     pool.AttemptID // from the job's meta
	Org         pool.OrgID
	Node        pool.NodeID
	Status      RunStatus
	Desired     string // run, stop, evict
	Created     pool.Instant
	Modified    pool.Instant // last change by the servers
	Finished    pool.Instant // latest FinishedAt of its tasks, 0: none
	Heartbeat   pool.Instant // last heartbeat of its node, 0: not known
	Devices     []string     // distinct UUIDs
	Events      []RunEvent
}

// ClusterInfo is what Ping learnt.
type ClusterInfo struct {
	Version  string
	Embedded bool
	Leader   bool
	Warnings []string // old version, ACL off, retention too short
}

// ClusterNode is a node of the inventory.
type ClusterNode struct {
	ID       pool.NodeID
	Name     string
	State    NodeState
	Site     string // meta gpupool_site, or the datacenter
	Groups   []DeviceGroup
	Foreign  map[string]int // per device model: held by allocations that are not ours
	LastSeen pool.Instant
}

// DeviceGroup is devices of one vendor, type and model on a node.
type DeviceGroup struct {
	Vendor, Type, Model string
	MemoryMiB           int64
	Healthy, Unhealthy  []string // UUIDs
}

// Placer starts and stops attempts. Every call is safe to repeat.
type Placer interface {
	EnsureNamespace(ctx context.Context, org pool.OrgID) error
	// Submit registers the attempt; one that is there already with our meta
	// is success.
	Submit(ctx context.Context, s RunSpec) error
	Signal(ctx context.Context, org pool.OrgID, a pool.AttemptID, signal string) error
	// Stop deregisters without purge; an unknown attempt is success.
	Stop(ctx context.Context, org pool.OrgID, a pool.AttemptID) error
	ExtendRun(ctx context.Context, s RunSpec) error
	// Forget purges an attempt that is terminal and metered.
	Forget(ctx context.Context, org pool.OrgID, a pool.AttemptID) error
}

// Watcher tells what runs.
type Watcher interface {
	// Runs lists every allocation whose job carries our meta.
	Runs(ctx context.Context) ([]Run, error)
	// Registered lists the attempts that the cluster knows as jobs and has
	// not purged, with whether each is stopped.
	Registered(ctx context.Context) (map[pool.AttemptID]bool, error)
	// Watch calls changed when something may have changed, until ctx ends.
	// It is a hint: a lost event costs time, never truth.
	Watch(ctx context.Context, changed func()) error
}

// Inventory tells what hardware is there.
type Inventory interface {
	Ping(ctx context.Context) (ClusterInfo, error)
	Nodes(ctx context.Context) ([]ClusterNode, error)
	SetEligible(ctx context.Context, n pool.NodeID, eligible bool) error
}

// LogReader reads what a run wrote.
type LogReader interface {
	// Logs copies stdout or stderr of the run from offset (bytes) to w, at
	// most limit bytes, and returns the next offset. With follow it goes on
	// until ctx ends or the run does. NotFound when it was collected.
	Logs(ctx context.Context, org pool.OrgID, alloc pool.AllocID, stream string, offset, limit int64, follow bool, w io.Writer) (int64, error)
}

// Cluster is the whole seam to Nomad.
type Cluster interface {
	Placer
	Watcher
	Inventory
	LogReader
}
