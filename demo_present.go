package main

import (
	"context"
	"fmt"
	"time"

	"gpupool/domain"
	"gpupool/domain/money"
	"gpupool/domain/pool"
	"gpupool/domain/replay"
)

// present is what people do at the story moment: payments that came in, caps,
// purchase orders, and the jobs of the cards on the first page.
func (b *demoBuilder) present(ctx context.Context) error {
	if err := b.money(ctx); err != nil {
		return err
	}
	for _, j := range b.story.Live {
		a, err := b.actor(ctx, j.User)
		if err != nil {
			return err
		}
		in := b.input(j)
		if err := b.cap(ctx, a, j.Org, in); err != nil {
			return fmt.Errorf("cap of %s: %w", j.Org, err)
		}
		if _, err := b.p.service.SubmitJob(ctx, a, j.Org, in); err != nil {
			return fmt.Errorf("job %s: %w", j.Name, err)
		}
	}
	if err := b.p.service.SetClockSpeed(ctx, b.operator, 60); err != nil {
		return err
	}
	return b.p.store.Update(ctx, func(tx domain.Tx) error { return tx.SetFlag(demoMarker, "made") })
}

func (b *demoBuilder) money(ctx context.Context) error {
	s := b.p.service
	for _, o := range b.story.Orders {
		a, err := b.owner(ctx, o.Org)
		if err != nil {
			return err
		}
		if _, err := s.AddOrder(ctx, a, o.Org, b.accounts[o.Account].ID, domain.OrderInput{Number: o.Number, Amount: o.Amount, AtZero: o.AtZero}); err != nil {
			return fmt.Errorf("purchase order %s: %w", o.Number, err)
		}
	}
	return nil
}

// input is a job of the story as its form would send it.
func (b *demoBuilder) input(j storyJob) domain.JobInput {
	return domain.JobInput{Project: b.projects[j.Project], Name: j.Name, Classes: []pool.ClassID{j.Class},
		Nodes: j.Nodes, GPUsPerNode: j.GPUs, Tier: j.Tier, MaxRun: time.Duration(j.Limit) * time.Minute,
		Spec: demoSpec(replay.Job{Name: j.Name, Length: time.Duration(j.Minutes) * time.Minute})}
}

// cap lowers the member's cap to where its job of the story meets it. What the
// month has used depends on the day of the story moment; where the story's own
// amount would leave too much room or none, it is the nearest full ten at which
// the job waits and would start as spot.
func (b *demoBuilder) cap(ctx context.Context, a domain.Actor, org pool.OrgID, in domain.JobInput) error {
	currency := b.p.currency(ctx)
	for _, c := range b.story.Caps {
		if c.Org != org {
			continue
		}
		amount, err := currency.Parse(c.Amount)
		if err != nil {
			return err
		}
		first, err := currency.Parse(c.First)
		if err != nil {
			return err
		}
		if amount, err = b.tight(ctx, a, org, in, first, amount); err != nil {
			return err
		}
		if _, err := b.p.service.SetCap(ctx, a, org, domain.CapInput{Amount: currency.Format(amount), Mode: c.Mode}); err != nil {
			return err
		}
	}
	return nil
}

func (b *demoBuilder) tight(ctx context.Context, a domain.Actor, org pool.OrgID, in domain.JobInput, first, amount money.Amount) (money.Amount, error) {
	s := b.p.service
	flexible, err := s.QuoteJob(ctx, a, org, in)
	if err != nil {
		return 0, err
	}
	in.Tier = pool.Spot
	spot, err := s.QuoteJob(ctx, a, org, in)
	if err != nil {
		return 0, err
	}
	if flexible.CapLeft == nil {
		return amount, nil
	}
	const ten = 1000                  // in cents
	held := first - *flexible.CapLeft // used and reserved
	least, below := held+spot.UpTo, held+flexible.UpTo
	if least <= amount && amount < below {
		return amount, nil
	}
	return (least + ten - 1) / ten * ten, nil
}
