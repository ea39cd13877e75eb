package replay

import (
	"slices"
	"time"

	"gpupool/domain/money"
	"gpupool/domain/pool"
)

// Spread is how long jobs waited from submit to their first start.
type Spread struct {
	Jobs             int // that started
	Still            int // that never started
	Median, P95, Max time.Duration
}

// Waits are the waiting times of a tier.
type Waits struct {
	Tier pool.Tier
	Spread
}

// Member is a run as one member saw it.
type Member struct {
	Org         pool.OrgID
	Jobs, Done  int
	Waits       Spread
	Preemptions int
	Lost        []ClassMillis // work done again
	Share       int64         // received of its fair share, in ten-thousandths; -1 when it wanted nothing
}

// ClassMillis is GPU time of one class.
type ClassMillis struct {
	Class pool.ClassID
	Use   pool.GPUMillis
}

// Report is a run in figures.
type Report struct {
	Name        string // of the setting
	Jobs        int
	Done        int
	Span        pool.Interval
	Capacity    int // GPUs
	Held        pool.GPUMillis
	Offered     pool.GPUMillis // capacity over the span
	Classes     []ClassFigures
	Waits       []Waits
	Members     []Member
	Preemptions int
	LostWork    pool.GPUMillis
	Jain        int64 // in ten-thousandths, over members and all classes
	Decisions   int
	Invoices    []Invoice    // empty where nothing is charged: first come, first served
	Law         *Law         // nil when it wasn't checked
	Expected    *Calibration // nil when nobody asked
}

// Share is the allocated share in hundredths of a percent.
func (r Report) Share() int64 { return percent100(r.Held, r.Offered) }

// sum adds a figure of the classes up, for a share of devices.
func (r Report) sum(f func(ClassFigures) pool.GPUMillis) (out pool.GPUMillis) {
	for _, c := range r.Classes {
		out += f(c)
	}
	return out
}

// Coming are the figures while jobs arrive, over all devices.
func (r Report) Coming() Window {
	return Window{r.sum(func(c ClassFigures) pool.GPUMillis { return c.Coming.Offered }), r.sum(func(c ClassFigures) pool.GPUMillis { return c.Coming.Held }),
		r.sum(func(c ClassFigures) pool.GPUMillis { return c.Coming.Useful })}
}

// percent100 is a share in hundredths of a percent, at most 100 %.
func percent100(part, whole pool.GPUMillis) int64 {
	if whole < 1000 {
		return 0
	}
	return int64(money.Portion(pool.GPUMillis(10_000), int64(min(part, whole)/1000), int64(whole/1000)))
}

// Summarise counts a run and makes its invoices.
func Summarise(p Pool, res Result) (Report, error) {
	r := figures(p, res)
	var err error
	r.Invoices, err = Bill(p, res)
	return r, err
}

// figures counts a run.
func figures(p Pool, res Result) Report {
	r := Report{Jobs: len(res.Jobs), Span: pool.Interval{Start: res.From, End: res.Until}, Capacity: res.capacity,
		Preemptions: res.Preemptions, LostWork: res.LostWork, Decisions: res.Decisions}
	if len(res.Jobs) == 0 {
		return r
	}
	r.Classes = measure(p, &res)
	r.Held = r.sum(func(c ClassFigures) pool.GPUMillis { return c.Held })
	r.Offered = r.sum(func(c ClassFigures) pool.GPUMillis { return c.Offered })
	tiers, members := map[pool.Tier]*starts{}, map[pool.OrgID]*starts{}
	byOrg := map[pool.OrgID]int{}
	for i, o := range p.Orgs {
		byOrg[o.ID] = i
		r.Members = append(r.Members, Member{Org: o.ID, Share: -1})
		members[o.ID] = &starts{}
	}
	for _, t := range pool.Tiers {
		tiers[t] = &starts{}
	}
	for i := range res.Jobs {
		j := &res.Jobs[i]
		m := &r.Members[byOrg[j.Org]]
		m.Jobs++
		tiers[j.Tier].add(j)
		members[j.Org].add(j)
		for _, a := range j.Attempts {
			if a.Finished {
				r.Done++
				m.Done++
			}
			if a.Stopped {
				m.Preemptions++
				m.lose(a.Class, pool.GPUMillis(int64(j.Units())*max(0, a.End.Sub(a.Started)-a.Kept).Milliseconds()))
			}
		}
	}
	for _, t := range pool.Tiers {
		if w := tiers[t].spread(); w.Jobs+w.Still > 0 {
			r.Waits = append(r.Waits, Waits{t, w})
		}
	}
	received, fair := make([]pool.GPUMillis, len(p.Orgs)), make([]pool.GPUMillis, len(p.Orgs))
	for o := range r.Members {
		r.Members[o].Waits = members[r.Members[o].Org].spread()
		for _, c := range r.Classes {
			received[o] += c.Received[o]
			fair[o] += c.Fair[o]
		}
		if fair[o] > 0 {
			r.Members[o].Share = ratio(received[o], fair[o])
		}
	}
	r.Jain = jain(received, fair)
	return r
}

func (m *Member) lose(c pool.ClassID, use pool.GPUMillis) {
	if use == 0 {
		return
	}
	i := slices.IndexFunc(m.Lost, func(x ClassMillis) bool { return x.Class == c })
	if i < 0 {
		i = len(m.Lost)
		m.Lost = append(m.Lost, ClassMillis{Class: c})
	}
	m.Lost[i].Use += use
}

// starts collects waiting times.
type starts struct {
	times []time.Duration
	still int
}

func (w *starts) add(j *Outcome) {
	if len(j.Attempts) == 0 {
		w.still++
		return
	}
	w.times = append(w.times, j.Attempts[0].Admitted.Sub(j.Submit))
}

func (w *starts) spread() Spread {
	slices.Sort(w.times)
	return Spread{Jobs: len(w.times), Still: w.still, Median: quantile(w.times, 50), P95: quantile(w.times, 95), Max: quantile(w.times, 100)}
}

// quantile of sorted durations, the nearest rank.
func quantile(w []time.Duration, percent int) time.Duration {
	if len(w) == 0 {
		return 0
	}
	return w[max(0, (len(w)*percent+99)/100-1)]
}
