package quota

import (
	"fmt"
	"slices"
	"strings"

	"gpupool/domain/pool"
)

// Change is a question: what if the pool were so? The zero Change asks about
// the pool as it is.
type Change struct {
	Drain     []pool.NodeID // take nothing new
	Move      bool          // what runs on drained nodes is stopped now and queues again
	Grants    []Grant
	Add       []Addition
	NoLending bool  // no organisation lends what it doesn't use
	Fair      *bool // fair reclaim on or off
}

// Grant is more guaranteed GPUs for an organisation; it may lend them.
type Grant struct {
	Org   pool.OrgID
	Class pool.ClassID
	GPUs  int
}

// Addition is new nodes of the consortium, each with GPUs of a class.
type Addition struct {
	Class pool.ClassID
	Site  pool.SiteID
	Nodes int
	GPUs  int // on each
}

// Limits of a Change: a question is no place for typing errors in the thousands.
const (
	MaxGrant    = 10_000 // GPUs
	MaxAddition = 1_000  // nodes
	MaxPerNode  = 64
)

// ChangeError says which part of a Change can't be asked.
type ChangeError struct {
	Field  string // drain, org, class, grant, nodes or gpus
	Format string
	Args   []any
}

func (e *ChangeError) Error() string { return e.Field + ": " + fmt.Sprintf(e.Format, e.Args...) }

// Apply is the snapshot as it would be; the caller's slices stay as they are.
func (c Change) Apply(s Snapshot, now pool.Instant) (Snapshot, error) {
	for _, step := range []func(*Snapshot) error{c.drain, c.grant, c.add} {
		if err := step(&s); err != nil {
			return s, err
		}
	}
	if c.Move {
		c.move(&s, now)
	}
	if c.NoLending {
		s.Orgs = slices.Clone(s.Orgs)
		for i := range s.Orgs {
			qs := slices.Clone(s.Orgs[i].Quotas)
			for k := range qs {
				qs[k].LendLimit = new(int)
			}
			s.Orgs[i].Quotas = qs
		}
	}
	if c.Fair != nil {
		s.Policy.FairReclaim = *c.Fair
	}
	return s, nil
}

func (c Change) drain(s *Snapshot) error {
	if len(c.Drain) == 0 {
		return nil
	}
	s.Nodes = slices.Clone(s.Nodes)
	for _, id := range c.Drain {
		known := false
		for i := range s.Nodes {
			if n := &s.Nodes[i]; n.ID == id {
				known = true
				if n.State == Ready {
					n.State = Draining
				}
			}
		}
		if !known {
			return &ChangeError{"drain", "There is no node %.63q.", []any{string(id)}}
		}
	}
	return nil
}

func (c Change) grant(s *Snapshot) error {
	for _, g := range c.Grants {
		o := slices.IndexFunc(s.Orgs, func(x Org) bool { return x.ID == g.Org })
		switch {
		case o < 0:
			return &ChangeError{"org", "There is no member %.63q.", []any{string(g.Org)}}
		case !s.has(g.Class):
			return &ChangeError{"class", "There is no GPU type %.63q.", []any{string(g.Class)}}
		case g.GPUs < 1 || g.GPUs > MaxGrant:
			return &ChangeError{"grant", "A number from 1 to %d.", []any{MaxGrant}}
		}
		s.Orgs = slices.Clone(s.Orgs)
		qs := slices.Clone(s.Orgs[o].Quotas)
		q := slices.IndexFunc(qs, func(x Quota) bool { return x.Class == g.Class })
		if q < 0 {
			q, qs = len(qs), append(qs, Quota{Class: g.Class})
		}
		qs[q].Nominal += g.GPUs
		qs[q].Ahead = slices.Clone(qs[q].Ahead)
		for i := range qs[q].Ahead {
			qs[q].Ahead[i].Nominal += g.GPUs
			qs[q].Ahead[i].LendLimit += g.GPUs
		}
		if l := qs[q].LendLimit; l != nil {
			more := *l + g.GPUs
			qs[q].LendLimit = &more
		}
		s.Orgs[o].Quotas = qs
	}
	return nil
}

