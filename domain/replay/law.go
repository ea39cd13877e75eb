package replay

import (
	"fmt"
	"time"

	"gpupool/domain/pool"
	"gpupool/domain/quota"
)

// Law is what a check of a run found: at every moment at which something
// changed, no member is below its guarantee in a class while a job of it waits
// that would fit if GPUs which others have beyond their guarantees were taken
// back. It reads what the run wrote down, not what the engine thought.
type Law struct {
	Moments  int    `json:"moments"`         // at which the classes that changed were looked at
	Contests int    `json:"contests"`        // jobs that waited there inside their member's guarantee: the hard cases
	Full     int    `json:"full"`            // of those: wouldn't fit with all loans and spot work of others gone
	MinRun   int    `json:"min_run"`         // would fit in the place of work that is inside its minimum run only
	Alone    int    `json:"alone"`           // would fit, and nobody borrows in the class
	Nodes    int    `json:"nodes"`           // would run on nodes, past the start of the member's own earlier job, that are reserved for that
	Broken   int    `json:"broken"`          // none of these
	First    string `json:"first,omitempty"` // the first break in a sentence
	at       pool.Instant
}

// CheckLaw walks through a run. A wait inside a guarantee is right if no
// borrower could make room by giving back: the job has a promise; it wouldn't
// fit in the place of all of them; those in its way are inside their minimum
// run; there is none; or it fits only on nodes that the class's reservation
// keeps for an earlier job of its own member, and would still run when that
// starts.
func CheckLaw(p Pool, res Result) Law {
	var l Law
	s := newScene(p, &res)
	s.sweep(func(int, pool.Instant) {}, func(now pool.Instant) {
		for c := range s.classes {
			if s.classes[c].touched {
				l.Moments++
				s.lawAt(&l, c, now)
			}
		}
	})
	return l
}

// lawAt looks at one class at one moment.
func (s *scene) lawAt(l *Law, class int, now pool.Instant) {
	c := &s.classes[class]
	if len(c.waiting) == 0 {
		return
	}
	victim, beneficiary, use := map[pool.AttemptID]bool{}, map[pool.JobID]bool{}, make([]int, len(c.members))
	promised := make([]int, c.hi-c.lo)
	for i := range s.promise {
		p := &s.res.Promises[i]
		for _, v := range p.Victims {
			victim[v] = true
		}
		beneficiary[p.Job] = true
		if s.classAt[p.Class] != class {
			continue
		}
		for _, g := range p.Place {
			promised[s.nodeAt[g.Node]-c.lo] += g.GPUs
			if j := s.job(p.Job); j.Tier != pool.Spot {
				use[s.orgs[j.Org]] += g.GPUs
			}
		}
	}
	for _, i := range c.running {
		if j := &s.res.Jobs[i]; j.Tier != pool.Spot && !victim[pool.AttemptID{Job: j.ID, N: s.live[i]}] {
			use[s.orgs[j.Org]] += j.Units()
		}
	}
	// Of jobs that are alike, the one that comes first in its member's queue speaks.
	asked := map[[3]int]int32{}
	for _, i := range c.waiting {
		j := &s.res.Jobs[i]
		o := s.orgs[j.Org]
		k := [3]int{o, j.Nodes, j.GPUs}
		if j.Tier == pool.Spot || beneficiary[j.ID] || use[o]+j.Units() > c.members[o].guaranteed {
			continue
		}
		if other, ok := asked[k]; !ok || j.before(&s.res.Jobs[other]) {
			asked[k] = i
		}
	}
	for _, i := range asked {
		j := &s.res.Jobs[i]
		o := s.orgs[j.Org]
		l.Contests++
		f := &field{scene: s, c: c, now: now, victim: victim, promised: promised, j: j}
		borrower := f.borrower()
		switch {
		case !f.fits(false, nil):
			if f.fits(true, nil) {
				l.MinRun++
			} else {
				l.Full++
			}
		case borrower == "":
			l.Alone++
		case f.delays():
			l.Nodes++
		default:
			said := fmt.Sprintf("at %s %s uses %d of its %d guaranteed GPUs of %s and its job %s (%d x %d) waits, while %s borrows where it would fit",
				now, j.Org, use[o], c.members[o].guaranteed, c.id, j.ID, j.Nodes, j.GPUs, borrower)
			if l.Broken++; l.Broken == 1 || now == l.at && said < l.First { // the order of a map is chance
				l.at, l.First = now, said
			}
		}
	}
}

// before is the order of a member's queue among jobs of one tier.
func (j *Outcome) before(k *Outcome) bool {
	return j.Priority > k.Priority || j.Priority == k.Priority && j.Submit < k.Submit
}

