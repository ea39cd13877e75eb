package domain

import (
	"context"
	"slices"
	"strings"

	"gpupool/domain/money"
	"gpupool/domain/pool"
	"gpupool/domain/rating"
)

// SubscribeInput chooses a published plan version and who gets the invoice.
type SubscribeInput struct {
	Version pool.PlanVersionID
	Account pool.AccountID // empty: the one of the running subscription, or the only one
}

// SubscriptionView is what an organisation has and will have.
type SubscriptionView struct {
	Now     pool.Instant
	Current *SubscriptionOf // nil: none
	Next    *SubscriptionOf // begins later; nil: none
	Past    []SubscriptionOf
}

// SubscriptionOf is a subscription with its plan.
type SubscriptionOf struct {
	Subscription
	Plan        Plan
	PlanVersion PlanVersion
	AccountName string
}

// Subscription of an organisation.
func (s *Service) Subscription(ctx context.Context, a Actor, org pool.OrgID) (SubscriptionView, error) {
	if err := a.Need(org, ActViewBilling); err != nil {
		return SubscriptionView{}, err
	}
	var v SubscriptionView
	err := s.store.View(ctx, func(tx Tx) error {
		v = SubscriptionView{Now: tx.Now()}
		subs, err := tx.Subscriptions(org)
		if err != nil {
			return err
		}
		accounts, err := tx.Accounts(org)
		if err != nil {
			return err
		}
		views, err := planViews(tx)
		if err != nil {
			return err
		}
		for _, x := range subs {
			if x.Start == x.End {
				continue // withdrawn before it began
			}
			o := SubscriptionOf{Subscription: x}
			o.Plan, o.PlanVersion, _ = findVersion(views, x.Version)
			for _, b := range accounts {
				if b.ID == x.Account {
					o.AccountName = b.Name
				}
			}
			switch {
			case x.End <= v.Now:
				v.Past = append(v.Past, o)
			case x.Start <= v.Now:
				v.Current = &o
			default:
				v.Next = &o
			}
		}
		return nil
	})
	return v, err
}

func findVersion(views []PlanView, id pool.PlanVersionID) (Plan, PlanVersion, bool) {
	for _, p := range views {
		for _, v := range p.Versions {
			if v.ID == id {
				return p.Plan, v, true
			}
		}
	}
	return Plan{}, PlanVersion{}, false
}

// planned is a subscription to begin, with what is there now.
type planned struct {
	terms   Terms
	plan    Plan
	version PlanVersion
	account pool.AccountID
	current *Subscription // in force now
	next    *Subscription // begins later
	from    pool.Instant  // when the new one begins
	period  pool.Interval // the billing month of now
	bigger  bool          // than the current one: begins at once
	oldPlan string
	old     PlanVersion
}

// planSubscription checks what is asked for and finds when it begins.
func planSubscription(tx Tx, org pool.OrgID, in SubscribeInput) (planned, error) {
	var c planned
	var err error
	if _, err := tx.Org(org); err != nil {
		return c, err
	}
	if c.terms, err = LoadTerms(tx); err != nil {
		return c, err
	}
	c.terms = c.terms.Of(org)
	now := tx.Now()
	c.period = pool.MonthOf(now, c.terms.Zone).Bounds(c.terms.Zone)
	views, err := planViews(tx)
	if err != nil {
		return c, err
	}
	for i, x := range c.terms.Subscriptions {
		switch {
		case x.Start == x.End || x.End <= now:
		case x.Start <= now:
			c.current = &c.terms.Subscriptions[i]
		default:
			c.next = &c.terms.Subscriptions[i]
		}
	}
	var f Fields
	ok := false
	if c.plan, c.version, ok = findVersion(views, in.Version); !ok || c.version.PublishedAt == 0 {
		f.Add("version", "There is no such plan.")
	} else {
		i := slices.IndexFunc(views, func(p PlanView) bool { return p.ID == c.plan.ID })
		if newest, _ := views[i].Published(); newest.ID != c.version.ID {
			f.Add("version", "Version %d of %s was replaced by version %d.", c.version.N, c.plan.Name, newest.N)
		}
	}
	accounts, err := tx.Accounts(org)
	if err != nil {
		return c, err
	}
	c.account = in.Account
	switch {
	case c.account == "" && c.current != nil:
		c.account = c.current.Account
	case c.account == "" && len(accounts) == 1:
		c.account = accounts[0].ID
	}
	switch {
	case len(accounts) == 0:
		f.Add("account", "Add a billing account first: the fee needs somebody who gets the invoice.")
	case !slices.ContainsFunc(accounts, func(b BillingAccount) bool { return b.ID == c.account }):
		f.Add("account", "Choose a billing account.")
	}
	if err := f.Err(); err != nil {
		return c, err
	}
	c.from = now
	if c.current != nil {
		p, old, _ := findVersion(views, c.current.Version)
		c.oldPlan, c.old = p.Name, old
		if c.bigger = c.version.Fee >= old.Fee; !c.bigger {
			c.from = c.period.End
		}
	}
	return c, nil
}

