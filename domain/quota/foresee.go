package quota

import (
	"math"
	"slices"
	"time"

	"gpupool/domain/pool"
)

// The latest start of a job is a bound that holds however early work ends. To
// play the declared ends isn't one: work that ends early lets others start
// first, on other nodes, and the job may start later for it.
//
// What is certain is this. While a job waits at a moment at which it may start,
// the others hold so many GPUs, on so many nodes, that it doesn't fit. They can't
// do so for longer than the work that is left lasts, with every job that isn't
// behind this one for certain put before it.

// horizon is how far a bound is told; beyond it nobody plans.
const horizon = 60 * 24 * time.Hour

const noEnd = math.MaxInt64

// bounds computes the latest starts of jobs in the state that a decision leaves.
type bounds struct {
	e     *engine
	plan  Plan
	known map[pool.JobID]pool.Instant // Never while it is being computed: a cycle
	caps  map[capsKey]caps
	alive []bool // of each job: it can start some time with the pool as it is
}

func newBounds(e *engine, plan Plan) bounds {
	b := bounds{e: e, plan: plan, known: map[pool.JobID]pool.Instant{}, caps: map[capsKey]caps{}, alive: make([]bool, len(e.jobs))}
	for i := range e.jobs {
		b.alive[i] = b.startable(&e.jobs[i])
	}
	return b
}

// latest is the bound for a job that still waits after the decision; pool.Never
// when none can be told.
func (b *bounds) latest(id pool.JobID) pool.Instant {
	t := b.start(id)
	if t != pool.Never && (t.Sub(b.e.now) > horizon || t >= b.e.steady() || b.crosses(id, t)) {
		return pool.Never
	}
	return t
}

// crosses says whether a change of its organisation's quota may keep a
// guaranteed job from starting by then.
func (b *bounds) crosses(id pool.JobID, by pool.Instant) bool {
	i, ok := b.e.jobAt(id)
	if !ok || b.e.jobs[i].tier != pool.Guaranteed {
		return false
	}
	for _, c := range b.e.jobs[i].classes {
		for _, s := range b.e.stepsOf(c, b.e.jobs[i].org) {
			if l := b.e.jobs[i].longest; l <= 0 || s.From < by+l {
				return true
			}
		}
	}
	return false
}

// startable says whether a job can start some time with the pool as it is.
func (b *bounds) startable(j *job) bool {
	if j.dead {
		return false
	}
	if j.bucket >= 0 {
		return b.e.competes(j)
	}
	for _, r := range j.reasons {
		if r.Code != pool.NotBefore && r.Code != pool.Dependency {
			return false
		}
	}
	return b.e.hopeless(j) == nil
}

// start bounds the start of a pending job.
func (b *bounds) start(id pool.JobID) pool.Instant {
	if t, ok := b.known[id]; ok {
		return t
	}
	b.known[id] = pool.Never
	i, ok := b.e.jobAt(id)
	if !ok || !b.alive[i] {
		return pool.Never
	}
	j := &b.e.jobs[i]
	from, ok := b.release(j)
	if !ok {
		return pool.Never
	}
	t := pool.Never
	for _, c := range j.classes {
		if at := b.in(j, c, from); at < t {
			t = at
		}
	}
	if t > j.startBy {
		t = pool.Never // it may not start at all
	}
	b.known[id] = t
	return t
}

// release is from when on nothing but room keeps a job: the time it asked for
// has come and the jobs before it have ended. False when that can't be told.
func (b *bounds) release(j *job) (pool.Instant, bool) {
	from := max(b.e.now, j.of.NotBefore)
	for _, d := range j.of.DependsOn {
		t := b.end(d)
		if t == pool.Never {
			return 0, false
		}
		from = max(from, t)
	}
	return from, true
}

// end bounds the end of a job, running or pending, that isn't stopped for
// another.
func (b *bounds) end(id pool.JobID) pool.Instant {
	for i := range b.e.runs {
		if r := &b.e.runs[i]; r.id.Job == id && r.running && !r.dead {
			return max(b.e.now, r.end)
		}
	}
	t := b.start(id)
	if t == pool.Never {
		return t
	}
	i, _ := b.e.jobAt(id)
	run := b.e.jobs[i].maxRun
	if run <= 0 || t > pool.Never-run {
		return pool.Never
	}
	return t + run
}

// in bounds the start in one class, counted from a moment at which nothing but
// room keeps the job.
func (b *bounds) in(j *job, c int32, from pool.Instant) pool.Instant {
	if _, never := b.e.neverFits(j, c); never || !b.bears(j, c) {
		return pool.Never
	}
	t := b.room(j, c, from, false)
	if b.maintained(c) {
		all := from
		for i := b.e.racks[c].lo; i < b.e.racks[c].hi; i++ {
			if n := &b.e.nodes[i]; n.ready {
				all = max(all, n.maintenance.End)
			}
		}
		t = min(t, b.room(j, c, all, true))
	}
	return t
}

