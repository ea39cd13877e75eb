package domain

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"gpupool/domain/money"
	"gpupool/domain/pool"
)

// PlanInput is the operator's form of a new plan.
type PlanInput struct {
	ID           string // slug
	Name, NameZH string
	Hidden       bool
}

// PlanVersionInput is the form of a draft, numbers as typed.
type PlanVersionInput struct {
	Fee        string // net, per month
	Classes    []PlanClassInput
	CarryOver  bool
	AnnualPool bool
}

// PlanClassInput is one class of a plan. Empty numbers are 0; a class of which
// all are 0 is left out.
type PlanClassInput struct {
	Class         pool.ClassID
	Guaranteed    string // GPUs, 0 to 10 000
	IncludedHours string // GPU-hours a month, 0 to 10 000 000
	Borrow        string // GPUs
	Lend          string // GPUs, at most Guaranteed
}

const maxGPUs = 10_000

// PlanView is a plan with its versions, oldest first; the last may be a draft.
type PlanView struct {
	Plan
	Versions []PlanVersion
}

// Published is the newest published version.
func (p PlanView) Published() (PlanVersion, bool) {
	for _, v := range slices.Backward(p.Versions) {
		if v.PublishedAt != 0 {
			return v, true
		}
	}
	return PlanVersion{}, false
}

// Draft is the version that is not published yet.
func (p PlanView) Draft() (PlanVersion, bool) {
	if n := len(p.Versions); n > 0 && p.Versions[n-1].PublishedAt == 0 {
		return p.Versions[n-1], true
	}
	return PlanVersion{}, false
}

// Plans with all their versions and drafts, for the operator.
func (s *Service) Plans(ctx context.Context, a Actor) ([]PlanView, error) {
	if err := a.NeedOperator(); err != nil {
		return nil, err
	}
	var out []PlanView
	err := s.store.View(ctx, func(tx Tx) (err error) { out, err = planViews(tx); return err })
	return out, err
}

func planViews(tx Tx) ([]PlanView, error) {
	plans, err := tx.Plans()
	if err != nil {
		return nil, err
	}
	versions, err := tx.PlanVersions()
	if err != nil {
		return nil, err
	}
	out := make([]PlanView, len(plans))
	for i, p := range plans {
		out[i].Plan = p
		for _, v := range versions {
			if v.Plan == p.ID {
				out[i].Versions = append(out[i].Versions, v)
			}
		}
	}
	return out, nil
}

// CreatePlan makes a plan without a version; SavePlanDraft gives it one.
func (s *Service) CreatePlan(ctx context.Context, a Actor, in PlanInput) (Plan, error) {
	if err := a.NeedOperator(); err != nil {
		return Plan{}, err
	}
	var f Fields
	p := Plan{ID: pool.PlanID(trimmed(in.ID)), Name: checkName(&f, "name", in.Name), NameZH: trimmed(in.NameZH), Hidden: in.Hidden}
	if err := pool.CheckSlug(string(p.ID)); err != nil {
		f.Add("id", "%s", sentence(err))
	}
	checkLine(&f, "name_zh", p.NameZH, false, maxName)
	if err := f.Err(); err != nil {
		return Plan{}, err
	}
	err := s.update(ctx, "", func(tx Tx) error {
		all, err := tx.Plans()
		if err != nil {
			return err
		}
		var f Fields
		for _, x := range all {
			if x.ID == p.ID {
				f.Add("id", "There is a plan %s already.", string(p.ID))
			} else if strings.EqualFold(x.Name, p.Name) {
				f.Add("name", "Another plan has this name.")
			}
		}
		if err := f.Err(); err != nil {
			return err
		}
		if err := tx.InsertPlan(p); err != nil {
			return err
		}
		return audit(tx, a, "", "plan.create", string(p.ID), nil, p)
	})
	return p, err
}

// SavePlanDraft writes the plan's draft: a new version after the last
// published one, or the draft that is there.
func (s *Service) SavePlanDraft(ctx context.Context, a Actor, plan pool.PlanID, in PlanVersionInput) (PlanVersion, error) {
	if err := a.NeedOperator(); err != nil {
		return PlanVersion{}, err
	}
	var v PlanVersion
	err := s.update(ctx, "", func(tx Tx) error {
		st, err := tx.Settings()
		if err != nil {
			return err
		}
		views, err := planViews(tx)
		if err != nil {
			return err
		}
		i := slices.IndexFunc(views, func(p PlanView) bool { return p.ID == plan })
		if i < 0 {
			return Errf(NotFound, "There is no such plan.")
		}
		var before any
		var ok bool
		if v, ok = views[i].Draft(); ok {
			before = v
		} else {
			n := len(views[i].Versions) + 1
			v = PlanVersion{ID: pool.PlanVersionID(fmt.Sprintf("%s-v%d", plan, n)), Plan: plan, N: n, CreatedAt: tx.Now()}
		}
		v.CarryOver, v.AnnualPool = in.CarryOver, in.AnnualPool
		if err := in.apply(tx, st.Currency, &v); err != nil {
			return err
		}
		if err := tx.SavePlanVersion(v); err != nil {
			return err
		}
		return audit(tx, a, "", "plan.draft", string(v.ID), before, v)
	})
	return v, err
}

