package quota

import (
	"slices"

	"gpupool/domain/pool"
)

// ClassState is a class in the state that a plan leaves, in GPUs: what the
// operator's page shows beside the plan.
type ClassState struct {
	Class     pool.ClassID
	Capacity  int // can be used now: healthy, not foreign, on open nodes, and what runs on closed ones
	Closed    int // idle on nodes that take nothing: draining, down, in maintenance
	Foreign   int // held by allocations that are not ours
	Own       int // what runs, by cover, those under notice included
	Loan      int
	Spot      int
	Freeing   int // of what runs: under notice or being stopped
	Promised  int // idle, kept for a job whose other GPUs are still being freed
	Free      int // idle and nobody's: Whole + Scattered + Reserved
	Whole     int // on nodes where nothing runs
	Scattered int // on nodes that are partly in use
	Reserved  int // for the blocked job that has the class's reservation
	Widest    int // most free GPUs on one node
	Pool      int // the consortium's own: capacity beyond all quotas
	Lendable  int // capacity that loans may use: what the scores are divided by

	Owners    []Turn   // in the order in which they are asked for work inside quota
	Borrowers []Turn   // in the order in which they are asked for surplus
	Victims   []Victim // who is stopped next if owners claim, in that order
	Protected []Victim // loans and spot work that nobody may stop now, the soonest first
}

// Turn is an organisation in the order of a class. The state is the plan's.
type Turn struct {
	Org      pool.OrgID
	Head     pool.JobID // its job that is asked about next; empty when none waits
	Units    int        // of the head
	Waiting  int        // its jobs that compete for the class
	Inside   bool       // the head is inside its quota
	Use      int        // spot excluded
	Quota    int        // with that of its projects
	Over     int        // on loan
	MeanLoan int64      // decayed, in thousandths of a GPU
	Weight   int
	// Score is ScoreNum/ScoreDen: (loan after + half the mean loan)*1000 over
	// weight times lendable GPUs. A ScoreDen of 0 is last in line.
	ScoreNum, ScoreDen int64
}

// Victim is a running attempt that may be stopped for others.
type Victim struct {
	Attempt pool.AttemptID
	Org     pool.OrgID
	Tier    pool.Tier
	GPUs    int
	Loan    int          // of them, when it would be stopped
	Until   pool.Instant // protected until then; pool.Never = for good; 0 = not
}

// Explain reads the state that a plan for a snapshot leaves, class by class in
// the order of their ids.
func Explain(s Snapshot, plan Plan, now pool.Instant) []ClassState {
	s.Brief = true
	next := after(&s, plan, now)
	e := build(&next, now)
	owners := &contest{e: e, rules: e.owners()}
	owners.lineUp()
	owners.start()
	borrowers := &contest{e: e, rules: e.borrowers()}
	borrowers.lineUp()
	borrowers.start()
	out := make([]ClassState, len(e.classes))
	for c := range e.classes {
		x := &out[c]
		x.Class = e.classes[c].ID
		e.hardware(x, int32(c), plan)
		for o := range e.orgs {
			e.cover(int32(c), int32(o))
		}
		e.runningIn(x, int32(c))
		x.Pool, x.Lendable = e.ledger.at(int32(c), 0).nominal, e.whole[c]
		x.Owners, x.Borrowers = owners.turns(int32(c)), borrowers.turns(int32(c))
	}
	for c := range e.classes { // moves the state: last
		out[c].Protected = e.unstoppable(int32(c))
		out[c].Victims = e.victimsInOrder(int32(c))
	}
	return out
}

// hardware counts the nodes of a class.
func (e *engine) hardware(x *ClassState, c int32, plan Plan) {
	reserved := map[pool.NodeID]int{}
	for _, v := range plan.Reserved {
		if v.Class == x.Class {
			for _, p := range v.Placement {
				reserved[p.Node] += p.GPUs
			}
		}
	}
	for i := e.racks[c].lo; i < e.racks[c].hi; i++ {
		n := &e.nodes[i]
		x.Foreign += n.gpus - n.cap
		if !n.open {
			used := min(n.cap, n.held)
			x.Capacity, x.Closed = x.Capacity+used, x.Closed+n.cap-used
			continue
		}
		x.Capacity += n.cap
		x.Promised += max(0, min(n.cap, n.planned)-n.held)
		free := n.now()
		kept := min(free, reserved[n.id])
		x.Free, x.Reserved, x.Widest = x.Free+free, x.Reserved+kept, max(x.Widest, free)
		if n.held == 0 && n.planned == 0 && n.cap == n.gpus {
			x.Whole += free - kept
		} else {
			x.Scattered += free - kept
		}
	}
}

// runningIn counts what holds GPUs of a class by its cover. What is under
// notice keeps the cover that it is charged as.
func (e *engine) runningIn(x *ClassState, c int32) {
	for i := range e.runs {
		r := &e.runs[i]
		if r.class != c || !r.holds {
			continue
		}
		split := pool.Split{Own: r.own, Loan: r.loan}
		switch {
		case r.gone && r.running:
			split = r.split
		case r.tier == pool.Spot:
			split = pool.Split{Spot: r.units}
		}
		x.Own, x.Loan, x.Spot = x.Own+split.Own, x.Loan+split.Loan, x.Spot+split.Spot
		if r.gone {
			x.Freeing += r.units
		}
	}
}

