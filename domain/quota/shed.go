package quota

import "gpupool/domain/pool"

// Shed is the rule for work on a node that has fewer GPUs than run there:
// devices failed, or allocations that are not ours took them.
const Shed StopRule = "shed"

// shed takes work from nodes that have fewer GPUs than run there. It looks at
// nodes, not at the class: only what stops there helps there. What ran on a
// node that is down has ended by the node's fault, which the cluster tells;
// until then it keeps its quota, so that it finds its place again.
func (e *engine) shed() []stopped {
	var out []stopped
	for i := range e.nodes {
		n := &e.nodes[i]
		if n.down || n.planned <= n.cap {
			continue
		}
		why := pool.Reason{Code: pool.ClassFull, Class: e.classes[n.class].ID, Need: int64(n.planned), Limit: int64(n.cap), Ref: string(n.id)}
		for n.planned > n.cap {
			v, ok := e.firstToShed(n)
			if !ok {
				break
			}
			e.release(v)
			out = append(out, stopped{v, Stop{Rule: Shed, Reason: why}})
		}
	}
	return out
}

// firstToShed is whose GPUs on a node go first.
func (e *engine) firstToShed(n *node) (int32, bool) {
	best, found := int32(0), false
	for _, i := range n.runs {
		r := &e.runs[i]
		if r.gone || r.dead || !r.running || !r.holds {
			continue
		}
		if r.tier != pool.Spot {
			e.cover(r.class, r.org)
		}
		if !found || e.shedsBefore(i, best) {
			best, found = i, true
		}
	}
	return best, found
}

// shedsBefore is the reverse of the order that admits: whose device is broken,
// then spot work, loans (the richest borrower first), covered burst work, and
// guaranteed work last, of who uses most of its quota.
func (e *engine) shedsBefore(x, y int32) bool {
	a, b := &e.runs[x], &e.runs[y]
	if a.broken != b.broken {
		return a.broken
	}
	if p, q := shedRank(a), shedRank(b); p != q {
		return p < q
	}
	switch {
	case a.tier == pool.Spot:
		return e.milder(x, y)
	case a.org == b.org:
		return e.coversBefore(y, x)
	}
	p, q := e.used(a.class, a.org+1), e.used(b.class, b.org+1)
	if a.tier == pool.Burst && a.loan > 0 {
		p, q = e.over(a.class, a.org), e.over(b.class, b.org)
	}
	if c := p.compare(q); c != 0 {
		return c > 0
	}
	return e.milder(x, y)
}

func shedRank(r *run) int {
	switch {
	case r.tier == pool.Spot:
		return 0
	case r.tier == pool.Burst && r.loan > 0:
		return 1
	case r.tier == pool.Burst:
		return 2
	}
	return 3
}
