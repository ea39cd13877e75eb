package quota

import (
	"slices"

	"gpupool/domain/pool"
)

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
