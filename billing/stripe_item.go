package billing

import (
	"context"

	"github.com/stripe/stripe-go/v76"

	"gpupool/domain"
	"gpupool/domain/money"
)

// item is an invoice item as far as it decides anything.
type item struct {
	line   string // our id of the line, empty for an item that isn't ours
	amount money.Amount
}

// fill brings the draft to exactly our lines. A call that ended in an error on
// Stripe's side may have been done: the items are listed again and what is
// still missing is sent under a second key, because an error is replayed under
// the first.
func (s *Stripe) fill(ctx context.Context, key, customer, invoice string, lines []domain.IssueLine) error {
	var failed error
	for _, round := range []string{"", ":r2"} {
		items, err := s.items(ctx, invoice)
		if err != nil {
			return s.fail(ctx, err)
		}
		missing, err := absent(items, lines)
		if err != nil {
			return err
		}
		if failed = s.add(ctx, key, round, customer, invoice, missing); failed == nil {
			break
		}
		if domain.CodeOf(failed) != domain.Unavailable {
			return failed
		}
	}
	if failed != nil {
		return failed
	}
	items, err := s.items(ctx, invoice)
	if err != nil {
		return s.fail(ctx, err)
	}
	return agree(items, lines)
}

func (s *Stripe) add(ctx context.Context, key, round, customer, invoice string, lines []domain.IssueLine) error {
	for _, l := range lines {
		p := &stripe.InvoiceItemParams{
			Params:       params(ctx, key+":"+l.ID+round),
			Customer:     stripe.String(customer),
			Invoice:      stripe.String(invoice),
			Currency:     stripe.String(s.currency),
			Amount:       stripe.Int64(int64(l.Amount)),
			Description:  stripe.String(l.Text),
			Discountable: stripe.Bool(false),
		}
		p.AddMetadata(metaLine, l.ID)
		if _, err := s.api.InvoiceItems.New(p); err != nil {
			return s.fail(ctx, err)
		}
	}
	return nil
}

func (s *Stripe) items(ctx context.Context, invoice string) ([]item, error) {
	var out []item
	found := s.api.InvoiceItems.List(&stripe.InvoiceItemListParams{ListParams: list(ctx), Invoice: stripe.String(invoice)})
	for found.Next() {
		i := found.InvoiceItem()
		out = append(out, item{line: i.Metadata[metaLine], amount: money.Amount(i.Amount)})
	}
	return out, found.Err()
}

// absent is the lines that no item carries yet. Conflict: an item is not ours,
// is there twice, or has another amount than its line.
func absent(items []item, lines []domain.IssueLine) ([]domain.IssueLine, error) {
	want := make(map[string]money.Amount, len(lines))
	for _, l := range lines {
		want[l.ID] = l.Amount
	}
	have := map[string]bool{}
	for _, i := range items {
		amount, ours := want[i.line]
		switch {
		case !ours:
			return nil, domain.Errf(domain.Conflict, "The draft at Stripe has an item that is not a line of this invoice.")
		case have[i.line]:
			return nil, domain.Errf(domain.Conflict, "The draft at Stripe has the line %s twice.", i.line)
		case i.amount != amount:
			return nil, domain.Errf(domain.Conflict, "The draft at Stripe has the line %s with %d instead of %d.", i.line, i.amount, amount)
		}
		have[i.line] = true
	}
	var out []domain.IssueLine
	for _, l := range lines {
		if !have[l.ID] {
			out = append(out, l)
		}
	}
	return out, nil
}

// agree tells whether the items are exactly the lines.
func agree(items []item, lines []domain.IssueLine) error {
	missing, err := absent(items, lines)
	if err != nil {
		return err
	}
	if len(missing) > 0 {
		return domain.Errf(domain.Conflict, "The draft at Stripe lacks %d of %d lines.", len(missing), len(lines))
	}
	return nil
}
