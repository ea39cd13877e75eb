package rating

import (
	"cmp"
	"maps"
	"slices"

	"gpupool/domain/money"
	"gpupool/domain/pool"
)

// prorate is x's portion for part of the whole period, in seconds. The
// denominator is always the full period. Instants are floored to the second,
// so neighbouring parts never share one nor lose one.
func prorate[T ~int64](x T, part, period pool.Interval) T {
	part = part.Intersect(period)
	if part.Empty() {
		return 0
	}
	return money.Portion(x, second(part.End)-second(part.Start), second(period.End)-second(period.Start))
}

func second(i pool.Instant) int64 {
	if i < 0 && i%1000 != 0 {
		return int64(i)/1000 - 1
	}
	return int64(i) / 1000
}

// inPeriod clips the windows to the period, in time order. Neighbours that say
// the same are one window: a cut at which nothing changes changes no rounding.
func inPeriod(plans []PlanWindow, period pool.Interval) []PlanWindow {
	var in []PlanWindow
	for _, w := range plans {
		w.Valid = w.Valid.Intersect(period)
		if !w.Valid.Empty() {
			in = append(in, w)
		}
	}
	slices.SortStableFunc(in, func(a, b PlanWindow) int {
		return cmp.Or(cmp.Compare(a.Valid.Start, b.Valid.Start), cmp.Compare(a.Valid.End, b.Valid.End), cmp.Compare(a.Version, b.Version))
	})
	var out []PlanWindow
	for _, w := range in {
		if n := len(out); n > 0 && out[n-1].Valid.End == w.Valid.Start && same(out[n-1], w) {
			out[n-1].Valid.End = w.Valid.End
			continue
		}
		out = append(out, w)
	}
	return out
}

func same(a, b PlanWindow) bool {
	return a.Version == b.Version && a.Account == b.Account && a.Fee == b.Fee && maps.Equal(a.Included, b.Included)
}
