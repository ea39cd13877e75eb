package domain

import (
	"context"
	"fmt"
	"slices"

	"gpupool/domain/meter"
	"gpupool/domain/pool"
)

// Refolded is the result of metering everything again.
type Refolded struct {
	Allocs      int
	Segments    int
	Differences []string // one sentence per allocation whose ledger says otherwise
}

// Refold meters every allocation of the store again from its stored
// observations and cover, as the live path does, and compares with the
// ledger. It changes nothing.
func (s *Service) Refold(ctx context.Context) (Refolded, error) {
	var out Refolded
	err := s.store.View(ctx, func(tx Tx) error {
		out = Refolded{}
		orgs, err := tx.Orgs()
		if err != nil {
			return err
		}
		for _, o := range orgs {
			if err := out.member(tx, o.ID); err != nil {
				return err
			}
		}
		return nil
	})
	return out, err
}

func (r *Refolded) member(tx Tx, org pool.OrgID) error {
	terms, err := LoadTerms(tx)
	if err != nil {
		return err
	}
	stored, err := tx.Segments(SegmentFilter{Org: org})
	if err != nil {
		return err
	}
	by := map[pool.AllocID][]Segment{}
	for _, x := range meter.Live(stored) {
		by[x.Alloc] = append(by[x.Alloc], x)
	}
	for f := (JobFilter{Org: org, Limit: 200}); ; {
		jobs, err := tx.Jobs(f)
		if err != nil {
			return err
		}
		for _, j := range jobs {
			attempts, err := tx.Attempts(j.ID)
			if err != nil {
				return err
			}
			for _, t := range attempts {
				if err := r.attempt(tx, terms, t, by); err != nil {
					return err
				}
			}
		}
		if len(jobs) < f.Limit {
			break
		}
		f.Before = string(jobs[len(jobs)-1].ID)
	}
	for alloc := range by {
		r.Differences = append(r.Differences, fmt.Sprintf("allocation %s is in the ledger and was never observed", alloc))
	}
	return nil
}

// attempt takes the allocations that it finds out of by.
func (r *Refolded) attempt(tx Tx, terms Terms, t Attempt, by map[pool.AllocID][]Segment) error {
	obs, err := tx.Observations(t.ID)
	if err != nil {
		return err
	}
	for _, o := range obs {
		have := by[o.Alloc]
		delete(by, o.Alloc)
		want, err := refold(tx, terms, t, o)
		if err != nil {
			return fmt.Errorf("allocation %s: %w", o.Alloc, err)
		}
		for i := range have {
			have[i].Seq, have[i].Revision = 0, 0
		}
		slices.SortFunc(have, inTime)
		slices.SortFunc(want, inTime)
		r.Allocs++
		r.Segments += len(have)
		if !slices.Equal(have, want) {
			r.Differences = append(r.Differences, fmt.Sprintf("allocation %s of %s: stored %+v, metered again %+v", o.Alloc, t.ID.NomadID(), have, want))
		}
	}
	return nil
}

func inTime(a, b Segment) int {
	if a.Start != b.Start {
		return int(a.Start - b.Start)
	}
	return slices.Index(pool.Covers, a.Cover) - slices.Index(pool.Covers, b.Cover)
}

// refold is the use of one allocation as far as it should be in the ledger.
func refold(tx Tx, terms Terms, t Attempt, o Observation) ([]Segment, error) {
	m, err := tx.Meter(o.Alloc)
	if CodeOf(err) == NotFound && err != nil {
		return nil, nil // it never held anything
	}
	if err != nil {
		return nil, err
	}
	gone := m.Closed && !o.Run.Status.Terminal()
	held, err := heldBy(tx, terms, t, o.Run, meter.Sighting{LastSeen: m.Until, Vanished: gone})
	if err != nil {
		return nil, err
	}
	if gone {
		held.End = m.End // when it was seen last is stored nowhere else
	}
	held = withinPromise(held, m.From, t)
	m.From, m.End = min(held.Start, m.From), held.End
	return foldUse(tx, terms, t, m, pool.Interval{Start: m.From, End: min(held.End, m.Until)}, tx.Now())
}
