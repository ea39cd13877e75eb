package quota

import (
	"slices"

	"gpupool/domain/pool"
)

// Likely is when a job probably starts: in eight cases of ten between Early and
// Late, as often before Middle as after it. The zero value: it can't be told.
type Likely struct{ Early, Middle, Late pool.Instant }

// Known tells whether there is one.
func (l Likely) Known() bool { return l.Middle != 0 }

// A likely start is found by playing the pool's future several times. Each
// attempt ends once early, once late, and in equal steps between; which of them
// meet in one play is drawn from the jobs' ids, so that the same snapshot always
// gives the same answer. Large pools are played fewer times and in longer steps, and very large
// ones not at all.
const (
	looks    = 400 // decisions in one play
	fewLooks = 6
	effort   = 400_000 // attempts, jobs and nodes that all decisions together may look at
)

// plays are prime, so that any two attempts meet in every combination of their
// ends equally often.
var plays = [...]int{19, 11, 7, 5}

// likely plays the future of a snapshot after a plan.
func likely(s Snapshot, plan Plan, id pool.JobID, now pool.Instant) Likely {
	if s.Habits == nil {
		return Likely{}
	}
	s = s.narrow(id)
	size := len(s.Running) + len(s.Pending) + len(s.Nodes)
	rounds := plays[len(plays)-1]
	if size*rounds*fewLooks > effort {
		return Likely{} // a pool too large to be played in time
	}
	for _, n := range plays {
		if n*fewLooks*4*size <= effort {
			rounds = n
			break
		}
	}
	most := max(fewLooks, min(looks, effort/size/rounds))
	starts := make([]pool.Instant, rounds)
	for k := range starts {
		f := newForecast(s, now)
		f.ends = func(a *Attempt, now pool.Instant) pool.Instant {
			h := lot(a.ID.Job)
			n := uint64(rounds)
			at := int64((h/n + uint64(k)*(1+h/n/n%(n-1))) % n)
			return s.Habits.end(a, now, certain*(2*at+1)/int64(2*rounds))
		}
		starts[k] = f.start(plan, id, now, most)
	}
	slices.Sort(starts)
	l := Likely{starts[rounds/10], starts[rounds/2], starts[rounds-1-rounds/10]}
	if l.Late == pool.Never {
		return Likely{}
	}
	return l.widened(now)
}

// widened gives room for what no play knows: work that is submitted later, and
// habits that change. The interval begins an eighth of the way sooner and ends
// a quarter later, as was measured on thirty days of the Philly trace.
func (l Likely) widened(now pool.Instant) Likely {
	l.Early -= (l.Early - now) / 8
	l.Late += (l.Late - now) / 4
	return l
}

// lot is a number that hangs on nothing but the id (FNV-1a, finished by a
// multiplication).
func lot(id pool.JobID) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(id) {
		h = (h ^ uint64(id[i])) * 1099511628211
	}
	h ^= h >> 32
	return h * 0x9e3779b97f4a7c15 >> 8
}

// start plays until the job starts. The first looks are at every change; the
// steps between later ones grow, and a start that was found after several
// changes at once is put between the looks.
func (f *forecast) start(plan Plan, id pool.JobID, now pool.Instant, most int) pool.Instant {
	changes, before := 1, now
	for left := most; ; left-- {
		if f.apply(plan, id, now) {
			if changes > 1 {
				return before + (now-before)/2
			}
			return now
		}
		if left == 0 {
			return pool.Never
		}
		if left <= most/2 {
			changes = 1 + changes*5/4
		}
		next, ok := f.next(now, func(n int) int { return min(changes, n) - 1 })
		if !ok {
			return pool.Never
		}
		before, now = now, next
		f.end(now)
		plan = Decide(f.snap, now)
	}
}

// narrow leaves out the classes that have nothing to do with a job: those that
// no pending job shares with its own, directly or through others.
func (s Snapshot) narrow(id pool.JobID) Snapshot {
	keep := map[pool.ClassID]bool{}
	for i := range s.Pending {
		if s.Pending[i].ID == id {
			for _, c := range s.Pending[i].Classes {
				keep[c] = true
			}
		}
	}
	touches := func(j *Job) bool { return slices.ContainsFunc(j.Classes, func(c pool.ClassID) bool { return keep[c] }) }
	for more := true; more; {
		n := len(keep)
		for i := range s.Pending {
			if j := &s.Pending[i]; len(j.Classes) > 1 && touches(j) {
				for _, c := range j.Classes {
					keep[c] = true
				}
			}
		}
		more = len(keep) > n
	}
	if len(keep) >= len(s.Classes) {
		return s
	}
	needed := map[pool.JobID]bool{} // that kept jobs wait for
	pending := make([]Job, 0, len(s.Pending))
	for i := range s.Pending {
		if j := &s.Pending[i]; touches(j) {
			pending = append(pending, *j)
			for _, d := range j.DependsOn {
				needed[d] = true
			}
		}
	}
	running := make([]Attempt, 0, len(s.Running))
	for i := range s.Running {
		if a := &s.Running[i]; keep[a.Class] || needed[a.ID.Job] {
			running = append(running, *a)
		}
	}
	s.Pending, s.Running = pending, running
	return s
}
