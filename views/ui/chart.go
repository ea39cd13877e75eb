package ui

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// ChartKind is how the series are drawn.
type ChartKind string

const (
	Lines   ChartKind = "lines"   // one line per series
	Areas   ChartKind = "areas"   // lines over a filled ground: for a single series
	Stacked ChartKind = "stacked" // columns of parts that add up
)

// Chart is figures over an axis of time or names, drawn on the server, with the same figures as a table beside it.
type Chart struct {
	ID      string
	Caption string // says what is counted, and whether allocated or busy
	Kind    ChartKind
	Axis    string   // name of the first column: "Day"
	X       []string // labels, one per point
	Series  []Series
	Total   string // heading of a sum column; only where the parts have one unit
	Limit   *Limit
	Format  func(int64) string // prints a value; it is used for the scale, the table and the sum
	Unit    string             // stands after the caption
	Topics  string
	CSV     string
}

// Series is one line or one part of each column. Values are whole units, one per label of the axis; a missing
// value is Gap.
type Series struct {
	Name   string
	Use    string // "own", "loan", "spot", "free", "out": its colour; empty takes the next of the palette
	Values []int64
	Dashed bool // a forecast
}

// Gap marks a point without a value: nothing is drawn and the table shows a dash.
const Gap int64 = -1 << 63

// Limit is a line across the chart: a cap, a quota.
type Limit struct {
	Value int64
	Label string
}

// The drawing area in the chart's own units.
const (
	chartWidth  = 600.0
	chartHeight = 210.0
	right       = 8.0
	top         = 12.0
	bottom      = 28.0
)

type tick struct{ at, label string }

type column struct{ class, x, y, w, h, title string }

type line struct{ class, path, fill string }

type scale struct {
	chart Chart
	max   int64
	left  float64 // room for the longest label of the scale
}

func (c Chart) scale() scale {
	s := scale{c, c.ceiling(), 40}
	for _, t := range s.yTicks() {
		s.left = max(s.left, 16+10*float64(utf8.RuneCountInString(t.label)))
	}
	return s
}

func (c Chart) format(v int64) string {
	if v == Gap {
		return "–"
	}
	if c.Format == nil {
		return strconv.FormatInt(v, 10)
	}
	return c.Format(v)
}

func (s Series) at(i int) int64 {
	if i < len(s.Values) {
		return s.Values[i]
	}
	return Gap
}

// sum adds the parts of one point; gaps count as nothing.
func (c Chart) sum(i int) int64 {
	var all int64
	for _, s := range c.Series {
		if v := s.at(i); v != Gap {
			all += v
		}
	}
	return all
}

// ceiling is the round number at or above everything that is drawn.
func (c Chart) ceiling() int64 {
	var most int64
	for i := range c.X {
		if c.Kind == Stacked {
			most = max(most, c.sum(i))
			continue
		}
		for _, s := range c.Series {
			if v := s.at(i); v != Gap {
				most = max(most, v)
			}
		}
	}
	if c.Limit != nil {
		most = max(most, c.Limit.Value)
	}
	return roundUp(most)
}

// roundUp returns the next of 4, 8, 12, 20, 40, 80, 120, 200… so that four parts of it are round as well.
func roundUp(v int64) int64 {
	for ten := int64(1); ten < 1<<58; ten *= 10 {
		for _, step := range []int64{4, 8, 12, 20} {
			if v <= step*ten {
				return step * ten
			}
		}
	}
	return v
}

func (s scale) y(v int64) float64 {
	return chartHeight - bottom - float64(v)/float64(s.max)*(chartHeight-top-bottom)
}

// slot is the width of one point of the axis.
func (s scale) slot() float64 { return (chartWidth - s.left - right) / float64(max(1, len(s.chart.X))) }

func (s scale) x(i int) float64 { return s.left + s.slot()*(float64(i)+0.5) }

func (s scale) yTicks() []tick {
	var all []tick
	for i := int64(0); i <= 4; i++ {
		v := s.max / 4 * i
		all = append(all, tick{px(s.y(v)), s.chart.format(v)})
	}
	return all
}

// xTicks labels at most nine points, evenly, the first one always.
func (s scale) xTicks() []tick {
	step := max(1, (len(s.chart.X)+8)/9)
	var all []tick
	for i := 0; i < len(s.chart.X); i += step {
		all = append(all, tick{px(s.x(i)), s.chart.X[i]})
	}
	return all
}

func (c Chart) class(i int) string {
	if c.Series[i].Use != "" {
		return "use-" + c.Series[i].Use
	}
	return "series-" + strconv.Itoa(i%6+1)
}

func (s scale) columns() []column {
	var all []column
	for i, label := range s.chart.X {
		var below int64
		for k, part := range s.chart.Series {
			v := part.at(i)
			if v == Gap || v <= 0 {
				continue
			}
			w := min(44, s.slot()*0.72)
			y := s.y(below + v)
			all = append(all, column{
				class: s.chart.class(k), x: px(s.x(i) - w/2), y: px(y), w: px(w), h: px(s.y(below) - y),
				title: label + " · " + part.Name + ": " + s.chart.format(v),
			})
			below += v
		}
	}
	return all
}

func (s scale) lines() []line {
	var all []line
	for k, series := range s.chart.Series {
		var path, fill strings.Builder
		open, first, last := false, 0.0, 0.0
		closeFill := func() {
			if open {
				fill.WriteString("L" + px(last) + " " + px(s.y(0)) + "L" + px(first) + " " + px(s.y(0)) + "Z")
			}
			open = false
		}
		for i := range s.chart.X {
			v := series.at(i)
			if v == Gap {
				closeFill()
				continue
			}
			step := "L"
			if !open {
				step, open, first = "M", true, s.x(i)
			}
			last = s.x(i)
			point := step + px(last) + " " + px(s.y(v))
			path.WriteString(point)
			fill.WriteString(point)
		}
		closeFill()
		class := s.chart.class(k)
		if series.Dashed {
			class += " dashed"
		}
		l := line{class: class, path: path.String()}
		if s.chart.Kind == Areas {
			l.fill = fill.String()
		}
		all = append(all, l)
	}
	return all
}
