package domain

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"gpupool/domain/invoice"
	"gpupool/domain/money"
	"gpupool/domain/pool"
	"gpupool/domain/rating"
)

// afterGrace is how long after the grace an open meter may hold up its
// account before it is cut at the month's end as estimated.
const afterGrace = 48 * time.Hour

// Closed is the result of closing a month for one billing account.
type Closed struct {
	Account BillingAccount
	Invoice Invoice // zero when there was nothing to bill
	Again   bool    // it had been closed before; nothing was changed
	Err     error   // this account failed; the others went on
}

// CloseMonth rates and issues a month for every billing account, one
// transaction each. It is safe to repeat and to run twice at once. The month
// must be over by its grace.
func (s *Service) CloseMonth(ctx context.Context, a Actor, m pool.Month) ([]Closed, error) {
	if err := a.NeedOperator(); err != nil {
		return nil, err
	}
	if err := s.MeterDays(ctx); err != nil {
		s.log.Warn("closing goes on without some meters", "error", err)
	}
	var accounts []BillingAccount
	err := s.store.View(ctx, func(tx Tx) error {
		st, err := tx.Settings()
		if err != nil {
			return err
		}
		due := m.Bounds(st.Location()).End.Add(st.Grace)
		if tx.Now() < due {
			return Errf(Conflict, "%s can be closed from %s on, when its grace has ended.", m.String(), due.In(st.Location()).Format("2006-01-02 15:04 MST"))
		}
		accounts, err = tx.Accounts("")
		return err
	})
	if err != nil {
		return nil, err
	}
	out := make([]Closed, len(accounts))
	for i, acc := range accounts {
		out[i] = s.closeAccount(ctx, a, acc, m)
		if out[i].Err != nil {
			s.log.Error("closing", "account", acc.ID, "month", m.String(), "error", out[i].Err)
		}
	}
	return out, nil
}

func (s *Service) closeAccount(ctx context.Context, a Actor, acc BillingAccount, m pool.Month) Closed {
	c := Closed{Account: acc}
	id := pool.InvoiceID(s.newID("i-"))
	c.Err = s.update(ctx, acc.Org, func(tx Tx) error {
		inv, err := tx.InvoiceOf(acc.ID, m, string(invoice.Regular))
		if err == nil {
			c.Invoice, c.Again = inv, true
			return nil
		}
		if CodeOf(err) != NotFound {
			return err
		}
		c.Again = false
		c.Invoice, err = billMonth(tx, a, id, acc, m)
		return err
	})
	if CodeOf(c.Err) == Conflict {
		// Somebody else closed it at the same time: theirs is the invoice.
		err := s.store.View(ctx, func(tx Tx) error {
			inv, err := tx.InvoiceOf(acc.ID, m, string(invoice.Regular))
			if err == nil {
				c.Invoice, c.Again = inv, true
			}
			return err
		})
		if err == nil {
			c.Err = nil
		}
	}
	return c
}

// billMonth makes and stores the regular invoice of an account for a month;
// the zero Invoice when there is nothing to bill.
func billMonth(tx Tx, a Actor, id pool.InvoiceID, acc BillingAccount, m pool.Month) (Invoice, error) {
	t, err := LoadTerms(tx)
	if err != nil {
		return Invoice{}, err
	}
	if err := metered(tx, t, acc.Org, m); err != nil {
		return Invoice{}, err
	}
	b, err := basisOf(tx, t, acc, m)
	if err != nil {
		return Invoice{}, err
	}
	lines, err := b.bill(t)
	if err != nil || len(lines) == 0 {
		return Invoice{}, err
	}
	return issue(tx, a, t, issueOrder{ID: id, Account: acc, Kind: invoice.Regular, Month: m, Lines: lines, Basis: b})
}

// metered tells whether the month is wholly in the ledger. Runs that nobody
// could look at for two days after the grace no longer hold it up.
func metered(tx Tx, t Terms, org pool.OrgID, m pool.Month) error {
	end := m.Bounds(t.Zone).End
	if tx.Now() >= end.Add(t.Settings.Grace+afterGrace) {
		return nil
	}
	meters, err := tx.OpenMetersOf(org)
	if err != nil {
		return err
	}
	behind := 0
	for _, o := range meters {
		if o.Until < end && o.From < end {
			at, err := tx.Attempt(o.Attempt)
			if err != nil {
				return err
			}
			if free := at.freeFrom(); free != 0 && free <= o.Until {
				continue
			}
			behind++
		}
	}
	if behind > 0 {
		return Errf(Conflict, "The use of %d runs is not metered up to the end of %s yet.", behind, m.String())
	}
	return nil
}

