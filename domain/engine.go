package domain

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"gpupool/domain/pool"
	"gpupool/domain/quota"
)

const (
	minimumRun   = 10 * time.Minute // a borrower is protected this long
	halfLife     = 7 * 24 * time.Hour
	cutNotice    = 72 * time.Hour // guaranteed work above a quota that was cut stays guaranteed so long
	reserveAfter = 4 * time.Hour
	leaseFor     = 20 * time.Second // wall time; renewed each cycle
)

var errStale = errors.New("the pool changed while the plan was made")

// RunEngine makes one decision and applies it: the only place where jobs are
// admitted. It decides outside any transaction and commits by comparing the
// pool's version; a plan that came too late is thrown away and made again.
// It reports whether anything was changed.
func (s *Service) RunEngine(ctx context.Context) (bool, error) {
	for try := 0; ; try++ {
		changed, err := s.runEngineOnce(ctx)
		if !errors.Is(err, errStale) || try == 4 {
			return changed, err
		}
	}
}

func (s *Service) runEngineOnce(ctx context.Context) (bool, error) {
	var v view
	if err := s.store.View(ctx, func(tx Tx) (err error) { v, err = snapshot(tx); return err }); err != nil {
		return false, fmt.Errorf("snapshot: %w", err)
	}
	plan := s.decide(v.snap, v.now)
	for _, p := range plan.Problems {
		s.log.Warn("the snapshot contradicts itself", "problem", p)
	}
	s.mu.Lock()
	s.last = &Decision{At: v.now, Snapshot: v.snap, Plan: plan}
	s.mu.Unlock()
	a := applying{service: s, view: v, plan: plan}
	err := s.store.Update(ctx, func(tx Tx) error {
		a.orgs, a.moved = map[pool.OrgID]bool{}, false
		ok, err := tx.TakeLease("engine", s.holder, tx.Wall().Add(leaseFor))
		if err != nil {
			return err
		}
		if !ok {
			return Errf(Conflict, "Another portal process runs the engine.")
		}
		if plan.Changes() {
			ok, err := tx.AdvanceVersion(v.snap.Version)
			if err != nil {
				return err
			}
			if !ok {
				return errStale
			}
		}
		return a.apply(tx)
	})
	if err != nil {
		s.forget() // the plan wasn't carried out
		return false, err
	}
	s.mu.Lock()
	s.next = min(plan.Next, v.terms.nextChange(v.now))
	s.mu.Unlock()
	if plan.Changes() { // whoever waits may start at another time now
		for i := range v.snap.Pending {
			a.orgs[v.snap.Pending[i].Org] = true
		}
	}
	for o := range a.orgs {
		s.hub.Publish(string(o))
	}
	return plan.Changes() || a.moved, nil
}

// decide keeps the engine's state from one decision to the next. What was read
// is compared with it whole, so that it never decides on what isn't stored.
func (s *Service) decide(snap quota.Snapshot, now pool.Instant) quota.Plan {
	s.deciding.Lock()
	defer s.deciding.Unlock()
	if s.state == nil {
		s.state = quota.NewState(snap)
	} else {
		s.state.Sync(snap)
	}
	plan := s.state.Decide(now)
	plan.Wait = s.state.Waits()
	if plan.Enforces() { // what the pool's rules do to running work is read anew
		s.state = nil
	}
	return plan
}

// forget lets the next decision begin from nothing.
func (s *Service) forget() {
	s.deciding.Lock()
	s.state = nil
	s.deciding.Unlock()
}

// NextDecision is the business time at which the last decision could change
// though nothing happens: a minimum run time ends, a job's own moment or a
// window comes. 0 before the first decision, pool.Never when there is none.
func (s *Service) NextDecision() pool.Instant {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.next
}

// applying is one plan on its way into the store.
type applying struct {
	service *Service
	view
	plan quota.Plan
	orgs map[pool.OrgID]bool // touched
	// moved: something changed beside the plan, so the next decision may start
	// what this one didn't: a waiting job became spot or missed its deadline,
	// the calendar stops work.
	moved bool
}

