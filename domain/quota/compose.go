package quota

import (
	"math"
	"slices"

	"gpupool/domain/pool"
)

// maxSteps bounds the steps of one decision. Every step admits, promises or
// withdraws something, and what was admitted in it is safe from the next; no
// history that was tried needed more than a few.
const maxSteps = 16

// decision is a plan with what its steps came across.
type decision struct {
	plan     Plan
	followed int   // steps after the first that changed something
	tries    []int // reservations tried in each class, in all steps
	cleared  int   // reservations that ended
}

// resolve decides step by step, each on the snapshot that the steps before
// leave, until a step changes nothing (I7): an admission may turn other work
// of its organisation into a loan, and a victim may free more than its
// beneficiary takes.
func resolve(s *Snapshot, now pool.Instant) decision {
	e := build(s, now)
	e.decide()
	d := decision{plan: e.plan, tries: e.tries, cleared: e.cleared}
	for steps := 1; steps < maxSteps && e.follows(); steps++ {
		next := after(e.in, e.plan, now, e.jobs)
		e = build(&next, now)
		e.decide()
		d.cleared += e.cleared
		for c := range e.tries {
			d.tries[c] += e.tries[c]
		}
		if e.plan.Changes() {
			d.followed++
			d.plan.merge(s, e.plan)
		}
	}
	if !s.Brief {
		e.explain()
	}
	d.plan.Wait, d.plan.Reserved = e.plan.Wait, e.plan.Reserved
	return d
}

// follows says whether another step could change anything: something was
// changed, and a job or a promise is left that it could help.
func (e *engine) follows() bool {
	if !e.plan.Changes() {
		return false
	}
	if len(e.plan.Reclaim) > 0 || slices.ContainsFunc(e.promises, func(o openPromise) bool { return !o.over }) {
		return true
	}
	for b := range e.buckets {
		if e.headOf(int32(b)) != nil {
			return true
		}
	}
	return false
}

// freshTry numbers the attempts that a decision starts, above all stored ones.
const freshTry = math.MaxInt32

// begin is the attempt of a job that a plan starts.
func (j *Job) begin(a Admission, classes []Class, now pool.Instant) Attempt {
	x := Attempt{ID: pool.AttemptID{Job: j.ID, N: freshTry}, Org: j.Org, Project: j.Project, User: j.User, Class: a.Class, Placement: a.Placement,
		Tier: j.Tier, Priority: j.Priority, Submitted: j.Submitted, Started: now, MaxEnd: a.MaxEnd, Fixed: j.Fixed, Split: a.Split, Charges: j.Charges}
	for i := range classes {
		if classes[i].ID == a.Class {
			x.MinRunUntil = now.Add(classes[i].MinRun)
		}
	}
	return x
}

// after is the snapshot that a plan leaves, its pending jobs in the order of
// jobs, so that they needn't be sorted again. The slices of the one before
// stay as they are.
func after(s *Snapshot, p Plan, now pool.Instant, jobs []job) Snapshot {
	next := *s
	over := make(map[pool.JobID]bool, len(p.Admit)+len(p.Withdrawn))
	for _, w := range p.Withdrawn {
		over[w.Job] = true
	}
	admitted := make(map[pool.JobID]*Admission, len(p.Admit))
	for i := range p.Admit {
		over[p.Admit[i].Job] = true
		admitted[p.Admit[i].Job] = &p.Admit[i]
	}
	next.Running = make([]Attempt, len(s.Running), len(s.Running)+len(p.Admit))
	copy(next.Running, s.Running)
	if len(p.Covers) > 0 {
		split := make(map[pool.AttemptID]pool.Split, len(p.Covers))
		for _, c := range p.Covers {
			split[c.Attempt] = c.Split
		}
		for i := range next.Running {
			if x, ok := split[next.Running[i].ID]; ok {
				next.Running[i].Split = x
			}
		}
	}
	enforced(next.Running, p)
	next.Pending = make([]Job, 0, len(s.Pending))
	for i := range jobs {
		j := &s.Pending[jobs[i].source]
		a := admitted[j.ID]
		if a == nil {
			next.Pending = append(next.Pending, *j)
			continue
		}
		next.Running = append(next.Running, j.begin(*a, s.Classes, now))
	}
	next.Promises = make([]Promise, 0, len(s.Promises)+len(p.Reclaim))
	for i := range s.Promises {
		if !over[s.Promises[i].Job] {
			next.Promises = append(next.Promises, s.Promises[i])
		}
	}
	next.Promises = append(next.Promises, p.Reclaim...)
	return next
}

// merge adds the plan of the next step, so that the caller sees one decision:
// a promise that is over again, and a cover that is back where it was, were
// never there. s is the snapshot of the first step.
func (p *Plan) merge(s *Snapshot, next Plan) {
	for _, w := range next.Withdrawn {
		if !p.forget(w.Job) {
			p.Withdrawn = append(p.Withdrawn, w)
			continue
		}
		for _, v := range w.Keep {
			p.spare(s, v)
		}
	}
	for _, a := range next.Admit {
		p.forget(a.Job)
		p.Admit = append(p.Admit, a)
	}
	p.Reclaim = append(p.Reclaim, next.Reclaim...)
	p.Stop = append(p.Stop, next.Stop...)
	p.Resume = append(p.Resume, next.Resume...)
	p.ToSpot = append(p.ToSpot, next.ToSpot...)
	p.recover(s, next.Covers)
}

// forget takes back a promise of the plan; false when it has none for the job.
func (p *Plan) forget(j pool.JobID) bool {
	n := len(p.Reclaim)
	p.Reclaim = slices.DeleteFunc(p.Reclaim, func(r Promise) bool { return r.Job == j })
	return len(p.Reclaim) < n
}

// spare lets a victim run on that a promise of the snapshot, withdrawn by the
// plan, had put under notice.
func (p *Plan) spare(s *Snapshot, v pool.AttemptID) {
	for i := range p.Withdrawn {
		w := &p.Withdrawn[i]
		had := slices.ContainsFunc(s.Promises, func(x Promise) bool { return x.Job == w.Job && !x.Sent && slices.Contains(x.Victims, v) })
		if had && !slices.Contains(w.Keep, v) {
			w.Keep = append(w.Keep, v)
		}
	}
}

// recover lays the covers of a later step over those of the plan.
func (p *Plan) recover(s *Snapshot, covers []CoverChange) {
	if len(covers) == 0 {
		return
	}
	later := make(map[pool.AttemptID]pool.Split, len(covers))
	for _, c := range covers {
		later[c.Attempt] = c.Split
	}
	for i := range p.Admit {
		id := pool.AttemptID{Job: p.Admit[i].Job, N: freshTry}
		if x, ok := later[id]; ok {
			p.Admit[i].Split = x
			delete(later, id)
		}
	}
	for _, c := range p.Covers {
		if _, ok := later[c.Attempt]; !ok {
			later[c.Attempt] = c.Split
		}
	}
	p.Covers = p.Covers[:0]
	for i := range s.Running {
		a := &s.Running[i]
		if x, ok := later[a.ID]; ok && x != a.Split {
			p.Covers = append(p.Covers, CoverChange{a.ID, x})
			delete(later, a.ID)
		}
	}
	sortBy(p.Covers, func(x, y CoverChange) bool { return attemptBefore(x.Attempt, y.Attempt) })
}
