package quota

import (
	"slices"

	"gpupool/domain/pool"
)

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
	lent       bool   // others borrowed when it was made
	slack      int    // quota of its organisation beside it, at that time
	use        []int  // of each organisation at that time, by declared ends
	returned   []bool // of each run: it is taken back by then
	number     uint32
	places     []NodeGPUs
	on         []int32 // nodes
}

// reservationTries bounds the shadows of jobs that no declared end helps.
const reservationTries = 4

// reserve gives the class's reservation to a job, when declared ends tell when
// it can start.
func (e *engine) reserve(j *job, c int32, claims bool) bool {
	if !e.mayReserve(c) {
		return false
	}
	e.tries[c]++
	s := e.shadow(j, c, claims)
	if s == nil || s.at > j.startBy {
		return false
	}
	org := e.org(c, j.org)
	e.numbers++
	v := reservation{set: true, job: e.id(j), org: j.org, at: s.at, units: j.units, claims: claims, guaranteed: j.tier == pool.Guaranteed, use: s.use, slack: unlimited,
		returned: s.returned, number: e.numbers, on: s.nodes, lent: e.lent(c, j.org)}
	if claims {
		v.slack = org.subtree - s.use[j.org] - j.units
		if v.guaranteed {
			v.slack = org.subtree - s.guaranteed - j.units
		}
	}
	slices.Sort(s.nodes)
	for _, i := range s.nodes {
		v.places = append(v.places, NodeGPUs{e.nodes[i].id, j.g})
		e.nodes[i].slack = s.free[i-e.racks[c].lo] - j.g
	}
	e.reserved[c] = v
	e.versions[c]++
	return true
}

// mayReserve says whether a class still has its reservation to give.
func (e *engine) mayReserve(c int32) bool {
	return !e.reserved[c].set && e.tries[c] < reservationTries
}

// shade is the pool of one class at a later time.
type shade struct {
	at         pool.Instant
	free       []int          // of each node of the class
	since      []pool.Instant // of each node: its free GPUs times the instants since when they are
	use        []int          // of each organisation
	guaranteed int            // of the job's organisation
	account    int            // of the job's project
	nodes      []int32
	returned   []bool // of each run: the job takes it back by then
}

