package domain

import (
	"maps"
	"slices"
	"strings"

	"gpupool/domain/pool"
	"gpupool/domain/quota"
)

// view is a snapshot with what applying a plan needs beside it.
type view struct {
	snap  quota.Snapshot
	terms Terms
	now   pool.Instant
	costs map[payer][]quota.Charge // worked out so far
}

// payer is all that the charges of work depend on.
type payer struct {
	org     pool.OrgID
	project pool.ProjectID
	tier    pool.Tier
	class   pool.ClassID
}

// charges says against which budgets work counts, class by class. The result
// is shared: never change it.
func (v *view) charges(org pool.OrgID, p pool.ProjectID, tier pool.Tier, classes []pool.ClassID) []quota.Charge {
	if v.costs == nil {
		v.costs = map[payer][]quota.Charge{}
	}
	var out []quota.Charge
	for _, c := range classes {
		k := payer{org, p, tier, c}
		if v.costs[k] == nil {
			v.costs[k] = v.terms.charges(k, v.now)
		}
		if out = slices.Concat(out, v.costs[k]); len(classes) == 1 {
			return v.costs[k]
		}
	}
	return out
}

// snapshot reads everything a decision depends on. The number of statements
// does not grow with the number of jobs.
func snapshot(tx Tx) (view, error) {
	v, err := snapshotWithoutLoans(tx)
	if err != nil {
		return v, err
	}
	return v, v.loans(tx)
}

// snapshotWithoutLoans leaves out what was borrowed in the past.
func snapshotWithoutLoans(tx Tx) (view, error) {
	v := view{now: tx.Now()}
	var err error
	if v.terms, err = LoadTerms(tx); err != nil {
		return v, err
	}
	st := v.terms.Settings
	v.snap.Policy = quota.Policy{FairReclaim: st.Fair, OwnPriority: st.OwnPriority, AdmissionPaused: st.Paused, Notice: st.Notice,
		DrainLimit: st.Notice + st.SetupGrace, HalfLife: halfLife, CutNotice: cutNotice, ReserveAfter: reserveAfter}
	if v.snap.Version, err = tx.Version(); err != nil {
		return v, err
	}
	for _, step := range []func(Tx) error{v.hardware, v.members, v.work, v.budgets} {
		if err := step(tx); err != nil {
			return v, err
		}
	}
	return v, nil
}

func (v *view) hardware(Tx) error {
	for _, c := range v.terms.Classes {
		v.snap.Classes = append(v.snap.Classes, quota.Class{ID: c.ID, MinRun: minimumRun})
	}
	for _, n := range v.terms.Nodes {
		if n.Class == "" {
			continue
		}
		v.snap.Nodes = append(v.snap.Nodes, v.terms.hardwareAt(n, v.now))
	}
	v.snap.Windows = v.terms.windows(v.now)
	return nil
}

// hardwareAt is a node as the engine sees it at an instant.
func (t Terms) hardwareAt(n Node, at pool.Instant) quota.Node {
	q := quota.Node{ID: n.ID, Class: n.Class, Site: n.Site, Contributor: n.Contributor, GPUs: n.GPUs, Foreign: n.Foreign}
	switch {
	case n.State == NodeDown:
		q.State = quota.Down
	case n.State == NodeDraining || n.Cordoned:
		q.State = quota.Draining
	default:
		q.State = quota.Ready
	}
	q.Maintenance, _ = t.maintenanceOf(n, at)
	return q
}

func (v *view) members(Tx) error {
	shares := map[pool.ProjectID][]quota.Quota{}
	for _, o := range v.terms.Orgs {
		q := quota.Org{ID: o.ID, Weight: 1, Paused: strings.Join(o.Pauses, ", ")}
		sub, ok := v.terms.Subscription(o.ID, v.now)
		q.NoSubscription = !ok
		if ok && len(sub.Pauses) > 0 {
			q.Paused = strings.Join(slices.Concat(o.Pauses, sub.Pauses), ", ")
		}
		var parts map[pool.ProjectID][]quota.Quota
		q.Quotas, parts = v.terms.divide(o.ID, v.terms.quotas(o.ID, v.now), v.now)
		maps.Copy(shares, parts)
		v.snap.Orgs = append(v.snap.Orgs, q)
	}
	for _, p := range v.terms.Projects {
		pauses := p.Pauses
		if p.Archived {
			pauses = slices.Concat(pauses, []string{"archived"})
		}
		v.snap.Projects = append(v.snap.Projects, quota.Project{ID: p.ID, Org: p.Org, Quotas: shares[p.ID], Paused: strings.Join(pauses, ", "),
			Sites: p.Sites, NodeOwners: p.NodeOwners, OwnNodesOnly: p.Nodes == "own", NoSharedNode: p.Nodes == "unshared"})
	}
	return nil
}

