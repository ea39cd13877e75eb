package quota

import (
	"slices"
	"time"

	"gpupool/domain/pool"
)

// happen lets one thing happen.
func (w *world) happen() {
	if n := len(w.snap.Promises); n > 0 && w.oneIn(3, "moves a promise") {
		switch w.upTo(2, "how") {
		case 0:
			w.cancel(w.snap.Promises[w.upTo(n-1, "cancels")].Job)
		case 1:
			if k := len(w.snap.Running); k > 0 { // its plan may have been lost
				w.gone(w.snap.Running[w.upTo(k-1, "ends")].ID, false)
			}
		case 2:
			w.wait(5 * time.Minute)
		}
		return
	}
	if w.rules && w.oneIn(3, "strains") {
		w.strain()
		return
	}
	switch w.upTo(15, "event") {
	case 0, 1, 2, 3, 4, 5:
		w.crowd(w.between(1, 5, "submits"))
	case 6, 7:
		if n := len(w.snap.Running); n > 0 {
			w.gone(w.snap.Running[w.upTo(n-1, "ends")].ID, false)
		}
	case 8:
		w.wait(time.Duration(pick(w, "minutes", 5, 15, 60, 240)) * time.Minute)
	case 9:
		if n := len(w.snap.Pending); n > 0 {
			w.cancel(w.snap.Pending[w.upTo(n-1, "cancels")].ID)
		}
	case 10, 11:
		w.nodeChanges()
	case 12, 13:
		w.quotaChanges()
	case 14:
		w.pauses()
	case 15:
		w.moneyMoves()
	}
}

// crowd submits jobs of one organisation: it fills what others leave idle, or
// comes back and wants its own.
func (w *world) crowd(n int) {
	o := pick(w, "org", w.snap.Orgs...).ID
	for range n {
		w.submit(o)
	}
}

// cancel takes a job out of the queue; those that waited for it needn't now.
func (w *world) cancel(id pool.JobID) {
	w.snap.Pending = slices.DeleteFunc(slices.Clone(w.snap.Pending), func(j Job) bool { return j.ID == id })
	w.finished(id)
}

// finished tells those that depend on a job that it has ended.
func (w *world) finished(id pool.JobID) {
	for i := range w.snap.Pending {
		if j := &w.snap.Pending[i]; slices.Contains(j.DependsOn, id) {
			j.DependsOn = slices.DeleteFunc(slices.Clone(j.DependsOn), func(d pool.JobID) bool { return d == id })
			w.jobs[j.ID] = *j
		}
	}
}

func (w *world) nodeChanges() {
	w.snap.Nodes = slices.Clone(w.snap.Nodes)
	n := &w.snap.Nodes[w.upTo(len(w.snap.Nodes)-1, "node")]
	switch w.upTo(5, "what") {
	case 0, 1:
		n.State = Ready
	case 2:
		n.State = Draining
	case 3: // its work is lost with it and queues again
		n.State = Down
		for _, a := range slices.Clone(w.snap.Running) {
			if slices.ContainsFunc(a.Placement, func(p NodeGPUs) bool { return p.Node == n.ID }) {
				w.gone(a.ID, true)
			}
		}
	case 4:
		n.Maintenance = w.ahead()
	case 5: // what isn't ours comes and goes
		n.Foreign = w.upTo(min(1, n.GPUs), "foreign")
	}
}

func (w *world) quotaChanges() {
	qs := &pick(w, "org", w.orgs()...).Quotas
	if w.oneIn(4, "of a project") && len(w.snap.Projects) > 0 {
		w.snap.Projects = slices.Clone(w.snap.Projects)
		if p := &w.snap.Projects[w.upTo(len(w.snap.Projects)-1, "project")]; len(p.Quotas) > 0 {
			qs = &p.Quotas
		}
	}
	*qs = slices.Clone(*qs)
	q := &(*qs)[w.upTo(len(*qs)-1, "class")]
	was := q.Nominal
	*q = w.quota(q.Class, 8)
	if q.Nominal < was {
		w.met.cuts++
	}
}

// orgs are the organisations, copied so that they can be changed.
func (w *world) orgs() []*Org {
	w.snap.Orgs = slices.Clone(w.snap.Orgs)
	var out []*Org
	for i := range w.snap.Orgs {
		out = append(out, &w.snap.Orgs[i])
	}
	return out
}

func (w *world) pauses() {
	switch w.upTo(4, "what") {
	case 0:
		o := pick(w, "org", w.orgs()...)
		o.Paused = pick(w, "pause", "", "", "unpaid")
	case 1:
		o := pick(w, "org", w.orgs()...)
		o.NoSubscription = w.oneIn(3, "no subscription")
	case 2:
		w.snap.Policy.AdmissionPaused = w.oneIn(3, "no admission")
	case 3:
		o := pick(w, "org", w.orgs()...)
		o.Weight = w.upTo(3, "weight")
	case 4: // a pause of a job is lifted
		for i := range w.snap.Pending {
			if j := &w.snap.Pending[i]; j.Paused != "" {
				w.snap.Pending = slices.Clone(w.snap.Pending)
				w.snap.Pending[i].Paused = ""
				w.jobs[j.ID] = w.snap.Pending[i]
				return
			}
		}
	}
}

