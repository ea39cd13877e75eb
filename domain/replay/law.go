package replay

import (
	"fmt"
	"time"

	"gpupool/domain/pool"
)

// Law is what a check of a run found: at every moment at which something
// changed, no member is below its guarantee in a class while a job of it waits
// that would fit if GPUs which others have beyond their guarantees were taken
// back. It reads what the run wrote down, not what the engine thought.
type Law struct {
	Moments  int    `json:"moments"`  // at which the classes that changed were looked at
	Contests int    `json:"contests"` // jobs that waited there inside their member's guarantee: the hard cases
	Own      int    `json:"own"`      // of those, excused by the member's own earlier job, for which GPUs were reserved
	Broken   int    `json:"broken"`
	First    string `json:"first,omitempty"` // the first break in a sentence
	at       pool.Instant
}

// CheckLaw walks through a run. What excuses a wait: the job has a promise; the
// borrowers in its way are inside their minimum run, or have notice for another
// job; an earlier and larger job of the same member holds the reservation of
// the class, which the later one would delay (counted in Own).
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
		borrower := s.takeable(c, promised, victim, j, now)
		switch {
		case borrower == "":
		case s.behindOwn(c.id, j, now):
			l.Own++
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

// behindOwn tells whether GPUs of a class are reserved for an earlier job of
// the same member.
func (s *scene) behindOwn(c pool.ClassID, j *Outcome, now pool.Instant) bool {
	for k := len(s.res.Reserved) - 1; k >= 0; k-- { // few hold at once, but the list is long
		r := &s.res.Reserved[k]
		if r.From > now || r.To <= now || r.Class != c {
			continue
		}
		x := s.job(r.Job)
		return x.Org == j.Org && !j.before(x) && x.Units() > j.Units()
	}
	return false
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

// takeable names a borrower whose GPUs, with those of other borrowers and what
// is free, would let a job start; empty when they would not.
func (s *scene) takeable(c *sceneClass, promised []int, victim map[pool.AttemptID]bool, j *Outcome, now pool.Instant) pool.OrgID {
	room := make([]int, c.hi-c.lo)
	for n := range room {
		room[n] = s.nodes[c.lo+int32(n)].free - promised[n]
	}
	var borrower pool.OrgID
	for _, i := range c.running {
		r := &s.res.Jobs[i]
		a := &r.Attempts[s.live[i]-1]
		takes := victim[pool.AttemptID{Job: r.ID, N: a.N}] // its GPUs are free for the promised job, which is counted
		if x := a.split(now); !takes && r.Org != j.Org && a.Admitted < now && a.Admitted.Add(time.Duration(s.pool.MinRun)) <= now && x.Loan+x.Spot > 0 {
			takes, borrower = true, r.Org
		}
		if takes {
			for _, g := range a.Placement {
				room[s.nodeAt[g.Node]-c.lo] += g.GPUs
			}
		}
	}
	nodes := 0
	for _, r := range room {
		if r >= j.GPUs {
			nodes++
		}
	}
	if nodes < j.Nodes {
		return ""
	}
	return borrower
}
