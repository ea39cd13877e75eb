package replay

import (
	"cmp"
	"container/heap"
	"slices"
	"time"

	"gpupool/domain/pool"
	"gpupool/domain/quota"
)

// FirstCome runs a trace first come, first served, without quotas, tiers or
// stops, as a baseline beside the engine: for each GPU class one queue in the
// order of submission, of which the first job that doesn't fit holds up all
// behind it. With skip those behind it may start where they fit, so that big
// jobs may starve. Nodes are chosen by best fit, as the engine does. A job that
// the empty pool couldn't take is left out of its queue.
func FirstCome(p Pool, jobs []Job, skip bool, until pool.Instant) Result {
	f := &firstCome{pool: p, skip: skip, queues: map[pool.ClassID][]int{}, racks: map[pool.ClassID][]quota.Node{}, free: map[pool.ClassID]int{}}
	f.res.From, f.res.Until = pool.Never, until
	nodes := p.NodeList()
	slices.SortFunc(nodes, func(a, b quota.Node) int { return cmp.Compare(a.ID, b.ID) })
	for _, n := range nodes {
		f.racks[n.Class] = append(f.racks[n.Class], n)
		f.free[n.Class] += n.GPUs
		f.res.capacity += n.GPUs
	}
	for _, j := range jobs {
		if j.Submit > until {
			continue
		}
		f.res.Jobs = append(f.res.Jobs, Outcome{Job: j, Left: j.Length})
		f.res.From = min(f.res.From, j.Submit)
		heap.Push(&f.events, event{at: j.Submit, kind: evSubmit, job: len(f.res.Jobs) - 1})
	}
	for len(f.events) > 0 && f.events[0].at <= until {
		now := f.events[0].at
		for len(f.events) > 0 && f.events[0].at == now {
			f.happen(heap.Pop(&f.events).(event))
		}
		for _, c := range p.Classes {
			f.serve(c.ID, now)
		}
	}
	f.res.close()
	return f.res
}

type firstCome struct {
	pool   Pool
	skip   bool
	res    Result
	events events
	queues map[pool.ClassID][]int
	racks  map[pool.ClassID][]quota.Node // with what is free in them
	free   map[pool.ClassID]int
}

func (f *firstCome) happen(e event) {
	j := &f.res.Jobs[e.job]
	if e.kind == evSubmit {
		if slices.ContainsFunc(j.accepts(), func(c pool.ClassID) bool { return f.ever(c, j) }) {
			f.queues[j.Class] = append(f.queues[j.Class], e.job)
		}
		return
	}
	a := &j.Attempts[0]
	a.End, a.Finished, a.Kept = e.at, true, e.at.Sub(a.Started)
	a.TimeLimit = a.Kept < j.Length
	j.Left = 0
	f.put(a, 1)
}

// ever tells whether the empty pool could take a job.
func (f *firstCome) ever(c pool.ClassID, j *Outcome) bool {
	n := 0
	for _, x := range f.pool.Nodes {
		if x.Class == c && x.GPUs >= j.GPUs {
			n += max(1, x.Count)
		}
	}
	return n >= j.Nodes
}

// serve starts what may start of one queue.
func (f *firstCome) serve(c pool.ClassID, now pool.Instant) {
	failed := map[shape]bool{}
	left := f.queues[c][:0]
	for k, i := range f.queues[c] {
		j := &f.res.Jobs[i]
		s := shape{j.Nodes, j.GPUs}
		if failed[s] || !f.start(i, j, now) {
			if !f.skip {
				left = append(left, f.queues[c][k:]...)
				break
			}
			failed[s] = len(j.Others) == 0
			left = append(left, i)
		}
	}
	f.queues[c] = left
}

func (f *firstCome) start(i int, j *Outcome, now pool.Instant) bool {
	for _, c := range j.accepts() {
		place := f.fit(c, j)
		if place == nil {
			continue
		}
		end := now.Add(time.Duration(f.pool.Setup)).Add(j.Length)
		maxEnd := pool.Never
		if j.Limit > 0 {
			maxEnd = now.Add(j.Limit)
			end = min(end, maxEnd)
		}
		j.Attempts = []Attempt{{N: 1, Class: c, Placement: place, Admitted: now, Started: min(end, now.Add(time.Duration(f.pool.Setup))), End: pool.Never, MaxEnd: maxEnd, Planned: end}}
		f.put(&j.Attempts[0], -1)
		heap.Push(&f.events, event{at: end, kind: evEnd, job: i, n: 1})
		return true
	}
	return false
}

// fit finds the fullest nodes that can take a job; nil when too few can.
func (f *firstCome) fit(c pool.ClassID, j *Outcome) []quota.NodeGPUs {
	if f.free[c] < j.Units() {
		return nil
	}
	rack := f.racks[c]
	var best []int
	for i := range rack {
		if rack[i].GPUs >= j.GPUs {
			best = append(best, i)
		}
	}
	if len(best) < j.Nodes {
		return nil
	}
	slices.SortFunc(best, func(a, b int) int { return cmp.Or(rack[a].GPUs-rack[b].GPUs, a-b) })
	best = best[:j.Nodes]
	slices.Sort(best)
	var out []quota.NodeGPUs
	for _, i := range best {
		out = append(out, quota.NodeGPUs{Node: rack[i].ID, GPUs: j.GPUs})
	}
	return out
}

func (f *firstCome) put(a *Attempt, sign int) {
	rack := f.racks[a.Class]
	for _, g := range a.Placement {
		i, _ := slices.BinarySearchFunc(rack, g.Node, func(n quota.Node, id pool.NodeID) int { return cmp.Compare(n.ID, id) })
		rack[i].GPUs += sign * g.GPUs
		f.free[a.Class] += sign * g.GPUs
	}
}

// accepts are the classes that a job takes, in its order.
func (j *Job) accepts() []pool.ClassID {
	return append([]pool.ClassID{j.Class}, j.Others...)
}
