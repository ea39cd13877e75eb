package money

import (
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"

	"gpupool/domain/pool"
)

// exact rounds a*b/d half away from zero with arbitrary precision.
func exact(a, b, d int64) *big.Int {
	n := new(big.Int).Mul(big.NewInt(a), big.NewInt(b))
	sign := n.Sign()
	n.Abs(n).Mul(n, big.NewInt(2)).Add(n, big.NewInt(d))
	n.Quo(n, new(big.Int).Mul(big.NewInt(d), big.NewInt(2)))
	if sign < 0 {
		n.Neg(n)
	}
	return n
}

func TestChargeIsTheExactProductRoundedOnce(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		g := pool.GPUMillis(rapid.Int64().Draw(rt, "g"))
		p := Price(rapid.Int64Range(0, int64(MaxPrice)).Draw(rt, "p"))
		if g == math.MinInt64 {
			g++ // its opposite is no int64, and no quantity
		}
		got, want := Charge(g, p), exact(int64(g), int64(p), hourMicro)
		if big.NewInt(int64(got)).Cmp(want) != 0 {
			rt.Fatalf("%d at %d costs %d, want %s", g, p, got, want)
		}
		if Charge(-g, p) != -got {
			rt.Fatalf("a reversal of %d does not cost the opposite of %d", g, got)
		}
		if up := ChargeUp(g, p); g >= 0 && (up < got || up > got+1) {
			rt.Fatalf("up to %d for a charge of %d", up, got)
		}
	})
}

func TestChargesOfTheDemo(t *testing.T) {
	t.Parallel()
	hour := pool.GPUMillis(pool.MillisPerHour)
	for _, c := range []struct {
		what string
		use  pool.GPUMillis
		p    Price
		want Amount
	}{
		{"8 GPUs hung for 7.3 h on loan", 8 * 73 * hour / 10, 180_000_000, 10512},
		{"24 GPU-hours of A100 on loan", 24 * hour, 92_000_000, 2208},
		{"24 GPU-hours of A100 as spot", 24 * hour, 41_000_000, 984},
		{"10 000 H100 for a month of 31 days", 10_000 * 744 * hour, 220_000_000, 1_636_800_000},
		{"half a cent rounds away from zero", hour / 2, 1_000_000, 1},
		{"less than half a cent rounds to zero", hour/2 - 1, 1_000_000, 0},
		{"minus half a cent rounds away from zero", -hour / 2, 1_000_000, -1},
		{"the largest quantity at the dearest price", math.MaxInt64, MaxPrice, math.MaxInt64},
	} {
		if got := Charge(c.use, c.p); got != c.want {
			t.Errorf("%s: %d, want %d", c.what, got, c.want)
		}
	}
}

func TestChargeRefusesAPriceNoListCanHave(t *testing.T) {
	t.Parallel()
	for _, p := range []Price{-1, MaxPrice + 1} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("price %d was charged", p)
				}
			}()
			Charge(1, p)
		}()
	}
}

func TestPortionUsedAndUnusedAreTheWhole(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		x := Amount(rapid.Int64Range(-1e15, 1e15).Draw(rt, "x"))
		whole := rapid.Int64Range(1, 40*86400).Draw(rt, "whole")
		part := rapid.Int64Range(0, whole).Draw(rt, "part")
		got := Portion(x, part, whole)
		if want := exact(int64(x), part, whole); big.NewInt(int64(got)).Cmp(want) != 0 {
			rt.Fatalf("%d of %d of %d is %d, want %s", part, whole, x, got, want)
		}
		if Portion(x, 0, whole) != 0 || Portion(x, whole, whole) != x {
			rt.Fatalf("none of %d or all of it is not exact", x)
		}
	})
}

func TestSumsThatOverflowAreErrors(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		edge := rapid.OneOf(rapid.Int64(), rapid.Int64Range(math.MaxInt64-3, math.MaxInt64), rapid.Int64Range(math.MinInt64, math.MinInt64+3))
		a, b := edge.Draw(rt, "a"), edge.Draw(rt, "b")
		for _, c := range []struct {
			got  Amount
			err  error
			want *big.Int
		}{
			{first(Amount(a).Add(Amount(b))), second(Amount(a).Add(Amount(b))), new(big.Int).Add(big.NewInt(a), big.NewInt(b))},
			{first(Amount(a).Sub(Amount(b))), second(Amount(a).Sub(Amount(b))), new(big.Int).Sub(big.NewInt(a), big.NewInt(b))},
		} {
			if c.want.IsInt64() != (c.err == nil) || c.err == nil && c.want.Int64() != int64(c.got) {
				rt.Fatalf("%d and %d: %d, %v, want %s", a, b, c.got, c.err, c.want)
			}
		}
	})
	if _, err := Sum(1, math.MaxInt64, -1); err == nil {
		t.Error("a sum that overflows on its way is not refused")
	}
}

func first(a Amount, _ error) Amount   { return a }
func second(_ Amount, err error) error { return err }
