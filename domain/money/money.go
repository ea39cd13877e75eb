// Package money has amounts in integer minor units, unit prices as exact
// integers, and the one place where money is rounded.
package money

import (
	"errors"
	"fmt"
	"math"
)

// Amount is money in minor units of the pool's one currency (cents).
type Amount int64

// Price is a unit price in micro-minor-units per GPU-hour: 1.80 EUR per
// GPU-hour is 180 cents, so 180_000_000.
type Price int64

// MicroPerMinor is how many units of a Price make one minor unit.
const MicroPerMinor = 1_000_000

// MaxPrice is the dearest price there is, 36 000.00 EUR per GPU-hour. Up to
// it Charge can't overflow, whatever the quantity.
const MaxPrice Price = 3_600_000 * MicroPerMinor

// MaxAmount is the largest amount that a person may type, 10 000 000 000.00 EUR.
// Sums may grow beyond it and are checked by Add.
const MaxAmount Amount = 1_000_000_000_000

// ErrOverflow says that a sum of money does not fit in 64 bits.
var ErrOverflow = errors.New("the sum of money is too large")

// Add is a+b, or ErrOverflow.
func (a Amount) Add(b Amount) (Amount, error) {
	if b > 0 && a > math.MaxInt64-b || b < 0 && a < math.MinInt64-b {
		return 0, fmt.Errorf("%d + %d: %w", a, b, ErrOverflow)
	}
	return a + b, nil
}

// Sub is a-b, or ErrOverflow.
func (a Amount) Sub(b Amount) (Amount, error) {
	if b < 0 && a > math.MaxInt64+b || b > 0 && a < math.MinInt64+b {
		return 0, fmt.Errorf("%d - %d: %w", a, b, ErrOverflow)
	}
	return a - b, nil
}

// Sum adds the amounts in order, or ErrOverflow.
func Sum(amounts ...Amount) (Amount, error) {
	var total Amount
	for _, a := range amounts {
		var err error
		if total, err = total.Add(a); err != nil {
			return 0, err
		}
	}
	return total, nil
}

// CheckPrice tells in a sentence why p can't stand in a price list.
func CheckPrice(p Price) error {
	if p < 0 {
		return errors.New("a price can't be negative")
	}
	if p > MaxPrice {
		return fmt.Errorf("a price is at most %d minor units per GPU-hour", MaxPrice/MicroPerMinor)
	}
	return nil
}
