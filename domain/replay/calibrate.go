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
}

// calibrator asks about waiting jobs in a run.
type calibrator struct {
	most    int // asked about at once, when there are more every second is dropped
	every   int // waiting jobs
	met     int
	fresh   []int                // submitted at this moment
	last    map[pool.OrgID][]int // submitted jobs, the oldest first
	told    []told
	habits  *quota.Habits
	learned pool.Instant
}

type told struct {
	job    int
	at     pool.Instant
	by     pool.Instant // the latest start
	likely quota.Likely
}

func newCalibrator(most int) *calibrator {
	return &calibrator{most: most, every: 1, last: map[pool.OrgID][]int{}}
}

// pastJobs of each member tell how its declared limits are used, as in the portal.
const pastJobs = 500

func (c *calibrator) submitted(i int, o pool.OrgID) {
	c.fresh = append(c.fresh, i)
	c.last[o] = append(c.last[o], i)
	if n := len(c.last[o]); n > 2*pastJobs {
		c.last[o] = slices.Clone(c.last[o][n-pastJobs:])
	}
}

// ask asks about the jobs that were submitted now and wait.
func (c *calibrator) ask(s *sim, now pool.Instant) {
	for _, i := range c.fresh {
		if len(s.res.Jobs[i].Attempts) > 0 {
			continue
		}
		if c.met++; c.met%c.every != 0 {
			continue
		}
		k := slices.IndexFunc(s.snap.Pending, func(j quota.Job) bool { return j.ID == s.res.Jobs[i].ID })
		if k < 0 {
			continue
		}
		snap := s.snap
		snap.Habits = c.learn(s, now)
		a := quota.Quote(snap, snap.Pending[k], now)
		c.told = append(c.told, told{i, now, a.Start, a.Likely})
		if len(c.told) >= 2*c.most {
			for n := range c.most {
				c.told[n] = c.told[2*n+1]
			}
			c.told, c.every = c.told[:c.most], 2*c.every
		}
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
	c.habits, c.learned = quota.Learn(past), now
	return c.habits
}

// judge compares what was told with what came.
func (c *calibrator) judge(res *Result) *Calibration {
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
	s := fmt.Sprintf("expected   %d jobs that waited were asked about at their submit\n", c.Asked)
	if c.Likely > 0 {
		s += fmt.Sprintf("  likely   %d told: %s started inside their 80 %% interval, %s before, %s after; median error %s, interval %s, wait %s\n", c.Likely,
			of(c.Inside, c.Likely), of(c.Before, c.Likely), of(c.After, c.Likely), c.Error.Round(time.Second), c.Width.Round(time.Second), c.Wait.Round(time.Second))
	}
	s += fmt.Sprintf("  latest   %d told: %d started after it, %d when an owner had claimed, %d overtaken by later submissions, %d with neither", c.Bounds, c.Late, c.Claimed, c.Overtook, c.Broken)
	return s
}

// of is a share in percent with one digit behind the point.
func of(n, all int) string {
	x := (1000*n + all/2) / all
	return fmt.Sprintf("%d.%d %%", x/10, x%10)
}
