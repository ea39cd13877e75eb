package embedded

import (
	"encoding/json"
	"maps"
	"net/http"
	"strings"
)

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
