package domain

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"gpupool/domain/pool"
)

const (
	outboxBatch  = 100
	retryLongest = 5 * time.Minute
)

// DrainOutbox does what is due: each row is one call, made outside any
// transaction under the key that was stored before. A row that fails stays
// and is tried again later, with growing distance; it never blocks others.
// It returns how many rows were done.
func (s *Service) DrainOutbox(ctx context.Context) (int, error) {
	done := 0
	for {
		var rows []OutboxRow
		err := s.store.View(ctx, func(tx Tx) (err error) {
			rows, err = tx.DueOutbox(tx.Wall(), outboxBatch)
			return err
		})
		if err != nil || len(rows) == 0 {
			return done, err
		}
		failed := 0
		for _, r := range rows {
			workErr := s.work(ctx, r)
			if ctx.Err() != nil {
				return done, ctx.Err()
			}
			err := s.store.Update(ctx, func(tx Tx) error {
				r := r
				r.Tries++
				if workErr == nil {
					r.DoneAt, r.LastError = tx.Wall(), ""
				} else {
					r.LastError = workErr.Error()
					r.NextAt = tx.Wall().Add(min(time.Second<<min(r.Tries, 12), retryLongest))
				}
				return tx.UpdateOutbox(r)
			})
			if err != nil {
				return done, err
			}
			if workErr != nil {
				failed++
				s.log.Warn("outbox: tried, will try again", "kind", r.Kind, "key", r.Key, "tries", r.Tries+1, "error", workErr)
			} else {
				done++
			}
		}
		if failed > 0 {
			return done, nil // the failed ones are due later
		}
	}
}

// work does one outbox row.
func (s *Service) work(ctx context.Context, r OutboxRow) error {
	switch r.Kind {
	case "nomad.submit", "nomad.signal", "nomad.stop", "nomad.forget":
		var w attemptWork
		if err := json.Unmarshal(r.Payload, &w); err != nil {
			return err
		}
		return s.clusterWork(ctx, r.Kind, w)
	case "invoice.issue", "invoice.paid":
		return s.issuerWork(ctx, r)
	}
	return fmt.Errorf("unknown kind of work %q", r.Kind)
}

func (s *Service) clusterWork(ctx context.Context, kind string, w attemptWork) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	switch kind {
	case "nomad.submit":
		return s.submitAttempt(ctx, w)
	case "nomad.signal":
		err := s.cluster.Signal(ctx, w.Org, w.Attempt, w.Signal)
		if CodeOf(err) == NotFound {
			return nil // it has ended by itself
		}
		return err
	case "nomad.stop":
		return s.cluster.Stop(ctx, w.Org, w.Attempt)
	default:
		return s.cluster.Forget(ctx, w.Org, w.Attempt)
	}
}

// submitAttempt registers an attempt, unless it is to be stopped already.
func (s *Service) submitAttempt(ctx context.Context, w attemptWork) error {
	var spec RunSpec
	skip := false
	err := s.store.View(ctx, func(tx Tx) error {
		t, err := tx.Attempt(w.Attempt)
		if err != nil {
			return err
		}
		j, err := tx.JobByID(w.Attempt.Job)
		if err != nil {
			return err
		}
		c, err := tx.Class(t.Class)
		if err != nil {
			return err
		}
		skip = t.State == AttemptEnded || t.StopSent != 0
		spec = RunSpec{Attempt: t.ID, Org: t.Org, Project: t.Project, User: t.User, Name: j.Name, Class: c,
			Placement: t.Placement, MaxRun: t.MaxEnd.Sub(t.AdmittedAt), Spec: j.Spec}
		return nil
	})
	if err != nil || skip {
		return err
	}
	if err := s.cluster.EnsureNamespace(ctx, w.Org); err != nil {
		return err
	}
	err = s.cluster.Submit(ctx, spec)
	if CodeOf(err) == Invalid {
		// The cluster will never take this job: end it with the reason.
		return s.refuseAttempt(ctx, w.Attempt, err)
	}
	return err
}

// refuseAttempt ends an attempt that the cluster refused for good.
func (s *Service) refuseAttempt(ctx context.Context, id pool.AttemptID, cause error) error {
	return s.store.Update(ctx, func(tx Tx) error {
		t, err := tx.Attempt(id)
		if err != nil || t.State == AttemptEnded {
			return err
		}
		t.StopReason, t.StopDetail = EndNotPlaced, cause.Error()
		return endAttempt(tx, t, outcome{End: EndNotPlaced, Detail: cause.Error(), Final: true})
	})
}
