package quota

import "gpupool/domain/pool"

// reservation keeps GPUs of a class for one blocked job from a moment on. A
// class has at most one.
type reservation struct {
	set        bool
	job        pool.JobID
	org        int32
	at         pool.Instant // when it can start by the declared ends
	units      int
	claims     bool // inside its quota by then: it can take loans back
	guaranteed bool
	slack      int   // quota of its organisation beside it, at that time
	use        []int // of each organisation at that time, by declared ends
}

// reservationTries bounds the shadows of jobs that no declared end helps.
const reservationTries = 4

// reserve gives the class's reservation to a job, when declared ends tell when
// it can start.
func (e *engine) reserve(j *job, c int32, claims bool) bool {
	if e.reserved[c].set || e.tries[c] >= reservationTries {
		return false
	}
	e.tries[c]++
	s := e.shadow(j, c, claims)
	if s == nil {
		return false
	}
	org := e.org(c, j.org)
	v := reservation{set: true, job: e.id(j), org: j.org, at: s.at, units: j.units, claims: claims, guaranteed: j.tier == pool.Guaranteed, use: s.use, slack: unlimited}
	if claims {
		v.slack = org.subtree - s.use[j.org] - j.units
		if v.guaranteed {
			v.slack = org.subtree - s.guaranteed - j.units
		}
	}
	e.reserved[c] = v
	for _, i := range s.nodes {
		e.nodes[i].slack = s.free[i-e.racks[c].lo] - j.g
	}
	return true
}

// shade is the pool of one class at a later time.
type shade struct {
	at         pool.Instant
	free       []int // of each node of the class
	use        []int // of each organisation
	guaranteed int   // of the job's organisation
	account    int   // of the job's project
	nodes      []int32
}

// shadow lets what runs end by its declared, enforced limits until the job
// fits; nil when it never does.
func (e *engine) shadow(j *job, c int32, claims bool) *shade {
	r := &e.racks[c]
	s := &shade{at: e.now, free: make([]int, r.hi-r.lo), use: make([]int, len(e.orgs)),
		guaranteed: e.org(c, j.org).guaranteed, account: e.ledger.at(c, j.account).use}
	fitting := 0
	for i := range s.free {
		n := &e.nodes[r.lo+int32(i)]
		s.free[i] = n.later()
		if s.free[i] >= j.g && e.suits(j, n) {
			fitting++
		}
	}
	for o := range e.orgs {
		s.use[o] = e.org(c, int32(o)).use
	}
	for _, k := range e.ends(c) {
		if fitting >= j.n && e.allowedBy(s, j, c, claims) {
			break
		}
		x := &e.runs[k]
		s.at = max(e.now, x.end)
		if x.tier != pool.Spot {
			s.use[x.org] -= x.units
			s.guaranteed -= when(x.tier == pool.Guaranteed && x.org == j.org, x.units)
			s.account -= when(x.account == j.account, x.units)
		}
		for _, h := range x.nodes {
			if h.node < 0 {
				continue
			}
			n, f := &e.nodes[h.node], &s.free[h.node-r.lo]
			if !n.open {
				continue
			}
			was := *f >= j.g
			*f += h.gpus
			if !was && *f >= j.g && e.suits(j, n) {
				fitting++
			}
		}
	}
	if fitting < j.n || !e.allowedBy(s, j, c, claims) {
		return nil
	}
	for i := range s.free {
		if s.free[i] >= j.g && e.suits(j, &e.nodes[r.lo+int32(i)]) {
			s.nodes = append(s.nodes, r.lo+int32(i))
		}
	}
	sortBy(s.nodes, func(x, y int32) bool {
		a, b := s.free[x-r.lo], s.free[y-r.lo]
		return a < b || a == b && x < y
	})
	s.nodes = s.nodes[:j.n]
	return s
}

// allowedBy says whether quota lets the job start in the shade.
func (e *engine) allowedBy(s *shade, j *job, c int32, claims bool) bool {
	org, own := e.org(c, j.org), e.ledger.at(c, j.account)
	if own.subtree+own.borrow < s.account+j.units {
		return false
	}
	switch {
	case !claims:
		return org.subtree+org.borrow >= s.use[j.org]+j.units
	case j.tier == pool.Guaranteed:
		return s.guaranteed+j.units <= org.subtree
	}
	return s.use[j.org]+j.units <= org.subtree
}

// ends is what runs in a class and will end, the first first.
func (e *engine) ends(c int32) []int32 {
	var out []int32
	for i := range e.runs {
		if r := &e.runs[i]; r.class == c && !r.gone && r.end != pool.Never {
			out = append(out, int32(i))
		}
	}
	sortBy(out, func(x, y int32) bool {
		a, b := &e.runs[x], &e.runs[y]
		return a.end < b.end || a.end == b.end && attemptBefore(a.id, b.id)
	})
	return out
}

// backfills says whether a job on a node leaves the reservation of the class
// as it is.
func (e *engine) backfills(j *job, c int32, n *node) bool {
	v := &e.reserved[c]
	if !v.set || v.job == e.id(j) || e.endOf(j) <= v.at || e.returnable(j, c) {
		return true
	}
	if j.org == v.org && j.tier != pool.Spot && (!v.guaranteed || j.tier == pool.Guaranteed) && v.slack < j.units {
		return false
	}
	return n.slack >= j.g
}

// returnable: the reserved owner can take the job's GPUs back in time, because
// all of them will be a loan and its minimum run and the notice are over.
func (e *engine) returnable(j *job, c int32) bool {
	v := &e.reserved[c]
	if !v.claims || j.fixed || j.org == v.org && j.tier != pool.Spot || j.tier == pool.Guaranteed {
		return false
	}
	back := e.now.Add(e.policy.Notice)
	if j.tier == pool.Burst {
		back = back.Add(e.classes[c].MinRun)
		if v.use[j.org] < e.org(c, j.org).subtree {
			return false
		}
	}
	return back <= v.at
}
