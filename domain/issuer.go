package domain

import (
	"context"

	"gpupool/domain/money"
)

// Issuer carries invoices to the payer. The local one needs no network; the
// Stripe one mirrors the same lines there. Every call is safe to repeat under
// its key.
type Issuer interface {
	Name() string // "local" or "stripe"
	// Prepare makes the customer known; it returns the issuer's id for it.
	Prepare(ctx context.Context, key string, a BillingAccount) (string, error)
	// Issue hands over an issued invoice and returns where it can be paid.
	Issue(ctx context.Context, key string, customer string, inv Invoice, lines []IssueLine) (IssuedAt, error)
	// Paid records a payment made out of band.
	Paid(ctx context.Context, key string, remote string) error
}

// IssueLine is one line as the issuer shows it.
type IssueLine struct {
	ID     string
	Text   string
	Amount money.Amount
}

// IssuedAt is where an issuer keeps an invoice.
type IssuedAt struct {
	Remote string // id there, empty for the local issuer
	Number string
	URL    string // hosted page, empty for the local issuer
	PDF    string
	Total  money.Amount
}
