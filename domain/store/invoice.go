package store

import (
	"cmp"
	"fmt"

	"gpupool/domain"
	"gpupool/domain/money"
	"gpupool/domain/pool"
)

type invoiceRow struct {
	ID        string `gorm:"column:id;primaryKey"`
	Number    string `gorm:"column:number"`
	AccountID string `gorm:"column:account_id"`
	OrgID     string `gorm:"column:org_id"`
	Month     string `gorm:"column:month"`
	Kind      string `gorm:"column:kind"`
	FromSeq   int64  `gorm:"column:from_seq"`
	ToSeq     int64  `gorm:"column:to_seq"`
	Net       int64  `gorm:"column:net"`
	Tax       int64  `gorm:"column:tax"`
	Total     int64  `gorm:"column:total"`
	IssuedAt  int64  `gorm:"column:issued_at"`
	DueAt     int64  `gorm:"column:due_at"`
	Hash      string `gorm:"column:hash"`
	PrevHash  string `gorm:"column:prev_hash"`
	Issuer    string `gorm:"column:issuer"`
	Doc       string `gorm:"column:doc"`
	Live      bool   `gorm:"column:live"`
}

func (invoiceRow) TableName() string { return "invoices" }

func rowOfInvoice(i domain.Invoice) invoiceRow {
	return invoiceRow{
		ID: string(i.ID), Number: i.Number, AccountID: string(i.Account), OrgID: string(i.Org), Month: i.Month.String(), Kind: i.Kind,
		FromSeq: i.FromSeq, ToSeq: i.ToSeq, Net: int64(i.Net), Tax: int64(i.Tax), Total: int64(i.Total), IssuedAt: int64(i.IssuedAt),
		DueAt: int64(i.DueAt), Hash: i.Hash, PrevHash: i.PrevHash, Issuer: i.Issuer, Doc: string(i.Doc), Live: true,
	}
}

func (r invoiceRow) noun() (domain.Invoice, error) {
	m, err := pool.ParseMonth(r.Month)
	if err != nil {
		return domain.Invoice{}, fmt.Errorf("store: invoice %s: %w", r.ID, err)
	}
	return domain.Invoice{
		ID: pool.InvoiceID(r.ID), Number: r.Number, Account: pool.AccountID(r.AccountID), Org: pool.OrgID(r.OrgID), Month: m, Kind: r.Kind,
		FromSeq: r.FromSeq, ToSeq: r.ToSeq, Net: money.Amount(r.Net), Tax: money.Amount(r.Tax), Total: money.Amount(r.Total),
		IssuedAt: pool.Instant(r.IssuedAt), DueAt: pool.Instant(r.DueAt), Hash: r.Hash, PrevHash: r.PrevHash, Issuer: r.Issuer,
		Doc: []byte(r.Doc),
	}, nil
}

// NextNumber counts per series and year from 1. It is taken in the transaction
// that uses it, so a rollback leaves no gap.
func (t *tx) NextNumber(series string, year int) (int64, error) {
	if err := needed(series); err != nil {
		return 0, err
	}
	var n []int64
	err := t.db.Raw(`INSERT INTO invoice_counters (series, year, last) VALUES (?, ?, 1)
		ON CONFLICT (series, year) DO UPDATE SET last = invoice_counters.last + 1 RETURNING last`, series, year).Scan(&n).Error
	if err != nil {
		return 0, fail(err)
	}
	return n[0], nil
}

// InsertInvoice stores what was issued with its first state. It is Conflict
// when a live invoice of the account has the same month and kind, the same
// number, or a ledger range that overlaps: a segment is billed once.
func (t *tx) InsertInvoice(i domain.Invoice) error {
	if err := cmp.Or(needed(i.ID), needed(i.Account), needed(i.Org), needed(i.Number)); err != nil {
		return err
	}
	if i.ToSeq < i.FromSeq || i.FromSeq < 0 {
		return domain.Errf(domain.Invalid, "The ledger range of an invoice never runs backwards.")
	}
	if i.ToSeq > i.FromSeq {
		var other int64
		err := t.db.Model(&invoiceRow{}).Where("account_id = ? AND live AND from_seq < to_seq AND to_seq > ? AND from_seq < ?", i.Account, i.FromSeq, i.ToSeq).Count(&other).Error
		if err != nil {
			return fail(err)
		}
		if other > 0 {
			return conflict(invoiceRow{})
		}
	}
	if err := insert(t, rowOfInvoice(i)); err != nil {
		return err
	}
	return t.InsertInvoiceState(domain.InvoiceState{Invoice: i.ID, At: i.IssuedAt, State: "issued"})
}

func (t *tx) Invoice(org pool.OrgID, id pool.InvoiceID) (domain.Invoice, error) {
	if err := cmp.Or(needed(org), needed(id)); err != nil {
		return domain.Invoice{}, err
	}
	return one(t, invoiceRow.noun, "id = ? AND org_id = ?", id, org)
}

func (t *tx) InvoiceByNumber(number string) (domain.Invoice, error) {
	if err := needed(number); err != nil {
		return domain.Invoice{}, err
	}
	return one(t, invoiceRow.noun, "number = ?", number)
}

// Invoices of the organisation, or of all with "", newest first, void ones too.
func (t *tx) Invoices(org pool.OrgID) ([]domain.Invoice, error) {
	const newest = "issued_at DESC, number DESC"
	if org == "" {
		return all(t, invoiceRow.noun, newest, "")
	}
	return all(t, invoiceRow.noun, newest, "org_id = ?", org)
}

// LastInvoice is the live one of the account whose range reaches furthest: a
// void invoice gives its range back.
func (t *tx) LastInvoice(a pool.AccountID) (domain.Invoice, error) {
	if err := needed(a); err != nil {
		return domain.Invoice{}, err
	}
	return firstInvoice(t, "to_seq DESC, issued_at DESC, id DESC", "account_id = ? AND live", a)
}

// InvoiceOf is the live one of the account for the month and kind.
func (t *tx) InvoiceOf(a pool.AccountID, m pool.Month, kind string) (domain.Invoice, error) {
	if err := cmp.Or(needed(a), needed(kind)); err != nil {
		return domain.Invoice{}, err
	}
	return one(t, invoiceRow.noun, "account_id = ? AND month = ? AND kind = ? AND live", a, m.String(), kind)
}

func firstInvoice(t *tx, order, where string, args ...any) (domain.Invoice, error) {
	var rows []invoiceRow
	err := t.db.Where(where, args...).Order(order).Limit(1).Find(&rows).Error
	if err == nil && len(rows) == 0 {
		return domain.Invoice{}, notFound(invoiceRow{})
	}
	if err != nil {
		return domain.Invoice{}, fail(err)
	}
	return rows[0].noun()
}
