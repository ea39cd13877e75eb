package quota

import (
	"slices"

	"gpupool/domain/pool"
)

// Every pending job is admitted or waits with a reason, never both, and the
// fallback reason is never the only one of a head.
func (l laws) waits() {
	seen := map[pool.JobID]int{}
	for _, a := range l.plan.Admit {
		seen[a.Job]++
	}
	for _, x := range l.plan.Wait {
		seen[x.Job]++
		if len(x.Reasons) == 0 {
			l.t.Fatalf("%s waits without a reason", x.Job)
		}
		if x.Reasons[0].Code == pool.Behind {
			l.t.Fatalf("I5: %s (%+v) waits though it fits: %+v", x.Job, l.jobs[x.Job], x.Reasons)
		}
		for _, r := range x.Reasons {
			pool.RowOf(r.Code)
		}
	}
	for _, j := range l.before.Pending {
		if seen[j.ID] != 1 {
			l.t.Fatalf("%s stands %d times in the plan", j.ID, seen[j.ID])
		}
	}
}

// barred are the reasons for which a job may wait though GPUs and quota are
// there.
var barred = []pool.ReasonCode{pool.Budget, pool.Cap, pool.OrderExhausted, pool.Reserved, pool.PolicyWindow, pool.NotBefore, pool.Deadline, pool.Dependency,
	pool.NoSubscription, pool.ProjectPaused, pool.AdmissionPaused}

// I5: what fits by quota and on nodes, and isn't held by a named reason of
// another kind, doesn't wait.
func (l laws) works() {
	for _, x := range l.plan.Wait {
		j := l.pendingJob(x.Job)
		if x.Promised || slices.ContainsFunc(x.Reasons, func(r pool.Reason) bool { return slices.Contains(barred, r.Code) }) {
			continue
		}
		for _, id := range j.Classes {
			c := l.was.classes[id]
			if j.Tier == pool.Guaranteed && !l.was.entitled(&j, c) {
				continue
			}
			if l.was.fits(&j, c, false) && !l.was.closed(&j, c) {
				l.t.Fatalf("I5: %s fits in %s and waits: %+v\n%+v", j.ID, id, x.Reasons, j)
			}
		}
	}
}

func (l laws) pendingJob(id pool.JobID) Job {
	return l.before.Pending[slices.IndexFunc(l.before.Pending, func(j Job) bool { return j.ID == id })]
}

// The queue of a project is kept: of two jobs that are alike, the one with the
// higher priority, then the older one, isn't passed over.
func (l laws) queue() {
	type waiting struct {
		j Job
		w Waiting
	}
	var wait []waiting
	for _, w := range l.plan.Wait {
		if !w.Promised {
			wait = append(wait, waiting{l.pendingJob(w.Job), w})
		}
	}
	passed := func(id pool.JobID) {
		if slices.ContainsFunc(l.before.Promises, func(p Promise) bool { return p.Job == id }) {
			return
		}
		y := l.pendingJob(id)
		for _, x := range wait {
			if x.j.alike(&y) && x.j.before(&y) && !slices.ContainsFunc(x.w.Reasons, func(r pool.Reason) bool { return slices.Contains(barred, r.Code) }) {
				l.t.Fatalf("%s passes over %s, which is like it and stands before it: %+v", y.ID, x.j.ID, x.w.Reasons)
			}
		}
	}
	for _, a := range l.plan.Admit {
		passed(a.Job)
	}
	for _, p := range l.plan.Reclaim {
		passed(p.Job)
	}
}

func (j *Job) alike(o *Job) bool {
	return j.Org == o.Org && j.Project == o.Project && slices.Equal(j.Classes, o.Classes) && j.Nodes == o.Nodes && j.GPUs == o.GPUs &&
		j.Tier == o.Tier && j.MaxRun == o.MaxRun && j.DataSite == o.DataSite && j.Fixed == o.Fixed
}

func (j *Job) before(o *Job) bool {
	if j.Priority != o.Priority {
		return j.Priority > o.Priority
	}
	return j.Submitted < o.Submitted || j.Submitted == o.Submitted && j.ID < o.ID
}
