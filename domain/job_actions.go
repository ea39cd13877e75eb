package domain

import (
	"context"
	"io"
	"slices"

	"gpupool/domain/money"
	"gpupool/domain/pool"
	"gpupool/domain/quota"
	"gpupool/domain/rating"
)

// JobView is a job with what its page shows.
type JobView struct {
	Job      Job
	Attempts []Attempt
	Charged  money.Amount // list price of all use so far, live use included
	Use      []JobCharge
	Segments []Segment
	UserName string
	Nodes    map[pool.NodeID]string // names
	StartBy  pool.Instant           // while it waits: the last moment for its deadline; pool.Never without one
	Expected quota.Start            // while it waits, as things stand now
	Told     ToldStart              // when it was submitted, if it had to wait
	Now      pool.Instant
}

// JobCharge is use of a job under one class, cover and price.
type JobCharge struct {
	Class pool.ClassID
	Cover pool.Cover
	Price money.Price
	Use   pool.GPUMillis
	Cost  money.Amount
}

// Job finds a job of the organisation that the actor may see.
func (s *Service) Job(ctx context.Context, a Actor, org pool.OrgID, id pool.JobID) (JobView, error) {
	var v JobView
	if err := a.Need(org, ActView); err != nil {
		return v, err
	}
	err := s.store.View(ctx, func(tx Tx) error {
		var err error
		if v, err = jobView(tx, a, org, id); err != nil {
			return err
		}
		if len(v.Attempts) > 0 {
			if v.Segments, err = tx.Segments(SegmentFilter{Org: org, Job: id}); err != nil {
				return err
			}
		}
		names, err := userNames(tx)
		v.UserName = names[v.Job.User]
		if err != nil {
			return err
		}
		return s.expect(tx, &v)
	})
	return v, err
}

// expect adds when a job that waits starts, and what was told of it at first.
func (s *Service) expect(tx Tx, v *JobView) error {
	starts, err := s.starts(tx, []Job{v.Job})
	if err != nil {
		return err
	}
	v.Expected = starts[v.Job.ID]
	if v.Job.State == JobWaiting {
		j, ok := s.LastDecision().waiting(v.Job.ID)
		if !ok { // no decision has seen it
			j = quota.Job{MaxRun: v.Job.MaxRun, Deadline: v.Job.Deadline}
		}
		v.StartBy = j.StartBy()
	}
	v.Told, _, err = tx.ToldStart(v.Job.ID)
	return err
}

// expectAll adds the same to the rows of a list.
func (s *Service) expectAll(tx Tx, rows []JobRow) error {
	jobs := make([]Job, len(rows))
	for i, r := range rows {
		jobs[i] = r.Job
	}
	starts, err := s.starts(tx, jobs)
	for i := range rows {
		rows[i].Expected = starts[rows[i].Job.ID]
	}
	return err
}

// startsBy is a latest start as it is stored: 0 when it can't be told.
func startsBy(t pool.Instant) pool.Instant {
	if t == pool.Never {
		return 0
	}
	return t
}

// seenJob finds a job that the actor may see, or NotFound.
func seenJob(tx Tx, a Actor, org pool.OrgID, id pool.JobID) (Job, error) {
	j, err := tx.Job(org, id)
	if err == nil && !a.SeesProject(org, j.Project) {
		return Job{}, Errf(NotFound, "There is no such job.")
	}
	return j, err
}

func jobView(tx Tx, a Actor, org pool.OrgID, id pool.JobID) (JobView, error) {
	v := JobView{Now: tx.Now()}
	var err error
	if v.Job, err = seenJob(tx, a, org, id); err != nil {
		return v, err
	}
	if v.Job.Attempts > 0 {
		if v.Attempts, err = tx.Attempts(id); err != nil {
			return v, err
		}
	}
	t, err := LoadTerms(tx)
	if err != nil {
		return v, err
	}
	v.Nodes = t.nodeNames()
	if len(v.Attempts) == 0 { // it has used nothing
		return v, nil
	}
	w, err := readWork(tx, org)
	if err != nil {
		return v, err
	}
	costs, err := jobCharges(tx, t, w, []pool.JobID{id})
	if err != nil {
		return v, err
	}
	v.Use = costs[id]
	for _, c := range v.Use {
		v.Charged += c.Cost
	}
	return v, nil
}

