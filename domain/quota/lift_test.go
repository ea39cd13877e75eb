package quota

import (
	"fmt"
	"slices"

	"gpupool/domain/pool"
)

// leaves says whether a running attempt is told to stop, for any job or rule.
func (l laws) leaves(id pool.AttemptID) bool {
	return slices.ContainsFunc(l.before.Promises, func(p Promise) bool { return slices.Contains(p.Victims, id) }) ||
		slices.ContainsFunc(l.before.Running, func(a Attempt) bool { return a.ID == id && (a.Stopping || a.Notice != "") })
}

// I12: the reasons of a wait are true and complete. One waiting job is asked,
// class by class, as if nobody else stood in the queue and nobody had a promise: with all its named
// obstacles lifted the next decision starts it, with any one of them left it
// doesn't.
func (l laws) lifts() {
	if len(l.plan.Wait) == 0 {
		return
	}
	w := l.plan.Wait[l.turn%len(l.plan.Wait)]
	j := l.pendingJob(w.Job)
	if w.Promised {
		s := lifted{t: l, s: l.before, j: j, c: j.Classes[0]}
		s.drain(func(id pool.AttemptID) bool {
			return l.leaves(id) // its own victims, and whoever leaves anyway: it may count on them
		})
		if !s.starts() {
			l.t.Fatalf("I12: %s is promised GPUs, who leaves is gone, and it waits: %+v", j.ID, Decide(s.s, l.now).Wait)
		}
		return
	}
	for _, c := range j.Classes {
		l.lift(j, c, w)
	}
}

func (l laws) lift(j Job, c pool.ClassID, w Waiting) {
	j.Classes = []pool.ClassID{c}
	alone := l.before
	alone.Pending, alone.Promises = []Job{j}, nil
	plan := Decide(alone, l.now)
	i := slices.IndexFunc(plan.Wait, func(x Waiting) bool { return x.Job == j.ID })
	if i < 0 || slices.ContainsFunc(plan.Reclaim, func(p Promise) bool { return p.Job == j.ID }) {
		// It waits only because of others in the queue, and then says so; what
		// it could take back alone may be kept from it by a reservation.
		named := slices.ContainsFunc(w.Reasons, func(r pool.Reason) bool { return r.Code == pool.Reserved || r.Code == pool.Behind }) ||
			i >= 0 && slices.ContainsFunc(l.plan.Reserved, func(r Reservation) bool { return r.Class == c && r.Job != j.ID })
		if len(l.before.Promises) == 0 && !named {
			l.t.Fatalf("I12: %s would start in %s if it were alone, and names nobody: %+v\n%+v", j.ID, c, w.Reasons, j)
		}
		return
	}
	reasons := plan.Wait[i].Reasons
	for _, r := range reasons {
		if r.Code == pool.PolicyWindow && l.stepsAt(j, c, r.Until) {
			l.met.stepped++
			return // what else it lacks is told when the quota is there
		}
		l.met.reason(r.Code)
	}
	base := lifted{t: l, s: alone, j: j, c: c, all: reasons}
	all := base
	all.liftBut(pool.Reason{})
	if !all.starts() {
		l.t.Fatalf("I12: %s waits for %+v; with all of that lifted it waits for %+v\n%+v", j.ID, reasons, all.why(), j)
	}
	for _, left := range reasons {
		if left.Code == pool.MinimumRun {
			continue // another way to the GPUs that the class has no more of
		}
		if (left.Code == pool.BorrowLimit || left.Code == pool.QuotaFull) && base.names(pool.LendLimit) && base.siblingKeeps() {
			continue // what a sibling lends its organisation needn't borrow, and is quota of it
		}
		but := base
		but.liftBut(left)
		if but.starts() {
			l.t.Fatalf("I12: %s waits for %+v; it starts though of these is left %+v\n%+v", j.ID, reasons, left, j)
		}
	}
}

