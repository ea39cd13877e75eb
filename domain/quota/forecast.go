package quota

import (
	"slices"

	"gpupool/domain/pool"
)

// forecast is a pool that lives on with nothing new submitted. Everything runs
// to its declared end, or to the end that ends draws for it.
type forecast struct {
	snap  Snapshot
	jobs  map[pool.JobID]Job
	tries map[pool.JobID]int
	ends  func(a *Attempt, now pool.Instant) pool.Instant // nil: the declared end
	drawn map[pool.AttemptID]pool.Instant
	from  pool.Instant
}

func newForecast(s Snapshot, now pool.Instant) *forecast {
	f := &forecast{snap: s, from: now, jobs: make(map[pool.JobID]Job, len(s.Pending)), tries: map[pool.JobID]int{}, drawn: map[pool.AttemptID]pool.Instant{}}
	f.snap.Running, f.snap.Brief = slices.Clone(s.Running), true
	f.snap.Budgets = slices.Clone(s.Budgets)
	for _, j := range s.Pending {
		f.jobs[j.ID] = j
	}
	return f
}

// endOf is when an attempt ends in this forecast.
func (f *forecast) endOf(a *Attempt, now pool.Instant) pool.Instant {
	if a.Stopping {
		return now
	}
	if f.ends == nil {
		if a.MaxEnd == 0 {
			return pool.Never
		}
		return a.MaxEnd
	}
	t, ok := f.drawn[a.ID]
	if !ok {
		t = f.ends(a, now)
		f.drawn[a.ID] = t
	}
	return t
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
	enforced(f.snap.Running, plan)
	over := map[pool.JobID]bool{}
	for _, w := range plan.Withdrawn {
		over[w.Job] = true
	}
	f.snap.Promises = slices.DeleteFunc(slices.Clone(f.snap.Promises), func(p Promise) bool { return started[p.Job] || over[p.Job] })
	f.snap.Promises = append(f.snap.Promises, plan.Reclaim...)
	f.snap.Pending = slices.DeleteFunc(slices.Clone(f.snap.Pending), func(j Job) bool { return started[j.ID] })
	return started[id]
}

// next is the moment of the next look: the change that step picks of so many
// that are known now, the soonest first.
func (f *forecast) next(now pool.Instant, step func(changes int) int) (pool.Instant, bool) {
	var at []pool.Instant
	add := func(t pool.Instant) {
		if t > now && t != pool.Never {
			at = append(at, t)
		}
	}
	victims := f.victims(now)
	for i := range f.snap.Running {
		a := &f.snap.Running[i]
		if victims[a.ID] {
			return now, true
		}
		add(max(now+1, f.endOf(a, now)))
		add(a.MinRunUntil)
		add(a.StopAt)
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
	for i := range f.snap.Nodes {
		add(f.snap.Nodes[i].Maintenance.End)
	}
	if len(at) == 0 {
		return 0, false
	}
	slices.Sort(at)
	return at[step(len(at))], true
}

// victims are the attempts whose notice is over.
func (f *forecast) victims(now pool.Instant) map[pool.AttemptID]bool {
	gone := map[pool.AttemptID]bool{}
	for i := range f.snap.Running {
		if a := &f.snap.Running[i]; a.Notice != "" && a.StopAt <= now {
			gone[a.ID] = true
		}
	}
	for _, p := range f.snap.Promises {
		if p.StopAt <= now {
			for _, v := range p.Victims {
				gone[v] = true
			}
		}
	}
	return gone
}

// end takes away what has ended by then; victims queue again with what is left
// of their limits, and what waited for a job that has ended needn't any more.
func (f *forecast) end(now pool.Instant) {
	victims, over := f.victims(now), map[pool.JobID]bool{}
	f.snap.Running = slices.DeleteFunc(f.snap.Running, func(a Attempt) bool {
		end := f.endOf(&a, now)
		switch {
		case end <= now:
			over[a.ID.Job] = true
		case victims[a.ID] && len(a.Placement) > 0:
			j, left := f.jobs[a.ID.Job], a.again(now)
			if j.ID == "" {
				j = left
			}
			j.MaxRun, j.DependsOn, j.NotBefore = left.MaxRun, nil, 0
			f.jobs[j.ID] = j
			f.snap.Pending = append(f.snap.Pending, j)
		default:
			return false
		}
		f.spend(&a, min(end, now))
		return true
	})
	for i := range f.snap.Pending {
		if j := &f.snap.Pending[i]; slices.ContainsFunc(j.DependsOn, func(d pool.JobID) bool { return over[d] }) {
			j.DependsOn = slices.DeleteFunc(slices.Clone(j.DependsOn), func(d pool.JobID) bool { return over[d] })
			f.jobs[j.ID] = *j
		}
	}
}

// spend writes what an attempt used into its budgets, since it is committed no
// more.
func (f *forecast) spend(a *Attempt, end pool.Instant) {
	use := pool.GPUMillis(0)
	for _, p := range a.Placement {
		use += pool.GPUMillis(int64(p.GPUs) * int64(max(0, end-max(a.Started, f.from))))
	}
	for _, c := range a.Charges {
		i := slices.IndexFunc(f.snap.Budgets, func(b Budget) bool { return b.ID == c.Budget })
		if i >= 0 && !c.Included && (c.Class == "" || c.Class == a.Class) {
			f.snap.Budgets[i].Spent += UpTo(use, c.Price)
		}
	}
}
