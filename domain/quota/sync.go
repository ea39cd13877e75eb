package quota

import (
	"reflect"
	"slices"

	"gpupool/domain/pool"
)

// PutJob adds a pending job, or changes it.
func (st *State) PutJob(j Job) {
	st.DropJob(j.ID)
	if st.e == nil || !st.addJob(&j) {
		st.giveUp()
		st.snap.Pending = append(without(st.snap.Pending, func(x *Job) bool { return x.ID == j.ID }), j)
	}
}

// DropJob takes a pending job away: it was cancelled.
func (st *State) DropJob(id pool.JobID) {
	if st.e != nil {
		st.dropJob(id)
	} else {
		st.snap.Pending = without(st.snap.Pending, func(x *Job) bool { return x.ID == id })
	}
}

// PutAttempt tells of a running attempt, or of its change. One that a plan of
// the state has started is recognised by its job.
func (st *State) PutAttempt(a Attempt) {
	if st.e == nil || !st.putAttempt(&a) {
		st.giveUp()
		st.snap.Running = append(without(st.snap.Running, among(a.ID)), a)
	}
}

// DropAttempt takes an attempt away: it holds no GPUs any more.
func (st *State) DropAttempt(id pool.AttemptID) {
	if st.e == nil {
		st.snap.Running = without(st.snap.Running, among(id))
		return
	}
	i, ok := st.e.find(id)
	if !ok {
		i, ok = st.e.find(pool.AttemptID{Job: id.Job, N: freshTry})
	}
	if ok && !st.dropAttempt(i) {
		st.giveUp()
	}
}

// PutPromise tells of a stored promise, or of its change.
func (st *State) PutPromise(p Promise) {
	if st.e != nil {
		st.putPromise(&p)
	} else {
		st.snap.Promises = append(without(st.snap.Promises, func(x *Promise) bool { return x.Job == p.Job }), p)
	}
}

// DropPromise takes a stored promise away.
func (st *State) DropPromise(j pool.JobID) {
	if st.e != nil {
		st.dropPromises(func(o *openPromise) bool { return o.stored.Job == j })
	} else {
		st.snap.Promises = without(st.snap.Promises, func(x *Promise) bool { return x.Job == j })
	}
}

// PutLoanUse tells what an organisation has borrowed of a class until an
// instant, and what it borrows from then on.
func (st *State) PutLoanUse(d DecayedUse) {
	i := slices.IndexFunc(st.snap.Decayed, func(x DecayedUse) bool { return x.Org == d.Org && x.Class == d.Class })
	if i < 0 {
		st.snap.Decayed = append(st.snap.Decayed, d)
	} else {
		st.snap.Decayed[i] = d
	}
}

// among finds an attempt, or the one that a plan has started for its job.
func among(id pool.AttemptID) func(*Attempt) bool {
	return func(x *Attempt) bool { return x.ID == id || x.ID.Job == id.Job && x.ID.N == freshTry }
}

// without is a list without some of its items; the old one stays as it is.
func without[T any](s []T, is func(*T) bool) []T {
	return slices.DeleteFunc(slices.Clone(s), func(x T) bool { return is(&x) })
}

// Sync finds what differs between the state and a snapshot, and follows it.
func (st *State) Sync(s Snapshot) {
	if st.e == nil || st.differs(&s) || !st.follow(&s) || len(st.e.faults) > 0 {
		st.take(s)
	}
}

// follow changes the state in place; false when it can't.
func (st *State) follow(s *Snapshot) bool {
	st.snap.Version, st.snap.Brief, st.snap.Habits = s.Version, s.Brief, s.Habits
	if !slices.Equal(st.snap.Decayed, s.Decayed) {
		st.snap.Decayed = slices.Clone(s.Decayed)
	}
	if !slices.EqualFunc(st.snap.Budgets, s.Budgets, sameBudget) {
		st.snap.Budgets = slices.Clone(s.Budgets)
		st.e.budgets = budgets{}
		st.e.indexBudgets()
	}
	st.marks++
	return st.syncAttempts(s.Running) && st.syncJobs(s.Pending) && st.syncPromises(s.Promises)
}

// differs says whether anything changed that isn't followed in place.
func (st *State) differs(s *Snapshot) bool {
	return st.snap.Policy != s.Policy || !slices.Equal(st.snap.Classes, s.Classes) || !slices.Equal(st.snap.Nodes, s.Nodes) ||
		!slices.EqualFunc(st.snap.Orgs, s.Orgs, func(x, y Org) bool {
			return x.ID == y.ID && x.Weight == y.Weight && x.Paused == y.Paused && x.NoSubscription == y.NoSubscription && sameQuotas(x.Quotas, y.Quotas)
		}) ||
		!slices.EqualFunc(st.snap.Projects, s.Projects, func(x, y Project) bool {
			return x.ID == y.ID && x.Org == y.Org && x.Paused == y.Paused && x.OwnNodesOnly == y.OwnNodesOnly && x.NoSharedNode == y.NoSharedNode &&
				sameQuotas(x.Quotas, y.Quotas) && slices.Equal(x.Sites, y.Sites) && slices.Equal(x.NodeOwners, y.NodeOwners)
		}) ||
		!slices.Equal(st.snap.Windows, s.Windows)
}

