package quota

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
