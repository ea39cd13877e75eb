package replay

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"gpupool/domain/money"
	"gpupool/domain/pool"
)

// Print writes what was read of the trace as text.
func (t Trace) Print() string {
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
	return b.String()
}

// Print writes the report as text.
func (r Report) Print(cur money.Currency) string {
	var b strings.Builder
	fmt.Fprintf(&b, "span       %s to %s, %d GPUs\n", r.Span.Start.Time().Format(time.RFC3339), r.Span.End.Time().Format(time.RFC3339), r.Capacity)
	fmt.Fprintf(&b, "jobs       %d run, %d done, %d decisions\n", r.Jobs, r.Done, r.Decisions)
	w := r.Coming()
	fmt.Fprintf(&b, "allocated  %s of the capacity, %s while jobs arrive\n", share(r.Share()), share(percent100(w.Held, w.Offered)))
	for _, c := range r.Classes {
		fmt.Fprintf(&b, "class      %-10s %d GPUs, allocated %s of %s GPU-hours (%s), useful %s; while jobs arrive %s and %s\n", c.Class, c.GPUs, c.Held.Hours(), c.Offered.Hours(),
			share(percent100(c.Held, c.Offered)), share(percent100(c.Useful, c.Offered)), share(percent100(c.Coming.Held, c.Coming.Offered)), share(percent100(c.Coming.Useful, c.Coming.Offered)))
		fmt.Fprintf(&b, "  idle     free while jobs wait: fragmented %s GPU-hours (%s), withheld %s (%s)\n", c.Fragmented.Hours(), share(percent100(c.Fragmented, c.Offered)),
			c.Withheld.Hours(), share(percent100(c.Withheld, c.Offered)))
		fmt.Fprintf(&b, "  stopped  %d times, %s GPU-hours of work done again; Jain's index %s\n", c.Preemptions, c.Lost.Hours(), decimals(c.Jain))
	}
	fmt.Fprintf(&b, "preempted  %d times\n", r.Preemptions)
	fmt.Fprintf(&b, "fairness   Jain's index %s over the members, of what they got of their fair share\n", decimals(r.Jain))
	for _, w := range r.Waits {
		fmt.Fprintf(&b, "waiting    %-14s %s\n", w.Tier, w.Spread)
	}
	for _, m := range r.Members {
		fmt.Fprintf(&b, "member     %-14s %s; %d of %d done", m.Org, m.Waits, m.Done, m.Jobs)
		if m.Share >= 0 {
			fmt.Fprintf(&b, ", got %s of its fair share", share(m.Share))
		}
		if m.Preemptions > 0 {
			fmt.Fprintf(&b, ", stopped %d times", m.Preemptions)
		}
		for _, l := range m.Lost {
			fmt.Fprintf(&b, ", lost %s GPU-hours of %s", l.Use.Hours(), l.Class)
		}
		b.WriteString("\n")
	}
	rows := slices.Clone(r.Invoices)
	slices.SortStableFunc(rows, func(a, b Invoice) int { return cmp.Compare(b.Net, a.Net) })
	for _, i := range rows {
		fmt.Fprintf(&b, "invoice    %-14s %12s %s  (fee %s, use %s, %d months)\n", i.Org, cur.Format(i.Net), cur.Code, cur.Format(i.Fee), cur.Format(i.Use), i.Months)
		for _, h := range i.Hours {
			fmt.Fprintf(&b, "  hours    %-10s %s own, %s loan, %s spot\n", h.Class, h.Own.Hours(), h.Loan.Hours(), h.Spot.Hours())
		}
	}
	fmt.Fprintf(&b, "sum        %27s %s, net\n", cur.Format(r.net()), cur.Code)
	if r.Law != nil {
		b.WriteString(r.Law.String() + "\n")
	}
	if r.Expected != nil {
		b.WriteString(r.Expected.String() + "\n")
	}
	return b.String()
}

func (r Report) net() (sum money.Amount) {
	for _, i := range r.Invoices {
		sum += i.Net
	}
	return sum
}

func (l Law) String() string {
	s := fmt.Sprintf("checked    %d moments, %d waits of jobs inside a guarantee: %d full of work that nobody may stop, %d until a minimum run is over, %d where nobody borrows, %d for nodes that an earlier job of the same member has reserved",
		l.Moments, l.Contests, l.Full, l.MinRun, l.Alone, l.Nodes)
	if l.Broken > 0 {
		return s + fmt.Sprintf("; BROKEN %d times, first %s", l.Broken, l.First)
	}
	return s + "; none broken"
}

func (w Spread) String() string {
	return fmt.Sprintf("median %s, p95 %s, max %s (%d jobs, %d never started)", w.Median.Round(time.Second), w.P95.Round(time.Second), w.Max.Round(time.Second), w.Jobs, w.Still)
}

// share of hundredths of a percent.
func share(n int64) string { return decimal(n, 100, 2) + " %" }

func decimals(n int64) string { return decimal(n, 10_000, 4) }

func decimal(n, one int64, digits int) string {
	sign := ""
	if n < 0 {
		sign, n = "-", -n
	}
	return fmt.Sprintf("%s%d.%0*d", sign, n/one, digits, n%one)
}

// figure is one line of a comparison: a number of each report, and how it and
// a difference are written.
type figure struct {
	name  string
	of    func(Report) (int64, bool)
	write func(int64) string
}

