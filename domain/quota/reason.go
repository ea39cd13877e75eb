package quota

import "gpupool/domain/pool"

// explain tells the reasons of every job that waits, in queue order: found once
// per bucket, for its head; who stands behind it is behind.
func (e *engine) explain() []Waiting {
	e.facts = make([]facts, len(e.classes))
	out := make([]Waiting, 0, len(e.jobs))
	heads := make([][]pool.Reason, len(e.buckets))
	ahead := make([]int64, len(e.buckets))
	var arena []pool.Reason
	for l := range e.lines {
		position := int32(0)
		order := e.inOrder(int32(l))
		waiting := int64(0)
		for _, i := range order {
			waiting += int64(when(!e.jobs[i].done || e.jobs[i].promised, 1))
		}
		for _, i := range order {
			j := &e.jobs[i]
			if j.done && !j.promised {
				continue
			}
			position++
			j.position = position
			w := Waiting{Job: e.id(j), Position: int(position), Promised: j.promised}
			switch b := j.bucket; {
			case j.promised:
				w.Reasons = e.draining(j)
			case b < 0:
				w.Reasons = j.reasons
			case e.buckets[b].never != nil:
				w.Reasons = e.buckets[b].never
			case heads[b] == nil:
				heads[b] = e.reasons(j)
				w.Reasons = heads[b]
			default:
				ahead[b]++
				from := len(arena)
				if cap(arena)-from < len(heads[b])+1 {
					arena, from = make([]pool.Reason, 0, 4096), 0
				}
				arena = append(append(arena, heads[b]...), pool.Reason{Code: pool.Behind, Need: int64(position), Have: ahead[b], Limit: waiting})
				w.Reasons = arena[from:len(arena):len(arena)]
			}
			out = append(out, w)
		}
	}
	return out
}

// draining is the reason of a job that was promised GPUs.
func (e *engine) draining(j *job) []pool.Reason {
	return []pool.Reason{{Code: pool.WaitingForDrain, Class: e.classes[first(j.classes)].ID, Need: int64(j.units), Have: int64(j.victims), Until: j.stopAt}}
}

// facts is what the reasons of many jobs need of one class, found once.
type facts struct {
	known    bool
	kept     int // what owners keep back
	draining int // runs under notice
	drained  pool.Instant
	first    soonest
	// GPUs of borrowers that their minimum run time protects: all, and those of
	// each organisation.
	guarded   int
	guardedOf map[int32]int
	views     map[view]sight
}

// soonest is the first moments at which a borrower may be stopped, of two
// organisations.
type soonest struct {
	at, next pool.Instant
	org      int32
}

func (e *engine) factsOf(c int32) *facts {
	f := &e.facts[c]
	if f.known {
		return f
	}
	*f = facts{known: true, views: map[view]sight{}, guardedOf: map[int32]int{}}
	for o := range e.orgs {
		a := e.org(c, int32(o))
		f.kept += max(0, a.local-a.visible)
	}
	for i := range e.runs {
		r := &e.runs[i]
		if r.class != c || r.dead {
			continue
		}
		if r.gone {
			if r.holds {
				f.draining++
				f.drained = max(f.drained, r.stopAt)
			}
			continue
		}
		if !r.running || r.loan == 0 && r.tier != pool.Spot || r.fixed || r.tier == pool.Guaranteed || r.minRun <= e.now {
			continue
		}
		f.first.add(r.org, r.minRun)
		f.guarded += r.units
		f.guardedOf[r.org] += r.units
	}
	return f
}

func (s *soonest) add(org int32, at pool.Instant) {
	switch {
	case s.at == 0:
		s.at, s.org = at, org
	case org == s.org:
		s.at = min(s.at, at)
	case at < s.at:
		s.at, s.org, s.next = at, org, s.at
	case s.next == 0 || at < s.next:
		s.next = at
	}
}

// but is the first moment, one organisation left out; 0 when there is none.
func (s *soonest) but(org int32) pool.Instant {
	if org == s.org {
		return s.next
	}
	return s.at
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
		f := e.factsOf(c)
		out = append(out, pool.Reason{Code: pool.MinimumRun, Class: id, Need: int64(j.units), Have: int64(f.guarded - f.guardedOf[j.org]), Until: t})
	}
	return e.figures(j, c, out)
}

