package replay

import (
	"cmp"
	"container/heap"
	"fmt"
	"slices"
	"time"

	"gpupool/domain/pool"
	"gpupool/domain/quota"
)

// event kinds, in the order in which they happen at one instant.
const (
	evEnd = iota
	evStop
	evSubmit
)

type event struct {
	at   pool.Instant
	kind int
	job  int // index into the trace
	n    int // attempt that it is about
}

type events []event

func (e events) Len() int { return len(e) }
func (e events) Less(i, k int) bool {
	return cmp.Or(cmp.Compare(e[i].at, e[k].at), e[i].kind-e[k].kind, e[i].job-e[k].job) < 0
}
func (e events) Swap(i, k int) { e[i], e[k] = e[k], e[i] }
func (e *events) Push(x any)   { *e = append(*e, x.(event)) }
func (e *events) Pop() any {
	old := *e
	x := old[len(old)-1]
	*e = old[:len(old)-1]
	return x
}

// sim is a run under way.
type sim struct {
	pool    Pool
	opt     Options
	snap    quota.Snapshot // kept up to date
	state   *quota.State   // the engine's own, told of what happens
	queue   events
	res     Result
	index   map[pool.JobID]int
	left    []time.Duration    // of each job's length
	used    []time.Duration    // of each job's limit
	running map[pool.JobID]int // index into snap.Running
	pending map[pool.JobID]int // index into snap.Pending
	wake    pool.Instant       // when the last decision could change by itself
	classes map[pool.ClassID]int
	open    map[pool.JobID]int // index into res.Promises
	kept    int                // res.Reserved before it are over
	calib   *calibrator        // nil: nobody asks
	loans   loans
}

// Run runs a trace on a pool. The same input gives the same result.
func Run(p Pool, jobs []Job, opt Options) (Result, error) {
	s := newSim(p, jobs, opt)
	// Between what happens, a decision may change by itself: at s.wake.
	for len(s.queue) > 0 && min(s.queue[0].at, s.wake) <= opt.Until {
		now := min(s.queue[0].at, s.wake)
		for len(s.queue) > 0 && s.queue[0].at == now {
			s.handle(heap.Pop(&s.queue).(event), now)
		}
		if err := s.decide(now); err != nil {
			return s.res, err
		}
		if s.calib != nil {
			s.calib.ask(s, now)
		}
	}
	s.finish()
	return s.res, nil
}

func newSim(p Pool, jobs []Job, opt Options) *sim {
	s := &sim{pool: p, opt: opt, snap: quota.Snapshot{Brief: true}, index: map[pool.JobID]int{}, running: map[pool.JobID]int{}, pending: map[pool.JobID]int{}, wake: pool.Never, classes: map[pool.ClassID]int{}, open: map[pool.JobID]int{}, loans: loans{at: map[loanKey]int{}}}
	s.snap.Nodes = p.NodeList()
	slices.SortFunc(s.snap.Nodes, func(a, b quota.Node) int { // once, not in each decision
		return cmp.Or(cmp.Compare(a.Class, b.Class), cmp.Compare(a.ID, b.ID))
	})
	for _, n := range s.snap.Nodes {
		s.classes[n.Class] += n.GPUs
		s.res.capacity += n.GPUs
	}
	for _, c := range p.Classes {
		s.snap.Classes = append(s.snap.Classes, quota.Class{ID: c.ID, MinRun: time.Duration(p.MinRun)})
	}
	s.snap.Policy = quota.Policy{FairReclaim: p.Fair, Notice: time.Duration(p.Notice), HalfLife: 7 * 24 * time.Hour, ReserveAfter: 4 * time.Hour}
	s.members()
	s.state = quota.NewState(s.snap)
	if opt.Calibrate > 0 {
		s.calib = newCalibrator(opt.Calibrate, len(jobs))
	}
	s.res.From, s.res.Until = pool.Never, opt.Until
	for i, j := range jobs {
		if j.Submit > opt.Until {
			continue
		}
		s.index[j.ID] = len(s.res.Jobs)
		s.res.Jobs = append(s.res.Jobs, Outcome{Job: j})
		s.left = append(s.left, j.Length)
		s.used = append(s.used, 0)
		heap.Push(&s.queue, event{at: j.Submit, kind: evSubmit, job: len(s.res.Jobs) - 1})
		s.res.From = min(s.res.From, jobs[i].Submit)
	}
	return s
}

