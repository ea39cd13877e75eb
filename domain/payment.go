package domain

import (
	"context"
	"fmt"

	"gpupool/domain/invoice"
	"gpupool/domain/money"
	"gpupool/domain/pool"
	"gpupool/domain/rating"
)

// PaymentInput is money received, as the operator records it.
type PaymentInput struct {
	Amount     string       // decimal, in the pool's currency; may be negative for a refund
	ReceivedAt pool.Instant // 0: now
	Reference  string       // of the bank; the same one is taken once
	Note       string
}

// RecordPayment stores a payment for an invoice and moves its state by its
// balance. Partial and over-payments are kept as they came.
func (s *Service) RecordPayment(ctx context.Context, a Actor, number string, in PaymentInput) error {
	if err := a.NeedOperator(); err != nil {
		return err
	}
	id := s.newID("pay-")
	return s.update(ctx, "", func(tx Tx) error {
		inv, err := tx.InvoiceByNumber(number)
		if err != nil {
			return err
		}
		st, err := tx.Settings()
		if err != nil {
			return err
		}
		var f Fields
		p := Payment{ID: id, Invoice: inv.ID, ReceivedAt: in.ReceivedAt, Reference: trimmed(in.Reference), Note: trimmed(in.Note),
			RecordedBy: a.User, RecordedAt: tx.Now()}
		if p.Amount, err = parseSigned(st.Currency, in.Amount); err != nil {
			f.Add("amount", "%s", err.Error())
		} else if p.Amount == 0 {
			f.Add("amount", "Not zero.")
		}
		checkLine(&f, "reference", p.Reference, true, 140)
		checkText(&f, "note", p.Note, false, 500)
		if p.ReceivedAt == 0 {
			p.ReceivedAt = tx.Now()
		}
		if p.ReceivedAt > tx.Now() {
			f.Add("received_at", "Not in the future.")
		}
		if err := f.Err(); err != nil {
			return err
		}
		if err := tx.InsertPayment(p); CodeOf(err) == Conflict {
			f.Add("reference", "A payment with this bank reference was recorded already.")
			return f.Err()
		} else if err != nil {
			return err
		}
		if err := s.settleBalance(tx, a, inv); err != nil {
			return err
		}
		return audit(tx, a, inv.Org, "payment.record", number, nil, map[string]any{"amount": p.Amount, "reference": p.Reference})
	})
}

func parseSigned(c money.Currency, text string) (money.Amount, error) {
	text = trimmed(text)
	if len(text) > 1 && text[0] == '-' {
		n, err := c.Parse(text[1:])
		return -n, err
	}
	return c.Parse(text)
}

// settleBalance moves an invoice between issued and paid by what was received.
func (s *Service) settleBalance(tx Tx, a Actor, inv Invoice) error {
	bal, err := balanceOf(tx, inv)
	if err != nil {
		return err
	}
	states, err := tx.InvoiceStates(inv.ID)
	if err != nil {
		return err
	}
	now := invoice.State(states[len(states)-1].State)
	next := bal.State()
	if now == next || now == invoice.Void {
		return nil
	}
	if err := invoice.Move(now, next); err != nil {
		return &Error{Code: Conflict, Message: "The invoice is %s and can't become %s.", Args: []any{string(now), string(next)}, Err: err}
	}
	if next == invoice.Paid && inv.Issuer != "local" {
		if err := enqueue(tx, "invoice.paid", "paid:"+string(inv.ID), invoiceWork{Org: inv.Org, Invoice: inv.ID}); err != nil {
			return err
		}
	}
	return tx.InsertInvoiceState(InvoiceState{Invoice: inv.ID, At: tx.Now(), State: string(next), By: a.User})
}

func balanceOf(tx Tx, inv Invoice) (invoice.Balance, error) {
	payments, err := tx.Payments(inv.ID)
	if err != nil {
		return invoice.Balance{}, err
	}
	var amounts []money.Amount
	for _, p := range payments {
		amounts = append(amounts, p.Amount)
	}
	return invoice.BalanceOf(inv.Total, amounts, nil)
}

// InvoiceRow is an invoice in a list.
type InvoiceRow struct {
	Invoice Invoice
	State   string // issued, paid, overdue, void, uncollectible
	Paid    money.Amount
}

// Invoices of an organisation, or of all members with "" for the operator.
func (s *Service) Invoices(ctx context.Context, a Actor, org pool.OrgID) ([]InvoiceRow, error) {
	if org == "" {
		if err := a.NeedOperator(); err != nil {
			return nil, err
		}
	} else if err := a.Need(org, ActViewBilling); err != nil {
		return nil, err
	}
	var out []InvoiceRow
	err := s.store.View(ctx, func(tx Tx) error {
		out = nil
		all, err := tx.Invoices(org)
		if err != nil {
			return err
		}
		states, err := tx.CurrentStates(org)
		if err != nil {
			return err
		}
		paid, err := tx.PaymentSums(org)
		if err != nil {
			return err
		}
		for _, i := range all {
			out = append(out, InvoiceRow{i, shownState(states[i.ID], i, tx.Now()), paid[i.ID]})
		}
		return nil
	})
	return out, err
}

func shownState(state string, i Invoice, now pool.Instant) string {
	if state == string(invoice.Issued) && now > i.DueAt {
		return "overdue"
	}
	return state
}

// InvoiceView is an invoice with what its page shows.
type InvoiceView struct {
	InvoiceRow
	Frozen   Frozen
	Balance  invoice.Balance
	Payments []Payment
	States   []InvoiceState
	URL      string // where it can be paid online, empty for none
	Bank     string
}

