package quota

import "slices"

// lender is an organisation that owes GPUs, with its next victim.
type lender struct {
	org    int32
	at     int // index in its holding
	victim int32
	over   share
}

// lenders are the organisations of a class that use more than their quota and
// have something that may be stopped, the richest by weight first. What changed
// is looked at when somebody asks.
type lenders struct {
	heap    heap[lender]
	at      []int32 // where an organisation lies in the heap, -1 = not
	changed []int32
	marked  []bool // it is among changed
}

// owes notes that what an organisation has on loan in a class may have changed.
func (e *engine) owes(c, o int32) {
	l := &e.lenders[c]
	if len(l.marked) == 0 {
		l.marked, l.at = make([]bool, len(e.orgs)), make([]int32, len(e.orgs))
		for i := range l.at {
			l.at[i] = -1
		}
	}
	if !l.marked[o] {
		l.marked[o] = true
		l.changed = append(l.changed, o)
	}
}

// lendsBefore is the order in which organisations give loans back.
func (e *engine) lendsBefore(x, y lender) bool {
	if s := x.over.compare(y.over); s != 0 {
		return s > 0
	}
	return e.milder(x.victim, y.victim)
}

// lendersOf brings the lenders of a class up to date.
func (e *engine) lendersOf(c int32) *heap[lender] {
	l := &e.lenders[c]
	for _, o := range l.changed {
		l.marked[o] = false
		x := lender{org: o, over: e.over(c, o)}
		owes := x.over.num > 0
		if owes {
			h := e.cover(c, o)
			e.trim(h)
			x.at = h.tail
			owes = e.nextLoan(c, &x, nil)
		}
		at := int(l.at[o])
		switch {
		case owes && at >= 0:
			l.heap.items[at] = x
			l.heap.fix(at)
		case owes:
			l.heap.items = append(l.heap.items, x)
			l.heap.moved(x, len(l.heap.items)-1)
			l.heap.up(len(l.heap.items) - 1)
		case at >= 0:
			l.heap.remove(at)
		}
		if !owes {
			l.at[o] = -1
		}
	}
	l.changed = l.changed[:0]
	return &l.heap
}

// tryLoans finds what takeLoans takes, of which most is given back again, on
// the accounts and on counts beside the nodes; only what is left is taken. done
// is false where that can't be known so: the caller takes one by one.
func (k *claim) tryLoans(h *heap[lender]) (done, fits bool) {
	e := k.e
	if len(e.freed) < len(e.nodes) {
		e.freed = make([]int32, len(e.nodes))
	}
	e.tried = e.tried[:0]
	short := k.short
	// turn takes a run away in thought, or puts it back.
	turn := func(i int32, sign int32) {
		o := &e.outlines[i]
		e.ledger.charge(k.c, o.account, -int(sign*o.units), false)
		if o.node >= 0 {
			short -= k.gain(o.node, sign*o.units)
			return
		}
		for _, x := range e.runs[i].nodes {
			if x.node >= 0 {
				short -= k.gain(x.node, sign*int32(x.gpus))
			}
		}
	}
	room := func() bool { return short <= 0 && k.allowed() }
	known := true
	for known && !fits && len(h.items) > 0 {
		x := h.items[0]
		gangs := e.outlines[x.victim].node < 0
		if known = !e.orgs[x.org].split && !(e.reserved[k.c].set && (gangs || e.nodes[e.outlines[x.victim].node].slack < unlimited)); !known {
			break
		}
		e.owes(k.c, x.org)
		e.tried = append(e.tried, x.victim)
		if turn(x.victim, 1); room() {
			fits = true
			break
		}
		if x.over = e.over(k.c, x.org); k.next(&x, nil) {
			h.set(0, x)
			h.down(0)
			continue
		}
		h.pop()
		e.lenders[k.c].at[x.org] = -1
	}
	needed := e.tried
	if fits {
		needed = e.tried[:0:0]
		for i := len(e.tried) - 1; i >= 0; i-- {
			if turn(e.tried[i], -1); !room() {
				turn(e.tried[i], 1)
				needed = append(needed, e.tried[i])
			}
		}
		slices.Reverse(needed)
		for _, i := range needed {
			turn(i, -1)
		}
	} else {
		for _, i := range e.tried {
			turn(i, -1)
		}
	}
	if !known {
		return false, false
	}
	for _, i := range needed {
		k.take(i)
	}
	return true, fits
}

// gain counts GPUs of a node as free, or no longer, beside what the node knows,
// and tells by how much the number of nodes with room rises.
func (k *claim) gain(node, gpus int32) int {
	n, f := &k.e.nodes[node], &k.e.freed[node]
	had := n.cap-n.planned+int(*f) >= k.j.g
	*f += gpus
	has := n.cap-n.planned+int(*f) >= k.j.g
	if had == has || !k.suits(n) {
		return 0
	}
	return when(has, 2) - 1
}
