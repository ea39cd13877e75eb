package embedded

import (
	"cmp"
	"maps"
	"path"
	"slices"
	"strings"
)

// metric tells how the scheduler looked for room.
type metric struct {
	AllocationTime     int64
	ClassExhausted     map[string]int
	ClassFiltered      map[string]int
	CoalescedFailures  int
	ConstraintFiltered map[string]int
	DimensionExhausted map[string]int
	NodePool           string
	NodesAvailable     map[string]int
	NodesEvaluated     int
	NodesExhausted     int
	NodesFiltered      int
	NodesInPool        int
	QuotaExhausted     []string
	ResourcesExhausted map[string]resourcesText
	ScoreMetaData      []nodeScore
	Scores             map[string]float64
}

type nodeScore struct {
	NodeID    string
	NormScore float64
	Scores    map[string]float64
}

func (m *metric) filter(why string) {
	m.NodesFiltered++
	if m.ConstraintFiltered == nil {
		m.ConstraintFiltered = map[string]int{}
	}
	m.ConstraintFiltered[why]++
}

func (m *metric) exhaust(dimension string, g *groupText) {
	m.NodesExhausted++
	if m.DimensionExhausted == nil {
		m.DimensionExhausted = map[string]int{}
	}
	m.DimensionExhausted[dimension]++
	m.ResourcesExhausted = map[string]resourcesText{}
	for _, t := range g.Tasks {
		m.ResourcesExhausted[t.Name] = resourcesText{}
	}
}

// The words by which a portal tells "no such GPU" from "busy".
const (
	missingDevices = "missing devices"
	noDevicesMatch = "devices: no devices match request"
)

// choose finds the node for one member of a group: among those that may take
// it, the one that is fullest afterwards. Without one it returns only the metric.
func (c *Cluster) choose(j *jobText, g *groupText, u *usage) (*node, []heldDevices, *metric) {
	m := &metric{AllocationTime: 100_000, NodePool: j.NodePool, NodesAvailable: map[string]int{}}
	var best *node
	var held []heldDevices
	bestFree, bestScore := 0, 0.0
	for _, n := range slices.SortedFunc(maps.Values(c.s.nodes), func(a, b *node) int { return cmp.Compare(a.Spec.Name, b.Spec.Name) }) {
		if !n.connected() || !n.Eligible || n.Drain != nil {
			continue
		}
		if j.NodePool != "all" && n.Spec.Pool != j.NodePool {
			continue
		}
		m.NodesInPool++
		if !anyMatch(j.Datacenters, n.Spec.Datacenter) {
			continue
		}
		m.NodesAvailable[n.Spec.Datacenter]++
		m.NodesEvaluated++
		if why := unfit(j, g, n, u); why != "" {
			m.filter(why)
			continue
		}
		devices, free, ok := pickDevices(g, n, u)
		if !ok {
			m.exhaust(noDevicesMatch, g)
			continue
		}
		if d := overfull(g, n, u); d != "" {
			m.exhaust(d, g)
			continue
		}
		score := float64(u.cpu[n.Spec.ID]) / float64(n.Spec.CPU)
		m.ScoreMetaData = append(m.ScoreMetaData, nodeScore{n.Spec.ID, score,
			map[string]float64{"binpack": score, "job-anti-affinity": 0, "node-affinity": 0, "node-reschedule-penalty": 0}})
		if best == nil || free < bestFree || free == bestFree && score > bestScore {
			best, held, bestFree, bestScore = n, devices, free, score
		}
	}
	return best, held, m
}

// unfit tells why the node can never take the group as things are; empty: it may.
func unfit(j *jobText, g *groupText, n *node, u *usage) string {
	for _, t := range g.Tasks {
		if !slices.Contains(n.Spec.Drivers, t.Driver) {
			return "missing drivers"
		}
	}
	all := append(append([]constraint(nil), j.Constraints...), g.Constraints...)
	for _, t := range g.Tasks {
		all = append(all, t.Constraints...)
	}
	for i, k := range all {
		if k.Operand == "distinct_hosts" {
			key := jobKey(j.Namespace, j.ID)
			if i >= len(j.Constraints) {
				key += "\x00" + g.Name
			}
			if k.RTarget != "false" && u.hosts[key][n.Spec.ID] {
				return "distinct_hosts"
			}
			continue
		}
		if !holds(k, n.target) {
			return strings.Join([]string{k.LTarget, k.Operand, k.RTarget}, " ")
		}
	}
	for _, t := range g.Tasks {
		for _, q := range t.Resources.Devices {
			if !slices.ContainsFunc(n.Spec.Devices, func(d DeviceSpec) bool {
				return d.matches(q) && len(d.healthy(n)) >= q.Count
			}) {
				return missingDevices
			}
		}
	}
	return ""
}

// pickDevices meets every request from one device group of the node. free is
// how many devices of the groups used stay free.
func pickDevices(g *groupText, n *node, u *usage) (held []heldDevices, free int, ok bool) {
	mine := map[string]bool{}
	for _, t := range g.Tasks {
		for _, q := range t.Resources.Devices {
			found := false
			for _, d := range n.Spec.Devices {
				if !d.matches(q) {
					continue
				}
				var ids []string
				for _, id := range d.healthy(n) {
					if !u.device[id] && !mine[id] {
						ids = append(ids, id)
					}
				}
				if len(ids) < q.Count {
					continue
				}
				free += len(ids) - q.Count
				ids = ids[:q.Count:q.Count]
				for _, id := range ids {
					mine[id] = true
				}
				held = append(held, heldDevices{t.Name, d.Vendor, d.Type, d.Model, ids})
				found = true
				break
			}
			if !found {
				return nil, 0, false
			}
		}
	}
	return held, free, true
}

// overfull names the plain resource that the group has no room for.
func overfull(g *groupText, n *node, u *usage) string {
	cpu, memory := u.cpu[n.Spec.ID], u.memory[n.Spec.ID]
	for _, t := range g.Tasks {
		cpu += t.Resources.CPU
		memory += t.Resources.MemoryMB
	}
	switch {
	case cpu > n.Spec.CPU:
		return "cpu"
	case memory > n.Spec.MemoryMB:
		return "memory"
	case g.EphemeralDisk != nil && u.disk[n.Spec.ID]+g.EphemeralDisk.SizeMB > n.Spec.DiskMB:
		return "disk"
	}
	return ""
}

func (d DeviceSpec) healthy(n *node) []string {
	var ids []string
	for _, id := range d.IDs {
		if n.usable(id) {
			ids = append(ids, id)
		}
	}
	return ids
}

// matches a request named type, vendor/type or vendor/type/model, with constraints.
func (d DeviceSpec) matches(q deviceRequest) bool {
	part := strings.SplitN(q.Name, "/", 3)
	switch len(part) {
	case 1:
		if part[0] != d.Type {
			return false
		}
	case 2:
		if part[0] != d.Vendor || part[1] != d.Type {
			return false
		}
	default:
		if part[0] != d.Vendor || part[1] != d.Type || part[2] != d.Model {
			return false
		}
	}
	for _, k := range q.Constraints {
		if !holds(k, d.target) {
			return false
		}
	}
	return true
}

func anyMatch(patterns []string, s string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { ok, _ := path.Match(p, s); return ok })
}
