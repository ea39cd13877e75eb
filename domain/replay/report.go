package replay

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"gpupool/domain/invoice"
	"gpupool/domain/meter"
	"gpupool/domain/money"
	"gpupool/domain/pool"
	"gpupool/domain/quota"
	"gpupool/domain/rating"
)

// Waits are the waiting times of a tier, from submit to the first start.
type Waits struct {
	Tier             pool.Tier
	Jobs             int // that started
	Still            int // that never started
	Median, P95, Max time.Duration
}

// Report is a run in figures.
type Report struct {
	Jobs        int
	Done        int
	Span        pool.Interval
	Capacity    int // GPUs
	Held        pool.GPUMillis
	Offered     pool.GPUMillis // capacity over the span
	Waits       []Waits
	Preemptions int
	LostWork    pool.GPUMillis
	Decisions   int
	Invoices    []Invoice
}

// Invoice is a member's sum over all months of a run.
type Invoice struct {
	Org       pool.OrgID
	Months    int
	Fee       money.Amount
	Use       money.Amount
	Net       money.Amount
	Documents []invoice.Document
}

// Share is the allocated share in hundredths of a percent.
func (r Report) Share() int64 {
	if r.Offered == 0 {
		return 0
	}
	return int64(money.Portion(pool.GPUMillis(10_000), int64(min(r.Held, r.Offered)/1000), int64(r.Offered/1000)))
}

// Summarise counts a run and makes its invoices.
func Summarise(p Pool, res Result) (Report, error) {
	r := Report{Jobs: len(res.Jobs), Span: pool.Interval{Start: res.From, End: res.Until}, Capacity: res.capacity,
		Preemptions: res.Preemptions, LostWork: res.LostWork, Decisions: res.Decisions}
	r.Offered = pool.GPUMillis(int64(res.capacity) * r.Span.Millis())
	waits := map[pool.Tier][]time.Duration{}
	still := map[pool.Tier]int{}
	for _, j := range res.Jobs {
		if len(j.Attempts) == 0 {
			still[j.Tier]++
			continue
		}
		waits[j.Tier] = append(waits[j.Tier], j.Attempts[0].Admitted.Sub(j.Submit))
		for _, a := range j.Attempts {
			end := min(a.End, res.Until)
			r.Held += pool.GPUMillis(int64(j.Units()) * int64(end-a.Admitted))
			if a.Finished {
				r.Done++
			}
		}
	}
	for _, t := range pool.Tiers {
		w := waits[t]
		if len(w)+still[t] == 0 {
			continue
		}
		slices.Sort(w)
		r.Waits = append(r.Waits, Waits{Tier: t, Jobs: len(w), Still: still[t], Median: quantile(w, 50), P95: quantile(w, 95), Max: quantile(w, 100)})
	}
	var err error
	r.Invoices, err = Bill(p, res)
	return r, err
}

// quantile of sorted durations, the nearest rank.
func quantile(w []time.Duration, percent int) time.Duration {
	if len(w) == 0 {
		return 0
	}
	return w[max(0, (len(w)*percent+99)/100-1)]
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
	segments := map[pool.OrgID][]rating.Segment{}
	for _, j := range res.Jobs {
		for _, a := range j.Attempts {
			for node := range a.Placement {
				h := History(p, t, j, a, node, res.Until)
				some, err := meter.Fold(h, pool.Interval{Start: 0, End: res.Until}, res.Until, t.Zone)
				if err != nil {
					return nil, fmt.Errorf("job %s: %w", j.ID, err)
				}
				segments[j.Org] = append(segments[j.Org], some...)
			}
		}
	}
	var out []Invoice
	for _, o := range p.Orgs {
		inv, err := billOrg(t, o, segments[o.ID], res)
		if err != nil {
			return nil, fmt.Errorf("member %s: %w", o.ID, err)
		}
		out = append(out, inv)
	}
	return out, nil
}

func billOrg(t Terms, o Org, segments []rating.Segment, res Result) (Invoice, error) {
	inv := Invoice{Org: o.ID}
	for m := pool.MonthOf(res.From, t.Zone); !pool.MonthOf(res.Until-1, t.Zone).Before(m); m = m.Next() {
		bounds := m.Bounds(t.Zone)
		var in []rating.Segment
		for _, s := range segments {
			if bounds.Contains(s.Start) {
				in = append(in, s)
			}
		}
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

// Print writes the report as text.
func (r Report) Print(t Trace, cur money.Currency) string {
	var b strings.Builder
	fmt.Fprintf(&b, "trace      %s: %d rows, %d jobs read\n", t.Format, t.Rows, len(t.Jobs))
	for _, s := range t.Skipped {
		fmt.Fprintf(&b, "  skipped  %d rows: %s\n", s.Rows, s)
	}
	for _, s := range t.Changed {
		fmt.Fprintf(&b, "  changed  %d rows: %s\n", s.Rows, s)
	}
	for _, s := range t.Synthetic {
		fmt.Fprintf(&b, "  synthetic %s\n", s)
	}
	fmt.Fprintf(&b, "span       %s to %s, %d GPUs\n", r.Span.Start.Time().Format(time.RFC3339), r.Span.End.Time().Format(time.RFC3339), r.Capacity)
	fmt.Fprintf(&b, "jobs       %d run, %d done, %d decisions\n", r.Jobs, r.Done, r.Decisions)
	fmt.Fprintf(&b, "allocated  %d.%02d %% of the capacity (%s of %s GPU-hours)\n", r.Share()/100, r.Share()%100, r.Held.Hours(), r.Offered.Hours())
	fmt.Fprintf(&b, "preempted  %d times, %s GPU-hours of work done again\n", r.Preemptions, r.LostWork.Hours())
	for _, w := range r.Waits {
		fmt.Fprintf(&b, "waiting    %-10s median %s, p95 %s, max %s (%d jobs, %d never started)\n", w.Tier, w.Median.Round(time.Second), w.P95.Round(time.Second), w.Max.Round(time.Second), w.Jobs, w.Still)
	}
	rows := slices.Clone(r.Invoices)
	slices.SortFunc(rows, func(a, b Invoice) int { return cmp.Compare(b.Net, a.Net) })
	var sum money.Amount
	for _, i := range rows {
		fmt.Fprintf(&b, "invoice    %-14s %12s %s  (fee %s, use %s, %d months)\n", i.Org, cur.Format(i.Net), cur.Code, cur.Format(i.Fee), cur.Format(i.Use), i.Months)
		sum += i.Net
	}
	fmt.Fprintf(&b, "sum        %27s %s, net\n", cur.Format(sum), cur.Code)
	return b.String()
}
