package domain

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"gpupool/domain/pool"
)

const (
	placeLimit  = time.Minute // business time that Nomad has to place an attempt
	resubmit    = 2 * time.Minute
	overrun     = time.Minute // beyond MaxEnd before we stop it ourselves
	logTailSize = 64 << 10
)

// Reconcile compares what should run with what runs. It is level-triggered:
// a lost event costs time, never truth. It records what the cluster says,
// meters it, ends what has ended, stops what should not run and registers
// again what got lost.
func (s *Service) Reconcile(ctx context.Context) error {
	// Before the list: what it shows is the truth at this moment or later.
	asked, err := s.BusinessNow(ctx)
	if err != nil {
		return err
	}
	runs, registered, err := s.listCluster(ctx)
	if err != nil {
		return err
	}
	var w world
	err = s.store.View(ctx, func(tx Tx) (err error) { w, err = readWorld(tx); return err })
	if err != nil {
		return err
	}
	w.asked = asked
	by := map[pool.AttemptID][]Run{}
	for _, r := range runs {
		by[r.Attempt] = append(by[r.Attempt], r)
	}
	var errs []error
	for _, t := range w.attempts {
		if err := s.reconcileAttempt(ctx, w, t, by[t.ID], registered); err != nil {
			// One bad attempt never blocks the others.
			s.log.Error("reconcile", "attempt", t.ID.NomadID(), "error", err)
			errs = append(errs, fmt.Errorf("%s: %w", t.ID.NomadID(), err))
		}
		delete(by, t.ID)
	}
	if err := s.stopStrays(ctx, by); err != nil {
		errs = append(errs, err)
	}
	s.mu.Lock()
	s.listed = w.asked
	for id := range s.seen {
		if !slices.ContainsFunc(runs, func(r Run) bool { return r.Alloc == id }) {
			delete(s.seen, id)
		}
	}
	s.mu.Unlock()
	if err := s.store.Update(ctx, func(tx Tx) error { return tx.SetFlag("listed_at", fmt.Sprint(int64(w.asked))) }); err != nil {
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// listCluster asks for runs and registered jobs and notes how the cluster is.
func (s *Service) listCluster(ctx context.Context) ([]Run, map[pool.AttemptID]bool, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	// Jobs first: an attempt registered between the two lists has a run but
	// no job yet, which looks like nothing to do.
	registered, err := s.cluster.Registered(ctx)
	var runs []Run
	if err == nil {
		runs, err = s.cluster.Runs(ctx)
	}
	s.noteHealth(err)
	return runs, registered, err
}

func (s *Service) noteHealth(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil {
		s.health.OK, s.health.Err = true, ""
		return
	}
	s.health.OK, s.health.Err = false, err.Error()
}

// world is what should be, at one moment.
type world struct {
	now      pool.Instant
	asked    pool.Instant // when this list was asked for
	wall     pool.Instant
	settings Settings
	attempts []Attempt
	listed   pool.Instant // when the last list was complete
}

func readWorld(tx Tx) (world, error) {
	w := world{now: tx.Now(), wall: tx.Wall()}
	var err error
	if w.settings, err = tx.Settings(); err != nil {
		return w, err
	}
	at, err := tx.Flag("listed_at")
	if err != nil {
		return w, err
	}
	if at != "" {
		if _, err := fmt.Sscan(at, (*int64)(&w.listed)); err != nil {
			return w, err
		}
	}
	w.attempts, err = tx.LiveAttempts()
	return w, err
}

// reconcileAttempt brings one attempt to what its runs say.
func (s *Service) reconcileAttempt(ctx context.Context, w world, t Attempt, runs []Run, registered map[pool.AttemptID]bool) error {
	slices.SortFunc(runs, func(a, b Run) int { return bytes.Compare([]byte(a.Alloc), []byte(b.Alloc)) })
	over, known := registered[t.ID]
	switch {
	case len(runs) > 0:
		return s.observeAttempt(ctx, w, t, runs)
	case t.StopSent != 0 && (!known || over):
		// Stopped before it was ever placed: nothing of it runs or will.
		return s.settle(ctx, t.ID, nil, w.listed)
	case t.StartedAt != 0:
		return s.settle(ctx, t.ID, nil, w.listed) // vanished
	case !known:
		return s.submitAgain(ctx, w, t)
	case t.StopAt != 0 && t.StopAt <= w.now:
		return s.stopAttempt(ctx, t, w.now)
	case w.now.Sub(t.AdmittedAt) > placeLimit && t.StopAt == 0:
		return s.notPlaced(ctx, t)
	}
	return nil
}

// submitAgain registers an attempt that the cluster does not know although it
// should: the call was lost, or somebody removed it.
func (s *Service) submitAgain(ctx context.Context, w world, t Attempt) error {
	s.mu.Lock()
	last, tried := s.graded[t.ID]
	due := tried && w.wall.Sub(last) >= resubmit
	if !tried || due {
		s.graded[t.ID] = w.wall
	}
	s.mu.Unlock()
	if !due {
		return nil
	}
	return s.store.Update(ctx, func(tx Tx) error {
		return enqueue(tx, "nomad.submit", fmt.Sprintf("submit:%s:%d", t.ID.NomadID(), w.wall), attemptWork{Attempt: t.ID, Org: t.Org})
	})
}

// notPlaced stops an attempt that Nomad did not place where the plan said.
func (s *Service) notPlaced(ctx context.Context, t Attempt) error {
	return s.store.Update(ctx, func(tx Tx) error {
		t, err := tx.Attempt(t.ID)
		if err != nil || t.State == AttemptEnded || t.StopAt != 0 {
			return err
		}
		t.State, t.StopAt, t.StopReason = AttemptStopping, tx.Now(), EndNotPlaced
		t.StopDetail = "Nomad did not place it within a minute"
		return sendStop(tx, &t)
	})
}

// stopAttempt sends the stop that is due.
func (s *Service) stopAttempt(ctx context.Context, t Attempt, now pool.Instant) error {
	return s.store.Update(ctx, func(tx Tx) error {
		t, err := tx.Attempt(t.ID)
		if err != nil || t.State == AttemptEnded || t.StopSent != 0 || t.StopAt == 0 || t.StopAt > now {
			return err
		}
		return sendStop(tx, &t)
	})
}

// sendStop puts the stop into the outbox and marks the attempt.
func sendStop(tx Tx, t *Attempt) error {
	if t.StopSent != 0 {
		return nil
	}
	t.StopSent = tx.Now()
	t.State = AttemptStopping
	if err := tx.UpdateAttempt(*t); err != nil {
		return err
	}
	if err := tx.BumpVersion(); err != nil { // its promise can't be withdrawn any more
		return err
	}
	return enqueue(tx, "nomad.stop", "stop:"+t.ID.NomadID(), attemptWork{Attempt: t.ID, Org: t.Org})
}

// observeAttempt stores what is new, and acts on it.
func (s *Service) observeAttempt(ctx context.Context, w world, t Attempt, runs []Run) error {
	changed := false
	s.mu.Lock()
	for _, r := range runs {
		if s.seen[r.Alloc].index != r.ModifyIndex {
			changed = true
		}
		s.seen[r.Alloc] = seenRun{r.ModifyIndex, w.now}
	}
	s.mu.Unlock()
	switch {
	case changed:
		if err := s.settle(ctx, t.ID, runs, w.asked); err != nil {
			s.forgetSeen(runs)
			return err
		}
	case t.StopAt != 0 && t.StopAt <= w.now && t.StopSent == 0:
		return s.stopAttempt(ctx, t, w.now)
	case t.StopSent != 0 && w.now.Sub(t.StopSent) > resubmit && s.stopLost(t, w):
		return s.store.Update(ctx, func(tx Tx) error {
			return enqueue(tx, "nomad.stop", fmt.Sprintf("stop:%s:%d", t.ID.NomadID(), w.wall), attemptWork{Attempt: t.ID, Org: t.Org})
		})
	case t.StopAt == 0 && t.MaxEnd != pool.Never && w.now.Sub(latestEnd(t, runs)) > overrun:
		return s.overran(ctx, t)
	case t.StopAt == 0 && t.StartedAt == 0:
		return s.stopSlow(ctx, w, t, runs)
	}
	return nil
}

// latestEnd is when the maximum run time of an attempt is over. It counts from
// when the cluster took it: a registration that had to wait costs no run time.
func latestEnd(t Attempt, runs []Run) pool.Instant {
	late := t.AdmittedAt
	for _, r := range runs {
		late = max(late, r.Created)
	}
	return late.Add(t.MaxEnd.Sub(t.AdmittedAt))
}

// stopLost tells at most once per resubmit interval of wall time that a stop
// had no effect.
func (s *Service) stopLost(t Attempt, w world) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	last, tried := s.graded[t.ID]
	if !tried || w.wall.Sub(last) >= resubmit {
		s.graded[t.ID] = w.wall
		return tried
	}
	return false
}

func (s *Service) overran(ctx context.Context, t Attempt) error {
	return s.store.Update(ctx, func(tx Tx) error {
		t, err := tx.Attempt(t.ID)
		if err != nil || t.State == AttemptEnded || t.StopAt != 0 {
			return err
		}
		t.StopAt, t.StopReason = tx.Now(), EndTimeLimit
		return sendStop(tx, &t)
	})
}

func (s *Service) forgetSeen(runs []Run) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range runs {
		delete(s.seen, r.Alloc)
	}
}

