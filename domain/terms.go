package domain

import (
	"time"

	"gpupool/domain/meter"
	"gpupool/domain/money"
	"gpupool/domain/pool"
	"gpupool/domain/quota"
	"gpupool/domain/rating"
)

// Terms is everything that is dated or changes seldom and decides money and
// quota, of all members. It is shared between readers: never change it.
type Terms struct {
	Settings      Settings
	Zone          *time.Location
	Lists         []PriceList // published, by From
	Versions      map[pool.PlanVersionID]PlanVersion
	Plans         []Plan
	Subscriptions []Subscription // by Start
	Limits        []Limit
	Weights       []Weight
	ProjectQuotas []ProjectQuota
	Caps          []SpendingCap
	Contributions []Contribution
	Assigned      []AccountOfProject
	Classes       []GPUClass
	Nodes         []Node
	Orgs          []Organisation
	Projects      []Project
	Orders        []PurchaseOrder
	Policies      []TimePolicy   // by CreatedAt
	Announcements []Announcement // by Start
	rows          []rating.PriceRow
}

// LoadTerms reads them, or takes what was read before.
func LoadTerms(tx Tx) (Terms, error) {
	v, err := tx.Memo("terms", func() (any, error) { return readTerms(tx) })
	if err != nil {
		return Terms{}, err
	}
	return v.(Terms), nil
}

func readTerms(tx Tx) (Terms, error) {
	t := Terms{Versions: map[pool.PlanVersionID]PlanVersion{}}
	var lists []PriceList
	var versions []PlanVersion
	for _, read := range []func() error{
		func() (err error) { t.Settings, err = tx.Settings(); return err },
		func() (err error) { lists, err = tx.PriceLists(); return err },
		func() (err error) { versions, err = tx.PlanVersions(); return err },
		func() (err error) { t.Plans, err = tx.Plans(); return err },
		func() (err error) { t.Subscriptions, err = tx.Subscriptions(""); return err },
		func() (err error) { t.Limits, err = tx.Limits(""); return err },
		func() (err error) { t.Weights, err = tx.Weights(); return err },
		func() (err error) { t.ProjectQuotas, err = tx.ProjectQuotas(); return err },
		func() (err error) { t.Caps, err = tx.Caps(""); return err },
		func() (err error) { t.Contributions, err = tx.Contributions(); return err },
		func() (err error) { t.Assigned, err = tx.ProjectAccounts(""); return err },
		func() (err error) { t.Classes, err = tx.Classes(); return err },
		func() (err error) { t.Nodes, err = tx.Nodes(); return err },
		func() (err error) { t.Orgs, err = tx.Orgs(); return err },
		func() (err error) { t.Projects, err = tx.AllProjects(); return err },
		func() (err error) { t.Orders, err = tx.AllOrders(); return err },
		func() (err error) { t.Policies, err = tx.TimePolicies(); return err },
		func() (err error) { t.Announcements, err = tx.Announcements(); return err },
	} {
		if err := read(); err != nil {
			return t, err
		}
	}
	t.Zone = t.Settings.Location()
	for _, l := range lists {
		if l.PublishedAt != 0 {
			t.Lists = append(t.Lists, l)
		}
	}
	for _, v := range versions {
		t.Versions[v.ID] = v
	}
	t.rows = t.priceRows()
	return t, nil
}

// Of keeps only what is of one organisation among what is a member's own.
func (t Terms) Of(org pool.OrgID) Terms {
	t.Subscriptions = only(t.Subscriptions, func(s Subscription) bool { return s.Org == org })
	t.Limits = only(t.Limits, func(l Limit) bool { return l.Org == org })
	t.Caps = only(t.Caps, func(c SpendingCap) bool { return c.Org == org })
	return t
}

func only[T any](in []T, keep func(T) bool) []T {
	var out []T
	for _, x := range in {
		if keep(x) {
			out = append(out, x)
		}
	}
	return out
}

// ProjectsOf an organisation, by name.
func (t Terms) ProjectsOf(org pool.OrgID) []Project {
	var out []Project
	for _, p := range t.Projects {
		if p.Org == org {
			out = append(out, p)
		}
	}
	return out
}

func (t Terms) projectName(id pool.ProjectID) string {
	for _, p := range t.Projects {
		if p.ID == id {
			return p.Name
		}
	}
	return ""
}

