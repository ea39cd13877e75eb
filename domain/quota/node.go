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
	spot        int   // of that, by spot work
	slack       int   // GPUs beside the reservation; unlimited without one
	open        bool
	down        bool
	ready       bool // takes work outside of its maintenance
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

// shelf is the nodes of one class, bucketed by a number of free GPUs.
type shelf struct {
	buckets [bigNode + 1][]uint64
	place   []int8 // bucket of each node
	count   [bigNode + 1]int
	free    int // the sum
}

// rack is the nodes of one class, by what is free now and by what is free when
// the victims are gone.
type rack struct {
	lo, hi  int32 // range of the class in the list of nodes
	ready   bool  // the shelves are filled
	at      shelf // free now
	then    shelf // free later
	largest int   // GPUs of the biggest node, closed ones included
	gpus    int   // of all its nodes, closed ones included
	sizes   []int // GPUs of the nodes, ascending, closed ones included
}

// atLeast counts the nodes that have g GPUs.
func (r *rack) atLeast(g int) int { return len(r.sizes) - sort.SearchInts(r.sizes, g) }

func (r *rack) init(nodes []node) {
	r.at.init(nodes[r.lo:r.hi], (*node).now)
	r.then.init(nodes[r.lo:r.hi], (*node).later)
	r.ready = true
}

func (s *shelf) init(nodes []node, free func(*node) int) {
	s.place = make([]int8, len(nodes))
	words := (len(nodes) + 63) / 64
	all := make([]uint64, words*len(s.buckets))
	for b := range s.buckets {
		s.buckets[b] = all[b*words : (b+1)*words]
	}
	for i := range nodes {
		v := free(&nodes[i])
		b := min(v, bigNode)
		s.place[i] = int8(b)
		s.buckets[b][i/64] |= 1 << (i % 64)
		s.count[b]++
		s.free += v
	}
}

// may says whether there could be nodes for a job.
func (s *shelf) may(j *stand) bool {
	if s.free < int(j.units) {
		return false
	}
	left := int(j.n)
	for b := min(int(j.g), bigNode); b <= bigNode && left > 0; b++ {
		left -= s.count[b]
	}
	return left <= 0
}

// moved puts the node at k into its bucket after its count changed.
func (s *shelf) moved(k, before, after int) {
	s.free += after - before
	b := int8(min(after, bigNode))
	was := s.place[k]
	if b == was {
		return
	}
	s.buckets[was][k/64] &^= 1 << (k % 64)
	s.buckets[b][k/64] |= 1 << (k % 64)
	s.count[was]--
	s.count[b]++
	s.place[k] = b
}

// bestFit finds n nodes with g GPUs free now, the fullest first, equal ones
// by id; nil when there are not enough that ok accepts.
func (e *engine) bestFit(c int32, n, g int, ok func(*node) bool, out []int32) []int32 {
	return e.best(&e.racks[c].at, (*node).now, c, n, g, ok, out)
}

// bestLater is bestFit on the GPUs that are free when the victims are gone.
func (e *engine) bestLater(c int32, n, g int, ok func(*node) bool) []int32 {
	return e.best(&e.racks[c].then, (*node).later, c, n, g, ok, nil)
}

func (e *engine) best(s *shelf, free func(*node) int, c int32, n, g int, ok func(*node) bool, out []int32) []int32 {
	if s.free < n*g {
		return nil
	}
	lo := e.racks[c].lo
	out = out[:0]
	for b := min(g, bigNode); b < bigNode; b++ {
		if s.count[b] == 0 {
			continue
		}
		for w, word := range s.buckets[b] {
			for ; word != 0; word &= word - 1 {
				i := lo + int32(w*64+bits.TrailingZeros64(word))
				e.work.nodes++
				if ok != nil && !ok(&e.nodes[i]) {
					continue
				}
				if out = append(out, i); len(out) == n {
					return out
				}
			}
		}
	}
	have := len(out)
	if have+s.count[bigNode] < n {
		return nil
	}
	for w, word := range s.buckets[bigNode] {
		for ; word != 0; word &= word - 1 {
			i := lo + int32(w*64+bits.TrailingZeros64(word))
			e.work.nodes++
			if free(&e.nodes[i]) >= g && (ok == nil || ok(&e.nodes[i])) {
				out = append(out, i)
			}
		}
	}
	if len(out) < n {
		return nil
	}
	sortBy(out[have:], func(x, y int32) bool {
		a, b := free(&e.nodes[x]), free(&e.nodes[y])
		return a < b || a == b && x < y
	})
	return out[:n]
}

// fitting counts the nodes with g GPUs free when the victims are gone.
func (e *engine) fitting(c int32, g int, ok func(*node) bool) int {
	s, lo, fits := &e.racks[c].then, e.racks[c].lo, 0
	for b := min(g, bigNode); b <= bigNode; b++ {
		if s.count[b] == 0 || ok == nil && b < bigNode {
			fits += s.count[b]
			continue
		}
		for w, word := range s.buckets[b] {
			for ; word != 0; word &= word - 1 {
				n := &e.nodes[lo+int32(w*64+bits.TrailingZeros64(word))]
				e.work.nodes++
				if n.later() >= g && (ok == nil || ok(n)) {
					fits++
				}
			}
		}
	}
	return fits
}

// shift changes the counts of a node and keeps its buckets right.
func (e *engine) shift(i int32, held, planned int) {
	n := &e.nodes[i]
	now, later := n.now(), n.later()
	n.held += held
	n.planned += planned
	e.versions[n.class]++
	r := &e.racks[n.class]
	if x := n.now(); x != now {
		r.at.moved(int(i-r.lo), now, x)
	}
	if x := n.later(); x != later {
		r.then.moved(int(i-r.lo), later, x)
	}
}
