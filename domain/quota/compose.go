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
	started  []int32
}

// resolve decides a snapshot from nothing.
func resolve(s *Snapshot, now pool.Instant) decision {
	e := build(s, now)
	d := e.resolve()
	if !s.Brief {
		d.plan.Wait = e.explain()
	}
	return d
}

// resolve decides step by step, each on what the steps before leave, until a
// step changes nothing (I7): an admission may turn other work of its
// organisation into a loan, and a victim may free more than its beneficiary
// takes. It takes up its plan: afterwards what it admitted runs, its promises
// are open and its covers are written.
func (e *engine) resolve() decision {
	d := decision{tries: make([]int, len(e.classes))}
	for step := 1; ; step++ {
		e.decide()
		d.cleared += e.cleared
		for c := range e.tries {
			d.tries[c] += e.tries[c]
		}
		changed, more := e.plan.Changes(), e.follows()
		if changed && step > 1 {
			d.followed++
		}
		d.plan.Reserved = e.plan.Reserved
		d.merge(e)
		if !changed {
			break
		}
		e.takeUp()
		if !more || step == maxSteps {
			break
		}
		e.nextStep()
	}
	e.conclude(&d)
	return d
}

// follows says whether another step could change anything: something was
// changed, and a job or a promise is left that it could help, or guaranteed
// work lost the included hours that paid for it.
func (e *engine) follows() bool {
	if !e.plan.Changes() {
		return false
	}
	if len(e.plan.Reclaim)+len(e.plan.ToBurst) > 0 || slices.ContainsFunc(e.promises, func(o openPromise) bool { return !o.over }) {
		return true
	}
	for b := range e.buckets {
		if e.headOf(int32(b)) != nil {
			return true
		}
	}
	return false
}

// takeUp makes the plan of a step true in the working state.
func (e *engine) takeUp() {
	for _, i := range e.started {
		r := &e.runs[i]
		if k, ok := e.jobAt(r.id.Job); ok {
			e.forget(k)
		}
		r.running, r.fresh, r.id.N = true, true, freshTry
		e.name(i)
		e.guard(i)
	}
	e.started = e.started[:0]
	e.takePromises()
}

// takePromises drops the promises that are over and opens those that the step
// has made.
func (e *engine) takePromises() {
	for i := range e.promises {
		if o := &e.promises[i]; o.over {
			e.clearNotice(o.victims)
			if o.active && !o.kept {
				e.leave(o.run)
			}
		}
	}
	e.promises = slices.DeleteFunc(e.promises, func(o openPromise) bool { return o.over })
	for i := range e.made {
		m := &e.made[i]
		p := e.plan.Reclaim[m.at]
		o := openPromise{stored: &p, active: true, fresh: true, job: m.job, class: e.runs[m.run].class, run: m.run, nodes: e.runs[m.run].nodes,
			victims: slices.Concat(m.taken, m.rides)}
		e.byID(o.victims)
		e.promises = append(e.promises, o)
	}
	if len(e.made) > 0 {
		sortBy(e.promises, func(x, y openPromise) bool { return x.stored.Job < y.stored.Job })
	}
	for i := range e.promises {
		o := &e.promises[i]
		for _, v := range o.victims {
			e.runs[v].stopAt = max(e.runs[v].stopAt, o.stored.StopAt)
		}
	}
	for _, v := range e.sentOff { // who told them to stop is no promise any more
		if r := &e.runs[v]; r.gone && r.promised == 0 {
			e.restore(v)
		}
	}
	e.made, e.kept, e.sentOff = e.made[:0], e.kept[:0], e.sentOff[:0]
}

func (e *engine) clearNotice(victims []int32) {
	for _, v := range victims {
		e.runs[v].stopAt = e.runs[v].noticeAt
	}
}

