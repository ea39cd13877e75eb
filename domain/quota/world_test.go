package quota

import (
	"fmt"
	"slices"
	"time"

	"pgregory.net/rapid"

	"gpupool/domain/money"
	"gpupool/domain/pool"
)

// world is a pool that lives: jobs come, run and go, nodes drain and vanish,
// quotas move, victims get notice. It applies plans as the engine loop does.
// Everything that is random in a history is drawn from its rapid source.
type world struct {
	t    *rapid.T
	snap Snapshot
	now  pool.Instant
	next int
	turn int // decisions so far
	met  *met
	jobs map[pool.JobID]Job
	used map[pool.AttemptID]*use // what each attempt was charged so far
	draws
}

// use is what an attempt held and what it was charged as, in GPU-milliseconds.
type use struct{ held, own, loan, spot, since int64 }

// draws is what a history fixes at its start.
type draws struct {
	fair, priority, notice, small bool
	rules                         bool // what the pool does to running work: money that runs out, quotas that are cut or change by time
}

func (w *world) upTo(most int, label string) int      { return rapid.IntRange(0, most).Draw(w.t, label) }
func (w *world) oneIn(n int, label string) bool       { return w.upTo(n-1, label) == n-1 }
func (w *world) between(lo, hi int, label string) int { return lo + w.upTo(hi-lo, label) }

func pick[T any](w *world, label string, of ...T) T { return of[w.upTo(len(of)-1, label)] }

func newWorld(t *rapid.T, m *met, d draws) *world {
	w := &world{t: t, now: noon, met: m, jobs: map[pool.JobID]Job{}, used: map[pool.AttemptID]*use{}, draws: d}
	orgs := w.between(2, 4, "orgs")
	for o := range orgs {
		w.snap.Orgs = append(w.snap.Orgs, Org{ID: pool.OrgID(fmt.Sprintf("org-%d", o)), Weight: w.upTo(3, "weight")})
	}
	for c := range w.between(1, 2, "classes") {
		w.class(pool.ClassID(fmt.Sprintf("class-%d", c)), d.small)
	}
	for o := range w.snap.Orgs {
		for p := range w.upTo(2, "projects") {
			w.project(pool.ProjectID(fmt.Sprintf("p-%d-%d", o, p)), w.snap.Orgs[o].ID)
		}
	}
	w.snap.Policy = Policy{FairReclaim: d.fair, OwnPriority: d.priority}
	if d.notice {
		w.snap.Policy.Notice = 10 * time.Minute
		w.snap.Policy.DrainLimit = pick(w, "drain limit", 0, 5*time.Minute, time.Hour)
	}
	w.snap.Policy.HalfLife = pick(w, "half-life", 0, 24*time.Hour)
	w.snap.Policy.ReserveAfter = pick(w, "reserve after", 0, 0, 20*time.Minute)
	w.money()
	if d.rules {
		w.strict()
	}
	if w.oneIn(4, "window") {
		w.window()
	}
	return w
}

// class adds a class of GPUs with its nodes and the quotas of all organisations.
func (w *world) class(id pool.ClassID, small bool) {
	w.snap.Classes = append(w.snap.Classes, Class{ID: id, MinRun: pick(w, "minimum run", 0, 0, 0, 30*time.Minute)})
	total, orgs := 0, len(w.snap.Orgs)
	most := 4
	if small {
		most = 2
	}
	for n := range w.between(1, most, "nodes") {
		x := Node{ID: pool.NodeID(fmt.Sprintf("%s-node-%d", id, n)), Class: id, State: Ready, Site: pool.SiteID(fmt.Sprintf("site-%d", n%2)),
			GPUs: pick(w, "gpus", 4, 8, 4, 2, 1)}
		x.Contributor = pool.Consortium
		if o := w.upTo(orgs, "contributor"); o < orgs {
			x.Contributor = w.snap.Orgs[o].ID
		}
		if w.oneIn(6, "foreign work") {
			x.Foreign = 1
		}
		if w.oneIn(10, "maintenance") {
			x.Maintenance = w.ahead()
		}
		total += x.GPUs
		w.snap.Nodes = append(w.snap.Nodes, x)
	}
	for o := range w.snap.Orgs {
		w.snap.Orgs[o].Quotas = append(w.snap.Orgs[o].Quotas, w.quota(id, total/orgs+1))
	}
}

// ahead is an interval that begins soon.
func (w *world) ahead() pool.Interval {
	from := w.now.Add(time.Duration(w.between(1, 8, "begins")) * 15 * time.Minute)
	return pool.Interval{Start: from, End: from.Add(time.Duration(w.between(1, 8, "lasts")) * 15 * time.Minute)}
}

func (w *world) quota(c pool.ClassID, most int) Quota {
	q := Quota{Class: c, Nominal: w.upTo(most, "nominal")}
	if w.oneIn(5, "borrow limit") {
		b := w.upTo(6, "borrow")
		q.BorrowLimit = &b
	}
	if w.oneIn(5, "lend limit") {
		l := w.upTo(3, "lend")
		q.LendLimit = &l
	}
	return q
}

