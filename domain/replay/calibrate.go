package replay

import (
	"fmt"
	"slices"
	"time"

	"gpupool/domain/pool"
	"gpupool/domain/quota"
)

// Calibration is how the starts that jobs were told came true. Jobs that had to
// wait were asked about right after they were submitted, with nothing known but
// what had happened by then.
type Calibration struct {
	Asked    int           // jobs
	Likely   int           // of them with a likely start
	Inside   int           // that started inside their interval
	Before   int           // sooner
	After    int           // later
	Bounds   int           // with a latest start
	Late     int           // that started after it:
	Claimed  int           // an owner had taken GPUs back in between
	Overtook int           // else: work that was submitted later had started before
	Broken   int           // else: neither, which must not be
	Error    time.Duration // median distance of the start from the middle of the interval
	Wait     time.Duration // median wait of those with a likely start
	Width    time.Duration // median length of the interval
	Record   quota.Record  // what was learnt from them by the end
}

// calibrator asks about waiting jobs in a run, of those that have to wait every
// so manyth, so that it comes to about as many as it shall. What came of them is
// learnt from as in the portal: a start is told before it is judged, and judged
// before it is learnt from.
type calibrator struct {
	most    int // asked about, or a few more
	jobs    int // in the trace
	met     int // that had to wait
	next    int // of them, the one that is asked about
	now     pool.Instant
	fresh   []int                // submitted at this moment
	all     []int                // submitted jobs, the oldest first
	last    map[pool.OrgID][]int // the same of each member
	told    []told
	habits  *quota.Habits
	learned pool.Instant
}

type told struct {
	job    int
	at     pool.Instant
	by     pool.Instant // the latest start
	likely quota.Likely
	played quota.Likely
}

func newCalibrator(most, jobs int) *calibrator {
	return &calibrator{most: most, jobs: jobs, last: map[pool.OrgID][]int{}}
}

// stride is how many that wait are passed over for each that is asked about, if
// as many wait as so far.
func (c *calibrator) stride() int {
	waiting := (c.jobs - len(c.all)) * (c.met + 5) / (len(c.all) + 10)
	left := max(1, c.most-len(c.told))
	return max(1, (waiting+left-1)/left)
}

// pastJobs of each member tell how its declared limits are used, as in the portal.
const pastJobs = 500

func (c *calibrator) submitted(i int, o pool.OrgID) {
	c.fresh, c.all = append(c.fresh, i), append(c.all, i)
	c.last[o] = append(c.last[o], i)
	if n := len(c.last[o]); n > 2*pastJobs {
		c.last[o] = slices.Clone(c.last[o][n-pastJobs:])
	}
}

// ask asks about a job that was submitted now and waits.
func (c *calibrator) ask(s *sim, now pool.Instant) {
	c.now = now
	for _, i := range c.fresh {
		k, waits := s.pending[s.res.Jobs[i].ID]
		if !waits {
			continue
		}
		if c.met++; c.met < c.next {
			continue
		}
		c.next = c.met + c.stride()
		snap := s.snap
		snap.Habits = c.learn(s, now).Judged(c.came(s, now))
		a := quota.Quote(snap, snap.Pending[k], now)
		c.told = append(c.told, told{i, now, a.Start, a.Likely, a.Played})
	}
	c.fresh = c.fresh[:0]
}

// learn is what the run has shown so far, at most an hour old.
func (c *calibrator) learn(s *sim, now pool.Instant) *quota.Habits {
	if c.learned != 0 && now.Sub(c.learned) < time.Hour {
		return c.habits
	}
	var past []quota.Past
	for _, o := range s.snap.Orgs {
		all := c.last[o.ID]
		for _, i := range all[max(0, len(all)-pastJobs):] {
			j := &s.res.Jobs[i]
			for _, a := range j.Attempts {
				if a.MaxEnd == pool.Never {
					continue
				}
				end, cut := a.End, a.Stopped
				if end > now {
					end, cut = now, true
				}
				past = append(past, quota.Past{Org: j.Org, Class: a.Class, Declared: a.MaxEnd.Sub(a.Admitted), Ran: end.Sub(a.Admitted), Cut: cut})
			}
		}
	}
	c.habits, c.learned = quota.Learn(past).Expecting(c.lately(s, now)), now
	return c.habits
}

