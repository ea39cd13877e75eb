package embedded

import (
	"slices"

	"gpupool/domain/pool"
)

// The wire forms of an allocation.

type taskStateWire struct {
	Events      []taskEvent
	Failed      bool
	FinishedAt  *string
	LastRestart *string
	Paused      string
	Restarts    int
	StartedAt   *string
	State       string
}

// taskStates is what the client reports, by the clock of its node.
func (c *Cluster) taskStates(a *alloc, j *jobText) map[string]taskStateWire {
	if len(a.Events) == 0 {
		return nil
	}
	skew := int64(0)
	if n := c.s.nodes[a.NodeID]; n != nil {
		skew = n.Skew
	}
	own := func(i pool.Instant) *string {
		if i == 0 {
			return nil
		}
		return stamp(i + pool.Instant(skew/1e6))
	}
	s := taskStateWire{Events: a.Events, Failed: a.Failed, FinishedAt: own(a.Finished), LastRestart: own(a.LastRestart),
		Restarts: a.Restarts, StartedAt: own(a.Started), State: "pending"}
	if skew != 0 {
		s.Events = slices.Clone(a.Events)
		for i := range s.Events {
			s.Events[i].Time += skew
		}
	}
	switch a.Phase {
	case running:
		s.State = "running"
	case over:
		s.State = "dead"
	}
	m := map[string]taskStateWire{}
	if g := j.group(a.Group); g != nil {
		for _, t := range g.Tasks {
			m[t.Name] = s
		}
	}
	return m
}

type allocatedWire struct {
	Shared struct {
		DiskMB   int
		Networks raw
		Ports    raw
	}
	TaskLifecycles map[string]raw
	Tasks          map[string]taskAllocatedWire
}

type taskAllocatedWire struct {
	Cpu struct {
		CpuShares     int
		ReservedCores []int
	}
	Devices []deviceWire
	Memory  struct {
		MemoryMB    int
		MemoryMaxMB int
	}
	Networks raw
}

type deviceWire struct {
	DeviceIDs []string
	Name      string
	Type      string
	Vendor    string
}

func (a *alloc) allocated(g *groupText) *allocatedWire {
	w := &allocatedWire{TaskLifecycles: map[string]raw{}, Tasks: map[string]taskAllocatedWire{}}
	if g == nil {
		return w
	}
	if g.EphemeralDisk != nil {
		w.Shared.DiskMB = g.EphemeralDisk.SizeMB
	}
	for _, t := range g.Tasks {
		var x taskAllocatedWire
		x.Cpu.CpuShares = t.Resources.CPU
		x.Memory.MemoryMB, x.Memory.MemoryMaxMB = t.Resources.MemoryMB, t.Resources.MemoryMaxMB
		for _, d := range a.Devices {
			if d.Task == t.Name {
				x.Devices = append(x.Devices, deviceWire{d.IDs, d.Model, d.Type, d.Vendor})
			}
		}
		w.Tasks[t.Name], w.TaskLifecycles[t.Name] = x, nil
	}
	return w
}

type transitionWire struct {
	ForceReschedule         *bool
	Migrate                 *bool
	MigrateDisablePlacement *bool
	NoShutdownDelay         *bool
	Reschedule              *bool
}

// allocStub is an allocation as the lists show it.
type allocStub struct {
	AllocatedResources    *allocatedWire `json:",omitempty"`
	ClientDescription     string
	ClientStatus          string
	CreateIndex           uint64
	CreateTime            int64
	DeploymentStatus      raw
	DesiredDescription    string
	DesiredStatus         string
	DesiredTransition     transitionWire
	EvalID                string
	FollowupEvalID        string
	ID                    string
	JobID                 string
	JobType               string
	JobVersion            uint64
	ModifyIndex           uint64
	ModifyTime            int64
	Name                  string
	Namespace             string
	NextAllocation        string
	NodeID                string
	NodeName              string
	PreemptedAllocations  raw
	PreemptedByAllocation string
	RescheduleTracker     raw
	TaskGroup             string
	TaskStates            map[string]taskStateWire
}

func (c *Cluster) allocStub(a *alloc, resources, states bool) allocStub {
	j := c.textOf(a)
	s := allocStub{
		ClientDescription: a.ClientText, ClientStatus: a.Client, CreateIndex: a.CreateIndex, CreateTime: nanos(a.Created),
		DesiredDescription: a.DesiredText, DesiredStatus: a.Desired, EvalID: a.EvalID, ID: a.ID, JobID: a.JobID,
		JobType: j.Type, JobVersion: a.JobVersion, ModifyIndex: a.ModifyIndex, ModifyTime: nanos(a.Modified), Name: a.Name,
		Namespace: a.Namespace, NextAllocation: a.Next, NodeID: a.NodeID, NodeName: c.nodeName(a.NodeID), TaskGroup: a.Group,
	}
	if a.Migrate {
		yes := true
		s.DesiredTransition.Migrate = &yes
	}
	if resources {
		s.AllocatedResources = a.allocated(j.group(a.Group))
	}
	if states {
		s.TaskStates = c.taskStates(a, j)
	}
	return s
}

