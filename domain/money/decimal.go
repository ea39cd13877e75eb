package money

import (
	"errors"
	"math"
	"strconv"
	"strings"
)

var (
	errEmpty    = errors.New("is empty")
	errNegative = errors.New("can't be negative")
	errDecimal  = errors.New("is not a plain decimal number")
	errDigits   = errors.New("has too many digits after the point")
	errLarge    = errors.New("is too large")
)

// parseDecimal reads digits[.digits] scaled by 10^digits, in [0, limit].
// Grouping, exponents, signs, units and digits of other scripts are refused:
// what a person meant by them is a guess, and this is money.
func parseDecimal(s string, digits int, limit int64) (int64, error) {
	s = strings.TrimSpace(s)
	if s == "" {
		return 0, errEmpty
	}
	if s[0] == '-' {
		return 0, errNegative
	}
	whole, frac, point := strings.Cut(s, ".")
	if whole == "" || point && frac == "" || !onlyDigits(whole) || !onlyDigits(frac) {
		return 0, errDecimal
	}
	if len(frac) > digits {
		if strings.Trim(frac[digits:], "0") != "" {
			return 0, errDigits
		}
		frac = frac[:digits]
	}
	var n int64
	for _, d := range whole + frac + strings.Repeat("0", digits-len(frac)) {
		v := int64(d - '0')
		if n > (math.MaxInt64-v)/10 {
			return 0, errLarge
		}
		n = n*10 + v
	}
	if n > limit {
		return 0, errLarge
	}
	return n, nil
}

func onlyDigits(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r < '0' || r > '9' }) < 0
}

// formatDecimal prints n/10^scale with at least least digits after the point
// and no trailing zeros beyond them.
func formatDecimal(n int64, scale, least int) string {
	s := strconv.FormatUint(magnitude(n), 10)
	if len(s) <= scale {
		s = strings.Repeat("0", scale+1-len(s)) + s
	}
	whole, frac := s[:len(s)-scale], s[len(s)-scale:]
	for len(frac) > least && frac[len(frac)-1] == '0' {
		frac = frac[:len(frac)-1]
	}
	if frac != "" {
		whole += "." + frac
	}
	if n < 0 {
		return "-" + whole
	}
	return whole
}
