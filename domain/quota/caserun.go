package quota

import (
	"fmt"
	"maps"
	"slices"
	"sort"
	"strings"
	"time"

	"gpupool/domain/pool"
)

// casePool is the pool of one scenario while it is played. Victims stop at
// once and queue again with their old submit time.
type casePool struct {
	snap      Snapshot
	now       pool.Instant
	jobs      map[pool.JobID]Job // every job as it would be submitted
	owner     map[pool.JobID]string
	orgOf     map[string]pool.OrgID // of each organisation and project name
	tries     map[pool.JobID]int
	preempted int
}

// caseZero is the moment that a scenario calls 0.
const caseZero pool.Instant = 1_700_000_000_000

func minute(n int) pool.Instant { return caseZero.Add(time.Duration(n) * time.Minute) }

// start builds the snapshot of a scenario.
func (s *scenario) start() (*casePool, error) {
	p := &casePool{now: caseZero, jobs: map[pool.JobID]Job{}, owner: map[pool.JobID]string{}, orgOf: map[string]pool.OrgID{}, tries: map[pool.JobID]int{}}
	p.snap.Policy = Policy{FairReclaim: s.Policy.FairReclaim, OwnPriority: s.Policy.OrgPriority, AdmissionPaused: s.Policy.AdmissionPaused,
		ReserveAfter: time.Duration(s.Policy.ReserveAfterMin) * time.Minute}
	for _, c := range slices.Sorted(maps.Keys(s.Classes)) {
		p.snap.Classes = append(p.snap.Classes, Class{ID: pool.ClassID(c)})
		if !slices.ContainsFunc(s.Nodes, func(n caseNode) bool { return n.Class == c }) {
			p.snap.Nodes = append(p.snap.Nodes, Node{ID: pool.NodeID("all-" + c), Class: pool.ClassID(c), Contributor: pool.Consortium, GPUs: s.Classes[c], State: Ready})
		}
	}
	for _, n := range s.Nodes {
		x := Node{ID: pool.NodeID(n.Name), Class: pool.ClassID(n.Class), Site: pool.SiteID(n.Site), Contributor: pool.OrgID(n.Owner), GPUs: n.GPUs, Foreign: n.Foreign, State: NodeState(n.State)}
		if x.State == "" {
			x.State = Ready
		}
		p.snap.Nodes = append(p.snap.Nodes, x)
	}
	for _, o := range s.Orgs {
		weight := 1
		if o.Weight != nil {
			weight = *o.Weight
		}
		p.orgOf[o.Name] = pool.OrgID(o.Name)
		p.snap.Orgs = append(p.snap.Orgs, Org{ID: pool.OrgID(o.Name), Weight: weight, Quotas: quotasOf(o.Quota)})
		for _, q := range o.Projects {
			p.orgOf[q.Name] = pool.OrgID(o.Name)
			p.snap.Projects = append(p.snap.Projects, Project{ID: pool.ProjectID(q.Name), Org: pool.OrgID(o.Name), Quotas: quotasOf(q.Quota)})
		}
	}
	for _, c := range s.Running {
		if err := p.add(c, true); err != nil {
			return nil, err
		}
	}
	for _, c := range s.Pending {
		if err := p.add(c, false); err != nil {
			return nil, err
		}
	}
	return p, nil
}

func quotasOf(m map[string]caseQuota) []Quota {
	var out []Quota
	for _, c := range slices.Sorted(maps.Keys(m)) {
		out = append(out, Quota{Class: pool.ClassID(c), Nominal: m[c].Nominal, BorrowLimit: m[c].BorrowLimit, LendLimit: m[c].LendLimit, Weight: m[c].Weight})
	}
	return out
}

