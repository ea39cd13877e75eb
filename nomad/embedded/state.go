package embedded

import (
	"cmp"
	"slices"
	"strconv"

	"gpupool/domain/pool"
)

// state is everything that outlives the process. The exported fields are the
// row "meta" of the file; every map is a kind of rows.
type state struct {
	Index     uint64
	Last      map[string]uint64 // table: index of its last change
	Serial    uint64
	Clock     pool.Instant // how far the simulation went
	Scheduler schedulerConfig

	jobs       map[string]*jobText // current text by namespace and id
	texts      map[string]*jobText // every text by namespace, id, create index and version
	runs       map[string]uint64   // job: version from which its runs count
	allocs     map[string]*alloc
	evals      map[string]*eval
	nodes      map[string]*node
	namespaces map[string]*namespace
	pools      map[string]*nodePool
	vars       map[string]*variable

	live    map[string]*alloc   // those whose process is not over
	byJob   map[string][]*alloc // in the order of their making
	blocked map[string]*eval    // by job: the one evaluation that waits for room
}

type itemKey struct{ kind, id string }

func newState() *state {
	return &state{
		Last: map[string]uint64{}, jobs: map[string]*jobText{}, texts: map[string]*jobText{},
		runs: map[string]uint64{}, allocs: map[string]*alloc{}, evals: map[string]*eval{},
		nodes: map[string]*node{}, namespaces: map[string]*namespace{}, pools: map[string]*nodePool{},
		vars: map[string]*variable{}, live: map[string]*alloc{}, byJob: map[string][]*alloc{}, blocked: map[string]*eval{},
	}
}

func jobKey(ns, id string) string { return ns + "\x00" + id }

func textKey(ns, id string, create, version uint64) string {
	return jobKey(ns, id) + "\x00" + strconv.FormatUint(create, 10) + "\x00" + strconv.FormatUint(version, 10)
}

// textOf is the job text in force for a.
func (c *Cluster) textOf(a *alloc) *jobText {
	if t := c.s.texts[textKey(a.Namespace, a.JobID, a.JobCreate, a.JobVersion)]; t != nil {
		return t
	}
	return &jobText{ID: a.JobID, Namespace: a.Namespace}
}

// bump is the next index; the tables named changed at it.
func (c *Cluster) bump(tables ...string) uint64 {
	c.s.Index++
	for _, t := range tables {
		c.s.Last[t] = c.s.Index
	}
	c.touch(itemKey{"meta", ""})
	return c.s.Index
}

func (s *state) addAlloc(a *alloc) {
	s.allocs[a.ID] = a
	k := jobKey(a.Namespace, a.JobID)
	s.byJob[k] = append(s.byJob[k], a)
	if a.Phase != over {
		s.live[a.ID] = a
	}
}

// order rebuilds what is derived from the rows.
func (s *state) order() {
	all := make([]*alloc, 0, len(s.allocs))
	for _, a := range s.allocs {
		all = append(all, a)
	}
	slices.SortFunc(all, byCreation)
	s.live, s.byJob = map[string]*alloc{}, map[string][]*alloc{}
	for _, a := range all {
		s.addAlloc(a)
	}
	for _, e := range s.evals {
		if e.Status == "blocked" {
			s.blocked[jobKey(e.Namespace, e.JobID)] = e
		}
	}
}

func byCreation(a, b *alloc) int {
	return cmp.Or(cmp.Compare(a.CreateIndex, b.CreateIndex), cmp.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID))
}

// allocChanged stamps a, writes it and tells the stream.
func (c *Cluster) allocChanged(a *alloc, kind string) {
	i := c.bump("allocs")
	a.ModifyIndex, a.Modified = i, c.at
	if a.Phase == over {
		delete(c.s.live, a.ID)
	} else {
		c.s.live[a.ID] = a
	}
	if n := c.s.nodes[a.NodeID]; n != nil {
		n.LastAllocUpdate = i
		c.touch(itemKey{"node", n.Spec.ID})
	}
	c.touch(itemKey{"alloc", a.ID})
	c.emitAlloc(a, kind)
	c.jobStatus(a.Namespace, a.JobID)
	c.flush()
}

// nodeChanged stamps n with the current index, writes it and tells the stream.
func (c *Cluster) nodeChanged(n *node, kind string) {
	n.ModifyIndex = c.s.Index
	c.s.Last["nodes"] = c.s.Index
	c.touch(itemKey{"node", n.Spec.ID})
	if kind != "" {
		c.emitNode(n, kind)
	}
	c.flush()
}

// jobStatus derives pending, running or dead from what the job has.
func (c *Cluster) jobStatus(ns, id string) {
	j := c.s.jobs[jobKey(ns, id)]
	if j == nil {
		return
	}
	status := "pending"
	alive, ended := false, false
	for _, a := range c.s.byJob[jobKey(ns, id)] {
		gone := a.terminal() || a.Desired == "stop"
		alive, ended = alive || !gone, ended || gone
	}
	switch {
	case j.Stop:
		status = "dead"
	case alive:
		status = "running"
	case ended && c.s.blocked[jobKey(ns, id)] == nil:
		status = "dead"
	}
	if status != j.Status {
		j.Status, j.ModifyIndex = status, c.s.Index
		c.s.Last["jobs"] = c.s.Index
		c.touch(itemKey{"job", jobKey(ns, id)})
		c.emitJob(j, "AllocationUpdated")
	}
}

func sortAllocs(as []*alloc) { slices.SortFunc(as, byCreation) }
