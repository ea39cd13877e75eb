package embedded

import (
	"fmt"
	"slices"
)

// Import takes over jobs that run already, placed and started in the past.
// They go on from there: what has ended by now ends at its own time. All are
// taken or none.
// Errors: a job that can't be read or exists already, an unknown node, a
// device that is taken, unknown or not what the job asks for.
func (c *Cluster) Import(jobs []InFlight) error {
	return c.do(func() error {
		type ready struct {
			j    *jobText
			runs []Run
		}
		var all []ready
		u := c.usage()
		seen := map[string]bool{}
		for _, f := range jobs {
			j, err := c.decodeJob(f.Job)
			if err != nil {
				return fmt.Errorf("embedded cluster: import: %w", err)
			}
			j.Namespace = firstOf(f.Namespace, j.Namespace, "default")
			k := jobKey(j.Namespace, j.ID)
			if why := c.refused(j); why != "" {
				return fmt.Errorf("embedded cluster: import of job %q: %s", j.ID, why)
			}
			if c.s.jobs[k] != nil || seen[k] {
				return fmt.Errorf("embedded cluster: import: job %q exists already", j.ID)
			}
			seen[k] = true
			runs, err := c.checkRuns(j, f.Runs, u)
			if err != nil {
				return fmt.Errorf("embedded cluster: import of job %q: %w", j.ID, err)
			}
			all = append(all, ready{j, runs})
		}
		for _, r := range all {
			c.takeOver(r.j, r.runs)
		}
		c.advance()
		return nil
	})
}

// checkRuns fills in the devices of every run, or says what is wrong.
func (c *Cluster) checkRuns(j *jobText, runs []Run, u *usage) ([]Run, error) {
	g := j.TaskGroups[0]
	if len(runs) == 0 || len(runs) > g.count() {
		return nil, fmt.Errorf("%d runs for a count of %d", len(runs), g.count())
	}
	want := 0
	for _, t := range g.Tasks {
		for _, d := range t.Resources.Devices {
			want += d.Count
		}
	}
	runs = slices.Clone(runs)
	for i := range runs {
		n := c.findNode(runs[i].Node)
		if n == nil {
			return nil, fmt.Errorf("no node %q", runs[i].Node)
		}
		if runs[i].Placed > c.at || runs[i].Started > c.at {
			return nil, fmt.Errorf("it begins in the future, at %v", max(runs[i].Placed, runs[i].Started))
		}
		if a := c.s.allocs[runs[i].AllocID]; a != nil {
			return nil, fmt.Errorf("allocation %s exists already", a.ID)
		}
		if len(runs[i].Devices) == 0 {
			held, _, ok := pickDevices(g, n, u)
			if !ok {
				return nil, fmt.Errorf("node %s: %s", n.Spec.Name, noDevicesMatch)
			}
			for _, h := range held {
				runs[i].Devices = append(runs[i].Devices, h.IDs...)
			}
		}
		if len(runs[i].Devices) != want {
			return nil, fmt.Errorf("%d devices for a request of %d", len(runs[i].Devices), want)
		}
		for _, id := range runs[i].Devices {
			if u.device[id] {
				return nil, fmt.Errorf("device %s is taken", id)
			}
			if n.groupOf(id) == nil {
				return nil, fmt.Errorf("node %s has no device %s", n.Spec.Name, id)
			}
			u.device[id] = true
		}
	}
	return runs, nil
}

func (n *node) groupOf(id string) *DeviceSpec {
	for i, d := range n.Spec.Devices {
		if slices.Contains(d.IDs, id) {
			return &n.Spec.Devices[i]
		}
	}
	return nil
}

// takeOver stores the job and its allocations as the scheduler would have.
func (c *Cluster) takeOver(j *jobText, runs []Run) {
	present := c.at
	c.at = slices.MinFunc(runs, func(a, b Run) int { return int(a.Placed - b.Placed) }).Placed
	defer func() { c.at = present }()
	c.storeJob(j)
	c.emitJob(j, "JobRegistered")
	e := c.newEval(j.Namespace, j.ID, j.Type, j.Priority, "job-register")
	e.SnapshotIndex = c.s.Index
	i := c.bump("allocs")
	g := j.TaskGroups[0]
	for slot, r := range runs {
		n := c.findNode(r.Node)
		a := &alloc{
			ID: r.AllocID, Namespace: j.Namespace, JobID: j.ID, Group: g.Name, Slot: slot, Name: allocName(j.ID, g.Name, slot),
			JobCreate: j.CreateIndex, NodeID: n.Spec.ID, Devices: handOut(g, n, r.Devices), EvalID: e.ID,
			Desired: "run", Client: "pending", CreateIndex: i, Created: r.Placed, Fate: fateOf(j, g, slot), Phase: placed,
		}
		if a.ID == "" {
			a.ID = c.newID("alloc")
		}
		if r.Started != 0 {
			a.Fate.Setup = int64(max(r.Started-r.Placed, 3))
		}
		c.at = r.Placed
		c.s.addAlloc(a)
		c.stamp(a, i)
	}
	c.jobStatus(j.Namespace, j.ID)
	c.flush()
	c.closeEval(e, "complete", "")
}

// handOut gives the devices of a run to its tasks, in the order of the requests.
func handOut(g *groupText, n *node, ids []string) []heldDevices {
	var held []heldDevices
	for _, t := range g.Tasks {
		for _, q := range t.Resources.Devices {
			d := n.groupOf(ids[0])
			held = append(held, heldDevices{t.Name, d.Vendor, d.Type, d.Model, ids[:q.Count:q.Count]})
			ids = ids[q.Count:]
			if len(ids) == 0 {
				return held
			}
		}
	}
	return held
}

func firstOf(words ...string) string {
	for _, w := range words {
		if w != "" {
			return w
		}
	}
	return ""
}
