package replay

import (
	"cmp"
	"fmt"
	"slices"
	"sort"

	"gpupool/domain/invoice"
	"gpupool/domain/meter"
	"gpupool/domain/money"
	"gpupool/domain/pool"
	"gpupool/domain/quota"
	"gpupool/domain/rating"
)

// Invoice is a member's sum over all months of a run.
type Invoice struct {
	Org       pool.OrgID
	Months    int
	Fee       money.Amount
	Use       money.Amount
	Net       money.Amount
	Documents []invoice.Document
	Hours     []CoverHours // by class, as they were metered
}

// CoverHours is the metered use of a member in a class by what it was charged as.
type CoverHours struct {
	Class           pool.ClassID
	Own, Loan, Spot pool.GPUMillis
}

// hours adds segments up by class and cover.
func (p Pool) hours(segments []rating.Segment) []CoverHours {
	all := make([]CoverHours, len(p.Classes))
	at := map[pool.ClassID]int{}
	for i, c := range p.Classes {
		all[i].Class, at[c.ID] = c.ID, i
	}
	for i := range segments {
		s := &segments[i]
		switch h := &all[at[s.Class]]; s.Cover {
		case pool.Own:
			h.Own += s.Use()
		case pool.Loan:
			h.Loan += s.Use()
		default:
			h.Spot += s.Use()
		}
	}
	return slices.DeleteFunc(all, func(h CoverHours) bool { return h.Own+h.Loan+h.Spot == 0 })
}

// History of one allocation of an attempt, as the meter reads it: one
// allocation for each node of its placement.
func History(p Pool, t Terms, j Outcome, a Attempt, node int, until pool.Instant) meter.History {
	offset := 0
	for _, n := range a.Placement[:node] {
		offset += n.GPUs
	}
	g := a.Placement[node]
	id := pool.AttemptID{Job: j.ID, N: a.N}
	end := a.End
	if a.Notice != 0 && a.StopAt <= min(until, end) {
		end = min(end, a.Notice) // free from the signal on
	}
	h := meter.History{Run: meter.Run{Alloc: AllocID(id, node), Attempt: id, Org: j.Org, User: j.User, Class: a.Class, Node: g.Node,
		Source: "replay", Devices: devices(g, offset), Offset: offset,
		Held: meter.Held{Start: a.Started, End: end, Seen: until, Quality: meter.Exact}},
		Assignments: []meter.Assignment{{Valid: pool.Interval{End: pool.Never}, Project: j.Project, Account: pool.AccountID(j.Org)}}}
	if h.Run.Held.End < h.Run.Held.Start {
		h.Run.Held.End = h.Run.Held.Start
	}
	for _, c := range a.Covers {
		h.Covers = append(h.Covers, meter.CoverRow{From: c.From, Split: c.Split})
	}
	for _, row := range t.Prices {
		if row.Class == a.Class {
			h.Prices = append(h.Prices, row.PriceWindow)
		}
	}
	for _, w := range t.Plans[j.Org] {
		h.Plans = append(h.Plans, meter.PlanWindow{Valid: w.Valid, Version: w.Version})
	}
	return h
}

// AllocID names an allocation of a replayed attempt.
func AllocID(id pool.AttemptID, node int) pool.AllocID {
	return pool.AllocID(fmt.Sprintf("%s-%d", id.NomadID(), node))
}

func devices(g quota.NodeGPUs, offset int) []string {
	out := make([]string, g.GPUs)
	for i := range out {
		out[i] = fmt.Sprintf("%s-gpu-%d", g.Node, offset+i)
	}
	return out
}

// Bill meters a run and makes each member's documents, month by month. A fee
// is for every month that the run touches, in full months of its span.
func Bill(p Pool, res Result) ([]Invoice, error) {
	if len(res.Jobs) == 0 {
		return nil, nil
	}
	t, err := p.Terms(0, pool.Never)
	if err != nil {
		return nil, err
	}
	for org, w := range t.Plans {
		w[0].Valid = pool.Interval{Start: pool.MonthOf(res.From, t.Zone).Bounds(t.Zone).Start, End: pool.Never}
		t.Plans[org] = w
	}
	byOrg := map[pool.OrgID][]int{}
	for i := range res.Jobs {
		byOrg[res.Jobs[i].Org] = append(byOrg[res.Jobs[i].Org], i)
	}
	var segments []rating.Segment // of one member, then of the next
	var out []Invoice
	for _, o := range p.Orgs {
		segments = segments[:0]
		for _, i := range byOrg[o.ID] {
			j := &res.Jobs[i]
			for _, a := range j.Attempts {
				for node := range a.Placement {
					h := History(p, t, *j, a, node, res.Until)
					some, err := meter.Fold(h, pool.Interval{Start: 0, End: res.Until}, res.Until, t.Zone)
					if err != nil {
						return nil, fmt.Errorf("job %s: %w", j.ID, err)
					}
					segments = append(segments, some...)
				}
			}
		}
		inv, err := billOrg(t, o, segments, res)
		if err != nil {
			return nil, fmt.Errorf("member %s: %w", o.ID, err)
		}
		inv.Hours = p.hours(segments)
		out = append(out, inv)
	}
	return out, nil
}

func billOrg(t Terms, o Org, segments []rating.Segment, res Result) (Invoice, error) {
	inv := Invoice{Org: o.ID}
	slices.SortStableFunc(segments, func(a, b rating.Segment) int { return cmp.Compare(a.Start, b.Start) })
	for m := pool.MonthOf(res.From, t.Zone); !pool.MonthOf(res.Until-1, t.Zone).Before(m); m = m.Next() {
		end := m.Bounds(t.Zone).End
		n := sort.Search(len(segments), func(i int) bool { return segments[i].Start >= end })
		in := segments[:n]
		segments = segments[n:]
		totals, err := rating.Totals(in)
		if err != nil {
			return inv, err
		}
		lines, err := rating.Bill(rating.Basis{Account: pool.AccountID(o.ID), Timing: rating.Arrears, Month: m, Zone: t.Zone,
			Use: rating.Input{Totals: totals, Plans: t.Plans[o.ID], Prices: t.Prices}})
		if err != nil {
			return inv, err
		}
		d, err := invoice.Build(invoice.Order{Kind: invoice.Regular, Account: pool.AccountID(o.ID), Org: o.ID, Period: m, Zone: t.Zone.String(),
			Currency: t.Currency, Tax: invoice.TaxProfile{Treatment: invoice.OutsideScope, Reason: "net"}, Lines: lines})
		if err != nil {
			return inv, err
		}
		use, err := rating.Charges(lines)
		if err != nil {
			return inv, err
		}
		inv.Months++
		inv.Use += use
		inv.Net += d.Net
		inv.Fee += d.Net - use
		inv.Documents = append(inv.Documents, d)
	}
	return inv, nil
}