// turns lists the organisations that have quota, work or waiting jobs in a
// class, those with a waiting head first, each in the contest's order.
func (k *contest) turns(c int32) []Turn {
	e := k.e
	type turn struct {
		Turn
		o   int32
		key share
		j   *job
	}
	var all []turn
	for o := range e.orgs {
		x := turn{o: int32(o)}
		var best *job
		first := int32(-1)
		for _, l := range e.orgs[o].lanes {
			if e.lanes[l].class != c || k.at[l] < 0 {
				continue
			}
			for _, s := range e.lanes[l].order {
				if k.takes.has(s.tier) {
					x.Waiting += len(e.buckets[s.bucket].jobs) - e.buckets[s.bucket].head
				}
			}
			if first < 0 || k.ahead(l, first) {
				first, best = l, &e.jobs[k.fronts[l].head]
			}
		}
		a := e.org(c, x.o)
		x.Turn.Org, x.Use, x.Quota, x.Over = e.orgs[o].id, a.use, a.subtree, a.over()
		x.MeanLoan, x.Weight = e.loanMean[e.oc(c, x.o)], int(e.weights[e.oc(c, x.o)])
		if best == nil {
			if a.use == 0 && a.subtree == 0 {
				continue
			}
			best = &job{classes: []int32{c}, submitted: pool.Never}
		} else {
			x.Head, x.Units, x.Inside = e.id(best), best.units, e.entitled(best, c)
		}
		x.j, x.key = best, k.key(x.o, c, best.units)
		score := e.byScore(x.o, c, best.units)
		x.ScoreNum, x.ScoreDen = score.num, score.den
		all = append(all, x)
	}
	slices.SortFunc(all, func(x, y turn) int {
		if (x.Head == "") != (y.Head == "") {
			if x.Head != "" {
				return -1
			}
			return 1
		}
		if s := x.key.compare(y.key); s != 0 {
			return s
		}
		if k.byPrio && x.j.priority != y.j.priority {
			return compare(int64(y.j.priority), int64(x.j.priority))
		}
		if x.j.submitted != y.j.submitted {
			return compare(int64(x.j.submitted), int64(y.j.submitted))
		}
		return compare(x.o, y.o)
	})
	out := make([]Turn, len(all))
	for i := range all {
		out[i] = all[i].Turn
	}
	return out
}

// victimsInOrder is what owners' claims would stop, one after the other, until
// nothing is left that they may take. It leaves the engine without them.
func (e *engine) victimsInOrder(c int32) []Victim {
	nobody := &job{org: -1, n: 1, g: unlimited, units: unlimited}
	k := &claim{e: e, j: nobody, c: c, rule: ByQuota, short: 1}
	k.takeSpots()
	k.takeLoans(func(*run) bool { return true })
	out := make([]Victim, len(k.taken))
	for i, t := range k.taken {
		out[i] = e.victim(t)
	}
	return out
}

// unstoppable lists the loans and spot work that are protected.
func (e *engine) unstoppable(c int32) []Victim {
	var out []Victim
	for i := range e.runs {
		r := &e.runs[i]
		if r.class != c || r.gone || !r.protected || !r.running || r.loan == 0 && r.tier != pool.Spot || r.tier == pool.Guaranteed {
			continue
		}
		v := e.victim(int32(i))
		if v.Until = r.minRun; r.fixed {
			v.Until = pool.Never
		}
		out = append(out, v)
	}
	slices.SortStableFunc(out, func(x, y Victim) int { return compare(int64(x.Until), int64(y.Until)) })
	return out
}

func (e *engine) victim(i int32) Victim {
	r := &e.runs[i]
	v := Victim{Attempt: r.id, Org: e.orgs[r.org].id, Tier: r.tier, GPUs: r.units}
	if r.tier != pool.Spot {
		v.Loan = r.loan
	}
	return v
}

// Starts is when the pending jobs of a snapshot start if all that runs and all
// that starts before them lasts to its declared end, nothing new is submitted
// and no owner claims: one play of the future for all of them, of at most
// `most` decisions. A job whose start lies beyond it is absent.
func Starts(s Snapshot, plan Plan, now pool.Instant, most int) map[pool.JobID]pool.Instant {
	out := map[pool.JobID]pool.Instant{}
	for _, a := range plan.Admit {
		out[a.Job] = now
	}
	f := newForecast(after(&s, plan, now), now, nil, nil)
	for left, waits := most, len(s.Pending); left > 0 && len(out) < waits; left-- {
		plan, ok := f.look(f.now.Sub(now) / sharp)
		if !ok {
			break
		}
		for _, a := range plan.Admit {
			if _, ok := out[a.Job]; !ok {
				out[a.Job] = f.now
			}
		}
	}
	return out
}