// shadow lets what runs end by its declared, enforced limits until the job
// fits; nil when it never does.
func (e *engine) shadow(j *job, c int32, claims bool) *shade {
	r := &e.racks[c]
	s := &shade{at: e.now, returned: make([]bool, len(e.runs)), free: make([]int, r.hi-r.lo), since: make([]pool.Instant, r.hi-r.lo), use: make([]int, len(e.orgs)),
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
	gain := func(node int32, gpus int, at pool.Instant) {
		if node < 0 || !e.nodes[node].open {
			return
		}
		f := &s.free[node-r.lo]
		s.since[node-r.lo] += (at - e.now) * pool.Instant(gpus)
		was := *f >= j.g
		if *f += gpus; !was && *f >= j.g && e.suits(j, &e.nodes[node]) {
			fitting++
		}
	}
	ends := e.ends(c, j, claims)
	for allowed := e.allowedBy(s, j, c, claims); !allowed || fitting < j.n; {
		ev, pass, ok := ends.peek()
		// What could be taken back at once and comes before it: no loan of the
		// job's own organisation, so that its quota doesn't move.
		for len(ends.ready) > 0 && (!allowed || fitting < j.n) {
			i := ends.ready[0]
			if ok && (ends.soon > ev.at || ends.soon == ev.at && !e.sooner(ending{ends.soon, i, true}, ev)) {
				break
			}
			e.work.victims++
			ends.ready = ends.ready[1:]
			x := &e.outlines[i]
			if !x.spot {
				if s.use[x.org]-int(x.units) < e.org(c, x.org).subtree {
					continue
				}
				s.use[x.org] -= int(x.units)
			}
			s.at, s.returned[i] = ends.soon, true
			if x.node >= 0 {
				gain(x.node, int(x.units), ends.soon)
				continue
			}
			for _, h := range e.runs[i].nodes {
				gain(h.node, h.gpus, ends.soon)
			}
		}
		if allowed && fitting >= j.n {
			break
		}
		if !ok {
			break
		}
		pass()
		e.work.victims++
		x := &e.runs[ev.run]
		if s.returned[ev.run] || ev.back && x.tier == pool.Burst && s.use[x.org]-x.units < e.org(c, x.org).subtree {
			continue
		}
		s.at = ev.at
		if ev.back {
			s.returned[ev.run] = true
		}
		if x.tier != pool.Spot {
			s.use[x.org] -= x.units
			s.guaranteed -= when(x.tier == pool.Guaranteed && x.org == j.org, x.units)
			s.account -= when(x.account == j.account, x.units)
		}
		for _, h := range x.nodes {
			gain(h.node, h.gpus, ev.at)
		}
		allowed = e.allowedBy(s, j, c, claims)
	}
	if fitting < j.n || !e.allowedBy(s, j, c, claims) {
		return nil
	}
	for i := range s.free {
		if s.free[i] >= j.g && e.suits(j, &e.nodes[r.lo+int32(i)]) {
			s.nodes = append(s.nodes, r.lo+int32(i))
		}
	}
	// Where the fewest GPUs are free, and of those where they idle the least
	// until then: what is free now stays free for others.
	sortBy(s.nodes, func(x, y int32) bool {
		x, y = x-r.lo, y-r.lo
		if a, b := s.free[x], s.free[y]; a != b {
			return a < b
		}
		if a, b := s.since[x], s.since[y]; a != b {
			return a > b
		}
		return x < y
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

// ending is a moment at which a run's GPUs come free: its declared end, or the
// first at which an owner could have taken them back.
type ending struct {
	at   pool.Instant
	run  int32
	back bool
}

// back is when an owner could have the GPUs of a run back.
func (e *engine) back(r *run) (pool.Instant, bool) {
	if r.fixed || r.tier == pool.Guaranteed {
		return 0, false
	}
	return max(e.now, r.minRun).Add(e.policy.Notice), true
}

// lasts says whether a run still holds its GPUs when the reservation begins.
// Spot work gives way to every reserved job, loans to one inside its quota.
func (e *engine) lasts(r *run, v *reservation) bool {
	if r.end <= v.at {
		return false
	}
	at, ok := e.back(r)
	switch {
	case !ok || at > v.at:
		return true
	case r.tier == pool.Spot:
		return false
	case !v.claims || r.org == v.org:
		return true
	}
	return v.use[r.org] < e.org(r.class, r.org).subtree
}

// backfills says whether a job on a node leaves the reservation of the class
// as it is: it is over by then, can be taken back by then, or fits beside it.
func (e *engine) backfills(j *job, c int32, n *node) bool {
	v := &e.reserved[c]
	if !v.set || v.job == e.id(j) {
		return true
	}
	end := e.boundOf(j)
	r := run{class: c, org: j.org, tier: j.tier, fixed: j.fixed, units: j.units, end: end, minRun: max(e.now.Add(e.classes[c].MinRun), e.now+1)}
	if !e.lasts(&r, v) {
		return true
	}
	return !e.tight(j, c) && n.slack >= j.g
}

// tight says whether a job would take quota that its organisation's own
// reservation needs. While others borrow in the class, work inside the quota
// isn't held up for that: it would wait where borrowers run.
func (e *engine) tight(j *job, c int32) bool {
	v := &e.reserved[c]
	return j.org == v.org && j.tier != pool.Spot && (!v.guaranteed || j.tier == pool.Guaranteed) && v.slack < j.units && !(v.lent && e.entitled(j, c))
}

// lent says whether other organisations have GPUs of a class on loan, or spot
// work in it.
func (e *engine) lent(c, but int32) bool {
	for o := range e.orgs {
		if int32(o) != but && e.org(c, int32(o)).over() > 0 {
			return true
		}
	}
	return slices.ContainsFunc(e.spots[c], func(i int32) bool { return !e.runs[i].gone && e.runs[i].org != but })
}