// add puts a job of the file into the pool, count times.
func (p *casePool) add(c caseJob, running bool) error {
	org, ok := p.orgOf[c.Owner]
	if !ok {
		return fmt.Errorf("job %s: nobody is called %q", c.ID, c.Owner)
	}
	for i := range max(1, c.Count) {
		id := pool.JobID(c.ID)
		if c.Count > 0 {
			id = pool.JobID(fmt.Sprintf("%s-%d", c.ID, i+1))
		}
		if _, twice := p.jobs[id]; twice {
			return fmt.Errorf("job %s stands twice", id)
		}
		j := Job{ID: id, Org: org, Nodes: max(1, c.Nodes), GPUs: c.Units, Tier: pool.Tier(c.Tier), Priority: c.Priority,
			MaxRun: time.Duration(c.MaxRunMin) * time.Minute, Submitted: minute(c.StartedMin)}
		if c.Owner != string(org) {
			j.Project = pool.ProjectID(c.Owner)
		}
		if c.Tier == "" {
			j.Tier = pool.Burst
		}
		j.Fixed = c.Preemptible != nil && !*c.Preemptible
		for _, x := range c.Classes {
			j.Classes = append(j.Classes, pool.ClassID(x))
		}
		if c.Class != "" && len(c.Classes) == 0 {
			j.Classes = []pool.ClassID{pool.ClassID(c.Class)}
		}
		if c.SubmittedMin != nil {
			j.Submitted = minute(*c.SubmittedMin)
		}
		if c.NotBeforeMin != nil {
			j.NotBefore = minute(*c.NotBeforeMin)
		}
		if c.DeadlineMin != nil {
			j.Deadline = minute(*c.DeadlineMin)
		}
		p.jobs[id], p.owner[id] = j, c.Owner
		if !running {
			p.snap.Pending = append(p.snap.Pending, j)
			continue
		}
		where := []NodeGPUs{{pool.NodeID("all-" + c.Class), j.Units()}}
		if c.Placement != nil {
			where = nil
			for _, n := range slices.Sorted(maps.Keys(c.Placement)) {
				where = append(where, NodeGPUs{pool.NodeID(n), c.Placement[n]})
			}
		}
		p.begin(j, pool.ClassID(c.Class), where, minute(c.StartedMin))
		if x := &p.snap.Running[len(p.snap.Running)-1]; x.Started == p.now {
			x.Started-- // it ran before the first decision
		}
		if c.MinUntilMin != nil {
			p.snap.Running[len(p.snap.Running)-1].MinRunUntil = minute(*c.MinUntilMin)
		}
	}
	return nil
}

// begin starts an attempt of a job.
func (p *casePool) begin(j Job, c pool.ClassID, where []NodeGPUs, at pool.Instant) {
	p.tries[j.ID]++
	a := Attempt{ID: pool.AttemptID{Job: j.ID, N: p.tries[j.ID]}, Org: j.Org, Project: j.Project, Class: c, Placement: where,
		Tier: j.Tier, Priority: j.Priority, Submitted: j.Submitted, Started: at, MaxEnd: pool.Never, Fixed: j.Fixed}
	if j.MaxRun > 0 {
		a.MaxEnd = at.Add(j.MaxRun)
	}
	p.snap.Running = append(p.snap.Running, a)
}

func (p *casePool) decide() Plan { return Decide(p.snap, p.now) }

// advance lets minutes pass, at the least a moment: what a decision starts
// can't be stopped in the same one.
func (p *casePool) advance(m int) {
	p.now = p.now.Add(max(time.Duration(m)*time.Minute, time.Millisecond))
}

func (p *casePool) unqueue(j pool.JobID) {
	p.snap.Pending = slices.DeleteFunc(p.snap.Pending, func(x Job) bool { return x.ID == j })
}

// finish ends a running job; false when it doesn't run.
func (p *casePool) finish(id string) bool {
	n := len(p.snap.Running)
	p.snap.Running = slices.DeleteFunc(p.snap.Running, func(a Attempt) bool { return a.ID.Job == pool.JobID(id) })
	return len(p.snap.Running) < n
}

// apply does what a plan says, with victims gone at once.
func (p *casePool) apply(plan Plan) {
	for _, r := range plan.Reclaim {
		for _, v := range r.Victims {
			if p.finish(string(v.Job)) {
				p.preempted++
				p.snap.Pending = append(p.snap.Pending, p.jobs[v.Job])
			}
		}
	}
	for _, r := range plan.Reclaim {
		p.unqueue(r.Job)
		p.begin(p.jobs[r.Job], r.Class, r.Placement, p.now)
	}
	for _, a := range plan.Admit {
		p.unqueue(a.Job)
		p.begin(p.jobs[a.Job], a.Class, a.Placement, p.now)
		p.snap.Running[len(p.snap.Running)-1].Split = a.Split
	}
	for _, c := range plan.Covers {
		for i := range p.snap.Running {
			if p.snap.Running[i].ID == c.Attempt {
				p.snap.Running[i].Split = c.Split
			}
		}
	}
}

// belongs says whether a job counts for an owner: its organisation or project.
func (p *casePool) belongs(id pool.JobID, owner string) bool {
	return p.owner[id] == owner || string(p.jobs[id].Org) == owner
}

