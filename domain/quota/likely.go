package quota

import (
	"slices"
	"time"

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
// gives the same answer. What is submitted meanwhile is what was submitted in the
// days before: one play repeats the last day, the next the last two, and so on.
const (
	plays  = 7       // prime, so that any two attempts meet in every combination of their ends equally often
	effort = 600_000 // what all plays together may count (see work)
	sharp  = 32      // looks are as far apart as this part of the time since now, and farther when effort runs out
)

// Plays are the starts of one job in all plays, sorted; pool.Never where a play
// was given up before.
type Plays [plays]pool.Instant

// likely is what the plays say, before anything was learnt from what came true.
func (p Plays) likely() Likely {
	if p[plays-1] == pool.Never {
		return Likely{}
	}
	return Likely{p[0], p[plays/2], p[plays-1]}
}

// play plays the future of a snapshot whose plan was carried out, until all of
// these jobs have started; nil means all that wait.
func play(s Snapshot, now pool.Instant, only pool.JobID) map[pool.JobID]Plays {
	if s.Habits == nil || len(s.Pending) == 0 {
		return nil
	}
	if only != "" {
		s = s.narrow(only)
	}
	starts := make(map[pool.JobID]*Plays, len(s.Pending))
	for i := range s.Pending {
		if id := s.Pending[i].ID; only == "" || id == only {
			starts[id] = &Plays{}
		}
	}
	for k := range plays {
		for _, p := range starts {
			p[k] = pool.Never
		}
		ends := func(a *Attempt, now pool.Instant) pool.Instant {
			return s.Habits.end(a, now, chance(a.ID.Job, k))
		}
		f := newForecast(s, now, ends, s.Habits.coming(&s, now, k))
		for left := len(starts); left > 0; {
			plan, ok := f.look(f.step(effort / plays))
			if !ok || f.now.Sub(now) > horizon {
				break
			}
			for _, a := range plan.Admit {
				if p := starts[a.Job]; p != nil && p[k] == pool.Never {
					p[k] = f.now.Add(-f.late)
					left--
				}
			}
		}
	}
	out := make(map[pool.JobID]Plays, len(starts))
	for id, p := range starts {
		out[id] = soonestFirst(*p)
	}
	return out
}

// soonestFirst are starts with those that weren't reached last.
func soonestFirst(p Plays) Plays {
	for i, t := range p {
		if t == 0 {
			p[i] = pool.Never
		}
	}
	slices.Sort(p[:])
	return p
}

// chance is at which of its equally likely ends a job ends in a play.
func chance(id pool.JobID, k int) int64 {
	h := lot(id)
	at := int64((h/plays + uint64(k)*(1+h/plays/plays%(plays-1))) % plays)
	return certain * (2*at + 1) / (2 * plays)
}

// step is how far the next look is from this one: ever farther as what may be
// counted is used up.
func (f *forecast) step(most int) time.Duration {
	part, left := time.Duration(sharp), most-f.ops
	for ; left < most/2 && part > 1; left *= 2 {
		part /= 2
	}
	return f.now.Sub(f.from) / part
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

const day = 24 * time.Hour

// coming is what is submitted in a play: the same as in the k+1 last days, as
// far as they are known, over and over. Nil: nothing is known.
func (h *Habits) coming(s *Snapshot, now pool.Instant, k int) func() (Job, bool) {
	if len(h.submitted) < evidence {
		return nil
	}
	known := now.Sub(h.submitted[0].Submitted)
	span := known
	if days := int(known / day); days > 0 {
		span = time.Duration(k%days+1) * day
	}
	if span <= time.Hour {
		return nil
	}
	classes := map[pool.ClassID]bool{}
	for i := range s.Pending {
		for _, c := range s.Pending[i].Classes {
			classes[c] = true
		}
	}
	from, _ := slices.BinarySearchFunc(h.submitted, now.Add(-span)+1, func(j Job, t pool.Instant) int { return compare(int64(j.Submitted), int64(t)) })
	at, round, n := from, 1, 0
	return func() (Job, bool) {
		for range len(h.submitted) - from {
			if at == len(h.submitted) {
				at, round = from, round+1
			}
			j := h.submitted[at]
			at++
			shift := time.Duration(round) * span
			if j.Submitted = j.Submitted.Add(shift); j.Submitted <= now || !slices.ContainsFunc(j.Classes, func(c pool.ClassID) bool { return classes[c] }) {
				continue
			}
			if j.NotBefore != 0 {
				j.NotBefore = j.NotBefore.Add(shift)
			}
			n++
			j.ID = pool.JobID("coming-" + decimal(k) + "-" + decimal(n))
			return j, true
		}
		return Job{}, false
	}
}

func decimal(n int) string {
	if n < 10 {
		return string(rune('0' + n))
	}
	return decimal(n/10) + string(rune('0'+n%10))
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