func (w *world) moneyMoves() {
	if n := len(w.snap.Budgets); n > 0 {
		w.snap.Budgets = slices.Clone(w.snap.Budgets)
		b := &w.snap.Budgets[w.upTo(n-1, "budget")]
		b.Limit += 500
		return
	}
	w.window()
}

// wait lets time pass: declared ends come true, stops are sent, and what was
// sent a stop before is gone.
func (w *world) wait(d time.Duration) {
	w.now = w.now.Add(d)
	for _, a := range slices.Clone(w.snap.Running) {
		switch {
		case a.MaxEnd <= w.now:
			w.gone(a.ID, false)
		case a.Stopping && !w.oneIn(4, "slow to stop"), a.Notice != "" && a.StopAt <= w.now:
			w.gone(a.ID, true)
		}
	}
	w.send(w.snap.Policy.Notice > 0 && w.oneIn(4, "slow to stop"))
}

// send stops the victims whose notice is over; slow ones hold their GPUs on.
func (w *world) send(slow bool) {
	w.snap.Promises, w.snap.Running = slices.Clone(w.snap.Promises), slices.Clone(w.snap.Running)
	for i := range w.snap.Promises {
		p := &w.snap.Promises[i]
		if p.StopAt > w.now {
			continue
		}
		if p.Sent = true; slow {
			w.met.slow++
		}
		for _, v := range p.Victims {
			k := slices.IndexFunc(w.snap.Running, func(a Attempt) bool { return a.ID == v })
			switch {
			case k < 0:
			case slow:
				w.snap.Running[k].Stopping = true
			default:
				w.gone(v, true)
			}
		}
	}
}

// gone ends an attempt; a victim queues again, one that finished frees those
// that waited for it.
func (w *world) gone(id pool.AttemptID, again bool) {
	i := slices.IndexFunc(w.snap.Running, func(a Attempt) bool { return a.ID == id })
	if i < 0 {
		return
	}
	w.charge(&w.snap.Running[i])
	w.balanced(id)
	w.snap.Running = slices.Delete(slices.Clone(w.snap.Running), i, i+1)
	if again {
		w.snap.Pending = append(slices.Clone(w.snap.Pending), w.jobs[id.Job])
	} else {
		w.finished(id.Job)
	}
}

// charge writes down what an attempt was charged since its cover changed last.
func (w *world) charge(a *Attempt) {
	u := w.used[a.ID]
	if u == nil {
		u = &use{since: int64(a.Started)}
		w.used[a.ID] = u
	}
	d := int64(w.now) - u.since
	u.since = int64(w.now)
	u.own, u.loan, u.spot = u.own+d*int64(a.Split.Own), u.loan+d*int64(a.Split.Loan), u.spot+d*int64(a.Split.Spot)
	u.held += d * int64(unitsOf(a.Placement))
}

// apply does to the snapshot what the engine loop commits.
func (w *world) apply(plan Plan) {
	for i := range w.snap.Running { // what was charged so far stays as it is
		w.charge(&w.snap.Running[i])
	}
	w.snap = applied(w.snap, plan, w.now)
	w.carryOn(plan)
	for i := range w.snap.Running {
		if a := &w.snap.Running[i]; a.ID.N == freshTry {
			w.next++
			a.ID.N = w.next
			for p := range w.snap.Promises { // a plan never stops what it starts
				if slices.ContainsFunc(w.snap.Promises[p].Victims, func(v pool.AttemptID) bool { return v.N == freshTry }) {
					w.t.Fatalf("I7: a promise stops what the plan starts: %+v", w.snap.Promises[p])
				}
			}
		}
	}
}

// applied is the snapshot that a plan leaves. Attempts that it starts have the
// number freshTry.
func applied(s Snapshot, plan Plan, now pool.Instant) Snapshot {
	over, split := map[pool.JobID]bool{}, map[pool.AttemptID]pool.Split{}
	for _, x := range plan.Withdrawn {
		over[x.Job] = true
	}
	jobs := map[pool.JobID]Job{}
	for _, j := range s.Pending {
		jobs[j.ID] = j
	}
	for _, c := range plan.Covers {
		split[c.Attempt] = c.Split
	}
	s.Running = slices.Clone(s.Running)
	for i := range s.Running {
		if x, ok := split[s.Running[i].ID]; ok {
			s.Running[i].Split = x
		}
	}
	execute(s.Running, plan)
	for _, a := range plan.Admit {
		over[a.Job] = true
		j := jobs[a.Job]
		x := Attempt{ID: pool.AttemptID{Job: j.ID, N: freshTry}, Org: j.Org, Project: j.Project, Class: a.Class, Placement: a.Placement, Tier: j.Tier,
			Priority: j.Priority, Submitted: j.Submitted, Started: now, MaxEnd: a.MaxEnd, Fixed: j.Fixed, Split: a.Split, Charges: j.Charges}
		for _, c := range s.Classes {
			if c.ID == a.Class {
				x.MinRunUntil = now.Add(c.MinRun)
			}
		}
		s.Running = append(s.Running, x)
		s.Pending = slices.DeleteFunc(slices.Clone(s.Pending), func(x Job) bool { return x.ID == j.ID })
	}
	s.Promises = slices.DeleteFunc(slices.Clone(s.Promises), func(p Promise) bool { return over[p.Job] })
	s.Promises = append(s.Promises, plan.Reclaim...)
	return s
}

func unitsOf(p []NodeGPUs) int {
	n := 0
	for _, x := range p {
		n += x.GPUs
	}
	return n
}
