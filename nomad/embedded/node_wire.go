package embedded

import (
	"strconv"
	"time"

	"gpupool/domain/pool"
)

// stamp is an instant as the wire writes it; nil for none.
func stamp(i pool.Instant) *string {
	if i == 0 {
		return nil
	}
	s := i.Time().Format(time.RFC3339Nano)
	return &s
}

func (n *node) attributes(version string) map[string]string {
	m := map[string]string{
		"cpu.arch": "amd64", "kernel.name": "linux", "kernel.arch": "x86_64", "os.name": "debian", "os.version": "12.11",
		"cpu.totalcompute": strconv.Itoa(n.Spec.CPU), "cpu.usablecompute": strconv.Itoa(n.Spec.CPU),
		"cpu.numcores":       strconv.Itoa(max(1, n.Spec.CPU/2000)),
		"memory.totalbytes":  strconv.FormatInt(int64(n.Spec.MemoryMB)<<20, 10),
		"unique.hostname":    n.Spec.Name,
		"os.signals":         "SIGINT,SIGTERM,SIGKILL,SIGHUP,SIGQUIT,SIGUSR1,SIGUSR2",
		"nomad.version":      version,
		"os.cgroups.version": "2",
	}
	for _, d := range n.Spec.Drivers {
		m["driver."+d] = "1"
	}
	return m
}

// class is the same for nodes that look the same to the scheduler.
func (n *node) class() string {
	words := []string{n.Spec.Datacenter, n.Spec.Pool, n.Spec.Class}
	for _, d := range n.Spec.Devices {
		words = append(words, d.Model, strconv.Itoa(len(d.IDs)))
	}
	return "v1:" + strconv.FormatInt(draw(1<<62, words...), 10)
}

type driverWire struct {
	Attributes        map[string]string
	Detected          bool
	HealthDescription string
	Healthy           bool
	UpdateTime        *string
}

func (n *node) drivers() map[string]driverWire {
	m := map[string]driverWire{}
	for _, d := range n.Spec.Drivers {
		m[d] = driverWire{map[string]string{"driver." + d: "true"}, true, "Healthy", true, stamp(n.StatusAt)}
	}
	return m
}

type deviceGroupWire struct {
	Attributes map[string]attribute
	Instances  []instanceWire
	Name       string
	Type       string
	Vendor     string
}

type instanceWire struct {
	HealthDescription string
	Healthy           bool
	ID                string
	Locality          *localityWire
}

type localityWire struct{ PciBusID string }

// devices lists what the plugin reports: a device that vanished isn't there, a
// sick one is, with its reason.
func (n *node) devices() []deviceGroupWire {
	var out []deviceGroupWire
	for _, d := range n.Spec.Devices {
		g := deviceGroupWire{Attributes: d.attributes(), Name: d.Model, Type: d.Type, Vendor: d.Vendor}
		for i, id := range d.IDs {
			if n.Gone[id] {
				continue
			}
			why := n.Sick[id]
			bus := strconv.FormatInt(int64(0x100+7+8*i), 16)[1:]
			g.Instances = append(g.Instances, instanceWire{why, why == "", id, &localityWire{"00000000:" + bus + ":00.0"}})
		}
		if len(g.Instances) > 0 {
			out = append(out, g)
		}
	}
	return out
}

type cpuWire struct {
	CpuShares          int
	ReservableCpuCores []int
	TotalCpuCores      int
}

type nodeResourcesWire struct {
	Cpu            cpuWire
	Devices        []deviceGroupWire
	Disk           struct{ DiskMB int }
	MaxDynamicPort int
	Memory         struct{ MemoryMB int }
	MinDynamicPort int
	Networks       []map[string]any
	NodeNetworks   []map[string]any
	Processors     struct{ Topology topologyWire }
}

type topologyWire struct {
	Cores                  []coreWire
	Distances              raw
	Nodes                  []int
	OverrideTotalCompute   int
	OverrideWitholdCompute int
}

type coreWire struct {
	BaseSpeed  int
	Disable    bool
	Grade      bool
	GuessSpeed int
	ID         int
	MaxSpeed   int
	NodeID     int
	SocketID   int
}

func (n *node) resources() *nodeResourcesWire {
	r := &nodeResourcesWire{Devices: n.devices(), MinDynamicPort: 20000, MaxDynamicPort: 32000}
	r.Cpu.CpuShares, r.Cpu.TotalCpuCores, r.Cpu.ReservableCpuCores = n.Spec.CPU, 2, []int{0, 1}
	r.Disk.DiskMB, r.Memory.MemoryMB = n.Spec.DiskMB, n.Spec.MemoryMB
	r.Networks = []map[string]any{{"Mode": "bridge"},
		{"CIDR": "127.0.0.1/32", "Device": "lo", "IP": "127.0.0.1", "MBits": 1000, "Mode": "host"}}
	r.NodeNetworks = []map[string]any{{"Addresses": nil, "Device": "", "MacAddress": "", "Mode": "bridge", "Speed": 0}}
	r.Processors.Topology.Nodes = []int{0}
	for i := range 2 {
		r.Processors.Topology.Cores = append(r.Processors.Topology.Cores, coreWire{BaseSpeed: n.Spec.CPU / 2, Grade: true, ID: i})
	}
	return r
}

type reservedWire struct {
	Cpu struct {
		CpuShares        int
		ReservedCpuCores []int
	}
	Disk     struct{ DiskMB int }
	Memory   struct{ MemoryMB int }
	Networks struct{ ReservedHostPorts string }
}