func sameQuotas(x, y []Quota) bool {
	limit := func(a, b *int) bool { return a == b || a != nil && b != nil && *a == *b }
	return slices.EqualFunc(x, y, func(a, b Quota) bool {
		return a.Class == b.Class && a.Nominal == b.Nominal && limit(a.BorrowLimit, b.BorrowLimit) && limit(a.LendLimit, b.LendLimit) && limit(a.Weight, b.Weight) &&
			slices.Equal(a.Ahead, b.Ahead)
	})
}

func sameBudget(x, y Budget) bool {
	a, b := x.Included, y.Included
	x.Included, y.Included = nil, nil
	return reflect.DeepEqual(x, y) && slices.Equal(a, b)
}

func (st *State) syncJobs(jobs []Job) bool {
	e := st.e
	for i := range jobs {
		j := &jobs[i]
		if k, ok := e.jobAt(j.ID); ok {
			if e.jobs[k].seen == st.marks {
				return false // it stands twice
			}
			if sameJob(e.jobs[k].of, j) {
				e.jobs[k].seen = st.marks
				continue
			}
			st.dropJob(j.ID)
		}
		own := *j
		if !st.addJob(&own) {
			return false
		}
	}
	if len(jobs) < len(e.jobs)-len(e.freeJobs)-len(e.deadJobs) {
		for i := range e.jobs {
			if j := &e.jobs[i]; !j.dead && j.seen != st.marks {
				st.dropJob(j.of.ID)
			}
		}
	}
	return true
}

func sameJob(x, y *Job) bool {
	return x.Org == y.Org && x.Project == y.Project && x.User == y.User && x.Nodes == y.Nodes && x.GPUs == y.GPUs && x.Tier == y.Tier &&
		x.Priority == y.Priority && x.Submitted == y.Submitted && x.MaxRun == y.MaxRun && x.NotBefore == y.NotBefore && x.Deadline == y.Deadline && x.DataSite == y.DataSite &&
		x.Paused == y.Paused && x.Fixed == y.Fixed && slices.Equal(x.Classes, y.Classes) && slices.Equal(x.DependsOn, y.DependsOn) && slices.Equal(x.Charges, y.Charges)
}

// addJob puts a job into the state, which keeps it; false when that can't be
// done in place.
func (st *State) addJob(j *Job) bool {
	e := st.e
	if _, known := e.orgAt[j.Org]; !known {
		return false
	}
	i := int32(len(e.jobs))
	if n := len(e.freeJobs); n > 0 {
		i, e.freeJobs = e.freeJobs[n-1], e.freeJobs[:n-1]
	} else {
		e.jobs = append(e.jobs, job{})
	}
	x := &e.jobs[i]
	e.readJob(x, j)
	x.slot = i
	x.seen = st.marks
	e.jobSlots.room(1, e.hashJob)
	e.jobSlots.put(e.hashJob(i), i)
	e.file(i)
	return true
}

func (st *State) dropJob(id pool.JobID) {
	e := st.e
	i, ok := e.jobAt(id)
	if !ok {
		return
	}
	if e.jobs[i].done {
		for k := range e.promises {
			if o := &e.promises[k]; o.active && o.job == i {
				e.deactivate(o)
			}
		}
	}
	e.forget(i)
}

func (st *State) syncAttempts(attempts []Attempt) bool {
	e := st.e
	for i := range attempts {
		a := &attempts[i]
		k, ok := e.find(a.ID)
		if ok && e.runs[k].seen == st.marks {
			return false // it stands twice
		}
		if !ok || e.runs[k].of == nil || !sameAttempt(e.runs[k].of, a) {
			own := *a
			a = &own
		}
		if !st.putAttempt(a) {
			return false
		}
	}
	for i := range e.runs {
		if r := &e.runs[i]; r.running && !r.dead && r.seen != st.marks && !st.dropAttempt(int32(i)) {
			return false
		}
	}
	return true
}

// sameAttempt compares what neither a plan nor a stop changes.
func sameAttempt(x, y *Attempt) bool {
	return x.Org == y.Org && x.Project == y.Project && x.User == y.User && x.Class == y.Class && x.Tier == y.Tier && x.Priority == y.Priority &&
		x.Submitted == y.Submitted && x.Started == y.Started && x.MaxEnd == y.MaxEnd && x.MinRunUntil == y.MinRunUntil && x.Fixed == y.Fixed && x.Broken == y.Broken &&
		slices.Equal(x.Placement, y.Placement) && slices.Equal(x.Charges, y.Charges)
}

