package quota

import (
	"slices"
	"time"

	"gpupool/domain/pool"
)

// forecast is a pool that lives on. Everything runs to its declared end, or to
// the end that ends draws for it; coming is what is submitted later.
type forecast struct {
	st     *State
	from   pool.Instant
	now    pool.Instant
	ends   func(a *Attempt, now pool.Instant) pool.Instant // nil: the declared end
	coming func() (Job, bool)                              // the next submission, in order; nil: none
	come   *Job                                            // of them, the one that is next
	wake   pool.Instant
	due    heap[due]
	stays  map[pool.AttemptID]stay
	waits  map[pool.JobID][]pool.JobID // who waits for the end of a job
	held   map[pool.JobID]Job          // the jobs that wait for others
	turns  int
	ops    int  // work of all decisions so far
	coarse bool // several changes were taken at one look
	late   time.Duration
}

// due is an end or a stop.
type due struct {
	at   pool.Instant
	id   pool.AttemptID
	turn int // of its stay
	stop bool
}

// stay is an attempt that runs: which of those with its id it is, and when it
// is stopped for others; pool.Never when it isn't.
type stay struct {
	turn int
	stop pool.Instant
}

func (d due) before(x due) bool {
	if d.at != x.at {
		return d.at < x.at
	}
	return d.turn < x.turn || d.turn == x.turn && !d.stop && x.stop
}

// newForecast begins with a snapshot whose last plan was carried out.
func newForecast(s Snapshot, now pool.Instant, ends func(*Attempt, pool.Instant) pool.Instant, coming func() (Job, bool)) *forecast {
	s.Brief = true
	s.Budgets = slices.Clone(s.Budgets)
	f := &forecast{st: NewState(s), from: now, now: now, ends: ends, coming: coming, wake: now,
		stays: make(map[pool.AttemptID]stay, len(s.Running)), waits: map[pool.JobID][]pool.JobID{}, held: map[pool.JobID]Job{}}
	stops := map[pool.AttemptID]pool.Instant{}
	for _, p := range s.Promises {
		for _, v := range p.Victims {
			stops[v] = p.StopAt
		}
	}
	f.due = heap[due]{less: due.before}
	for i := range s.Running {
		a := &s.Running[i]
		f.stay(a)
		if t, ok := stops[a.ID]; ok {
			f.stop(a.ID, t)
		} else if a.Notice != "" {
			f.stop(a.ID, a.StopAt)
		}
	}
	for _, j := range s.Pending {
		if len(j.DependsOn) > 0 {
			f.held[j.ID] = j
			for _, d := range j.DependsOn {
				f.waits[d] = append(f.waits[d], j.ID)
			}
		}
	}
	f.fetch()
	return f
}

func (f *forecast) fetch() {
	f.come = nil
	if f.coming == nil {
		return
	}
	if j, ok := f.coming(); ok {
		f.come = &j
	}
}

// stay lets an attempt run to its end.
func (f *forecast) stay(a *Attempt) {
	end := a.MaxEnd
	switch {
	case a.Stopping:
		end = max(f.now, a.StopAt)
	case f.ends != nil:
		end = f.ends(a, f.now)
	case end == 0:
		end = pool.Never
	}
	f.turns++
	f.stays[a.ID] = stay{f.turns, pool.Never}
	if end != pool.Never {
		// What began between two looks ends as much sooner.
		f.push(due{max(f.now, end.Add(-f.late)), a.ID, f.turns, false})
	}
}

func (f *forecast) push(d due) {
	f.due.items = append(f.due.items, d)
	f.due.up(len(f.due.items) - 1)
}

// stop plans the stop of an attempt for others.
func (f *forecast) stop(id pool.AttemptID, at pool.Instant) {
	s, ok := f.stays[id]
	if !ok || s.stop != pool.Never {
		return
	}
	s.stop = at
	f.stays[id] = s
	f.push(due{at, id, s.turn, true})
}

