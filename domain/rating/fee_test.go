package rating

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"gpupool/domain/money"
	"gpupool/domain/pool"
)

func fees(lines []Line, loc *time.Location) []string {
	var out []string
	for _, l := range lines {
		out = append(out, fmt.Sprintf("%s %s %s..%s %d", l.Adjusts, l.Plan, l.Service.Start.In(loc).Format("01-02"), l.Service.End.In(loc).Format("01-02"), l.Amount))
	}
	return out
}

func TestFees(t *testing.T) {
	t.Parallel()
	berlin := zone(t, "Europe/Berlin")
	lab1 := func(from, to pool.Instant) PlanWindow { return lab(pool.Interval{Start: from, End: to}) }
	campus := func(from, to pool.Instant) PlanWindow {
		w := lab1(from, to)
		w.Version, w.Fee = "campus-1", 649_000
		return w
	}
	nov := november.Bounds(berlin)
	paidStart := FeeLines([]PlanWindow{lab1(0, pool.Never)}, nov)
	for _, c := range []struct {
		what   string
		timing Timing
		plans  []PlanWindow
		paid   []Line
		want   []string
	}{
		{"in arrears: the month itself", Arrears, []PlanWindow{lab1(0, pool.Never)}, nil, []string{" lab-1 11-01..12-01 399000"}},
		{"in advance: the next month", Advance, []PlanWindow{lab1(0, pool.Never)}, paidStart, []string{" lab-1 12-01..01-01 399000"}},
		{"in arrears: a change in the month bills both parts", Arrears, []PlanWindow{lab1(0, day(berlin, 16)), campus(day(berlin, 16), pool.Never)}, nil,
			[]string{" lab-1 11-01..11-16 199500", " campus-1 11-16..12-01 324500"}},
		{"in advance: a change in a paid month bills the difference and the next month", Advance,
			[]PlanWindow{lab1(0, day(berlin, 16)), campus(day(berlin, 16), pool.Never)}, paidStart,
			[]string{"2026-11 lab-1 11-01..11-16 -199500", "2026-11 campus-1 11-16..12-01 324500", " campus-1 12-01..01-01 649000"}},
		{"in advance: the last invoice has no fee", Advance, []PlanWindow{lab1(0, nov.End)}, paidStart, nil},
		{"in advance: leaving early gives the rest back", Advance, []PlanWindow{lab1(0, day(berlin, 16))}, paidStart,
			[]string{"2026-11 lab-1 11-01..11-16 -199500"}},
		{"a plan without a fee has no line", Arrears, []PlanWindow{func() PlanWindow { w := lab1(0, pool.Never); w.Fee = 0; return w }()}, nil, nil},
		{"no plan, no fee", Arrears, nil, nil, nil},
	} {
		got := MonthFees(c.timing, c.plans, november, berlin, c.paid)
		if diff := cmp.Diff(c.want, fees(got, berlin)); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", c.what, diff)
		}
	}
	begin := []PlanWindow{lab1(day(berlin, 16), pool.Never)}
	if diff := cmp.Diff([]string{" lab-1 11-16..12-01 199500"}, fees(StartLines(Advance, begin, november, berlin), berlin)); diff != "" {
		t.Errorf("the start invoice: %s", diff)
	}
	if got := StartLines(Arrears, begin, november, berlin); got != nil {
		t.Errorf("a start invoice in arrears: %v", got)
	}
}

