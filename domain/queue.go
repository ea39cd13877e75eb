package domain

import (
	"context"
	"slices"

	"gpupool/domain/pool"
	"gpupool/domain/quota"
)

// QueueFilter narrows the operator's queue. Zero fields select all.
type QueueFilter struct {
	Class pool.ClassID
	Org   pool.OrgID
	Page  int // from 0
}

// QueuePage is how many waiting jobs stand on a page of the queue, and
// QueueRows how many lines each of its other lists has at most.
const (
	QueuePage = 50
	QueueRows = 25
)

// Queue is the engine's last decision, explained to the operator.
type Queue struct {
	Decision *Decision // nil before the first
	Names    PoolNames
	Classes  []quota.ClassState // all of them
	Class    *quota.ClassState  // the one that was asked for, else that with the longest queue
	Waiting  []quota.Waiting    // one page
	Total    int                // waiting jobs that the filter selects
	Asked    map[pool.JobID]quota.Job
	Starts   map[pool.JobID]quota.Start // of the page
	Kept     StartsKept                 // how the last told starts came true
	Promises []quota.Promise            // open ones, those of the decision among them
	Started  []quota.Admission
	Stopped  []quota.Stop // for money, not for another job
	Reserved []quota.Reservation
}

// PoolNames are the names behind the ids of an answer.
type PoolNames struct {
	Jobs    map[pool.JobID]Promised
	Orgs    map[pool.OrgID]string
	Nodes   map[pool.NodeID]string
	Classes map[pool.ClassID]string
	Sites   map[pool.SiteID]string
}

// Queue explains the last decision. The number of statements doesn't grow.
func (s *Service) Queue(ctx context.Context, a Actor, f QueueFilter) (Queue, error) {
	if err := a.NeedOperatorView(); err != nil {
		return Queue{}, err
	}
	q := Queue{Decision: s.LastDecision()}
	if q.Decision != nil {
		q.Classes = q.Decision.Explained()
		q.narrow(f)
	}
	err := s.store.View(ctx, func(tx Tx) (err error) {
		if q.Names, err = poolNames(tx, q.shown()); err != nil || q.Decision == nil {
			return err
		}
		habits, kept, err := s.habits.known(tx, q.Decision.Snapshot.Orgs)
		if err != nil {
			return err
		}
		q.Kept, q.Starts = kept, map[pool.JobID]quota.Start{}
		for _, w := range q.Waiting {
			if x, ok := q.Decision.start(w.Job, habits, tx.Now()); ok {
				q.Starts[w.Job] = x
			}
		}
		return nil
	})
	return q, err
}

// narrow selects what the filter asks for.
func (q *Queue) narrow(f QueueFilter) {
	d := q.Decision
	queued := map[pool.ClassID]int{}
	q.Asked = make(map[pool.JobID]quota.Job, len(d.Snapshot.Pending))
	for _, j := range d.Snapshot.Pending {
		q.Asked[j.ID] = j
		for _, c := range j.Classes {
			queued[c]++
		}
	}
	for i := range q.Classes {
		x := &q.Classes[i]
		if x.Class == f.Class || f.Class == "" && (q.Class == nil || queued[x.Class] > queued[q.Class.Class]) {
			q.Class = x
		}
	}
	from := max(0, f.Page) * QueuePage
	for _, w := range d.Plan.Wait {
		if j := q.Asked[w.Job]; f.Org != "" && j.Org != f.Org || f.Class != "" && !slices.Contains(j.Classes, f.Class) {
			continue
		}
		if q.Total >= from && len(q.Waiting) < QueuePage {
			q.Waiting = append(q.Waiting, w)
		}
		q.Total++
	}
	holder := map[pool.AttemptID]pool.OrgID{}
	for _, x := range d.Snapshot.Running {
		holder[x.ID] = x.Org
	}
	of := func(c pool.ClassID, orgs ...pool.OrgID) bool {
		return (f.Class == "" || c == f.Class) && (f.Org == "" || slices.Contains(orgs, f.Org))
	}
	for _, p := range d.open() {
		orgs := []pool.OrgID{q.Asked[p.Job].Org}
		for _, v := range p.Victims {
			orgs = append(orgs, holder[v])
		}
		if of(p.Class, orgs...) {
			q.Promises = append(q.Promises, p)
		}
	}
	for _, x := range d.Plan.Admit {
		if of(x.Class, q.Asked[x.Job].Org) {
			q.Started = append(q.Started, x)
		}
	}
	for _, x := range d.Plan.Stop {
		if of(x.Reason.Class, holder[x.Attempt]) {
			q.Stopped = append(q.Stopped, x)
		}
	}
	for _, x := range d.Plan.Reserved {
		if of(x.Class, q.Asked[x.Job].Org) {
			q.Reserved = append(q.Reserved, x)
		}
	}
}

