package domain

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"gpupool/domain/invoice"
	"gpupool/domain/money"
	"gpupool/domain/pool"
	"gpupool/domain/rating"
)

// issueOrder is an invoice about to be issued.
type issueOrder struct {
	ID      pool.InvoiceID
	Account BillingAccount
	Kind    invoice.Kind
	Month   pool.Month
	Lines   []rating.Line
	Basis   Basis
}

// issue numbers, hashes and stores an invoice, with its outbox row, in the
// caller's transaction.
func issue(tx Tx, a Actor, t Terms, o issueOrder) (Invoice, error) {
	acc := o.Account
	span := invoice.Range{From: o.Basis.From, To: max(o.Basis.From, o.Basis.Known[acc.ID])}
	if o.Kind == invoice.Start {
		span = invoice.Range{} // it takes nothing of the ledger
	}
	names, err := namesIn(tx, t, o.Lines)
	if err != nil {
		return Invoice{}, err
	}
	draft, err := invoice.Build(invoice.Order{ID: o.ID, Kind: o.Kind, Language: acc.Language, Names: names, Account: acc.ID, Org: acc.Org, Period: o.Month, Zone: t.Settings.Zone,
		Currency: t.Settings.Currency, Seller: sellerOf(t.Settings), Buyer: buyerOf(acc), Tax: taxOf(acc), Lines: o.Lines, Range: span})
	if err != nil {
		return Invoice{}, err
	}
	now := tx.Now()
	year := now.In(t.Zone).Year()
	n, err := tx.NextNumber("invoice:"+acc.Issuer, year)
	if err != nil {
		return Invoice{}, err
	}
	number := fmt.Sprintf("%s%d-%06d", prefixOf(t.Settings, acc.Issuer), year, n)
	chain := "chain:" + acc.Issuer
	previous, err := tx.Flag(chain)
	if err != nil {
		return Invoice{}, err
	}
	due := pool.At(now.In(t.Zone).AddDate(0, 0, acc.TermsDays))
	doc, err := invoice.Issue(draft, number, now, due, o.Basis.use, previous)
	if err != nil {
		return Invoice{}, err
	}
	frozen, err := json.Marshal(Frozen{Document: doc, Basis: o.Basis})
	if err != nil {
		return Invoice{}, err
	}
	inv := Invoice{ID: o.ID, Number: number, Account: acc.ID, Org: acc.Org, Month: o.Month, Kind: string(o.Kind), FromSeq: doc.Range.From,
		ToSeq: doc.Range.To, Net: doc.Net, Tax: doc.Tax, Total: doc.Total, IssuedAt: now, DueAt: due, Hash: doc.Hash, PrevHash: previous,
		Issuer: acc.Issuer, Doc: frozen}
	if err := tx.InsertInvoice(inv); err != nil {
		return Invoice{}, err
	}
	if inv.Total <= 0 { // nothing to pay
		if err := tx.InsertInvoiceState(InvoiceState{Invoice: inv.ID, At: now, State: string(invoice.Paid), Note: "nothing to pay"}); err != nil {
			return Invoice{}, err
		}
	}
	if err := tx.SetFlag(chain, doc.Hash); err != nil {
		return Invoice{}, err
	}
	if acc.Issuer != "local" {
		if err := enqueue(tx, "invoice.issue", "issue:"+string(o.ID), invoiceWork{Org: acc.Org, Invoice: o.ID}); err != nil {
			return Invoice{}, err
		}
	}
	return inv, audit(tx, a, acc.Org, "invoice.issue", number, nil, map[string]any{"total": doc.Total, "month": o.Month.String(), "hash": doc.Hash})
}

// namesIn are the names of what the lines name by id.
func namesIn(tx Tx, t Terms, lines []rating.Line) (map[string]string, error) {
	out := map[string]string{}
	users, err := userNames(tx)
	if err != nil {
		return nil, err
	}
	var ids []pool.JobID
	for _, l := range lines {
		if v, ok := t.Versions[l.Plan]; ok {
			out[string(l.Plan)] = t.PlanName(v.Plan)
		}
		for _, c := range t.Classes {
			if c.ID == l.Class {
				out[string(l.Class)] = c.Name
			}
		}
		for _, p := range l.Parts {
			if _, have := out[string(p.Job)]; !have {
				out[string(p.Job)] = ""
				ids = append(ids, p.Job)
			}
			out[string(p.User)] = users[p.User]
		}
	}
	jobs, err := tx.Promised(ids)
	for id, j := range jobs {
		out[string(id)] = j.Name
	}
	for _, l := range lines {
		for _, p := range l.Parts {
			out[string(p.Project)] = t.projectName(p.Project)
		}
	}
	return out, err
}

func prefixOf(st Settings, issuer string) string {
	p := st.InvoicePrefix
	if p == "" {
		p = "GP"
	}
	if issuer != "local" {
		p += "-" + strings.ToUpper(issuer[:1])
	}
	return p + "-"
}

func sellerOf(st Settings) invoice.Party {
	return invoice.Party{Name: st.Seller.Name, Address: addressOf(st.Seller), TaxID: st.Seller.TaxID, Bank: st.Bank}
}

func buyerOf(acc BillingAccount) invoice.Party {
	return invoice.Party{Name: acc.Buyer.Name, Address: addressOf(acc.Buyer), TaxID: acc.Buyer.TaxID,
		Email: strings.Join(acc.Emails, ", "), Reference: acc.BuyerRef}
}

func addressOf(p Party) []string {
	var out []string
	for _, l := range strings.Split(p.Address+"\n"+p.Country, "\n") {
		if l = strings.TrimSpace(l); l != "" {
			out = append(out, l)
		}
	}
	return out
}

