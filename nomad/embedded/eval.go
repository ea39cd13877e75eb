package embedded

import (
	"cmp"
	"maps"
	"slices"
)

// eval is one decision of the scheduler, in the wire's own form: what is empty
// is left out there too.
type eval struct {
	BlockedEval       string             `json:",omitempty"`
	ClassEligibility  map[string]bool    `json:",omitempty"`
	CreateIndex       uint64             `json:",omitempty"`
	CreateTime        int64              `json:",omitempty"`
	FailedTGAllocs    map[string]*metric `json:",omitempty"`
	ID                string             `json:",omitempty"`
	JobID             string             `json:",omitempty"`
	JobModifyIndex    uint64             `json:",omitempty"`
	ModifyIndex       uint64             `json:",omitempty"`
	ModifyTime        int64              `json:",omitempty"`
	Namespace         string             `json:",omitempty"`
	NodeID            string             `json:",omitempty"`
	PlanAnnotations   *annotations       `json:",omitempty"`
	PreviousEval      string             `json:",omitempty"`
	Priority          int                `json:",omitempty"`
	QueuedAllocations map[string]int     `json:",omitempty"`
	RelatedEvals      []evalStub         `json:",omitempty"`
	SnapshotIndex     uint64             `json:",omitempty"`
	Status            string             `json:",omitempty"`
	StatusDescription string             `json:",omitempty"`
	TriggeredBy       string             `json:",omitempty"`
	Type              string             `json:",omitempty"`
}

type evalStub struct {
	BlockedEval       string
	CreateIndex       uint64
	CreateTime        int64
	DeploymentID      string
	ID                string
	JobID             string
	ModifyIndex       uint64
	ModifyTime        int64
	Namespace         string
	NextEval          string
	NodeID            string
	PreviousEval      string
	Priority          int
	Status            string
	StatusDescription string
	TriggeredBy       string
	Type              string
	WaitUntil         *string
}

func (e *eval) stub() evalStub {
	return evalStub{BlockedEval: e.BlockedEval, CreateIndex: e.CreateIndex, CreateTime: e.CreateTime, ID: e.ID,
		JobID: e.JobID, ModifyIndex: e.ModifyIndex, ModifyTime: e.ModifyTime, Namespace: e.Namespace, NodeID: e.NodeID,
		PreviousEval: e.PreviousEval, Priority: e.Priority, Status: e.Status, StatusDescription: e.StatusDescription,
		TriggeredBy: e.TriggeredBy, Type: e.Type}
}

type annotations struct {
	DesiredTGUpdates map[string]*desiredUpdates
	PreemptedAllocs  raw
}

type desiredUpdates struct {
	Canary, DestructiveUpdate, Disconnect, Ignore, InPlaceUpdate, Migrate, Place int
	Preemptions, Reconnect, RescheduleLater, RescheduleNow, Stop                 int
}

// newEval makes a pending evaluation at the current index.
func (c *Cluster) newEval(ns, job, kind string, priority int, trigger string) *eval {
	i := c.s.Index
	e := &eval{ID: c.newID("eval"), Namespace: ns, JobID: job, Type: kind, Priority: priority, TriggeredBy: trigger,
		Status: "pending", CreateIndex: i, ModifyIndex: i, JobModifyIndex: i, CreateTime: nanos(c.at), ModifyTime: nanos(c.at)}
	c.s.evals[e.ID] = e
	c.s.Last["evals"] = i
	c.touch(itemKey{"eval", e.ID})
	return e
}

// evaluate lets the scheduler look at a job, because of trigger, after a
// change at the current index.
func (c *Cluster) evaluate(j *jobText, trigger, event string) *eval {
	e := c.newEval(j.Namespace, j.ID, j.Type, j.Priority, trigger)
	e.JobModifyIndex = j.JobModifyIndex
	c.emitEval(e, event)
	c.flush()
	c.process(e, j)
	return e
}

// process works a pending evaluation off: it stops, updates and places, and
// leaves a blocked evaluation for what has no room.
func (c *Cluster) process(e *eval, j *jobText) {
	e.SnapshotIndex = c.s.Index
	if b := c.s.blocked[jobKey(j.Namespace, j.ID)]; b != nil && b != e {
		c.closeEval(b, "cancelled", "cancelled after more recent eval was processed")
	}
	p := c.plan(j)
	c.apply(p, e)
	e.PlanAnnotations = &annotations{DesiredTGUpdates: p.updates}
	e.QueuedAllocations = p.queued
	if len(p.failed) > 0 {
		e.FailedTGAllocs = p.failed
		c.bump("evals")
		b := c.newEval(j.Namespace, j.ID, j.Type, j.Priority, "queued-allocs")
		b.Status, b.StatusDescription = "blocked", "created to place remaining allocations"
		b.PreviousEval, b.FailedTGAllocs, b.SnapshotIndex = e.ID, p.failed, e.SnapshotIndex
		b.JobModifyIndex = j.JobModifyIndex
		b.ClassEligibility = map[string]bool{}
		for _, n := range c.s.nodes {
			b.ClassEligibility[n.class()] = true
		}
		c.s.blocked[jobKey(j.Namespace, j.ID)] = b
		c.emitEval(b, "EvaluationUpdated")
		c.flush()
		e.BlockedEval = b.ID
	}
	c.closeEval(e, "complete", "")
	c.jobStatus(j.Namespace, j.ID)
	c.flush()
}

func (c *Cluster) closeEval(e *eval, status, why string) {
	e.ModifyIndex, e.ModifyTime = c.bump("evals"), nanos(c.at)
	e.Status, e.StatusDescription = status, why
	if k := jobKey(e.Namespace, e.JobID); c.s.blocked[k] == e {
		delete(c.s.blocked, k)
	}
	c.touch(itemKey{"eval", e.ID})
	c.emitEval(e, "EvaluationUpdated")
	c.flush()
}

func (c *Cluster) deviceFreed() { c.freed = true }

// settle tries again what waits, oldest first, as long as something came free.
// There is no fairness: whatever fits is placed, past a bigger one that waits.
func (c *Cluster) settle() {
	for c.freed {
		c.freed = false
		waiting := slices.SortedFunc(maps.Values(c.s.blocked), func(a, b *eval) int {
			return cmp.Or(cmp.Compare(a.CreateIndex, b.CreateIndex), cmp.Compare(a.ID, b.ID))
		})
		for _, e := range waiting {
			j := c.s.jobs[jobKey(e.Namespace, e.JobID)]
			if j == nil || j.Stop {
				c.closeEval(e, "cancelled", "job deregistered")
				continue
			}
			if p := c.plan(j); len(p.place) == 0 {
				continue
			}
			c.bump("evals")
			delete(c.s.blocked, jobKey(e.Namespace, e.JobID))
			e.Status, e.ModifyIndex, e.ModifyTime = "pending", c.s.Index, nanos(c.at)
			c.emitEval(e, "EvaluationUpdated")
			c.flush()
			c.process(e, j)
		}
	}
}
