package domain_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"gpupool/domain"
	"gpupool/domain/domaintest"
	"gpupool/domain/pool"
)

// An account that only used included hours gets a document, and owes nothing.
func TestAnInvoiceOfNothingIsPaid(t *testing.T) {
	t.Parallel()
	p := domaintest.New(t)
	ctx := context.Background()
	in := domaintest.Account()
	in.Name = "Third-party funds"
	funds, err := p.Service.CreateAccount(ctx, p.Owner, p.Org, in)
	if err != nil {
		t.Fatal(err)
	}
	now, err := p.Service.BusinessNow(ctx)
	if err != nil {
		t.Fatal(err)
	}
	own := slices.IndexFunc(p.Prices.Rows, func(r domain.PriceRow) bool { return r.Cover == pool.Own })
	p.Update(func(tx domain.Tx) error {
		_, err := tx.AppendSegments([]domain.Segment{{Alloc: "a-1", Attempt: pool.AttemptID{Job: "j-1", N: 1}, Start: now, End: now.Add(time.Hour), Class: p.Class,
			GPUs: 1, Cover: pool.Own, PriceRow: p.Prices.Rows[own].ID, PlanVersion: p.Campus.ID, Org: p.Org, Project: p.Project.ID, User: p.Member.User,
			Account: funds.ID, Node: p.Node, Source: "test", Quality: "exact", Sign: 1}})
		return err
	})
	st, err := p.Service.Settings(ctx)
	if err != nil {
		t.Fatal(err)
	}
	m := pool.MonthOf(now, st.Location())
	p.Clock.Set(m.Bounds(st.Location()).End.Add(st.Grace))
	closed, err := p.Service.CloseMonth(ctx, p.Operator, m)
	for _, c := range closed {
		err = errors.Join(err, c.Err)
	}
	if err != nil {
		t.Fatal(err)
	}
	p.Clock.Add(90 * 24 * time.Hour) // long after it would have been due
	rows, err := p.Service.Invoices(ctx, p.Owner, p.Org)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rows {
		if r.Invoice.Account == funds.ID {
			if r.Invoice.Total != 0 || r.State != "paid" {
				t.Errorf("%s of %d is %s", r.Invoice.Number, r.Invoice.Total, r.State)
			}
			return
		}
	}
	t.Error("no invoice of the account")
}