// jobCharges is what jobs have used so far by class, cover and price row,
// stored and live, at list price. Included hours are settled on the invoice.
func jobCharges(tx Tx, t Terms, w work, ids []pool.JobID) (map[pool.JobID][]JobCharge, error) {
	stored, err := tx.JobUse(ids)
	if err != nil {
		return nil, err
	}
	live := w.use(t, pool.Interval{End: pool.Never}, tx.Now())
	prices := map[pool.PriceRowID]rating.PriceRow{}
	for _, p := range t.Prices() {
		prices[p.ID] = p
	}
	out := map[pool.JobID][]JobCharge{}
	for _, id := range ids {
		use := map[pool.PriceRowID]pool.GPUMillis{}
		var order []pool.PriceRowID
		add := func(row pool.PriceRowID, n pool.GPUMillis) {
			if _, ok := use[row]; !ok {
				order = append(order, row)
			}
			use[row] += n
		}
		for _, r := range stored[id] {
			add(r.Row, r.Use)
		}
		for _, sg := range live {
			if sg.Attempt.Job == id {
				add(sg.PriceRow, sg.Use())
			}
		}
		for _, row := range order {
			p := prices[row]
			out[id] = append(out[id], JobCharge{Class: p.Class, Cover: p.Cover, Price: p.Price, Use: use[row], Cost: money.Charge(use[row], p.Price)})
		}
	}
	return out, nil
}

// JobRow is a job in a list.
type JobRow struct {
	Job      Job
	Charged  money.Amount
	UserName string
	Expected quota.Start // while it waits, as things stand now
}

// Jobs lists jobs of the organisation, newest first. more tells whether a
// page follows; the number of statements does not grow with the jobs.
func (s *Service) Jobs(ctx context.Context, a Actor, f JobFilter) (rows []JobRow, more bool, err error) {
	if err := a.Need(f.Org, ActView); err != nil {
		return nil, false, err
	}
	if only, narrowed := a.Projects[f.Org]; narrowed && !a.Operator {
		f.Projects = only
	}
	if f.Limit < 1 || f.Limit > 200 {
		f.Limit = 50
	}
	limit := f.Limit
	f.Limit++
	err = s.store.View(ctx, func(tx Tx) error {
		jobs, err := tx.Jobs(f)
		if err != nil {
			return err
		}
		if more = len(jobs) > limit; more {
			jobs = jobs[:limit]
		}
		if len(jobs) == 0 {
			rows = nil
			return nil
		}
		t, err := LoadTerms(tx)
		if err != nil {
			return err
		}
		w, err := readWork(tx, f.Org)
		if err != nil {
			return err
		}
		if rows, err = jobRows(tx, t, w, jobs); err != nil {
			return err
		}
		return s.expectAll(tx, rows)
	})
	return rows, more, err
}

func jobRows(tx Tx, t Terms, w work, jobs []Job) ([]JobRow, error) {
	if len(jobs) == 0 {
		return nil, nil
	}
	costs, err := jobCharges(tx, t, w, idsOf(jobs))
	if err != nil {
		return nil, err
	}
	names, err := userNames(tx)
	if err != nil {
		return nil, err
	}
	rows := make([]JobRow, len(jobs))
	for i, j := range jobs {
		rows[i] = JobRow{Job: j, UserName: names[j.User]}
		for _, c := range costs[j.ID] {
			rows[i].Charged += c.Cost
		}
	}
	return rows, nil
}

// JobChange is what of a waiting job is changed; nil leaves it as it is. An
// instant of 0 takes the wish away.
type JobChange struct {
	Priority            *int
	NotBefore, Deadline *pool.Instant
}

// ChangeJob changes what a job that waits asked for beside its GPUs. Members
// change their own jobs, leads and owners any. Its place by age stays.
func (s *Service) ChangeJob(ctx context.Context, a Actor, org pool.OrgID, id pool.JobID, c JobChange) error {
	if err := a.Need(org, ActSubmit); err != nil {
		return err
	}
	return s.update(ctx, org, func(tx Tx) error {
		j, err := ownJob(tx, a, org, id)
		if err != nil {
			return err
		}
		if j.State != JobWaiting || j.StopAsked != 0 {
			return Errf(Conflict, "Only a job that waits can be changed.")
		}
		wishes := func() map[string]any {
			return map[string]any{"priority": j.Priority, "not_before": j.NotBefore, "deadline": j.Deadline}
		}
		before := wishes()
		if c.Priority != nil {
			j.Priority = *c.Priority
		}
		if c.NotBefore != nil {
			j.NotBefore = *c.NotBefore
		}
		if c.Deadline != nil {
			j.Deadline = *c.Deadline
		}
		var f Fields
		checkWishes(&f, j, tx.Now())
		if err := f.Err(); err != nil {
			return err
		}
		// What the wishes were told as isn't true any more; the next decision tells the rest.
		j.Reasons = slices.DeleteFunc(j.Reasons, func(r pool.Reason) bool { return r.Code == pool.NotBefore || r.Code == pool.Deadline })
		if err := tx.UpdateJob(j); err != nil {
			return err
		}
		if err := tx.BumpVersion(); err != nil {
			return err
		}
		return audit(tx, a, org, "job.change", string(id), before, wishes())
	})
}

