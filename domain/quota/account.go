package quota

// The accounts of one class form a tree: the consortium (account 0), the
// organisations, their projects. They lie flat, class by class.

// unlimited stands for "no borrow limit"; far above any count of GPUs and far
// below an overflow.
const unlimited = 1 << 40

// depth is how many accounts a job counts against: its project, its
// organisation, the consortium.
const depth = 3

type account struct {
	nominal, borrow, lend int
	subtree               int // nominal of it and of what its children show
	local                 int // the part of subtree that others never see
	use                   int // all use below it, spot excluded
	visible               int // use as the lend limits let it count
	guaranteed            int // guaranteed use below it
}

func (a *account) over() int { return max(0, a.use-a.subtree) }

// ledger is the quota state of all classes.
type ledger struct {
	width  int     // accounts per class
	parent []int32 // of each account; -1 for the consortium
	acc    []account
}

func newLedger(classes int, parent []int32) ledger {
	l := ledger{width: len(parent), parent: parent, acc: make([]account, classes*len(parent))}
	for i := range l.acc {
		l.acc[i].borrow, l.acc[i].lend = unlimited, unlimited
	}
	return l
}

func (l *ledger) at(c, a int32) *account { return &l.acc[int(c)*l.width+int(a)] }

// settle computes subtree and local from the leaves up. Parents have smaller
// numbers than their children.
func (l *ledger) settle(c int32) {
	for a := int32(l.width) - 1; a >= 0; a-- {
		x := l.at(c, a)
		x.subtree += x.nominal
		x.local = max(0, x.subtree-x.lend)
		if p := l.parent[a]; p >= 0 {
			l.at(c, p).subtree += x.subtree - x.local
		} else {
			x.local = 0
		}
	}
}

// charge adds k GPUs (negative: takes them away) to an account and all above.
func (l *ledger) charge(c, a int32, k int, guaranteed bool) {
	seen := k
	for ; a >= 0; a = l.parent[a] {
		x := l.at(c, a)
		x.use += k
		if guaranteed {
			x.guaranteed += k
		}
		before := max(0, x.visible-x.local)
		x.visible += seen
		seen = max(0, x.visible-x.local) - before
	}
}

// avail is what the account may still take, by quota alone. What it keeps back
// for itself is there however much others use above it.
func (l *ledger) avail(c, a int32) int {
	x := l.at(c, a)
	p := l.parent[a]
	if p < 0 {
		return x.subtree - x.visible
	}
	return max(0, x.local-x.visible) + max(0, min(l.avail(c, p), x.headroom()))
}

// allows says whether the limits of an account and of those above it let it
// take k more. An account above its limit hinders only what it would add to.
func (l *ledger) allows(c, a int32, k int) bool {
	for ; a >= 0 && k > 0; a = l.parent[a] {
		x := l.at(c, a)
		if x.visible+k > x.subtree+when(l.parent[a] >= 0, x.borrow) {
			return false
		}
		k = max(0, x.visible+k-x.local) - max(0, x.visible-x.local)
	}
	return true
}

// headroom is what the account may take from above: what it lent out and is
// its own, and what it may borrow.
func (a *account) headroom() int {
	return a.subtree - a.local - max(0, a.visible-a.local) + a.borrow
}

// room is avail when the whole pool were idle but for the account and those
// above it: what the limits of the account's own branch leave.
func (l *ledger) room(c, a int32) int {
	left := unlimited
	for ; l.parent[a] >= 0; a = l.parent[a] {
		x := l.at(c, a)
		left = min(left, max(0, x.local-x.visible)+x.headroom())
	}
	return left
}

// raise gives an organisation k GPUs more of nominal, from the consortium's own
// pool as far as that has them. It returns what undoes it.
func (l *ledger) raise(c, a int32, k int) (undo func()) {
	x, root := l.at(c, a), l.at(c, 0)
	was, top := *x, *root
	x.subtree += k
	x.local = max(0, x.subtree-x.lend)
	root.subtree += x.subtree - x.local - was.subtree + was.local - min(k, root.nominal)
	root.visible += max(0, x.visible-x.local) - max(0, was.visible-was.local)
	return func() { *x, *root = was, top }
}

// strained says whether an account or one above it uses more than it may.
func (l *ledger) strained(c, a int32) bool {
	for ; l.parent[a] >= 0; a = l.parent[a] {
		if l.at(c, a).headroom() < 0 {
			return true
		}
	}
	root := l.at(c, a)
	return root.visible > root.subtree
}

// roomBesideGuaranteed bounds room when all burst work below those accounts
// were gone.
func (l *ledger) roomBesideGuaranteed(c, a int32) int {
	left := unlimited
	for ; l.parent[a] >= 0; a = l.parent[a] {
		x := l.at(c, a)
		left = min(left, x.subtree-x.guaranteed+x.borrow)
	}
	return left
}

// potential is avail with nothing in use: a request above it can never fit.
func (l *ledger) potential(c, a int32, whole int) int {
	p := l.parent[a]
	if p < 0 {
		return whole
	}
	x := l.at(c, a)
	return x.local + min(l.potential(c, p, whole), x.subtree-x.local+x.borrow)
}
