package money

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"gpupool/domain/pool"
)

func total[T ~int64](parts []T) (sum T) {
	for _, p := range parts {
		sum += p
	}
	return sum
}

func TestSplitGivesTheRestToTheLargestRemainders(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		what    string
		total   Amount
		weights []int64
		want    []Amount
	}{
		{"ties go to the first", 10, []int64{1, 1, 1}, []Amount{4, 3, 3}},
		{"the largest remainder wins", 10, []int64{1, 2, 4}, []Amount{1, 3, 6}},
		{"a negative total is the mirror image", -10, []int64{1, 2, 4}, []Amount{-1, -3, -6}},
		{"who has no weight gets nothing", 5, []int64{0, 1, 0}, []Amount{0, 5, 0}},
		{"without any weight all are equal", 5, []int64{0, 0}, []Amount{3, 2}},
		{"nobody to give to", 5, nil, nil},
	} {
		if diff := cmp.Diff(c.want, Split(c.total, c.weights)); diff != "" {
			t.Errorf("%s: %s", c.what, diff)
		}
	}
}

func TestSplitSumsExactlyAndStaysWithinOneUnit(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		all := Amount(rapid.Int64Range(-1e17, 1e17).Draw(rt, "total"))
		weights := rapid.SliceOfN(rapid.Int64Range(0, 1e16), 1, 60).Draw(rt, "weights")
		parts := Split(all, weights)
		if total(parts) != all {
			rt.Fatalf("%v sum to %d, not to %d", parts, total(parts), all)
		}
		if total(weights) == 0 {
			return
		}
		for i, w := range weights {
			floor, _ := mulDivRem(int64(all), w, total(weights))
			if m := magnitude(int64(parts[i])); m < floor || m > floor+1 {
				rt.Fatalf("part %d of %d is %d, exact is %d and a fraction", i, all, parts[i], floor)
			}
		}
	})
}

func TestSpreadRoundsTheLineOnceAndNoPartBeyondItsOwnCharge(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		p := Price(rapid.Int64Range(0, 5_000_000_000).Draw(rt, "price"))
		uses := rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) pool.GPUMillis {
			return pool.GPUMillis(rapid.Int64Range(0, 3e12).Draw(rt, "use"))
		}), 0, 60).Draw(rt, "uses")
		line, parts := Spread(uses, p)
		if line != Charge(total(uses), p) || total(parts) != line {
			rt.Fatalf("line %d, parts %v of %d, charge %d", line, parts, total(parts), Charge(total(uses), p))
		}
		for i := range uses {
			if parts[i] > ChargeUp(uses[i], p) || parts[i] < ChargeUp(uses[i], p)-1 {
				rt.Fatalf("part %d of %d GPU-ms at %d is %d", i, uses[i], p, parts[i])
			}
		}
	})
}

func TestTaxOnLinesSumsToTheTaxOfTheirSum(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		rate := BasisPoints(rapid.Int64Range(0, int64(FullRate)).Draw(rt, "rate"))
		lines := rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) Amount {
			return Amount(rapid.Int64Range(-1e9, 1e9).Draw(rt, "line"))
		}), 0, 40).Draw(rt, "lines")
		tax, shares := rate.Spread(lines)
		if tax != rate.Of(total(lines)) || total(shares) != tax {
			rt.Fatalf("tax %d, shares %v", tax, shares)
		}
		for i, s := range shares {
			if d := s - rate.Of(lines[i]); d < -1 || d > 1 {
				rt.Fatalf("line %d has the tax %d, alone it would be %d", lines[i], s, rate.Of(lines[i]))
			}
		}
	})
}

func TestSplitDependsOnNothingButItsInput(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		w := rapid.SliceOfN(rapid.Int64Range(0, 5), 1, 20).Draw(rt, "weights")
		before := slices.Clone(w)
		a, b := Split(Amount(97), w), Split(Amount(97), w)
		if !slices.Equal(a, b) || !slices.Equal(w, before) {
			rt.Fatalf("%v then %v of %v", a, b, w)
		}
	})
}
