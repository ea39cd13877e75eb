package quota

import "gpupool/domain/pool"

// QuotaStep is what a time policy makes of a quota from a known instant on, to
// the next step.
type QuotaStep struct {
	From        pool.Instant
	Nominal     int
	BorrowLimit int // NoLimit = unlimited
	LendLimit   int // NoLimit = all
}

// NoLimit stands for a limit that isn't there.
const NoLimit = -1

// at is the quota that holds at an instant.
func (q Quota) at(now pool.Instant) Quota {
	limit := func(n int) *int {
		if n == NoLimit {
			return nil
		}
		return &n
	}
	for _, s := range q.Ahead {
		if s.From <= now {
			q.Nominal, q.BorrowLimit, q.LendLimit = s.Nominal, limit(s.BorrowLimit), limit(s.LendLimit)
		}
	}
	return q
}

// quotaAhead is a quota with steps to come, of an organisation or one of its projects.
type quotaAhead struct {
	Quota
	project bool
}

// indexAhead keeps the steps of each organisation that are still to come, with
// what its projects have of their own in them.
func (e *engine) indexAhead() {
	any := false
	of := make([][]quotaAhead, len(e.orgs))
	for i := range e.in.Orgs {
		if o := e.orgAt[e.in.Orgs[i].ID]; of[o] == nil {
			of[o] = []quotaAhead{}
			for _, q := range e.in.Orgs[i].Quotas {
				of[o] = append(of[o], quotaAhead{q, false})
				any = any || len(q.Ahead) > 0
			}
		}
	}
	if !any {
		return
	}
	for i := range e.in.Projects {
		if a, ok := e.projAt[e.in.Projects[i].ID]; ok {
			o := e.projects[a].org
			for _, q := range e.in.Projects[i].Quotas {
				of[o] = append(of[o], quotaAhead{q, true})
			}
		}
	}
	e.ahead = make([][]QuotaStep, len(e.classes)*len(e.orgs))
	for o := range of {
		for _, q := range of[o] {
			if c, ok := e.classAt[q.Class]; ok && !q.project {
				e.putAhead(c, int32(o), q.Quota, of[o])
			}
		}
	}
}

func (e *engine) putAhead(c, o int32, q Quota, all []quotaAhead) {
	for _, s := range q.Ahead {
		if s.From <= e.now {
			continue
		}
		if s.Nominal < 0 || s.BorrowLimit < NoLimit || s.LendLimit < NoLimit {
			e.problem("quota of %s in %s is negative from %s on", e.orgs[o].id, q.Class, s.From)
			continue
		}
		for _, x := range all {
			if x.project && x.Class == q.Class {
				s.Nominal += min(max(0, x.at(s.From).Nominal), maxGPUs)
			}
		}
		e.ahead[e.oc(c, o)] = append(e.ahead[e.oc(c, o)], s)
		e.expires = min(e.expires, s.From)
	}
}

// stepsOf are the known changes of an organisation's quota in a class, its
// projects' parts included.
func (e *engine) stepsOf(c, o int32) []QuotaStep {
	if e.ahead == nil {
		return nil
	}
	return e.ahead[e.oc(c, o)]
}

// crossing keeps guaranteed work, which nobody can stop, from running into a
// time at which its organisation's quota doesn't hold it beside the guaranteed
// work that runs till then. It is the first step at which it is held again, or
// the one that cuts the quota where none is known; 0 when nothing is crossed.
func (e *engine) crossing(j *job, c int32) pool.Instant {
	steps := e.stepsOf(c, j.org)
	if j.tier != pool.Guaranteed || len(steps) == 0 {
		return 0
	}
	x, end := e.org(c, j.org), e.boundOf(j)
	for i, s := range steps {
		if s.From >= end {
			return 0
		}
		if e.holds(j, c, x, s) {
			continue
		}
		for _, later := range steps[i+1:] {
			if e.holds(j, c, x, later) {
				return later.From
			}
		}
		return s.From
	}
	return 0
}

// holds says whether the quota of a step holds a job beside the guaranteed work
// of its organisation that by its declared end runs till then.
func (e *engine) holds(j *job, c int32, x *account, s QuotaStep) bool {
	left := s.Nominal - j.units
	if left < 0 || x.guaranteed <= left {
		return left >= 0
	}
	for _, i := range e.held[e.oc(c, j.org)].runs {
		if r := &e.runs[i]; !r.gone && r.tier == pool.Guaranteed && r.end > s.From {
			left -= r.units
		}
	}
	return left >= 0
}

// comes is when time policies first make a quota under which a job can fit that
// never fits now by quota alone; 0 when none does.
func (e *engine) comes(j *job, c int32) pool.Instant {
	if j.tier == pool.Spot {
		return 0
	}
	x := *e.org(c, j.org)
	for _, s := range e.stepsOf(c, j.org) {
		y := x
		y.subtree, y.borrow, y.lend = s.Nominal, unlimited, unlimited
		if s.BorrowLimit != NoLimit {
			y.borrow = s.BorrowLimit
		}
		if s.LendLimit != NoLimit {
			y.lend = s.LendLimit
		}
		y.local = max(0, y.subtree-y.lend)
		*e.org(c, j.org) = y
		most := e.ledger.potential(c, j.account, e.whole[c])
		*e.org(c, j.org) = x
		if j.tier == pool.Guaranteed {
			most = min(most, y.subtree)
		}
		if j.units <= most {
			return s.From
		}
	}
	return 0
}

// steady is the first instant at which a quota changes by a time policy;
// pool.Never when none is known.
func (e *engine) steady() pool.Instant {
	first := pool.Never
	for _, steps := range e.ahead {
		if len(steps) > 0 {
			first = min(first, steps[0].From)
		}
	}
	return first
}
