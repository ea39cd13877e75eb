package embedded

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// pageToken sorts as text the way (index, id) sorts as a pair.
func pageToken(index uint64, id string) string { return fmt.Sprintf("%020d.%s", index, id) }

func (c *Cluster) listNodes(q query) answer {
	var rows []nodeStub
	for _, n := range c.s.nodes {
		if strings.HasPrefix(n.Spec.ID, q.params.Get("prefix")) {
			rows = append(rows, c.nodeStub(n, q.flag("resources")))
		}
	}
	slices.SortFunc(rows, func(a, b nodeStub) int { return strings.Compare(a.ID, b.ID) })
	return listed(q, c.s.Last["nodes"], rows, func(s nodeStub) string { return s.ID })
}

func (c *Cluster) readNode(q query) answer {
	n := c.s.nodes[q.PathValue("id")]
	if n == nil {
		return notFound(c.s.Last["nodes"], "node")
	}
	return readOf(n.ModifyIndex, c.nodeWire(n))
}

// readNodePart serves /v1/node/{id}/allocations and /v1/node/pool/{name},
// which a router can't tell apart.
func (c *Cluster) readNodePart(q query) answer {
	switch {
	case q.PathValue("id") == "pool":
		p := c.s.pools[q.PathValue("part")]
		if p == nil {
			return notFound(c.s.Last["pools"], "node pool")
		}
		return readOf(p.ModifyIndex, p)
	case q.PathValue("part") == "allocations":
		return c.nodeAllocations(q)
	}
	return failed(http.StatusNotFound, "Invalid API path")
}

type nodeUpdated struct {
	EvalCreateIndex uint64
	EvalIDs         []string
	Index           uint64
	NodeModifyIndex uint64
}

func (c *Cluster) drainNode(q query) answer {
	n := c.s.nodes[q.PathValue("id")]
	if n == nil {
		return failed(http.StatusNotFound, "node not found")
	}
	var s struct {
		DrainSpec *struct {
			Deadline         int64
			IgnoreSystemJobs bool
		}
		MarkEligible bool
		Meta         map[string]string
	}
	if err := json.Unmarshal(q.body, &s); err != nil {
		return failed(http.StatusBadRequest, err.Error())
	}
	if s.DrainSpec == nil {
		c.endDrain(n, s.MarkEligible, s.Meta)
	} else {
		c.beginDrain(n, s.DrainSpec.Deadline, s.Meta)
	}
	return wrote(n.ModifyIndex, nodeUpdated{Index: n.ModifyIndex, NodeModifyIndex: n.ModifyIndex})
}

func (c *Cluster) eligibilityNode(q query) answer {
	n := c.s.nodes[q.PathValue("id")]
	if n == nil {
		return failed(http.StatusNotFound, "node not found")
	}
	var s struct{ Eligibility string }
	if err := json.Unmarshal(q.body, &s); err != nil {
		return failed(http.StatusBadRequest, err.Error())
	}
	if s.Eligibility != "eligible" && s.Eligibility != "ineligible" {
		return failed(http.StatusInternalServerError, fmt.Sprintf("invalid scheduling eligibility %q", s.Eligibility))
	}
	if err := c.setEligible(n, s.Eligibility == "eligible"); err != nil {
		return failed(http.StatusInternalServerError, err.Error())
	}
	return wrote(n.ModifyIndex, nodeUpdated{Index: n.ModifyIndex})
}

type nodePool struct {
	CreateIndex            uint64
	Description            string
	Hash                   *string
	Meta                   map[string]string
	ModifyIndex            uint64
	Name                   string
	NodeIdentityTTL        int64
	SchedulerConfiguration raw
}

func (c *Cluster) listPools(q query) answer {
	var rows []*nodePool
	for _, p := range c.s.pools {
		rows = append(rows, p)
	}
	slices.SortFunc(rows, func(a, b *nodePool) int { return strings.Compare(a.Name, b.Name) })
	return listed(q, c.s.Last["pools"], rows, func(p *nodePool) string { return p.Name })
}

func (c *Cluster) writePool(q query) answer {
	var s struct {
		Name, Description string
		Meta              map[string]string
	}
	if err := json.Unmarshal(q.body, &s); err != nil {
		return failed(http.StatusBadRequest, err.Error())
	}
	if s.Name == "" || s.Name == "all" || s.Name == "default" {
		return failed(http.StatusInternalServerError, fmt.Sprintf("invalid node pool: modifying built-in node pool %q is not allowed", s.Name))
	}
	i := c.bump("pools")
	p := c.s.pools[s.Name]
	if p == nil {
		p = &nodePool{Name: s.Name, CreateIndex: i, NodeIdentityTTL: day}
		c.s.pools[s.Name] = p
	}
	p.Description, p.Meta, p.ModifyIndex = s.Description, s.Meta, i
	c.touch(itemKey{"pool", s.Name})
	return wrote(i, nil)
}
