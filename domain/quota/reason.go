package quota

import "gpupool/domain/pool"

// explain writes the reasons of every job that waits: once per bucket, for its
// head; who stands behind it is behind.
func (e *engine) explain() {
	e.plan.Wait = make([]Waiting, 0, len(e.jobs)-min(len(e.jobs), len(e.plan.Admit)))
	heads := make([][]pool.Reason, len(e.buckets))
	ahead := make([]int64, len(e.buckets))
	var arena []pool.Reason
	for i := range e.jobs {
		j := &e.jobs[i]
		w := Waiting{Job: e.id(j), Position: int(j.position), Promised: j.promised}
		switch {
		case j.promised:
			w.Reasons = []pool.Reason{{Code: pool.WaitingForDrain, Class: e.classes[first(j.classes)].ID, Need: int64(j.units), Have: int64(j.victims), Until: j.stopAt}}
		case j.done:
			continue
		case j.bucket < 0:
			w.Reasons = j.reasons
		default:
			b := j.bucket
			if heads[b] == nil {
				heads[b] = e.reasons(j)
				w.Reasons = heads[b]
				break
			}
			ahead[b]++
			from := len(arena)
			if cap(arena)-from < len(heads[b])+1 {
				arena, from = make([]pool.Reason, 0, 4096), 0
			}
			arena = append(append(arena, heads[b]...), pool.Reason{Code: pool.Behind, Have: ahead[b]})
			w.Reasons = arena[from:len(arena):len(arena)]
		}
		e.plan.Wait = append(e.plan.Wait, w)
	}
}

// reasons lists, class by class, what keeps a job that competed from starting
// in the state that the decision leaves.
func (e *engine) reasons(j *job) []pool.Reason {
	var out []pool.Reason
	for _, c := range j.classes {
		if r, never := e.neverFits(j, c); never {
			out = append(out, r)
			continue
		}
		out = append(out, e.reasonsIn(j, c)...)
	}
	if len(out) == 0 {
		out = append(out, pool.Reason{Code: pool.Behind, Have: int64(j.position) - 1})
	}
	return out
}

func (e *engine) reasonsIn(j *job, c int32) []pool.Reason {
	id := e.classes[c].ID
	out := e.exceeded(j, c)
	if t := e.window(j, c); t != 0 {
		out = append(out, pool.Reason{Code: pool.PolicyWindow, Class: id, Until: t})
	}
	hardware := e.hardwareReason(j, c)
	if hardware.Code == pool.ClassFull || hardware.Code == pool.ClassUnavailable {
		out = append(out, hardware)
		hardware = pool.Reason{}
	}
	if r := e.quotaReason(j, c); r.Code != "" && (r.Code != pool.ClassFull || len(out) == 0 || out[len(out)-1].Code != pool.ClassFull) {
		out = append(out, r)
	}
	if hardware.Code != "" {
		out = append(out, hardware)
	}
	if t := e.protectedUntil(j, c); t != 0 && len(out) > 0 {
		out = append(out, pool.Reason{Code: pool.MinimumRun, Class: id, Need: int64(j.units), Until: t})
	}
	return out
}

// quotaReason names the limit that quota puts on a job, if any.
func (e *engine) quotaReason(j *job, c int32) pool.Reason {
	id, need := e.classes[c].ID, int64(j.units)
	org := e.org(c, j.org)
	if j.tier == pool.Guaranteed && org.guaranteed+j.units > org.subtree {
		return pool.Reason{Code: pool.QuotaFull, Class: id, Need: need, Have: int64(max(0, org.subtree-org.guaranteed)), Limit: int64(org.subtree)}
	}
	left := e.quotaLeft(j, c)
	if left >= j.units {
		return pool.Reason{}
	}
	if j.tier != pool.Spot && e.ledger.room(c, j.account) < j.units {
		return e.borrowReason(j, c)
	}
	kept := 0
	for o := range e.orgs {
		a := e.org(c, int32(o))
		kept += max(0, a.local-a.visible)
	}
	if kept > 0 {
		return pool.Reason{Code: pool.LendLimit, Class: id, Need: need, Have: int64(max(0, left)), Limit: int64(kept)}
	}
	return pool.Reason{Code: pool.ClassFull, Class: id, Need: need, Have: int64(max(0, left)), Limit: int64(e.org(c, -1).subtree)}
}

