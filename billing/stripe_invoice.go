package billing

import (
	"context"
	"time"

	"github.com/stripe/stripe-go/v76"

	"gpupool/domain"
	"gpupool/domain/money"
)

// maxLines is how many items Stripe takes on one invoice.
const maxLines = 250

// Issue mirrors an issued invoice: finds or makes the draft, adopts the items
// that are there and adds the missing ones, and finalises only when count and
// sum match. Idempotency keys may be forgotten after a day; looking first is
// what protects a later repetition.
//
// Conflict: Stripe holds something else under this invoice, so that a person
// has to look; Invalid: more lines than Stripe takes; Unavailable: try again.
func (s *Stripe) Issue(ctx context.Context, key string, customer string, inv domain.Invoice, lines []domain.IssueLine) (domain.IssuedAt, error) {
	none := domain.IssuedAt{}
	if err := adds(inv, lines); err != nil {
		return none, err
	}
	if len(lines) > maxLines {
		return none, domain.Errf(domain.Invalid, "Stripe takes at most %d lines on one invoice; %s has %d.", maxLines, inv.Number, len(lines))
	}
	there, err := s.findInvoice(ctx, customer, inv)
	if err == nil && there == nil {
		there, err = s.api.Invoices.New(s.draftParams(ctx, key, customer, inv))
	}
	if err != nil {
		return none, s.fail(ctx, err)
	}
	if there.Status == stripe.InvoiceStatusDraft {
		if err := s.fill(ctx, key, customer, there.ID, lines); err != nil {
			return none, err
		}
		if there, err = s.finalise(ctx, key, there.ID); err != nil {
			return none, s.fail(ctx, err)
		}
	}
	if there.Status == stripe.InvoiceStatusVoid || there.Status == stripe.InvoiceStatusUncollectible {
		return none, domain.Errf(domain.Conflict, "Stripe holds the invoice %s as %s.", inv.Number, there.Status)
	}
	if money.Amount(there.Total) != inv.Total {
		return none, domain.Errf(domain.Conflict, "Stripe holds the invoice %s with the total %d instead of %d.", inv.Number, there.Total, inv.Total)
	}
	return domain.IssuedAt{Remote: there.ID, Number: there.Number, URL: there.HostedInvoiceURL, PDF: there.InvoicePDF, Total: money.Amount(there.Total)}, nil
}

// Paid records there what was paid to us. Paid before is success.
func (s *Stripe) Paid(ctx context.Context, key string, remote string) error {
	there, err := s.api.Invoices.Get(remote, &stripe.InvoiceParams{Params: stripe.Params{Context: ctx}})
	if err != nil {
		return s.fail(ctx, err)
	}
	if there.Status == stripe.InvoiceStatusPaid {
		return nil
	}
	return s.fail(ctx, s.pay(ctx, key, remote))
}

func (s *Stripe) pay(ctx context.Context, key, remote string) error {
	_, err := s.api.Invoices.Pay(remote, &stripe.InvoicePayParams{Params: params(ctx, key), PaidOutOfBand: stripe.Bool(true)})
	return err
}

func (s *Stripe) finalise(ctx context.Context, key, id string) (*stripe.Invoice, error) {
	return s.api.Invoices.FinalizeInvoice(id, &stripe.InvoiceFinalizeInvoiceParams{
		Params: params(ctx, key+":finalise"), AutoAdvance: stripe.Bool(false), // mails and reminders are ours
	})
}

// draftParams has no pending items of the customer: an invoice has exactly our
// lines.
func (s *Stripe) draftParams(ctx context.Context, key, customer string, inv domain.Invoice) *stripe.InvoiceParams {
	p := &stripe.InvoiceParams{
		Params:                      params(ctx, key+":invoice"),
		Customer:                    stripe.String(customer),
		Currency:                    stripe.String(s.currency),
		Number:                      stripe.String(inv.Number),
		CollectionMethod:            stripe.String(string(stripe.InvoiceCollectionMethodSendInvoice)),
		DaysUntilDue:                stripe.Int64(daysUntilDue(inv)),
		AutoAdvance:                 stripe.Bool(false),
		PendingInvoiceItemsBehavior: stripe.String("exclude"),
	}
	p.AddMetadata(metaInvoice, string(inv.ID))
	return p
}

// daysUntilDue rounds up: Stripe never asks earlier than we do.
func daysUntilDue(inv domain.Invoice) int64 {
	const day = 24 * time.Hour
	left := inv.DueAt.Sub(inv.IssuedAt)
	return max(0, int64((left+day-1)/day))
}

func (s *Stripe) findInvoice(ctx context.Context, customer string, inv domain.Invoice) (*stripe.Invoice, error) {
	found := s.api.Invoices.List(&stripe.InvoiceListParams{ListParams: list(ctx), Customer: stripe.String(customer)})
	for found.Next() {
		if i := found.Invoice(); i.Metadata[metaInvoice] == string(inv.ID) {
			return i, nil
		}
	}
	return nil, found.Err()
}
