package embedded

import "gpupool/domain/pool"

// advance lets everything happen that is due until the business clock's
// present, in the order of its times, each with its own time.
func (c *Cluster) advance() {
	now := max(c.opt.Now(), c.s.Clock)
	for {
		at, do := c.nextDue()
		if do == nil || at > now {
			break
		}
		// What happened on a node while it was away is learned of later: its own
		// time stands in its events, the time of learning in what is stamped.
		c.s.Clock = max(c.s.Clock, at)
		c.at = c.s.Clock
		do()
		c.settle()
	}
	c.s.Clock, c.at = now, now
	if c.opt.Retain > 0 {
		c.collect(now - millis(c.opt.Retain))
	}
}

// nextDue is the earliest thing that will happen by itself, nil when nothing will.
func (c *Cluster) nextDue() (pool.Instant, func()) {
	at, first, do := pool.Never, uint64(0), func() {}
	do = nil
	consider := func(t pool.Instant, order uint64, f func()) {
		if t < at || t == at && do != nil && order < first {
			at, first, do = t, order, f
		}
	}
	for _, a := range c.s.live {
		n := c.s.nodes[a.NodeID]
		if n != nil && !n.connected() {
			if a.LostAt != 0 && a.Client == "unknown" {
				consider(a.LostAt, a.CreateIndex<<16|uint64(a.Slot), func() { c.lose(a, n) })
			}
			continue
		}
		if t, s := c.nextStep(a); s != stepNone {
			consider(t, a.CreateIndex<<16|uint64(a.Slot), func() { c.take(a, t, s) })
		}
	}
	for _, n := range c.s.nodes {
		if n.Drain == nil {
			continue
		}
		if c.empty(n) {
			consider(c.s.Clock, n.CreateIndex<<16, func() { c.finishDrain(n) })
		} else if !n.Drain.Forced && n.Drain.ForceAt != pool.Never {
			consider(n.Drain.ForceAt, n.CreateIndex<<16, func() { c.forceDrain(n) })
		}
	}
	return at, do
}

// empty tells whether nothing runs on the node any more.
func (c *Cluster) empty(n *node) bool {
	for _, a := range c.s.live {
		if a.NodeID == n.Spec.ID && !a.terminal() {
			return false
		}
	}
	return true
}

// migrate stops an allocation and asks for another one in its place.
func (c *Cluster) migrate(a *alloc, trigger string) *eval {
	c.bump("allocs")
	a.Migrate, a.Desired, a.DesiredText = true, "stop", "alloc is being migrated"
	c.beginStop(a, c.at)
	a.ModifyIndex, a.Modified = c.s.Index, c.at
	c.touch(itemKey{"alloc", a.ID})
	c.emitAlloc(a, "AllocationUpdateDesiredStatus")
	j := c.s.jobs[jobKey(a.Namespace, a.JobID)]
	if j == nil {
		c.flush()
		return nil
	}
	return c.evaluate(j, trigger, "AllocationUpdateDesiredStatus")
}

// collect forgets silently what ended before the given time: no event says so.
func (c *Cluster) collect(before pool.Instant) {
	for k, j := range c.s.jobs {
		if j.Status != "dead" {
			continue
		}
		ended := pool.Instant(0)
		for _, a := range c.s.byJob[k] {
			if a.Phase != over {
				ended = pool.Never
			} else {
				ended = max(ended, a.Finished)
			}
		}
		if ended <= before {
			c.s.forget(c, j.Namespace, j.ID)
			c.bump("jobs", "allocs", "evals")
		}
	}
}

// forget removes a job with all that belongs to it.
func (s *state) forget(c *Cluster, ns, id string) {
	k := jobKey(ns, id)
	for _, a := range s.byJob[k] {
		delete(s.allocs, a.ID)
		delete(s.live, a.ID)
		c.touch(itemKey{"alloc", a.ID})
	}
	delete(s.byJob, k)
	for i, e := range s.evals {
		if e.Namespace == ns && e.JobID == id {
			delete(s.evals, i)
			c.touch(itemKey{"eval", i})
		}
	}
	delete(s.blocked, k)
	for i, t := range s.texts {
		if t.Namespace == ns && t.ID == id {
			delete(s.texts, i)
			c.touch(itemKey{"text", i})
		}
	}
	delete(s.jobs, k)
	delete(s.runs, k)
	c.touch(itemKey{"job", k})
	c.touch(itemKey{"run", k})
}
