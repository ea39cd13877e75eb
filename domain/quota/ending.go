package quota

import (
	"slices"

	"gpupool/domain/pool"
)

// endings is the holders of a class with a declared end, the soonest first. It
// is put in order when somebody asks.
type endings struct {
	items []int32 // by end, then id
	fresh []int32 // not in order yet
	stale int     // of items that are no holders any more
}

func (l *endings) add(e *engine, i int32) {
	if e.runs[i].end != pool.Never {
		l.fresh = append(l.fresh, i)
	}
}

// settle brings what was added to its place.
func (l *endings) settle(e *engine) []int32 {
	if l.stale > 0 {
		dead := func(i int32) bool { return e.runs[i].dead }
		l.items, l.fresh = slices.DeleteFunc(l.items, dead), slices.DeleteFunc(l.fresh, dead)
		l.stale = 0
	}
	if len(l.fresh) == 0 {
		return l.items
	}
	sortBy(l.fresh, e.endsBefore)
	if n := len(l.items); n == 0 || e.endsBefore(l.items[n-1], l.fresh[0]) {
		l.items = append(l.items, l.fresh...)
	} else {
		l.items = merged(l.items, l.fresh, e.endsBefore)
	}
	l.fresh = l.fresh[:0]
	return l.items
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

// future is what comes free in a class for a job, the soonest first: declared
// ends, and where it could take back: spot work, and loans inside its quota.
type future struct {
	e     *engine
	late  []int32 // ends that are past, by id: they come at any moment
	ends  []int32
	begun []int32 // those of what waits for its GPUs
	back  *heap[ending]
}

func (e *engine) ends(c int32, j *job, claims bool) *future {
	f := &future{e: e, ends: e.endings[c].settle(e)}
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
	add := func(i int32) {
		r := &e.runs[i]
		if at, ok := e.back(r); ok && !r.gone && at < r.end {
			f.back.items = append(f.back.items, ending{at, i, true})
		}
	}
	for _, i := range e.spots[c] {
		add(i)
	}
	for o := range e.orgs {
		if int32(o) == j.org || !claims {
			continue
		}
		// What leaves its organisation with less than its quota isn't taken
		// back, and its use only falls on the way.
		if over := e.org(c, int32(o)).over(); over > 0 {
			for _, i := range e.held[e.oc(c, int32(o))].runs {
				if e.runs[i].units <= over {
					add(i)
				}
			}
		}
	}
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

// next is what comes free next; false when nothing more does.
func (f *future) next() (ending, bool) {
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
		return f.back.pop(), true
	}
	if from == nil {
		return ending{}, false
	}
	*from = (*from)[1:]
	return best, true
}