func (t Terms) nodeNames() map[pool.NodeID]string {
	names := make(map[pool.NodeID]string, len(t.Nodes))
	for _, n := range t.Nodes {
		names[n.ID] = n.Name
	}
	return names
}

func (t Terms) nodeName(id pool.NodeID) string {
	if n := t.nodeNames()[id]; n != "" {
		return n
	}
	return string(id)
}

// PlanName of a plan, "" when there is none.
func (t Terms) PlanName(id pool.PlanID) string {
	for _, p := range t.Plans {
		if p.ID == id {
			return p.Name
		}
	}
	return ""
}

// userNames of everybody, by id.
func userNames(tx Tx) (map[pool.UserID]string, error) {
	v, err := tx.Memo("names", func() (any, error) {
		all, err := tx.Users()
		names := make(map[pool.UserID]string, len(all))
		for _, u := range all {
			names[u.ID] = u.Name
		}
		return names, err
	})
	if err != nil {
		return nil, err
	}
	return v.(map[pool.UserID]string), nil
}

// validity of list i: from its From to the next list's.
func (t Terms) validity(i int) pool.Interval {
	v := pool.Interval{Start: t.Lists[i].From, End: pool.Never}
	if i+1 < len(t.Lists) {
		v.End = t.Lists[i+1].From
	}
	return v
}

// Prices are the rows of all published lists with when they apply.
func (t Terms) Prices() []rating.PriceRow { return t.rows }

func (t Terms) priceRows() []rating.PriceRow {
	var out []rating.PriceRow
	for i, l := range t.Lists {
		for _, r := range l.Rows {
			out = append(out, rating.PriceRow{
				PriceWindow: meter.PriceWindow{ID: r.ID, Class: r.Class, Cover: r.Cover, Valid: t.validity(i), Daily: r.Daily()},
				List:        l.ID, Price: r.Price, LenderShare: money.BasisPoints(r.LenderShare),
			})
		}
	}
	return out
}

// Daily is the row's time of day as the meter reads it.
func (r PriceRow) Daily() meter.TimeOfDay {
	if r.FromMinute == 0 && r.ToMinute == 1440 {
		return meter.TimeOfDay{}
	}
	return meter.TimeOfDay{From: r.FromMinute, To: r.ToMinute % 1440}
}

// Dearest is the highest price of the class over the covers, among the lists
// that are in force at some time in span; false when there is none for one
// of the covers.
func (t Terms) Dearest(class pool.ClassID, span pool.Interval, covers ...pool.Cover) (money.Price, bool) {
	var top money.Price
	found := map[pool.Cover]bool{}
	for i, l := range t.Lists {
		if !t.validity(i).Overlaps(span) {
			continue
		}
		for _, r := range l.Rows {
			for _, c := range covers {
				if r.Class == class && r.Cover == c {
					found[c] = true
					top = max(top, r.Price)
				}
			}
		}
	}
	return top, len(found) == len(covers)
}

// At is the price of class and cover at an instant.
func (t Terms) At(class pool.ClassID, cover pool.Cover, at pool.Instant) (PriceRow, bool) {
	local := at.In(t.Zone)
	minute := local.Hour()*60 + local.Minute()
	var best PriceRow
	ok := false
	for i, l := range t.Lists {
		if !t.validity(i).Contains(at) {
			continue
		}
		for _, r := range l.Rows {
			if r.Class == class && r.Cover == cover && r.applies(minute) && (!ok || !r.Daily().WholeDay()) {
				best, ok = r, true
			}
		}
	}
	return best, ok
}

func (r PriceRow) applies(minute int) bool {
	d := r.Daily()
	switch {
	case d.WholeDay():
		return true
	case d.From < d.To:
		return d.From <= minute && minute < d.To
	default:
		return minute >= d.From || minute < d.To
	}
}

// Subscription in force for the organisation at an instant.
func (t Terms) Subscription(org pool.OrgID, at pool.Instant) (Subscription, bool) {
	for _, s := range t.Subscriptions {
		if s.Org == org && s.Start <= at && at < s.End {
			return s, true
		}
	}
	return Subscription{}, false
}

// PlanWindows of the organisation, as rating reads them.
func (t Terms) PlanWindows(org pool.OrgID) []rating.PlanWindow {
	var out []rating.PlanWindow
	for _, s := range t.Subscriptions {
		if s.Org != org {
			continue
		}
		v := t.Versions[s.Version]
		w := rating.PlanWindow{Version: v.ID, Account: s.Account, Valid: pool.Interval{Start: s.Start, End: s.End},
			Fee: v.Fee, Included: map[pool.ClassID]pool.GPUMillis{}}
		for _, c := range v.Classes {
			w.Included[c.Class] = c.Included
		}
		out = append(out, w)
	}
	return out
}

