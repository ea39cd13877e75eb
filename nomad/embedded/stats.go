package embedded

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"gpupool/domain/pool"
)

// stat is one figure of a device; a figure that a device doesn't give is the
// text N/A.
type stat struct {
	Desc              string
	IntDenominatorVal *int64 `json:",omitempty"`
	IntNumeratorVal   *int64 `json:",omitempty"`
	StringVal         string `json:",omitempty"`
	Unit              string
}

type deviceGroupStats struct {
	InstanceStats map[string]deviceStats
	Name          string
	Type          string
	Vendor        string
}

type deviceStats struct {
	Stats struct {
		Attributes map[string]stat
		Nested     map[string]any
	}
	Summary   stat
	Timestamp *string
}

// statsOf the devices that keep wants, a function of their jobs and the time.
func (c *Cluster) statsOf(n *node, keep func(id string) bool) []deviceGroupStats {
	user := map[string]*alloc{}
	for _, a := range c.s.byNode(n.Spec.ID) {
		for _, id := range a.deviceIDs() {
			user[id] = a
		}
	}
	var out []deviceGroupStats
	for _, d := range n.Spec.Devices {
		g := deviceGroupStats{InstanceStats: map[string]deviceStats{}, Name: d.Model, Type: d.Type, Vendor: d.Vendor}
		for _, id := range d.IDs {
			if !n.Gone[id] && keep(id) {
				g.InstanceStats[id] = d.stats(id, user[id], c.at, n.ECC[id])
			}
		}
		if len(g.InstanceStats) > 0 {
			out = append(out, g)
		}
	}
	return out
}

// load is utilisation in percent and memory in MiB of a device at a time.
func (d DeviceSpec) load(id string, a *alloc, at pool.Instant) (util, mem int64) {
	if a == nil || a.Phase != running {
		return 0, 3
	}
	util = int64(a.Fate.Util)
	if util > 0 { // it breathes a little, every ten seconds
		util = min(100, max(1, util+draw(7, id, strconv.FormatInt(int64(at)/10_000, 10))-3))
	}
	mem = a.Fate.MemMiB
	if mem == 0 {
		mem = d.MemoryMiB/20 + d.MemoryMiB*int64(a.Fate.Util)/120
	}
	if a.Fate.OOM == "gpu" && a.Fate.MemMiB == 0 {
		lived := int64(at - a.Started)
		mem = min(d.MemoryMiB*99/100, d.MemoryMiB/2+d.MemoryMiB/2*lived/max(1, a.Fate.Length))
	}
	return util, min(mem, d.MemoryMiB)
}

func (d DeviceSpec) stats(id string, a *alloc, at pool.Instant, ecc int64) deviceStats {
	util, mem := d.load(id, a, at)
	mig := strings.HasPrefix(id, "MIG-")
	num := func(desc, unit string, v int64) stat {
		if mig {
			return stat{Desc: desc, StringVal: "N/A", Unit: unit}
		}
		return stat{Desc: desc, IntNumeratorVal: &v, Unit: unit}
	}
	ratio := func(desc, unit string, v, of int64) stat {
		s := num(desc, unit, v)
		if !mig {
			s.IntDenominatorVal = &of
		}
		return s
	}
	idle := d.PowerW / 7
	var s deviceStats
	s.Stats.Nested, s.Timestamp = map[string]any{}, stamp(at)
	s.Stats.Attributes = map[string]stat{
		"BAR1 buffer state":   ratio("UsedBAR1 / TotalBAR1", "MiB", 3, 131072),
		"Decoder utilization": num("Percent of time over the past sample period during which GPU Decoder was used", "%", 0),
		"Encoder utilization": num("Percent of time over the past sample period during which GPU Encoder was used", "%", 0),
		"ECC L1 errors":       num("Requested L1Cache error counter for the device", "#", 0),
		"ECC L2 errors":       num("Requested L2Cache error counter for the device", "#", 0),
		"ECC memory errors":   num("Requested memory error counter for the device", "#", ecc),
		"GPU utilization":     num("Percent of time over the past sample period during which one or more kernels were executing on the GPU.", "%", util),
		"Memory utilization":  num("Percentage of bandwidth used during the past sample period", "%", util*7/10),
		"Memory state":        ratio("UsedMemory / TotalMemory", "MiB", mem, d.MemoryMiB),
		"Power usage":         ratio("Power usage for this GPU in watts and its associated circuitry (e.g. memory) / Maximum GPU Power", "W", idle+(d.PowerW-idle)*util/110, d.PowerW),
		"Temperature":         num("Temperature of the Unit", "C", 31+util*38/100),
	}
	s.Summary = s.Stats.Attributes["Memory state"]
	return s
}

