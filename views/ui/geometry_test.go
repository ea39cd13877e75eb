package ui

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"
	"pgregory.net/rapid"
)

func number(t interface{ Fatal(...any) }, text string) float64 {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestTheQuotaBarHasOneSlotPerGPUAndNoOverlap(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := func(name string) int64 { return rapid.Int64Range(0, 400).Draw(t, name) }
		q := QuotaBar{Own: n("own"), Lent: n("lent"), Free: n("free"), Borrowed: n("borrowed"), BorrowLimit: n("limit")}
		total := q.Own + q.Lent + q.Free + max(q.Borrowed, q.BorrowLimit)
		slots := q.slots()
		if total > 0 && total <= 48 && int64(len(slots)) != total {
			t.Fatalf("%d slots for %d GPUs", len(slots), total)
		}
		end := 0.0
		for _, s := range slots {
			x, w := number(t, s.x), number(t, s.w)
			if x < end-0.21 || w <= 0 {
				t.Fatalf("slot at %v begins before %v or has width %v", x, end, w)
			}
			end = x + w
		}
		if end > 1000.1 {
			t.Fatalf("the bar ends at %v", end)
		}
	})
}

func TestEveryGPUOfTheHeatMapIsASquareAndACountInTheTable(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		kinds := append([]string{"nonsense"}, useOrder...)
		g := HeatGroup{Label: "gpu-01", PerRow: rapid.IntRange(0, 9).Draw(rt, "row")}
		for _, u := range rapid.SliceOfN(rapid.SampledFrom(kinds), 1, 40).Draw(rt, "uses") {
			g.Squares = append(g.Squares, Square{Use: u})
		}
		sum := 0
		for _, u := range useOrder {
			sum += g.count(u)
		}
		if sum != len(g.Squares) {
			rt.Fatalf("the table counts %d of %d GPUs", sum, len(g.Squares))
		}
		seen := map[string]bool{}
		for _, p := range g.placed() {
			at := fmt.Sprint(p.x, ",", p.y)
			if seen[at] || p.x+20 > g.width() || p.y+20 > g.height() {
				rt.Fatalf("square at %s is covered or outside %dx%d", at, g.width(), g.height())
			}
			seen[at] = true
		}
	})
}

func chart(kind ChartKind) Chart {
	return Chart{ID: "c", Caption: "GPU-hours", Kind: kind, Axis: "Day", Total: "all", X: []string{"1", "2", "3"},
		Series: []Series{{Name: "own", Use: "own", Values: []int64{10, 0, 30}}, {Name: "loan", Use: "loan", Values: []int64{5, Gap, 7}}}}
}

func TestTheChartAndItsTableSayTheSame(t *testing.T) {
	t.Parallel()
	doc := show(t, chart(Stacked).Show())
	var rows []string
	doc.Find("tbody tr").Each(func(_ int, s *goquery.Selection) {
		rows = append(rows, strings.Join(strings.Fields(s.Text()), " "))
	})
	cells := doc.Find("tbody td").Map(func(_ int, s *goquery.Selection) string { return s.Text() })
	if got := strings.Join(cells, " "); got != "10 5 15 0 – 0 30 7 37" {
		t.Errorf("table %q in %q", got, rows)
	}
	var bars []string
	doc.Find("svg rect title").Each(func(_ int, s *goquery.Selection) { bars = append(bars, s.Text()) })
	if got := strings.Join(bars, "|"); got != "1 · own: 10|1 · loan: 5|3 · own: 30|3 · loan: 7" {
		t.Errorf("bars %q", got)
	}
}

func TestColumnsStandOnEachOtherInProportion(t *testing.T) {
	t.Parallel()
	s := chart(Stacked).scale()
	if s.max != 40 {
		t.Fatalf("ceiling %d", s.max)
	}
	columns := s.columns()
	below, above := columns[2], columns[3]
	if number(t, above.y)+number(t, above.h) > number(t, below.y)+0.11 {
		t.Errorf("%+v does not stand on %+v", above, below)
	}
	plot := chartHeight - top - bottom
	if got, want := number(t, below.h), 30.0/40*plot; got < want-0.1 || got > want+0.1 {
		t.Errorf("30 of 40 is %v of %v high", got, plot)
	}
}

func TestAGapBreaksTheLine(t *testing.T) {
	t.Parallel()
	lines := chart(Areas).scale().lines()
	if got := strings.Count(lines[0].path, "M"); got != 1 {
		t.Errorf("the whole line has %d pieces", got)
	}
	if got := strings.Count(lines[1].path, "M"); got != 2 {
		t.Errorf("the broken line has %d pieces", got)
	}
}

func TestTheCeilingIsRoundAndAboveEverything(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.Int64Range(0, 1<<55).Draw(t, "most")
		top := roundUp(v)
		if top < v || top%4 != 0 || top < 4 || (v > 4 && top > v*2) {
			t.Fatalf("%d for %d", top, v)
		}
	})
	if s := (Chart{X: nil, Kind: Lines}).scale(); s.max != 4 || len(s.columns()) != 0 || len(s.yTicks()) != 5 {
		t.Errorf("an empty chart has the scale %+v", s)
	}
}

func TestAMeterStaysInsideItsBar(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		part, whole int64
		want        string
	}{{1, 2, "500.0"}, {3, 2, "1000"}, {-1, 2, "0"}, {1, 0, "0"}, {0, 5, "0"}} {
		if got := share(c.part, c.whole, 1000); got != c.want {
			t.Errorf("%d of %d is %s, want %s", c.part, c.whole, got, c.want)
		}
	}
}