func (s *sim) members() {
	plans := map[pool.PlanID]Plan{}
	for _, p := range s.pool.Plans {
		plans[p.ID] = p
	}
	for _, o := range s.pool.Orgs {
		q := quota.Org{ID: o.ID, Weight: 1}
		if o.Weight != nil {
			q.Weight = *o.Weight
		}
		for c, pc := range plans[o.Plan].Classes {
			borrow, lend := pc.Borrow, pc.Lend
			if s.opt.NoLending {
				borrow, lend = 0, 0
			}
			q.Quotas = append(q.Quotas, quota.Quota{Class: c, Nominal: pc.Guaranteed, BorrowLimit: &borrow, LendLimit: &lend})
		}
		slices.SortFunc(q.Quotas, func(a, b quota.Quota) int { return cmp.Compare(a.Class, b.Class) })
		s.snap.Orgs = append(s.snap.Orgs, q)
		projects := o.Projects
		if len(projects) == 0 {
			projects = []Project{{ID: pool.ProjectID(o.ID)}}
		}
		for _, p := range projects {
			s.snap.Projects = append(s.snap.Projects, quota.Project{ID: p.ID, Org: o.ID, Sites: p.Sites})
		}
	}
}

func (s *sim) handle(e event, now pool.Instant) {
	j := &s.res.Jobs[e.job]
	switch e.kind {
	case evSubmit:
		s.pend(e.job)
		if s.calib != nil {
			s.calib.submitted(e.job, j.Org)
		}
	case evEnd, evStop:
		at, ok := s.running[j.ID]
		if !ok || len(j.Attempts) != e.n || s.snap.Running[at].ID.N != e.n {
			return // it ended before
		}
		a := &j.Attempts[e.n-1]
		if e.kind == evStop && (a.StopAt != now || a.Notice == 0) {
			return // the notice was taken back
		}
		s.end(e.job, a, now, e.kind == evStop)
	}
}

// end takes an attempt off the pool.
func (s *sim) end(i int, a *Attempt, now pool.Instant, stopped bool) {
	j := &s.res.Jobs[i]
	a.End = now
	s.unrun(j.ID)
	s.state.DropAttempt(pool.AttemptID{Job: j.ID, N: a.N})
	worked := max(0, now.Sub(a.Started))
	s.used[i] += max(0, now.Sub(a.Started))
	if !stopped {
		a.Finished, a.Kept = true, worked
		a.TimeLimit = worked < s.left[i]
		return
	}
	s.res.Preemptions++
	kept := max(0, min(worked, a.Notice.Sub(a.Started)))
	if every := time.Duration(s.pool.Checkpoint); every > 0 {
		kept = worked / every * every
	}
	if s.opt.Restart {
		kept = 0
	}
	a.Kept, a.Stopped = kept, true
	s.res.LostWork += pool.GPUMillis(int64(j.Units()) * (worked - kept).Milliseconds())
	s.left[i] = max(s.left[i]-kept, time.Second)
	if j.Limit > 0 && j.Limit-s.used[i] < time.Minute {
		a.Finished, a.TimeLimit = true, true
		return
	}
	s.pend(i)
}

// unrun removes a job from the running list in O(1).
func (s *sim) unrun(id pool.JobID) {
	at := s.running[id]
	a := &s.snap.Running[at]
	s.lend(a.Org, a.Class, -a.Split.Loan)
	last := len(s.snap.Running) - 1
	s.snap.Running[at] = s.snap.Running[last]
	s.running[s.snap.Running[at].ID.Job] = at
	s.snap.Running = s.snap.Running[:last]
	delete(s.running, id)
}