// borrowReason finds the account whose borrow limit is in the way.
func (e *engine) borrowReason(j *job, c int32) pool.Reason {
	for a := j.account; e.ledger.parent[a] >= 0; a = e.ledger.parent[a] {
		x := e.ledger.at(c, a)
		if left := max(0, x.local-x.visible) + x.headroom(); left < j.units {
			used := max(0, x.visible-x.subtree)
			return pool.Reason{Code: pool.BorrowLimit, Class: e.classes[c].ID, Need: int64(max(0, x.visible+j.units-x.subtree) - used),
				Have: int64(max(0, x.borrow-used)), Limit: int64(x.borrow), Ref: string(e.projects[a].id)}
		}
	}
	return pool.Reason{}
}

// hardwareReason says what is missing on the nodes; empty when the job fits.
func (e *engine) hardwareReason(j *job, c int32) pool.Reason {
	r := &e.racks[c]
	id, need := e.classes[c].ID, int64(j.units)
	var free, later, total, fits, elsewhere, unreserved, widest, open int
	for i := r.lo; i < r.hi; i++ {
		n := &e.nodes[i]
		if n.open {
			open += n.cap
		}
		if n.now() >= j.g {
			elsewhere++
		}
		if !e.suits(j, n) {
			continue
		}
		free, later, total = free+n.now(), later+n.later(), total+n.cap
		widest = max(widest, n.now())
		if n.now() >= j.g {
			fits++
			if e.backfills(j, c, n) {
				unreserved++
			}
		}
	}
	switch {
	case open == 0:
		return pool.Reason{Code: pool.ClassUnavailable, Class: id}
	case fits >= j.n && unreserved >= j.n:
		return pool.Reason{}
	case fits >= j.n:
		v := &e.reserved[c]
		return pool.Reason{Code: pool.Reserved, Class: id, Need: need, Have: int64(free), Until: v.at, Ref: string(v.job)}
	case elsewhere >= j.n && j.mask != 0:
		return e.siteReason(j, c)
	case free >= j.units:
		return pool.Reason{Code: pool.Scattered, Class: id, Need: int64(j.g), Have: int64(free), Limit: int64(widest)}
	case later >= j.units:
		n, until := e.stopping(c)
		return pool.Reason{Code: pool.WaitingForDrain, Class: id, Need: need, Have: int64(n), Until: until}
	}
	return pool.Reason{Code: pool.ClassFull, Class: id, Need: need, Have: int64(free), Limit: int64(total)}
}

// stopping counts the runs under notice in a class and when the last is gone.
func (e *engine) stopping(c int32) (int, pool.Instant) {
	n, until := 0, pool.Instant(0)
	for i := range e.runs {
		if r := &e.runs[i]; r.class == c && r.gone && r.holds {
			n++
			until = max(until, e.stopAt[int32(i)])
		}
	}
	return n, until
}

// protectedUntil is when the first borrower that an owner could take back from
// leaves its minimum run time; 0 when that isn't what the job waits for.
func (e *engine) protectedUntil(j *job, c int32) pool.Instant {
	if !e.entitled(j, c) {
		return 0
	}
	until := pool.Instant(0)
	for i := range e.runs {
		r := &e.runs[i]
		if r.class != c || r.gone || r.source == 0 || r.org == j.org || r.loan == 0 && r.tier != pool.Spot {
			continue
		}
		if !r.fixed && r.tier != pool.Guaranteed && r.minRun > e.now && (until == 0 || r.minRun < until) {
			until = r.minRun
		}
	}
	return until
}
