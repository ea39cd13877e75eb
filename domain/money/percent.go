package money

import "fmt"

// BasisPoints is a rate in hundredths of a percent: 19 % is 1900.
type BasisPoints int64

// FullRate is 100 %.
const FullRate BasisPoints = 10_000

// Of is the part of a, rounded half away from zero. b must be in [0, FullRate].
func (b BasisPoints) Of(a Amount) Amount { return Portion(a, int64(b), int64(FullRate)) }

// Spread is the tax of one rate on several lines: Of their sum, and every
// line's own share rounded down or up so that the shares sum to it; largest
// remainder, ties by index. Amounts may be negative. Their sum must not
// overflow.
func (b BasisPoints) Spread(amounts []Amount) (total Amount, shares []Amount) {
	var sum, given Amount
	shares, rests := make([]Amount, len(amounts)), make([]uint64, len(amounts))
	for i, a := range amounts {
		sum += a
		q, rem := mulDivRem(int64(a), int64(b), int64(FullRate))
		shares[i], rests[i] = Amount(q), rem
		if a < 0 { // rounded down, as the others are
			shares[i] = -Amount(q)
			if rem > 0 {
				shares[i]--
				rests[i] = uint64(FullRate) - rem
			}
		}
		given += shares[i]
	}
	total = b.Of(sum)
	giveLargest(shares, rests, uint64(total-given))
	return total, shares
}

// String is the percentage as a plain decimal without the sign: "19", "8.1".
func (b BasisPoints) String() string { return formatDecimal(int64(b), 2, 0) }

// ParsePercent reads "19" or "8.1" as a rate from 0 to 100 % with at most two
// digits after the point. Errors are sentences for the person who typed it.
func ParsePercent(s string) (BasisPoints, error) {
	n, err := parseDecimal(s, 2, int64(FullRate))
	switch err {
	case nil:
		return BasisPoints(n), nil
	case errDigits:
		return 0, fmt.Errorf("a percentage has at most 2 digits after the point")
	case errLarge:
		return 0, fmt.Errorf("a percentage is at most 100")
	}
	return 0, fmt.Errorf("%w: write a percentage such as 19 or 8.1", err)
}