// queued is a job as the engine has it when it is submitted.
func (s *sim) queued(j *Outcome) quota.Job {
	return quota.Job{ID: j.ID, Org: j.Org, Project: j.Project, User: j.User, Classes: j.accepts(), Nodes: j.Nodes, GPUs: j.GPUs,
		Tier: j.Tier, Priority: j.Priority, Submitted: j.Submit, MaxRun: max(0, j.Limit)}
}

func (s *sim) pend(i int) {
	j := &s.res.Jobs[i]
	q := s.queued(j)
	if j.Limit > 0 {
		q.MaxRun = max(j.Limit-s.used[i], time.Minute)
	}
	s.pending[j.ID] = len(s.snap.Pending)
	s.snap.Pending = append(s.snap.Pending, q)
	s.state.PutJob(q)
}

// unpend removes a job from the pending list in O(1).
func (s *sim) unpend(id pool.JobID) {
	at := s.pending[id]
	last := len(s.snap.Pending) - 1
	s.snap.Pending[at] = s.snap.Pending[last]
	s.pending[s.snap.Pending[at].ID] = at
	s.snap.Pending = s.snap.Pending[:last]
	delete(s.pending, id)
}

// decide asks the engine and applies its plan. A plan leaves nothing to do at
// the same moment, but stops without notice are events of their own.
func (s *sim) decide(now pool.Instant) error {
	for round := 0; ; round++ {
		plan := s.ask(now)
		s.res.Decisions++
		for _, p := range plan.Problems {
			if !slices.Contains(s.res.Problems, p) {
				s.res.Problems = append(s.res.Problems, p)
			}
		}
		s.wake = plan.Next
		s.apply(plan, now)
		s.settleLoans(now)
		if !s.stopDue(now) {
			return nil
		}
		if round > 1000 {
			return fmt.Errorf("the engine does not come to rest at %s", now)
		}
	}
}

// ask takes a decision: from the state that the engine keeps, or anew.
func (s *sim) ask(now pool.Instant) quota.Plan {
	if s.opt.cold {
		return quota.Decide(s.snap, now)
	}
	return s.state.Decide(now)
}

// stopDue handles the stops that are due at once, when there is no notice.
func (s *sim) stopDue(now pool.Instant) (stopped bool) {
	for len(s.queue) > 0 && s.queue[0].at == now && s.queue[0].kind <= evStop {
		s.handle(heap.Pop(&s.queue).(event), now)
		stopped = true
	}
	return stopped
}

func (s *sim) apply(plan quota.Plan, now pool.Instant) {
	for _, w := range plan.Withdrawn {
		s.withdraw(w, now)
	}
	s.reserve(plan, now)
	for _, x := range plan.Admit {
		s.unpend(x.Job)
		s.admit(x, now)
	}
	for _, c := range plan.Covers {
		i := s.index[c.Attempt.Job]
		a := &s.res.Jobs[i].Attempts[c.Attempt.N-1]
		if n := len(a.Covers); n > 0 && a.Covers[n-1].From == now {
			a.Covers[n-1].Split = c.Split
		} else {
			a.Covers = append(a.Covers, Cover{now, c.Split})
		}
		r := &s.snap.Running[s.running[c.Attempt.Job]]
		s.lend(r.Org, r.Class, c.Split.Loan-r.Split.Loan)
		r.Split = c.Split
	}
	for _, p := range plan.Reclaim {
		s.snap.Promises = append(s.snap.Promises, p)
		s.open[p.Job] = len(s.res.Promises)
		s.res.Promises = append(s.res.Promises, Promise{Job: p.Job, Class: p.Class, Place: p.Placement, Victims: p.Victims, Made: now, StopAt: p.StopAt, Rule: p.Rule, Open: true})
		for _, v := range p.Victims {
			i := s.index[v.Job]
			a := &s.res.Jobs[i].Attempts[v.N-1]
			if a.Notice != 0 {
				continue
			}
			a.Notice, a.StopAt, a.Promised, a.Rule = now, p.StopAt, p.Job, p.Rule
			heap.Push(&s.queue, event{at: p.StopAt, kind: evStop, job: i, n: v.N})
		}
	}
}

