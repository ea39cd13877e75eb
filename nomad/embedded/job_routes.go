package embedded

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
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

// submission is the body of register, plan and validate.
type submission struct {
	Job            raw
	Diff           bool
	EnforceIndex   bool
	JobModifyIndex uint64
}

// submitted decodes a job and decides its namespace: the query parameter, the
// job's own, default.
func (c *Cluster) submitted(q query) (*jobText, submission, error) {
	var s submission
	if err := json.Unmarshal(q.body, &s); err != nil {
		return nil, s, err
	}
	if isNull(s.Job) {
		return nil, s, fmt.Errorf("Job must be specified")
	}
	j, err := c.decodeJob(s.Job)
	if err != nil {
		return nil, s, err
	}
	if ns := q.params.Get("namespace"); ns != "" && ns != "*" {
		j.Namespace = ns
	}
	if j.Namespace == "" {
		j.Namespace = "default"
	}
	return j, s, nil
}

// refused tells why a job can't be registered here, empty when it can.
func (c *Cluster) refused(j *jobText) string {
	if bad := j.validate(); len(bad) > 0 {
		return fmt.Sprintf("%d error(s) occurred:\n\n* %s", len(bad), strings.Join(bad, "\n* "))
	}
	ns := c.s.namespaces[j.Namespace]
	if ns == nil {
		return fmt.Sprintf("job %q is in nonexistent namespace %q", j.ID, j.Namespace)
	}
	if c.s.pools[j.NodePool] == nil {
		return fmt.Sprintf("job %q is in nonexistent node pool %q", j.ID, j.NodePool)
	}
	for _, g := range j.TaskGroups {
		for _, t := range g.Tasks {
			if !ns.allows(t.Driver) {
				return fmt.Sprintf("used task driver [%q] is not allowed in namespace %q", t.Driver, j.Namespace)
			}
		}
	}
	return ""
}

type registered struct {
	EvalCreateIndex uint64
	EvalID          string
	Index           uint64
	JobModifyIndex  uint64
	KnownLeader     bool
	LastContact     int
	NextToken       string
	Warnings        string
}

func (c *Cluster) registerJob(q query) answer {
	j, s, err := c.submitted(q)
	if err != nil {
		return failed(http.StatusBadRequest, err.Error())
	}
	if id := q.PathValue("id"); id != "" && id != j.ID {
		return failed(http.StatusBadRequest, "Job ID does not match name")
	}
	if why := c.refused(j); why != "" {
		return failed(http.StatusInternalServerError, why)
	}
	if s.EnforceIndex {
		if why := c.indexConflict(j, s.JobModifyIndex); why != "" {
			return failed(http.StatusInternalServerError, why)
		}
	}
	e, j := c.register(j)
	return wrote(e.CreateIndex, registered{EvalCreateIndex: e.CreateIndex, EvalID: e.ID, Index: e.CreateIndex, JobModifyIndex: j.JobModifyIndex})
}

func (c *Cluster) indexConflict(j *jobText, want uint64) string {
	has := c.s.jobs[jobKey(j.Namespace, j.ID)]
	switch {
	case want == 0 && has != nil:
		return "Enforcing job modify index 0: job already exists"
	case want != 0 && has == nil:
		return fmt.Sprintf("Enforcing job modify index %d: job does not exist", want)
	case want != 0 && has.JobModifyIndex != want:
		return fmt.Sprintf("Enforcing job modify index %d: job exists with conflicting job modify index: %d", want, has.JobModifyIndex)
	}
	return ""
}

// register stores a job text, unless it says what stands there already, and
// lets the scheduler look at the job. It returns the text that stands.
func (c *Cluster) register(j *jobText) (*eval, *jobText) {
	if has := c.s.jobs[jobKey(j.Namespace, j.ID)]; has != nil && !has.Stop && sameText(has, j) {
		c.bump("evals")
		return c.evaluate(has, "job-register", "JobRegistered"), has
	}
	c.storeJob(j)
	c.emitJob(j, "JobRegistered")
	return c.evaluate(j, "job-register", "JobRegistered"), j
}

func (c *Cluster) storeJob(j *jobText) {
	k := jobKey(j.Namespace, j.ID)
	i := c.bump("jobs")
	has := c.s.jobs[k]
	j.CreateIndex, j.Version, j.Stop = i, 0, false
	if has != nil {
		j.CreateIndex, j.Version = has.CreateIndex, has.Version+1
	}
	if has == nil || has.Stop || !sameRun(has, j) {
		c.s.runs[k] = j.Version // from here on, other runs are wanted
		c.touch(itemKey{"run", k})
	}
	j.JobModifyIndex, j.ModifyIndex, j.Status, j.StatusDescription, j.SubmitTime = i, i, "pending", "", nanos(c.at)
	c.s.jobs[k] = j
	t := textKey(j.Namespace, j.ID, j.CreateIndex, j.Version)
	c.s.texts[t] = j.copied()
	c.touch(itemKey{"job", k})
	c.touch(itemKey{"text", t})
}

type deregistered struct {
	EvalCreateIndex uint64
	EvalID          string
	Index           uint64
	JobModifyIndex  uint64
	KnownLeader     bool
	LastContact     int
	NextToken       string
	VolumeEvalID    string
	VolumeEvalIndex uint64
}

