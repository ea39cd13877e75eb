package quota

import (
	"slices"
	"sort"

	"gpupool/domain/pool"
)

// ranking is a list of runs in an order of their own. It is put right when
// somebody asks.
type ranking struct {
	before func(x, y int32) bool
	items  []int32
	fresh  []int32 // not in order yet
	gone   []int32 // to be taken out
}

// fewRanked runs are put in or taken out one by one.
const fewRanked = 16

// settle brings what was added to its place and takes out what went.
func (l *ranking) settle() []int32 {
	if n := len(l.gone); n > fewRanked {
		gone := make(map[int32]bool, n)
		for _, i := range l.gone {
			gone[i] = true
		}
		is := func(i int32) bool { return gone[i] }
		l.items, l.fresh = slices.DeleteFunc(l.items, is), slices.DeleteFunc(l.fresh, is)
	} else {
		for _, i := range l.gone {
			if k := l.place(i); k < len(l.items) && l.items[k] == i {
				l.items = slices.Delete(l.items, k, k+1)
			} else if k := slices.Index(l.fresh, i); k >= 0 {
				l.fresh = slices.Delete(l.fresh, k, k+1)
			} else if k := slices.Index(l.items, i); k >= 0 {
				l.items = slices.Delete(l.items, k, k+1)
			}
		}
	}
	l.gone = l.gone[:0]
	switch n := len(l.items); {
	case len(l.fresh) == 0:
	case len(l.fresh) <= fewRanked && n > 0:
		for _, i := range l.fresh {
			l.items = slices.Insert(l.items, l.place(i), i)
		}
	default:
		if sortBy(l.fresh, l.before); n == 0 || l.before(l.items[n-1], l.fresh[0]) {
			l.items = append(l.items, l.fresh...)
		} else {
			l.items = merged(l.items, l.fresh, l.before)
		}
	}
	l.fresh = l.fresh[:0]
	return l.items
}

// place is where a run belongs.
func (l *ranking) place(i int32) int {
	return sort.Search(len(l.items), func(k int) bool { return !l.before(l.items[k], i) })
}

// rank puts a holder among the ends of its class, if it has a declared one, and
// among what an owner can take back, if it may ever be stopped.
func (e *engine) rank(i int32) {
	r := &e.runs[i]
	if r.holds && r.end != pool.Never {
		e.endings[r.class].fresh = append(e.endings[r.class].fresh, i)
	}
	if !r.fixed && r.tier != pool.Guaranteed {
		e.backs[r.class].fresh = append(e.backs[r.class].fresh, i)
	}
}

func (e *engine) unrank(i int32) {
	r := &e.runs[i]
	if r.holds && r.end != pool.Never {
		e.endings[r.class].gone = append(e.endings[r.class].gone, i)
	}
	if !r.fixed && r.tier != pool.Guaranteed {
		e.backs[r.class].gone = append(e.backs[r.class].gone, i)
	}
}

// merged is two ordered lists as one.
func merged(a, b []int32, less func(x, y int32) bool) []int32 {
	out := slices.Grow(a, len(b))[:len(a)+len(b)]
	i, k := len(a)-1, len(b)-1
	for at := len(out) - 1; k >= 0; at-- {
		if i >= 0 && less(b[k], out[i]) {
			out[at], i = out[i], i-1
		} else {
			out[at], k = b[k], k-1
		}
	}
	return out
}

func (e *engine) endsBefore(x, y int32) bool {
	a, b := &e.runs[x], &e.runs[y]
	if a.end != b.end {
		return a.end < b.end
	}
	return attemptBefore(a.id, b.id)
}

// outline is what the future needs of a run, kept beside it in a flat list.
type outline struct {
	end, minRun pool.Instant
	org, units  int32
	account     int32
	node        int32 // -1 when there are several, or it isn't known
	spot, gone  bool
}

// future is what comes free in a class for a job, the soonest first: declared
// ends, and where it could take back: spot work, and loans inside its quota.
type future struct {
	e     *engine
	late  []int32 // ends that are past, by id: they come at any moment
	ends  []int32
	begun []int32       // those of what waits for its GPUs
	soon  pool.Instant  // when what isn't protected could be back
	ready []int32       // those, by id
	back  *heap[ending] // what is protected still
}

func (e *engine) ends(c int32, j *job, claims bool) *future {
	f := &future{e: e, ends: e.endings[c].settle(), soon: e.now.Add(e.policy.Notice)}
	for len(f.ends) > 0 && e.runs[f.ends[0]].end <= e.now {
		f.late, f.ends = append(f.late, f.ends[0]), f.ends[1:]
	}
	e.byID(f.late)
	for i := range e.promises {
		if o := &e.promises[i]; o.class == c && o.active && !o.over && e.runs[o.run].end != pool.Never {
			f.begun = append(f.begun, o.run)
		}
	}
	for i := range e.made {
		if r := &e.runs[e.made[i].run]; r.class == c && r.end != pool.Never {
			f.begun = append(f.begun, e.made[i].run)
		}
	}
	sortBy(f.begun, e.endsBefore)
	f.back = &heap[ending]{less: e.sooner}
	// What leaves its organisation with less than its quota isn't taken back, and
	// its use only falls on the way.
	over := make([]int32, len(e.orgs))
	for o := range over {
		if claims && int32(o) != j.org {
			over[o] = int32(min(e.org(c, int32(o)).over(), maxGPUs))
		}
	}
	f.ready = e.readyBuf[:0]
	for _, i := range e.backs[c].settle() {
		b := &e.outlines[i]
		if b.gone || !b.spot && (b.units > over[b.org] || over[b.org] == 0) {
			continue
		}
		switch at := max(e.now, b.minRun).Add(e.policy.Notice); {
		case at >= b.end:
		case b.minRun <= e.now:
			f.ready = append(f.ready, i)
		default:
			f.back.items = append(f.back.items, ending{at, i, true})
		}
	}
	e.readyBuf = f.ready
	f.back.init()
	return f
}

func (e *engine) sooner(x, y ending) bool {
	if x.at != y.at {
		return x.at < y.at
	}
	if x.run != y.run {
		return attemptBefore(e.runs[x.run].id, e.runs[y.run].id)
	}
	return x.back && !y.back
}

// peek is what comes free next, ready aside, and how to pass over it; false when
// nothing more does.
func (f *future) peek() (ending, func(), bool) {
	best, from := ending{}, (*[]int32)(nil)
	for _, list := range [3]*[]int32{&f.late, &f.ends, &f.begun} {
		for len(*list) > 0 && f.e.runs[(*list)[0]].gone {
			*list = (*list)[1:]
		}
		if len(*list) == 0 {
			continue
		}
		i := (*list)[0]
		if x := (ending{max(f.e.now, f.e.runs[i].end), i, false}); from == nil || f.e.sooner(x, best) {
			best, from = x, list
		}
	}
	if len(f.back.items) > 0 && (from == nil || f.e.sooner(f.back.items[0], best)) {
		return f.back.items[0], func() { f.back.pop() }, true
	}
	if from == nil {
		return ending{}, nil, false
	}
	return best, func() { *from = (*from)[1:] }, true
}
