package quota

import (
	"slices"
	"strings"
	"time"

	"gpupool/domain/pool"
)

// job is a pending job in the working state.
type job struct {
	of         *Job
	org        int32
	account    int32
	classes    []int32 // shared
	n, g       int
	units      int
	tier       pool.Tier
	priority   int
	submitted  pool.Instant
	maxRun     pool.Instant // milliseconds; 0 = none
	longest    pool.Instant // maxRun rounded up to runStep
	startBy    pool.Instant // the last moment at which it ends before its deadline; pool.Never without one
	mask       int32
	line       int32
	position   int32 // in its line, from 1; set by explain
	slot       int32 // of it
	alike      int32 // the bucket of those like it; -1 when it asks for nothing
	bucket     int32 // the same; -1 when it doesn't compete
	done       bool  // admitted or promised
	promised   bool
	promisedIn int32 // class
	dead       bool  // no job any more
	seen       uint32
	fixed      bool
	stopAt     pool.Instant  // of the victims it waits for
	victims    int           // how many
	reasons    []pool.Reason // of a job that doesn't compete
}

// bucket is a queue of jobs that are alike in everything a decision looks at:
// only its head is asked.
type bucket struct {
	shape
	lane    int32
	jobs    []int32 // by age, then id
	head    int
	loose   bool          // the jobs aren't in order
	stirred bool          // the lane's order may have another head
	never   []pool.Reason // why such a job can't ever start; nil when it can
}

// queue is that of one organisation for one first class, in which a job has
// its position.
type queue struct {
	jobs  []int32
	loose bool
}

// shape is the exact key of a bucket.
type shape struct {
	account, mask    int32
	classes, charges int32 // which of the lists that were met
	n, g             int
	tier             pool.Tier
	priority         int
	longest, startBy pool.Instant
	fixed            bool
}

// runStep is what maximum run times are rounded up to where jobs are compared,
// so that those of about the same length share a bucket. Whatever a job is
// admitted for is right for its own, shorter limit: its end, and with it what
// is committed for it, stays exact.
const runStep = pool.Instant(15 * time.Minute / time.Millisecond)

func roundUp(run pool.Instant) pool.Instant {
	if run <= 0 || run > pool.Never-runStep {
		return run
	}
	return (run + runStep - 1) / runStep * runStep
}

// StartBy is the last moment at which a job can start and end before its
// deadline; pool.Never when it has none.
func (j *Job) StartBy() pool.Instant {
	if j.Deadline == 0 {
		return pool.Never
	}
	return j.Deadline.Add(-max(0, j.MaxRun))
}

// endOf is when a job that starts now is stopped at the latest.
func (e *engine) endOf(j *job) pool.Instant { return e.after(j.maxRun) }

// boundOf is the same for its bucket: never before endOf.
func (e *engine) boundOf(j *job) pool.Instant { return e.after(j.longest) }

func (e *engine) after(run pool.Instant) pool.Instant {
	if run <= 0 || e.now > pool.Never-run {
		return pool.Never
	}
	return e.now + run
}

func (e *engine) charges(j *job) []Charge { return j.of.Charges }
func (e *engine) id(j *job) pool.JobID    { return j.of.ID }

// indexJobs puts the pending jobs into their organisations' queues and those
// that compete into buckets.
func (e *engine) indexJobs() {
	e.jobs = make([]job, len(e.in.Pending))
	e.jobSlots.room(len(e.jobs), e.hashJob)
	for i := range e.in.Pending {
		j := &e.jobs[i]
		e.readJob(j, &e.in.Pending[i])
		j.slot = int32(i)
		h := e.hashJob(j.slot)
		if k, twice := e.jobSlots.find(h, func(k int32) bool { return e.jobs[k].of.ID == j.of.ID }); twice {
			e.problem("job %s is pending twice", e.id(j))
			if e.inLine(j, &e.jobs[k]) {
				e.jobs[k], *j = *j, e.jobs[k]
				e.jobs[k].slot, j.slot = k, int32(i)
			}
			j.dead, j.done = true, true
			continue
		}
		e.jobSlots.put(h, j.slot)
	}
	for i := range e.jobs {
		if !e.jobs[i].dead {
			e.file(int32(i))
		}
	}
}

