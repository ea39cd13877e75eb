package quota

import "gpupool/domain/pool"

// Start is when a waiting job starts, as far as it can be told.
type Start struct {
	Latest pool.Instant // if nothing new is submitted and no owner claims; pool.Never when it can't be told
	Likely Likely       // never beyond Latest
	Played Likely       // the same before it was widened by what came of earlier ones: what Told takes
}

// Outlook is when the jobs that wait start, all told from the same state, each
// computed when it is asked for first. It isn't safe for concurrent use.
type Outlook struct {
	e      *engine
	b      bounds
	rest   Snapshot   // the plan carried out
	only   pool.JobID // whose likely start is asked for; empty: those of all
	played map[pool.JobID]Plays
	starts map[pool.JobID]Start
}

// NewOutlook looks ahead from a plan for a snapshot that was decided at an
// instant, at the same or a later one.
func NewOutlook(s Snapshot, plan Plan, decided, now pool.Instant) *Outlook {
	s = after(&s, plan, decided)
	o, _ := outlookOf(s, now)
	return o
}

// outlookOf decides on a snapshot and looks ahead from there.
func outlookOf(s Snapshot, now pool.Instant) (*Outlook, Plan) {
	e := build(&s, now)
	d := e.resolve()
	o := &Outlook{e: e, b: newBounds(e, d.plan), rest: after(&s, d.plan, now), starts: map[pool.JobID]Start{}}
	for _, a := range d.plan.Admit {
		o.starts[a.Job] = at(now)
	}
	for i := range e.promises {
		if p := e.promises[i].stored; o.starts[p.Job] == (Start{}) {
			o.starts[p.Job] = at(max(now, p.StopAt))
		}
	}
	return o, d.plan
}

// plays are the starts in all plays of the future.
func (o *Outlook) plays() map[pool.JobID]Plays {
	s := &o.rest
	if s.Habits == nil {
		return map[pool.JobID]Plays{}
	}
	if len(s.Running)+len(s.Pending)+len(s.Nodes) > large {
		return coarsely(o.e, s.Habits)
	}
	return play(*s, o.e.now, o.only)
}

// at is a start that is certain.
func at(t pool.Instant) Start {
	return Start{Latest: t, Likely: Likely{t, t, t}}
}

// Start tells when a job starts that waits.
func (o *Outlook) Start(id pool.JobID) Start {
	if s, ok := o.starts[id]; ok {
		return s
	}
	s := Start{Latest: o.b.latest(id)}
	if o.played == nil {
		o.played = o.plays()
	}
	if s.Played = o.played[id].likely(); s.Played.Known() {
		l := o.rest.Habits.record.widened(s.Played, o.e.now)
		s.Likely = Likely{min(l.Early, s.Latest), min(l.Middle, s.Latest), min(l.Late, s.Latest)}
	}
	o.starts[id] = s
	return s
}