// Basis is what an invoice was computed from, frozen with it: how much of
// each account's ledger was known, what jobs had been promised, which fees
// had been paid before.
type Basis struct {
	Org      pool.OrgID
	Account  pool.AccountID
	Month    pool.Month
	Timing   rating.Timing
	From     int64                    // the account's ledger was billed up to here before
	Known    map[pool.AccountID]int64 // last sequence number of each account of the organisation
	Promises []rating.Promise
	PaidFees []rating.Line
	Late     []LateBasis
	use      []Segment
	totals   []rating.Total
}

// LateBasis is a closed month that had changed since it was billed.
type LateBasis struct {
	Month    pool.Month
	Billed   []rating.Line
	Promises []rating.Promise
	totals   []rating.Total
}

// Frozen is what Invoice.Doc holds: the document and what it was computed from.
type Frozen struct {
	Document invoice.Document
	Basis    Basis
}

// Open decodes the frozen document of an invoice.
func (i Invoice) Open() (Frozen, error) {
	var f Frozen
	if err := json.Unmarshal(i.Doc, &f); err != nil {
		return f, fmt.Errorf("invoice %s: %w", i.Number, err)
	}
	return f, nil
}

func basisOf(tx Tx, t Terms, acc BillingAccount, m pool.Month) (Basis, error) {
	b := Basis{Org: acc.Org, Account: acc.ID, Month: m, Timing: timing(acc), Known: map[pool.AccountID]int64{}}
	accounts, err := tx.Accounts(acc.Org)
	if err != nil {
		return b, err
	}
	for _, x := range accounts {
		b.Known[x.ID] = x.LastSeq
	}
	earlier, err := frozenOf(tx, acc)
	if err != nil {
		return b, err
	}
	bounds := m.Bounds(t.Zone)
	if b.totals, err = monthTotals(tx, t, acc.Org, m); err != nil {
		return b, err
	}
	b.From = lastTo(earlier)
	if b.Known[acc.ID] > b.From {
		// Its part of the ledger: what came since the invoice before, whatever month it is for.
		if b.use, err = tx.Segments(SegmentFilter{Account: acc.ID, AfterSeq: b.From, ToSeq: b.Known[acc.ID]}); err != nil {
			return b, err
		}
	}
	if b.Promises, err = promisesOf(tx, b.totals, earlier, m); err != nil {
		return b, err
	}
	for _, f := range earlier {
		for _, l := range f.Document.Lines {
			if l.Kind == rating.Fee && bounds.Contains(l.Service.Start) {
				b.PaidFees = append(b.PaidFees, l.Line)
			}
		}
	}
	b.Late, err = lateOf(tx, t, b, earlier)
	return b, err
}

func timing(acc BillingAccount) rating.Timing {
	if acc.Advance {
		return rating.Advance
	}
	return rating.Arrears
}

// monthTotals sums an organisation's month, every account and job of it.
func monthTotals(tx Tx, t Terms, org pool.OrgID, m pool.Month) ([]rating.Total, error) {
	bounds := m.Bounds(t.Zone)
	rows, err := tx.Usage(SegmentFilter{Org: org, From: bounds.Start, To: bounds.End},
		UsageGroup{Project: true, User: true, Account: true, Job: true})
	if err != nil {
		return nil, err
	}
	return totalsOf(rows, nil), nil
}

// frozenOf opens the live documents of an account, oldest first.
func frozenOf(tx Tx, acc BillingAccount) ([]Frozen, error) {
	all, err := tx.Invoices(acc.Org)
	if err != nil {
		return nil, err
	}
	states, err := tx.CurrentStates(acc.Org)
	if err != nil {
		return nil, err
	}
	var out []Frozen
	for _, i := range slices.Backward(all) {
		if i.Account != acc.ID || states[i.ID] == string(invoice.Void) {
			continue
		}
		f, err := i.Open()
		if err != nil {
			return nil, err
		}
		out = append(out, f)
	}
	return out, nil
}

