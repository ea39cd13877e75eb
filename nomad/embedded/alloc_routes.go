package embedded

import (
	"cmp"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
)

func (c *Cluster) allocsWhere(q query, keep func(*alloc) bool) []allocStub {
	var as []*alloc
	for _, a := range c.s.allocs {
		if keep(a) {
			as = append(as, a)
		}
	}
	sortAllocs(as)
	states := q.params.Get("task_states") != "false"
	rows := make([]allocStub, len(as))
	for i, a := range as {
		rows[i] = c.allocStub(a, q.flag("resources"), states)
	}
	return rows
}

func (c *Cluster) listAllocations(q query) answer {
	rows := c.allocsWhere(q, func(a *alloc) bool {
		return q.sees(a.Namespace) && strings.HasPrefix(a.ID, q.params.Get("prefix"))
	})
	return listed(q, c.s.Last["allocs"], rows, func(s allocStub) string { return pageToken(s.CreateIndex, s.ID) })
}

func (c *Cluster) readAllocation(q query) answer {
	a := c.s.allocs[q.PathValue("id")]
	if a == nil {
		return notFound(c.s.Last["allocs"], "alloc")
	}
	return readOf(a.ModifyIndex, c.allocWire(a, true))
}

func (c *Cluster) evaluationAllocations(q query) answer {
	return readOf(c.s.Last["allocs"], c.allocsWhere(q, func(a *alloc) bool { return a.EvalID == q.PathValue("id") }))
}

func (c *Cluster) nodeAllocations(q query) answer {
	rows := []allocWire{}
	for _, a := range c.s.allocs {
		if a.NodeID == q.PathValue("id") {
			rows = append(rows, c.allocWire(a, true))
		}
	}
	slices.SortFunc(rows, func(a, b allocWire) int {
		return cmp.Or(cmp.Compare(a.CreateIndex, b.CreateIndex), strings.Compare(a.Name, b.Name))
	})
	return readOf(c.s.Last["allocs"], rows)
}

// stopAllocation stops one allocation and lets the scheduler replace it.
func (c *Cluster) stopAllocation(q query) answer {
	a := c.s.allocs[q.PathValue("id")]
	if a == nil {
		return failed(http.StatusNotFound, "alloc not found")
	}
	id := ""
	if !a.terminal() && a.Desired == "run" {
		if e := c.migrate(a, "alloc-stop"); e != nil {
			id = e.ID
		}
	}
	return wrote(c.s.Index, struct {
		EvalID string
		Index  uint64
	}{id, c.s.Index})
}

// signalAllocation reaches the task, if it runs and its node is there.
func (c *Cluster) signalAllocation(q query) answer {
	var s struct{ Signal, Task string }
	if err := json.Unmarshal(q.body, &s); err != nil {
		return failed(http.StatusBadRequest, err.Error())
	}
	a := c.s.allocs[q.PathValue("id")]
	if a == nil {
		return failed(http.StatusNotFound, "Unknown allocation \""+q.PathValue("id")+"\"")
	}
	if n := c.s.nodes[a.NodeID]; n == nil || !n.connected() {
		return failed(http.StatusNotFound, "No path to node")
	}
	if a.Phase != running {
		return failed(http.StatusInternalServerError, "Failed to signal allocation: Task not running")
	}
	if s.Task != "" {
		if g := c.textOf(a).group(a.Group); g == nil || !slices.ContainsFunc(g.Tasks, func(t *taskText) bool { return t.Name == s.Task }) {
			return failed(http.StatusInternalServerError, "Failed to signal allocation: task \""+s.Task+"\" not found")
		}
	}
	name := cmp.Or(s.Signal, "SIGKILL")
	a.Signals = append(a.Signals, sentSignal{c.at, name})
	a.event(signaling(c.at, name))
	if name == "SIGKILL" {
		a.closeTry(c.at, "killed")
		a.event(terminated(c.at, 137, 9, false), notRestarting(c.at, c.restartPolicy(a)))
		a.Phase, a.Client, a.ClientText, a.Failed, a.Finished = over, "failed", "Failed tasks", true, c.at
		c.freed = true
	}
	c.allocChanged(a, "AllocationUpdated")
	return wrote(c.s.Index, struct{ Index uint64 }{c.s.Index})
}

func (c *Cluster) listEvaluations(q query) answer {
	var rows []*eval
	for _, e := range c.s.evals {
		if q.sees(e.Namespace) && (q.params.Get("job") == "" || e.JobID == q.params.Get("job")) &&
			(q.params.Get("status") == "" || e.Status == q.params.Get("status")) {
			rows = append(rows, e)
		}
	}
	slices.SortFunc(rows, func(a, b *eval) int {
		return strings.Compare(pageToken(a.CreateIndex, a.ID), pageToken(b.CreateIndex, b.ID))
	})
	return listed(q, c.s.Last["evals"], rows, func(e *eval) string { return pageToken(e.CreateIndex, e.ID) })
}

func (c *Cluster) readEvaluation(q query) answer {
	e := c.s.evals[q.PathValue("id")]
	if e == nil {
		return notFound(c.s.Last["evals"], "eval")
	}
	out := *e
	if q.flag("related") {
		for _, o := range c.s.evals {
			if o != e && (o.ID == e.BlockedEval || o.ID == e.PreviousEval || o.PreviousEval == e.ID || o.BlockedEval == e.ID) {
				out.RelatedEvals = append(out.RelatedEvals, o.stub())
			}
		}
		slices.SortFunc(out.RelatedEvals, func(a, b evalStub) int { return cmp.Compare(a.CreateIndex, b.CreateIndex) })
	}
	return readOf(e.ModifyIndex, &out)
}
