package quota

import (
	"fmt"
	"strings"
	"time"

	"gpupool/domain/pool"
)

// job is a pending job in the working state.
type job struct {
	source    int32 // index in Snapshot.Pending
	org       int32
	account   int32
	classes   []int32
	n, g      int
	units     int
	tier      pool.Tier
	priority  int
	submitted pool.Instant
	maxRun    pool.Instant // milliseconds; 0 = none
	longest   pool.Instant // maxRun rounded up to runStep
	mask      int32
	bucket    int32 // -1 when it doesn't compete
	position  int32
	done      bool // admitted or promised
	promised  bool
	stopAt    pool.Instant // of the victims it waits for
	victims   int          // how many
	fixed     bool
	reasons   []pool.Reason // of a job that doesn't compete
}

// bucket is a queue of jobs that are alike in everything a decision looks at:
// only its head is asked.
type bucket struct {
	lane  int32
	jobs  []int32
	head  int
	never []pool.Reason // why such a job can't ever start; nil when it can
}

// lane is the buckets of one project for one first class.
type lane struct {
	org, account, class int32
	buckets             []int32
}

// shape is the exact key of a bucket. Texts stand in for slices.
type shape struct {
	account, mask int32
	n, g          int
	tier          pool.Tier
	priority      int
	longest       pool.Instant
	fixed         bool
	class         int32
	more          string // further classes and charges
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

func (e *engine) charges(j *job) []Charge { return e.in.Pending[j.source].Charges }
func (e *engine) id(j *job) pool.JobID    { return e.in.Pending[j.source].ID }

// indexJobs orders the pending jobs as their organisations' queues see them
// and puts those that compete into buckets.
func (e *engine) indexJobs() {
	e.jobs = make([]job, 0, len(e.in.Pending))
	for i := range e.in.Pending {
		e.jobs = append(e.jobs, e.readJob(int32(i)))
	}
	order := make([]int32, len(e.jobs))
	for i := range order {
		order[i] = int32(i)
	}
	sortBy(order, func(i, k int32) bool {
		x, y := &e.jobs[i], &e.jobs[k]
		if x.org != y.org {
			return x.org < y.org
		}
		if a, b := first(x.classes), first(y.classes); a != b {
			return a < b
		}
		if c := e.queueOrder(x, y); c != 0 {
			return c < 0
		}
		return e.id(x) < e.id(y)
	})
	e.jobAt = make(map[pool.JobID]int32, len(e.jobs))
	kept := make([]job, 0, len(e.jobs))
	for _, i := range order {
		j := e.jobs[i]
		if _, twice := e.jobAt[e.id(&j)]; twice {
			e.problem("job %s is pending twice", e.id(&j))
			continue
		}
		e.jobAt[e.id(&j)] = int32(len(kept))
		kept = append(kept, j)
	}
	e.jobs = kept
	shapes := make(map[shape]int32)
	lanes := make(map[[2]int32]int32)
	var org, class, position int32 = -1, -1, 0
	for i := range e.jobs {
		j := &e.jobs[i]
		if c := first(j.classes); j.org != org || c != class {
			org, class, position = j.org, c, 0
		}
		position++
		j.position = position
		if j.reasons = e.excluded(j); j.reasons != nil {
			j.bucket = -1
			continue
		}
		j.bucket = e.bucketOf(j, shapes, lanes)
		b := &e.buckets[j.bucket]
		if len(b.jobs) == 0 && b.never == nil {
			b.never = e.hopeless(j)
		}
		if b.never != nil {
			j.reasons, j.bucket = b.never, -1
			continue
		}
		b.jobs = append(b.jobs, int32(i))
	}
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

func (e *engine) readJob(i int32) job {
	p := &e.in.Pending[i]
	j := job{source: i, org: e.orgAt[p.Org], account: accountOf(e, p.Org, p.Project, p.ID), tier: p.Tier, priority: p.Priority,
		submitted: p.Submitted, maxRun: pool.Instant(p.MaxRun.Milliseconds()), fixed: p.Fixed, bucket: -1}
	j.n, j.g = count(e, p.Nodes, "nodes", p.ID), count(e, p.GPUs, "GPUs", p.ID)
	j.units, j.longest = j.n*j.g, roundUp(j.maxRun)
	j.mask = e.narrow(e.projects[j.account].mask, p.DataSite)
	j.classes = make([]int32, 0, len(p.Classes))
	for _, id := range p.Classes {
		if c, ok := e.classAt[id]; ok {
			j.classes = append(j.classes, c)
		} else {
			e.problem("job %s asks for the unknown class %q", p.ID, id)
		}
	}
	return j
}

// excluded lists what keeps a job out of the contest, whatever is free.
func (e *engine) excluded(j *job) []pool.Reason {
	p := &e.in.Pending[j.source]
	var out []pool.Reason
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
		return pool.Reason{Code: pool.NeverFits, Class: id, Need: int64(j.units), Limit: int64(max(0, most))}, true
	}
	return pool.Reason{}, false
}

func (e *engine) siteReason(j *job, c int32) pool.Reason {
	if site := e.in.Pending[j.source].DataSite; site != "" && e.allowed(e.projects[j.account].mask, c) > 0 {
		return pool.Reason{Code: pool.Data, Class: e.classes[c].ID, Ref: string(site)}
	}
	return pool.Reason{Code: pool.Site, Class: e.classes[c].ID, Have: int64(e.allowed(j.mask, c)), Limit: int64(e.racks[c].hi - e.racks[c].lo)}
}

func (e *engine) bucketOf(j *job, shapes map[shape]int32, lanes map[[2]int32]int32) int32 {
	k := shape{account: j.account, mask: j.mask, n: j.n, g: j.g, tier: j.tier, priority: j.priority, longest: j.longest, fixed: j.fixed, class: j.classes[0]}
	if p := &e.in.Pending[j.source]; len(j.classes) > 1 || len(p.Charges) > 0 {
		var t strings.Builder
		for _, c := range j.classes[1:] {
			fmt.Fprintf(&t, "%d,", c)
		}
		for _, c := range p.Charges {
			fmt.Fprintf(&t, ";%q %q %d %t", c.Budget, c.Class, c.Price, c.Included)
		}
		k.more = t.String()
	}
	if b, ok := shapes[k]; ok {
		return b
	}
	at := [2]int32{j.account, k.class}
	l, ok := lanes[at]
	if !ok {
		l = int32(len(e.lanes))
		lanes[at] = l
		e.lanes = append(e.lanes, lane{org: j.org, account: j.account, class: k.class})
		e.orgs[j.org].lanes = append(e.orgs[j.org].lanes, l)
	}
	b := int32(len(e.buckets))
	shapes[k] = b
	e.buckets = append(e.buckets, bucket{lane: l})
	e.lanes[l].buckets = append(e.lanes[l].buckets, b)
	return b
}

// headOf is the next job of a bucket that isn't done; nil when it is empty.
func (e *engine) headOf(b int32) *job {
	x := &e.buckets[b]
	for x.head < len(x.jobs) {
		if j := &e.jobs[x.jobs[x.head]]; !j.done {
			return j
		}
		x.head++
	}
	return nil
}