func (p *casePool) units(ids []string, owner string) int {
	n := 0
	for _, id := range ids {
		if p.belongs(pool.JobID(id), owner) {
			n += p.jobs[pool.JobID(id)].Units()
		}
	}
	return n
}

// compare lists what differs between a plan and what a scenario expects.
func (p *casePool) compare(what string, want caseExpect, plan Plan) []string {
	var admit, after, victims, diffs []string
	for _, a := range plan.Admit {
		admit = append(admit, string(a.Job))
	}
	for _, r := range plan.Reclaim {
		after = append(after, string(r.Job))
		for _, v := range r.Victims {
			if !slices.Contains(victims, string(v.Job)) {
				victims = append(victims, string(v.Job))
			}
		}
	}
	diff := func(format string, args ...any) { diffs = append(diffs, what+": "+fmt.Sprintf(format, args...)) }
	sameIDs(diff, "admitted", admit, want.Admit)
	sameIDs(diff, "preempted", victims, want.Preempt)
	sameIDs(diff, "admitted after preemption", after, want.After)
	if want.PreemptCount != nil && len(victims) != *want.PreemptCount {
		diff("preempted %d (%s), want %d", len(victims), strings.Join(victims, " "), *want.PreemptCount)
	}
	for _, v := range victims {
		if want.PreemptOwner != "" && !p.belongs(pool.JobID(v), want.PreemptOwner) {
			diff("preempted %s, which isn't of %s", v, want.PreemptOwner)
		}
	}
	sameUnits(diff, "admitted", want.AdmitUnits, func(o string) int { return p.units(append(admit, after...), o) })
	sameUnits(diff, "preempted", want.PreemptedUnits, func(o string) int { return p.units(victims, o) })
	for _, id := range slices.Sorted(maps.Keys(want.Hold)) {
		if got := codesOf(plan, id); !slices.Contains(got, want.Hold[id]) {
			diff("%s waits for %v, want %s", id, got, want.Hold[id])
		}
	}
	return diffs
}

// codesOf is why a job waits, in the codes of the public cases; none when it
// doesn't wait.
func codesOf(plan Plan, id string) []string {
	var out []string
	for _, w := range plan.Wait {
		if string(w.Job) == id && !w.Promised {
			for _, r := range w.Reasons {
				out = append(out, pool.RowOf(r.Code).CaseCode)
			}
		}
	}
	return out
}

func sameIDs(diff func(string, ...any), what string, got []string, want *[]string) {
	if want == nil {
		return
	}
	a, b := slices.Clone(got), slices.Clone(*want)
	sort.Strings(a)
	sort.Strings(b)
	if !slices.Equal(a, b) {
		diff("%s %v, want %v", what, a, b)
	}
}

func sameUnits(diff func(string, ...any), what string, want map[string]int, got func(string) int) {
	for _, o := range slices.Sorted(maps.Keys(want)) {
		if n := got(o); n != want[o] {
			diff("%s units of %s: %d, want %d", what, o, n, want[o])
		}
	}
}

// settle decides and applies until nothing changes, then compares.
func (p *casePool) settle(want caseSettled) []string {
	var diffs []string
	diff := func(format string, args ...any) { diffs = append(diffs, "settled: "+fmt.Sprintf(format, args...)) }
	limit := want.MaxCycles
	if limit == 0 {
		limit = 6
	}
	for cycle := 0; ; cycle++ {
		p.advance(0)
		plan := p.decide()
		if len(plan.Admit)+len(plan.Reclaim) == 0 {
			break
		}
		if cycle == limit {
			diff("still changing after %d cycles", limit)
			break
		}
		p.apply(plan)
	}
	var running, pending []string
	for _, a := range p.snap.Running {
		running = append(running, string(a.ID.Job))
	}
	for _, j := range p.snap.Pending {
		pending = append(pending, string(j.ID))
	}
	sameIDs(diff, "running", running, want.Running)
	sameIDs(diff, "pending", pending, want.Pending)
	sameUnits(diff, "running", want.RunningUnits, func(o string) int { return p.units(running, o) })
	sameUnits(diff, "pending", want.PendingUnits, func(o string) int { return p.units(pending, o) })
	if want.MaxPreemptions != nil && p.preempted > *want.MaxPreemptions {
		diff("%d preemptions, at most %d allowed", p.preempted, *want.MaxPreemptions)
	}
	return diffs
}