// nextStep begins another step: reservations and what got surplus are found
// anew.
func (e *engine) nextStep() {
	e.plan = Plan{Version: e.in.Version}
	clear(e.surplus)
	if e.policy.FairReclaim { // which looks at the surplus
		e.forgetRefusals()
	}
	clear(e.tries)
	e.cleared = 0
	for c := range e.reserved {
		if e.reserved[c].set {
			e.clearReservation(int32(c))
		}
		e.orderSpots(int32(c))
	}
	e.checkPromises()
	e.touched = e.touched[:0]
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

// after is the snapshot that a plan leaves. The slices of the one before stay
// as they are.
func after(s *Snapshot, p Plan, now pool.Instant) Snapshot {
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
	split := make(map[pool.AttemptID]pool.Split, len(p.Covers))
	for _, c := range p.Covers {
		split[c.Attempt] = c.Split
	}
	next.Running, next.Promises = slices.Grow([]Attempt(nil), len(s.Running)+len(p.Admit)), nil
	next.Pending = slices.Grow([]Job(nil), max(0, len(s.Pending)-len(p.Admit)))
	for _, a := range s.Running {
		if x, ok := split[a.ID]; ok {
			a.Split = x
		}
		next.Running = append(next.Running, a)
	}
	enforced(next.Running, p)
	for i := range s.Pending {
		j := &s.Pending[i]
		if a := admitted[j.ID]; a != nil {
			next.Running = append(next.Running, j.begin(*a, s.Classes, now))
		} else {
			next.Pending = append(next.Pending, *j)
		}
	}
	for _, x := range s.Promises {
		if !over[x.Job] {
			next.Promises = append(next.Promises, x)
		}
	}
	next.Promises = append(next.Promises, p.Reclaim...)
	return next
}

// merge adds the plan of a step, so that the caller sees one decision: a
// promise that is over again was never there.
func (d *decision) merge(e *engine) {
	p, next := &d.plan, &e.plan
	p.Version = next.Version
	d.started = append(d.started, e.started...)
	if len(p.Reclaim) > 0 && len(next.Withdrawn)+len(next.Admit) > 0 {
		over := make(map[pool.JobID]bool, len(next.Withdrawn)+len(next.Admit))
		for _, a := range next.Admit {
			over[a.Job] = true
		}
		made := make(map[pool.JobID]bool, len(p.Reclaim))
		for _, r := range p.Reclaim {
			made[r.Job] = true
		}
		for i := range next.Withdrawn {
			w := &next.Withdrawn[i]
			over[w.Job] = true
			if made[w.Job] {
				for _, v := range w.Keep {
					d.spare(e.ended, v)
				}
				continue
			}
			p.Withdrawn = append(p.Withdrawn, *w)
		}
		p.Reclaim = slices.DeleteFunc(p.Reclaim, func(r Promise) bool { return over[r.Job] })
	} else {
		p.Withdrawn = append(p.Withdrawn, next.Withdrawn...)
	}
	p.Admit = append(p.Admit, next.Admit...)
	p.Reclaim = append(p.Reclaim, next.Reclaim...)
	p.Stop = append(p.Stop, next.Stop...)
	p.Resume = append(p.Resume, next.Resume...)
	p.ToSpot = append(p.ToSpot, next.ToSpot...)
	for _, x := range next.Above { // the last word holds
		p.Above = slices.DeleteFunc(p.Above, func(y Above) bool { return y.Attempt == x.Attempt })
	}
	p.Above = append(p.Above, next.Above...)
	p.ToBurst = append(p.ToBurst, next.ToBurst...)
}

// spare lets a victim run on that one of the stored promises that ended,
// withdrawn by the plan, had put under notice.
func (d *decision) spare(ended []*Promise, v pool.AttemptID) {
	for i := range d.plan.Withdrawn {
		w := &d.plan.Withdrawn[i]
		had := slices.ContainsFunc(ended, func(x *Promise) bool { return x.Job == w.Job && !x.Sent && slices.Contains(x.Victims, v) })
		if had && !slices.Contains(w.Keep, v) {
			w.Keep = append(w.Keep, v)
		}
	}
}

// conclude writes the covers that all steps together have moved.
func (e *engine) conclude(d *decision) {
	for k, i := range d.started {
		d.plan.Admit[k].Split, e.runs[i].fresh = e.runs[i].split, false
	}
	for i := range e.promises {
		e.promises[i].fresh = false
	}
	e.ended = e.ended[:0]
	for i, was := range e.was {
		if r := &e.runs[i]; r.split != was {
			d.plan.Covers = append(d.plan.Covers, CoverChange{r.id, r.split})
		}
	}
	sortBy(d.plan.Covers, func(x, y CoverChange) bool { return attemptBefore(x.Attempt, y.Attempt) })
	clear(e.was)
	slices.Sort(e.faults)
	e.faults = slices.Compact(e.faults)
	d.plan.Problems = append(slices.Clone(e.faults), e.cycles()...)
	d.plan.Next = e.next()
}