// putAttempt follows an attempt as it is now; false when that can't be done in
// place.
func (st *State) putAttempt(a *Attempt) bool {
	e := st.e
	i, ok := e.find(a.ID)
	if !ok {
		if i, ok = e.find(pool.AttemptID{Job: a.ID.Job, N: freshTry}); ok {
			x := e.attempt(&e.runs[i])
			x.User, x.Submitted = a.User, a.Submitted
			if !sameAttempt(&x, a) {
				ok = false
				if !st.dropAttempt(i) {
					return false
				}
			} else {
				e.runs[i].id, e.runs[i].of = a.ID, a
			}
		}
	}
	if ok && (!sameAttempt(e.runs[i].of, a) || e.runs[i].stopping && !a.Stopping || !e.runs[i].noticed(a) || e.runs[i].until != a.GuaranteedUntil) {
		ok = false
		if e.runs[i].promised > 0 || !st.dropAttempt(i) {
			return false
		}
	}
	if !ok {
		return st.addAttempt(a)
	}
	r := &e.runs[i]
	r.seen = st.marks
	if a.Split != r.split {
		r.split = a.Split
		if r.tier == pool.Spot {
			e.oddSpots = append(slices.DeleteFunc(e.oddSpots, func(k int32) bool { return k == i }), i)
		} else {
			e.held[e.oc(r.class, r.org)].written = false
		}
	}
	if a.Stopping && !r.stopping {
		r.stopping = true
		e.noticed = slices.DeleteFunc(e.noticed, func(k int32) bool { return k == i })
		if !r.gone {
			e.release(i)
		}
		return st.plain(i)
	}
	return true
}

// noticed says whether a run is under the notice that the snapshot tells.
func (r *run) noticed(a *Attempt) bool {
	return r.notice == a.Notice && (a.Notice == "" || r.noticeAt == a.StopAt)
}

// plain says whether an attempt is on open nodes that aren't overcrowded. What
// runs on others counts as capacity, or is a contradiction: where that changes,
// the state is built anew.
func (st *State) plain(i int32) bool {
	for _, h := range st.e.runs[i].nodes {
		if n := &st.e.nodes[max(0, h.node)]; h.node < 0 || !n.open || n.held > n.cap {
			return false
		}
	}
	return true
}

func (st *State) addAttempt(a *Attempt) bool {
	e := st.e
	if _, known := e.orgAt[a.Org]; !known {
		return false
	}
	for k := range e.promises {
		if slices.Contains(e.promises[k].stored.Victims, a.ID) {
			return false // a victim that comes back
		}
	}
	e.start(a)
	i, ok := e.find(a.ID)
	if !ok {
		return false
	}
	e.runs[i].seen = st.marks
	return st.plain(i)
}

func (st *State) dropAttempt(i int32) bool {
	e := st.e
	plain := st.plain(i)
	if e.runs[i].promised > 0 {
		for k := range e.promises {
			o := &e.promises[k]
			o.victims = slices.DeleteFunc(o.victims, func(v int32) bool { return v == i })
		}
	}
	e.leave(i)
	return plain
}

func (st *State) syncPromises(promises []Promise) bool {
	e := st.e
	at := make(map[pool.JobID]*Promise, len(promises))
	for i := range promises {
		if at[promises[i].Job] != nil {
			return false // a job has two
		}
		at[promises[i].Job] = &promises[i]
	}
	st.dropPromises(func(o *openPromise) bool {
		p := at[o.stored.Job]
		if p == nil || !samePromise(o.stored, p) {
			return true
		}
		if p.Sent != o.stored.Sent {
			own := *p
			o.stored = &own
		}
		delete(at, p.Job)
		return false
	})
	for _, p := range at {
		own := *p
		e.promises = append(e.promises, openPromise{stored: &own})
	}
	return true
}

func samePromise(x, y *Promise) bool {
	return x.Class == y.Class && x.StopAt == y.StopAt && x.Rule == y.Rule && slices.Equal(x.Placement, y.Placement) && slices.Equal(x.Victims, y.Victims)
}

func (st *State) putPromise(p *Promise) {
	e := st.e
	for i := range e.promises {
		if o := &e.promises[i]; o.stored.Job == p.Job && samePromise(o.stored, p) {
			o.stored = p
			return
		}
	}
	st.dropPromises(func(o *openPromise) bool { return o.stored.Job == p.Job })
	e.promises = append(e.promises, openPromise{stored: p})
}

func (st *State) dropPromises(is func(*openPromise) bool) {
	e := st.e
	kept := e.promises[:0]
	for i := range e.promises {
		o := e.promises[i]
		if !is(&o) {
			kept = append(kept, o)
		} else if o.active {
			e.deactivate(&o)
		}
	}
	clear(e.promises[len(kept):])
	e.promises = kept
}
