package quota

import (
	"slices"

	"gpupool/domain/pool"
)

// Answer is what would happen to a job that isn't there yet.
type Answer struct {
	Admitted  bool         // would start now
	Promised  bool         // would start when GPUs taken back for it are free
	Class     pool.ClassID // the class it gets; its first class while it waits
	Tier      pool.Tier
	Split     pool.Split // what it would be charged as at its start; zero while it waits
	Placement []NodeGPUs
	Reasons   []pool.Reason // while it waits
	Position  int
	// Start is an upper bound from declared ends, if nothing new is submitted
	// and no owner claims: now when admitted, pool.Never when it can't be told.
	Start pool.Instant
}

// Quote asks Decide about one more job. A job of the same id in the queue is
// replaced by it.
func Quote(s Snapshot, j Job, now pool.Instant) Answer {
	s = with(s, j)
	plan := Decide(s, now)
	a := Answer{Tier: j.Tier, Start: now}
	if len(j.Classes) > 0 {
		a.Class = j.Classes[0]
	}
	for _, x := range plan.Admit {
		if x.Job == j.ID {
			a.Admitted, a.Class, a.Split, a.Placement = true, x.Class, x.Split, x.Placement
			return a
		}
	}
	for _, w := range plan.Wait {
		if w.Job == j.ID {
			a.Reasons, a.Position = w.Reasons, w.Position
		}
	}
	for _, r := range plan.Reclaim {
		if r.Job == j.ID {
			a.Promised, a.Class, a.Placement, a.Start = true, r.Class, r.Placement, r.StopAt
			return a
		}
	}
	a.Start = foresee(s, j.ID, plan, now)
	return a
}

// ExpectedStart is the latest start of a job, pending or new, by the declared
// ends of what runs and of what is started before it, if nothing new is
// submitted. pool.Never when that can't be told: work without a declared end
// is in the way, or a pause that nobody has dated.
func ExpectedStart(s Snapshot, j Job, now pool.Instant) pool.Instant {
	s = with(s, j)
	return foresee(s, j.ID, Decide(s, now), now)
}

// with is the snapshot with a job in its queue; the caller's slices stay as
// they are.
func with(s Snapshot, j Job) Snapshot {
	s.Pending = append(slices.DeleteFunc(slices.Clone(s.Pending), func(x Job) bool { return x.ID == j.ID }), j)
	return s
}

// looks bounds the decisions of one forecast. Ends are gathered into so many
// steps, each at its latest end, so that the bound stays one.
const looks = 48

// foresee plays the declared ends through Decide until the job starts.
func foresee(s Snapshot, id pool.JobID, plan Plan, now pool.Instant) pool.Instant {
	f := forecast{snap: s, jobs: map[pool.JobID]Job{}, tries: map[pool.JobID]int{}}
	f.snap.Running = slices.Clone(s.Running)
	f.snap.Brief = true
	for _, j := range f.snap.Pending {
		f.jobs[j.ID] = j
	}
	for left := looks; left > 0; left-- {
		if f.apply(plan, id, now) {
			return now
		}
		next, ok := f.next(now, left)
		if !ok {
			return pool.Never
		}
		now = next
		f.end(now)
		plan = Decide(f.snap, now)
	}
	return pool.Never
}

// forecast is a pool in which everything runs to its declared end.
type forecast struct {
	snap  Snapshot
	jobs  map[pool.JobID]Job
	tries map[pool.JobID]int
}

// apply starts what the plan starts; true when the job is among it.
func (f *forecast) apply(plan Plan, id pool.JobID, now pool.Instant) bool {
	started := map[pool.JobID]bool{}
	for _, a := range plan.Admit {
		started[a.Job] = true
		j := f.jobs[a.Job]
		f.tries[j.ID]++
		x := j.begin(a, f.snap.Classes, now)
		x.ID.N = 1_000_000 + f.tries[j.ID]
		f.snap.Running = append(f.snap.Running, x)
	}
	over := map[pool.JobID]bool{}
	for _, w := range plan.Withdrawn {
		over[w.Job] = true
	}
	f.snap.Promises = slices.DeleteFunc(slices.Clone(f.snap.Promises), func(p Promise) bool { return started[p.Job] || over[p.Job] })
	f.snap.Promises = append(f.snap.Promises, plan.Reclaim...)
	f.snap.Pending = slices.DeleteFunc(slices.Clone(f.snap.Pending), func(j Job) bool { return started[j.ID] })
	return started[id]
}

// next is the moment of the next look: the soonest change, or a later one when
// more changes than looks are left.
func (f *forecast) next(now pool.Instant, left int) (pool.Instant, bool) {
	var at []pool.Instant
	add := func(t pool.Instant) {
		if t > now && t != pool.Never {
			at = append(at, t)
		}
	}
	for i := range f.snap.Running {
		add(f.snap.Running[i].MaxEnd)
		add(f.snap.Running[i].MinRunUntil)
	}
	victims := f.victims(now)
	for i := range f.snap.Running {
		if victims[f.snap.Running[i].ID] {
			return now, true
		}
	}
	for _, p := range f.snap.Promises {
		add(p.StopAt)
	}
	for i := range f.snap.Pending {
		add(f.snap.Pending[i].NotBefore)
	}
	for _, w := range f.snap.Windows {
		add(w.Closed.End)
	}
	if len(at) == 0 {
		return 0, false
	}
	slices.Sort(at)
	return at[(len(at)-1)/left], true
}

// victims are the attempts whose notice is over.
func (f *forecast) victims(now pool.Instant) map[pool.AttemptID]bool {
	gone := map[pool.AttemptID]bool{}
	for _, p := range f.snap.Promises {
		if p.StopAt <= now {
			for _, v := range p.Victims {
				gone[v] = true
			}
		}
	}
	return gone
}

// end takes away what has ended by then; victims queue again.
func (f *forecast) end(now pool.Instant) {
	victims := f.victims(now)
	f.snap.Running = slices.DeleteFunc(f.snap.Running, func(a Attempt) bool {
		switch {
		case victims[a.ID] && len(a.Placement) > 0:
			j := Job{ID: a.ID.Job, Org: a.Org, Project: a.Project, User: a.User, Classes: []pool.ClassID{a.Class}, Nodes: len(a.Placement),
				GPUs: a.Placement[0].GPUs, Tier: a.Tier, Priority: a.Priority, Submitted: a.Submitted, Fixed: a.Fixed, Charges: a.Charges}
			if a.MaxEnd != 0 && a.MaxEnd != pool.Never {
				j.MaxRun = a.MaxEnd.Sub(a.Started)
			}
			if k, ok := f.jobs[j.ID]; ok {
				j = k
			}
			f.jobs[j.ID] = j
			f.snap.Pending = append(f.snap.Pending, j)
			return true
		}
		return a.Stopping || a.MaxEnd != 0 && a.MaxEnd <= now
	})
}
