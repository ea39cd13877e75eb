package domain

import (
	"slices"
	"strings"

	"gpupool/domain/money"
	"gpupool/domain/pool"
	"gpupool/domain/quota"
	"gpupool/domain/rating"
)

func capBudget(org pool.OrgID) quota.BudgetID       { return quota.BudgetID("cap:" + org) }
func projectBudget(p pool.ProjectID) quota.BudgetID { return quota.BudgetID("project:" + p) }
func orderBudget(a pool.AccountID) quota.BudgetID   { return quota.BudgetID("order:" + a) }

// charges says against which budgets work counts, at the dearest price that it
// can fall to until the end of each budget's period. All work of a tier and
// class has one price there, so that it doesn't matter whose use burns the
// included hours.
func (t Terms) charges(k payer, now pool.Instant) []quota.Charge {
	dearest := func(budget quota.BudgetID, span pool.Interval, included bool) quota.Charge {
		c := quota.Charge{Budget: budget, Class: k.class, Included: included && k.tier == pool.Guaranteed}
		c.Price, _ = t.Dearest(k.class, span, rating.Reach(k.tier)...)
		if k.tier == pool.Burst {
			c.Spot, _ = t.Dearest(k.class, span, rating.Reach(pool.Spot)...)
		}
		return c
	}
	month := t.committed(k.org, now)
	covered := t.subscribed(k.org, pool.Interval{Start: now, End: month.End})
	project := month
	if i := slices.IndexFunc(t.Projects, func(x Project) bool { return x.ID == k.project }); i >= 0 && t.Projects[i].BudgetPeriod == "total" {
		project.End = pool.Never
	}
	// Hours are shared by the accounts of an organisation: what one burns, the
	// order of another can't count on.
	account := t.AccountOf(k.project, now)
	alone := !slices.ContainsFunc(t.Projects, func(x Project) bool { return x.Org == k.org && t.AccountOf(x.ID, now) != account })
	return []quota.Charge{dearest(capBudget(k.org), month, covered), dearest(projectBudget(k.project), project, false),
		dearest(orderBudget(account), month, covered && alone)}
}

// subscribed tells whether some plan is in force all the time: use under none
// burns no hours. Subscriptions lie by their start.
func (t Terms) subscribed(org pool.OrgID, span pool.Interval) bool {
	at := span.Start
	for _, s := range t.Subscriptions {
		if s.Org == org && s.Start <= at && at < s.End {
			at = s.End
		}
	}
	return at >= span.End
}

// committed is the time whose prices commitments of this month may be charged
// at. Where the plan changes in the month, use under the one may come to pay
// for hours of the other at a price of before.
func (t Terms) committed(org pool.OrgID, now pool.Instant) pool.Interval {
	month := pool.MonthOf(now, t.Zone).Bounds(t.Zone)
	plans := 0
	for _, s := range t.Subscriptions {
		if s.Org == org && s.Start < month.End && month.Start < s.End {
			plans++
		}
	}
	if plans < 2 {
		month.Start = now
	}
	return month
}

// budgets reads caps, project budgets and purchase orders, with what is spent
// of each in the month of now.
func (v *view) budgets(tx Tx) error {
	month := pool.MonthOf(v.now, v.terms.Zone)
	bounds := month.Bounds(v.terms.Zone)
	limited := map[pool.OrgID]bool{}
	for _, o := range v.snap.Orgs {
		if c, ok := v.terms.Cap(o.ID, v.now); ok && c.Mode != CapNotify {
			limited[o.ID] = true
		}
	}
	budgeted := map[pool.ProjectID]Project{}
	for _, p := range v.terms.Projects {
		if p.Budget != nil {
			budgeted[p.ID] = p
		}
	}
	orders := v.terms.Orders
	if len(limited)+len(budgeted)+len(orders) == 0 {
		return nil
	}
	rows, err := tx.Usage(SegmentFilter{From: bounds.Start, To: bounds.End}, UsageGroup{Project: true, Account: true, Org: true})
	if err != nil {
		return err
	}
	w, err := readWork(tx, "")
	if err != nil {
		return err
	}
	m := spending{view: v, bounds: bounds, rows: rows, live: w.use(v.terms, bounds, v.now)}
	if err := m.caps(limited); err != nil {
		return err
	}
	if err := m.projects(tx, budgeted); err != nil {
		return err
	}
	return m.orders(tx, orders)
}

// spending is the use of the month while budgets are computed from it.
type spending struct {
	*view
	bounds pool.Interval
	rows   []UsageRow
	live   []Segment
}

// of selects stored and live use.
func (m spending) of(row func(UsageRow) bool, seg func(Segment) bool) []rating.Total {
	var rows []UsageRow
	for _, r := range m.rows {
		if row(r) {
			rows = append(rows, r)
		}
	}
	var live []Segment
	for _, s := range m.live {
		if seg(s) {
			live = append(live, s)
		}
	}
	return totalsOf(rows, live)
}

// lines bounds the lines of an invoice that an account's use of the month
// stands on: its price rows.
func (m spending) lines() int {
	n := 0
	for _, r := range m.terms.Prices() {
		if r.Valid.Overlaps(m.bounds) {
			n++
		}
	}
	return n
}