func (s *scene) job(id pool.JobID) *Outcome {
	if s.jobAt == nil {
		s.jobAt = map[pool.JobID]int32{}
		for i := range s.res.Jobs {
			s.jobAt[s.res.Jobs[i].ID] = int32(i)
		}
	}
	return &s.res.Jobs[s.jobAt[id]]
}

// field is a class at a moment, as one waiting job sees it.
type field struct {
	*scene
	c        *sceneClass
	now      pool.Instant
	victim   map[pool.AttemptID]bool
	promised []int // GPUs of each node that wait for their job
	j        *Outcome
}

// fits tells whether the job would fit if what others have on loan or as spot
// were free. soon counts those inside their minimum run too; kept, which may be
// nil, is the most that it may take on each node.
func (f *field) fits(soon bool, kept []int) bool {
	room := make([]int, f.c.hi-f.c.lo)
	for n := range room {
		room[n] = f.nodes[f.c.lo+int32(n)].free - f.promised[n]
	}
	for _, i := range f.c.running {
		r := &f.res.Jobs[i]
		a := &r.Attempts[f.live[i]-1]
		// The GPUs of a victim are free for the promised job, which is counted.
		if f.victim[pool.AttemptID{Job: r.ID, N: a.N}] || f.lent(r, a) && (soon || f.stoppable(a, f.now)) {
			for _, g := range a.Placement {
				room[f.nodeAt[g.Node]-f.c.lo] += g.GPUs
			}
		}
	}
	nodes := 0
	for n, r := range room {
		if r >= f.j.GPUs && (kept == nil || kept[n] >= f.j.GPUs) {
			nodes++
		}
	}
	return nodes >= f.j.Nodes
}

// borrower names another member with GPUs on loan or as spot that nobody has
// taken back yet; empty when there is none.
func (f *field) borrower() pool.OrgID {
	var out pool.OrgID
	for _, i := range f.c.running {
		r := &f.res.Jobs[i]
		a := &r.Attempts[f.live[i]-1]
		if f.lent(r, a) && !f.victim[pool.AttemptID{Job: r.ID, N: a.N}] && (out == "" || r.Org < out) {
			out = r.Org
		}
	}
	return out
}

// lent tells whether an attempt of another member has GPUs on loan or as spot.
func (f *field) lent(r *Outcome, a *Attempt) bool {
	x := a.split(f.now)
	return r.Org != f.j.Org && x.Loan+x.Spot > 0
}

// stoppable tells whether an attempt has run its minimum by a moment.
func (f *field) stoppable(a *Attempt, at pool.Instant) bool {
	return a.Admitted < at && a.Admitted.Add(time.Duration(f.pool.MinRun)) <= at
}

// delays tells whether the job has no place but on nodes that the reservation
// of the class keeps for an earlier job of its member, and would still run there
// when that can start.
func (f *field) delays() bool {
	for k := len(f.res.Reserved) - 1; k >= 0; k-- { // few hold at once, but the list is long
		v := &f.res.Reserved[k]
		if v.From > f.now || v.To <= f.now || v.Class != f.c.id {
			continue
		}
		x := f.job(v.Job)
		if x.Org != f.j.Org || f.j.before(x) || f.until(f.j) <= v.At {
			continue
		}
		kept := make([]int, f.c.hi-f.c.lo) // beside the reserved job, when it starts
		for n := range kept {
			kept[n] = f.nodes[f.c.lo+int32(n)].gpus
		}
		hold := func(place []quota.NodeGPUs) {
			for _, g := range place {
				kept[f.nodeAt[g.Node]-f.c.lo] -= g.GPUs
			}
		}
		for _, i := range f.c.running {
			r := &f.res.Jobs[i]
			a := &r.Attempts[f.live[i]-1]
			back := f.lent(r, a) && f.stoppable(a, v.At.Add(-time.Duration(f.pool.Notice)))
			if !back && a.MaxEnd > v.At && !f.victim[pool.AttemptID{Job: r.ID, N: a.N}] {
				hold(a.Placement)
			}
		}
		for i := range f.promise {
			if p := &f.res.Promises[i]; p.Class == f.c.id && f.until(f.job(p.Job)) > v.At {
				hold(p.Place)
			}
		}
		hold(v.Place)
		if !f.fits(false, kept) {
			return true
		}
	}
	return false
}

// until is when a job that starts now ends at the latest, in the steps of 15
// minutes in which the engine compares limits.
func (f *field) until(j *Outcome) pool.Instant {
	if j.Limit == 0 {
		return pool.Never
	}
	left := j.Limit
	for _, a := range j.Attempts {
		if a.End <= f.now {
			left -= max(0, a.End.Sub(a.Started))
		}
	}
	const step = 15 * time.Minute
	return f.now.Add((max(left, time.Minute) + step - 1) / step * step)
}