// look decides at the next moment at which something changes, or at a later
// one when ahead says that it needn't be so exact, and takes the plan up. False when
// nothing will ever change.
func (f *forecast) look(ahead time.Duration) (Plan, bool) {
	t := f.wake
	if len(f.due.items) > 0 {
		t = min(t, f.due.items[0].at)
	}
	if f.come != nil {
		t = min(t, f.come.Submitted)
	}
	if t == pool.Never {
		return Plan{}, false
	}
	before := f.now
	f.now = max(f.now, t)
	if f.now > before {
		f.now = max(f.now, before.Add(ahead))
	}
	changes := 0
	for len(f.due.items) > 0 && f.due.items[0].at <= f.now {
		if f.happens(f.due.pop()) {
			changes++
		}
	}
	for f.come != nil && f.come.Submitted <= f.now {
		changes++
		f.st.PutJob(*f.come)
		f.fetch()
	}
	f.coarse, f.late = changes > 1 && f.now > before, 0
	if f.coarse {
		f.late = f.now.Sub(before) / 2
	}
	plan := f.st.Decide(f.now)
	f.ops += f.st.told.work.sum() + len(f.stays)
	f.take(plan)
	return plan, true
}

// take follows what a plan does to the work of the pool.
func (f *forecast) take(plan Plan) {
	f.wake = plan.Next
	for _, w := range plan.Withdrawn {
		for _, id := range w.Keep {
			f.runOn(id)
		}
	}
	for _, id := range plan.Resume {
		f.runOn(id)
	}
	for _, x := range plan.Admit {
		if a, _, ok := f.st.attempt(pool.AttemptID{Job: x.Job, N: freshTry}); ok {
			f.stay(&a)
		}
	}
	for _, p := range plan.Reclaim {
		for _, v := range p.Victims {
			f.stop(v, p.StopAt)
		}
	}
	for _, x := range plan.Stop {
		f.stop(x.Attempt, x.At)
	}
}

func (f *forecast) runOn(id pool.AttemptID) {
	if s, ok := f.stays[id]; ok {
		s.stop = pool.Never
		f.stays[id] = s
	}
}

// happens takes an attempt away; false when it left before, or runs on. One
// that is stopped queues again with what is left of its limit.
func (f *forecast) happens(d due) bool {
	s, ok := f.stays[d.id]
	if !ok || s.turn != d.turn || d.stop && s.stop != d.at {
		return false
	}
	a, from, ok := f.st.attempt(d.id)
	delete(f.stays, d.id)
	if !ok {
		return false
	}
	f.spend(&a, d.at)
	f.st.DropAttempt(d.id)
	if d.stop {
		j := a.again(d.at)
		if from != nil {
			left := j.MaxRun
			j = *from
			j.MaxRun, j.DependsOn, j.NotBefore = left, nil, 0
		}
		if len(a.Placement) > 0 {
			f.st.PutJob(j)
		}
		return true
	}
	for _, id := range f.waits[d.id.Job] {
		j := f.held[id]
		j.DependsOn = slices.DeleteFunc(slices.Clone(j.DependsOn), func(x pool.JobID) bool { return x == d.id.Job })
		f.held[id] = j
		f.st.PutJob(j)
	}
	delete(f.waits, d.id.Job)
	return true
}

// spend writes what an attempt used into its budgets, since it is committed no
// more.
func (f *forecast) spend(a *Attempt, end pool.Instant) {
	use := pool.GPUMillis(0)
	for _, p := range a.Placement {
		use += pool.GPUMillis(int64(p.GPUs) * int64(max(0, end-max(a.Started, f.from))))
	}
	budgets := f.st.snap.Budgets
	for _, c := range a.Charges {
		i := slices.IndexFunc(budgets, func(b Budget) bool { return b.ID == c.Budget })
		if i >= 0 && !c.Included && (c.Class == "" || c.Class == a.Class) {
			budgets[i].Spent += UpTo(use, c.Price)
		}
	}
}

// attempt is one that runs in the state, and the job of which a plan made it.
func (st *State) attempt(id pool.AttemptID) (Attempt, *Job, bool) {
	if e := st.e; e != nil {
		i, ok := e.find(id)
		if !ok {
			return Attempt{}, nil, false
		}
		return e.attempt(&e.runs[i]), e.runs[i].from, true
	}
	for i := range st.snap.Running {
		if st.snap.Running[i].ID == id {
			return st.snap.Running[i], nil, true
		}
	}
	return Attempt{}, nil, false
}
