package store

import (
	"cmp"

	"gpupool/domain"
	"gpupool/domain/money"
	"gpupool/domain/pool"
)

type paymentRow struct {
	ID         string `gorm:"column:id;primaryKey"`
	InvoiceID  string `gorm:"column:invoice_id"`
	Issuer     string `gorm:"column:issuer"` // of the invoice
	Amount     int64  `gorm:"column:amount"`
	ReceivedAt int64  `gorm:"column:received_at"`
	Reference  string `gorm:"column:reference"`
	Note       string `gorm:"column:note"`
	RecordedBy string `gorm:"column:recorded_by"`
	RecordedAt int64  `gorm:"column:recorded_at"`
}

func (paymentRow) TableName() string { return "payments" }

func (r paymentRow) noun() (domain.Payment, error) {
	return domain.Payment{
		ID: r.ID, Invoice: pool.InvoiceID(r.InvoiceID), Amount: money.Amount(r.Amount), ReceivedAt: pool.Instant(r.ReceivedAt),
		Reference: r.Reference, Note: r.Note, RecordedBy: pool.UserID(r.RecordedBy), RecordedAt: pool.Instant(r.RecordedAt),
	}, nil
}

// InsertPayment records money received. A reference that the invoice's issuer
// has on record is Conflict, so a bank statement read twice pays once; an
// empty reference is never taken for another empty one.
func (t *tx) InsertPayment(p domain.Payment) error {
	if err := cmp.Or(needed(p.ID), needed(p.Invoice)); err != nil {
		return err
	}
	inv, err := find[invoiceRow](t, "id = ?", p.Invoice)
	if err != nil {
		return err
	}
	return insert(t, paymentRow{
		ID: p.ID, InvoiceID: string(p.Invoice), Issuer: inv.Issuer, Amount: int64(p.Amount), ReceivedAt: int64(p.ReceivedAt),
		Reference: p.Reference, Note: p.Note, RecordedBy: string(p.RecordedBy), RecordedAt: int64(p.RecordedAt),
	})
}

// Payments of the invoice, in the order they were received.
func (t *tx) Payments(id pool.InvoiceID) ([]domain.Payment, error) {
	if err := needed(id); err != nil {
		return nil, err
	}
	return all(t, paymentRow.noun, "received_at, id", "invoice_id = ?", id)
}

// PaymentSums of the invoices of the organisation, or of all with "", in one
// statement; an invoice without a payment is absent.
func (t *tx) PaymentSums(org pool.OrgID) (map[pool.InvoiceID]money.Amount, error) {
	q := t.db.Model(&paymentRow{}).Select("invoice_id, CAST(SUM(amount) AS BIGINT) AS amount").Group("invoice_id")
	if org != "" {
		q = q.Where("invoice_id IN (SELECT i.id FROM invoices AS i WHERE i.org_id = ?)", org)
	}
	var rows []struct {
		InvoiceID string `gorm:"column:invoice_id"`
		Amount    int64  `gorm:"column:amount"`
	}
	err := q.Scan(&rows).Error
	sums := make(map[pool.InvoiceID]money.Amount, len(rows))
	for _, r := range rows {
		sums[pool.InvoiceID(r.InvoiceID)] = money.Amount(r.Amount)
	}
	return sums, fail(err)
}