func (in PlanVersionInput) apply(tx Tx, c money.Currency, v *PlanVersion) error {
	var f Fields
	v.Fee = checkAmount(&f, "fee", c, in.Fee)
	classes, err := tx.Classes()
	if err != nil {
		return err
	}
	v.Classes = nil
	seen := map[pool.ClassID]bool{}
	for _, x := range in.Classes {
		number := func(field, s string, high int64) int64 {
			if trimmed(s) == "" {
				return 0
			}
			return checkCount(&f, field+"."+string(x.Class), s, 0, high)
		}
		if !slices.ContainsFunc(classes, func(c GPUClass) bool { return c.ID == x.Class }) || seen[x.Class] {
			f.Add("classes", "There is no GPU type %.63q, or it is there twice.", string(x.Class))
			continue
		}
		seen[x.Class] = true
		p := PlanClass{Class: x.Class, Guaranteed: int(number("guaranteed", x.Guaranteed, maxGPUs)),
			Included:    pool.GPUMillis(number("included", x.IncludedHours, 10_000_000) * pool.MillisPerHour),
			BorrowLimit: int(number("borrow", x.Borrow, maxGPUs)), LendLimit: int(number("lend", x.Lend, maxGPUs))}
		if p.LendLimit > p.Guaranteed {
			f.Add("lend."+string(x.Class), "Lends %d of only %d guaranteed GPUs.", p.LendLimit, p.Guaranteed)
		}
		if (p != PlanClass{Class: x.Class}) {
			v.Classes = append(v.Classes, p)
		}
	}
	if len(v.Classes) == 0 {
		f.Add("classes", "The plan gives nothing: fill in at least one GPU type.")
	}
	return f.Err()
}

// PublishPlan publishes a draft. From then on it never changes. The warnings
// name guarantees beyond the ready hardware and a fee below what lending could
// earn; they don't stop it.
func (s *Service) PublishPlan(ctx context.Context, a Actor, id pool.PlanVersionID) (PlanVersion, []Warning, error) {
	if err := a.NeedOperator(); err != nil {
		return PlanVersion{}, nil, err
	}
	var v PlanVersion
	var warnings []Warning
	err := s.update(ctx, "", func(tx Tx) (err error) {
		if v, err = tx.PlanVersion(id); err != nil {
			return err
		}
		if v.PublishedAt != 0 {
			return Errf(Conflict, "Version %d of %s was published on %s. A published version never changes.", v.N, string(v.Plan),
				v.PublishedAt.Time().Format("2006-01-02"))
		}
		if warnings, err = planWarnings(tx, v); err != nil {
			return err
		}
		v.PublishedAt = tx.Now()
		if err := tx.SavePlanVersion(v); err != nil {
			return err
		}
		return audit(tx, a, "", "plan.publish", string(id), nil, map[string]any{"version": v, "warnings": fmt.Sprint(warnings)})
	})
	return v, warnings, err
}

func planWarnings(tx Tx, v PlanVersion) ([]Warning, error) {
	t, err := LoadTerms(tx)
	if err != nil {
		return nil, err
	}
	orgs, err := tx.Orgs()
	if err != nil {
		return nil, err
	}
	nodes, err := tx.Nodes()
	if err != nil {
		return nil, err
	}
	sold, ready := map[pool.ClassID]int{}, map[pool.ClassID]int{}
	for _, o := range orgs {
		for _, q := range t.Quota(o.ID, tx.Now()) {
			sold[q.Class] += q.Nominal
		}
	}
	for _, n := range nodes {
		if n.State == NodeReady && !n.Cordoned {
			ready[n.Class] += n.GPUs
		}
	}
	var out []Warning
	var earned money.Amount
	month := pool.MonthOf(tx.Now(), t.Zone).Bounds(t.Zone)
	for _, c := range v.Classes {
		if sold[c.Class]+c.Guaranteed > ready[c.Class] {
			out = append(out, Warning{"%s: %d guaranteed GPUs are sold and this plan guarantees %d more; %d are ready.",
				[]any{string(c.Class), sold[c.Class], c.Guaranteed, ready[c.Class]}})
		}
		if row, ok := t.At(c.Class, pool.Loan, tx.Now()); ok {
			lent := money.Charge(pool.GPUMillis(int64(c.LendLimit)*month.Millis()), row.Price)
			earned += money.BasisPoints(row.LenderShare).Of(lent)
		}
	}
	if earned > v.Fee {
		out = append(out, Warning{"Lending everything all month would earn %s, more than the fee of %s.",
			[]any{inCurrency(t.Settings.Currency, earned), inCurrency(t.Settings.Currency, v.Fee)}})
	}
	return out, nil
}