// Assignments of a project, as the meter reads them.
func (t Terms) Assignments(p pool.ProjectID) []meter.Assignment {
	var out []meter.Assignment
	for _, a := range t.Assigned {
		if a.Project != p {
			continue
		}
		if n := len(out); n > 0 {
			out[n-1].Valid.End = a.From
		}
		out = append(out, meter.Assignment{Valid: pool.Interval{Start: a.From, End: pool.Never}, Project: p, Account: a.Account})
	}
	return out
}

// AccountOf is the billing account of a project at an instant, "" when none.
func (t Terms) AccountOf(p pool.ProjectID, at pool.Instant) pool.AccountID {
	var id pool.AccountID
	for _, a := range t.Assigned {
		if a.Project == p && a.From <= at {
			id = a.Account
		}
	}
	return id
}

// ClassQuota is what an organisation has of a class at an instant: the plan
// version in force, its contributions, the time policies that hold, and the
// owner's dated choices.
type ClassQuota struct {
	Class       pool.ClassID
	Nominal     int
	Borrow      int
	Lend        int
	MostBorrow  int // that the owner may choose
	MostLend    int // that the owner may choose, contributed GPUs included
	Included    pool.GPUMillis
	Contributed int
	Policies    []string // names of the time policies that hold
}

// Quota of the organisation at an instant, by class in the plan's order.
// Without a subscription only contributed quota is left. A class without a row
// is not in its plan: it has no quota there and borrows none; what is idle is
// open to it as spot.
func (t Terms) Quota(org pool.OrgID, at pool.Instant) []ClassQuota {
	var holding []TimePolicy
	for _, p := range t.Policies {
		if !p.Closed && p.Org == org && p.holds(at, t.Zone) {
			holding = append(holding, p)
		}
	}
	return t.quota(org, at, holding)
}

// quota is Quota while these time policies hold.
func (t Terms) quota(org pool.OrgID, at pool.Instant, holding []TimePolicy) []ClassQuota {
	var out []ClassQuota
	of := func(class pool.ClassID) *ClassQuota {
		for i := range out {
			if out[i].Class == class {
				return &out[i]
			}
		}
		out = append(out, ClassQuota{Class: class})
		return &out[len(out)-1]
	}
	if s, ok := t.Subscription(org, at); ok {
		for _, c := range t.Versions[s.Version].Classes {
			*of(c.Class) = ClassQuota{Class: c.Class, Nominal: c.Guaranteed, Borrow: c.BorrowLimit, Lend: c.LendLimit,
				MostBorrow: c.BorrowLimit, MostLend: c.LendLimit, Included: c.Included}
		}
	}
	for _, c := range t.Contributions {
		if c.Org == org && c.Quota > 0 && c.From <= at && at < c.To {
			q := of(c.Class)
			q.Nominal += c.Quota
			q.Lend += c.Quota
			q.MostLend += c.Quota
			q.Contributed += c.Quota
		}
	}
	apply(holding, of)
	for _, l := range t.Limits {
		if l.Org != org || l.From > at {
			continue
		}
		q := of(l.Class)
		q.Borrow, q.Lend = q.MostBorrow, q.MostLend
		if l.Borrow != nil {
			q.Borrow = min(*l.Borrow, q.MostBorrow)
		}
		if l.Lend != nil {
			q.Lend = min(*l.Lend, q.MostLend)
		}
	}
	return out
}

// AtLimit is what the organisation chose for running work that its money can't
// bear, also where it has no cap but projects with budgets or purchase orders.
func (t Terms) AtLimit(org pool.OrgID, at pool.Instant) quota.AtLimit {
	mode := CapStop
	for _, x := range t.Caps {
		if x.Org == org && x.From <= at {
			mode = x.Mode
		}
	}
	return quota.AtLimit(mode)
}

// Cap of the organisation in force at an instant.
func (t Terms) Cap(org pool.OrgID, at pool.Instant) (SpendingCap, bool) {
	var c SpendingCap
	ok := false
	for _, x := range t.Caps {
		if x.Org == org && x.From <= at {
			c, ok = x, true
		}
	}
	return c, ok && c.Amount != nil
}