// promisesOf gives the "up to" of every job in the totals, and what earlier
// months charged it.
func promisesOf(tx Tx, totals []rating.Total, earlier []Frozen, m pool.Month) ([]rating.Promise, error) {
	var ids []pool.JobID
	have := map[pool.JobID]bool{}
	for _, t := range totals {
		if !have[t.Job] {
			have[t.Job] = true
			ids = append(ids, t.Job)
		}
	}
	slices.Sort(ids)
	ups, err := tx.Promised(ids)
	if err != nil {
		return nil, err
	}
	before := map[pool.JobID]money.Amount{}
	for _, f := range earlier {
		for _, l := range f.Document.Lines {
			of := f.Document.Period.String()
			if l.Adjusts != "" {
				of = l.Adjusts
			}
			if of == m.String() {
				continue
			}
			for _, p := range l.Parts {
				if have[p.Job] {
					before[p.Job] += p.Amount
				}
			}
		}
	}
	var out []rating.Promise
	for _, id := range ids {
		if up, ok := ups[id]; ok {
			out = append(out, rating.Promise{Job: id, UpTo: up.UpTo, Before: before[id]})
		}
	}
	return out, nil
}

// lastTo is how far the account's ledger has been taken by its invoices.
func lastTo(earlier []Frozen) int64 {
	var to int64
	for _, f := range earlier {
		to = max(to, f.Document.Range.To)
	}
	return to
}

// lateOf finds the closed months of an account for which use became known
// since its last invoice, on any account of the organisation: they share the
// included hours.
func lateOf(tx Tx, t Terms, b Basis, earlier []Frozen) ([]LateBasis, error) {
	var months []pool.Month
	known := map[pool.AccountID]int64{}
	for _, f := range earlier {
		if f.Document.Kind == invoice.Regular {
			months = append(months, f.Document.Period)
			known = f.Basis.Known
		}
	}
	var out []LateBasis
	for _, month := range months {
		if !month.Before(b.Month) {
			continue
		}
		grown, err := grew(tx, month.Bounds(t.Zone), known, b.Known)
		if err != nil || !grown {
			if err != nil {
				return nil, err
			}
			continue
		}
		l := LateBasis{Month: month, Billed: billedFor(earlier, month)}
		if l.totals, err = monthTotals(tx, t, b.Org, month); err != nil {
			return nil, err
		}
		if l.Promises, err = promisesOf(tx, l.totals, earlier, month); err != nil {
			return nil, err
		}
		out = append(out, l)
	}
	return out, nil
}

// grew tells whether the ledger of a month has rows that came after before
// and up to now.
func grew(tx Tx, bounds pool.Interval, before, now map[pool.AccountID]int64) (bool, error) {
	for id, to := range now {
		if to <= before[id] {
			continue
		}
		more, err := tx.Segments(SegmentFilter{Account: id, From: bounds.Start, To: bounds.End, AfterSeq: before[id], ToSeq: to})
		if err != nil || len(more) > 0 {
			return len(more) > 0, err
		}
	}
	return false, nil
}

// billedFor are the variable lines billed for a month so far.
func billedFor(earlier []Frozen, month pool.Month) []rating.Line {
	var out []rating.Line
	for _, f := range earlier {
		for _, l := range f.Document.Lines {
			if !l.Kind.Variable() {
				continue
			}
			if l.Adjusts == month.String() || l.Adjusts == "" && f.Document.Period == month && f.Document.Kind == invoice.Regular {
				out = append(out, l.Line)
			}
		}
	}
	return out
}

// bill computes the lines from the basis.
func (b Basis) bill(t Terms) ([]rating.Line, error) {
	use := func(totals []rating.Total) rating.Input {
		return rating.Input{Totals: totals, Plans: t.PlanWindows(b.Org), Prices: t.Prices()}
	}
	r := rating.Basis{Account: b.Account, Timing: b.Timing, Month: b.Month, Zone: t.Zone, Use: use(b.totals), Promises: b.Promises, PaidFees: b.PaidFees}
	for _, l := range b.Late {
		r.Late = append(r.Late, rating.LateMonth{Month: l.Month, Use: use(l.totals), Billed: l.Billed, Promises: l.Promises})
	}
	return rating.Bill(r)
}
