package rating

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gpupool/domain/money"
	"gpupool/domain/pool"
)

func TestRate(t *testing.T) {
	t.Parallel()
	month := november.Bounds(time.UTC)
	p := prices()
	hOwn, hLoan, hSpot, hNight, dear, cheap := p[0], p[1], p[2], p[3], p[4], p[5]
	for _, c := range []struct {
		what   string
		totals []Total
		set    func(*Input)
		want   []string
	}{
		{"use inside the included hours costs nothing", []Total{use("j1", hOwn, 1999)}, nil,
			[]string{"included h100 own 0 1999.000 0"}},
		{"the rest is overage", []Total{use("j1", hOwn, 2010)}, nil,
			[]string{"included h100 own 0 2000.000 0", "overage h100 own 220 10.000 2200"}},
		{"loan and spot never burn included hours", []Total{use("j1", hLoan, 58), use("j2", hSpot, 10), use("j2", hNight, 10)}, nil,
			[]string{"loan h100 loan 180 58.000 10440", "spot h100 spot 68 10.000 680", "spot h100 spot 80 10.000 800"}},
		{"hours burn at the dearest price first", []Total{use("j1", cheap, 600), use("j2", dear, 600)}, nil,
			[]string{"included a100 own 0 300.000 0", "included a100 own 0 600.000 0", "overage a100 own 115 300.000 34500"}},
		{"without a plan all own use is overage", []Total{use("j1", hOwn, 10)}, func(in *Input) { in.Plans = nil },
			[]string{"overage h100 own 220 10.000 2200"}},
		{"half a month of a plan has half its hours", []Total{use("j1", hOwn, 1500)}, func(in *Input) {
			in.Plans = []PlanWindow{lab(pool.Interval{Start: day(time.UTC, 16), End: pool.Never})}
		}, []string{"included h100 own 0 1000.000 0", "overage h100 own 220 500.000 110000"}},
		{"hours burn in the order of the plan windows, then by price", []Total{use("j1", cheap, 900), func() Total { u := use("j2", dear, 900); u.PlanVersion = "campus-1"; return u }()},
			func(in *Input) {
				second := lab(pool.Interval{Start: day(time.UTC, 16), End: pool.Never})
				second.Version = "campus-1"
				in.Plans = []PlanWindow{second, lab(pool.Interval{Start: 0, End: day(time.UTC, 16)})}
			}, []string{"included a100 own 0 900.000 0", "overage a100 own 125 900.000 112500"}},
		{"use after the plan's end burns nothing", []Total{use("j1", hOwn, 10), func() Total { u := use("j2", hOwn, 10); u.PlanVersion = ""; return u }()}, nil,
			[]string{"included h100 own 0 10.000 0", "overage h100 own 220 10.000 2200"}},
		{"each billing account gets lines of its own", []Total{use("j1", hLoan, 1), func() Total { u := use("j2", hLoan, 2); u.Account = "b"; return u }()}, nil,
			[]string{"loan h100 loan 180 1.000 180", "loan h100 loan 180 2.000 360"}},
		{"the minimum charge is a line of its own", []Total{use("j1", hLoan, 1)}, func(in *Input) {
			r := hLoan
			r.MinimumRun = pool.MillisPerHour / 2
			s, short := Short(r, use("j1", hLoan, 0).Bucket, 4, Hours(1))
			if !short {
				panic("no shortfall")
			}
			in.Short = []Shortfall{s}
		}, []string{"loan h100 loan 180 1.000 180", "minimum h100 loan 180 1.000 180"}},
		{"a fault in a loan gives the money back", []Total{use("j1", hLoan, 10)}, func(in *Input) {
			in.Waivers = []Waived{{PlatformFault, use("j1", hLoan, 0).Bucket, Hours(4)}}
		}, []string{"loan h100 loan 180 10.000 1800", "waiver h100 loan 180 -4.000 -720"}},
		{"a fault in included hours gives hours back", []Total{use("j1", hOwn, 100)}, func(in *Input) {
			in.Waivers = []Waived{{PlatformFault, use("j1", hOwn, 0).Bucket, Hours(4)}}
		}, []string{"included h100 own 0 100.000 0", "waiver h100 own 0 -4.000 0"}},
		{"a fault beyond included hours gives money first", []Total{use("j1", hOwn, 2003)}, func(in *Input) {
			in.Waivers = []Waived{{PlatformFault, use("j1", hOwn, 0).Bucket, Hours(4)}}
		}, []string{"included h100 own 0 2000.000 0", "overage h100 own 220 3.000 660", "waiver h100 own 0 -1.000 0", "waiver h100 own 220 -3.000 -660"}},
		{"the dispute of a hung job", []Total{use("hung", hLoan, 100)}, func(in *Input) {
			in.Waivers = []Waived{{DisputeAccepted, use("hung", hLoan, 0).Bucket, 8 * Hours(73) / 10}}
		}, []string{"loan h100 loan 180 100.000 18000", "waiver h100 loan 180 -58.400 -10512"}},
		{"a month without use has no lines", nil, nil, nil},
	} {
		in := Input{Period: month, Totals: c.totals, Plans: []PlanWindow{lab(always())}, Prices: p}
		if c.set != nil {
			c.set(&in)
		}
		got, err := Rate(in)
		if err != nil {
			t.Errorf("%s: %v", c.what, err)
		}
		if diff := cmp.Diff(c.want, brief(got)); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", c.what, diff)
		}
	}
}

