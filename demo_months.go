package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"gpupool/domain"
	"gpupool/domain/pool"
)

// months stores the use of the history and closes its months when their time
// had come, then lets the story moment be now.
func (b *demoBuilder) months(ctx context.Context, h *domain.History) error {
	s := b.p.service
	for _, m := range []pool.Month{b.times.month.Plus(-2), b.times.month.Plus(-1)} {
		if err := s.IssueStarts(ctx); err != nil {
			return err
		}
		at := b.closedAt(m)
		if err := b.receive(ctx, at); err != nil {
			return err
		}
		if err := s.ImportUse(ctx, h, at); err != nil {
			return err
		}
		if err := b.at(ctx, at); err != nil {
			return err
		}
		closed, err := s.CloseMonth(ctx, b.operator, m)
		if err != nil {
			return err
		}
		for _, c := range closed {
			if c.Err != nil {
				return fmt.Errorf("closing %s for %s: %w", m, c.Account.Name, c.Err)
			}
		}
	}
	if err := b.receive(ctx, b.times.moment); err != nil {
		return err
	}
	if err := s.ImportUse(ctx, h, b.times.moment); err != nil {
		return err
	}
	if err := s.FinishImport(ctx, h); err != nil {
		return err
	}
	return b.at(ctx, b.times.moment)
}

// closedAt is when a month of the history was closed: after its grace.
func (b *demoBuilder) closedAt(m pool.Month) pool.Instant {
	return m.Bounds(b.times.zone).End.Add(24*time.Hour + 5*time.Minute)
}

// receive records the payments that came in before an instant, each on its day.
func (b *demoBuilder) receive(ctx context.Context, until pool.Instant) error {
	due := func(p storyPayment) pool.Instant {
		return b.closedAt(b.times.month.Plus(p.Month)).Add(time.Duration(p.After)*24*time.Hour + 9*time.Hour)
	}
	var now []storyPayment
	b.unpaid = slices.DeleteFunc(b.unpaid, func(p storyPayment) bool {
		if due(p) < until {
			now = append(now, p)
		}
		return due(p) < until
	})
	slices.SortStableFunc(now, func(x, y storyPayment) int { return cmp.Compare(due(x), due(y)) })
	for _, p := range now {
		if err := b.at(ctx, due(p)); err != nil {
			return err
		}
		if err := b.pay(ctx, p); err != nil {
			return fmt.Errorf("payment %s: %w", p.Reference, err)
		}
	}
	return nil
}

// pay records a transfer for each invoice of a member's month.
func (b *demoBuilder) pay(ctx context.Context, p storyPayment) error {
	s := b.p.service
	rows, err := s.Invoices(ctx, b.operator, "")
	if err != nil {
		return err
	}
	currency := b.p.currency(ctx)
	for _, r := range rows {
		if r.Invoice.Org != p.Org || r.Invoice.Month != b.times.month.Plus(p.Month) || r.Invoice.Total <= 0 {
			continue
		}
		amount := r.Invoice.Total
		if p.Short != "" {
			less, err := currency.Parse(p.Short)
			if err != nil {
				return err
			}
			amount -= less
		}
		err := s.RecordPayment(ctx, b.operator, r.Invoice.Number, domain.PaymentInput{Amount: currency.Format(amount), Reference: p.Reference + "-" + r.Invoice.Number, Note: "Bank transfer"})
		if err != nil {
			return err
		}
	}
	return nil
}