// deregisterJob stops a job, or with purge removes it with all its
// allocations at once, running or not, and without a word about them. An
// unknown id is no error.
func (c *Cluster) deregisterJob(q query) answer {
	j := c.findJob(q)
	if j == nil {
		return wrote(0, deregistered{})
	}
	i := c.bump("jobs")
	j.Stop, j.JobModifyIndex, j.ModifyIndex = true, i, i
	c.touch(itemKey{"job", jobKey(j.Namespace, j.ID)})
	purge := q.flag("purge")
	var e *eval
	if purge {
		j.Status = "dead"
		c.emitDeregistered(j, true)
		c.s.forget(c, j.Namespace, j.ID)
		c.s.Last["allocs"] = i
		c.freed = true
		e = c.newEval(j.Namespace, j.ID, j.Type, j.Priority, "job-deregister")
		c.emitEval(e, "JobDeregistered")
		c.flush()
		e.SnapshotIndex = i
		c.closeEval(e, "complete", "")
	} else {
		j.Version++
		t := textKey(j.Namespace, j.ID, j.CreateIndex, j.Version)
		c.s.texts[t] = j.copied()
		c.touch(itemKey{"text", t})
		c.emitDeregistered(j, false)
		e = c.evaluate(j, "job-deregister", "JobDeregistered")
	}
	return wrote(i, deregistered{EvalCreateIndex: e.CreateIndex, EvalID: e.ID, Index: e.CreateIndex, JobModifyIndex: i})
}

func (c *Cluster) evaluateJob(q query) answer {
	j := c.findJob(q)
	if j == nil {
		return failed(http.StatusInternalServerError, "job not found")
	}
	c.bump("evals")
	e := c.evaluate(j, "job-register", "EvaluationUpdated")
	return wrote(e.CreateIndex, registered{EvalCreateIndex: e.CreateIndex, EvalID: e.ID, Index: e.CreateIndex, JobModifyIndex: j.JobModifyIndex})
}

// parseJob has no HCL parser and fakes none: it takes a job written as JSON.
func (c *Cluster) parseJob(q query) answer {
	var s struct {
		JobHCL       string
		Canonicalize bool
	}
	if err := json.Unmarshal(q.body, &s); err != nil {
		return failed(http.StatusBadRequest, err.Error())
	}
	if strings.TrimSpace(s.JobHCL) == "" {
		return failed(http.StatusBadRequest, "Job spec is empty")
	}
	var wrapped struct{ Job raw }
	if err := json.Unmarshal([]byte(s.JobHCL), &wrapped); err != nil {
		return failed(http.StatusBadRequest, "this is a simulated cluster without an HCL parser: reading a job file in HCL needs a real Nomad; paste the job as JSON instead")
	}
	body := []byte(wrapped.Job)
	if isNull(wrapped.Job) {
		body = []byte(s.JobHCL)
	}
	j, err := c.decodeJob(body)
	if err != nil {
		return failed(http.StatusBadRequest, err.Error())
	}
	if j.Namespace == "" {
		j.Namespace = "default"
	}
	return plain(j)
}

func (c *Cluster) validateJob(q query) answer {
	j, _, err := c.submitted(q)
	if err != nil {
		return failed(http.StatusBadRequest, err.Error())
	}
	v := struct {
		DriverConfigValidated bool
		Error                 string
		ValidationErrors      []string
		Warnings              string
	}{DriverConfigValidated: true, ValidationErrors: j.validate()}
	if len(v.ValidationErrors) > 0 {
		v.Error = strings.Join(v.ValidationErrors, "\n")
	}
	return plain(v)
}

// planJob is a dry run: what registration would do, with nothing done.
func (c *Cluster) planJob(q query) answer {
	j, _, err := c.submitted(q)
	if err != nil {
		return failed(http.StatusBadRequest, err.Error())
	}
	if why := c.refused(j); why != "" {
		return failed(http.StatusInternalServerError, why)
	}
	p, diff, index := c.rehearse(j)
	out := struct {
		Annotations        annotations
		CreatedEvals       []*eval
		Diff               map[string]any
		FailedTGAllocs     map[string]*metric
		Index              uint64
		JobModifyIndex     uint64
		NextPeriodicLaunch *string
		Warnings           string
	}{Annotations: annotations{DesiredTGUpdates: p.updates}, Diff: map[string]any{"Type": diff, "ID": j.ID}, Index: index, JobModifyIndex: index}
	if len(p.failed) > 0 {
		out.FailedTGAllocs = p.failed
		classes := map[string]bool{}
		for _, n := range c.s.nodes {
			classes[n.class()] = true
		}
		out.CreatedEvals = []*eval{{ID: uuidOf("plan", j.ID), JobID: j.ID, Namespace: j.Namespace, Priority: j.Priority,
			Type: j.Type, Status: "blocked", StatusDescription: "created to place remaining allocations",
			TriggeredBy: "queued-allocs", FailedTGAllocs: p.failed, ClassEligibility: classes,
			PreviousEval: uuidOf("plan", "previous", j.ID), CreateTime: nanos(c.at), ModifyTime: nanos(c.at)}}
	}
	return wrote(index, out)
}

// rehearse plans j as if it were registered. It works on a copy of the two
// maps that registration changes and puts them back.
func (c *Cluster) rehearse(j *jobText) (plan, string, uint64) {
	k := jobKey(j.Namespace, j.ID)
	has := c.s.jobs[k]
	runs := maps.Clone(c.s.runs)
	defer func() { c.s.runs = runs }()
	diff, index := "Added", uint64(0)
	j.CreateIndex = c.s.Index + 1
	if has != nil {
		diff, index = "None", has.JobModifyIndex
		j.CreateIndex, j.Version = has.CreateIndex, has.Version+1
		if has.Stop || !sameRun(has, j) {
			diff = "Edited"
			c.s.runs[k] = j.Version
		}
	} else {
		c.s.runs[k] = 0
	}
	return c.plan(j), diff, index
}
