package quota

import (
	"slices"

	"gpupool/domain/pool"
)

// Answer is what would happen to a job that isn't there yet.
type Answer struct {
	Admitted  bool         // would start now
	Promised  bool         // would start when GPUs taken back for it are free
	Class     pool.ClassID // the class it gets; its first class while it waits
	Tier      pool.Tier
	Split     pool.Split // what it would be charged as at its start; zero while it waits
	Placement []NodeGPUs
	Reasons   []pool.Reason // while it waits
	Position  int
	// Start is the latest start if nothing new is submitted: now when admitted,
	// pool.Never when it can't be told.
	Start  pool.Instant
	Likely Likely // by the habits of the snapshot, while it waits; never beyond Start
	Played Likely // the same before it was widened by what came of earlier ones: what Told takes
}

// Quote asks Decide about one more job. A job of the same id in the queue is
// replaced by it.
func Quote(s Snapshot, j Job, now pool.Instant) Answer {
	s = with(s, j)
	o, plan := outlookOf(s, now)
	o.only = j.ID
	e := o.e
	a := Answer{Tier: j.Tier, Start: now}
	if len(j.Classes) > 0 {
		a.Class = j.Classes[0]
	}
	for _, x := range plan.Admit {
		if x.Job == j.ID {
			a.Admitted, a.Class, a.Split, a.Placement = true, x.Class, x.Split, x.Placement
			return a
		}
	}
	if i, ok := e.jobAt(j.ID); ok {
		for _, w := range e.explain(e.jobs[i].line) {
			if w.Job == j.ID {
				a.Reasons, a.Position = w.Reasons, w.Position
			}
		}
	}
	for i := range e.promises {
		if p := e.promises[i].stored; p.Job == j.ID {
			a.Promised, a.Class, a.Placement, a.Start = true, p.Class, p.Placement, max(now, p.StopAt)
			return a
		}
	}
	x := o.Start(j.ID)
	a.Start, a.Likely, a.Played = x.Latest, x.Likely, x.Played
	return a
}

// with is the snapshot with a job in its queue; the caller's slices stay as
// they are.
func with(s Snapshot, j Job) Snapshot {
	s.Pending = append(slices.DeleteFunc(slices.Clone(s.Pending), func(x Job) bool { return x.ID == j.ID }), j)
	return s
}
