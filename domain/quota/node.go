package quota

import (
	"math/bits"
	"sort"

	"gpupool/domain/pool"
)

// bigNode is the last bucket: nodes with more free GPUs than any real machine
// (the one-node classes of the public cases), searched one by one.
const bigNode = 17

type node struct {
	id          pool.NodeID
	class       int32
	site        int32
	contributor int32 // organisation account, -1 for the consortium's
	gpus        int   // healthy
	cap         int   // healthy less foreign
	held        int   // by what runs, victims included
	planned     int   // by what runs, victims gone and beneficiaries there
	slack       int   // GPUs beside the reservation; unlimited without one
	open        bool
	maintenance pool.Interval
	runs        []int32
}

// now is what can be taken at once without breaking a promise.
func (n *node) now() int {
	if !n.open {
		return 0
	}
	return max(0, n.cap-max(n.held, n.planned))
}

// later is what can be taken when the victims are gone.
func (n *node) later() int {
	if !n.open {
		return 0
	}
	return max(0, n.cap-n.planned)
}

// rack is the nodes of one class, bucketed by the GPUs free now.
type rack struct {
	lo, hi  int32 // range of the class in the list of nodes
	buckets [bigNode + 1][]uint64
	place   []int8 // bucket of each node
	free    int    // sum of now
	largest int    // GPUs of the biggest node, closed ones included
	sizes   []int  // GPUs of the nodes, ascending, closed ones included
}

// atLeast counts the nodes that have g GPUs.
func (r *rack) atLeast(g int) int { return len(r.sizes) - sort.SearchInts(r.sizes, g) }

func (r *rack) init(nodes []node) {
	n := int(r.hi - r.lo)
	r.place = make([]int8, n)
	words := (n + 63) / 64
	all := make([]uint64, words*len(r.buckets))
	for b := range r.buckets {
		r.buckets[b] = all[b*words : (b+1)*words]
	}
	for i := range n {
		v := nodes[int(r.lo)+i].now()
		b := min(v, bigNode)
		r.place[i] = int8(b)
		r.buckets[b][i/64] |= 1 << (i % 64)
		r.free += v
	}
}

// moved puts a node into its bucket after its counts changed.
func (r *rack) moved(i int32, before, after int) {
	r.free += after - before
	k := int(i - r.lo)
	b := int8(min(after, bigNode))
	if b == r.place[k] {
		return
	}
	r.buckets[r.place[k]][k/64] &^= 1 << (k % 64)
	r.buckets[b][k/64] |= 1 << (k % 64)
	r.place[k] = b
}

// bestFit finds n nodes with g GPUs free now, the fullest first, equal ones
// by id; nil when there are not enough that ok accepts.
func (e *engine) bestFit(c int32, n, g int, ok func(*node) bool, out []int32) []int32 {
	r := &e.racks[c]
	if r.free < n*g {
		return nil
	}
	out = out[:0]
	for b := min(g, bigNode); b < bigNode; b++ {
		for w, word := range r.buckets[b] {
			for ; word != 0; word &= word - 1 {
				i := r.lo + int32(w*64+bits.TrailingZeros64(word))
				if ok != nil && !ok(&e.nodes[i]) {
					continue
				}
				if out = append(out, i); len(out) == n {
					return out
				}
			}
		}
	}
	return e.bestOfBig(r, n, g, ok, out)
}

func (e *engine) bestOfBig(r *rack, n, g int, ok func(*node) bool, out []int32) []int32 {
	have := len(out)
	for w, word := range r.buckets[bigNode] {
		for ; word != 0; word &= word - 1 {
			i := r.lo + int32(w*64+bits.TrailingZeros64(word))
			if e.nodes[i].now() >= g && (ok == nil || ok(&e.nodes[i])) {
				out = append(out, i)
			}
		}
	}
	if len(out) < n {
		return nil
	}
	sortBy(out[have:], func(x, y int32) bool {
		return e.nodes[x].now() < e.nodes[y].now() || e.nodes[x].now() == e.nodes[y].now() && x < y
	})
	return out[:n]
}

// bestLater is bestFit on the GPUs that are free when the victims are gone.
func (e *engine) bestLater(c int32, n, g int, ok func(*node) bool) []int32 {
	r := &e.racks[c]
	var out []int32
	for i := r.lo; i < r.hi; i++ {
		if x := &e.nodes[i]; x.later() >= g && (ok == nil || ok(x)) {
			out = append(out, i)
		}
	}
	if len(out) < n {
		return nil
	}
	sortBy(out, func(x, y int32) bool {
		a, b := e.nodes[x].later(), e.nodes[y].later()
		return a < b || a == b && x < y
	})
	return out[:n]
}

// shift changes the counts of a node and keeps its bucket right.
func (e *engine) shift(i int32, held, planned int) {
	n := &e.nodes[i]
	before := n.now()
	n.held += held
	n.planned += planned
	if after := n.now(); after != before {
		e.racks[n.class].moved(i, before, after)
	}
}