// lately are the jobs of the last week.
func (c *calibrator) lately(s *sim, now pool.Instant) []quota.Job {
	var out []quota.Job
	for i := len(c.all) - 1; i >= 0; i-- {
		j := &s.res.Jobs[c.all[i]]
		if now.Sub(j.Submit) > 7*24*time.Hour {
			break
		}
		out = append(out, s.queued(j))
	}
	return out
}

// came is what is known now of the starts that were told.
func (c *calibrator) came(s *sim, now pool.Instant) []quota.Told {
	out := make([]quota.Told, 0, len(c.told))
	for _, t := range c.told[max(0, len(c.told)-quota.LastTold):] {
		x := quota.Told{At: t.at, Played: t.played, Start: now, Open: true}
		if all := s.res.Jobs[t.job].Attempts; len(all) > 0 {
			x.Start, x.Open = all[0].Admitted, false
		}
		out = append(out, x)
	}
	return out
}

// judge compares what was told with what came.
func (c *calibrator) judge(s *sim) *Calibration {
	res := &s.res
	out := &Calibration{}
	var errors, waits, widths []time.Duration
	for _, t := range c.told {
		j := &res.Jobs[t.job]
		if len(j.Attempts) == 0 {
			continue // it never started in this run
		}
		out.Asked++
		start := j.Attempts[0].Admitted
		if l := t.likely; l.Known() {
			out.Likely++
			switch {
			case start < l.Early:
				out.Before++
			case start > l.Late:
				out.After++
			default:
				out.Inside++
			}
			errors = append(errors, max(start-l.Middle, l.Middle-start).Sub(0))
			waits = append(waits, start.Sub(t.at))
			widths = append(widths, l.Late.Sub(l.Early))
		}
		if t.by == pool.Never {
			continue
		}
		out.Bounds++
		if start <= t.by {
			continue
		}
		out.Late++
		switch {
		case slices.ContainsFunc(res.Promises, func(p Promise) bool {
			return p.Rule == quota.ByQuota && p.Job != j.ID && p.Made > t.at && p.Made <= start
		}):
			out.Claimed++
		case slices.ContainsFunc(res.Jobs, func(o Outcome) bool { return o.Submit > t.at && len(o.Attempts) > 0 && o.Attempts[0].Admitted <= start }):
			out.Overtook++
		default:
			out.Broken++
		}
	}
	out.Error, out.Wait, out.Width = middle(errors), middle(waits), middle(widths)
	out.Record = c.habits.Judged(c.came(s, c.now)).Record()
	return out
}

func middle(d []time.Duration) time.Duration {
	slices.Sort(d)
	return quantile(d, 50)
}

// String says the calibration as measured.
func (c Calibration) String() string {
	if c.Asked == 0 {
		return "expected   no job waited"
	}
	s := fmt.Sprintf("expected   %d jobs that had to wait were told their start at their submit (about as many as --expected says)\n", c.Asked)
	if c.Likely > 0 {
		s += fmt.Sprintf("  likely   %d told: %s started inside their 80 %% interval, %s before, %s after; median error %s, interval %s, wait %s\n", c.Likely,
			of(c.Inside, c.Likely), of(c.Before, c.Likely), of(c.After, c.Likely), c.Error.Round(time.Second), c.Width.Round(time.Second), c.Wait.Round(time.Second))
		s += "           each was told by what came of those before it: " + learnt(c.Record) + "\n"
	}
	s += fmt.Sprintf("  latest   %d told: %d started after it, %d when an owner had claimed, %d overtaken by later submissions, %d with neither", c.Bounds, c.Late, c.Claimed, c.Overtook, c.Broken)
	return s
}

func learnt(r quota.Record) string {
	if !r.Own() {
		return fmt.Sprintf("%d are too few, so the intervals are twice as wide as the plays said", r.N)
	}
	return fmt.Sprintf("of %d, intervals from %d to %d thousandths of the waits that the plays said, the middle at %d", r.N, r.Early, r.Late, r.Middle)
}

// of is a share in percent with one digit behind the point.
func of(n, all int) string {
	x := (1000*n + all/2) / all
	return fmt.Sprintf("%d.%d %%", x/10, x%10)
}