func (c *Cluster) clientStats(q query) answer {
	n := c.s.nodes[q.params.Get("node_id")]
	if n == nil {
		return failed(http.StatusNotFound, fmt.Sprintf("Unknown node %q", q.params.Get("node_id")))
	}
	if !n.connected() {
		return failed(http.StatusNotFound, "No path to node")
	}
	total := int64(n.Spec.MemoryMB) << 20
	return plain(map[string]any{
		"AllocDirStats": map[string]any{"Available": int64(n.Spec.DiskMB) << 20, "Device": "", "InodesUsedPercent": 4.2,
			"Mountpoint": "", "Size": int64(n.Spec.DiskMB) << 20, "Used": 0, "UsedPercent": 0.1},
		"CPU":              []map[string]any{{"CPU": "cpu0", "Idle": 97.5, "System": 1.0, "TotalPercent": 2.5, "TotalTicks": 52.0, "User": 1.5}},
		"CPUTicksConsumed": 104.5,
		"DeviceStats":      c.statsOf(n, func(string) bool { return true }),
		"DiskStats": []map[string]any{{"Available": int64(n.Spec.DiskMB) << 20, "Device": "/dev/vda", "InodesUsedPercent": 4.2,
			"Mountpoint": "/", "Size": int64(n.Spec.DiskMB) << 20, "Used": 0, "UsedPercent": 0.1}},
		"Memory":    map[string]any{"Available": total / 2, "Free": total / 4, "Total": total, "Used": total / 2},
		"Timestamp": nanos(c.at), "Uptime": int64(c.at-n.StatusAt) / 1000,
	})
}

type usageWire struct {
	CpuStats    map[string]any
	DeviceStats []deviceGroupStats
	MemoryStats map[string]any
}

func (c *Cluster) allocationStats(q query) answer {
	a := c.s.allocs[q.PathValue("id")]
	if a == nil {
		return failed(http.StatusNotFound, "Unknown allocation \""+q.PathValue("id")+"\"")
	}
	n := c.s.nodes[a.NodeID]
	if n == nil || !n.connected() {
		return failed(http.StatusNotFound, "No path to node")
	}
	if a.Phase == over {
		return failed(http.StatusNotFound, "Unknown allocation \""+a.ID+"\"")
	}
	mine := map[string]bool{}
	for _, id := range a.deviceIDs() {
		mine[id] = true
	}
	u := usageWire{DeviceStats: c.statsOf(n, func(id string) bool { return mine[id] }),
		CpuStats: map[string]any{"Measured": []string{"System Mode", "User Mode", "Percent"}, "Percent": 0.1, "SystemMode": 0.1,
			"ThrottledPeriods": 0, "ThrottledTime": 0, "TotalTicks": 0.1, "UserMode": 0.1},
		MemoryStats: map[string]any{"Cache": 0, "KernelMaxUsage": 0, "KernelUsage": 0, "MappedFile": 0, "MaxUsage": 0,
			"Measured": []string{"RSS", "Swap"}, "RSS": 1 << 20, "Swap": 0, "Usage": 0}}
	tasks := map[string]any{}
	if g := c.textOf(a).group(a.Group); g != nil {
		for _, t := range g.Tasks {
			tasks[t.Name] = map[string]any{"Pids": map[string]any{}, "ResourceUsage": u, "Timestamp": nanos(c.at)}
		}
	}
	return plain(map[string]any{"ResourceUsage": u, "Tasks": tasks, "Timestamp": nanos(c.at)})
}
