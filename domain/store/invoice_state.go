package store

import (
	"gpupool/domain"
	"gpupool/domain/pool"
)

type invoiceStateRow struct {
	InvoiceID string `gorm:"column:invoice_id;primaryKey"`
	N         int64  `gorm:"column:n;primaryKey;autoIncrement:false"`
	At        int64  `gorm:"column:at"`
	State     string `gorm:"column:state"`
	ByUserID  string `gorm:"column:by_user_id"`
	Note      string `gorm:"column:note"`
}

func (invoiceStateRow) TableName() string { return "invoice_states" }

func (r invoiceStateRow) noun() (domain.InvoiceState, error) {
	return domain.InvoiceState{
		Invoice: pool.InvoiceID(r.InvoiceID), At: pool.Instant(r.At), State: r.State, By: pool.UserID(r.ByUserID), Note: r.Note,
	}, nil
}

// InsertInvoiceState appends a state; the last one holds. Void ends the
// invoice: its month and ledger range are free for another one. An unknown
// invoice is NotFound, a second void Conflict.
func (t *tx) InsertInvoiceState(s domain.InvoiceState) error {
	if err := needed(s.Invoice); err != nil {
		return err
	}
	n, err := t.exec(`INSERT INTO invoice_states (invoice_id, n, at, state, by_user_id, note)
		SELECT i.id, (SELECT COUNT(*) FROM invoice_states AS p WHERE p.invoice_id = i.id) + 1, CAST(? AS BIGINT), CAST(? AS TEXT), CAST(? AS TEXT), CAST(? AS TEXT)
		FROM invoices AS i WHERE i.id = ?`, int64(s.At), s.State, string(s.By), s.Note, string(s.Invoice))
	if err != nil {
		return err
	}
	if n == 0 {
		return notFound(invoiceStateRow{})
	}
	if s.State != "void" {
		return nil
	}
	n, err = t.exec("UPDATE invoices SET live = ? WHERE id = ? AND live", false, s.Invoice)
	if err == nil && n == 0 {
		return conflict(invoiceStateRow{})
	}
	return err
}

// InvoiceStates of the invoice, in the order they were stored.
func (t *tx) InvoiceStates(id pool.InvoiceID) ([]domain.InvoiceState, error) {
	if err := needed(id); err != nil {
		return nil, err
	}
	return all(t, invoiceStateRow.noun, "n", "invoice_id = ?", id)
}

// CurrentStates of the invoices of the organisation, or of all with "", in one
// statement.
func (t *tx) CurrentStates(org pool.OrgID) (map[pool.InvoiceID]string, error) {
	where := "n = (SELECT MAX(s.n) FROM invoice_states AS s WHERE s.invoice_id = invoice_states.invoice_id)"
	var args []any
	if org != "" {
		where += " AND invoice_id IN (SELECT i.id FROM invoices AS i WHERE i.org_id = ?)"
		args = append(args, org)
	}
	rows, err := list[invoiceStateRow](t, "invoice_id", where, args...)
	states := make(map[pool.InvoiceID]string, len(rows))
	for _, r := range rows {
		states[pool.InvoiceID(r.InvoiceID)] = r.State
	}
	return states, err
}
