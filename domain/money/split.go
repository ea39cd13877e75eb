package money

import (
	"fmt"
	"sort"

	"gpupool/domain/pool"
)

// Split divides total in proportion to the weights by largest remainder; ties
// go to the lower index, so order the weights by id. The parts sum exactly to
// total. Weights must not be negative (it panics); when all are zero they
// count as equal. No weights give no parts.
func Split[T ~int64](total T, weights []int64) []T {
	var sum int64
	for _, w := range weights {
		if w < 0 || sum+w < sum {
			panic(fmt.Sprintf("money: weight %d: weights are not negative and their sum fits in 64 bits", w))
		}
		sum += w
	}
	if len(weights) == 0 {
		return nil
	}
	if sum == 0 {
		weights, sum = equal(len(weights)), int64(len(weights))
	}
	parts, rests := make([]T, len(weights)), make([]uint64, len(weights))
	left := magnitude(int64(total))
	for i, w := range weights {
		q, rem := mulDivRem(int64(total), w, sum)
		parts[i], rests[i] = T(q), rem
		left -= q
	}
	giveLargest(parts, rests, left)
	if total < 0 {
		for i := range parts {
			parts[i] = -parts[i]
		}
	}
	return parts
}

// Spread charges quantities that share one price as one line: the total is
// Charge of their sum, and every part is its own exact charge rounded down or
// up so that the parts sum to the total; largest remainder, ties by index. No
// part exceeds ChargeUp of its quantity. Quantities must not be negative.
func Spread(quantities []pool.GPUMillis, p Price) (total Amount, parts []Amount) {
	mustPrice(p)
	var sum pool.GPUMillis
	parts, rests := make([]Amount, len(quantities)), make([]uint64, len(quantities))
	var given Amount
	for i, g := range quantities {
		if g < 0 || sum+g < sum {
			panic(fmt.Sprintf("money: quantity %d: quantities are not negative and their sum fits in 64 bits", g))
		}
		sum += g
		q, rem := mulDivRem(int64(g), int64(p), hourMicro)
		parts[i], rests[i] = Amount(q), rem
		given += Amount(q)
	}
	total = Charge(sum, p)
	giveLargest(parts, rests, uint64(total-given))
	return total, parts
}

// giveLargest adds one unit to the n parts with the largest rests.
func giveLargest[T ~int64](parts []T, rests []uint64, n uint64) {
	if n == 0 {
		return
	}
	order := make([]int, len(rests))
	for i := range order {
		order[i] = i
	}
	sort.SliceStable(order, func(a, b int) bool { return rests[order[a]] > rests[order[b]] })
	for _, i := range order[:n] {
		parts[i]++
	}
}

func equal(n int) []int64 {
	w := make([]int64, n)
	for i := range w {
		w[i] = 1
	}
	return w
}