// ownJob finds a job that the actor may act on: its own, or any for leads and
// owners.
func ownJob(tx Tx, a Actor, org pool.OrgID, id pool.JobID) (Job, error) {
	j, err := seenJob(tx, a, org, id)
	if err == nil && j.User != a.User {
		err = a.Need(org, ActManageJobs)
	}
	return j, err
}

// StopJob stops a job: one that waits ends at once, one that runs is stopped
// and charged to its end. Members stop their own jobs, leads and owners any.
func (s *Service) StopJob(ctx context.Context, a Actor, org pool.OrgID, id pool.JobID) error {
	if err := a.Need(org, ActSubmit); err != nil {
		return err
	}
	return s.update(ctx, org, func(tx Tx) error {
		j, err := ownJob(tx, a, org, id)
		if err != nil {
			return err
		}
		if !j.Live() {
			return Errf(Conflict, "The job has ended already.")
		}
		if j.StopAsked != 0 {
			return nil // asked before; nothing more to do
		}
		before := j.State
		j.StopAsked, j.StopBy = tx.Now(), a.Name
		if j.State == JobWaiting {
			j.State, j.End, j.EndDetail, j.EndedAt, j.Reasons = JobEnded, EndNeverStarts, a.Name, tx.Now(), nil
		} else {
			j.State = JobStopping
			if err := stopAttempts(tx, j, a.Name); err != nil {
				return err
			}
		}
		if err := tx.UpdateJob(j); err != nil {
			return err
		}
		if err := tx.BumpVersion(); err != nil {
			return err
		}
		return audit(tx, a, org, "job.stop", string(id), map[string]any{"state": before}, map[string]any{"state": j.State})
	})
}

func stopAttempts(tx Tx, j Job, by string) error {
	all, err := tx.Attempts(j.ID)
	if err != nil {
		return err
	}
	for _, t := range all {
		if t.State == AttemptEnded {
			continue
		}
		// Stopped by its people, so use is charged to its end even if notice
		// had been given before.
		t.StopAt, t.StopReason, t.StopDetail = tx.Now(), EndStopped, by
		if err := sendStop(tx, &t); err != nil {
			return err
		}
	}
	return nil
}

// JobLog copies what the newest attempt of a job wrote, or what was kept of it.
func (s *Service) JobLog(ctx context.Context, a Actor, org pool.OrgID, id pool.JobID, stream string, offset, limit int64, follow bool, w io.Writer) (int64, error) {
	if err := a.Need(org, ActView); err != nil {
		return 0, err
	}
	if stream != "stdout" && stream != "stderr" {
		return 0, Errf(Invalid, "The log is stdout or stderr.")
	}
	var j Job
	var meters []Meter
	err := s.store.View(ctx, func(tx Tx) error {
		var err error
		if j, err = seenJob(tx, a, org, id); err != nil || j.Attempts == 0 {
			return err
		}
		meters, err = tx.MetersOf(pool.AttemptID{Job: id, N: j.Attempts})
		return err
	})
	if err != nil {
		return 0, err
	}
	if len(meters) == 0 {
		return 0, nil // nothing has started, nothing was written
	}
	next, err := s.cluster.Logs(ctx, org, meters[0].Alloc, stream, offset, limit, follow, w)
	if CodeOf(err) != NotFound && CodeOf(err) != Unavailable || len(j.LogTail) == 0 {
		return next, err
	}
	// The cluster no longer has it: the tail that was kept, from the start.
	if offset < int64(len(j.LogTail)) && stream == "stdout" {
		n, err := w.Write(j.LogTail[max(offset, 0):])
		return max(offset, 0) + int64(n), err
	}
	return int64(len(j.LogTail)), nil
}