func TestRateRefusesWhatCannotBePriced(t *testing.T) {
	t.Parallel()
	p := prices()
	for _, c := range []struct {
		what string
		set  func(*Input)
		want error // nil: any
	}{
		{"a price row that is not there", func(in *Input) { in.Totals[0].PriceRow = "gone" }, nil},
		{"a price row of another class", func(in *Input) { in.Totals[0].PriceRow = p[6].ID }, nil},
		{"a price row of another cover", func(in *Input) { in.Totals[0].PriceRow = p[0].ID }, nil},
		{"a price row that is given twice", func(in *Input) { in.Prices = append(in.Prices, in.Prices[0]) }, nil},
		{"a negative price", func(in *Input) { in.Prices[1].Price = -1 }, nil},
		{"negative use", func(in *Input) { in.Totals[0].Use = -1 }, ErrNegativeUse},
		{"use that overflows", func(in *Input) {
			in.Totals[0].Use = 1<<63 - 1
			in.Totals = append(in.Totals, use("j2", p[1], 1))
		}, ErrNegativeUse},
		{"a waiver of more than was used", func(in *Input) {
			in.Waivers = []Waived{{Maintenance, in.Totals[0].Bucket, Hours(2)}}
		}, ErrNegativeUse},
		{"a waiver of a job that did not run", func(in *Input) {
			in.Waivers = []Waived{{Maintenance, use("other", p[1], 0).Bucket, 1}}
		}, ErrNegativeUse},
	} {
		in := Input{Period: november.Bounds(time.UTC), Totals: []Total{use("j1", p[1], 1)}, Prices: prices()}
		c.set(&in)
		got, err := Rate(in)
		if err == nil || c.want != nil && !errors.Is(err, c.want) || got != nil {
			t.Errorf("%s: %v, %v", c.what, brief(got), err)
		}
	}
}

func TestTotalsCountReversals(t *testing.T) {
	t.Parallel()
	s := Segment{Alloc: "a", Start: 0, End: 1000, Class: "h100", GPUs: 2, Cover: pool.Own, Sign: 1}
	back, again := s, s
	back.Sign = -1
	again.GPUs, again.Revision = 1, 1
	got, err := Totals([]Segment{s, back, again})
	if err != nil || len(got) != 1 || got[0].Use != 1000 {
		t.Errorf("%+v, %v", got, err)
	}
	if got, err := Totals([]Segment{s, back}); err != nil || got != nil {
		t.Errorf("what was taken back is still there: %+v, %v", got, err)
	}
	if _, err := Totals([]Segment{back}); !errors.Is(err, ErrNegativeUse) {
		t.Errorf("a reversal of nothing: %v", err)
	}
}

func TestAttemptsAboveTheMinimumAreNotShort(t *testing.T) {
	t.Parallel()
	r := prices()[1]
	if _, short := Short(r, Bucket{}, 4, 0); short {
		t.Error("short of a minimum that no price list has")
	}
	r.MinimumRun = 60_000
	if s, short := Short(r, Bucket{}, 4, 240_000); short || s.Use != 0 {
		t.Errorf("short by %d at the minimum", s.Use)
	}
}

func TestPartsNameWhoUsedIt(t *testing.T) {
	t.Parallel()
	loan := prices()[1]
	a, b := use("j2", loan, 1), use("j1", loan, 2)
	b.User = "sara"
	in := Input{Period: november.Bounds(time.UTC), Totals: []Total{a, b}, Prices: prices()}
	got, err := Rate(in)
	if err != nil {
		t.Fatal(err)
	}
	want := []Part{{"llm", "ming", "j2", Hours(1), 180}, {"llm", "sara", "j1", Hours(2), 360}}
	if diff := cmp.Diff(want, got[0].Parts); diff != "" {
		t.Error(diff)
	}
	if got[0].Amount != money.Charge(Hours(3), loan.Price) {
		t.Errorf("the line costs %d", got[0].Amount)
	}
}