// after is the organisation's subscriptions once the change is made, and the
// rows that differ from now.
func (c planned) after(id pool.SubscriptionID, org pool.OrgID, now pool.Instant) (all, changed []Subscription, begun Subscription) {
	for _, x := range c.terms.Subscriptions {
		old := x
		switch {
		case c.next != nil && x.ID == c.next.ID:
			x.End = x.Start // withdrawn
		case c.current != nil && x.ID == c.current.ID:
			x.End = c.from
		}
		if x.End != old.End {
			changed = append(changed, x)
		}
		all = append(all, x)
	}
	begun = Subscription{ID: id, Org: org, Account: c.account, Version: c.version.ID, Start: c.from, End: pool.Never, Payment: "ok", CreatedAt: now}
	if c.current != nil {
		begun.Payment, begun.Pauses = c.current.Payment, c.current.Pauses
	}
	return append(all, begun), changed, begun
}

// SubscriptionPreview is what a subscription or a change of plan will cost,
// before it is confirmed. Net amounts.
type SubscriptionPreview struct {
	Plan      Plan
	Version   PlanVersion
	Account   pool.AccountID
	From      pool.Instant  // when it begins: now, or the next month for a smaller fee
	Period    pool.Interval // the billing month of now
	Change    bool          // false: the first subscription
	OldPlan   string        // name of the plan that ends
	Lines     []rating.Line // the month's fee lines after the change, each with its service period
	ThisMonth money.Amount  // their sum
	Before    money.Amount  // the month's fees without the change
	Monthly   money.Amount  // of a full month from then on
	Losing    []Warning     // guaranteed GPUs and limits that get smaller
}

// PreviewSubscription tells what Subscribe, or ChangePlan while a subscription
// runs, would do, and changes nothing.
func (s *Service) PreviewSubscription(ctx context.Context, a Actor, org pool.OrgID, in SubscribeInput) (SubscriptionPreview, error) {
	if err := a.Need(org, ActViewBilling); err != nil {
		return SubscriptionPreview{}, err
	}
	var p SubscriptionPreview
	err := s.store.View(ctx, func(tx Tx) error {
		c, err := planSubscription(tx, org, in)
		if err != nil {
			return err
		}
		all, _, _ := c.after("preview", org, tx.Now())
		p = SubscriptionPreview{Plan: c.plan, Version: c.version, Account: c.account, From: c.from, Period: c.period,
			Change: c.current != nil, OldPlan: c.oldPlan, Monthly: c.version.Fee, Losing: c.losing()}
		if p.Before, err = rating.Net(rating.FeeLines(c.terms.PlanWindows(org), c.period)); err != nil {
			return err
		}
		t := c.terms
		t.Subscriptions = all
		p.Lines = rating.FeeLines(t.PlanWindows(org), c.period)
		p.ThisMonth, err = rating.Net(p.Lines)
		return err
	})
	return p, err
}

// losing names what a change takes away.
func (c planned) losing() []Warning {
	var out []Warning
	for _, old := range c.old.Classes {
		var n PlanClass
		for _, x := range c.version.Classes {
			if x.Class == old.Class {
				n = x
			}
		}
		if n.Guaranteed < old.Guaranteed {
			out = append(out, Warning{"%s: %d guaranteed GPUs instead of %d.", []any{string(old.Class), n.Guaranteed, old.Guaranteed}})
		}
		if n.Included < old.Included {
			out = append(out, Warning{"%s: %s included hours a month instead of %s.", []any{string(old.Class), wholeHours(n.Included), wholeHours(old.Included)}})
		}
		if n.BorrowLimit < old.BorrowLimit {
			out = append(out, Warning{"%s: borrows at most %d GPUs instead of %d.", []any{string(old.Class), n.BorrowLimit, old.BorrowLimit}})
		}
	}
	return out
}

// wholeHours prints included hours, which are whole.
func wholeHours(g pool.GPUMillis) string { return strings.TrimSuffix(g.Hours(), ".000") }

