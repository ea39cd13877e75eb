package money

import "fmt"

// BasisPoints is a rate in hundredths of a percent: 19 % is 1900.
type BasisPoints int64

// FullRate is 100 %.
const FullRate BasisPoints = 10_000

// Of is the part of a, rounded half away from zero. b must be in [0, FullRate].
func (b BasisPoints) Of(a Amount) Amount { return Portion(a, int64(b), int64(FullRate)) }

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
