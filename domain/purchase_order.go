package domain

import (
	"context"

	"gpupool/domain/pool"
)

// OrderInput is the form of a purchase order, money as typed.
type OrderInput struct {
	Number string // any text of at most 100 characters, as the buyer wrote it
	Amount string
	From   pool.Instant // 0: now
	To     pool.Instant // exclusive; 0: no end
	AtZero string       // stop, next, without
}

// Orders of an organisation's billing accounts, by account and validity.
func (s *Service) Orders(ctx context.Context, a Actor, org pool.OrgID) ([]PurchaseOrder, error) {
	if err := a.Need(org, ActViewBilling); err != nil {
		return nil, err
	}
	var out []PurchaseOrder
	err := s.store.View(ctx, func(tx Tx) error {
		accounts, err := tx.Accounts(org)
		if err != nil {
			return err
		}
		out = nil
		for _, b := range accounts {
			orders, err := tx.Orders(b.ID)
			if err != nil {
				return err
			}
			out = append(out, orders...)
		}
		return nil
	})
	return out, err
}

// AddOrder records a purchase order of a billing account. Its number is unique
// there.
func (s *Service) AddOrder(ctx context.Context, a Actor, org pool.OrgID, account pool.AccountID, in OrderInput) (PurchaseOrder, error) {
	if err := a.Need(org, ActBilling); err != nil {
		return PurchaseOrder{}, err
	}
	id := pool.PurchaseOrderID(s.newID("po-"))
	var o PurchaseOrder
	err := s.update(ctx, org, func(tx Tx) error {
		if _, err := tx.Account(org, account); err != nil {
			return err
		}
		st, err := tx.Settings()
		if err != nil {
			return err
		}
		var f Fields
		o = PurchaseOrder{ID: id, Account: account, Number: trimmed(in.Number), From: in.From, To: in.To, AtZero: in.AtZero, CreatedAt: tx.Now()}
		checkLine(&f, "number", o.Number, true, maxName)
		if o.Amount = checkAmount(&f, "amount", st.Currency, in.Amount); o.Amount == 0 && len(f) == 0 {
			f.Add("amount", "Above %s.", inCurrency(st.Currency, 0))
		}
		if o.From == 0 {
			o.From = tx.Now()
		}
		if o.To == 0 {
			o.To = pool.Never
		}
		if o.From < 0 || o.To <= o.From || o.To <= tx.Now() {
			f.Add("to", "Must lie after the first day and after now.")
		}
		checkChoice(&f, "at_zero", o.AtZero, "stop", "next", "without")
		orders, err := tx.Orders(account)
		if err != nil {
			return err
		}
		for _, x := range orders {
			if x.Number == o.Number {
				f.Add("number", "The account has an order with this number, of %s.", inCurrency(st.Currency, x.Amount))
			}
		}
		if err := f.Err(); err != nil {
			return err
		}
		if err := tx.InsertOrder(o); err != nil {
			return err
		}
		if err := tx.BumpVersion(); err != nil {
			return err
		}
		return audit(tx, a, org, "order.create", string(id), nil, o)
	})
	return o, err
}