func (c Change) add(s *Snapshot) error {
	for _, a := range c.Add {
		switch {
		case !s.has(a.Class):
			return &ChangeError{"class", "There is no GPU type %.63q.", []any{string(a.Class)}}
		case a.Nodes < 1 || a.Nodes > MaxAddition:
			return &ChangeError{"nodes", "A number from 1 to %d.", []any{MaxAddition}}
		case a.GPUs < 1 || a.GPUs > MaxPerNode:
			return &ChangeError{"gpus", "A number from 1 to %d.", []any{MaxPerNode}}
		}
		taken := map[pool.NodeID]bool{}
		for i := range s.Nodes {
			taken[s.Nodes[i].ID] = true
		}
		s.Nodes = slices.Clone(s.Nodes)
		for k, left := 1, a.Nodes; left > 0; k++ {
			id := pool.NodeID(fmt.Sprintf("new-%d", k))
			if !taken[id] {
				s.Nodes = append(s.Nodes, Node{ID: id, Class: a.Class, Site: a.Site, Contributor: pool.Consortium, GPUs: a.GPUs, State: Ready})
				left--
			}
		}
	}
	return nil
}

func (s *Snapshot) has(c pool.ClassID) bool {
	return slices.ContainsFunc(s.Classes, func(x Class) bool { return x.ID == c })
}

// move puts what runs on the drained nodes back into the queue, with what is
// left of its run and its old age.
func (c Change) move(s *Snapshot, now pool.Instant) {
	pending := slices.Clone(s.Pending)
	stays := make([]Attempt, 0, len(s.Running))
	for _, a := range s.Running {
		if !c.drains(a) || a.Stopping {
			stays = append(stays, a)
			continue
		}
		pending = append(pending, a.again(now))
	}
	s.Running, s.Pending = stays, pending
}

func (c Change) drains(a Attempt) bool {
	return slices.ContainsFunc(a.Placement, func(p NodeGPUs) bool { return slices.Contains(c.Drain, p.Node) })
}

// again is the job of an attempt that is stopped and waits once more.
func (a Attempt) again(now pool.Instant) Job {
	j := Job{ID: a.ID.Job, Org: a.Org, Project: a.Project, User: a.User, Classes: []pool.ClassID{a.Class}, Nodes: len(a.Placement),
		Tier: a.Tier, Priority: a.Priority, Submitted: a.Submitted, Fixed: a.Fixed, Charges: a.Charges}
	for _, p := range a.Placement {
		j.GPUs = max(j.GPUs, p.GPUs)
	}
	if a.MaxEnd != 0 && a.MaxEnd != pool.Never {
		j.MaxRun = max(0, a.MaxEnd.Sub(now))
	}
	return j
}

// Fate is what a decision makes of a job.
type Fate struct {
	Runs      bool // ran before it and runs on
	Admitted  bool
	Promised  bool // GPUs are being freed for it
	Class     pool.ClassID
	Placement []NodeGPUs
	Split     pool.Split
	Stopped   bool         // its attempt gets notice, or is being moved
	Why       pool.Reason  // the limit of money for which it is stopped, for no other job
	By        Rule         // by which rule
	For       pool.JobID   // for which job
	At        pool.Instant // of the stop, or of the promise
	Reasons   []pool.Reason
	Position  int
}

// Waits tells whether the job stands in the queue after the decision.
func (f Fate) Waits() bool { return !f.Runs && !f.Admitted && !f.Stopped }

// JobChange is a job to which a changed pool does something else.
type JobChange struct {
	Job           pool.JobID
	Org           pool.OrgID
	Before, After Fate
}

// Difference is the answer to a Change: both decisions on one moment, and what
// differs between them.
type Difference struct {
	Before, After Plan
	Changed       Snapshot    // as Change.Apply made it
	Jobs          []JobChange // by organisation and job
	Drained       []Drained   // what runs on the drained nodes, the soonest end first
}

// Drained is a running attempt on a node that is drained.
type Drained struct {
	Attempt pool.AttemptID
	Org     pool.OrgID
	Nodes   []pool.NodeID
	GPUs    int
	Ends    pool.Instant // declared and enforced; pool.Never when there is none
}