func (e *engine) hashJob(i int32) uint64 { return hashJob(e.jobs[i].of.ID) }

// jobAt looks a pending job up.
func (e *engine) jobAt(id pool.JobID) (int32, bool) {
	return e.jobSlots.find(hashJob(id), func(i int32) bool { return e.jobs[i].of.ID == id })
}

// file puts a job into its line and, where it competes, into its bucket.
func (e *engine) file(i int32) {
	j := &e.jobs[i]
	j.line = j.org*int32(len(e.classes)+1) + first(j.classes) + 1
	l := &e.lines[j.line]
	if n := len(l.jobs); n > 0 && !l.loose {
		l.loose = !e.jobBefore(&e.jobs[l.jobs[n-1]], j)
	}
	l.jobs = append(l.jobs, i)
	if j.of.NotBefore > e.now {
		e.notBefore = append(e.notBefore, i)
	}
	if j.startBy != pool.Never {
		e.deadlines = append(e.deadlines, i)
	}
	if len(j.of.DependsOn) > 0 {
		e.dependents = append(e.dependents, i)
	}
	e.fileBucket(i)
}

// fileBucket puts a job that competes into its bucket.
func (e *engine) fileBucket(i int32) {
	j := &e.jobs[i]
	if j.alike = -1; j.units > 0 && len(j.classes) > 0 && j.tier.Valid() {
		j.alike = e.bucketOf(j)
	}
	if j.reasons = e.excluded(j); j.reasons != nil {
		j.bucket = -1
		return
	}
	j.bucket = j.alike
	b := &e.buckets[j.bucket]
	if n := len(b.jobs); n > 0 && !b.loose {
		b.loose = !e.jobBefore(&e.jobs[b.jobs[n-1]], j)
	}
	b.jobs = append(b.jobs, i)
	e.stir(j.bucket)
}

// forget takes a job out. The lists pass over it.
func (e *engine) forget(i int32) {
	j := &e.jobs[i]
	e.jobSlots.drop(e.hashJob(i), i)
	if j.bucket >= 0 && !j.done {
		e.stir(j.bucket)
	}
	j.dead, j.done, j.promised = true, true, false
	e.deadJobs = append(e.deadJobs, i)
}

// competes says whether a job may be asked at all.
func (e *engine) competes(j *job) bool { return j.bucket >= 0 && e.buckets[j.bucket].never == nil }

// inLine is the order of all queues.
func (e *engine) inLine(x, y *job) bool {
	if x.org != y.org {
		return x.org < y.org
	}
	if a, b := first(x.classes), first(y.classes); a != b {
		return a < b
	}
	return e.jobBefore(x, y)
}

// jobBefore is queueOrder made strict.
func (e *engine) jobBefore(x, y *job) bool {
	if c := e.queueOrder(x, y); c != 0 {
		return c < 0
	}
	return x.of != y.of && x.of.ID < y.of.ID
}

func first(classes []int32) int32 {
	if len(classes) == 0 {
		return -1
	}
	return classes[0]
}

// queueOrder is the order inside a project: guaranteed work first, because it
// may take the place of other work of its organisation; then priority and age.
func (e *engine) queueOrder(x, y *job) int {
	if gx, gy := x.tier == pool.Guaranteed, y.tier == pool.Guaranteed; gx != gy {
		if gx {
			return -1
		}
		return 1
	}
	if x.priority != y.priority {
		return compare(int64(y.priority), int64(x.priority))
	}
	return compare(int64(x.submitted), int64(y.submitted))
}

func (e *engine) readJob(j *job, p *Job) {
	*j = job{of: p, org: e.orgAt[p.Org], account: accountOf(e, p.Org, p.Project, p.ID), tier: p.Tier, priority: p.Priority,
		submitted: p.Submitted, maxRun: pool.Instant(p.MaxRun.Milliseconds()), fixed: p.Fixed, bucket: -1}
	j.n, j.g = count(e, p.Nodes, "nodes", p.ID), count(e, p.GPUs, "GPUs", p.ID)
	j.units, j.longest, j.startBy = j.n*j.g, roundUp(j.maxRun), p.StartBy()
	j.mask = e.narrow(e.projects[j.account].mask, p.DataSite)
	e.classBuf = e.classBuf[:0]
	for _, id := range p.Classes {
		if c, ok := e.classAt[id]; ok {
			e.classBuf = append(e.classBuf, c)
		} else {
			e.problem("job %s asks for the unknown class %q", p.ID, id)
		}
	}
	j.classes = e.classLists[e.classList(e.classBuf)]
}

