package domain

import (
	"cmp"
	"context"
	"slices"
	"time"

	"gpupool/domain/money"
	"gpupool/domain/pool"
	"gpupool/domain/quota"
	"gpupool/domain/rating"
)

const hour = time.Hour

// ClassNow is a GPU class at this moment, in GPUs.
type ClassNow struct {
	Class                      GPUClass
	Total                      int // healthy
	Own, Loan, Spot, Free, Out int // Out: unhealthy, or on a node that is down
}

// NodeNow is a node with one letter for each GPU.
type NodeNow struct {
	Node    Node
	Squares []string // "own", "loan", "spot", "free", "out", "foreign"; one for each device
}

// PoolNow is the pool at this moment: what everybody may see.
type PoolNow struct {
	Now      pool.Instant
	Settings Settings
	Classes  []ClassNow
	Nodes    []NodeNow
	Waiting  int
	Running  int
	Reasons  []ReasonCount // of the waiting jobs, by their first reason
	Members  int
}

// ReasonCount is how many jobs wait for a reason.
type ReasonCount struct {
	Code pool.ReasonCode
	Jobs int
}

// PoolNow counts what every GPU does now.
func (s *Service) PoolNow(ctx context.Context) (PoolNow, error) {
	var p PoolNow
	err := s.store.View(ctx, func(tx Tx) (err error) { p, err = poolNow(tx); return err })
	return p, err
}

func poolNow(tx Tx) (PoolNow, error) {
	p := PoolNow{Now: tx.Now()}
	t, err := LoadTerms(tx)
	if err != nil {
		return p, err
	}
	p.Settings = t.Settings
	attempts, err := tx.LiveAttempts()
	if err != nil {
		return p, err
	}
	jobs, err := tx.LiveJobs()
	if err != nil {
		return p, err
	}
	p.Members = len(t.Orgs)
	p.count(jobs)
	held := heldByNode(attempts)
	by := map[pool.ClassID]*ClassNow{}
	p.Classes = make([]ClassNow, len(t.Classes))
	for i, c := range t.Classes {
		p.Classes[i].Class = c
		by[c.ID] = &p.Classes[i]
	}
	for _, n := range t.Nodes {
		c := by[n.Class]
		if c == nil {
			continue
		}
		v := NodeNow{Node: n, Squares: squares(n, held[n.ID])}
		p.Nodes = append(p.Nodes, v)
		for _, q := range v.Squares {
			switch q {
			case "own":
				c.Own++
			case "loan":
				c.Loan++
			case "spot":
				c.Spot++
			case "free":
				c.Free++
			default:
				c.Out++
				c.Total--
			}
			c.Total++
		}
	}
	return p, nil
}

func (p *PoolNow) count(jobs []Job) {
	n := map[pool.ReasonCode]int{}
	for _, j := range jobs {
		if j.State != JobWaiting {
			p.Running++
			continue
		}
		p.Waiting++
		if len(j.Reasons) > 0 {
			n[j.Reasons[0].Code]++
		}
	}
	for code, jobs := range n {
		p.Reasons = append(p.Reasons, ReasonCount{code, jobs})
	}
	slices.SortFunc(p.Reasons, func(a, b ReasonCount) int { return cmp.Or(b.Jobs-a.Jobs, cmp.Compare(a.Code, b.Code)) })
}

// heldByNode divides the cover of attempts over their nodes.
func heldByNode(attempts []Attempt) map[pool.NodeID]pool.Split {
	out := map[pool.NodeID]pool.Split{}
	for _, a := range attempts {
		left := a.Split
		for _, p := range a.Placement {
			s := out[p.Node]
			for range p.GPUs {
				switch {
				case left.Own > 0:
					left.Own--
					s.Own++
				case left.Loan > 0:
					left.Loan--
					s.Loan++
				default:
					left.Spot--
					s.Spot++
				}
			}
			out[p.Node] = s
		}
	}
	return out
}

func squares(n Node, held pool.Split) []string {
	total := max(len(n.Devices), n.GPUs)
	var out []string
	add := func(word string, k int) {
		for range k {
			if len(out) < total {
				out = append(out, word)
			}
		}
	}
	if n.State == NodeDown {
		add("out", total)
		return out
	}
	add("own", held.Own)
	add("loan", held.Loan)
	add("spot", held.Spot)
	add("foreign", n.Foreign)
	add("out", len(n.Unhealthy))
	for len(out) < total {
		if n.State == NodeDraining || n.Cordoned {
			out = append(out, "out")
		} else {
			out = append(out, "free")
		}
	}
	return out
}

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
		return d.fill(tx, t, a)
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
	if c, ok := t.Cap(org, d.Now); ok {
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
	d.Lines = lines
	if d.Charges, err = rating.Charges(lines); err != nil {
		return err
	}
	d.Quotas = quotaNow(t, org, lines, w.attempts, d.Now)
	month := d.Month.Bounds(t.Zone)
	for _, at := range w.attempts {
		if at.Org != org {
			continue
		}
		for _, c := range pool.Covers {
			if p, ok := t.At(at.Class, c, d.Now); ok {
				d.PerHour += money.Charge(pool.GPUMillis(at.Split.Of(c)*pool.MillisPerHour), p.Price)
			}
		}
		left := pool.Interval{Start: d.Now, End: min(at.MaxEnd, month.End)}
		if up, ok := rating.UpTo(t.Prices(), at.Class, at.Tier, pool.GPUMillis(int64(at.GPUs())*left.Millis()), d.Now); ok {
			d.Committed += up
		}
	}
	if d.Counts, err = tx.CountJobs(org); err != nil {
		return err
	}
	f := JobFilter{Org: org, Limit: 8}
	if only, narrowed := a.Projects[org]; narrowed && !a.Operator {
		f.Projects = only
	}
	jobs, err := tx.Jobs(f)
	if err != nil {
		return err
	}
	d.Projects = t.ProjectsOf(org)
	d.Recent, err = jobRows(tx, t, w, jobs)
	return err
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
		state := quota.Ready
		if n.State == NodeDown {
			state = quota.Down
		}
		s.Nodes = append(s.Nodes, quota.Node{ID: n.ID, Class: n.Class, GPUs: n.GPUs, State: state})
	}
	borrowed := map[pool.ClassID]int{}
	for _, a := range running {
		s.Running = append(s.Running, quota.Attempt{Org: a.Org, Class: a.Class, Split: a.Split})
		borrowed[a.Class] += a.Split.Loan + a.Split.Spot
	}
	unused := unusedLendable(s)
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

