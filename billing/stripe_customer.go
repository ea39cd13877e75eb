package billing

import (
	"context"
	"fmt"
	"strings"

	"github.com/stripe/stripe-go/v76"

	"gpupool/domain"
)

// Metadata by which our objects are known again.
const (
	metaAccount = "gpupool_account"
	metaInvoice = "gpupool_invoice"
	metaLine    = "line_id"
)

// Prepare finds the account's customer by our metadata or makes it. The first
// e-mail address is the customer's, because Stripe lists by it exactly; its
// search is used only for an account without one.
func (s *Stripe) Prepare(ctx context.Context, key string, a domain.BillingAccount) (string, error) {
	id, err := s.findCustomer(ctx, a)
	if err != nil || id != "" {
		return id, s.fail(ctx, err)
	}
	c, err := s.api.Customers.New(s.customerParams(ctx, key, a))
	if err != nil {
		return "", s.fail(ctx, err)
	}
	return c.ID, nil
}

func (s *Stripe) customerParams(ctx context.Context, key string, a domain.BillingAccount) *stripe.CustomerParams {
	p := &stripe.CustomerParams{
		Params: params(ctx, key),
		Name:   stripe.String(a.Buyer.Name),
	}
	if a.Name != "" && a.Name != a.Buyer.Name {
		p.Description = stripe.String(a.Name)
	}
	if len(a.Emails) > 0 {
		p.Email = stripe.String(a.Emails[0])
	}
	if a.Language != "" {
		p.PreferredLocales = stripe.StringSlice([]string{a.Language})
	}
	if a.Buyer.Address != "" || a.Buyer.Country != "" {
		first, rest, _ := strings.Cut(strings.TrimSpace(a.Buyer.Address), "\n")
		p.Address = &stripe.AddressParams{Line1: stripe.String(strings.TrimSpace(first))}
		if rest = strings.TrimSpace(rest); rest != "" {
			p.Address.Line2 = stripe.String(strings.Join(strings.FieldsFunc(rest, isBreak), ", "))
		}
		if a.Buyer.Country != "" {
			p.Address.Country = stripe.String(a.Buyer.Country)
		}
	}
	p.AddMetadata(metaAccount, string(a.ID))
	return p
}

func isBreak(r rune) bool { return r == '\n' || r == '\r' }

func (s *Stripe) findCustomer(ctx context.Context, a domain.BillingAccount) (string, error) {
	if len(a.Emails) == 0 {
		p := &stripe.CustomerSearchParams{SearchParams: stripe.SearchParams{
			Context: ctx, Query: fmt.Sprintf("metadata['%s']:'%s'", metaAccount, a.ID),
		}}
		found := s.api.Customers.Search(p)
		for found.Next() {
			if c := found.Customer(); c.Metadata[metaAccount] == string(a.ID) {
				return c.ID, nil
			}
		}
		return "", found.Err()
	}
	found := s.api.Customers.List(&stripe.CustomerListParams{ListParams: list(ctx), Email: stripe.String(a.Emails[0])})
	for found.Next() {
		if c := found.Customer(); c.Metadata[metaAccount] == string(a.ID) {
			return c.ID, nil
		}
	}
	return "", found.Err()
}
