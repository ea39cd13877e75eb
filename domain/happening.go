package domain

import (
	"context"
	"slices"

	"gpupool/domain/money"
	"gpupool/domain/pool"
	"gpupool/domain/quota"
)

// HappeningKind is a kind of story that a demo's first screen tells.
type HappeningKind string

const (
	OwnerClaims   HappeningKind = "owner_claims"   // Job waits for Other, which is under notice
	BorrowerYield HappeningKind = "borrower_yield" // Job is under notice for Other
	BorrowerWaits HappeningKind = "borrower_waits" // Job was taken back at Since and waits for its next try
	CapReached    HappeningKind = "cap_reached"    // Job waits; Amount is its price as spot; Starts: it would start so
	MemoryShort   HappeningKind = "memory_short"   // Job ended; Count in a week
	GPUsIdle      HappeningKind = "gpus_idle"      // Job runs since Since and has cost Amount
	GangWaits     HappeningKind = "gang_waits"     // Job waits for several nodes at once
	PaidShort     HappeningKind = "paid_short"     // Invoice lacks Amount
)

// Happening is something that is so now, and who would look at it.
type Happening struct {
	Kind    HappeningKind
	Org     Organisation
	Viewer  User
	Job     Job
	Other   Job
	With    Organisation // of Other
	Until   pool.Instant // end of the notice
	Since   pool.Instant
	Amount  money.Amount
	Count   int
	Starts  bool
	Invoice Invoice
}

// Happenings tells the stories that are true at this moment, in the order in
// which they read best. They name members, so only a demo has them.
func (s *Service) Happenings(ctx context.Context) ([]Happening, error) {
	var out []Happening
	err := s.store.View(ctx, func(tx Tx) error {
		t, err := LoadTerms(tx)
		if err != nil {
			return err
		}
		if !t.Settings.Demo {
			return Errf(NotFound, "There is no such page.")
		}
		n := narrator{tx: tx, terms: t}
		if n.jobs, err = tx.LiveJobs(); err != nil {
			return err
		}
		for _, tell := range []func() error{n.claims, n.capped, n.memory, n.idle, n.money, n.gang} {
			if err := tell(); err != nil {
				return err
			}
		}
		for i := range n.out {
			if err := n.cast(&n.out[i]); err != nil {
				return err
			}
		}
		out = n.out
		return nil
	})
	return out, err
}

// narrator collects the stories of one moment.
type narrator struct {
	tx    Tx
	terms Terms
	jobs  []Job
	out   []Happening
}

// cast fills in organisations and the person whose job it is, or who looks
// after the member's money.
func (n *narrator) cast(h *Happening) error {
	org := h.Job.Org
	if h.Kind == PaidShort {
		org = h.Invoice.Org
	}
	for _, o := range n.terms.Orgs {
		if o.ID == org {
			h.Org = o
		}
		if o.ID == h.Other.Org {
			h.With = o
		}
	}
	who := h.Job.User
	if h.Kind == PaidShort {
		members, err := n.tx.Members(org)
		if err != nil {
			return err
		}
		for _, role := range []pool.Role{pool.RoleOwner, pool.RoleFinance} { // finance, where there is such a person
			for _, m := range members {
				if m.Role == role {
					who = m.User
				}
			}
		}
	}
	var err error
	h.Viewer, err = n.tx.User(who)
	return err
}

// claims are reclaims under way, seen from both sides.
func (n *narrator) claims() error {
	promises, err := n.tx.OpenPromises()
	if err != nil {
		return err
	}
	for _, p := range promises {
		if p.Rule != string(quota.ByQuota) {
			continue
		}
		owner, err := n.tx.JobByID(p.Job)
		if err != nil {
			return err
		}
		for _, v := range p.Victims {
			victim, err := n.tx.JobByID(v.Job)
			if err != nil {
				return err
			}
			if victim.Org == owner.Org {
				continue
			}
			n.out = append(n.out, Happening{Kind: OwnerClaims, Job: owner, Other: victim, Until: p.StopAt},
				Happening{Kind: BorrowerYield, Job: victim, Other: owner, Until: p.StopAt})
			return nil // one is enough to see both sides
		}
	}
	return n.takenBack()
}

