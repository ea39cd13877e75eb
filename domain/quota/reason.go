package quota

import (
	"slices"

	"gpupool/domain/pool"
)

// explain tells the reasons of every job that waits, in queue order: found once
// per bucket, for its head; who stands behind it is behind. With lines given,
// only those of these lines.
func (e *engine) explain(only ...int32) []Waiting {
	e.facts = make([]facts, len(e.classes))
	out := make([]Waiting, 0, len(e.jobs))
	heads := make([][]pool.Reason, len(e.buckets))
	ahead, asked := make([]int64, len(e.buckets)), make([]bool, len(e.buckets))
	var arena []pool.Reason
	for l := range e.lines {
		if len(only) > 0 && !slices.Contains(only, int32(l)) {
			continue
		}
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
			b := j.alike
			if b >= 0 && !j.promised && (heads[b] == nil || len(j.of.Charges) > 0 && !e.competes(j)) {
				heads[b] = e.beneath(j)
			}
			switch {
			case j.promised:
				w.Reasons = e.draining(j)
			case b < 0:
				w.Reasons = j.reasons
			case j.bucket < 0: // with what will hold it once it competes
				w.Reasons = slices.Concat(j.reasons, e.cycle(j), heads[b])
			case e.buckets[b].never != nil || !asked[b]:
				w.Reasons, asked[b] = heads[b], true
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

// beneath is what holds a job whatever else does: told of its bucket's head,
// where there is one.
func (e *engine) beneath(j *job) []pool.Reason {
	if h := e.headOf(j.alike); h != nil {
		j = h
	}
	return e.reasons(j)
}

// draining is the reason of a job that was promised GPUs.
func (e *engine) draining(j *job) []pool.Reason {
	return []pool.Reason{{Code: pool.WaitingForDrain, Class: e.classes[j.promisedIn].ID, Need: int64(j.units), Have: int64(j.victims), Until: j.stopAt}}
}

// facts is what the reasons of many jobs need of one class, found once.
type facts struct {
	known    bool
	kept     int // what owners keep back
	returns  int // what the pool gains when all maintenance is over
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
	for i := 1; i < e.ledger.width; i++ {
		a := e.ledger.at(c, int32(i))
		f.kept += max(0, a.local-a.visible)
	}
	f.returns = e.returning(c)
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
		out = append(out, e.figures(j, c, e.reasonsIn(j, c))...)
	}
	if len(out) == 0 && j.bucket >= 0 {
		out = append(out, pool.Reason{Code: pool.Behind, Have: int64(j.position) - 1})
	}
	return out
}

// reasonsIn lists what keeps a job out of one class, what is heaviest first.
// What never fits stands without the shortages that may pass.
func (e *engine) reasonsIn(j *job, c int32) []pool.Reason {
	barred := e.exceeded(j, c)
	if t := e.window(j, c); t != 0 {
		barred = append(barred, pool.Reason{Code: pool.PolicyWindow, Class: e.classes[c].ID, Until: t})
	}
	never, hopeless := e.neverFits(j, c)
	switch {
	case !hopeless:
		short := append(barred, e.shortages(j, c, e.placeOf(j))...)
		if t := e.protectedUntil(j, c); t != 0 && len(short) > 0 {
			f := e.factsOf(c)
			short = append(short, pool.Reason{Code: pool.MinimumRun, Class: e.classes[c].ID, Need: int64(j.units), Have: int64(f.guarded - f.guardedOf[j.org]), Until: t})
		}
		return short
	case never.Code == pool.Site || never.Code == pool.Data:
		return slices.Concat(e.nowhere(j, c, never), barred)
	case never.Code == pool.ClassUnavailable:
		return slices.Concat([]pool.Reason{never}, barred, slices.DeleteFunc(e.quotaReasons(j, c, 0), isFull))
	}
	return append([]pool.Reason{never}, barred...)
}

// nowhere lists what keeps out a job that may be on no node of a class: where
// it may not be, and what it would lack there.
func (e *engine) nowhere(j *job, c int32, why pool.Reason) []pool.Reason {
	if out := e.otherSite(j, c, e.placeOf(j)); out != nil {
		return append(out, e.quotaReasons(j, c, 0)...)
	}
	out, at := []pool.Reason{why}, e.placeOf(j)
	if why.Code == pool.Site {
		at.project = 0
	} else {
		at.data = ""
	}
	if e.allowed(e.narrow(at.project, at.data), c) == 0 {
		out, at = append(out, e.dataReason(j, c)), location{}
	}
	return append(out, e.shortages(j, c, at)...)
}

func isFull(r pool.Reason) bool { return r.Code == pool.ClassFull || r.Code == pool.ClassUnavailable }

// location say where a job may be placed.
type location struct {
	project int32 // mask
	data    pool.SiteID
}

func (e *engine) placeOf(j *job) location { return location{e.projects[j.account].mask, j.of.DataSite} }

// within is the job with other location.
func (e *engine) within(j *job, at location) *job {
	x := *j
	x.mask = e.narrow(at.project, at.data)
	return &x
}

// returning is what the consortium's pool gains when all maintenance is over.
func (e *engine) returning(c int32) int {
	now, then := 0, 0
	for i := e.racks[c].lo; i < e.racks[c].hi; i++ {
		n := &e.nodes[i]
		usable := n.cap
		if !n.open {
			usable = min(n.cap, max(n.held, n.planned))
		}
		now, then = now+usable, then+when(n.ready, n.cap)+when(!n.ready, usable)
	}
	sold := 0
	for a := 1; a < e.ledger.width; a++ {
		sold += e.ledger.at(c, int32(a)).nominal
	}
	return max(0, then-sold) - max(0, now-sold)
}

// shortages are the GPUs and the quota that a job lacks where it may be placed,
// what is heaviest first.
func (e *engine) shortages(j *job, c int32, at location) []pool.Reason {
	hardware := e.hardwareReasons(e.within(j, at), c, at)
	returns := 0
	if slices.ContainsFunc(hardware, func(r pool.Reason) bool { return r.Code == pool.Maintenance }) {
		returns = e.factsOf(c).returns
	}
	quota := e.quotaReasons(j, c, returns)
	if !slices.ContainsFunc(hardware, isFull) {
		return append(quota, hardware...)
	}
	return append(hardware, slices.DeleteFunc(quota, isFull)...)
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

// quotaReasons names the limits that quota puts on a job, when the pool has
// some GPUs more.
func (e *engine) quotaReasons(j *job, c int32, more int) []pool.Reason {
	id, need := e.classes[c].ID, int64(j.units)
	var out []pool.Reason
	others := e.factsOf(c).kept - e.keptFor(j, c)
	if org := e.org(c, j.org); j.tier == pool.Guaranteed && org.guaranteed+j.units > org.subtree {
		out = append(out, pool.Reason{Code: pool.QuotaFull, Class: id, Need: need, Have: int64(max(0, org.subtree-org.guaranteed)), Limit: int64(org.subtree)})
		defer e.ledger.raise(c, j.org+1, org.guaranteed+j.units-org.subtree)() // what is short even then
	}
	asks := j.units
	for a := j.account; j.tier != pool.Spot && e.ledger.parent[a] >= 0; a = e.ledger.parent[a] {
		x := e.ledger.at(c, a)
		own := max(0, x.local-x.visible)
		if own+x.headroom() < asks {
			used := max(0, x.visible-x.subtree)
			out = append(out, pool.Reason{Code: pool.BorrowLimit, Class: id, Need: int64(max(0, x.visible+asks-x.subtree) - used),
				Have: int64(max(0, x.borrow-used)), Limit: int64(x.borrow), Ref: string(e.projects[a].id)})
		}
		if asks -= own; asks <= 0 {
			return out
		}
	}
	left := e.ledger.avail(c, 0) + more - when(j.tier == pool.Spot, e.spotUse[c])
	if left >= asks {
		return out
	}
	if others > 0 {
		out = append(out, pool.Reason{Code: pool.LendLimit, Class: id, Need: need, Have: int64(max(0, left)), Limit: int64(others)})
	}
	if left+others < asks {
		out = append(out, pool.Reason{Code: pool.ClassFull, Class: id, Need: need, Have: int64(max(0, left)), Limit: int64(e.org(c, -1).subtree)})
	}
	return out
}

// keptFor is what the accounts of a job keep back for it.
func (e *engine) keptFor(j *job, c int32) int {
	kept := 0
	for a := j.account; j.tier != pool.Spot && e.ledger.parent[a] >= 0; a = e.ledger.parent[a] {
		x := e.ledger.at(c, a)
		kept += max(0, x.local-x.visible)
	}
	return kept
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
	free, later, total        int
	fits, unreserved, drained int // nodes with room: that it may use, of them beside the reservation, when the victims are gone
	widest, open              int
	barred                    int          // free where the job may not run: site, trust
	kept, back                int          // idle on nodes that maintenance keeps; of these nodes, those with room
	until                     pool.Instant // when the first of them is back
}

// aside counts a node that a job can't use now.
func (e *engine) aside(j *job, n *node, s *sight) {
	mine := j.mask == 0 || e.masks[j.mask].allows(n)
	if !mine || !e.trusts(j, n) {
		s.barred += n.now()
		return
	}
	idle := n.now()
	switch {
	case !n.open && !n.ready:
		return // it takes nothing new, maintenance or not
	case !n.open:
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
		if !e.suits(j, n) {
			e.aside(j, n, &s)
			continue
		}
		s.free, s.later, s.total = s.free+now, s.later+n.later(), s.total+n.cap
		s.widest = max(s.widest, now)
		if n.later() >= j.g {
			s.drained++
		}
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

// hardwareReasons says what is missing on the nodes; none when the job fits.
func (e *engine) hardwareReasons(j *job, c int32, at location) []pool.Reason {
	s := e.look(j, c)
	id, need := e.classes[c].ID, int64(j.units)
	switch {
	case s.open == 0 && s.kept == 0:
		return []pool.Reason{{Code: pool.ClassUnavailable, Class: id}}
	case s.fits >= j.n && s.unreserved >= j.n:
		return nil
	case s.fits >= j.n:
		v := &e.reserved[c]
		return []pool.Reason{{Code: pool.Reserved, Class: id, Need: need, Have: int64(s.free), Until: v.at, Ref: string(v.job)}}
	case s.fits+s.back >= j.n:
		return []pool.Reason{{Code: pool.Maintenance, Class: id, Need: need, Have: int64(s.free), Limit: int64(s.kept), Until: s.until}}
	}
	if out := e.otherSite(j, c, at); out != nil {
		return out
	}
	switch {
	case s.drained >= j.n:
		f := e.factsOf(c)
		return []pool.Reason{{Code: pool.WaitingForDrain, Class: id, Need: need, Have: int64(f.draining), Until: f.drained}}
	case s.free >= j.units:
		return []pool.Reason{{Code: pool.Scattered, Class: id, Need: int64(j.g), Have: int64(s.free), Limit: int64(s.widest)}}
	}
	return []pool.Reason{{Code: pool.ClassFull, Class: id, Need: need, Have: int64(s.free), Limit: int64(s.total)}}
}

// otherSite says that a job would fit now where it may not be: for its data,
// for what its project allows, or for both.
func (e *engine) otherSite(j *job, c int32, at location) []pool.Reason {
	fits := func(project int32, data pool.SiteID) bool {
		return e.look(e.within(j, location{project, data}), c).unreserved >= j.n
	}
	switch {
	case at.project == 0 && at.data == "":
		return nil
	case at.data != "" && fits(at.project, ""):
		return []pool.Reason{e.dataReason(j, c)}
	case at.project != 0 && fits(0, at.data):
		return []pool.Reason{e.placeReason(j, c)}
	case at.project != 0 && at.data != "" && fits(0, ""):
		return []pool.Reason{e.placeReason(j, c), e.dataReason(j, c)}
	}
	return nil
}

// protectedUntil is when the first borrower that an owner could take back from
// leaves its minimum run time; 0 when that isn't what the job waits for.
func (e *engine) protectedUntil(j *job, c int32) pool.Instant {
	if !e.entitled(j, c) {
		return 0
	}
	return e.factsOf(c).first.but(j.org)
}