// room bounds the start on those nodes that no maintenance concerns, or on all
// of them when every maintenance is over.
func (b *bounds) room(j *job, c int32, from pool.Instant, all bool) pool.Instant {
	loads, alone := b.loads(j, c, from)
	need := b.least(j, c, all)
	if !alone {
		seen := make([]bool, len(b.e.buckets))
		for i := range b.e.jobs {
			h := &b.e.jobs[i]
			if !b.alive[i] || h.bucket >= 0 && seen[h.bucket] {
				continue
			}
			if h.bucket >= 0 {
				seen[h.bucket] = true
			}
			if b.reserves(h, c) {
				need = need.orLess(b.least(h, c, all))
			}
		}
	}
	t := b.opens(j, c, from, need.heldBy(loads))
	if t != pool.Never && alone {
		t = min(t, b.ends(j, c, from))
	}
	if t != pool.Never && j.tier != pool.Spot && b.evictable(c) {
		t = t.Add(b.e.policy.Notice)
	}
	return t
}

// maintained says whether a node of the class has maintenance, now or ahead.
func (b *bounds) maintained(c int32) bool {
	for i := b.e.racks[c].lo; i < b.e.racks[c].hi; i++ {
		if n := &b.e.nodes[i]; n.ready && n.maintenance.End > b.e.now {
			return true
		}
	}
	return false
}

// loads are the others: what runs after from, and what may start before the
// job. alone is true when nothing else may start.
func (b *bounds) loads(j *job, c int32, from pool.Instant) (out []load, alone bool) {
	e := b.e
	alone = len(e.promises) == 0
	for i := range e.jobs {
		h := &e.jobs[i]
		if h == j || !b.alive[i] || !slices.Contains(h.classes, c) || b.follows(h, j) || b.behind(h, j) {
			continue
		}
		alone = false
		if h.maxRun <= 0 {
			out = append(out, load{gpus: h.units, nodes: h.n, seconds: noEnd})
			continue
		}
		out = append(out, load{gpus: h.units, nodes: h.n, seconds: seconds(time.Duration(h.maxRun)*time.Millisecond + e.policy.Notice)})
	}
	for i := range e.runs {
		r := &e.runs[i]
		if r.class != c || !r.running || r.dead {
			continue
		}
		l := load{gpus: r.units, nodes: len(r.nodes), seconds: noEnd, runs: true}
		switch {
		case r.end == pool.Never:
		case !alone && from > e.now && r.tier != pool.Guaranteed && !r.fixed: // whoever stops it lets it go on later with what is left of its limit
			l.seconds, l.runs = seconds(r.end.Sub(e.now)+e.policy.Notice), false
		case r.end > from:
			l.seconds = seconds(r.end.Sub(from))
		default:
			continue
		}
		out = append(out, l)
	}
	return out, alone
}

// follows says whether a job waits for the end of another one, directly.
func (b *bounds) follows(h, j *job) bool { return slices.Contains(h.of.DependsOn, b.e.id(j)) }

// behind says whether a job stands behind another one in the same bucket: it is
// never asked before that.
func (b *bounds) behind(h, j *job) bool {
	return j.bucket >= 0 && h.bucket == j.bucket && !h.promised && b.e.jobBefore(j, h)
}

func seconds(d time.Duration) int64 {
	if d > 100*horizon {
		return noEnd
	}
	return int64((d + time.Second - 1) / time.Second)
}

// reserves says whether a job may get the reservation of a class.
func (b *bounds) reserves(h *job, c int32) bool {
	if h.tier == pool.Spot || !slices.Contains(h.classes, c) {
		return false
	}
	return h.units <= b.e.org(c, h.org).subtree || h.tier == pool.Burst && b.e.policy.ReserveAfter > 0
}

func (b *bounds) evictable(c int32) bool {
	if b.e.policy.Notice <= 0 {
		return false
	}
	return slices.ContainsFunc(b.e.runs, func(r run) bool { return r.class == c && !r.dead && r.tier != pool.Guaranteed && !r.fixed }) ||
		slices.ContainsFunc(b.e.jobs, func(h job) bool {
			return !h.dead && slices.Contains(h.classes, c) && h.tier != pool.Guaranteed && !h.fixed
		})
}

// least is what the others hold at least of a class while a job doesn't fit.
func (b *bounds) least(j *job, c int32, all bool) need {
	e := b.e
	k := b.capsOf(j.mask, c, all)
	from, _ := slices.BinarySearch(k.sorted, j.g)
	closed := len(k.sorted) - from - j.n + 1
	if closed <= 0 {
		return need{}
	}
	out := need{nodes: closed, gpus: closed}
	if !e.anyPrivate {
		out.gpus = k.sums[from+closed] - k.sums[from] - closed*(j.g-1)
	}
	switch j.tier {
	case pool.Spot:
		out.quota = k.root - j.units + 1
	case pool.Guaranteed:
		out.quota = min(e.org(c, j.org).subtree, e.ledger.potential(c, j.account, k.root)) - j.units + 1
	default:
		out.quota = e.ledger.potential(c, j.account, k.root) - j.units + 1
	}
	return out
}

type capsKey struct {
	mask, class int32
	all         bool
}