func (w *world) project(id pool.ProjectID, o pool.OrgID) {
	p := Project{ID: id, Org: o}
	if w.oneIn(3, "own quota") {
		p.Quotas = []Quota{w.quota(w.snap.Classes[0].ID, 3)}
	}
	switch w.upTo(9, "trust") {
	case 0:
		p.Sites = []pool.SiteID{"site-0"}
	case 1:
		p.OwnNodesOnly = true
	case 2:
		p.NoSharedNode = true
	case 3:
		p.NodeOwners = []pool.OrgID{o, pool.Consortium}
	}
	w.snap.Projects = append(w.snap.Projects, p)
}

// money gives some organisations a cap and some a project budget.
func (w *world) money() {
	for i, o := range w.snap.Orgs {
		if w.oneIn(4, "cap") {
			w.snap.Budgets = append(w.snap.Budgets, Budget{ID: BudgetID("cap-" + string(o.ID)), Kind: pool.Cap, Ref: string(o.ID), AtLimit: RunOn,
				Limit: money.Amount(w.between(1, 40, "limit") * 100), Period: pool.Interval{Start: noon, End: noon.Add(30 * 24 * time.Hour)},
				Included: []Included{{w.snap.Classes[0].ID, pool.GPUMillis(w.upTo(6, "included hours") * pool.MillisPerHour)}}})
		}
		if i == 0 && w.oneIn(3, "budget") {
			w.snap.Budgets = append(w.snap.Budgets, Budget{ID: BudgetID("budget-" + string(o.ID)), Kind: pick(w, "kind", pool.Budget, pool.OrderExhausted), Ref: "a project or order", AtLimit: RunOn,
				Limit: money.Amount(w.between(1, 20, "limit") * 100)})
		}
	}
}

// charges are the budgets that the work of an organisation counts against.
func (w *world) charges(o pool.OrgID, tier pool.Tier) []Charge {
	var out []Charge
	for _, b := range w.snap.Budgets {
		if b.ID == BudgetID("cap-"+string(o)) || b.ID == BudgetID("budget-"+string(o)) {
			x := Charge{Budget: b.ID, Price: 100_000_000, Included: tier == pool.Guaranteed && b.Kind == pool.Cap}
			if w.rules && tier == pool.Burst {
				x.Spot = 40_000_000
			}
			out = append(out, x)
		}
	}
	return out
}

// window closes some work out for a while.
func (w *world) window() {
	x := Window{Closed: w.ahead()}
	switch w.upTo(3, "of whom") {
	case 0:
		x.Org = w.snap.Orgs[0].ID
	case 1:
		x.Class = w.snap.Classes[0].ID
	case 2:
		x.Tier = pick(w, "tier", pool.Guaranteed, pool.Burst, pool.Spot)
	}
	w.snap.Windows = append(slices.Clone(w.snap.Windows), x)
}

func (w *world) submit(o pool.OrgID) {
	w.next++
	j := Job{ID: pool.JobID(fmt.Sprintf("job-%03d", w.next)), Org: o, Submitted: w.now, Nodes: 1, GPUs: pick(w, "gpus", 1, 2, 2, 1, 4, 3, 2, 8),
		Priority: w.upTo(2, "priority"), Tier: pick(w, "tier", pool.Burst, pool.Burst, pool.Burst, pool.Guaranteed, pool.Spot),
		MaxRun: time.Duration(pick(w, "max run", 600, 0, 20, 60, 0)) * time.Minute, Fixed: w.oneIn(12, "fixed")}
	if w.oneIn(5, "gang") {
		j.Nodes, j.GPUs = w.between(2, 3, "of nodes"), w.between(1, 4, "each")
	}
	for _, p := range w.snap.Projects {
		if p.Org == o && w.oneIn(2, "in project") {
			j.Project = p.ID
		}
	}
	for _, c := range w.snap.Classes {
		j.Classes = append(j.Classes, c.ID)
	}
	if len(j.Classes) == 2 && w.oneIn(2, "second class first") {
		slices.Reverse(j.Classes)
	}
	j.Classes = j.Classes[:w.between(1, len(j.Classes), "accepts")]
	switch w.upTo(29, "speciality") {
	case 0:
		j.NotBefore = w.now.Add(time.Duration(w.between(1, 60, "not before")) * time.Minute)
	case 1:
		if n := len(w.snap.Pending); n > 0 {
			j.DependsOn = []pool.JobID{w.snap.Pending[w.upTo(n-1, "after")].ID}
		}
	case 2:
		j.DataSite = pick[pool.SiteID](w, "data", "site-0", "site-1")
	case 3:
		j.Paused = "by its owner"
	}
	j.Charges = w.charges(o, j.Tier)
	w.jobs[j.ID] = j
	w.snap.Pending = append(slices.Clone(w.snap.Pending), j)
}
