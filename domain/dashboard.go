package domain

import (
	"cmp"
	"context"
	"slices"

	"gpupool/domain/money"
	"gpupool/domain/pool"
	"gpupool/domain/quota"
	"gpupool/domain/rating"
)

// QuotaNow is a member's quota of a class and how it is used now, in GPUs.
type QuotaNow struct {
	ClassQuota
	Name     string
	OwnUsed  int // own work inside the quota
	Lent     int // unused quota that others use now
	Borrowed int
	Spot     int
	Waiting  int
	// Included hours of the month.
	IncludedUsed pool.GPUMillis
}

// Free is quota that nobody uses.
func (q QuotaNow) Free() int { return max(0, q.Nominal-q.OwnUsed-q.Lent) }

// Dashboard is what a member's first page shows.
type Dashboard struct {
	Now          pool.Instant
	Org          Organisation
	Settings     Settings
	Month        pool.Month
	Subscription *Subscription
	Plan         *PlanVersion
	PlanName     string
	Quotas       []QuotaNow
	Charges      money.Amount // variable, of the month so far
	Fee          money.Amount
	PerHour      money.Amount // what runs now costs an hour at list price
	Cap          *SpendingCap
	Committed    money.Amount // what running jobs may still cost in the month
	Counts       map[JobState]int64
	Recent       []JobRow
	Lines        []rating.Line
	Projects     []Project
}

// Dashboard of an organisation.
func (s *Service) Dashboard(ctx context.Context, a Actor, org pool.OrgID) (Dashboard, error) {
	var d Dashboard
	if err := a.Need(org, ActView); err != nil {
		return d, err
	}
	err := s.store.View(ctx, func(tx Tx) error {
		d = Dashboard{Now: tx.Now()}
		t, err := LoadTerms(tx)
		if err != nil {
			return err
		}
		i := slices.IndexFunc(t.Orgs, func(o Organisation) bool { return o.ID == org })
		if i < 0 {
			return Errf(NotFound, "There is no such page.")
		}
		d.Org = t.Orgs[i]
		d.Settings = t.Settings
		d.Month = pool.MonthOf(d.Now, t.Zone)
		if err := d.fill(tx, t, a); err != nil {
			return err
		}
		return s.expectAll(tx, d.Recent)
	})
	return d, err
}

func (d *Dashboard) fill(tx Tx, t Terms, a Actor) error {
	org := d.Org.ID
	if sub, ok := t.Subscription(org, d.Now); ok {
		v := t.Versions[sub.Version]
		d.Subscription, d.Plan, d.Fee = &sub, &v, v.Fee
		d.PlanName = t.PlanName(v.Plan)
	}
	only, narrow := a.Projects[org]
	narrow = narrow && !a.Operator
	seen := func(p pool.ProjectID) bool { return !narrow || slices.Contains(only, p) }
	if c, ok := t.Cap(org, d.Now); ok && !narrow {
		d.Cap = &c
	}
	w, err := readWork(tx, org)
	if err != nil {
		return err
	}
	lines, err := monthCharges(tx, t, org, d.Month, w)
	if err != nil {
		return err
	}
	d.Lines = partsOf(lines, seen)
	if d.Charges, err = rating.Charges(d.Lines); err != nil {
		return err
	}
	d.Quotas = quotaNow(t, org, lines, w.attempts, d.Now)
	month := d.Month.Bounds(t.Zone)
	for _, at := range w.attempts {
		if at.Org != org || !seen(at.Project) {
			continue
		}
		d.PerHour += t.anHour(at.Class, at.Split, d.Now)
		left := pool.Interval{Start: d.Now, End: min(at.MaxEnd, month.End)}
		if up, ok := rating.UpTo(t.Prices(), at.Class, at.Tier, pool.GPUMillis(int64(at.GPUs())*left.Millis()), d.Now); ok {
			d.Committed += up
		}
	}
	f := JobFilter{Org: org, Limit: 8}
	if narrow {
		f.Projects = only
	}
	if d.Counts, err = countJobs(tx, f, narrow); err != nil {
		return err
	}
	jobs, err := tx.Jobs(f)
	if err != nil {
		return err
	}
	d.Projects = slices.DeleteFunc(t.ProjectsOf(org), func(p Project) bool { return !seen(p.ID) })
	d.Recent, err = jobRows(tx, t, w, jobs)
	return err
}

