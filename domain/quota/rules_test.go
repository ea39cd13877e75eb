package quota

import (
	"slices"
	"time"

	"gpupool/domain/money"
	"gpupool/domain/pool"
)

// strict draws what the pool does to running work for no other job.
func (w *world) strict() {
	w.snap.Policy.CutNotice = pick(w, "cut notice", 0, 5*time.Minute, time.Hour)
	for i := range w.snap.Budgets {
		w.snap.Budgets[i].AtLimit = pick(w, "at the limit", StopAtLimit, SpotAtLimit, BillToLimit, RunOn)
		w.snap.Budgets[i].Lines = w.upTo(1, "lines")
	}
	for o := range w.snap.Orgs {
		for q := range w.snap.Orgs[o].Quotas {
			if w.oneIn(4, "time policy") {
				w.steps(&w.snap.Orgs[o].Quotas[q])
			}
		}
	}
}

// steps lets time policies change a quota soon.
func (w *world) steps(q *Quota) {
	q.Ahead = nil
	limit := func(most int, label string) int { return w.upTo(most, label) * (1 - 2*w.upTo(1, "none")) }
	from := w.now
	for range w.between(1, 2, "steps") {
		from = from.Add(time.Duration(w.between(1, 8, "step in")) * 15 * time.Minute)
		q.Ahead = append(q.Ahead, QuotaStep{From: from, Nominal: w.upTo(8, "then"), BorrowLimit: max(NoLimit, limit(6, "borrow")), LendLimit: max(NoLimit, limit(3, "lend"))})
	}
}

// turned is what becomes of the charges of work that goes on as another tier.
func turned(charges []Charge, tier pool.Tier) []Charge {
	out := slices.Clone(charges)
	for i := range out {
		c := &out[i]
		c.Included = false
		if tier == pool.Spot {
			c.Price = c.Spot
		}
	}
	return out
}

// execute carries out what a plan does to running work, in the order of the
// loop: notices taken back, guaranteed work above its quota, other tiers, stops.
// A stop that was sent, and a notice that stands, stay as they are.
func execute(running []Attempt, p Plan) {
	find := func(id pool.AttemptID) *Attempt {
		return &running[slices.IndexFunc(running, func(a Attempt) bool { return a.ID == id })]
	}
	turn := func(id pool.AttemptID, tier pool.Tier) {
		a := find(id)
		a.Tier, a.GuaranteedUntil, a.Charges = tier, 0, turned(a.Charges, tier)
	}
	for _, id := range p.Resume {
		if a := find(id); !a.Stopping {
			a.Notice, a.StopAt = "", 0
		}
	}
	for _, x := range p.Above {
		find(x.Attempt).GuaranteedUntil = x.Until
	}
	for _, id := range p.ToBurst {
		turn(id, pool.Burst)
	}
	for _, id := range p.ToSpot {
		turn(id, pool.Spot)
	}
	for _, s := range p.Stop {
		if a := find(s.Attempt); a.Notice == "" {
			a.Notice, a.StopAt = s.Rule, s.At
		}
	}
}

// carryOn lets the jobs of work that went on as another tier queue as that when
// it ends, and counts what the plan did.
func (w *world) carryOn(p Plan) {
	for _, id := range slices.Concat(p.ToBurst, p.ToSpot) {
		a := w.snap.Running[slices.IndexFunc(w.snap.Running, func(a Attempt) bool { return a.ID == id })]
		j := w.jobs[id.Job]
		j.Tier, j.Charges = a.Tier, a.Charges
		w.jobs[id.Job] = j
	}
	m := w.met
	m.resumed, m.toSpot, m.above, m.toBurst = m.resumed+len(p.Resume), m.toSpot+len(p.ToSpot), m.above+len(p.Above), m.toBurst+len(p.ToBurst)
	for _, s := range p.Stop {
		m.shed, m.unpaid = m.shed+when(s.Rule == Shed, 1), m.unpaid+when(s.Rule == OverBudget, 1)
	}
}

// strain moves money and quotas so that running work exceeds them.
func (w *world) strain() {
	if n := len(w.snap.Budgets); n > 0 && w.oneIn(2, "money") {
		w.snap.Budgets = slices.Clone(w.snap.Budgets)
		b := &w.snap.Budgets[w.upTo(n-1, "budget")]
		b.Limit = max(0, b.Limit+money.Amount(w.between(-20, 10, "limit")*100))
		b.AtLimit = pick(w, "at the limit", b.AtLimit, StopAtLimit, SpotAtLimit, BillToLimit, RunOn)
		return
	}
	guaranteed := slices.DeleteFunc(slices.Clone(w.snap.Running), func(a Attempt) bool { return a.Tier != pool.Guaranteed })
	if slices.ContainsFunc(guaranteed, func(a Attempt) bool { return a.GuaranteedUntil > 0 }) && w.oneIn(2, "the time of a cut passes") {
		w.wait(time.Duration(pick(w, "minutes", 5, 60)) * time.Minute)
		return
	}
	os := w.orgs()
	qs := &pick(w, "org", os...).Quotas
	class := w.upTo(len(*qs)-1, "class")
	if n := len(guaranteed); n > 0 { // cut where it matters
		a := guaranteed[w.upTo(n-1, "under whom")]
		qs = &os[slices.IndexFunc(os, func(o *Org) bool { return o.ID == a.Org })].Quotas
		class = slices.IndexFunc(*qs, func(q Quota) bool { return q.Class == a.Class })
	}
	*qs = slices.Clone(*qs)
	q := &(*qs)[class]
	if w.oneIn(3, "time policy") {
		w.steps(q)
		return
	}
	*q = q.at(w.now)
	q.Ahead = nil
	w.met.cuts += when(q.Nominal > 0, 1)
	q.Nominal = w.upTo(q.Nominal, "cut to")
}

// plain is the pool as its time policies have it now, and that stay so.
func (w *world) plain() {
	w.orgs()
	for o := range w.snap.Orgs {
		qs := slices.Clone(w.snap.Orgs[o].Quotas)
		for i := range qs {
			qs[i] = qs[i].at(w.now)
			qs[i].Ahead = nil
		}
		w.snap.Orgs[o].Quotas = qs
	}
}