// WhatIf decides on the snapshot as it is and as it would be. It changes
// nothing: both decisions are thrown away.
func WhatIf(s Snapshot, c Change, now pool.Instant) (Difference, error) {
	changed, err := c.Apply(s, now)
	if err != nil {
		return Difference{}, err
	}
	d := Difference{Before: Decide(s, now), After: Decide(changed, now), Changed: changed}
	before, after := fates(s, d.Before), fates(changed, d.After)
	orgs := map[pool.JobID]pool.OrgID{}
	for i := range s.Running {
		a := &s.Running[i]
		orgs[a.ID.Job] = a.Org
		if c.drains(*a) {
			d.Drained = append(d.Drained, drained(*a, c.Drain))
			if f := after[a.ID.Job]; f.Waits() && c.Move {
				f.Stopped, f.At = true, now // it waits, because it was moved away
				after[a.ID.Job] = f
			}
		}
	}
	for i := range s.Pending {
		orgs[s.Pending[i].ID] = s.Pending[i].Org
	}
	for id, org := range orgs {
		if x, y := before[id], after[id]; !x.same(y) {
			d.Jobs = append(d.Jobs, JobChange{id, org, x, y})
		}
	}
	slices.SortFunc(d.Jobs, func(x, y JobChange) int {
		if o := strings.Compare(string(x.Org), string(y.Org)); o != 0 {
			return o
		}
		return strings.Compare(string(x.Job), string(y.Job))
	})
	slices.SortFunc(d.Drained, func(x, y Drained) int {
		if x.Ends != y.Ends {
			return compare(int64(x.Ends), int64(y.Ends))
		}
		return strings.Compare(x.Attempt.NomadID(), y.Attempt.NomadID())
	})
	return d, nil
}

func drained(a Attempt, nodes []pool.NodeID) Drained {
	d := Drained{Attempt: a.ID, Org: a.Org, Ends: a.MaxEnd}
	for _, p := range a.Placement {
		if d.GPUs += p.GPUs; slices.Contains(nodes, p.Node) {
			d.Nodes = append(d.Nodes, p.Node)
		}
	}
	if d.Ends == 0 {
		d.Ends = pool.Never
	}
	return d
}

// fates says what becomes of every job of a snapshot.
func fates(s Snapshot, p Plan) map[pool.JobID]Fate {
	out := make(map[pool.JobID]Fate, len(s.Running)+len(s.Pending))
	covers := map[pool.AttemptID]pool.Split{}
	for _, c := range p.Covers {
		covers[c.Attempt] = c.Split
	}
	job := map[pool.AttemptID]pool.JobID{}
	for i := range s.Running {
		a := &s.Running[i]
		split, ok := covers[a.ID]
		if !ok {
			split = a.Split
		}
		job[a.ID] = a.ID.Job
		f := Fate{Runs: true, Class: a.Class, Placement: a.Placement, Split: split}
		if a.Notice != "" && !slices.Contains(p.Resume, a.ID) {
			f.Runs, f.Stopped, f.At = false, true, a.StopAt
		}
		out[a.ID.Job] = f
	}
	for _, x := range p.Stop {
		f := out[x.Attempt.Job]
		f.Runs, f.Stopped, f.At, f.Why = false, true, x.At, x.Reason
		out[x.Attempt.Job] = f
	}
	for _, a := range p.Admit {
		out[a.Job] = Fate{Admitted: true, Class: a.Class, Placement: a.Placement, Split: a.Split}
	}
	for _, w := range p.Wait {
		out[w.Job] = Fate{Reasons: w.Reasons, Position: w.Position, Promised: w.Promised}
	}
	over := map[pool.JobID]bool{}
	for _, w := range p.Withdrawn {
		over[w.Job] = true
	}
	for _, a := range p.Admit {
		over[a.Job] = true
	}
	for _, r := range slices.Concat(s.Promises, p.Reclaim) {
		if over[r.Job] {
			continue
		}
		if f, ok := out[r.Job]; ok {
			f.Class, f.Placement, f.At = r.Class, r.Placement, r.StopAt
			out[r.Job] = f
		}
		for _, v := range r.Victims {
			if f, ok := out[job[v]]; ok {
				f.Stopped, f.Runs, f.By, f.For, f.At = true, false, r.Rule, r.Job, r.StopAt
				out[job[v]] = f
			}
		}
	}
	return out
}

func (f Fate) same(o Fate) bool {
	return f.Runs == o.Runs && f.Admitted == o.Admitted && f.Promised == o.Promised && f.Class == o.Class && f.Split == o.Split &&
		f.Stopped == o.Stopped && f.By == o.By && f.For == o.For && f.At == o.At && f.Why == o.Why && f.Position == o.Position &&
		slices.Equal(f.Reasons, o.Reasons) && slices.Equal(f.Placement, o.Placement)
}
