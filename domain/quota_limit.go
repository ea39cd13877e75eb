package domain

import (
	"context"

	"gpupool/domain/pool"
)

// LimitInput is an owner's choice for one class, as typed; empty is the plan's.
type LimitInput struct{ Borrow, Lend string }

// QuotaOf is what the organisation has of each class now, with its owner's
// choices applied.
func (s *Service) QuotaOf(ctx context.Context, a Actor, org pool.OrgID) ([]ClassQuota, error) {
	if err := a.Need(org, ActView); err != nil {
		return nil, err
	}
	var out []ClassQuota
	err := s.store.View(ctx, func(tx Tx) error {
		t, err := LoadTerms(tx)
		if err != nil {
			return err
		}
		t = t.Of(org)
		out = t.Quota(org, tx.Now())
		return nil
	})
	return out, err
}

// SetLimit changes from now on how many GPUs of a class the organisation
// borrows and lends at most, within its plan and what it contributed.
func (s *Service) SetLimit(ctx context.Context, a Actor, org pool.OrgID, class pool.ClassID, in LimitInput) (Limit, error) {
	if err := a.Need(org, ActQuota); err != nil {
		return Limit{}, err
	}
	var l Limit
	err := s.update(ctx, org, func(tx Tx) error {
		t, err := LoadTerms(tx)
		if err != nil {
			return err
		}
		t = t.Of(org)
		if ok, err := known(second(tx.Class(class))); err != nil {
			return err
		} else if !ok {
			return Errf(NotFound, "There is no such GPU type.")
		}
		var q ClassQuota
		for _, x := range t.Quota(org, tx.Now()) {
			if x.Class == class {
				q = x
			}
		}
		var f Fields
		l = Limit{Org: org, Class: class, From: tx.Now()}
		choose := func(field, s string, high int) *int {
			if trimmed(s) == "" {
				return nil
			}
			n := int(checkCount(&f, field, s, 0, int64(high)))
			return &n
		}
		l.Borrow, l.Lend = choose("borrow", in.Borrow, q.MostBorrow), choose("lend", in.Lend, q.MostLend)
		if err := f.Err(); err != nil {
			return err
		}
		var before any
		for _, x := range t.Limits {
			if x.Class == class {
				before = x
				l.From = max(l.From, x.From+1)
			}
		}
		if err := tx.InsertLimit(l); err != nil {
			return err
		}
		if err := tx.BumpVersion(); err != nil {
			return err
		}
		return audit(tx, a, org, "quota.limit", string(class), before, l)
	})
	return l, err
}