// reserve writes down for whom GPUs are kept from now on, where and until when.
func (s *sim) reserve(plan quota.Plan, now pool.Instant) {
	for k := len(s.res.Reserved) - 1; k >= s.kept; k-- {
		r := &s.res.Reserved[k]
		if r.To == pool.Never && !slices.ContainsFunc(plan.Reserved, r.is) {
			r.To = now
		}
	}
	for s.kept < len(s.res.Reserved) && s.res.Reserved[s.kept].To != pool.Never {
		s.kept++
	}
	for _, x := range plan.Reserved {
		if !slices.ContainsFunc(s.res.Reserved[s.kept:], func(r Reservation) bool { return r.To == pool.Never && r.is(x) }) {
			s.res.Reserved = append(s.res.Reserved, Reservation{x.Class, x.Job, now, pool.Never, x.At, x.Placement})
		}
	}
}

// is tells whether a plan goes on with it as it was.
func (r Reservation) is(x quota.Reservation) bool {
	return r.Class == x.Class && r.Job == x.Job && r.At == x.At && slices.Equal(r.Place, x.Placement)
}

func (s *sim) admit(x quota.Admission, now pool.Instant) {
	i := s.index[x.Job]
	j := &s.res.Jobs[i]
	n := len(j.Attempts) + 1
	started := now.Add(time.Duration(s.pool.Setup))
	end := started.Add(s.left[i])
	if x.MaxEnd != pool.Never {
		end = min(end, x.MaxEnd)
	}
	j.Attempts = append(j.Attempts, Attempt{N: n, Class: x.Class, Placement: x.Placement, Admitted: now, Started: started, End: pool.Never,
		MaxEnd: x.MaxEnd, Planned: end, Covers: []Cover{{now, x.Split}}})
	s.running[j.ID] = len(s.snap.Running)
	s.snap.Running = append(s.snap.Running, quota.Attempt{ID: pool.AttemptID{Job: j.ID, N: n}, Org: j.Org, Project: j.Project, User: j.User,
		Class: x.Class, Placement: x.Placement, Tier: j.Tier, Priority: j.Priority, Started: now, MaxEnd: x.MaxEnd,
		MinRunUntil: now.Add(time.Duration(s.pool.MinRun)), Split: x.Split})
	s.lend(j.Org, x.Class, x.Split.Loan)
	s.state.PutAttempt(s.snap.Running[s.running[j.ID]])
	heap.Push(&s.queue, event{at: end, kind: evEnd, job: i, n: n})
	if p := s.promised(x.Job); p != nil {
		p.Kept = now
	}
}

// promised ends the open promise of a job; nil when it has none.
func (s *sim) promised(job pool.JobID) *Promise {
	k, ok := s.open[job]
	if !ok {
		return nil
	}
	delete(s.open, job)
	s.snap.Promises = slices.DeleteFunc(s.snap.Promises, func(p quota.Promise) bool { return p.Job == job })
	s.res.Promises[k].Open = false
	return &s.res.Promises[k]
}

func (s *sim) withdraw(w quota.Withdrawal, now pool.Instant) {
	if p := s.promised(w.Job); p != nil {
		p.Over = now
	}
	for _, v := range w.Keep {
		if a := &s.res.Jobs[s.index[v.Job]].Attempts[v.N-1]; a.End == pool.Never {
			a.Notice, a.StopAt, a.Promised, a.Rule = 0, 0, "", ""
		}
	}
}

// explain keeps the reasons that hold at the end of the run.
func (s *sim) explain() {
	s.snap.Brief = false
	for _, w := range quota.Decide(s.snap, s.opt.Until).Wait {
		j := &s.res.Jobs[s.index[w.Job]]
		j.Reasons, j.Position = w.Reasons, w.Position
	}
}

func (s *sim) finish() {
	s.res.Loans = slices.Clone(s.snap.Decayed)
	for i := range s.res.Jobs {
		s.res.Jobs[i].Left = s.left[i]
	}
	if s.res.Until != pool.Never {
		s.explain()
	}
	s.res.close()
	if s.calib != nil {
		s.res.Expected = s.calib.judge(s)
	}
}
