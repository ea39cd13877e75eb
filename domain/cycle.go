package domain

import (
	"context"
	"errors"
)

// Cycle is one turn of the work that follows a change: look at the cluster
// (when asked to), decide, and do what was decided. Loops call it; tests call
// it directly. A part that fails does not keep the others from running.
func (s *Service) Cycle(ctx context.Context, look bool) error {
	s.turn.Lock() // one turn at a time, whoever asks for it
	defer s.turn.Unlock()
	var errs []error
	if look {
		errs = append(errs, s.Reconcile(ctx))
	}
	for range 4 { // a plan can make the next one possible at once
		changed, err := s.RunEngine(ctx)
		if err != nil {
			errs = append(errs, err)
			break
		}
		if !changed {
			break
		}
	}
	_, err := s.DrainOutbox(ctx)
	errs = append(errs, err)
	if errors.Join(errs...) == nil { // the last plan is carried out, by this process
		errs = append(errs, s.tellStarts(ctx))
	}
	return errors.Join(errs...)
}

// Housekeeping is what time alone makes due: inventory, the ledger's
// midnights, lending integrals, first invoices, what has expired.
func (s *Service) Housekeeping(ctx context.Context) error {
	return errors.Join(
		s.SyncInventory(ctx),
		s.MeterDays(ctx),
		s.IntegrateLending(ctx),
		s.IssueStarts(ctx),
		s.store.Update(ctx, func(tx Tx) error {
			if err := tx.DeleteNonces(tx.Wall().Add(-24 * hour)); err != nil {
				return err
			}
			return tx.DeleteExpiredSessions(tx.Wall())
		}),
	)
}

// WatchCluster wakes the loops when the cluster says that something changed,
// until ctx ends.
func (s *Service) WatchCluster(ctx context.Context) error {
	return s.cluster.Watch(ctx, s.hub.Wake)
}
