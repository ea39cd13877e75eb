package embedded

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

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
		return nil, s, fmt.Errorf("Job must be specified") //lint:ignore ST1005 Nomad's own words
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
