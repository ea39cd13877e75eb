package domain

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"gpupool/domain/money"
	"gpupool/domain/pool"
	"gpupool/domain/quota"
)

// The questions that an operator may ask about a changed pool.
const (
	AskDrain = "drain" // a node takes nothing new
	AskGrant = "grant" // a member has more guaranteed GPUs
	AskAdd   = "add"   // nodes are added
	AskRules = "rules" // lending off, fair reclaim on or off
)

// WhatIfInput is a question as typed. Only the fields of the question count.
type WhatIfInput struct {
	Ask       string
	Node      pool.NodeID // drain
	Move      bool        // drain: what runs there is stopped now and queues again
	Org       pool.OrgID  // grant
	Class     pool.ClassID
	GPUs      string // grant: more guaranteed ones; add: on each node
	Nodes     string // add
	NoLending bool   // rules
	Fair      bool   // rules: fair reclaim
}

// WhatIf is the answer: what differs from the plan for the pool as it is.
// Nothing is stored.
type WhatIf struct {
	Now    pool.Instant
	Change quota.Change
	quota.Difference
	Fates  []quota.JobChange // of Jobs: those to which something else happens
	Covers []quota.JobChange // of Jobs: those that run on and are charged as something else
	Names  PoolNames
	Asked  map[pool.JobID]quota.Job // the jobs of both snapshots that wait
	Costs  []CostChange
	Starts []StartChange               // jobs that wait and whose start by the declared ends moves, the most delayed first
	Until  map[pool.JobID]pool.Instant // that start in the changed pool
}

// CostChange is what an organisation pays an hour for what runs now and runs
// on, at list price.
type CostChange struct {
	Org           pool.OrgID
	Before, After money.Amount
}

// StartChange is the start of a waiting job by the declared ends; pool.Never
// when it can't be told.
type StartChange struct {
	Job           pool.JobID
	Org           pool.OrgID
	Before, After pool.Instant
}

// WhatIf answers a question with the engine itself, on a snapshot of now.
func (s *Service) WhatIf(ctx context.Context, a Actor, in WhatIfInput) (WhatIf, error) {
	if err := a.NeedOperatorView(); err != nil {
		return WhatIf{}, err
	}
	var w WhatIf
	err := s.store.View(ctx, func(tx Tx) error {
		v, err := snapshot(tx)
		if err != nil {
			return err
		}
		w = WhatIf{Now: v.now}
		if w.Change, err = in.change(v); err != nil {
			return err
		}
		if w.Difference, err = quota.WhatIf(v.snap, w.Change, v.now); err != nil {
			return asked(in, err)
		}
		w.fill(v)
		w.Names, err = poolNames(tx, w.shown())
		return err
	})
	return w, err
}

// change reads a question.
func (in WhatIfInput) change(v view) (quota.Change, error) {
	var f Fields
	var c quota.Change
	switch in.Ask {
	case AskDrain:
		c.Drain, c.Move = []pool.NodeID{in.Node}, in.Move
	case AskGrant:
		c.Grants = []quota.Grant{{Org: in.Org, Class: in.Class, GPUs: int(checkCount(&f, "gpus", in.GPUs, 1, quota.MaxGrant))}}
	case AskAdd:
		c.Add = []quota.Addition{{Class: in.Class, Site: v.siteOf(in.Class), Nodes: int(checkCount(&f, "nodes", in.Nodes, 1, quota.MaxAddition)),
			GPUs: int(checkCount(&f, "gpus", in.GPUs, 1, quota.MaxPerNode))}}
	case AskRules:
		c.NoLending, c.Fair = in.NoLending, &in.Fair
	default:
		checkChoice(&f, "ask", in.Ask, AskDrain, AskGrant, AskAdd, AskRules)
	}
	return c, f.Err()
}

// siteOf is where a new node of a class is put: where its first node stands.
func (v view) siteOf(c pool.ClassID) pool.SiteID {
	for _, n := range v.snap.Nodes {
		if n.Class == c {
			return n.Site
		}
	}
	return ""
}

// asked turns what the engine can't answer into the field of the form.
func asked(in WhatIfInput, err error) error {
	var e *quota.ChangeError
	if !errors.As(err, &e) {
		return err
	}
	field := e.Field
	switch field {
	case "drain":
		field = "node"
	case "grant":
		field = "gpus"
	}
	var f Fields
	f.Add(field, e.Format, e.Args...)
	return f.Err()
}

// fill adds what money and time the difference comes to.
func (w *WhatIf) fill(v view) {
	w.Asked = map[pool.JobID]quota.Job{}
	for _, all := range [][]quota.Job{v.snap.Pending, w.Changed.Pending} {
		for _, j := range all {
			w.Asked[j.ID] = j
		}
	}
	cost := map[pool.OrgID]*CostChange{}
	for _, j := range w.Jobs {
		if !j.Before.Runs || !j.After.Runs {
			w.Fates = append(w.Fates, j)
			continue
		}
		w.Covers = append(w.Covers, j) // running on, only its split can differ
		c := cost[j.Org]
		if c == nil {
			c = &CostChange{Org: j.Org}
			cost[j.Org] = c
		}
		c.Before += v.terms.anHour(j.Before.Class, j.Before.Split, v.now)
		c.After += v.terms.anHour(j.After.Class, j.After.Split, v.now)
	}
	for _, c := range cost {
		w.Costs = append(w.Costs, *c)
	}
	slices.SortFunc(w.Costs, func(x, y CostChange) int { return cmp.Compare(x.Org, y.Org) })
	before := quota.Starts(v.snap, w.Before, v.now, looksFor(v.snap))
	w.Until = quota.Starts(w.Changed, w.After, v.now, looksFor(v.snap))
	for _, j := range v.snap.Pending {
		if x, y := startOf(before, j.ID), startOf(w.Until, j.ID); x != y {
			w.Starts = append(w.Starts, StartChange{j.ID, j.Org, x, y})
		}
	}
	slices.SortFunc(w.Starts, func(x, y StartChange) int {
		return cmp.Or(cmp.Compare(y.After-y.Before, x.After-x.Before), cmp.Compare(x.Job, y.Job))
	})
}

func startOf(starts map[pool.JobID]pool.Instant, j pool.JobID) pool.Instant {
	if t, ok := starts[j]; ok {
		return t
	}
	return pool.Never
}

// anHour is the list price of GPUs for an hour.
func (t Terms) anHour(c pool.ClassID, s pool.Split, at pool.Instant) money.Amount {
	var sum money.Amount
	for _, cover := range pool.Covers {
		if p, ok := t.At(c, cover, at); ok {
			sum += money.Charge(pool.GPUMillis(s.Of(cover)*pool.MillisPerHour), p.Price)
		}
	}
	return sum
}

// WhatIfRows is how many lines each list of an answer shows at most.
const WhatIfRows = 100

func (w *WhatIf) shown() []pool.JobID {
	var ids []pool.JobID
	for _, all := range [][]quota.JobChange{w.Fates, w.Covers} {
		for _, j := range all[:min(len(all), WhatIfRows)] {
			ids = append(ids, j.Job, j.Before.For, j.After.For)
			ids = append(ids, refs(j.Before.Reasons)...)
			ids = append(ids, refs(j.After.Reasons)...)
		}
	}
	for _, x := range w.Drained[:min(len(w.Drained), WhatIfRows)] {
		ids = append(ids, x.Attempt.Job)
	}
	for _, x := range w.Starts[:min(len(w.Starts), WhatIfRows)] {
		ids = append(ids, x.Job)
	}
	return ids
}
