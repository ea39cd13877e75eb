package embedded

import (
	"fmt"
	"time"

	"gpupool/domain/pool"
)

// nodeDown cuts a machine off. What runs there goes on unseen: where the job
// asks for it the allocation is unknown for a while, else it is lost at once.
func (c *Cluster) nodeDown(n *node) {
	if !n.connected() {
		return
	}
	patient := false
	var mine []*alloc
	for _, a := range c.s.byNode(n.Spec.ID) {
		mine = append(mine, a)
		if d := c.disconnect(a); d != nil && d.LostAfter != nil {
			patient = true
		}
	}
	c.bump("nodes")
	n.Status, n.StatusAt = "down", c.at
	if patient {
		n.Status = "disconnected"
	}
	n.note(c.s.Index, c.at, "Cluster", "Node heartbeat missed")
	c.nodeChanged(n, "NodeRegistration")
	for _, a := range mine {
		d := c.disconnect(a)
		if d == nil || d.LostAfter == nil {
			c.lose(a, n)
			continue
		}
		a.Client, a.ClientText = "unknown", "alloc is unknown since its node is disconnected"
		a.LostAt = c.at + pool.Instant(*d.LostAfter/1e6)
		a.States = append(a.States, allocState{c.at, "unknown"})
		c.allocChanged(a, "AllocationUpdated")
		if d.Replace == nil || *d.Replace {
			c.reevaluate(a, "max-disconnect-timeout")
		}
	}
}

func (c *Cluster) disconnect(a *alloc) *disconnectText {
	if g := c.textOf(a).group(a.Group); g != nil {
		return g.Disconnect
	}
	return nil
}

// lose gives an allocation up. It is not final: its node may come back.
func (c *Cluster) lose(a *alloc, n *node) {
	g := c.textOf(a).group(a.Group)
	a.Client, a.ClientText, a.LostAt = "lost", "alloc is lost since its node is down", 0
	keep := g != nil && (g.PreventRescheduleOnLost || g.Disconnect != nil && g.Disconnect.Replace != nil && !*g.Disconnect.Replace)
	if !keep {
		a.Desired, a.DesiredText = "stop", "alloc is lost since its node is down"
	}
	if n.Status == "disconnected" && c.noneUnknown(n) {
		n.Status = "down"
		c.touch(itemKey{"node", n.Spec.ID})
	}
	c.allocChanged(a, "AllocationUpdated")
	if !keep {
		c.reevaluate(a, "node-update")
	}
}

func (c *Cluster) reevaluate(a *alloc, trigger string) {
	if j := c.s.jobs[jobKey(a.Namespace, a.JobID)]; j != nil && j.CreateIndex == a.JobCreate {
		c.bump("evals")
		c.evaluate(j, trigger, "EvaluationUpdated")
	}
}

func (c *Cluster) noneUnknown(n *node) bool {
	for _, a := range c.s.byNode(n.Spec.ID) {
		if a.Client == "unknown" {
			return false
		}
	}
	return true
}

// nodeUp brings a machine back. Its client reports what it did meanwhile,
// with the times at which it happened, then hears of what it has to stop.
func (c *Cluster) nodeUp(n *node) {
	if n.connected() {
		return
	}
	c.bump("nodes")
	n.Status, n.StatusAt = "ready", c.at
	n.note(c.s.Index, c.at, "Cluster", "Node reregistered by heartbeat")
	c.nodeChanged(n, "NodeRegistration")
	for _, a := range c.s.byNode(n.Spec.ID) {
		if a.Client == "unknown" {
			a.States = append(a.States, allocState{c.at, "reconnected"})
		}
		a.LostAt = 0
		a.Client, a.ClientText = "pending", "No tasks have started"
		if a.Phase == running {
			a.Client, a.ClientText = "running", "Tasks are running"
		}
		c.allocChanged(a, "AllocationUpdated")
	}
	c.advance()
	for _, a := range c.s.byNode(n.Spec.ID) {
		if a.Desired == "stop" {
			c.beginStop(a, c.at)
			c.allocChanged(a, "AllocationUpdated")
		}
	}
	c.freed = true
}

// byNode lists what lives on a node, in the order of its making.
func (s *state) byNode(id string) []*alloc {
	var out []*alloc
	for _, a := range s.live {
		if a.NodeID == id {
			out = append(out, a)
		}
	}
	sortAllocs(out)
	return out
}

// beginDrain takes a node out of service: new work goes elsewhere at once, what
// runs has until the deadline.
func (c *Cluster) beginDrain(n *node, deadline int64, meta map[string]string) {
	c.bump("nodes")
	n.Eligible = false
	n.Drain = &drain{Started: c.at, Deadline: deadline, ForceAt: pool.Never}
	switch {
	case deadline < 0:
		n.Drain.ForceAt = c.at
	case deadline > 0:
		n.Drain.ForceAt = c.at.Add(time.Duration(deadline))
	}
	n.LastDrain = &lastDrain{Started: c.at, Updated: c.at, Status: "draining", Meta: meta}
	n.note(c.s.Index, c.at, "Drain", "Node drain strategy set")
	c.nodeChanged(n, "NodeDrain")
	c.advance() // an empty node is drained already
}

func (c *Cluster) endDrain(n *node, eligible bool, meta map[string]string) {
	c.bump("nodes")
	if n.Drain != nil {
		n.LastDrain.Status, n.LastDrain.Updated = "canceled", c.at
		if meta != nil {
			n.LastDrain.Meta = meta
		}
		n.note(c.s.Index, c.at, "Drain", "Node drain strategy unset")
	}
	n.Drain = nil
	if eligible {
		n.Eligible, c.freed = true, true
	}
	c.nodeChanged(n, "NodeDrain")
}

func (c *Cluster) forceDrain(n *node) {
	n.Drain.Forced = true
	c.touch(itemKey{"node", n.Spec.ID})
	for _, a := range c.s.byNode(n.Spec.ID) {
		if a.Desired == "run" {
			c.migrate(a, "node-drain")
		}
	}
}

func (c *Cluster) finishDrain(n *node) {
	c.bump("nodes")
	n.Drain = nil
	n.LastDrain.Status, n.LastDrain.Updated = "complete", c.at
	n.note(c.s.Index, c.at, "Drain", "Node drain complete")
	c.nodeChanged(n, "NodeDrain")
}

func (c *Cluster) setEligible(n *node, eligible bool) error {
	if eligible && n.Drain != nil {
		return fmt.Errorf("can not set node's scheduling eligibility to eligible while it is draining")
	}
	c.bump("nodes")
	word := "ineligible"
	if eligible {
		word, c.freed = "eligible", true
	}
	n.Eligible = eligible
	n.note(c.s.Index, c.at, "Cluster", "Node marked as "+word+" for scheduling")
	c.nodeChanged(n, "NodeEligibility")
	return nil
}