// classList numbers lists of classes.
func (e *engine) classList(l []int32) int32 {
	for i := len(e.classLists) - 1; i >= 0; i-- {
		if slices.Equal(e.classLists[i], l) {
			return int32(i)
		}
	}
	e.classLists = append(e.classLists, slices.Clone(l))
	return int32(len(e.classLists) - 1)
}

// chargeList numbers the lists of charges of an account.
func (e *engine) chargeList(account int32, l []Charge) int32 {
	if len(l) == 0 {
		return -1
	}
	lists := e.chargeLists[account]
	for i := len(lists) - 1; i >= 0; i-- {
		if x := lists[i]; len(x) == len(l) && (&x[0] == &l[0] || slices.Equal(x, l)) {
			return int32(i)
		}
	}
	e.chargeLists[account] = append(lists, l)
	return int32(len(lists))
}

// excluded lists what keeps a job out of the contest, whatever is free.
func (e *engine) excluded(j *job) []pool.Reason {
	p := j.of
	var out []pool.Reason
	if j.startBy < e.now {
		out = append(out, pool.Reason{Code: pool.Deadline, Until: p.Deadline})
	}
	if e.policy.AdmissionPaused {
		out = append(out, pool.Reason{Code: pool.AdmissionPaused})
	}
	for _, why := range []string{p.Paused, e.projects[j.account].paused, e.orgs[j.org].paused} {
		if why != "" {
			out = append(out, pool.Reason{Code: pool.ProjectPaused, Ref: why})
		}
	}
	if e.orgs[j.org].noSub {
		out = append(out, pool.Reason{Code: pool.NoSubscription})
	}
	if p.NotBefore > e.now {
		out = append(out, pool.Reason{Code: pool.NotBefore, Until: p.NotBefore})
	}
	for _, d := range p.DependsOn {
		out = append(out, pool.Reason{Code: pool.Dependency, Ref: string(d)})
	}
	if j.units <= 0 || !j.tier.Valid() {
		e.problem("job %s asks for %d nodes with %d GPUs as %q", p.ID, p.Nodes, p.GPUs, p.Tier)
		return append(out, pool.Reason{Code: pool.NeverFits})
	}
	if len(j.classes) == 0 {
		var c pool.ClassID
		if len(p.Classes) > 0 {
			c = p.Classes[0]
		}
		return append(out, pool.Reason{Code: pool.ClassUnavailable, Class: c})
	}
	return out
}

// hopeless says why no class could ever take a job; nil when one could.
func (e *engine) hopeless(j *job) []pool.Reason {
	var out []pool.Reason
	for _, c := range j.classes {
		r, never := e.neverFits(j, c)
		if !never {
			return nil
		}
		out = append(out, r)
	}
	return out
}

// neverFits compares a job with what its class could ever give it: by quota,
// by the size of nodes, by where it may run.
func (e *engine) neverFits(j *job, c int32) (pool.Reason, bool) {
	id := e.classes[c].ID
	r := &e.racks[c]
	if r.hi == r.lo {
		return pool.Reason{Code: pool.ClassUnavailable, Class: id}, true
	}
	most := e.whole[c]
	switch j.tier {
	case pool.Guaranteed:
		most = min(e.org(c, j.org).subtree, e.ledger.potential(c, j.account, e.whole[c]))
	case pool.Burst:
		most = e.ledger.potential(c, j.account, e.whole[c])
	}
	nodes, widest := 0, 0
	if j.mask == 0 {
		nodes, widest = r.atLeast(j.g), r.largest
	}
	for i := r.lo; i < r.hi && j.mask != 0; i++ {
		n := &e.nodes[i]
		if e.masks[j.mask].allows(n) {
			widest = max(widest, n.gpus)
			if n.gpus >= j.g {
				nodes++
			}
		}
	}
	if widest == 0 && j.mask != 0 {
		return e.siteReason(j, c), true
	}
	if nodes < j.n {
		limit := nodes * j.g
		if nodes == 0 {
			limit = widest
		}
		return pool.Reason{Code: pool.NeverFits, Class: id, Need: int64(j.units), Limit: int64(min(limit, max(0, most)))}, true
	}
	if j.units > most {
		if t := e.comes(j, c); t != 0 {
			return pool.Reason{Code: pool.PolicyWindow, Class: id, Until: t}, true
		}
		return pool.Reason{Code: pool.NeverFits, Class: id, Need: int64(j.units), Limit: int64(max(0, most))}, true
	}
	return pool.Reason{}, false
}