// figures adds the numbers that make reasons sentences: once a class how the
// organisation stands in its quota, and what is free where the job may not run.
func (e *engine) figures(j *job, c int32, out []pool.Reason) []pool.Reason {
	told := j.tier == pool.Spot
	for i := range out {
		r := &out[i]
		switch r.Code {
		case pool.Data:
			s := e.look(j, c)
			r.Need, r.Have, r.Limit = int64(j.units), int64(s.free), int64(s.total)
		case pool.ClassFull, pool.Scattered, pool.Site:
			r.Elsewhere = int64(e.look(j, c).barred)
			fallthrough
		case pool.LendLimit, pool.Reserved, pool.Maintenance:
			if org := e.org(c, j.org); !told && org.subtree > 0 {
				r.Quota, r.Used, told = int64(org.subtree), int64(org.use), true
			}
		}
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
	if kept := e.factsOf(c).kept; kept > 0 {
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

// view is how jobs look at the nodes of a class: those with the same see the
// same, where no node has maintenance ahead and none is private.
type view struct {
	mask     int32
	g        int
	reserved bool // beside the reservation
}

// sight is what is free on the nodes that a job may use.
type sight struct {
	free, later, total          int
	fits, unreserved, elsewhere int // nodes with room: that it may use, beside the reservation, any
	widest, open                int
	barred                      int          // free where the job may not run: site, trust
	kept, back                  int          // idle on nodes that maintenance keeps; of these nodes, those with room
	until                       pool.Instant // when the first of them is back
}

// aside counts a node that a job can't use now.
func (e *engine) aside(j *job, n *node, s *sight) {
	mine := j.mask == 0 || e.masks[j.mask].allows(n)
	if !mine || !e.trusts(j, n) {
		s.barred += n.now()
		return
	}
	idle := n.now()
	if !n.open {
		idle = max(0, n.cap-max(n.held, n.planned))
	}
	s.kept += idle
	s.back += when(idle >= j.g, 1)
	if s.until == 0 || n.maintenance.End < s.until {
		s.until = n.maintenance.End
	}
}

// look counts what is free for a job.
func (e *engine) look(j *job, c int32) sight {
	v := view{j.mask, j.g, e.reserved[c].set && !e.backfills(j, c, &node{slack: -1})}
	alike := !e.anyPrivate && !e.anyMaintenance && (!v.reserved || !e.tight(j, c))
	if alike {
		if s, ok := e.factsOf(c).views[v]; ok {
			return s
		}
	}
	r := &e.racks[c]
	var s sight
	for i := r.lo; i < r.hi; i++ {
		n := &e.nodes[i]
		now := n.now()
		if n.open {
			s.open += n.cap
		} else if n.ready { // in maintenance now
			e.aside(j, n, &s)
		}
		if now >= j.g {
			s.elsewhere++
		}
		if !e.suits(j, n) {
			e.aside(j, n, &s)
			continue
		}
		s.free, s.later, s.total = s.free+now, s.later+n.later(), s.total+n.cap
		s.widest = max(s.widest, now)
		if now >= j.g {
			s.fits++
			if !v.reserved || e.backfills(j, c, n) {
				s.unreserved++
			}
		}
	}
	if alike {
		e.facts[c].views[v] = s
	}
	return s
}

// hardwareReason says what is missing on the nodes; empty when the job fits.
func (e *engine) hardwareReason(j *job, c int32) pool.Reason {
	s := e.look(j, c)
	id, need := e.classes[c].ID, int64(j.units)
	switch {
	case s.open == 0 && s.kept == 0:
		return pool.Reason{Code: pool.ClassUnavailable, Class: id}
	case s.fits >= j.n && s.unreserved >= j.n:
		return pool.Reason{}
	case s.fits >= j.n:
		v := &e.reserved[c]
		return pool.Reason{Code: pool.Reserved, Class: id, Need: need, Have: int64(s.free), Until: v.at, Ref: string(v.job)}
	case s.fits+s.back >= j.n:
		return pool.Reason{Code: pool.Maintenance, Class: id, Need: need, Have: int64(s.free), Limit: int64(s.kept), Until: s.until}
	case s.elsewhere >= j.n && j.mask != 0:
		return e.siteReason(j, c)
	case s.free >= j.units:
		return pool.Reason{Code: pool.Scattered, Class: id, Need: int64(j.g), Have: int64(s.free), Limit: int64(s.widest)}
	case s.later >= j.units:
		f := e.factsOf(c)
		return pool.Reason{Code: pool.WaitingForDrain, Class: id, Need: need, Have: int64(f.draining), Until: f.drained}
	}
	return pool.Reason{Code: pool.ClassFull, Class: id, Need: need, Have: int64(s.free), Limit: int64(s.total)}
}

// protectedUntil is when the first borrower that an owner could take back from
// leaves its minimum run time; 0 when that isn't what the job waits for.
func (e *engine) protectedUntil(j *job, c int32) pool.Instant {
	if !e.entitled(j, c) {
		return 0
	}
	return e.factsOf(c).first.but(j.org)
}
