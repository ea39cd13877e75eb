package embedded

import "cmp"

// plan is what the scheduler wants to do for one job.
type plan struct {
	job     *jobText
	stop    []stopping
	update  []*alloc
	place   []placement
	failed  map[string]*metric
	queued  map[string]int
	updates map[string]*desiredUpdates
}

type stopping struct {
	a   *alloc
	why string
}

type placement struct {
	group    *groupText
	slot     int
	previous *alloc
	node     *node
	devices  []heldDevices
	metric   *metric
}

// plan compares what the job wants with what it has.
func (c *Cluster) plan(j *jobText) plan {
	p := plan{job: j, failed: map[string]*metric{}, queued: map[string]int{}, updates: map[string]*desiredUpdates{}}
	has := c.s.byJob[jobKey(j.Namespace, j.ID)]
	if j.Stop {
		for _, a := range has {
			if a.Desired == "run" && !a.terminal() {
				p.stop = append(p.stop, stopping{a, "alloc not needed due to job update"})
			}
		}
		for _, g := range j.TaskGroups {
			p.queued[g.Name] = 0
			p.updates[g.Name] = &desiredUpdates{Stop: len(p.stop)}
		}
		return p
	}
	u := c.usage()
	for _, g := range j.TaskGroups {
		c.planGroup(&p, g, has, u)
	}
	for _, a := range has { // groups that the job lost
		if j.group(a.Group) == nil && a.Desired == "run" && !a.terminal() {
			p.stop = append(p.stop, stopping{a, "alloc not needed due to job update"})
		}
	}
	return p
}

func (c *Cluster) planGroup(p *plan, g *groupText, has []*alloc, u *usage) {
	d := &desiredUpdates{}
	p.updates[g.Name], p.queued[g.Name] = d, 0
	since := c.s.runs[jobKey(p.job.Namespace, p.job.ID)]
	filled, last := map[int]bool{}, map[int]*alloc{}
	for _, a := range has {
		if a.Group != g.Name || a.JobCreate != p.job.CreateIndex {
			continue
		}
		switch {
		case a.Slot >= g.count() && a.Desired == "run" && !a.terminal():
			p.stop = append(p.stop, stopping{a, "alloc not needed due to job update"})
			d.Stop++
		case a.RunVersion < since: // the job asks for another run than this one
			if a.Desired == "run" && !a.terminal() {
				p.stop = append(p.stop, stopping{a, "alloc is being updated due to job update"})
				d.DestructiveUpdate++
			}
		case a.Desired == "stop": // stopped by itself, by a drain or a lost node
			last[a.Slot] = a
		default:
			filled[a.Slot] = true
			if a.JobVersion != p.job.Version && !a.terminal() {
				p.update = append(p.update, a)
				d.InPlaceUpdate++
			} else {
				d.Ignore++
			}
		}
	}
	for slot := range g.count() {
		if filled[slot] {
			continue
		}
		d.Place++
		if f := p.failed[g.Name]; f != nil {
			f.CoalescedFailures++
			p.queued[g.Name]++
			continue
		}
		node, devices, m := c.choose(p.job, g, u)
		if node == nil {
			p.failed[g.Name] = m
			p.queued[g.Name]++
			continue
		}
		u.take(node, p.job, g, devices)
		p.place = append(p.place, placement{g, slot, last[slot], node, devices, m})
	}
}

// apply does what p says, at one index.
func (c *Cluster) apply(p plan, e *eval) {
	if len(p.stop)+len(p.update)+len(p.place) == 0 {
		return
	}
	i := c.bump("allocs")
	c.emitEval(e, "PlanResult")
	for _, s := range p.stop {
		s.a.Desired, s.a.DesiredText = "stop", s.why
		c.beginStop(s.a, c.at)
		c.stamp(s.a, i)
	}
	for _, a := range p.update {
		a.JobVersion = p.job.Version
		c.stamp(a, i)
	}
	for _, w := range p.place {
		a := &alloc{
			ID: c.newID("alloc"), Namespace: p.job.Namespace, JobID: p.job.ID, Group: w.group.Name, Slot: w.slot,
			Name: allocName(p.job.ID, w.group.Name, w.slot), JobCreate: p.job.CreateIndex,
			JobVersion: p.job.Version, RunVersion: p.job.Version, NodeID: w.node.Spec.ID, Devices: w.devices,
			EvalID: e.ID, Desired: "run", Client: "pending", CreateIndex: i, Created: c.at,
			Fate: fateOf(p.job, w.group, w.slot), Phase: placed,
		}
		if w.previous != nil {
			a.Previous, w.previous.Next = w.previous.ID, a.ID
			c.stamp(w.previous, i)
		}
		c.s.addAlloc(a)
		c.stamp(a, i)
	}
	c.jobStatus(p.job.Namespace, p.job.ID)
	c.flush()
}

func (c *Cluster) stamp(a *alloc, i uint64) {
	a.ModifyIndex, a.Modified = i, c.at
	c.touch(itemKey{"alloc", a.ID})
	c.emitAlloc(a, "PlanResult")
}

// usage is what is taken on every node.
type usage struct {
	device map[string]bool // by id
	cpu    map[string]int  // by node
	memory map[string]int
	disk   map[string]int
	hosts  map[string]map[string]bool // job or group: node ids
}

// usage counts what lives: a GPU is held from placement until the client says
// that it is over, also while a process obeys a stop.
func (c *Cluster) usage() *usage {
	u := &usage{device: map[string]bool{}, cpu: map[string]int{}, memory: map[string]int{}, disk: map[string]int{}, hosts: map[string]map[string]bool{}}
	for _, a := range c.s.live {
		if a.terminal() {
			continue // lost: its node is away, so nobody can be placed there
		}
		t := c.textOf(a)
		if g := t.group(a.Group); g != nil {
			u.add(a.NodeID, t, g, a.Devices)
		}
	}
	return u
}

func (u *usage) take(n *node, j *jobText, g *groupText, d []heldDevices) { u.add(n.Spec.ID, j, g, d) }

func (u *usage) add(node string, j *jobText, g *groupText, held []heldDevices) {
	for _, d := range held {
		for _, id := range d.IDs {
			u.device[id] = true
		}
	}
	for _, t := range g.Tasks {
		u.cpu[node] += t.Resources.CPU
		u.memory[node] += t.Resources.MemoryMB
	}
	u.disk[node] += cmp.Or(g.EphemeralDisk, &diskText{}).SizeMB
	for _, k := range []string{jobKey(j.Namespace, j.ID), jobKey(j.Namespace, j.ID) + "\x00" + g.Name} {
		if u.hosts[k] == nil {
			u.hosts[k] = map[string]bool{}
		}
		u.hosts[k][node] = true
	}
}
