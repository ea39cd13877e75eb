package domain

import (
	"context"

	"gpupool/domain/money"
	"gpupool/domain/pool"
)

// Marketplace is what everybody may see: what there is, what it costs now and
// what was announced.
type Marketplace struct {
	Now       pool.Instant
	Currency  money.Currency
	Zone      string
	Classes   []MarketClass
	Plans     []MarketPlan // that can be bought
	InForce   *PriceList   // nil: no price yet
	Announced []PriceList  // by effective date
}

// MarketClass is a GPU class with its cards: Ready on nodes that take jobs,
// Used by jobs of ours or by others; Total counts the broken and closed ones.
type MarketClass struct {
	GPUClass
	Total, Ready, Used int
	// Prices in force at Now, one per cover; empty without.
	Prices []PriceRow
}

// Free GPUs, never negative.
func (c MarketClass) Free() int { return max(0, c.Ready-c.Used) }

// MarketPlan is a plan with the version that a subscription would be of.
type MarketPlan struct {
	Plan
	Version PlanVersion
}

// Marketplace needs no sign-in.
func (s *Service) Marketplace(ctx context.Context, _ Actor) (Marketplace, error) {
	var m Marketplace
	err := s.store.View(ctx, func(tx Tx) error {
		t, err := LoadTerms(tx)
		if err != nil {
			return err
		}
		m = Marketplace{Now: tx.Now(), Currency: t.Settings.Currency, Zone: t.Settings.Zone}
		for i := range t.Lists {
			if t.Lists[i].From <= m.Now {
				m.InForce = &t.Lists[i]
			} else {
				m.Announced = append(m.Announced, t.Lists[i])
			}
		}
		views, err := planViews(tx)
		if err != nil {
			return err
		}
		for _, p := range views {
			if v, ok := p.Published(); ok && !p.Hidden {
				m.Plans = append(m.Plans, MarketPlan{p.Plan, v})
			}
		}
		m.Classes, err = marketClasses(tx, t)
		return err
	})
	return m, err
}

func marketClasses(tx Tx, t Terms) ([]MarketClass, error) {
	classes, err := tx.Classes()
	if err != nil {
		return nil, err
	}
	nodes, err := tx.Nodes()
	if err != nil {
		return nil, err
	}
	live, err := tx.LiveAttempts()
	if err != nil {
		return nil, err
	}
	out := make([]MarketClass, len(classes))
	at := map[pool.ClassID]*MarketClass{}
	for i, c := range classes {
		out[i].GPUClass = c
		at[c.ID] = &out[i]
		for _, cover := range pool.Covers {
			if r, ok := t.At(c.ID, cover, tx.Now()); ok {
				out[i].Prices = append(out[i].Prices, r)
			}
		}
	}
	for _, n := range nodes {
		c := at[n.Class]
		if c == nil {
			continue
		}
		c.Total += len(n.Devices)
		if n.State == NodeReady && !n.Cordoned {
			c.Ready += n.GPUs
			c.Used += n.Foreign
		}
	}
	for _, a := range live {
		if c := at[a.Class]; c != nil {
			c.Used += a.GPUs()
		}
	}
	return out, nil
}