// UsageLine is a row of the usage report: use and its charge.
type UsageLine struct {
	Kind    rating.Kind
	Class   pool.ClassID
	Cover   pool.Cover
	Project pool.ProjectID
	User    pool.UserID
	Use     pool.GPUMillis
	Amount  money.Amount
}

// UsageReport is an organisation's month: every part adds up to the whole.
type UsageReport struct {
	Month       pool.Month
	Now         pool.Instant
	Settings    Settings
	Provisional bool
	Lines       []UsageLine // by project, person, class, kind
	Total       money.Amount
	Days        []UsageDay
	Projects    map[pool.ProjectID]string
	Users       map[pool.UserID]string
}

// UsageDay is use of a class and cover on a day of the billing zone.
type UsageDay struct {
	Day   pool.Instant
	Class pool.ClassID
	Cover pool.Cover
	Use   pool.GPUMillis
}

// Usage reports an organisation's month by project and person. A member who
// is narrowed to projects sees only those.
func (s *Service) Usage(ctx context.Context, a Actor, org pool.OrgID, m pool.Month) (UsageReport, error) {
	r := UsageReport{Month: m}
	if err := a.Need(org, ActView); err != nil {
		return r, err
	}
	err := s.store.View(ctx, func(tx Tx) error {
		t, err := LoadTerms(tx)
		if err != nil {
			return err
		}
		r = UsageReport{Month: m, Now: tx.Now(), Settings: t.Settings, Projects: map[pool.ProjectID]string{}}
		bounds := m.Bounds(t.Zone)
		r.Provisional = r.Now < bounds.End.Add(t.Settings.Grace)
		lines, err := MonthCharges(tx, t, org, m)
		if err != nil {
			return err
		}
		r.add(lines, func(p pool.ProjectID) bool { return a.SeesProject(org, p) })
		f := SegmentFilter{Org: org, From: bounds.Start, To: bounds.End}
		if only, narrowed := a.Projects[org]; narrowed && !a.Operator {
			f.Projects = only
		}
		days, err := tx.Usage(f, UsageGroup{Day: true})
		if err != nil {
			return err
		}
		r.addDays(days)
		for _, p := range t.ProjectsOf(org) {
			r.Projects[p.ID] = p.Name
		}
		r.Users, err = userNames(tx)
		return err
	})
	return r, err
}

func (r *UsageReport) add(lines []rating.Line, seen func(pool.ProjectID) bool) {
	type key struct {
		kind    rating.Kind
		class   pool.ClassID
		project pool.ProjectID
		user    pool.UserID
	}
	at := map[key]int{}
	for _, l := range lines {
		for _, p := range l.Parts {
			if !seen(p.Project) {
				continue
			}
			k := key{l.Kind, l.Class, p.Project, p.User}
			i, ok := at[k]
			if !ok {
				i = len(r.Lines)
				at[k] = i
				r.Lines = append(r.Lines, UsageLine{Kind: l.Kind, Class: l.Class, Cover: l.Cover, Project: p.Project, User: p.User})
			}
			r.Lines[i].Use += p.Quantity
			r.Lines[i].Amount += p.Amount
			r.Total += p.Amount
		}
	}
	slices.SortFunc(r.Lines, func(a, b UsageLine) int {
		return cmp.Or(cmp.Compare(a.Project, b.Project), cmp.Compare(a.User, b.User), cmp.Compare(a.Class, b.Class),
			cmp.Compare(slices.Index(rating.Kinds, a.Kind), slices.Index(rating.Kinds, b.Kind)))
	})
}

func (r *UsageReport) addDays(rows []UsageRow) {
	for _, row := range rows {
		n := len(r.Days)
		i := slices.IndexFunc(r.Days, func(d UsageDay) bool { return d.Day == row.Day && d.Class == row.Class && d.Cover == row.Cover })
		if i < 0 {
			r.Days = append(r.Days, UsageDay{Day: row.Day, Class: row.Class, Cover: row.Cover})
			i = n
		}
		r.Days[i].Use += row.Use
	}
	slices.SortFunc(r.Days, func(a, b UsageDay) int {
		return cmp.Or(cmp.Compare(a.Day, b.Day), cmp.Compare(a.Class, b.Class), cmp.Compare(a.Cover, b.Cover))
	})
}