func TestAdvanceAndArrearsBillTheSameInTheEnd(t *testing.T) {
	t.Parallel()
	berlin := zone(t, "Europe/Berlin")
	first := pool.Month{Year: 2026, Month: time.January}
	changed := 0
	rapid.Check(t, func(rt *rapid.T) {
		span := pool.Interval{Start: first.Bounds(berlin).Start, End: first.Plus(6).Bounds(berlin).Start}
		instant := func(s string) pool.Instant {
			return span.Start + pool.Instant(rapid.Int64Range(0, span.Millis()).Draw(rt, s))
		}
		cuts := []pool.Instant{instant("start"), instant("change"), instant("end")}
		slices.Sort(cuts)
		a, b := lab(pool.Interval{Start: cuts[0], End: cuts[1]}), lab(pool.Interval{Start: cuts[1], End: cuts[2]})
		b.Version, b.Fee = "campus-1", 649_001
		plans := []PlanWindow{a, b}
		// known tells the plans as they were known at an instant: the future
		// change and the end are decided when they come.
		known := func(now pool.Instant) []PlanWindow {
			switch {
			case now < cuts[1]:
				w := a
				w.Valid.End = pool.Never
				return []PlanWindow{w}
			case now < cuts[2]:
				w := b
				w.Valid.End = pool.Never
				return []PlanWindow{a, w}
			}
			return plans
		}
		var arrears, advance, paid []Line
		begun := pool.MonthOf(cuts[0], berlin)
		paid = StartLines(Advance, known(cuts[0]), begun, berlin)
		advance = append(advance, paid...)
		for m := first; m.Before(first.Plus(8)); m = m.Next() {
			arrears = append(arrears, MonthFees(Arrears, plans, m, berlin, nil)...)
			if m.Before(begun) {
				continue
			}
			lines := MonthFees(Advance, known(m.Bounds(berlin).End), m, berlin, paid)
			advance = append(advance, lines...)
			paid = nil
			for _, l := range lines {
				if l.Adjusts == "" {
					paid = append(paid, l)
				} else {
					changed++
				}
			}
		}
		x, err := Net(arrears)
		y, err2 := Net(advance)
		if err != nil || err2 != nil || x != y {
			rt.Fatalf("arrears %d, advance %d, plans %+v", x, y, plans)
		}
	})
	if changed == 0 {
		t.Error("no plan changed inside a paid month: too tame")
	}
}

func TestUsedAndUnusedAreTheFullFee(t *testing.T) {
	t.Parallel()
	berlin := zone(t, "Europe/Berlin")
	rapid.Check(t, func(rt *rapid.T) {
		m := pool.Month{Year: rapid.IntRange(2020, 2040).Draw(rt, "year"), Month: time.Month(rapid.IntRange(1, 12).Draw(rt, "month"))}
		p := m.Bounds(berlin)
		w := lab(always())
		w.Fee = money.Amount(rapid.Int64Range(1, 10_000_000).Draw(rt, "fee"))
		at := p.Start + pool.Instant(rapid.Int64Range(0, p.Millis()).Draw(rt, "at"))
		used := prorate(w.Fee, pool.Interval{Start: p.Start, End: at}, p)
		rest := prorate(w.Fee, pool.Interval{Start: at, End: p.End}, p)
		if d := used + rest - w.Fee; used < 0 || rest < 0 || d < 0 || d > 1 {
			rt.Fatalf("%d used and %d unused of %d", used, rest, w.Fee)
		}
		paid := FeeLines([]PlanWindow{w}, p)
		w.Valid = pool.Interval{Start: 0, End: at}
		back := Adjust(m, paid, FeeLines([]PlanWindow{w}, p))
		sum, err := Net(append(paid, back...))
		if err != nil || sum != used {
			rt.Fatalf("%d stays billed for %d used (%v)", sum, used, err)
		}
	})
}