// stopStrays stops runs that carry our meta but should not run: their attempt
// has ended in our books or was never made.
func (s *Service) stopStrays(ctx context.Context, by map[pool.AttemptID][]Run) error {
	var errs []error
	for id, runs := range by {
		for _, r := range runs {
			if r.Status.Terminal() || r.Desired == "stop" {
				continue
			}
			s.log.Warn("stopping a run that should not be", "attempt", id.NomadID(), "allocation", r.Alloc)
			if err := s.cluster.Stop(ctx, r.Org, id); err != nil {
				errs = append(errs, err)
			}
			break
		}
	}
	return errors.Join(errs...)
}

// settle stores observations of an attempt, meters them, and moves attempt
// and job on. runs empty: it vanished, last seen at seen.
func (s *Service) settle(ctx context.Context, id pool.AttemptID, runs []Run, seen pool.Instant) error {
	tail := s.tailOf(ctx, id, runs)
	var org pool.OrgID
	err := s.store.Update(ctx, func(tx Tx) error {
		t, err := tx.Attempt(id)
		if err != nil || t.State == AttemptEnded {
			return err
		}
		org = t.Org
		for _, r := range runs {
			if _, err := tx.InsertObservation(Observation{Alloc: r.Alloc, ModifyIndex: r.ModifyIndex, Attempt: id, Run: r, ReceivedAt: tx.Now()}); err != nil {
				return err
			}
		}
		return advance(tx, t, runs, seen, tail)
	})
	if err == nil && org != "" {
		s.hub.Publish(string(org))
	}
	return err
}

// tailOf reads the end of the log of a run that has ended, before the
// transaction that needs it. No log is no reason to fail.
func (s *Service) tailOf(ctx context.Context, id pool.AttemptID, runs []Run) []byte {
	i := slices.IndexFunc(runs, func(r Run) bool { return r.Status == RunFailed })
	if i = max(i, 0); len(runs) == 0 || !runs[i].Status.Terminal() {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	var all []byte
	for _, stream := range []string{"stdout", "stderr"} {
		var b bytes.Buffer
		if _, err := s.cluster.Logs(ctx, runs[i].Org, runs[i].Alloc, stream, -logTailSize/2, logTailSize/2, false, &b); err != nil {
			s.log.Debug("no log at the end", "attempt", id.NomadID(), "error", err)
			continue
		}
		all = append(all, b.Bytes()...)
	}
	return all
}