func (v *view) loans(tx Tx) error {
	uses, err := tx.LoanUses()
	for _, u := range uses {
		v.snap.Decayed = append(v.snap.Decayed, quota.DecayedUse(u))
	}
	return err
}

func (v *view) work(tx Tx) error {
	attempts, err := tx.LiveAttempts()
	if err != nil {
		return err
	}
	for _, a := range attempts {
		x := running(a)
		x.Charges = v.charges(a.Org, a.Project, a.Tier, []pool.ClassID{a.Class})
		v.snap.Running = append(v.snap.Running, x)
	}
	if err := v.broken(tx); err != nil {
		return err
	}
	jobs, err := tx.LiveJobs()
	if err != nil {
		return err
	}
	live := map[pool.JobID]bool{}
	for _, j := range jobs {
		live[j.ID] = true
	}
	used, err := usedByWaiting(tx, jobs)
	if err != nil {
		return err
	}
	for _, j := range jobs {
		if j.State == JobWaiting && j.StopAsked == 0 {
			v.snap.Pending = append(v.snap.Pending, v.pending(j, used[j.ID], live))
		}
	}
	promises, err := tx.OpenPromises()
	if err != nil {
		return err
	}
	sent := map[pool.AttemptID]bool{}
	for _, a := range attempts {
		sent[a.ID] = a.StopSent != 0
	}
	for _, p := range promises {
		q := quota.Promise{Job: p.Job, Class: p.Class, Placement: toQuota(p.Placement), Victims: p.Victims, StopAt: p.StopAt, Rule: quota.Rule(p.Rule)}
		for _, a := range p.Victims {
			q.Sent = q.Sent || sent[a]
		}
		v.snap.Promises = append(v.snap.Promises, q)
	}
	return nil
}

// running is an attempt as the engine sees it, without its charges.
func running(a Attempt) quota.Attempt {
	q := quota.Attempt{ID: a.ID, Org: a.Org, Project: a.Project, User: a.User, Class: a.Class,
		Placement: toQuota(a.Placement), Tier: a.Tier, Priority: a.Priority, Started: a.AdmittedAt, MaxEnd: a.MaxEnd,
		MinRunUntil: a.AdmittedAt.Add(minimumRun), Split: a.Split,
		Stopping: a.StopSent != 0 || a.StopAt != 0 && !a.StopReason.ByEngine(), GuaranteedUntil: a.GuaranteedUntil, Notice: stopRules[a.StopReason], StopAt: a.StopAt}
	if a.StopReason.planned() { // the calendar stops it: the engine counts on its GPUs then
		q.Stopping, q.MaxEnd = true, min(q.MaxEnd, a.StopAt)
	}
	return q
}

// pending is a job as the engine sees it. used is what its earlier attempts
// were charged for: the maximum run time is over all attempts.
func (v *view) pending(j Job, used pool.GPUMillis, live map[pool.JobID]bool) quota.Job {
	left := remaining(j, used)
	q := quota.Job{ID: j.ID, Org: j.Org, Project: j.Project, User: j.User, Classes: j.Classes, Nodes: j.Nodes, GPUs: j.GPUsPerNode,
		Tier: j.Tier, Priority: j.Priority, Submitted: j.SubmittedAt, MaxRun: left, NotBefore: j.NotBefore, Deadline: j.Deadline,
		Charges: v.charges(j.Org, j.Project, j.Tier, j.Classes)}
	if j.DependsOn != "" && live[j.DependsOn] {
		q.DependsOn = []pool.JobID{j.DependsOn}
	}
	return q
}

func toQuota(p []NodeGPUs) []quota.NodeGPUs {
	out := make([]quota.NodeGPUs, len(p))
	for i, x := range p {
		out[i] = quota.NodeGPUs(x)
	}
	return out
}

func fromQuota(p []quota.NodeGPUs) []NodeGPUs {
	out := make([]NodeGPUs, len(p))
	for i, x := range p {
		out[i] = NodeGPUs(x)
	}
	return out
}

// stopRules are the engine's rules for ends that are for no other job.
var stopRules = map[EndReason]quota.StopRule{EndOverBudget: quota.OverBudget, EndGPULost: quota.Shed}