// billingCase reads one of the cases made from public bug reports; each names
// its source in the file.
func billingCase(t *testing.T, id string, into any) {
	t.Helper()
	raw, err := os.ReadFile("../testdata/billing_cases.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ Cases []json.RawMessage }
	if err := json.Unmarshal(raw, &file); err != nil {
		t.Fatal(err)
	}
	for _, c := range file.Cases {
		var head struct{ ID, Source string }
		if err := json.Unmarshal(c, &head); err != nil {
			t.Fatal(err)
		}
		if head.ID == id {
			t.Logf("source: %s", head.Source)
			if err := json.Unmarshal(c, into); err != nil {
				t.Fatal(err)
			}
			return
		}
	}
	t.Fatalf("no case %s", id)
}

func date(t *testing.T, s string, days int) pool.Instant {
	t.Helper()
	d, err := time.Parse(time.DateOnly, s)
	if err != nil {
		t.Fatal(err)
	}
	return pool.At(d.AddDate(0, 0, days))
}

func TestIncludedHoursAreGrantedOncePerPeriod(t *testing.T) {
	t.Parallel()
	var c struct {
		Given struct {
			GrantA struct{ Amount int64 } `json:"grant_A"`
			GrantB struct{ Amount int64 } `json:"grant_B"`
			Usage  []struct{ Qty int64 }
		}
		Right struct{ A, B int64 }
	}
	billingCase(t, "BC02-recurring-grant-reapplied", &c)
	// The second grant is another plan version that begins later in the period;
	// the first has its whole hours before it.
	loan := prices()[0]
	period := pool.Interval{Start: 0, End: 24 * pool.MillisPerHour}
	w := PlanWindow{Version: "lab-1", Account: "acc", Valid: period, Included: map[pool.ClassID]pool.GPUMillis{"h100": Hours(c.Given.GrantA.Amount)}}
	var used int64
	in := Input{Period: period, Plans: []PlanWindow{w}, Prices: prices()}
	for i, u := range c.Given.Usage {
		in.Totals = append(in.Totals, use(fmt.Sprintf("j%d", i), loan, u.Qty))
		used += u.Qty
	}
	for _, cut := range []pool.Instant{1, 3_600_000, period.End - 1} {
		a, b := w, w
		a.Valid.End, b.Valid.Start = cut, cut
		in.Plans = []PlanWindow{a, b}
		lines, err := Rate(in)
		if err != nil {
			t.Fatal(err)
		}
		if left := Pool(in.Plans, period)["h100"] - lines[0].Quantity; left != Hours(c.Right.A) || len(lines) != 1 {
			t.Errorf("cut at %d: %s hours are left, want %d: %v", cut, left.Hours(), c.Right.A, brief(lines))
		}
	}
	if used != c.Given.GrantA.Amount-c.Right.A || c.Right.B != c.Given.GrantB.Amount {
		t.Errorf("the case contradicts itself: %+v", c)
	}
}

func TestProrationDividesByTheWholePeriod(t *testing.T) {
	t.Parallel()
	var c struct {
		Given struct {
			Fee    money.Amount `json:"plan_minor_per_quarter"`
			Period []string
			Start  string `json:"contract_start"`
			End    string `json:"terminated_end_of"`
			Days   int64  `json:"service_days"`
		}
		Right struct {
			Amount money.Amount `json:"amount_minor"`
			Days   int64        `json:"denominator_days"`
		}
	}
	billingCase(t, "BC08-proration-denominator", &c)
	period := pool.Interval{Start: date(t, c.Given.Period[0], 0), End: date(t, c.Given.Period[1], 0)}
	served := pool.Interval{Start: date(t, c.Given.Start, 0), End: date(t, c.Given.End, 1)}
	if period.Millis() != c.Right.Days*86_400_000 || served.Millis() != c.Given.Days*86_400_000 {
		t.Fatalf("the case contradicts itself: %+v", c)
	}
	lines := FeeLines([]PlanWindow{{Version: "q", Valid: served, Fee: c.Given.Fee}}, period)
	if len(lines) != 1 || lines[0].Amount != c.Right.Amount || lines[0].Service != served {
		t.Errorf("%+v, want %d", lines, c.Right.Amount)
	}
}

func TestServicePeriodsOfFeesTileFromAnyAnchor(t *testing.T) {
	t.Parallel()
	var c struct {
		Given struct{ Anchors []string }
	}
	billingCase(t, "BC09-periods-must-tile", &c)
	for _, anchor := range c.Given.Anchors {
		begin := date(t, anchor[:10], 0)
		plans := []PlanWindow{lab(pool.Interval{Start: begin, End: pool.Never})}
		m := pool.MonthOf(begin, time.UTC)
		end := begin
		for range 60 {
			lines := FeeLines(plans, m.Bounds(time.UTC))
			if len(lines) != 1 || lines[0].Service.Start != end {
				t.Fatalf("anchor %s, month %s: %+v does not begin at %s", anchor, m, lines, end)
			}
			end, m = lines[0].Service.End, m.Next()
		}
	}
}
