package embedded

import (
	"cmp"
	"slices"
	"strings"
)

type jobStub struct {
	CreateIndex       uint64
	Datacenters       []string
	ID                string
	JobModifyIndex    uint64
	JobSummary        *summary
	Meta              map[string]string `json:",omitempty"`
	ModifyIndex       uint64
	Multiregion       raw
	Name              string
	Namespace         string
	NodePool          string
	ParameterizedJob  bool
	ParentID          string
	Periodic          bool
	Priority          int
	Status            string
	StatusDescription string
	Stop              bool
	SubmitTime        int64
	Type              string
}

type summary struct {
	Children struct{ Dead, Pending, Running int }

	CreateIndex uint64
	JobID       string
	ModifyIndex uint64
	Namespace   string
	Summary     map[string]*groupSummary
}

type groupSummary struct{ Complete, Failed, Lost, Queued, Running, Starting, Unknown int }

func (c *Cluster) summary(j *jobText) *summary {
	s := &summary{CreateIndex: j.CreateIndex, JobID: j.ID, ModifyIndex: j.ModifyIndex, Namespace: j.Namespace, Summary: map[string]*groupSummary{}}
	for _, g := range j.TaskGroups {
		s.Summary[g.Name] = &groupSummary{}
	}
	for _, a := range c.s.byJob[jobKey(j.Namespace, j.ID)] {
		g := s.Summary[a.Group]
		if g == nil {
			g = &groupSummary{}
			s.Summary[a.Group] = g
		}
		s.ModifyIndex = max(s.ModifyIndex, a.ModifyIndex)
		switch a.Client {
		case "complete":
			g.Complete++
		case "failed":
			g.Failed++
		case "lost":
			g.Lost++
		case "running":
			g.Running++
		case "pending":
			g.Starting++
		case "unknown":
			g.Unknown++
		}
	}
	if e := c.s.blocked[jobKey(j.Namespace, j.ID)]; e != nil {
		for name := range e.FailedTGAllocs {
			if g := s.Summary[name]; g != nil {
				g.Queued = 1 + e.FailedTGAllocs[name].CoalescedFailures
			}
		}
	}
	return s
}

func (c *Cluster) listJobs(q query) answer {
	var rows []jobStub
	for _, j := range c.s.jobs {
		if !q.sees(j.Namespace) || !strings.HasPrefix(j.ID, q.params.Get("prefix")) {
			continue
		}
		s := jobStub{CreateIndex: j.CreateIndex, Datacenters: j.Datacenters, ID: j.ID, JobModifyIndex: j.JobModifyIndex,
			JobSummary: c.summary(j), ModifyIndex: j.ModifyIndex, Name: j.Name, Namespace: j.Namespace, NodePool: j.NodePool,
			Priority: j.Priority, Status: j.Status, Stop: j.Stop, SubmitTime: j.SubmitTime, Type: j.Type, Meta: j.Meta}
		rows = append(rows, s)
	}
	slices.SortFunc(rows, func(a, b jobStub) int {
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.ID, b.ID))
	})
	a := listed(q, c.s.Last["jobs"], rows, func(s jobStub) string { return s.Namespace + "." + s.ID })
	if kept, ok := a.body.([]jobStub); ok && !q.flag("meta") {
		for i := range kept {
			kept[i].Meta = nil
		}
	}
	return a
}

// findJob by id; the namespace parameter beats everything.
func (c *Cluster) findJob(q query) *jobText {
	return c.s.jobs[jobKey(q.namespace(), q.PathValue("id"))]
}

func (c *Cluster) readJob(q query) answer {
	j := c.findJob(q)
	if j == nil {
		return notFound(c.s.Last["jobs"], "job")
	}
	return readOf(j.ModifyIndex, j)
}

func (c *Cluster) jobSummary(q query) answer {
	j := c.findJob(q)
	if j == nil {
		return notFound(c.s.Last["jobs"], "job")
	}
	s := c.summary(j)
	return readOf(s.ModifyIndex, s)
}

func (c *Cluster) jobAllocations(q query) answer {
	rows := []allocStub{}
	index := uint64(0)
	for _, a := range c.s.byJob[jobKey(q.namespace(), q.PathValue("id"))] {
		rows = append(rows, c.allocStub(a, false, true))
		index = max(index, a.ModifyIndex)
	}
	if len(rows) == 0 {
		index = c.s.Last["allocs"]
	}
	return readOf(index, rows)
}

func (c *Cluster) jobEvaluations(q query) answer {
	rows := []*eval{}
	index := uint64(0)
	for _, e := range c.s.evals {
		if e.Namespace == q.namespace() && e.JobID == q.PathValue("id") {
			rows = append(rows, e)
			index = max(index, e.ModifyIndex)
		}
	}
	slices.SortFunc(rows, func(a, b *eval) int {
		return cmp.Or(cmp.Compare(b.CreateIndex, a.CreateIndex), strings.Compare(a.ID, b.ID))
	})
	if len(rows) == 0 {
		index = c.s.Last["evals"]
	}
	return readOf(index, rows)
}