// Invoice finds an issued invoice of the organisation by its number.
func (s *Service) Invoice(ctx context.Context, a Actor, org pool.OrgID, number string) (InvoiceView, error) {
	var v InvoiceView
	if err := a.Need(org, ActViewBilling); err != nil {
		return v, err
	}
	err := s.store.View(ctx, func(tx Tx) error {
		v = InvoiceView{}
		inv, err := tx.InvoiceByNumber(number)
		if err != nil {
			return err
		}
		if inv.Org != org {
			return Errf(NotFound, "There is no such invoice.")
		}
		if v.Frozen, err = inv.Open(); err != nil {
			return err
		}
		if v.States, err = tx.InvoiceStates(inv.ID); err != nil {
			return err
		}
		if v.Payments, err = tx.Payments(inv.ID); err != nil {
			return err
		}
		if v.Balance, err = balanceOf(tx, inv); err != nil {
			return err
		}
		if v.URL, err = tx.Flag("url:" + string(inv.ID)); err != nil {
			return err
		}
		v.InvoiceRow = InvoiceRow{inv, shownState(v.States[len(v.States)-1].State, inv, tx.Now()), v.Balance.Paid}
		return nil
	})
	return v, err
}

// Draft computes the invoice of the open month of an account as it stands: no
// rows, no number.
func (s *Service) Draft(ctx context.Context, a Actor, org pool.OrgID, id pool.AccountID, m pool.Month) (invoice.Document, error) {
	var d invoice.Document
	if err := a.Need(org, ActViewBilling); err != nil {
		return d, err
	}
	err := s.store.View(ctx, func(tx Tx) error {
		acc, err := tx.Account(org, id)
		if err != nil {
			return err
		}
		t, err := LoadTerms(tx)
		if err != nil {
			return err
		}
		b, err := basisOf(tx, t, acc, m)
		if err != nil {
			return err
		}
		rows, err := tx.Usage(SegmentFilter{Org: org, From: m.Bounds(t.Zone).Start, To: m.Bounds(t.Zone).End},
			UsageGroup{Project: true, User: true, Account: true, Job: true})
		if err != nil {
			return err
		}
		w, err := readWork(tx, org)
		if err != nil {
			return err
		}
		b.totals = totalsOf(rows, w.use(t, m.Bounds(t.Zone), tx.Now()))
		lines, err := b.bill(t)
		if err != nil {
			return err
		}
		names, err := namesIn(tx, t, lines)
		if err != nil {
			return err
		}
		d, err = invoice.Build(invoice.Order{Kind: invoice.Regular, Names: names, Language: acc.Language, Account: acc.ID, Org: org, Period: m, Zone: t.Settings.Zone,
			Currency: t.Settings.Currency, Seller: sellerOf(t.Settings), Buyer: buyerOf(acc), Tax: taxOf(acc), Lines: lines})
		return err
	})
	return d, err
}

// VerifyResult is what Verify found.
type VerifyResult struct {
	Invoices    int
	Head        map[string]string // issuer -> hash of its last document
	Differences []string
}

// Verify recomputes every issued invoice from ledger and price lists, and the
// chain of hashes. Anybody may run it: it shows no content.
func (s *Service) Verify(ctx context.Context) (VerifyResult, error) {
	r := VerifyResult{}
	err := s.store.View(ctx, func(tx Tx) error {
		r = VerifyResult{Head: map[string]string{}}
		all, err := tx.Invoices("")
		if err != nil {
			return err
		}
		accounts, err := tx.Accounts("")
		if err != nil {
			return err
		}
		by := map[pool.AccountID]BillingAccount{}
		for _, acc := range accounts {
			by[acc.ID] = acc
		}
		for i := len(all) - 1; i >= 0; i-- {
			inv := all[i]
			if err := verifyInvoice(tx, by[inv.Account], inv, r.Head[inv.Issuer]); err != nil {
				r.Differences = append(r.Differences, err.Error())
			}
			r.Head[inv.Issuer] = inv.Hash
			r.Invoices++
		}
		return nil
	})
	return r, err
}

func verifyInvoice(tx Tx, acc BillingAccount, inv Invoice, previous string) error {
	f, err := inv.Open()
	if err != nil {
		return err
	}
	d, b := f.Document, f.Basis
	if d.Hash != inv.Hash || d.Total != inv.Total || d.Number != inv.Number {
		return fmt.Errorf("invoice %s: its row and its document differ", inv.Number)
	}
	t, err := LoadTerms(tx)
	if err != nil {
		return err
	}
	e := invoice.Evidence{Previous: previous}
	if d.Kind == invoice.Start {
		e.Lines = rating.For(acc.ID, rating.StartLines(rating.Advance, t.PlanWindows(acc.Org), d.Period, t.Zone))
		return invoice.Verify(d, e)
	}
	if b.totals, err = knownTotals(tx, t, b, d.Period); err != nil {
		return err
	}
	for i := range b.Late {
		if b.Late[i].totals, err = knownTotals(tx, t, b, b.Late[i].Month); err != nil {
			return err
		}
	}
	if d.Range.To > d.Range.From {
		if e.Segments, err = tx.Segments(SegmentFilter{Account: acc.ID, AfterSeq: d.Range.From, ToSeq: d.Range.To}); err != nil {
			return err
		}
	}
	if e.Lines, err = b.bill(t); err != nil {
		return err
	}
	return invoice.Verify(d, e)
}

// knownTotals sums the segments of a month that were in the ledger when the
// basis was frozen.
func knownTotals(tx Tx, t Terms, b Basis, m pool.Month) ([]rating.Total, error) {
	bounds := m.Bounds(t.Zone)
	var all []Segment
	for id, known := range b.Known {
		if known == 0 {
			continue
		}
		some, err := tx.Segments(SegmentFilter{Account: id, From: bounds.Start, To: bounds.End, ToSeq: known})
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	return rating.Totals(all)
}
