package domain

import (
	"context"

	"gpupool/domain/money"
	"gpupool/domain/pool"
	"gpupool/domain/rating"
)

// CapInput is the form of a spending cap, money as typed. An empty amount
// takes the cap away.
type CapInput struct {
	Amount string
	Mode   CapMode
}

// CapView is the cap in force with what counts against it this month.
type CapView struct {
	Cap  SpendingCap // Amount is nil: none
	Used money.Amount
}

// Cap of an organisation now, with the month's variable charges so far.
func (s *Service) Cap(ctx context.Context, a Actor, org pool.OrgID) (CapView, error) {
	if err := a.Need(org, ActViewBilling); err != nil {
		return CapView{}, err
	}
	var v CapView
	err := s.store.View(ctx, func(tx Tx) error {
		t, err := LoadTerms(tx)
		if err != nil {
			return err
		}
		t = t.Of(org)
		v = CapView{Cap: SpendingCap{Org: org, Mode: CapStop}}
		if c, ok := t.Cap(org, tx.Now()); ok {
			v.Cap = c
		}
		v.Used, err = usedThisMonth(tx, t, org)
		return err
	})
	return v, err
}

func usedThisMonth(tx Tx, t Terms, org pool.OrgID) (money.Amount, error) {
	lines, err := MonthCharges(tx, t, org, pool.MonthOf(tx.Now(), t.Zone))
	if err != nil {
		return 0, err
	}
	return rating.Charges(lines)
}

// SetCap limits the organisation's net variable charges of each billing month
// from now on. A cap below what this month has used already is refused.
func (s *Service) SetCap(ctx context.Context, a Actor, org pool.OrgID, in CapInput) (SpendingCap, error) {
	if err := a.Need(org, ActBilling); err != nil {
		return SpendingCap{}, err
	}
	var c SpendingCap
	err := s.update(ctx, org, func(tx Tx) error {
		t, err := LoadTerms(tx)
		if err != nil {
			return err
		}
		t = t.Of(org)
		var f Fields
		c = SpendingCap{Org: org, From: tx.Now(), Mode: in.Mode}
		checkChoice(&f, "mode", in.Mode, CapStop, CapDowngrade, CapBill, CapNotify)
		if trimmed(in.Amount) != "" {
			amount := checkAmount(&f, "amount", t.Settings.Currency, in.Amount)
			c.Amount = &amount
		}
		if err := f.Err(); err != nil {
			return err
		}
		if c.Amount != nil {
			used, err := usedThisMonth(tx, t, org)
			if err != nil {
				return err
			}
			if *c.Amount < used {
				return Fields{{Field: "amount", Message: "A cap of %s is below the %s that this month has used already.",
					Args: []any{inCurrency(t.Settings.Currency, *c.Amount), inCurrency(t.Settings.Currency, used)}}}.Err()
			}
		}
		var before any
		if n := len(t.Caps); n > 0 {
			before = t.Caps[n-1]
			c.From = max(c.From, t.Caps[n-1].From+1) // dated rows are never replaced
		}
		if err := tx.InsertCap(c); err != nil {
			return err
		}
		if err := tx.BumpVersion(); err != nil {
			return err
		}
		return audit(tx, a, org, "cap.set", string(org), before, c)
	})
	return c, err
}