// stepsAt says whether a time policy changes the quota of a job's organisation
// at an instant.
func (l laws) stepsAt(j Job, c pool.ClassID, at pool.Instant) bool {
	o := l.before.Orgs[slices.IndexFunc(l.before.Orgs, func(o Org) bool { return o.ID == j.Org })]
	return slices.ContainsFunc(o.Quotas, func(q Quota) bool {
		return q.Class == c && slices.ContainsFunc(q.Ahead, func(s QuotaStep) bool { return s.From == at })
	})
}

// lifted is a snapshot from which obstacles of one job are taken away.
type lifted struct {
	t   laws
	s   Snapshot
	j   Job
	c   pool.ClassID
	all []pool.Reason
}

func (x *lifted) siblingKeeps() bool {
	return slices.ContainsFunc(x.s.Projects, func(p Project) bool {
		return p.Org == x.j.Org && slices.ContainsFunc(p.Quotas, func(q Quota) bool { return q.LendLimit != nil })
	})
}

func (x *lifted) names(c pool.ReasonCode) bool {
	return slices.ContainsFunc(x.all, func(r pool.Reason) bool { return r.Code == c })
}

func (x *lifted) starts() bool {
	return slices.ContainsFunc(Decide(x.s, x.t.now).Admit, func(a Admission) bool { return a.Job == x.j.ID })
}

func (x *lifted) why() []pool.Reason {
	for _, w := range Decide(x.s, x.t.now).Wait {
		if w.Job == x.j.ID {
			return w.Reasons
		}
	}
	return nil
}

func (x *lifted) org() *Org {
	x.s.Orgs = slices.Clone(x.s.Orgs)
	return &x.s.Orgs[slices.IndexFunc(x.s.Orgs, func(o Org) bool { return o.ID == x.j.Org })]
}

// project is nil for work that names none.
func (x *lifted) project() *Project {
	x.s.Projects = slices.Clone(x.s.Projects)
	if i := slices.IndexFunc(x.s.Projects, func(p Project) bool { return p.ID == x.j.Project }); i >= 0 {
		return &x.s.Projects[i]
	}
	return nil
}

// change changes the job in the queue.
func (x *lifted) change(f func(*Job)) {
	x.s.Pending = slices.Clone(x.s.Pending)
	i := slices.IndexFunc(x.s.Pending, func(j Job) bool { return j.ID == x.j.ID })
	f(&x.s.Pending[i])
	x.j = x.s.Pending[i]
}

// quota is the row of an account for the class.
func (x *lifted) quota(qs *[]Quota) *Quota {
	*qs = slices.Clone(*qs)
	i := slices.IndexFunc(*qs, func(q Quota) bool { return q.Class == x.c })
	if i < 0 {
		*qs = append(*qs, Quota{Class: x.c})
		i = len(*qs) - 1
	}
	q := &(*qs)[i]
	ahead := slices.DeleteFunc(slices.Clone(q.Ahead), func(s QuotaStep) bool { return s.From <= x.t.now })
	*q = q.at(x.t.now)
	q.Ahead = ahead
	return q
}

// liftBut lifts all reasons but one, the hardware last: how much of it must be
// lent depends on the quotas.
func (x *lifted) liftBut(left pool.Reason) {
	for _, hardware := range []bool{false, true} {
		for _, r := range x.all {
			if r != left && hardware == slices.Contains([]pool.ReasonCode{pool.ClassFull, pool.ClassUnavailable, pool.Scattered}, r.Code) {
				x.lift(r)
			}
		}
	}
}