// Subscribe begins the organisation's subscription now. While one runs,
// ChangePlan is the way.
func (s *Service) Subscribe(ctx context.Context, a Actor, org pool.OrgID, in SubscribeInput) (Subscription, error) {
	return s.subscribe(ctx, a, org, in, "subscription.start", func(c planned) error {
		if c.current == nil && c.next == nil {
			return nil
		}
		return Errf(Conflict, "The organisation has a subscription already. Change the plan instead.")
	})
}

// ChangePlan moves to another plan: to a fee that is not smaller at once, to a
// smaller one at the end of the billing month. A change that was to come is
// replaced.
func (s *Service) ChangePlan(ctx context.Context, a Actor, org pool.OrgID, in SubscribeInput) (Subscription, error) {
	return s.subscribe(ctx, a, org, in, "subscription.change", func(c planned) error {
		switch {
		case c.current == nil:
			return Errf(Conflict, "The organisation has no subscription. Subscribe to a plan first.")
		case c.current.Version == c.version.ID && c.current.Account == c.account && c.current.End == pool.Never:
			return Errf(Conflict, "The organisation has %s already.", c.plan.Name)
		}
		return nil
	})
}

func (s *Service) subscribe(ctx context.Context, a Actor, org pool.OrgID, in SubscribeInput, action string, allowed func(planned) error) (Subscription, error) {
	if err := a.Need(org, ActSubscribe); err != nil {
		return Subscription{}, err
	}
	id := pool.SubscriptionID(s.newID("sub-"))
	var begun Subscription
	err := s.update(ctx, org, func(tx Tx) error {
		c, err := planSubscription(tx, org, in)
		if err != nil {
			return err
		}
		if err := allowed(c); err != nil {
			return err
		}
		var changed []Subscription
		_, changed, begun = c.after(id, org, tx.Now())
		for _, x := range changed {
			if err := tx.UpdateSubscription(x); err != nil {
				return err
			}
		}
		if err := tx.InsertSubscription(begun); err != nil {
			return err
		}
		if err := tx.BumpVersion(); err != nil {
			return err
		}
		var before any
		if c.current != nil {
			before = *c.current
		}
		return audit(tx, a, org, action, string(id), before, begun)
	})
	return begun, err
}

// CancelSubscription ends the subscription with the billing month. A change
// that was to come is withdrawn. Until then nothing changes.
func (s *Service) CancelSubscription(ctx context.Context, a Actor, org pool.OrgID) (Subscription, error) {
	return s.endSubscription(ctx, a, org, "subscription.cancel", func(sub *Subscription, next bool, period pool.Interval) error {
		if sub.End != pool.Never && !next {
			return Errf(Conflict, "The subscription ends on its own already.")
		}
		sub.End = period.End
		return nil
	})
}

// KeepSubscription takes a cancellation or a change that was to come back.
func (s *Service) KeepSubscription(ctx context.Context, a Actor, org pool.OrgID) (Subscription, error) {
	return s.endSubscription(ctx, a, org, "subscription.keep", func(sub *Subscription, _ bool, _ pool.Interval) error {
		if sub.End == pool.Never {
			return Errf(Conflict, "The subscription goes on already.")
		}
		sub.End = pool.Never
		return nil
	})
}

func (s *Service) endSubscription(ctx context.Context, a Actor, org pool.OrgID, action string, end func(sub *Subscription, next bool, period pool.Interval) error) (Subscription, error) {
	if err := a.Need(org, ActSubscribe); err != nil {
		return Subscription{}, err
	}
	var now Subscription
	err := s.update(ctx, org, func(tx Tx) error {
		t, err := LoadTerms(tx)
		if err != nil {
			return err
		}
		t = t.Of(org)
		sub, ok := t.Subscription(org, tx.Now())
		if !ok {
			return Errf(Conflict, "The organisation has no subscription.")
		}
		before := sub
		next := false
		for _, x := range t.Subscriptions {
			if x.Start > tx.Now() && x.Start < x.End {
				next = true
				x.End = x.Start
				if err := tx.UpdateSubscription(x); err != nil {
					return err
				}
			}
		}
		if err := end(&sub, next, pool.MonthOf(tx.Now(), t.Zone).Bounds(t.Zone)); err != nil {
			return err
		}
		now = sub
		if err := tx.UpdateSubscription(sub); err != nil {
			return err
		}
		if err := tx.BumpVersion(); err != nil {
			return err
		}
		return audit(tx, a, org, action, string(sub.ID), before, sub)
	})
	return now, err
}
