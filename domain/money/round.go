package money

import (
	"fmt"
	"math"
	"math/bits"

	"gpupool/domain/pool"
)

// Charge is what g costs at p: the exact product in 128 bits, rounded once,
// half away from zero. Invoices, checks and quotes all round here. A negative
// quantity gives exactly the negative charge. p must be in [0, MaxPrice]
// (CheckPrice); it panics on any other.
func Charge(g pool.GPUMillis, p Price) Amount {
	mustPrice(p)
	return Amount(mulDiv(int64(g), int64(p), hourMicro, halfAway))
}

// ChargeUp is the least whole amount that is not below the exact product: for
// promises ("up to"), never for invoices. Same domain as Charge.
func ChargeUp(g pool.GPUMillis, p Price) Amount {
	mustPrice(p)
	return Amount(mulDiv(int64(g), int64(p), hourMicro, awayFromZero))
}

// hourMicro is GPU-milliseconds per hour times micro per minor unit.
const hourMicro = pool.MillisPerHour * MicroPerMinor

func mustPrice(p Price) {
	if err := CheckPrice(p); err != nil {
		panic(fmt.Sprintf("money: price %d: %v", p, err))
	}
}

// Portion is x*part/whole rounded half away from zero: proration of a fee or
// of included hours. It needs 0 <= part <= whole and whole > 0, so the result
// never exceeds x; it panics otherwise. The unused rest is x minus the result.
func Portion[T ~int64](x T, part, whole int64) T {
	if whole <= 0 || part < 0 || part > whole {
		panic(fmt.Sprintf("money: portion %d of %d", part, whole))
	}
	return T(mulDiv(int64(x), part, whole, halfAway))
}

type rounding int

const (
	halfAway rounding = iota
	awayFromZero
)

// mulDiv is a*b/d with b >= 0 and d > 0. The callers' limits make the result fit.
func mulDiv(a, b, d int64, r rounding) int64 {
	q, rem := mulDivRem(a, b, d)
	up := rem > 0 && r == awayFromZero || r == halfAway && rem >= uint64(d)-rem
	if up {
		q++
	}
	if q > math.MaxInt64 {
		panic(fmt.Sprintf("money: %d*%d/%d does not fit", a, b, d))
	}
	if a < 0 {
		return -int64(q)
	}
	return int64(q)
}

// mulDivRem is |a|*b/d truncated, with its remainder.
func mulDivRem(a, b, d int64) (q, rem uint64) {
	hi, lo := bits.Mul64(magnitude(a), uint64(b))
	if hi >= uint64(d) {
		panic(fmt.Sprintf("money: %d*%d/%d does not fit", a, b, d))
	}
	return bits.Div64(hi, lo, uint64(d))
}

func magnitude(a int64) uint64 {
	if a < 0 {
		return -uint64(a)
	}
	return uint64(a)
}