// lift takes away what a reason names, as its row says.
func (x *lifted) lift(r pool.Reason) {
	m := read(&x.s, x.t.now)
	c := m.classes[x.c]
	switch r.Code {
	case pool.AdmissionPaused:
		x.s.Policy.AdmissionPaused = false
	case pool.ProjectPaused:
		if o := x.org(); o.Paused == r.Ref {
			o.Paused = ""
		}
		if p := x.project(); p != nil && p.Paused == r.Ref {
			p.Paused = ""
		}
		x.change(func(j *Job) { j.Paused = when2(j.Paused != r.Ref, j.Paused) })
	case pool.NoSubscription:
		x.org().NoSubscription = false
	case pool.NotBefore:
		x.change(func(j *Job) { j.NotBefore = 0 })
	case pool.Deadline:
		x.change(func(j *Job) { j.Deadline = 0 })
	case pool.Dependency:
		x.change(func(j *Job) {
			j.DependsOn = slices.DeleteFunc(slices.Clone(j.DependsOn), func(d pool.JobID) bool { return string(d) == r.Ref })
		})
	case pool.Budget, pool.Cap, pool.OrderExhausted:
		x.change(func(j *Job) { // for it alone: with more money work under notice would run on
			j.Charges = slices.DeleteFunc(slices.Clone(j.Charges), func(ch Charge) bool {
				return slices.ContainsFunc(x.s.Budgets, func(b Budget) bool { return b.ID == ch.Budget && b.Kind == r.Code && b.Ref == r.Ref })
			})
		})
	case pool.PolicyWindow:
		x.s.Windows = slices.DeleteFunc(slices.Clone(x.s.Windows), func(w Window) bool { return w.Closed.End <= r.Until })
		x.quota(&x.org().Quotas).Ahead = nil
	case pool.QuotaFull:
		b := m.books[c][m.orgs[x.j.Org]]
		x.quota(&x.org().Quotas).Nominal += max(0, b.guaranteed+x.j.Units()-b.subtree)
	case pool.BorrowLimit:
		qs, a := &x.org().Quotas, m.orgs[x.j.Org]
		if p := x.project(); r.Ref != "" && p != nil {
			qs, a = &p.Quotas, m.projects[p.ID]
		}
		b := m.books[c][a]
		most := b.borrow + max(0, x.j.Units()-(max(0, b.local-b.visible)+b.subtree-b.local-max(0, b.visible-b.local)+b.borrow))
		x.quota(qs).BorrowLimit = &most
	case pool.LendLimit:
		for i := range x.s.Orgs {
			x.s.Orgs = slices.Clone(x.s.Orgs)
			x.quota(&x.s.Orgs[i].Quotas).LendLimit = nil
		}
		for i := range x.s.Projects {
			x.s.Projects = slices.Clone(x.s.Projects)
			x.quota(&x.s.Projects[i].Quotas).LendLimit = nil
		}
	case pool.ClassFull, pool.ClassUnavailable, pool.Scattered:
		pooled := *x // as it is when owners keep nothing back, where that is named too
		if x.names(pool.LendLimit) {
			pooled.lift(pool.Reason{Code: pool.LendLimit})
			lend := read(&pooled.s, x.t.now)
			x.supply(r, max(0, x.asks(lend)-lend.pool(&x.j, c)))
		} else {
			x.supply(r, max(x.j.Units(), x.asks(m)-m.pool(&x.j, c)))
		}
	case pool.NeverFits: // the GPUs and the quota that it would need
		need := max(x.j.Units(), x.asks(m)-m.pool(&x.j, c))
		if x.j.Tier != pool.Spot {
			b := m.books[c][m.orgs[x.j.Org]]
			need += max(0, b.use-b.subtree)
			x.quota(&x.org().Quotas).Nominal += need
		}
		x.hardware(need)
		if p := x.project(); p != nil {
			x.quota(&p.Quotas).BorrowLimit = nil
		}
	case pool.WaitingForDrain:
		gone := stopping(x.s)
		for _, v := range Decide(x.s, x.t.now).Stop { // what the plan itself stops
			gone[v.Attempt] = true
		}
		for _, a := range x.s.Running { // what an earlier one does
			gone[a.ID] = gone[a.ID] || a.Notice != ""
		}
		x.drain(func(id pool.AttemptID) bool { return gone[id] || m.isStopping(id) })
	case pool.Maintenance:
		x.s.Nodes = slices.Clone(x.s.Nodes)
		for i := range x.s.Nodes {
			if x.s.Nodes[i].Class == x.c {
				x.s.Nodes[i].Maintenance = pool.Interval{}
			}
		}
	case pool.Site:
		if p := x.project(); p != nil {
			p.Sites, p.NodeOwners, p.OwnNodesOnly = nil, nil, false
		}
	case pool.Data:
		x.change(func(j *Job) { j.DataSite = "" })
	case pool.MinimumRun:
		for i := range x.s.Running {
			x.s.Running = slices.Clone(x.s.Running)
			x.s.Running[i].MinRunUntil = 0
		}
	default:
		x.t.t.Fatalf("I12: no way to lift %+v", r)
	}
}

