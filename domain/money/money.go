// Package money has amounts in integer minor units, unit prices as exact
// integers, and the one place where money is rounded.
package money

// Amount is money in minor units of the pool's one currency (cents).
type Amount int64

// Price is a unit price in micro-minor-units per GPU-hour: 1.80 EUR per
// GPU-hour is 180 cents, so 180_000_000.
type Price int64

// Currency is one of the allowed ISO 4217 currencies.
type Currency struct {
	Code     string
	Exponent int // digits after the decimal mark: 0, 2 or 3
}
