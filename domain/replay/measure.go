package replay

import (
	"cmp"
	"math/bits"
	"slices"

	"gpupool/domain/pool"
)

// ClassFigures are a run in one GPU class. GPU-hours of different classes are
// never added; the shares of Report are of devices.
type ClassFigures struct {
	Class       pool.ClassID
	GPUs        int
	Offered     pool.GPUMillis // capacity over the span
	Held        pool.GPUMillis // from placement to end
	Useful      pool.GPUMillis // of it work that was kept: no set-up, no idle job, nothing done again
	Coming      Window         // the same while jobs arrive
	Fragmented  pool.GPUMillis // free while jobs wait, and on nodes where none of them fits
	Withheld    pool.GPUMillis // free, and would fit what waits, but kept back by a rule
	Preemptions int
	Lost        pool.GPUMillis // work done again
	Jain        int64          // in ten-thousandths; 0 when no member wanted anything
	Received    []pool.GPUMillis
	Fair        []pool.GPUMillis // by member, as the pool file orders them
}

// Window is the time from the first to the last submission: after it a pool
// only runs empty.
type Window struct{ Offered, Held, Useful pool.GPUMillis }

// measure walks through a run and integrates what was free, held and wanted.
func measure(p Pool, res *Result) []ClassFigures {
	s := newScene(p, res)
	m := &measurer{scene: s, out: make([]ClassFigures, len(s.classes)), now: make([]classNow, len(s.classes))}
	for c := range s.classes {
		x := &s.classes[c]
		m.out[c] = ClassFigures{Class: x.id, GPUs: x.gpus, Offered: pool.GPUMillis(int64(x.gpus) * pool.Interval{Start: res.From, End: res.Until}.Millis()),
			Received: make([]pool.GPUMillis, len(p.Orgs)), Fair: make([]pool.GPUMillis, len(p.Orgs))}
		m.now[c] = classNow{at: res.From, fair: make([]int64, len(p.Orgs)), use: make([]int, len(p.Orgs))}
	}
	s.sweep(m.integrate, m.look)
	for c := range s.classes {
		m.integrate(c, res.Until)
		m.out[c].Jain = jain(m.out[c].Received, m.out[c].Fair)
	}
	m.attempts()
	return m.out
}

type measurer struct {
	*scene
	out []ClassFigures
	now []classNow
	buf []int
}

// classNow is what holds in a class since an instant.
type classNow struct {
	at                 pool.Instant
	usable, fragmented int
	fair               []int64 // thousandths of GPUs by member
	use                []int
}

func (m *measurer) integrate(c int, now pool.Instant) {
	x, f := &m.now[c], &m.out[c]
	dt := int64(now - x.at)
	if dt <= 0 {
		return
	}
	x.at = now
	f.Withheld += pool.GPUMillis(int64(x.usable) * dt)
	f.Fragmented += pool.GPUMillis(int64(x.fragmented) * dt)
	for o := range x.fair {
		hi, lo := bits.Mul64(uint64(x.fair[o]), uint64(dt))
		q, _ := bits.Div64(hi, lo, 1000) // a member's GPUs over a span are far below 2^63
		f.Fair[o] += pool.GPUMillis(q)
		f.Received[o] += pool.GPUMillis(int64(x.use[o]) * dt)
	}
}

func (m *measurer) look(pool.Instant) {
	for c := range m.classes {
		x := &m.classes[c]
		if !x.touched {
			continue
		}
		n := &m.now[c]
		n.usable, n.fragmented = x.usable()
		for o := range x.members {
			n.use[o] = x.members[o].use
		}
		m.buf = fairShares(x.gpus, x.members, n.fair, m.buf)
	}
}

