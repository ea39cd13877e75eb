package quota

import (
	"slices"
	"time"
)

// load is work of others: GPUs on nodes for at most so many seconds, from now
// on if it runs, else from whenever it starts.
type load struct {
	gpus, nodes int
	seconds     int64 // noEnd: no end is declared
	runs        bool
}

// need is what the others hold at least while a job doesn't fit: so many GPUs
// on so many nodes where the hardware has no room, or so many GPUs where quota
// has none.
type need struct{ gpus, nodes, quota int }

// orLess is what is held at least while one or the other doesn't fit.
func (n need) orLess(m need) need {
	return need{min(n.gpus, m.gpus), min(n.nodes, m.nodes), min(n.quota, m.quota)}
}

// heldBy is for how many seconds the loads can hold that without a break, at
// most; noEnd when that can't be told. It counts GPUs, then GPUs and nodes
// together, and believes the shorter time: both are right.
func (n need) heldBy(loads []load) int64 {
	if min(n.gpus, n.nodes, n.quota) <= 0 {
		return noEnd
	}
	least := int64(min(n.gpus, n.quota))
	t := held(loads, least, func(l load) int64 { return int64(l.gpus) })
	both := int64(n.nodes) * int64(n.quota)
	t = min(t, held(loads, both, func(l load) int64 { return max(int64(l.gpus)*int64(n.nodes), int64(l.nodes)*int64(n.quota)) }))
	return t
}

// held is the longest time over which loads of some weight can come to at least
// so much at every moment. What runs can only hold from now on; what waits can
// be put anywhere. That takes, for a time T and each s before it, that the loads
// which can be had in [s, T] are enough for it; and if it is possible for T, then
// for all times before.
func held(loads []load, least int64, weight func(load) int64) int64 {
	var runs, waits []weighed
	for _, l := range loads {
		if x := (weighed{min(l.seconds, tooFar), weight(l)}); l.runs {
			runs = append(runs, x)
		} else {
			waits = append(waits, x)
		}
	}
	by := func(x, y weighed) int { return compare(x.seconds, y.seconds) }
	slices.SortFunc(runs, by)
	slices.SortFunc(waits, by)
	if enough(runs, waits, least, tooFar-1) {
		return noEnd
	}
	lo, hi := int64(0), int64(tooFar-1) // enough for lo, not for hi
	for hi-lo > 1 {
		if mid := (lo + hi) / 2; enough(runs, waits, least, mid) {
			lo = mid
		} else {
			hi = mid
		}
	}
	return hi
}

const tooFar = int64(2 * horizon / time.Second)

type weighed struct{ seconds, weight int64 }

// enough goes from T back to now and keeps what can be had beyond what is
// needed.
func enough(runs, waits []weighed, least, t int64) bool {
	rate := -least
	i := len(runs) - 1
	for ; i >= 0 && runs[i].seconds >= t; i-- {
		rate = add(rate, runs[i].weight)
	}
	// Beside what runs to the end nobody adds more than what is missing then.
	most := -rate
	if most <= 0 {
		most = least
	}
	for _, w := range waits {
		rate = add(rate, min(w.weight, most))
	}
	spare, at, k := int64(0), t, 0
	for at > 0 {
		next := int64(0)
		if i >= 0 {
			next = runs[i].seconds
		}
		if k < len(waits) {
			next = max(next, t-waits[k].seconds)
		}
		if rate < 0 && spare/-rate < at-next {
			return false
		}
		if spare, at = add(spare, product(rate, at-next)), next; spare >= noEnd/4 {
			return true // beyond what can be counted
		}
		for ; i >= 0 && runs[i].seconds == at; i-- {
			rate = add(rate, runs[i].weight)
		}
		for ; k < len(waits) && t-waits[k].seconds == at; k++ {
			rate = add(rate, -min(waits[k].weight, most))
		}
	}
	return true
}

// product saturates.
func product(a, b int64) int64 {
	if a == 0 || b == 0 {
		return 0
	}
	if p := a * b; p/b == a {
		return p
	}
	if (a < 0) != (b < 0) {
		return -noEnd / 4
	}
	return noEnd / 4
}