// open are the promises that hold after the decision.
func (d *Decision) open() []quota.Promise {
	over := map[pool.JobID]bool{}
	for _, w := range d.Plan.Withdrawn {
		over[w.Job] = true
	}
	for _, x := range d.Plan.Admit {
		over[x.Job] = true
	}
	out := slices.DeleteFunc(slices.Clone(d.Snapshot.Promises), func(p quota.Promise) bool { return over[p.Job] })
	return append(out, d.Plan.Reclaim...)
}

// shown are the jobs whose names the answer needs.
func (q *Queue) shown() []pool.JobID {
	var ids []pool.JobID
	for _, w := range q.Waiting {
		ids = append(ids, w.Job)
		ids = append(ids, refs(w.Reasons)...)
	}
	for _, p := range q.Promises[:min(len(q.Promises), QueueRows)] {
		ids = append(ids, p.Job)
		for _, v := range p.Victims[:min(len(p.Victims), QueueRows)] {
			ids = append(ids, v.Job)
		}
	}
	for _, x := range q.Started[:min(len(q.Started), QueueRows)] {
		ids = append(ids, x.Job)
	}
	for _, x := range q.Stopped[:min(len(q.Stopped), QueueRows)] {
		ids = append(ids, x.Attempt.Job)
	}
	for _, x := range q.Reserved {
		ids = append(ids, x.Job)
	}
	if q.Class != nil {
		for _, all := range [][]quota.Turn{q.Class.Owners, q.Class.Borrowers} {
			for _, x := range all[:min(len(all), QueueRows)] {
				ids = append(ids, x.Head)
			}
		}
		for _, all := range [][]quota.Victim{q.Class.Victims, q.Class.Protected} {
			for _, x := range all[:min(len(all), QueueRows)] {
				ids = append(ids, x.Attempt.Job)
			}
		}
	}
	return ids
}

// refs are the jobs that reasons name.
func refs(all []pool.Reason) []pool.JobID {
	var ids []pool.JobID
	for _, r := range all {
		if r.Code == pool.Reserved || r.Code == pool.Dependency {
			ids = append(ids, pool.JobID(r.Ref))
		}
	}
	return ids
}

// poolNames looks the names up: of the jobs given, and of all else.
func poolNames(tx Tx, jobs []pool.JobID) (PoolNames, error) {
	n := PoolNames{Orgs: map[pool.OrgID]string{}, Classes: map[pool.ClassID]string{}, Sites: map[pool.SiteID]string{}}
	t, err := LoadTerms(tx)
	if err != nil {
		return n, err
	}
	n.Nodes = t.nodeNames()
	for _, o := range t.Orgs {
		n.Orgs[o.ID] = o.Name
	}
	for _, c := range t.Classes {
		n.Classes[c.ID] = c.Name
	}
	sites, err := tx.Sites()
	if err != nil {
		return n, err
	}
	for _, x := range sites {
		n.Sites[x.ID] = x.Name
	}
	slices.Sort(jobs)
	n.Jobs, err = tx.Promised(slices.Compact(jobs))
	return n, err
}
