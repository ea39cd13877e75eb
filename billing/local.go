package billing

import (
	"context"

	"gpupool/domain"
	"gpupool/domain/money"
)

// Local is the offline issuer: payment by bank transfer or purchase order,
// recorded by the operator. It keeps nothing and calls nobody.
type Local struct{}

var _ domain.Issuer = Local{}

// NewLocal makes the offline issuer.
func NewLocal() Local { return Local{} }

func (Local) Name() string { return "local" }

// Prepare has nothing to make known; the issuer's id for a customer is empty.
func (Local) Prepare(ctx context.Context, _ string, _ domain.BillingAccount) (string, error) {
	return "", ctx.Err()
}

// Issue checks that the lines add up to the invoice and says under which
// number it can be paid. Internal: they do not.
func (Local) Issue(ctx context.Context, _ string, _ string, inv domain.Invoice, lines []domain.IssueLine) (domain.IssuedAt, error) {
	if err := ctx.Err(); err != nil {
		return domain.IssuedAt{}, err
	}
	if err := adds(inv, lines); err != nil {
		return domain.IssuedAt{}, err
	}
	return domain.IssuedAt{Number: inv.Number, Total: inv.Total}, nil
}

// Paid has nobody to tell: the payment is in our own ledger.
func (Local) Paid(ctx context.Context, _ string, _ string) error { return ctx.Err() }

// adds tells whether the lines are distinct and sum to the invoice's total.
func adds(inv domain.Invoice, lines []domain.IssueLine) error {
	seen := make(map[string]bool, len(lines))
	amounts := make([]money.Amount, len(lines))
	for i, l := range lines {
		if l.ID == "" || seen[l.ID] {
			return domain.Errf(domain.Internal, "The invoice %s has a line without an id of its own.", inv.Number)
		}
		seen[l.ID] = true
		amounts[i] = l.Amount
	}
	sum, err := money.Sum(amounts...)
	if err != nil || sum != inv.Total {
		return domain.Errf(domain.Internal, "The lines of the invoice %s do not add up to its total.", inv.Number)
	}
	return nil
}
