package money

import (
	"errors"
	"fmt"
	"strings"
)

// Currency is one of the allowed ISO 4217 currencies.
type Currency struct {
	Code     string
	Exponent int // digits after the decimal mark: 0, 2 or 3
}

// Currencies is the allow-list, in the order in which it is offered. A pool
// has one, fixed when its first invoice is issued.
var Currencies = []Currency{{"EUR", 2}, {"USD", 2}, {"GBP", 2}, {"CHF", 2}, {"CNY", 2}, {"JPY", 0}}

// CurrencyOf finds an allowed currency by its code; any other code is an error
// that names the list.
func CurrencyOf(code string) (Currency, error) {
	codes := make([]string, len(Currencies))
	for i, c := range Currencies {
		if c.Code == code {
			return c, nil
		}
		codes[i] = c.Code
	}
	return Currency{}, fmt.Errorf("currency %.10q is not one of %s", code, strings.Join(codes, ", "))
}

// Parse reads a plain decimal such as "12.50" with at most c.Exponent digits
// after the point. Errors are sentences for the person who typed it and name
// the limit: empty, negative, a unit or sign that does not belong there, too
// many digits, too large.
func (c Currency) Parse(s string) (Amount, error) {
	n, err := parseDecimal(s, c.Exponent, int64(MaxAmount))
	return Amount(n), c.explain(err, "an amount such as "+c.Format(1250), c.Exponent, c.Format(MaxAmount))
}

// ParsePrice reads a price per GPU-hour such as "1.80" or "0.067", with up to
// six digits more than the currency has. Errors as in Parse.
func (c Currency) ParsePrice(s string) (Price, error) {
	n, err := parseDecimal(s, c.Exponent+6, int64(MaxPrice))
	return Price(n), c.explain(err, "a price per GPU-hour such as "+c.FormatPrice(125*MicroPerMinor), c.Exponent+6, c.FormatPrice(MaxPrice))
}

// Format is the plain decimal that Parse reads, with exactly c.Exponent digits
// after the point and a leading minus when negative: "-1250.00".
func (c Currency) Format(a Amount) string { return formatDecimal(int64(a), c.Exponent, c.Exponent) }

// FormatPrice is the plain decimal that ParsePrice reads, with at least
// c.Exponent digits after the point and no more than it needs: "1.80", "0.067".
func (c Currency) FormatPrice(p Price) string {
	return formatDecimal(int64(p), c.Exponent+6, c.Exponent)
}

func (c Currency) explain(err error, want string, digits int, limit string) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, errDigits) && digits == 0:
		return fmt.Errorf("%s has no digits after the point", c.Code)
	case errors.Is(err, errDigits):
		return fmt.Errorf("at most %d digits after the point", digits)
	case errors.Is(err, errLarge):
		return fmt.Errorf("at most %s %s", limit, c.Code)
	}
	return fmt.Errorf("%w: write %s", err, want)
}
