package quota

import (
	"math/bits"
	"slices"
)

// sortBy sorts by a strict order; what is in order already costs one pass.
func sortBy[T any](s []T, less func(x, y T) bool) {
	for i := 1; ; i++ {
		if i >= len(s) {
			return
		}
		if less(s[i], s[i-1]) {
			break
		}
	}
	slices.SortFunc(s, func(x, y T) int {
		if less(x, y) {
			return -1
		}
		if less(y, x) {
			return 1
		}
		return 0
	})
}

// share is a fraction that is compared exactly: num/den, with den 0 above
// everything.
type share struct{ num, den int64 }

func (s share) compare(o share) int {
	if s.den <= 0 || o.den <= 0 {
		switch {
		case s.den > 0:
			return -1
		case o.den > 0:
			return 1
		}
		return compare(s.num, o.num)
	}
	ah, al := bits.Mul64(uint64(max(0, s.num)), uint64(o.den))
	bh, bl := bits.Mul64(uint64(max(0, o.num)), uint64(s.den))
	if ah != bh {
		return compare(ah, bh)
	}
	return compare(al, bl)
}

func compare[T int | int64 | uint64 | int32](a, b T) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// heap is a binary heap; less is a strict order.
type heap[T any] struct {
	items []T
	less  func(x, y T) bool
	moved func(x T, at int) // told where an item lies; may be nil
}

func (h *heap[T]) init() {
	for i := len(h.items)/2 - 1; i >= 0; i-- {
		h.down(i)
	}
	if h.moved != nil {
		for i, x := range h.items {
			h.moved(x, i)
		}
	}
}

func (h *heap[T]) pop() T {
	x := h.items[0]
	last := len(h.items) - 1
	h.set(0, h.items[last])
	h.items = h.items[:last]
	if last > 0 {
		h.down(0)
	}
	return x
}

// remove takes out the item at i.
func (h *heap[T]) remove(i int) {
	last := len(h.items) - 1
	h.set(i, h.items[last])
	if h.items = h.items[:last]; i < last {
		h.fix(i)
	}
}

// fix restores the order after the item at i changed.
func (h *heap[T]) fix(i int) {
	h.up(i)
	h.down(i)
}

func (h *heap[T]) set(i int, x T) {
	h.items[i] = x
	if h.moved != nil {
		h.moved(x, i)
	}
}

func (h *heap[T]) up(i int) {
	for i > 0 {
		p := (i - 1) / 2
		if !h.less(h.items[i], h.items[p]) {
			return
		}
		a, b := h.items[i], h.items[p]
		h.set(i, b)
		h.set(p, a)
		i = p
	}
}

func (h *heap[T]) down(i int) {
	for {
		m := i
		for _, k := range [2]int{2*i + 1, 2*i + 2} {
			if k < len(h.items) && h.less(h.items[k], h.items[m]) {
				m = k
			}
		}
		if m == i {
			return
		}
		a, b := h.items[i], h.items[m]
		h.set(i, b)
		h.set(m, a)
		i = m
	}
}
