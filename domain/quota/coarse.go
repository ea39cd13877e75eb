package quota

import "gpupool/domain/pool"

// A pool with many thousands of jobs can't be played by decisions in time. It is
// played coarsely: a class is so many GPUs, nodes and reclaim left out; whenever
// some are free the next job starts, of the organisation that uses least of its
// quota, or beyond it has least on loan by weight. What that is wrong by is in
// what is learnt from told starts.

const (
	large    = 6_000 // attempts, jobs and nodes from which on a pool is played coarsely
	huge     = 40_000
	fewPlays = 3 // of a huge one
)

// coarsely plays each class of a state that waits, as play does.
func coarsely(e *engine, h *Habits) map[pool.JobID]Plays {
	rounds := plays
	if len(e.runs)+len(e.jobs) > huge {
		rounds = fewPlays
	}
	all := make([][plays]pool.Instant, len(e.jobs))
	for c := range e.classes {
		for k := range rounds {
			q := newCoarse(e, h, int32(c), k*plays/rounds)
			q.play(func(i int32, t pool.Instant) {
				for n := k * plays / rounds; n < (k+1)*plays/rounds; n++ {
					all[i][n] = t
				}
			})
		}
	}
	out := make(map[pool.JobID]Plays, len(e.jobs))
	for i := range e.jobs {
		if !e.jobs[i].dead {
			out[e.id(&e.jobs[i])] = soonestFirst(all[i])
		}
	}
	return out
}

// coarse is one play of one class.
type coarse struct {
	e     *engine
	h     *Habits
	c     int32
	round int
	free  int
	use   []int     // of an organisation
	lines [][]int32 // its jobs that wait, in order
	turns heap[int32]
	at    []int // of an organisation in turns; -1 = not there
	ends  heap[coarseEnd]
}

type coarseEnd struct {
	at         pool.Instant
	n          int32 // for a strict order
	org, units int32
}

func newCoarse(e *engine, h *Habits, c int32, k int) *coarse {
	q := &coarse{e: e, h: h, c: c, round: k, free: e.whole[c], use: make([]int, len(e.orgs)), lines: make([][]int32, len(e.orgs)), at: make([]int, len(e.orgs))}
	q.ends.items = make([]coarseEnd, 0, len(e.runs)+len(e.runs)/2)
	q.ends.less = func(x, y coarseEnd) bool { return x.at < y.at || x.at == y.at && x.n < y.n }
	q.turns.less = q.before
	q.turns.moved = func(o int32, at int) { q.at[o] = at }
	for i := range e.runs {
		r := &e.runs[i]
		if r.class != c || r.dead || !r.holds {
			continue
		}
		q.free -= r.units
		if r.org >= 0 {
			q.use[r.org] += r.units
		}
		q.ends.items = append(q.ends.items, coarseEnd{q.end(r.id.Job, r.org, r.started, r.end, e.now), int32(len(q.ends.items)), r.org, int32(r.units)})
	}
	q.ends.init()
	for o := range e.orgs {
		q.at[o] = -1
		for _, i := range e.inOrder(int32(o)*int32(len(e.classes)+1) + c + 1) {
			if j := &e.jobs[i]; !j.dead && !j.done && e.competes(j) {
				q.lines[o] = append(q.lines[o], i)
			}
		}
		if len(q.lines[o]) > 0 {
			q.turns.items = append(q.turns.items, int32(o))
		}
	}
	q.turns.init()
	return q
}

// end draws when work ends.
func (q *coarse) end(id pool.JobID, o int32, started, most, now pool.Instant) pool.Instant {
	a := Attempt{ID: pool.AttemptID{Job: id}, Class: q.e.classes[q.c].ID, Started: started, MaxEnd: most}
	if o >= 0 {
		a.Org = q.e.orgs[o].id
	}
	return q.h.end(&a, now, chance(id, q.round))
}

// before says whether an organisation is asked before another one.
func (q *coarse) before(x, y int32) bool {
	a, inside := q.key(x)
	b, too := q.key(y)
	if inside != too {
		return inside
	}
	if c := a.compare(b); c != 0 {
		return c < 0
	}
	i, k := &q.e.jobs[q.lines[x][0]], &q.e.jobs[q.lines[y][0]]
	return i.submitted < k.submitted || i.submitted == k.submitted && x < y
}

// key is what an organisation uses of its quota with its next job, or when that
// is beyond it, what is on loan by weight.
func (q *coarse) key(o int32) (key share, inside bool) {
	with := int64(q.use[o] + q.e.jobs[q.lines[o][0]].units)
	quota := int64(q.e.org(q.c, o).subtree)
	if with <= quota {
		return share{with, quota}, true
	}
	return share{with - quota, q.e.weights[q.e.oc(q.c, o)]}, false
}

// play tells when each job starts, as far as anybody plans.
func (q *coarse) play(starts func(i int32, t pool.Instant)) {
	now, last := q.e.now, q.e.now.Add(horizon)
	for n := int32(len(q.ends.items)); len(q.turns.items) > 0; {
		o := q.turns.items[0]
		i := q.lines[o][0]
		j := &q.e.jobs[i]
		if j.units <= q.free {
			starts(i, now)
			q.free -= j.units
			q.use[o] += j.units
			most := pool.Never
			if j.maxRun > 0 {
				most = now + j.maxRun
			}
			n++
			q.ends.items = append(q.ends.items, coarseEnd{q.end(j.of.ID, o, now, most, now), n, o, int32(j.units)})
			q.ends.up(len(q.ends.items) - 1)
			if q.lines[o] = q.lines[o][1:]; len(q.lines[o]) == 0 {
				q.at[q.turns.pop()] = -1
			} else {
				q.turns.fix(0)
			}
			continue
		}
		if len(q.ends.items) == 0 || q.ends.items[0].at > last {
			return
		}
		x := q.ends.pop()
		now = max(now, x.at)
		q.free += int(x.units)
		if x.org >= 0 {
			q.use[x.org] -= int(x.units)
			if at := q.at[x.org]; at >= 0 {
				q.turns.fix(at)
			}
		}
	}
}