func taxOf(acc BillingAccount) invoice.TaxProfile {
	kinds := map[string]invoice.Treatment{"standard": invoice.Standard, "exempt": invoice.Exempt, "reverse": invoice.ReverseCharge, "outside": invoice.OutsideScope}
	return invoice.TaxProfile{Treatment: kinds[acc.TaxKind], Rate: money.BasisPoints(acc.TaxRate), Reason: acc.TaxReason}
}

// IssueStarts issues the first fee of accounts that pay in advance, once for
// each subscription. It is level-triggered and safe to repeat.
func (s *Service) IssueStarts(ctx context.Context) error {
	type start struct {
		account BillingAccount
		month   pool.Month
		id      pool.InvoiceID
	}
	var due []start
	err := s.store.View(ctx, func(tx Tx) error {
		due = nil
		t, err := LoadTerms(tx)
		if err != nil {
			return err
		}
		accounts, err := tx.Accounts("")
		if err != nil {
			return err
		}
		for _, acc := range accounts {
			if !acc.Advance {
				continue
			}
			for _, sub := range t.Subscriptions {
				m := pool.MonthOf(sub.Start, t.Zone)
				if sub.Account != acc.ID || sub.Start > tx.Now() || m.Bounds(t.Zone).Start == sub.Start && startedBefore(t, sub) {
					continue
				}
				if startedBefore(t, sub) {
					continue // a change of plan: the difference comes with the month's invoice
				}
				if _, err := tx.InvoiceOf(acc.ID, m, string(invoice.Start)); CodeOf(err) == NotFound {
					due = append(due, start{acc, m, pool.InvoiceID(s.newID("i-"))})
				} else if err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, d := range due {
		err := s.update(ctx, d.account.Org, func(tx Tx) error {
			if _, err := tx.InvoiceOf(d.account.ID, d.month, string(invoice.Start)); CodeOf(err) != NotFound {
				return err
			}
			t, err := LoadTerms(tx)
			if err != nil {
				return err
			}
			lines := rating.For(d.account.ID, rating.StartLines(rating.Advance, t.PlanWindows(d.account.Org), d.month, t.Zone))
			if len(lines) == 0 {
				return nil
			}
			b := Basis{Org: d.account.Org, Account: d.account.ID, Month: d.month, Timing: rating.Advance, Known: map[pool.AccountID]int64{d.account.ID: d.account.LastSeq}}
			_, err = issue(tx, System("billing"), t, issueOrder{ID: d.id, Account: d.account, Kind: invoice.Start, Month: d.month, Lines: lines, Basis: b})
			return err
		})
		if err != nil {
			s.log.Error("start invoice", "account", d.account.ID, "error", err)
		}
	}
	return nil
}

// startedBefore tells whether another subscription of the organisation ended
// where this one began.
func startedBefore(t Terms, sub Subscription) bool {
	for _, o := range t.Subscriptions {
		if o.Org == sub.Org && o.ID != sub.ID && o.End == sub.Start {
			return true
		}
	}
	return false
}

// invoiceWork is the payload of outbox rows for an issuer.
type invoiceWork struct {
	Org     pool.OrgID     `json:"org"`
	Invoice pool.InvoiceID `json:"invoice"`
}

// issuerWork hands an invoice, or the news that it is paid, to its issuer.
func (s *Service) issuerWork(ctx context.Context, r OutboxRow) error {
	var w invoiceWork
	if err := json.Unmarshal(r.Payload, &w); err != nil {
		return err
	}
	var inv Invoice
	var acc BillingAccount
	var remote string
	err := s.store.View(ctx, func(tx Tx) (err error) {
		if inv, err = tx.Invoice(w.Org, w.Invoice); err != nil {
			return err
		}
		if acc, err = tx.Account(w.Org, inv.Account); err != nil {
			return err
		}
		remote, err = tx.Flag("remote:" + string(inv.ID))
		return err
	})
	if err != nil {
		return err
	}
	is, ok := s.issuers[inv.Issuer]
	if !ok {
		return Errf(Unavailable, "The issuer %s is not set up.", inv.Issuer)
	}
	if r.Kind == "invoice.paid" {
		return is.Paid(ctx, r.Key, remote)
	}
	customer, err := is.Prepare(ctx, "customer:"+string(acc.ID), acc)
	if err != nil {
		return err
	}
	f, err := inv.Open()
	if err != nil {
		return err
	}
	var lines []IssueLine
	for _, l := range f.Document.Lines {
		lines = append(lines, IssueLine{ID: fmt.Sprintf("%s-%d", inv.ID, l.No), Text: LineText(l.Line), Amount: l.Amount})
	}
	at, err := is.Issue(ctx, r.Key, customer, inv, lines)
	if err != nil {
		return err
	}
	return s.store.Update(ctx, func(tx Tx) error {
		if err := tx.SetFlag("url:"+string(inv.ID), at.URL); err != nil {
			return err
		}
		return tx.SetFlag("remote:"+string(inv.ID), at.Remote)
	})
}

// LineText is a line in words, in English.
func LineText(l rating.Line) string {
	switch l.Kind {
	case rating.Fee:
		return fmt.Sprintf("Monthly fee, plan %s", l.Plan)
	case rating.Included:
		return fmt.Sprintf("%s: included GPU-hours", l.Class)
	case rating.Overage:
		return fmt.Sprintf("%s: GPU-hours beyond the included ones", l.Class)
	case rating.Loan:
		return fmt.Sprintf("%s: borrowed GPU-hours", l.Class)
	case rating.Spot:
		return fmt.Sprintf("%s: spot GPU-hours", l.Class)
	case rating.Minimum:
		return fmt.Sprintf("%s: minimum charge", l.Class)
	default:
		return fmt.Sprintf("Waived: %s", l.Cause)
	}
}