func (m spending) caps(limited map[pool.OrgID]bool) error {
	for _, o := range m.snap.Orgs {
		if !limited[o.ID] {
			continue
		}
		c, _ := m.terms.Cap(o.ID, m.now)
		lines, included, err := m.rate(o.ID)
		if err != nil {
			return err
		}
		spent, err := rating.Charges(lines)
		if err != nil {
			return err
		}
		m.snap.Budgets = append(m.snap.Budgets, quota.Budget{ID: capBudget(o.ID), Kind: pool.Cap, Ref: string(o.ID),
			Limit: *c.Amount, Spent: spent, Period: m.bounds, Included: included, AtLimit: quota.AtLimit(c.Mode), Lines: m.lines()})
	}
	return nil
}

// rate prices an organisation's month so far, and tells what is left of its
// included hours.
func (m spending) rate(org pool.OrgID) ([]rating.Line, []quota.Included, error) {
	plans := m.terms.PlanWindows(org)
	lines, err := rating.Rate(rating.Input{Period: m.bounds, Plans: plans, Prices: m.terms.Prices(),
		Totals: m.of(func(r UsageRow) bool { return r.Org == org }, func(s Segment) bool { return s.Org == org })})
	if err != nil {
		return nil, nil, err
	}
	left := rating.Pool(plans, m.bounds)
	for _, l := range lines {
		if l.Kind == rating.Included {
			left[l.Class] -= l.Quantity
		}
	}
	var included []quota.Included
	for _, c := range m.snap.Classes {
		if left[c.ID] > 0 {
			included = append(included, quota.Included{Class: c.ID, Left: left[c.ID]})
		}
	}
	return lines, included, nil
}

func (m spending) projects(tx Tx, budgeted map[pool.ProjectID]Project) error {
	prices := map[pool.PriceRowID]money.Price{}
	for _, r := range m.terms.Prices() {
		prices[r.ID] = r.Price
	}
	for _, q := range m.snap.Projects {
		p, ok := budgeted[q.ID]
		if !ok {
			continue
		}
		totals := m.of(func(r UsageRow) bool { return r.Project == p.ID }, func(s Segment) bool { return s.Project == p.ID })
		period := m.bounds
		if p.BudgetPeriod == "total" {
			period = pool.Interval{Start: p.CreatedAt, End: pool.Never}
			rows, err := tx.Usage(SegmentFilter{Project: p.ID, Org: p.Org}, UsageGroup{Project: true})
			if err != nil {
				return err
			}
			var live []Segment
			for _, s := range m.live {
				if s.Project == p.ID {
					live = append(live, s)
				}
			}
			totals = totalsOf(rows, live)
		}
		m.snap.Budgets = append(m.snap.Budgets, quota.Budget{ID: projectBudget(p.ID), Kind: pool.Budget, Ref: p.Name,
			Limit: money.Amount(*p.Budget), Spent: listValue(totals, prices), Period: period, AtLimit: m.terms.AtLimit(p.Org, m.now), Lines: m.lines()})
	}
	return nil
}

// orders: an account whose purchase orders in force all stop at zero has what
// is left of them; invoiced money and the open month's charges use them up.
func (m spending) orders(tx Tx, orders []PurchaseOrder) error {
	by := map[pool.AccountID][]PurchaseOrder{}
	for _, o := range orders {
		by[o.Account] = append(by[o.Account], o)
	}
	if len(by) == 0 {
		return nil
	}
	accounts, err := tx.Accounts("")
	if err != nil {
		return err
	}
	invoices, err := tx.Invoices("")
	if err != nil {
		return err
	}
	states, err := tx.CurrentStates("")
	if err != nil {
		return err
	}
	for _, a := range accounts {
		limit, number, from, limited := orderLimit(by[a.ID], m.now)
		if !limited {
			continue
		}
		lines, included, err := m.rate(a.Org)
		if err != nil {
			return err
		}
		spent, err := rating.Charges(rating.For(a.ID, lines))
		if err != nil {
			return err
		}
		for _, i := range invoices {
			if i.Account == a.ID && i.IssuedAt >= from && states[i.ID] != "void" {
				spent += i.Net
			}
		}
		m.snap.Budgets = append(m.snap.Budgets, quota.Budget{ID: orderBudget(a.ID), Kind: pool.OrderExhausted, Ref: number,
			Limit: limit, Spent: spent, Period: m.bounds, Included: included, AtLimit: m.terms.AtLimit(a.Org, m.now), Lines: m.lines()})
	}
	return nil
}

// orderLimit sums the orders in force. An account that never had one, or has
// one that goes on without an order at zero, is not limited; after the last
// one has ended nothing is left, unless that went on without.
func orderLimit(orders []PurchaseOrder, now pool.Instant) (limit money.Amount, number string, from pool.Instant, limited bool) {
	from = pool.Never
	var last PurchaseOrder // of those that have ended
	for _, o := range orders {
		if now >= o.To && (o.To > last.To || o.To == last.To && o.ID > last.ID) {
			last = o
		}
		if now < o.From || now >= o.To {
			continue
		}
		if o.AtZero == "without" {
			return 0, "", 0, false
		}
		limit, limited = limit+o.Amount, true
		from = min(from, o.From)
		number = strings.TrimPrefix(number+", "+o.Number, ", ")
	}
	if !limited && last.To > 0 && last.AtZero != "without" {
		return 0, last.Number, now, true
	}
	return limit, number, from, limited
}
