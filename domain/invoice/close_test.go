package invoice

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"gpupool/domain/money"
	"gpupool/domain/pool"
	"gpupool/domain/rating"
)

// book is the least that a store does: an append-only ledger and the invoices.
type book struct {
	zone   *time.Location
	ledger []rating.Segment
	live   []rating.Segment // what no reversal has taken back
	billed []Document
	plans  []rating.PlanWindow
	prices []rating.PriceRow
}

func (b *book) totals(rt *rapid.T, m pool.Month, to int64) []rating.Total {
	rt.Helper()
	var in []rating.Segment
	for _, s := range b.ledger {
		if s.Seq <= to && pool.MonthOf(s.Start, b.zone) == m {
			in = append(in, s)
		}
	}
	totals, err := rating.Totals(in)
	if err != nil {
		rt.Fatal(err)
	}
	return totals
}

// before are the variable lines for m on the invoices before number n.
func (b *book) before(m pool.Month, n int) (lines []rating.Line) {
	for _, d := range b.billed[:n] {
		for _, l := range d.Lines {
			if l.Kind != rating.Fee && (l.Adjusts == m.String() || l.Adjusts == "" && d.Period == m) {
				lines = append(lines, l.Line)
			}
		}
	}
	return lines
}

// lines are what invoice number n, for month m and the ledger up to to, says.
func (b *book) lines(rt *rapid.T, n int, m pool.Month, r Range) []rating.Line {
	rt.Helper()
	use := func(m pool.Month) rating.Input {
		return rating.Input{Totals: b.totals(rt, m, r.To), Plans: b.plans, Prices: b.prices}
	}
	basis := rating.Basis{Account: "acc", Timing: rating.Arrears, Month: m, Zone: b.zone, Use: use(m)}
	late := map[pool.Month]bool{}
	for _, s := range b.ledger {
		if o := pool.MonthOf(s.Start, b.zone); s.Seq > r.From && s.Seq <= r.To && o.Before(m) && !late[o] {
			late[o] = true
			basis.Late = append(basis.Late, rating.LateMonth{Month: o, Use: use(o), Billed: b.before(o, n)})
		}
	}
	lines, err := rating.Bill(basis)
	if err != nil {
		rt.Fatal(err)
	}
	return lines
}

func (b *book) in(r Range) (out []rating.Segment) {
	for _, s := range b.ledger {
		if s.Seq > r.From && s.Seq <= r.To {
			out = append(out, s)
		}
	}
	return out
}

func newBook(loc *time.Location) *book {
	always := pool.Interval{Start: 0, End: pool.Never}
	price := func(c pool.Cover, p money.Price) rating.PriceRow {
		r := rating.PriceRow{Price: p}
		r.ID, r.Class, r.Cover, r.Valid = pool.PriceRowID(c), "h100", c, always
		return r
	}
	return &book{zone: loc,
		plans: []rating.PlanWindow{{Version: "lab-1", Account: "acc", Valid: always, Fee: 399_000,
			Included: map[pool.ClassID]pool.GPUMillis{"h100": rating.Hours(100)}}},
		prices: []rating.PriceRow{price(pool.Own, 220_000_000), price(pool.Loan, 180_000_000), price(pool.SpotCover, 80_000_000)},
	}
}

// write appends use that may lie in any month until now, or takes back a
// segment and replaces it by a longer or shorter one.
func (b *book) write(rt *rapid.T, from, to pool.Instant, k int) {
	next := int64(len(b.ledger) + 1)
	if len(b.live) > 0 && rapid.IntRange(0, 3).Draw(rt, "correct") == 0 {
		i := rapid.IntRange(0, len(b.live)-1).Draw(rt, "old")
		back, right := b.live[i], b.live[i]
		back.Sign, back.Seq = -1, next
		right.GPUs, right.Seq, right.Revision = rapid.IntRange(1, 8).Draw(rt, "right"), next+1, right.Revision+1
		b.ledger = append(b.ledger, back, right)
		b.live[i] = right
		return
	}
	s := segment(next, 0, 0)
	s.Start = from + pool.Instant(rapid.Int64Range(0, int64(to-from)-1).Draw(rt, "start"))
	s.End = min(s.Start+pool.Instant(rapid.Int64Range(1, 40*pool.MillisPerHour).Draw(rt, "length")), pool.NextMidnight(s.Start, b.zone))
	s.Alloc, s.Attempt.Job = pool.AllocID(fmt.Sprint("a", next)), pool.JobID(fmt.Sprint("j", k%3))
	s.Cover = rapid.SampledFrom(pool.Covers).Draw(rt, "cover")
	s.PriceRow, s.GPUs = pool.PriceRowID(s.Cover), rapid.IntRange(1, 8).Draw(rt, "gpus")
	b.ledger, b.live = append(b.ledger, s), append(b.live, s)
}

// Whatever comes late or is corrected, each record is on one invoice, all
// invoices together are the rating of everything, and each can be recomputed
// from the ledger long after.
func TestMonthsOfInvoicesSumToTheLedgerAndVerify(t *testing.T) {
	t.Parallel()
	loc, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	first := pool.Month{Year: 2026, Month: time.September}
	adjusted := 0
	rapid.Check(t, func(rt *rapid.T) {
		b := newBook(loc)
		var seq int64
		hash := ""
		for k := range 4 {
			m := first.Plus(k)
			for range rapid.IntRange(0, 6).Draw(rt, "writes") {
				b.write(rt, first.Bounds(loc).Start, m.Bounds(loc).End, k)
			}
			r := Range{seq, int64(len(b.ledger))}
			seq = r.To
			o := order(vat(19))
			o.Period, o.Range, o.Lines = m, r, b.lines(rt, k, m, r)
			draft, err := Build(o)
			if err != nil {
				rt.Fatal(err)
			}
			d, err := Issue(draft, fmt.Sprintf("NB-2026-%06d", k+1), m.Bounds(loc).End, m.Bounds(loc).End, b.in(r), hash)
			if err != nil {
				rt.Fatal(err)
			}
			hash = d.Hash
			b.billed = append(b.billed, d)
		}
		var billed, right money.Amount
		previous := ""
		for n, d := range b.billed {
			e := Evidence{Segments: b.in(d.Range), Lines: b.lines(rt, n, d.Period, d.Range), Previous: previous}
			if err := Verify(d, e); err != nil {
				rt.Fatal(err)
			}
			previous = d.Hash
			for _, l := range d.Lines {
				if l.Adjusts != "" {
					adjusted++
				}
			}
			billed += d.Net
			lines, err := rating.Rate(rating.Input{Period: d.Period.Bounds(loc), Totals: b.totals(rt, d.Period, seq), Plans: b.plans, Prices: b.prices})
			if err != nil {
				rt.Fatal(err)
			}
			net, err := rating.Net(append(lines, rating.FeeLines(b.plans, d.Period.Bounds(loc))...))
			if err != nil {
				rt.Fatal(err)
			}
			right += net
		}
		if billed != right {
			rt.Fatalf("invoices sum to %d, the ledger to %d", billed, right)
		}
	})
	if adjusted == 0 {
		t.Error("nothing came late: too tame")
	}
}