// siteReason says why a job may be on no node of a class.
func (e *engine) siteReason(j *job, c int32) pool.Reason {
	if j.of.DataSite != "" && e.allowed(e.projects[j.account].mask, c) > 0 {
		return e.dataReason(j, c)
	}
	return e.placeReason(j, c)
}

func (e *engine) dataReason(j *job, c int32) pool.Reason {
	return pool.Reason{Code: pool.Data, Class: e.classes[c].ID, Ref: string(j.of.DataSite)}
}

func (e *engine) placeReason(j *job, c int32) pool.Reason {
	return pool.Reason{Code: pool.Site, Class: e.classes[c].ID, Have: int64(e.allowed(j.mask, c)), Limit: int64(e.racks[c].hi - e.racks[c].lo), Ref: e.sitesOf(j.account)}
}

// sitesOf are the sites that a project allows; empty where it allows all, or
// limits something else.
func (e *engine) sitesOf(account int32) string {
	var names []string
	for _, s := range e.projects[account].sites {
		names = append(names, string(s))
	}
	slices.Sort(names)
	return strings.Join(slices.Compact(names), ", ")
}

// bucketOf finds or makes the bucket of a job that competes.
func (e *engine) bucketOf(j *job) int32 {
	k := shape{account: j.account, mask: j.mask, n: j.n, g: j.g, tier: j.tier, priority: j.priority, longest: j.longest, startBy: j.startBy, fixed: j.fixed,
		classes: e.classList(j.classes), charges: e.chargeList(j.account, j.of.Charges)}
	c := j.classes[0]
	l := e.laneOf(c, j.account)
	if l < 0 {
		l = int32(len(e.lanes))
		e.laneAt[int(c)*e.ledger.width+int(j.account)] = l
		e.lanes = append(e.lanes, lane{org: j.org, account: j.account, class: c})
		e.orgs[j.org].lanes = append(e.orgs[j.org].lanes, l)
	}
	x := &e.lanes[l]
	for i := range min(len(x.buckets), fewBuckets) {
		if b := x.buckets[i]; e.buckets[b].shape == k {
			return b
		}
	}
	if len(x.buckets) > fewBuckets {
		if b, ok := e.shapes[k]; ok {
			return b
		}
	}
	b := int32(len(e.buckets))
	if len(x.buckets) >= fewBuckets {
		e.shapes[k] = b
	}
	e.buckets = append(e.buckets, bucket{shape: k, lane: l, never: e.hopeless(j)})
	x.buckets = append(x.buckets, b)
	return b
}

// fewBuckets of a lane are found by looking at each.
const fewBuckets = 4

// laneOf is the lane of a project for a first class, -1 when it has none.
func (e *engine) laneOf(c, account int32) int32 { return e.laneAt[int(c)*e.ledger.width+int(account)] }

// headOf is the next job of a bucket that isn't done; nil when it is empty or
// no such job can start.
func (e *engine) headOf(b int32) *job {
	x := &e.buckets[b]
	if x.never != nil {
		return nil
	}
	if x.loose {
		sortBy(x.jobs, func(i, k int32) bool { return e.jobBefore(&e.jobs[i], &e.jobs[k]) })
		x.loose, x.head = false, 0
	}
	for x.head < len(x.jobs) {
		if j := &e.jobs[x.jobs[x.head]]; !j.done {
			return j
		}
		x.head++
	}
	return nil
}

// inOrder is the jobs of a line, the first one first.
func (e *engine) inOrder(l int32) []int32 {
	x := &e.lines[l]
	if x.loose {
		sortBy(x.jobs, func(i, k int32) bool { return e.jobBefore(&e.jobs[i], &e.jobs[k]) })
		x.loose = false
	}
	return x.jobs
}
