package quota

import (
	"slices"

	"gpupool/domain/pool"
)

// State is the engine's working state, kept from one decision to the next. A
// decision takes up its own plan, so that afterwards the state is that of a
// pool in which the plan was carried out; what happens is told to it, by
// events or by Sync. Its plan is then always that of Decide for the same
// snapshot.
//
// What it keeps of a snapshot are its own copies; the slices inside a job, an
// attempt or a promise are shared and must not be changed in place. It isn't
// safe for concurrent use.
//
// Jobs, attempts, promises, budgets and the time are followed in place. Where
// anything else changes (hardware, members, quotas, windows, policy), where
// time passes the edge of a maintenance, and as long as the snapshot
// contradicts itself, it is built anew.
type State struct {
	snap    Snapshot // without a working state: all of it; else its lists of work are empty
	e       *engine  // the working state; nil when it must be built anew
	told    *engine  // in which the last decision was made
	builds  int
	marks   uint32
	waiting map[int32][]pool.Reason // of buckets' heads, since the last decision
}

// NewState keeps a snapshot.
func NewState(s Snapshot) *State {
	st := &State{}
	st.take(s)
	return st
}

// take keeps a whole snapshot, to be built anew.
func (st *State) take(s Snapshot) {
	st.snap, st.e = s, nil
	st.snap.Classes, st.snap.Nodes = slices.Clone(s.Classes), slices.Clone(s.Nodes)
	st.snap.Orgs, st.snap.Projects = slices.Clone(s.Orgs), slices.Clone(s.Projects)
	st.snap.Running, st.snap.Pending, st.snap.Promises = slices.Clone(s.Running), slices.Clone(s.Pending), slices.Clone(s.Promises)
	st.snap.Budgets, st.snap.Decayed, st.snap.Windows = slices.Clone(s.Budgets), slices.Clone(s.Decayed), slices.Clone(s.Windows)
}

// giveUp turns the working state back into a snapshot.
func (st *State) giveUp() {
	if st.e != nil {
		st.snap, st.e = st.snapshot(), nil
	}
}

// snapshot is what the state stands for, its plan carried out.
func (st *State) snapshot() Snapshot {
	s, e := st.snap, st.e
	for i := range e.runs {
		if r := &e.runs[i]; r.running && !r.dead {
			s.Running = append(s.Running, e.attempt(r))
		}
	}
	for i := range e.jobs {
		if j := &e.jobs[i]; !j.dead {
			s.Pending = append(s.Pending, *j.of)
		}
	}
	for i := range e.promises {
		s.Promises = append(s.Promises, *e.promises[i].stored)
	}
	return s
}

// attempt is a running attempt as a snapshot has it.
func (e *engine) attempt(r *run) Attempt {
	if r.of != nil {
		a := *r.of
		a.Split, a.Stopping, a.Notice, a.StopAt, a.Tier, a.Charges, a.GuaranteedUntil = r.split, r.stopping, r.notice, r.noticeAt, r.tier, r.charges, r.until
		return a
	}
	a := Admission{Job: r.from.ID, Class: e.classes[r.class].ID, Split: r.split, MaxEnd: r.end, Placement: make([]NodeGPUs, len(r.nodes))}
	for k, h := range r.nodes {
		a.Placement[k] = NodeGPUs{e.nodes[h.node].id, h.gpus}
	}
	x := r.from.begin(a, e.in.Classes, r.started)
	x.Stopping, x.Notice, x.StopAt, x.Tier, x.Charges, x.GuaranteedUntil = r.stopping, r.notice, r.noticeAt, r.tier, r.charges, r.until
	return x
}

// Decide is the plan for what the state has been told, at an instant. It takes
// up that plan. Plan.Wait stays empty: Wait and Waits tell it on demand.
func (st *State) Decide(now pool.Instant) Plan {
	st.waiting = nil
	if e := st.e; e != nil && now >= e.now && now < e.expires && len(e.buckets) <= 2*len(e.jobs)+256 {
		e.sweep()
		e.resume(now)
	}
	if e := st.e; e == nil || now != e.now || len(e.faults) > 0 {
		return st.decideAnew(now)
	}
	return st.resolve(st.e)
}

func (st *State) decideAnew(now pool.Instant) Plan {
	st.giveUp()
	st.builds++
	s := st.snap
	e := build(&s, now)
	if len(e.faults) > 0 { // what it contradicts can't be followed in place
		plan := st.resolve(e)
		st.snap = after(&st.snap, plan, now)
		return plan
	}
	st.snap.Running, st.snap.Pending, st.snap.Promises = nil, nil, nil
	st.e, e.in = e, &st.snap
	return st.resolve(e)
}

func (st *State) resolve(e *engine) Plan {
	d := e.resolve()
	e.sweep()
	e.facts, st.told = nil, e
	if st.e != nil { // what is told to leave a closed node is no capacity any more
		for _, id := range d.plan.Resume {
			st.leftPlain(id)
		}
		for _, x := range d.plan.Stop {
			st.leftPlain(x.Attempt)
		}
	}
	return d.plan
}

func (st *State) leftPlain(id pool.AttemptID) {
	if st.e == nil {
		return
	}
	if i, ok := st.e.find(id); !ok || !st.plain(i) {
		st.giveUp()
	}
}

// Waits is every job that waits after the last decision, in queue order.
func (st *State) Waits() []Waiting { return st.told.explain() }

// Wait is why a job waits after the last decision; false when it doesn't.
func (st *State) Wait(id pool.JobID) (Waiting, bool) {
	e := st.told
	i, ok := e.jobAt(id)
	if !ok {
		return Waiting{}, false
	}
	if e.facts == nil {
		e.facts = make([]facts, len(e.classes))
	}
	j := &e.jobs[i]
	e.place(i)
	w := Waiting{Job: id, Position: int(j.position), Promised: j.promised}
	switch {
	case j.promised:
		w.Reasons = e.draining(j)
	case j.alike < 0:
		w.Reasons = j.reasons
	case !e.competes(j):
		w.Reasons = slices.Concat(j.reasons, e.cycle(j), e.beneath(j))
	default:
		w.Reasons = st.behind(i)
	}
	return w, true
}

// behind is the reasons of a bucket's head, and for all others that they stand
// behind it.
func (st *State) behind(i int32) []pool.Reason {
	e := st.told
	b := &e.buckets[e.jobs[i].bucket]
	head := e.headOf(e.jobs[i].bucket)
	of, ok := st.waiting[e.jobs[i].bucket]
	if !ok {
		if st.waiting == nil {
			st.waiting = map[int32][]pool.Reason{}
		}
		e.place(b.jobs[b.head])
		of = e.reasons(head)
		st.waiting[e.jobs[i].bucket] = of
	}
	if head == &e.jobs[i] {
		return of
	}
	ahead := int64(0)
	for _, k := range b.jobs[b.head:] {
		if k == i {
			break
		}
		if !e.jobs[k].done {
			ahead++
		}
	}
	j := &e.jobs[i]
	return append(slices.Clip(of), pool.Reason{Code: pool.Behind, Need: int64(j.position), Have: ahead, Limit: int64(len(e.lines[j.line].jobs))})
}

// place finds the position of a job in its line.
func (e *engine) place(i int32) {
	j := &e.jobs[i]
	at, _ := slices.BinarySearchFunc(e.inOrder(j.line), i, func(k, i int32) int {
		switch {
		case k == i:
			return 0
		case e.jobBefore(&e.jobs[k], &e.jobs[i]):
			return -1
		}
		return 1
	})
	j.position = int32(at) + 1
}