// comparedFigures are the lines of a comparison.
func comparedFigures(rs []Report, cur money.Currency) []figure {
	number := func(n int64) string { return fmt.Sprint(n) }
	length := func(n int64) string { return (time.Duration(n) * time.Second).String() }
	always := func(f func(Report) int64) func(Report) (int64, bool) {
		return func(r Report) (int64, bool) { return f(r), true }
	}
	coming := func(f func(Window) pool.GPUMillis) func(Report) (int64, bool) {
		return always(func(r Report) int64 { w := r.Coming(); return percent100(f(w), w.Offered) })
	}
	out := []figure{
		{"jobs done", always(func(r Report) int64 { return int64(r.Done) }), number},
		{"last end", always(func(r Report) int64 { return r.Span.Millis() / 1000 }), length},
		{"allocated", always(Report.Share), share},
		{"allocated while jobs arrive", coming(func(w Window) pool.GPUMillis { return w.Held }), share},
		{"useful while jobs arrive", coming(func(w Window) pool.GPUMillis { return w.Useful }), share},
	}
	for i, c := range rs[0].Classes {
		class := func(name string, f func(ClassFigures) int64, write func(int64) string) {
			out = append(out, figure{fmt.Sprintf("%s %s", c.Class, name), func(r Report) (int64, bool) {
				if i >= len(r.Classes) || r.Classes[i].Class != c.Class {
					return 0, false
				}
				return f(r.Classes[i]), true
			}, write})
		}
		if len(rs[0].Classes) > 1 {
			class("allocated while jobs arrive", func(c ClassFigures) int64 { return percent100(c.Coming.Held, c.Coming.Offered) }, share)
		}
		class("fragmented", func(c ClassFigures) int64 { return percent100(c.Fragmented, c.Offered) }, share)
		class("withheld", func(c ClassFigures) int64 { return percent100(c.Withheld, c.Offered) }, share)
		class("lost work", func(c ClassFigures) int64 { return int64(c.Lost) }, func(n int64) string { return pool.GPUMillis(n).Hours() + " h" })
		class("Jain's index", func(c ClassFigures) int64 { return c.Jain }, decimals)
	}
	out = append(out, figure{"preempted", always(func(r Report) int64 { return int64(r.Preemptions) }), number},
		figure{"Jain's index", always(func(r Report) int64 { return r.Jain }), decimals})
	spread := func(name string, of func(Report) (Spread, bool)) {
		one := func(what string, f func(Spread) int64, write func(int64) string) {
			out = append(out, figure{name + " " + what, func(r Report) (int64, bool) { s, ok := of(r); return f(s), ok }, write})
		}
		one("wait median", func(s Spread) int64 { return int64(s.Median / time.Second) }, length)
		one("wait p95", func(s Spread) int64 { return int64(s.P95 / time.Second) }, length)
		one("wait max", func(s Spread) int64 { return int64(s.Max / time.Second) }, length)
		one("never started", func(s Spread) int64 { return int64(s.Still) }, number)
	}
	for _, t := range pool.Tiers {
		if slices.ContainsFunc(rs, func(r Report) bool { _, ok := r.tier(t); return ok }) {
			spread(string(t), func(r Report) (Spread, bool) { return r.tier(t) })
		}
	}
	for _, o := range sameMembers(rs) {
		out = append(out, figure{string(o) + " wait p95", func(r Report) (int64, bool) {
			m, ok := r.member(o)
			return int64(m.Waits.P95 / time.Second), ok
		}, length}, figure{string(o) + " of fair share", func(r Report) (int64, bool) {
			m, ok := r.member(o)
			return m.Share, ok && m.Share >= 0
		}, share})
	}
	price := func(n int64) string { return cur.Format(money.Amount(n)) }
	for _, o := range sameMembers(rs) {
		out = append(out, figure{string(o) + " invoice " + cur.Code, func(r Report) (int64, bool) { return r.invoiced(o) }, price})
	}
	return append(out, figure{"all invoices " + cur.Code, func(r Report) (int64, bool) { return int64(r.net()), len(r.Invoices) > 0 }, price})
}

func (r Report) tier(t pool.Tier) (Spread, bool) {
	for _, w := range r.Waits {
		if w.Tier == t {
			return w.Spread, true
		}
	}
	return Spread{}, false
}

func (r Report) member(o pool.OrgID) (Member, bool) {
	for _, m := range r.Members {
		if m.Org == o {
			return m, true
		}
	}
	return Member{}, false
}

func (r Report) invoiced(o pool.OrgID) (int64, bool) {
	for _, i := range r.Invoices {
		if i.Org == o {
			return int64(i.Net), true
		}
	}
	return 0, false
}

// Compare writes reports side by side, and how each differs from the first.
func Compare(rs []Report, cur money.Currency) string {
	table := [][]string{{"figure"}}
	for _, r := range rs {
		table[0] = append(table[0], r.Name)
	}
	for _, f := range comparedFigures(rs, cur) {
		line := []string{f.name}
		first, has := f.of(rs[0])
		for i, r := range rs {
			n, ok := f.of(r)
			switch cell := f.write(n); {
			case !ok:
				line = append(line, "-")
			case i == 0 || !has:
				line = append(line, cell)
			case n == first:
				line = append(line, cell+" (same)")
			default:
				sign := "+"
				if n < first {
					sign = ""
				}
				line = append(line, fmt.Sprintf("%s (%s%s)", cell, sign, f.write(n-first)))
			}
		}
		table = append(table, line)
	}
	width := make([]int, len(rs)+1)
	for _, line := range table {
		for i, cell := range line {
			width[i] = max(width[i], len([]rune(cell)))
		}
	}
	var b strings.Builder
	for _, line := range table {
		fmt.Fprintf(&b, "%-*s", width[0], line[0])
		for i, cell := range line[1:] {
			fmt.Fprintf(&b, "  %*s", width[i+1], cell)
		}
		b.WriteString("\n")
	}
	for _, r := range rs {
		if r.Law != nil {
			fmt.Fprintf(&b, "%s: %s\n", r.Name, r.Law)
		}
	}
	return b.String()
}