type lastDrainWire struct {
	AccessorID string
	Meta       map[string]string
	StartedAt  *string
	Status     string
	UpdatedAt  *string
}

func (d *lastDrain) wire() *lastDrainWire {
	if d == nil {
		return nil
	}
	return &lastDrainWire{"token:acls-disabled", d.Meta, stamp(d.Started), d.Status, stamp(d.Updated)}
}

type drainWire struct {
	Deadline         int64
	ForceDeadline    *string
	IgnoreSystemJobs bool
	StartedAt        *string
}

func (d *drain) wire() *drainWire {
	if d == nil {
		return nil
	}
	w := &drainWire{Deadline: d.Deadline, StartedAt: stamp(d.Started)}
	if d.ForceAt == pool.Never {
		never := "0001-01-01T00:00:00Z"
		w.ForceDeadline = &never
	} else {
		w.ForceDeadline = stamp(d.ForceAt)
	}
	return w
}

type nodeEventWire struct {
	CreateIndex uint64
	Details     map[string]string
	Message     string
	Subsystem   string
	Timestamp   *string
}

// nowhere is the address that nodes declare: nobody listens on it, so a client
// that follows it sends its token to nobody.
const nowhere = "127.0.0.1:9"

// nodeWire is a node as /v1/node/{id} and the stream show it.
type nodeWire struct {
	Attributes               map[string]string
	CSIControllerPlugins     map[string]any
	CSINodePlugins           map[string]any
	CgroupParent             string
	ComputedClass            string
	CreateIndex              uint64
	Datacenter               string
	Drain                    bool
	DrainStrategy            *drainWire
	Drivers                  map[string]driverWire
	Events                   []nodeEventWire
	GCVolumesOnNodeGC        bool
	HTTPAddr                 string
	HostNetworks             raw
	HostVolumes              map[string]any
	ID                       string
	IdentitySigningKeyID     string
	LastAllocUpdateIndex     uint64
	LastDrain                *lastDrainWire
	LastMissedHeartbeatIndex uint64
	Links                    map[string]string
	Meta                     map[string]string
	ModifyIndex              uint64
	Name                     string
	NodeClass                string
	NodeMaxAllocs            int
	NodePool                 string
	NodeResources            *nodeResourcesWire
	ReservedResources        *reservedWire
	SchedulingEligibility    string
	SecretID                 string
	Status                   string
	StatusDescription        string
	StatusUpdatedAt          int64
	TLSEnabled               bool
}

func (n *node) eligibility() string {
	if n.Eligible {
		return "eligible"
	}
	return "ineligible"
}

func (c *Cluster) nodeWire(n *node) nodeWire {
	w := nodeWire{
		Attributes: n.attributes(c.opt.Version), CSIControllerPlugins: map[string]any{}, CSINodePlugins: map[string]any{},
		CgroupParent: "nomad.slice", ComputedClass: n.class(), CreateIndex: n.CreateIndex, Datacenter: n.Spec.Datacenter,
		Drain: n.Drain != nil, DrainStrategy: n.Drain.wire(), Drivers: n.drivers(), HTTPAddr: nowhere,
		HostVolumes: map[string]any{}, ID: n.Spec.ID, IdentitySigningKeyID: uuidOf("key", n.Spec.ID),
		LastAllocUpdateIndex: n.LastAllocUpdate, LastDrain: n.LastDrain.wire(), Links: map[string]string{},
		Meta: n.Spec.Meta, ModifyIndex: n.ModifyIndex, Name: n.Spec.Name, NodeClass: n.Spec.Class, NodePool: n.Spec.Pool,
		NodeResources: n.resources(), ReservedResources: &reservedWire{}, SchedulingEligibility: n.eligibility(),
		Status: n.Status, StatusUpdatedAt: int64(n.StatusAt) / 1000,
	}
	for _, e := range n.Events {
		w.Events = append(w.Events, nodeEventWire{e.Index, e.Details, e.Message, e.Subsystem, stamp(e.At)})
	}
	return w
}

// nodeStub is a node as the list shows it; resources only when asked for.
type nodeStub struct {
	Address               string
	CreateIndex           uint64
	Datacenter            string
	Drain                 bool
	Drivers               map[string]driverWire
	HostVolumes           map[string]any
	ID                    string
	LastDrain             *lastDrainWire
	ModifyIndex           uint64
	Name                  string
	NodeClass             string
	NodePool              string
	NodeResources         *nodeResourcesWire `json:",omitempty"`
	ReservedResources     *reservedWire      `json:",omitempty"`
	SchedulingEligibility string
	Status                string
	StatusDescription     string
	Version               string
}

func (c *Cluster) nodeStub(n *node, resources bool) nodeStub {
	s := nodeStub{
		Address: "127.0.0.1", CreateIndex: n.CreateIndex, Datacenter: n.Spec.Datacenter, Drain: n.Drain != nil,
		Drivers: n.drivers(), HostVolumes: map[string]any{}, ID: n.Spec.ID, LastDrain: n.LastDrain.wire(),
		ModifyIndex: n.ModifyIndex, Name: n.Spec.Name, NodeClass: n.Spec.Class, NodePool: n.Spec.Pool,
		SchedulingEligibility: n.eligibility(), Status: n.Status, Version: c.opt.Version,
	}
	if resources {
		s.NodeResources, s.ReservedResources = n.resources(), &reservedWire{}
	}
	return s
}