func (c *Cluster) nodeName(id string) string {
	if n := c.s.nodes[id]; n != nil {
		return n.Spec.Name
	}
	return ""
}

type allocStateWire struct {
	Field int
	Time  *string
	Value string
}

type networkStatusWire struct {
	Address       string
	AddressIPv6   string
	DNS           raw
	InterfaceName string
}

// allocWire is an allocation as /v1/allocation/{id} and the stream show it;
// what is empty is left out.
type allocWire struct {
	AllocModifyIndex   uint64
	AllocStates        []allocStateWire `json:",omitempty"`
	AllocatedResources *allocatedWire
	ClientDescription  string `json:",omitempty"`
	ClientStatus       string
	CreateIndex        uint64
	CreateTime         int64
	DesiredDescription string          `json:",omitempty"`
	DesiredStatus      string          `json:",omitempty"`
	DesiredTransition  *transitionWire `json:",omitempty"`
	EvalID             string
	ID                 string
	Job                *jobText `json:",omitempty"`
	JobID              string
	Metrics            *metric
	ModifyIndex        uint64
	ModifyTime         int64
	Name               string
	Namespace          string
	NetworkStatus      *networkStatusWire `json:",omitempty"`
	NextAllocation     string             `json:",omitempty"`
	NodeID             string
	NodeName           string
	PreviousAllocation string `json:",omitempty"`
	Resources          *resourcesText
	SharedResources    *resourcesText
	SigningKeyID       string
	TaskGroup          string
	TaskResources      map[string]resourcesText
	TaskStates         map[string]taskStateWire `json:",omitempty"`
}

// allocWire renders a; the stream leaves the job out.
func (c *Cluster) allocWire(a *alloc, withJob bool) allocWire {
	j := c.textOf(a)
	g := j.group(a.Group)
	w := allocWire{
		AllocModifyIndex: a.CreateIndex, AllocatedResources: a.allocated(g), ClientDescription: a.ClientText,
		ClientStatus: a.Client, CreateIndex: a.CreateIndex, CreateTime: nanos(a.Created), DesiredDescription: a.DesiredText,
		DesiredStatus: a.Desired, EvalID: a.EvalID, ID: a.ID, JobID: a.JobID, ModifyIndex: a.ModifyIndex,
		ModifyTime: nanos(a.Modified), Name: a.Name, Namespace: a.Namespace, NextAllocation: a.Next, NodeID: a.NodeID,
		NodeName: c.nodeName(a.NodeID), PreviousAllocation: a.Previous, SigningKeyID: "00000000-0000-0000-0000-000000000001",
		TaskGroup: a.Group, TaskStates: c.taskStates(a, j), TaskResources: map[string]resourcesText{},
		Resources: &resourcesText{}, SharedResources: &resourcesText{}, Metrics: c.metricOf(a, j),
	}
	if len(a.Events) > 0 {
		w.NetworkStatus = &networkStatusWire{}
	}
	if withJob {
		w.Job = j
	}
	for _, s := range a.States {
		w.AllocStates = append(w.AllocStates, allocStateWire{0, stamp(s.At), s.Value})
	}
	if a.Migrate {
		yes := true
		w.DesiredTransition = &transitionWire{Migrate: &yes}
	}
	if g == nil {
		return w
	}
	if g.EphemeralDisk != nil {
		w.SharedResources.DiskMB, w.Resources.DiskMB = g.EphemeralDisk.SizeMB, g.EphemeralDisk.SizeMB
	}
	for _, t := range g.Tasks {
		w.Resources.CPU += t.Resources.CPU
		w.Resources.MemoryMB += t.Resources.MemoryMB
		w.Resources.MemoryMaxMB += max(t.Resources.MemoryMB, t.Resources.MemoryMaxMB)
		w.TaskResources[t.Name] = resourcesText{CPU: t.Resources.CPU, MemoryMB: t.Resources.MemoryMB}
	}
	for _, d := range a.Devices {
		w.Resources.Devices = append(w.Resources.Devices,
			deviceRequest{Count: len(d.IDs), Name: d.Vendor + "/" + d.Type + "/" + d.Model})
	}
	return w
}

func (c *Cluster) metricOf(a *alloc, j *jobText) *metric {
	m := &metric{AllocationTime: 100_000, NodePool: j.NodePool, NodesAvailable: map[string]int{}, NodesEvaluated: 1, NodesInPool: 1}
	if n := c.s.nodes[a.NodeID]; n != nil {
		m.NodesAvailable[n.Spec.Datacenter] = 1
	}
	m.ScoreMetaData = []nodeScore{{a.NodeID, 0.5, map[string]float64{
		"binpack": 0.5, "job-anti-affinity": 0, "node-affinity": 0, "node-reschedule-penalty": 0}}}
	return m
}