func when2(yes bool, s string) string {
	if yes {
		return s
	}
	return ""
}

// drain takes away what stops.
func (x *lifted) drain(gone func(pool.AttemptID) bool) {
	x.s.Running = slices.DeleteFunc(slices.Clone(x.s.Running), func(a Attempt) bool { return gone(a.ID) })
}

// asks is what the job needs of the pool, beside what its accounts keep for it.
func (x *lifted) asks(m *model) int {
	n, c := x.j.Units(), m.classes[x.c]
	for a := m.account(x.j.Org, x.j.Project); x.j.Tier != pool.Spot && a > 0; a = m.parent[a] {
		b := &m.books[c][a]
		n -= max(0, b.local-b.visible)
	}
	return n
}

// pool is what the pool has left for a job, by quota.
func (m *model) pool(j *Job, c int) int { return m.avail(c, 0) - when(j.Tier == pool.Spot, m.spot[c]) }

// supply adds quota where the hardware has a reason of its own, else both.
func (x *lifted) supply(r pool.Reason, visible int) {
	aside := slices.ContainsFunc([]pool.ReasonCode{pool.Maintenance, pool.Reserved, pool.WaitingForDrain, pool.Scattered}, x.names)
	switch {
	case r.Code == pool.ClassFull && aside:
		m := read(&x.s, x.t.now)
		visible += m.books[m.classes[x.c]][0].nominal
		x.newcomer(visible, visible)
	case r.Code == pool.Scattered && x.names(pool.ClassFull):
		x.hardware(0)
	default:
		x.hardware(visible)
	}
}

// newcomer joins with quota, of which it lends a part.
func (x *lifted) newcomer(nominal, lends int) {
	x.s.Orgs = append(slices.Clone(x.s.Orgs), Org{ID: pool.OrgID(fmt.Sprintf("newcomer-%d", len(x.s.Orgs))), Weight: 1,
		Quotas: []Quota{{Class: x.c, Nominal: nominal, LendLimit: &lends}}})
}

// hardware adds nodes on which the job may be, just enough for it, or more than
// that where more is in use than there is. They belong to a newcomer who lends
// the visible ones of their GPUs, so that of the others only the hardware is
// more.
func (x *lifted) hardware(visible int) {
	n := Node{Class: x.c, GPUs: x.j.GPUs, State: Ready, Site: "site-0"}
	if p := x.project(); p != nil {
		if len(p.Sites) > 0 {
			n.Site = p.Sites[0]
		}
		if len(p.NodeOwners) > 0 {
			n.Contributor = p.NodeOwners[0]
		}
		if p.OwnNodesOnly {
			n.Contributor = x.j.Org
		}
	}
	if x.j.DataSite != "" && !x.names(pool.Data) {
		n.Site = x.j.DataSite
	}
	if x.names(pool.Data) && n.Site == x.j.DataSite {
		n.Site = "elsewhere"
	}
	if x.names(pool.Site) { // where its project may not be
		n.Contributor = pool.OrgID(fmt.Sprintf("newcomer-%d", len(x.s.Orgs)))
		if p := x.project(); len(p.Sites) > 0 && !(x.j.DataSite != "" && !x.names(pool.Data)) {
			n.Site = "elsewhere"
		}
	}
	x.s.Nodes = slices.Clone(x.s.Nodes)
	for i := range x.j.Nodes {
		n.ID = pool.NodeID(fmt.Sprintf("added-%d", i))
		x.s.Nodes = append(x.s.Nodes, n)
	}
	all := max(x.j.Units(), visible)
	if more := all - x.j.Units(); more > 0 {
		n.ID, n.GPUs = "added", more
		x.s.Nodes = append(x.s.Nodes, n)
	}
	x.newcomer(all, visible)
}