// takenBack is the borrower that gave its GPUs back last and waits since.
func (n *narrator) takenBack() error {
	var newest Happening
	for _, j := range n.jobs {
		if j.State != JobWaiting || j.Attempts == 0 {
			continue
		}
		a, err := n.tx.Attempt(pool.AttemptID{Job: j.ID, N: j.Attempts})
		if err != nil {
			return err
		}
		if a.End == EndTakenBack && a.EndedAt > max(newest.Since, n.tx.Now().Add(-24*hour)) {
			newest = Happening{Kind: BorrowerWaits, Job: j, Since: a.EndedAt}
		}
	}
	if newest.Since != 0 {
		n.out = append(n.out, newest)
	}
	return nil
}

// capped is the newest job that the cap stops, and what it would be as spot.
func (n *narrator) capped() error {
	for _, j := range slices.Backward(n.jobs) {
		if j.State != JobWaiting || len(j.Reasons) == 0 || j.Reasons[0].Code != pool.Cap {
			continue
		}
		spot := j
		spot.Tier = pool.Spot
		q, err := quoteJob(n.tx, spot, nil)
		if err != nil {
			return err
		}
		n.out = append(n.out, Happening{Kind: CapReached, Job: j, Amount: q.UpTo, Starts: q.Answer.Admitted})
		return nil
	}
	return nil
}

// gang is a job that waits for several nodes at once.
func (n *narrator) gang() error {
	for _, j := range n.jobs {
		if j.State == JobWaiting && len(j.Reasons) > 0 && j.Nodes > 1 {
			n.out = append(n.out, Happening{Kind: GangWaits, Job: j})
			return nil
		}
	}
	return nil
}

// memory is the newest job of the week that ran out of GPU memory.
func (n *narrator) memory() error {
	const week = 7 * 24 * hour
	ended, err := n.tx.Jobs(JobFilter{States: []JobState{JobEnded}, From: n.tx.Now().Add(-week), Limit: 200})
	if err != nil {
		return err
	}
	short := func(j Job) bool { return j.End == EndGPUMemory }
	i := slices.IndexFunc(ended, short)
	if i < 0 {
		return nil
	}
	h := Happening{Kind: MemoryShort, Job: ended[i]}
	same, err := n.tx.Jobs(JobFilter{Org: h.Job.Org, User: h.Job.User, Search: h.Job.Name, States: []JobState{JobEnded}, From: n.tx.Now().Add(-week), Limit: 200})
	for _, j := range same {
		if short(j) && j.Name == h.Job.Name {
			h.Count++
		}
	}
	n.out = append(n.out, h)
	return err
}

// idle is a running job that a demo simulates as idle, when it has held its
// GPUs for hours.
func (n *narrator) idle() error {
	for _, j := range n.jobs {
		if j.State != JobRunning || j.Spec.Sim == nil || !j.Spec.Sim.Idle {
			continue
		}
		a, err := n.tx.Attempt(pool.AttemptID{Job: j.ID, N: j.Attempts})
		if err != nil {
			return err
		}
		if a.StartedAt == 0 || n.tx.Now().Sub(a.StartedAt) < 2*hour {
			continue
		}
		w, err := readWork(n.tx, j.Org)
		if err != nil {
			return err
		}
		costs, err := jobCharges(n.tx, n.terms, w, []pool.JobID{j.ID})
		if err != nil {
			return err
		}
		h := Happening{Kind: GPUsIdle, Job: j, Since: a.StartedAt}
		for _, c := range costs[j.ID] {
			h.Amount += c.Cost
		}
		n.out = append(n.out, h)
		return nil
	}
	return nil
}

// money is an invoice of which a part was paid.
func (n *narrator) money() error {
	invoices, err := n.tx.Invoices("")
	if err != nil {
		return err
	}
	paid, err := n.tx.PaymentSums("")
	if err != nil {
		return err
	}
	for _, i := range invoices {
		if p := paid[i.ID]; p > 0 && p < i.Total {
			n.out = append(n.out, Happening{Kind: PaidShort, Invoice: i, Amount: i.Total - p})
			return nil
		}
	}
	return nil
}
