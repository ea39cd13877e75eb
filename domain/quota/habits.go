package quota

import (
	"slices"
	"time"

	"gpupool/domain/pool"
)

// Past is one attempt that has ended, as evidence of how its organisation uses
// declared limits.
type Past struct {
	Org      pool.OrgID
	Class    pool.ClassID
	Declared time.Duration // its limit; without one it is no evidence
	Ran      time.Duration
	// Cut: it was stopped for others, or its node failed. It would have run
	// longer than it did, nobody knows how much: it is censored. What a person
	// stopped has ended: its GPUs came back.
	Cut bool
}

// Habits is how long work runs for each part of its declared limit: estimates
// after Kaplan and Meier, for each organisation by class and by length, for
// each organisation, and for the whole pool. The finest that has enough
// evidence is asked.
type Habits struct {
	of        map[habit]*survival
	submitted []Job // lately, the oldest first
	record    Record
}

// Expecting are the habits with what was submitted lately: as much will be.
func (h *Habits) Expecting(jobs []Job) *Habits {
	if h == nil {
		return nil
	}
	next := *h
	next.submitted = slices.Clone(jobs)
	slices.SortStableFunc(next.submitted, func(x, y Job) int { return compare(int64(x.Submitted), int64(y.Submitted)) })
	return &next
}

// Judged are the habits with what came of the starts that were told.
func (h *Habits) Judged(told []Told) *Habits {
	if h == nil {
		return nil
	}
	next := *h
	next.record = judge(told)
	return &next
}

// Record is how told starts came true.
func (h *Habits) Record() Record {
	if h == nil {
		return judge(nil)
	}
	return h.record
}

// habit names a group of attempts. Empty fields mean all.
type habit struct {
	org    pool.OrgID
	class  pool.ClassID
	length int // of the declared limit, see lengths; -1 = all
}

// lengths are the upper ends of the groups of declared limits.
var lengths = [...]time.Duration{15 * time.Minute, time.Hour, 4 * time.Hour, 12 * time.Hour, 24 * time.Hour, 72 * time.Hour}

func lengthOf(declared time.Duration) int {
	i, _ := slices.BinarySearch(lengths[:], declared)
	return i
}

const (
	parts    = 1000         // of a limit
	certain  = 1 << 30      // a probability of one
	evidence = 20           // ends that a group needs
	atRisk   = evidence / 2 // attempts that ran at least as long, to tell how it goes on
)

// survival is the chance that work still runs after so many parts of its limit.
type survival struct {
	ends   int
	risk   [parts + 1]int32 // attempts that ran at least so long
	ended  [parts + 1]int32
	runsOn [parts + 1]int32 // in parts of certain
}

// Learn turns finished attempts into habits; nil when there is no evidence.
func Learn(past []Past) *Habits {
	h := &Habits{of: map[habit]*survival{}}
	for _, p := range past {
		if p.Declared <= 0 || p.Ran < 0 {
			continue
		}
		part := int(min(p.Ran.Milliseconds()*parts/max(1, p.Declared.Milliseconds()), parts))
		l := lengthOf(p.Declared)
		for _, k := range [...]habit{{p.Org, p.Class, l}, {p.Org, "", l}, {p.Org, "", -1}, {"", "", l}, {"", "", -1}} {
			s := h.of[k]
			if s == nil {
				s = &survival{}
				h.of[k] = s
			}
			s.risk[part]++ // summed up below
			if !p.Cut {
				s.ended[part]++
				s.ends++
			}
		}
	}
	if s := h.of[habit{length: -1}]; s == nil || s.ends < evidence {
		return nil
	}
	for _, s := range h.of {
		s.estimate()
	}
	h.record = judge(nil)
	return h
}

// estimate multiplies, part by part, the share of those at risk that went on.
func (s *survival) estimate() {
	for i := parts - 1; i >= 0; i-- {
		s.risk[i] += s.risk[i+1]
	}
	left := int64(certain)
	for i := range s.runsOn {
		if n := int64(s.risk[i]); n > 0 {
			left = left * (n - int64(s.ended[i])) / n
		}
		s.runsOn[i] = int32(left)
	}
}

// end is when an attempt probably ends: at a chance of u in 1<<30 it has ended
// before, given that it runs now. Never after its declared end.
func (h *Habits) end(a *Attempt, now pool.Instant, u int64) pool.Instant {
	declared := a.MaxEnd.Sub(a.Started)
	if a.MaxEnd == pool.Never || a.MaxEnd == 0 || declared <= 0 {
		return pool.Never
	}
	if a.MaxEnd <= now {
		return a.MaxEnd
	}
	run := max(0, now.Sub(a.Started))
	part := int(run.Milliseconds() * parts / declared.Milliseconds())
	s := h.fitting(a, declared, part)
	if s == nil { // nobody ran so long: any moment is as good as another
		return now.Add(time.Duration(a.MaxEnd.Sub(now).Milliseconds()*u/certain) * time.Millisecond)
	}
	want := int32(s.before(part) * (certain - u) / certain)
	at, _ := slices.BinarySearchFunc(s.runsOn[part:], want, func(x, want int32) int {
		if x > want {
			return -1
		}
		return 1
	})
	// Inside of its part the end lies in the middle.
	end := a.Started.Add(time.Duration(declared.Milliseconds()*int64(2*(part+at)+1)/(2*parts)) * time.Millisecond)
	return max(now, min(end, a.MaxEnd))
}

// fitting is the finest group with enough evidence of work that ran so long.
func (h *Habits) fitting(a *Attempt, declared time.Duration, part int) *survival {
	l := lengthOf(declared)
	for _, k := range [...]habit{{a.Org, a.Class, l}, {a.Org, "", l}, {a.Org, "", -1}, {"", "", l}, {"", "", -1}} {
		if s := h.of[k]; s != nil && s.ends >= evidence && s.risk[part] >= atRisk && s.before(part) > 0 {
			return s
		}
	}
	return nil
}

func (s *survival) before(part int) int64 {
	if part == 0 {
		return certain
	}
	return int64(s.runsOn[part-1])
}