func (a *applying) apply(tx Tx) error {
	if a.plan.Changes() {
		if err := integrateLending(tx, a.view); err != nil {
			return err
		}
	}
	promises, err := tx.OpenPromises()
	if err != nil {
		return err
	}
	for _, w := range a.plan.Withdrawn {
		if err := a.withdraw(tx, promises, w); err != nil {
			return err
		}
	}
	if err := a.enforce(tx); err != nil {
		return err
	}
	if err := a.calendar(tx); err != nil {
		return err
	}
	for _, x := range a.plan.Admit {
		if err := a.admit(tx, promises, x); err != nil {
			return err
		}
	}
	for _, c := range a.plan.Covers {
		t, err := tx.Attempt(c.Attempt)
		if err != nil {
			return err
		}
		t.Split = c.Split
		if err := tx.UpdateAttempt(t); err != nil {
			return err
		}
		if err := a.cover(tx, t.ID, c.Split); err != nil {
			return err
		}
		a.orgs[t.Org] = true
	}
	for _, p := range a.plan.Reclaim {
		if err := a.reclaim(tx, p); err != nil {
			return err
		}
	}
	for _, u := range quota.LoansAfter(a.snap, a.plan, a.now) {
		if err := tx.SaveLoanUse(LoanUse(u)); err != nil {
			return err
		}
	}
	return a.explain(tx)
}

func (a *applying) admit(tx Tx, promises []Promise, x quota.Admission) error {
	j, err := tx.JobByID(x.Job)
	if err != nil {
		return err
	}
	if j.State != JobWaiting || j.StopAsked != 0 {
		return errStale
	}
	j.Attempts++
	t := Attempt{ID: pool.AttemptID{Job: j.ID, N: j.Attempts}, Org: j.Org, Project: j.Project, User: j.User, Class: x.Class,
		Placement: fromQuota(x.Placement), Tier: j.Tier, Priority: j.Priority, Split: x.Split, State: AttemptPlaced,
		AdmittedAt: a.now, MaxEnd: x.MaxEnd}
	if err := tx.InsertAttempt(t); err != nil {
		return err
	}
	if err := tx.InsertCover(CoverRow{Attempt: t.ID, From: a.now, Split: x.Split}); err != nil {
		return err
	}
	if err := enqueue(tx, "nomad.submit", "submit:"+t.ID.NomadID(), attemptWork{Attempt: t.ID, Org: t.Org}); err != nil {
		return err
	}
	j.State, j.Reasons, j.Position, j.StartsBy = JobStarting, nil, 0, 0
	a.orgs[j.Org] = true
	for _, p := range promises {
		if p.Job == j.ID && p.State == PromiseOpen {
			p.State = PromiseKept
			if err := tx.UpdatePromise(p); err != nil {
				return err
			}
		}
	}
	return tx.UpdateJob(j)
}

// cover stores a change of cover. Two decisions in one millisecond stand one
// after the other.
func (a *applying) cover(tx Tx, id pool.AttemptID, split pool.Split) error {
	rows, err := tx.Covers(id)
	if err != nil {
		return err
	}
	from := a.now
	if n := len(rows); n > 0 && rows[n-1].From >= from {
		from = rows[n-1].From + 1
	}
	return tx.InsertCover(CoverRow{Attempt: id, From: from, Split: split})
}

func (a *applying) reclaim(tx Tx, p quota.Promise) error {
	j, err := tx.JobByID(p.Job)
	if err != nil {
		return err
	}
	err = tx.InsertPromise(Promise{ID: a.service.newID("p-"), Job: p.Job, Class: p.Class, Placement: fromQuota(p.Placement),
		Victims: p.Victims, Rule: string(p.Rule), MadeAt: a.now, StopAt: p.StopAt, State: PromiseOpen})
	if err != nil {
		return err
	}
	for _, id := range p.Victims {
		if err := a.notice(tx, id, p.StopAt, EndTakenBack, string(j.Org)+" ("+string(p.Rule)+")"); err != nil {
			return err
		}
	}
	return nil
}