// fairShares is how an ideal pool would share a class out at one moment, in
// thousandths of GPUs and without regard to nodes: each member first gets what
// it wants of its guarantee, then all that want more share the rest by weight
// up to what they want and may borrow; members of weight 0 come last.
func fairShares(gpus int, members []memberOfClass, out []int64, order []int) []int {
	left, asked := int64(gpus)*1000, int64(0)
	for o := range members {
		m := &members[o]
		out[o] = int64(min(m.guaranteed, m.use+m.wants)) * 1000
		asked += out[o]
	}
	if asked > left { // more is guaranteed than there is
		for o := range out {
			out[o] = out[o] / 1000 * left / (asked / 1000)
		}
		return order
	}
	left -= asked
	need := func(o int) int64 {
		m := &members[o]
		return max(0, int64(min(m.most, m.use+m.wants))*1000-out[o])
	}
	for _, last := range []bool{false, true} {
		order = order[:0]
		weights := int64(0)
		for o := range members {
			if need(o) > 0 && (members[o].weight == 0) == last {
				order = append(order, o)
				weights += weightOf(members[o])
			}
		}
		// Those that need the least for their weight are served first.
		slices.SortFunc(order, func(a, b int) int {
			return cmp.Or(cmp.Compare(need(a)*weightOf(members[b]), need(b)*weightOf(members[a])), a-b)
		})
		for _, o := range order {
			w := weightOf(members[o])
			give := min(need(o), left*w/weights)
			out[o] += give
			left -= give
			weights -= w
		}
	}
	return order
}

func weightOf(m memberOfClass) int64 { return int64(max(1, m.weight)) }

// jain is Jain's index, (sum x)² / (n · sum x²), of received/fair over the
// members that had a fair share, in ten-thousandths: 10000 when all got the
// same part of their fair share, 10000/n when one got everything.
func jain(received, fair []pool.GPUMillis) int64 {
	var n, sum, squares int64
	for o := range fair {
		if fair[o] <= 0 {
			continue
		}
		x := ratio(received[o], fair[o])
		n++
		sum += x
		squares += x * x
	}
	if squares == 0 {
		return 0
	}
	hi, lo := bits.Mul64(uint64(sum*sum), 10_000)
	q, _ := bits.Div64(hi, lo, uint64(n*squares)) // sum² <= n · squares
	return int64(q)
}

// ratio is a/b in ten-thousandths, at most 10.
func ratio(a, b pool.GPUMillis) int64 {
	if b <= 0 {
		return 0
	}
	hi, lo := bits.Mul64(uint64(max(0, a)), 10_000)
	if hi >= uint64(b) {
		return 100_000
	}
	q, _ := bits.Div64(hi, lo, uint64(b))
	return int64(min(q, 100_000))
}

// attempts adds up what each attempt held and what of it was of use.
func (m *measurer) attempts() {
	last := m.res.From
	for i := range m.res.Jobs {
		last = max(last, m.res.Jobs[i].Submit)
	}
	coming := pool.Interval{Start: m.res.From, End: min(last, m.res.Until)}
	for c := range m.out {
		m.out[c].Coming.Offered = pool.GPUMillis(int64(m.out[c].GPUs) * coming.Millis())
	}
	for i := range m.res.Jobs {
		j := &m.res.Jobs[i]
		for n := range j.Attempts {
			a := &j.Attempts[n]
			f := &m.out[m.classAt[a.Class]]
			held := pool.Interval{Start: a.Admitted, End: min(a.End, m.res.Until)}
			kept := pool.Interval{Start: a.Started, End: a.Started.Add(a.Kept)}
			if a.End == pool.Never {
				kept.End = m.res.Until
			}
			if j.Idle {
				kept.End = kept.Start
			}
			add := func(to *pool.GPUMillis, v pool.Interval) { *to += pool.GPUMillis(int64(j.Units()) * v.Millis()) }
			add(&f.Held, held)
			add(&f.Useful, kept)
			add(&f.Coming.Held, held.Intersect(coming))
			add(&f.Coming.Useful, kept.Intersect(coming))
			if a.Stopped {
				f.Preemptions++
				add(&f.Lost, pool.Interval{Start: a.Started.Add(a.Kept), End: a.End})
			}
		}
	}
}