// partsOf keeps of each line what is of the projects seen.
func partsOf(lines []rating.Line, seen func(pool.ProjectID) bool) []rating.Line {
	var out []rating.Line
	for _, l := range lines {
		parts := only(l.Parts, func(p rating.Part) bool { return seen(p.Project) })
		if len(parts) == len(l.Parts) {
			out = append(out, l)
			continue
		}
		l.Parts, l.Quantity, l.Amount = parts, 0, 0
		for _, p := range parts {
			l.Quantity += p.Quantity
			l.Amount += p.Amount
		}
		if len(parts) > 0 {
			out = append(out, l)
		}
	}
	return out
}

// countJobs by state; for somebody who is narrowed to projects only the newest
// 200 of these.
func countJobs(tx Tx, f JobFilter, narrow bool) (map[JobState]int64, error) {
	if !narrow {
		return tx.CountJobs(f.Org)
	}
	f.Limit = 200
	jobs, err := tx.Jobs(f)
	out := map[JobState]int64{}
	for _, j := range jobs {
		out[j.State]++
	}
	return out, err
}

func idsOf(jobs []Job) []pool.JobID {
	out := make([]pool.JobID, len(jobs))
	for i, j := range jobs {
		out[i] = j.ID
	}
	return out
}

// quotaNow counts a member's quota. What is lent is its share of all loans and
// spot of the class, by unused lendable quota.
func quotaNow(t Terms, org pool.OrgID, lines []rating.Line, all []Attempt, now pool.Instant) []QuotaNow {
	names := map[pool.ClassID]string{}
	for _, c := range t.Classes {
		names[c.ID] = c.Name
	}
	lent := lentNow(t, t.Nodes, all, now)
	var out []QuotaNow
	for _, q := range t.Quota(org, now) {
		n := QuotaNow{ClassQuota: q, Name: names[q.Class], Lent: lent[lenderKey{org, q.Class}]}
		for _, a := range all {
			if a.Org == org && a.Class == q.Class {
				n.OwnUsed += a.Split.Own
				n.Borrowed += a.Split.Loan
				n.Spot += a.Split.Spot
			}
		}
		for _, l := range lines {
			if l.Kind == rating.Included && l.Class == q.Class {
				n.IncludedUsed += l.Quantity
			}
		}
		out = append(out, n)
	}
	return out
}

// lentNow divides the loans and spot of each class among the lenders.
func lentNow(t Terms, nodes []Node, running []Attempt, now pool.Instant) map[lenderKey]int {
	s := quota.Snapshot{}
	orgs := map[pool.OrgID]bool{}
	for _, sub := range t.Subscriptions {
		orgs[sub.Org] = true
	}
	for _, c := range t.Contributions {
		orgs[c.Org] = true
	}
	for o := range orgs {
		q := quota.Org{ID: o}
		for _, c := range t.Quota(o, now) {
			lend := c.Lend
			q.Quotas = append(q.Quotas, quota.Quota{Class: c.Class, Nominal: c.Nominal, LendLimit: &lend})
		}
		s.Orgs = append(s.Orgs, q)
	}
	for _, n := range nodes {
		s.Nodes = append(s.Nodes, t.hardwareAt(n, now))
	}
	borrowed := map[pool.ClassID]int{}
	for _, a := range running {
		s.Running = append(s.Running, quota.Attempt{Org: a.Org, Class: a.Class, Split: a.Split, Placement: toQuota(a.Placement)})
		borrowed[a.Class] += a.Split.Loan + a.Split.Spot
	}
	unused := unusedLendable(s, now)
	keys := make([]lenderKey, 0, len(unused))
	for k := range unused {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b lenderKey) int { return cmp.Or(cmp.Compare(a.class, b.class), cmp.Compare(a.org, b.org)) })
	out := map[lenderKey]int{}
	for class, n := range borrowed {
		var mine []lenderKey
		var weights []int64
		sum := int64(0)
		for _, k := range keys {
			if k.class == class {
				mine = append(mine, k)
				weights = append(weights, int64(unused[k]))
				sum += int64(unused[k])
			}
		}
		if sum == 0 {
			continue
		}
		for i, part := range money.Split(money.Amount(min(int64(n), sum)), weights) {
			out[mine[i]] = int(part)
		}
	}
	return out
}
