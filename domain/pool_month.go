package domain

import (
	"context"
	"slices"

	"gpupool/domain/money"
	"gpupool/domain/pool"
)

// PoolMonth is the running month of the whole pool, from the ledger and what
// runs now.
type PoolMonth struct {
	Month    pool.Month
	Used     pool.GPUMillis // by all jobs
	Capacity pool.GPUMillis // of the healthy GPUs of now, since the month began
	Lent     []ClassLent    // classes that were lent at all, as Terms orders them
	Saved    *Saving        // nil: no class with cloud prices was borrowed
}

// ClassLent is what members borrowed of a class.
type ClassLent struct {
	Class GPUClass
	Use   pool.GPUMillis
}

// Saving is what borrowed and spot GPUs cost less here than at cloud list
// prices; a negative bound means dearer.
type Saving struct {
	Low, High money.Amount
	Use       pool.GPUMillis
	Classes   []GPUClass // that were compared
}

// PoolMonth sums the month. It names no member.
func (s *Service) PoolMonth(ctx context.Context) (PoolMonth, error) {
	var p PoolMonth
	err := s.store.View(ctx, func(tx Tx) error {
		t, err := LoadTerms(tx)
		if err != nil {
			return err
		}
		p = PoolMonth{Month: pool.MonthOf(tx.Now(), t.Zone)}
		bounds := p.Month.Bounds(t.Zone)
		rows, err := tx.Usage(SegmentFilter{From: bounds.Start, To: bounds.End}, UsageGroup{})
		if err != nil {
			return err
		}
		w, err := readWork(tx, "")
		if err != nil {
			return err
		}
		healthy := 0
		for _, n := range t.Nodes {
			healthy += n.GPUs
		}
		p.Capacity = pool.GPUMillis(int64(healthy) * int64(tx.Now()-bounds.Start))
		p.sum(t, rows, w.use(t, bounds, tx.Now()))
		return nil
	})
	return p, err
}

func (p *PoolMonth) sum(t Terms, rows []UsageRow, live []Segment) {
	prices := map[pool.PriceRowID]money.Price{}
	for _, r := range t.Prices() {
		prices[r.ID] = r.Price
	}
	lent := map[pool.ClassID]pool.GPUMillis{}
	var saved Saving
	for _, x := range totalsOf(rows, live) {
		p.Used += x.Use
		if x.Cover == pool.Own {
			continue
		}
		if x.Cover == pool.Loan {
			lent[x.Class] += x.Use
		}
		i := slices.IndexFunc(t.Classes, func(c GPUClass) bool { return c.ID == x.Class && c.CloudLow > 0 })
		if i < 0 {
			continue
		}
		c, paid := t.Classes[i], money.Charge(x.Use, prices[x.PriceRow])
		saved.Use += x.Use
		saved.Low += money.Charge(x.Use, money.Price(c.CloudLow)) - paid
		saved.High += money.Charge(x.Use, money.Price(c.CloudHigh)) - paid
		if !slices.ContainsFunc(saved.Classes, func(k GPUClass) bool { return k.ID == c.ID }) {
			saved.Classes = append(saved.Classes, c)
		}
	}
	for _, c := range t.Classes {
		if lent[c.ID] > 0 {
			p.Lent = append(p.Lent, ClassLent{c, lent[c.ID]})
		}
	}
	if saved.Use > 0 {
		p.Saved = &saved
	}
}