func (a *applying) withdraw(tx Tx, promises []Promise, w quota.Withdrawal) error {
	i := slices.IndexFunc(promises, func(p Promise) bool { return p.Job == w.Job && p.State == PromiseOpen })
	if i < 0 {
		return nil
	}
	p := &promises[i]
	p.State = PromiseWithdrawn
	if w.Why == quota.Overdue {
		p.State = PromiseLapsed
		a.service.log.Warn("a victim is not gone in time", "job", w.Job, "promise", p.ID)
	}
	if err := tx.UpdatePromise(*p); err != nil {
		return err
	}
	for _, id := range w.Keep {
		if err := a.keep(tx, id); err != nil {
			return err
		}
	}
	return nil
}

// explain stores why each waiting job waits, where that changed.
func (a *applying) explain(tx Tx) error {
	jobs, err := tx.LiveJobs()
	if err != nil {
		return err
	}
	by := map[pool.JobID]Job{}
	for _, j := range jobs {
		by[j.ID] = j
	}
	for _, w := range a.plan.Wait {
		j, ok := by[w.Job]
		if !ok || j.State != JobWaiting {
			continue
		}
		if a.toSpot(j, w.Reasons) {
			j.Tier = pool.Spot
			if err := tx.UpdateJob(j); err != nil {
				return err
			}
			if err := audit(tx, System("engine"), j.Org, "job.to_spot", string(j.ID), map[string]any{"tier": pool.Burst}, map[string]any{"tier": j.Tier}); err != nil {
				return err
			}
			a.moved, a.orgs[j.Org] = true, true
			continue
		}
		if slices.ContainsFunc(w.Reasons, func(r pool.Reason) bool { return r.Code == pool.Deadline }) {
			if err := a.miss(tx, j); err != nil {
				return err
			}
			continue
		}
		if j.Position == w.Position && slices.Equal(j.Reasons, w.Reasons) {
			continue
		}
		if err := tx.SetReasons(j.ID, w.Reasons, w.Position, j.StartsBy); err != nil {
			return err
		}
		a.orgs[j.Org] = true
	}
	return nil
}

// miss ends a job that can't end by its deadline any more.
func (a *applying) miss(tx Tx, j Job) error {
	before := j.State
	j.State, j.End, j.EndedAt, j.Reasons, j.Position, j.StartsBy = JobEnded, EndDeadline, a.now, nil, 0, 0
	a.moved, a.orgs[j.Org] = true, true
	if err := tx.UpdateJob(j); err != nil {
		return err
	}
	return audit(tx, System("engine"), j.Org, "job.deadline", string(j.ID), map[string]any{"state": before, "deadline": j.Deadline}, map[string]any{"state": j.State})
}

// toSpot tells whether a flexible job that a limit of money holds goes on as
// spot, as its organisation chose.
func (a *applying) toSpot(j Job, reasons []pool.Reason) bool {
	return a.terms.AtLimit(j.Org, a.now) == quota.SpotAtLimit && j.Tier == pool.Burst &&
		slices.ContainsFunc(reasons, func(r pool.Reason) bool {
			return r.Code == pool.Cap || r.Code == pool.Budget || r.Code == pool.OrderExhausted
		})
}

// attemptWork is the payload of outbox rows for the cluster.
type attemptWork struct {
	Attempt pool.AttemptID `json:"attempt"`
	Org     pool.OrgID     `json:"org"`
	Signal  string         `json:"signal,omitempty"`
}

// enqueue stores work for the outbox under its key.
func enqueue(tx Tx, kind, key string, payload any) error {
	b, err := json.Marshal(payload)
	if err != nil {
		return err
	}
	return tx.InsertOutbox(OutboxRow{Kind: kind, Key: key, Payload: b, CreatedAt: tx.Now(), NextAt: tx.Wall()})
}