// caps are the GPUs of the nodes that a mask allows, ascending, with their
// sums, and the quota of the whole class.
type caps struct {
	sorted, sums []int
	root         int
}

func (b *bounds) capsOf(mask, c int32, all bool) caps {
	at := capsKey{mask, c, all}
	if k, ok := b.caps[at]; ok {
		return k
	}
	e := b.e
	var k caps
	whole := 0
	for i := e.racks[c].lo; i < e.racks[c].hi; i++ {
		n := &e.nodes[i]
		if !n.ready || !all && n.maintenance.End > e.now {
			continue
		}
		whole += n.cap
		if mask == 0 || e.masks[mask].allows(n) {
			k.sorted = append(k.sorted, n.cap)
		}
	}
	slices.Sort(k.sorted)
	k.sums = make([]int, len(k.sorted)+1)
	for i, x := range k.sorted {
		k.sums[i+1] = k.sums[i] + x
	}
	root := e.ledger.at(c, 0)
	sold := 0
	for a := 1; a < e.ledger.width; a++ {
		sold += e.ledger.at(c, int32(a)).nominal
	}
	k.root = root.subtree - root.nominal + max(0, whole-sold)
	b.caps[at] = k
	return k
}

// opens is when so many seconds have passed in which no time policy keeps the
// job.
func (b *bounds) opens(j *job, c int32, from pool.Instant, seconds int64) pool.Instant {
	if seconds == noEnd || seconds > int64(horizon/time.Second)*2 {
		return pool.Never
	}
	left := pool.Instant(seconds * 1000)
	for _, w := range b.closed(j, c) {
		if w.End <= from {
			continue
		}
		if w.Start > from+left {
			break
		}
		left -= max(0, w.Start-from)
		if from = w.End; from == pool.Never {
			return pool.Never
		}
	}
	return from + left
}

// closed lists when a time policy keeps a job from starting, by start, apart
// from each other.
func (b *bounds) closed(j *job, c int32) []pool.Interval {
	e := b.e
	var out []pool.Interval
	for _, w := range e.in.Windows {
		if w.Org != "" && w.Org != e.orgs[j.org].id || w.Class != "" && w.Class != e.classes[c].ID || w.Tier != "" && w.Tier != j.tier {
			continue
		}
		v := w.Closed
		if j.tier == pool.Guaranteed || j.fixed { // must also be over before it
			if j.longest <= 0 {
				v.Start = math.MinInt64
			} else {
				v.Start -= j.longest
			}
		}
		if v.End > v.Start {
			out = append(out, v)
		}
	}
	slices.SortFunc(out, func(x, y pool.Interval) int { return compare(int64(x.Start), int64(y.Start)) })
	merged := out[:0]
	for _, v := range out {
		if n := len(merged); n > 0 && v.Start <= merged[n-1].End {
			merged[n-1].End = max(merged[n-1].End, v.End)
			continue
		}
		merged = append(merged, v)
	}
	return merged
}

// bears says whether the budgets of a job can bear it even when all that runs
// and waits is used to its limit.
func (b *bounds) bears(j *job, c int32) bool {
	e := b.e
	if len(e.charges(j)) == 0 {
		return true
	}
	was, fixed := slices.Clone(e.budgets.open), slices.Clone(e.budgets.fixed)
	for i := range e.jobs {
		h := &e.jobs[i]
		if h == j || h.dead || len(e.charges(h)) == 0 {
			continue
		}
		for _, hc := range h.classes {
			e.budgets.commit(e, &run{class: hc, units: h.units, end: e.endOf(h), charges: e.charges(h)}, 1)
		}
	}
	ok := e.exceeded(j, c) == nil
	e.budgets.open, e.budgets.fixed = was, fixed
	return ok
}

// ends is when a job that nothing else waits beside fits, by the declared ends
// alone.
func (b *bounds) ends(j *job, c int32, from pool.Instant) pool.Instant {
	if b.maintained(c) {
		return pool.Never
	}
	rest := after(b.e.in, b.plan, b.e.now)
	e := build(&rest, b.e.now) // the ends are played in it
	var order []int32
	at := []pool.Instant{from}
	for i := range int32(len(e.runs)) {
		if r := &e.runs[i]; r.class == c && r.end != pool.Never && !r.dead {
			order = append(order, i)
			at = append(at, max(from, r.end))
		}
	}
	for _, w := range b.closed(j, c) {
		at = append(at, max(from, w.End))
	}
	sortBy(order, func(x, y int32) bool { return e.runs[x].end < e.runs[y].end || e.runs[x].end == e.runs[y].end && x < y })
	slices.Sort(at)
	gone := 0
	for _, t := range slices.Compact(at) {
		if t == pool.Never {
			break
		}
		for ; gone < len(order) && e.runs[order[gone]].end <= t; gone++ {
			e.leave(order[gone])
		}
		if e.now = t; (j.tier != pool.Guaranteed || e.entitled(j, c)) && e.fitsNow(j, c) != nil {
			return t
		}
	}
	return pool.Never
}
