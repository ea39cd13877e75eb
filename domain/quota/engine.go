package quota

import (
	"fmt"
	"slices"
	"sort"
	"strings"

	"gpupool/domain/pool"
)

// engine is the working state of one decision: flat slices with dense ids.
type engine struct {
	in     *Snapshot
	now    pool.Instant
	policy Policy

	expires pool.Instant // when the hardware looks different by itself

	classes  []Class
	classAt  map[pool.ClassID]int32
	orgs     []orgState // organisation i is account i+1
	orgAt    map[pool.OrgID]int32
	projects []projectState // by account
	projAt   map[pool.ProjectID]int32
	sites    map[pool.SiteID]int32
	ledger   ledger
	whole    []int // what quota could ever give of a class, closed nodes included

	anyPrivate     bool          // some project shares no node
	anyMaintenance bool          // some open node has maintenance ahead
	ahead          [][]QuotaStep // by class and organisation; nil when no quota changes

	nodes []node
	racks []rack
	masks []mask

	runs       []run
	runSlots   slots
	held       []holding // of class c and organisation o: c*len(orgs)+o
	spots      [][]int32 // running spot attempts of a class, the mildest victim first
	spotsLoose []bool    // they aren't in order
	oddSpots   []int32   // spot attempts that aren't charged as spot
	endings    []ranking // of a class: holders with a declared end, by that, then id
	backs      []ranking // of a class: what an owner may take back some time, by id
	outlines   []outline // of each run
	readyBuf   []int32
	tried      []int32   // runs that tryLoans has walked
	freed      []int32   // of each node: their GPUs there
	lenders    []lenders // of a class
	spotUse    []int
	weights    []int64 // of the surplus, like held
	loanMean   []int64 // decayed mean loan in thousandths of a GPU, like held
	surplus    []bool  // got surplus in this step, like held
	touched    []touch // projects whose use changed, for the contests
	ring       contest
	versions   []uint64                 // of a class: how often its work, nodes or reservation changed
	refused    [kindsOfAsking][]refusal // of a bucket

	jobs        []job
	jobSlots    slots
	notBefore   []int32 // jobs that wait for their own moment
	deadlines   []int32 // jobs that have a deadline
	lines       []queue // of organisation o and first class c: o*(classes+1)+c+1
	buckets     []bucket
	shapes      map[shape]int32 // in lanes of many buckets
	lanes       []lane
	laneAt      []int32 // of class and account, -1 = none
	classLists  [][]int32
	chargeLists [][][]Charge  // of an account
	reserved    []reservation // of a class
	numbers     uint32        // of the last reservation
	tries       []int         // reservations tried for a class
	cleared     int           // reservations that ended in this step
	budgets     budgets
	promises    []openPromise
	made        []madePromise
	kept        []keeping
	sentOff     []int32              // victims of withdrawn promises that were told to stop
	was         map[int32]pool.Split // before this decision, where it moved
	started     []int32              // runs of Plan.Admit
	cuts        []int32              // guaranteed runs that were above their quota
	noticed     []int32              // runs that an earlier plan ends for no other job, no stop sent
	facts       []facts              // of a class, while reasons are told

	plan       Plan
	faults     []string // where the snapshot contradicts itself
	dependents []int32  // jobs that wait for others
	deadJobs   []int32  // slots to be freed
	deadRuns   []int32
	freeJobs   []int32
	freeRuns   []int32
	guarded    []int32    // runs inside their minimum run time
	ended      []*Promise // stored promises that this decision withdraws
	work       work
	nodeBuf    []int32
	classBuf   []int32
	holdBuf    []hold
}

// work counts what a decision did, so that its growth can be tested.
type work struct{ asked, nodes, compared, victims int }

func (w work) sum() int { return w.asked + w.nodes + w.compared + w.victims }

type orgState struct {
	id     pool.OrgID
	paused string
	noSub  bool
	lanes  []int32
	split  bool // some project has quota of its own
}

type projectState struct {
	id      pool.ProjectID
	org     int32
	paused  string
	mask    int32 // where it may run; 0 = everywhere
	private bool  // never beside another organisation
	sites   []pool.SiteID
}

const maxGPUs = 1 << 20 // above any cluster; larger numbers are contradictions

func (e *engine) problem(format string, args ...any) {
	e.faults = append(e.faults, fmt.Sprintf(format, args...))
}

// count reads a number of GPUs and refuses nonsense.
func count[T any](e *engine, n int, what string, id T) int {
	if n < 0 || n > maxGPUs {
		e.problem("%s of %v is %d: taken as %d", what, id, n, min(max(n, 0), maxGPUs))
	}
	return min(max(n, 0), maxGPUs)
}

func build(s *Snapshot, now pool.Instant) *engine {
	e := &engine{in: s, now: now, policy: s.Policy, expires: pool.Never, shapes: map[shape]int32{}, was: map[int32]pool.Split{}}
	e.plan.Version = s.Version
	e.indexClasses()
	e.indexAccounts()
	e.indexNodes()
	e.indexQuotas()
	e.indexBudgets()
	e.indexRuns()
	e.indexCapacity()
	e.indexDecay()
	e.indexJobs()
	for c := range e.racks {
		e.racks[c].init(e.nodes)
		e.orderSpots(int32(c))
	}
	e.indexPromises()
	e.checkPromises()
	e.touched = e.touched[:0]
	return e
}

func (e *engine) indexClasses() {
	e.classes = slices.Clone(e.in.Classes)
	sortBy(e.classes, func(x, y Class) bool { return x.ID < y.ID })
	e.classAt = make(map[pool.ClassID]int32, len(e.classes))
	e.classes = slices.CompactFunc(e.classes, func(x, y Class) bool {
		if x.ID == y.ID {
			e.problem("class %s stands twice", x.ID)
		}
		return x.ID == y.ID
	})
	for i, c := range e.classes {
		e.classAt[c.ID] = int32(i)
	}
	n := len(e.classes)
	e.racks = make([]rack, n)
	e.spots, e.spotsLoose = make([][]int32, n), make([]bool, n)
	e.endings, e.backs, e.lenders = make([]ranking, n), make([]ranking, n), make([]lenders, n)
	for c := range n {
		e.endings[c].before, e.backs[c].before = e.endsBefore, e.idsBefore
		e.lenders[c].heap = heap[lender]{less: e.lendsBefore, moved: func(x lender, at int) { e.lenders[c].at[x.org] = int32(at) }}
	}
	e.spotUse = make([]int, n)
	e.whole = make([]int, n)
	e.reserved = make([]reservation, n)
	e.tries = make([]int, n)
	e.versions = make([]uint64, n)
	e.forgetRefusals() // so that none stands for a state
}

// indexAccounts numbers organisations and projects. Each organisation has one
// more project, without id and quota, for work that names none.
func (e *engine) indexAccounts() {
	orgs := slices.Clone(e.in.Orgs)
	sortBy(orgs, func(x, y Org) bool { return x.ID < y.ID })
	e.orgAt = make(map[pool.OrgID]int32, len(orgs))
	for _, o := range orgs {
		if _, twice := e.orgAt[o.ID]; twice {
			e.problem("organisation %s stands twice", o.ID)
			continue
		}
		e.orgAt[o.ID] = int32(len(e.orgs))
		e.orgs = append(e.orgs, orgState{id: o.ID, paused: o.Paused, noSub: o.NoSubscription})
	}
	for _, id := range e.strangers() {
		e.problem("organisation %s has work but isn't a member: taken without quota", id)
		e.orgAt[id] = int32(len(e.orgs))
		e.orgs = append(e.orgs, orgState{id: id, noSub: true})
	}
	n := int32(len(e.orgs))
	parent := []int32{-1}
	e.projects = make([]projectState, 1, 1+2*n)
	e.sites = map[pool.SiteID]int32{}
	e.masks = []mask{{}}
	for i := range e.orgs { // organisation accounts
		parent = append(parent, 0)
		e.projects = append(e.projects, projectState{org: int32(i)})
	}
	for i := range e.orgs { // the nameless projects
		parent = append(parent, int32(i)+1)
		e.projects = append(e.projects, projectState{org: int32(i)})
	}
	projects := slices.Clone(e.in.Projects)
	sortBy(projects, func(x, y Project) bool { return x.ID < y.ID })
	e.projAt = make(map[pool.ProjectID]int32, len(projects))
	for _, p := range projects {
		o, ok := e.orgAt[p.Org]
		if _, twice := e.projAt[p.ID]; twice || !ok || p.ID == "" {
			e.problem("project %q stands twice or belongs to no member", p.ID)
			continue
		}
		e.projAt[p.ID] = int32(len(parent))
		e.anyPrivate = e.anyPrivate || p.NoSharedNode
		parent = append(parent, o+1)
		e.projects = append(e.projects, projectState{id: p.ID, org: o, paused: p.Paused, private: p.NoSharedNode, sites: p.Sites,
			mask: e.maskOf(p.Sites, p.NodeOwners, p.OwnNodesOnly, o, "")})
	}
	e.ledger = newLedger(len(e.classes), parent)
	e.held = make([]holding, len(e.classes)*len(e.orgs))
	e.weights, e.loanMean = make([]int64, len(e.held)), make([]int64, len(e.held))
	e.surplus = make([]bool, len(e.held))
	e.lines = make([]queue, len(e.orgs)*(len(e.classes)+1))
	e.chargeLists = make([][][]Charge, len(parent))
	e.laneAt = make([]int32, len(e.classes)*len(parent))
	for i := range e.laneAt {
		e.laneAt[i] = -1
	}
}

// strangers are organisations that have work but no row.
func (e *engine) strangers() []pool.OrgID {
	var out []pool.OrgID
	add := func(id pool.OrgID) {
		if _, ok := e.orgAt[id]; !ok && !slices.Contains(out, id) {
			out = append(out, id)
		}
	}
	for i := range e.in.Running {
		add(e.in.Running[i].Org)
	}
	for i := range e.in.Pending {
		add(e.in.Pending[i].Org)
	}
	slices.Sort(out)
	return out
}

// accountOf finds the project account of a piece of work.
func accountOf[T any](e *engine, o pool.OrgID, p pool.ProjectID, what T) int32 {
	org := e.orgAt[o]
	if p != "" {
		if a, ok := e.projAt[p]; ok && e.projects[a].org == org {
			return a
		}
		e.problem("%v names project %q, which %s doesn't have", what, p, o)
	}
	return 1 + int32(len(e.orgs)) + org
}

func (e *engine) indexNodes() {
	order := make([]int32, 0, len(e.in.Nodes))
	for i := range e.in.Nodes {
		order = append(order, int32(i))
	}
	before := func(x, y int32) int {
		a, b := &e.in.Nodes[x], &e.in.Nodes[y]
		if a.Class != b.Class {
			return strings.Compare(string(a.Class), string(b.Class))
		}
		return strings.Compare(string(a.ID), string(b.ID))
	}
	if !slices.IsSortedFunc(order, before) { // a caller that keeps its nodes in order saves this
		slices.SortFunc(order, before)
	}
	e.nodes = make([]node, 0, len(order))
	var class pool.ClassID
	c, ok := e.classAt[class]
	for _, i := range order {
		n := &e.in.Nodes[i]
		if n.Class != class {
			class = n.Class
			c, ok = e.classAt[class]
		}
		if last := len(e.nodes) - 1; !ok || last >= 0 && e.nodes[last].id == n.ID && e.nodes[last].class == c {
			e.problem("node %s has the unknown class %q or stands twice", n.ID, n.Class)
			continue
		}
		x := node{id: n.ID, class: c, site: e.siteOf(n.Site), contributor: -1, slack: unlimited, maintenance: n.Maintenance}
		if o, ok := e.orgAt[n.Contributor]; ok {
			x.contributor = o
		}
		x.gpus = count(e, n.GPUs, "GPUs", n.ID)
		x.cap = max(0, x.gpus-count(e, n.Foreign, "foreign GPUs", n.ID))
		x.ready, x.down = n.State == Ready, n.State == Down
		x.open = x.ready && !n.Maintenance.Contains(e.now)
		for _, t := range [2]pool.Instant{n.Maintenance.Start, n.Maintenance.End} {
			if t > e.now {
				e.expires = min(e.expires, t)
			}
		}
		e.anyMaintenance = e.anyMaintenance || x.open && n.Maintenance.Start > e.now
		e.nodes = append(e.nodes, x)
		e.whole[c] += x.cap
	}
	for i := range e.nodes {
		r := &e.racks[e.nodes[i].class]
		if r.hi == 0 {
			r.lo = int32(i)
		}
		r.hi = int32(i) + 1
		r.sizes = append(r.sizes, e.nodes[i].gpus)
		r.gpus += e.nodes[i].gpus
	}
	for c := range e.racks {
		if r := &e.racks[c]; len(r.sizes) > 0 {
			slices.Sort(r.sizes)
			r.largest = r.sizes[len(r.sizes)-1]
		}
	}
}

// node finds the GPUs of a class on a machine; they lie in the order of their ids.
func (e *engine) node(id pool.NodeID, c int32) (int32, bool) {
	r := &e.racks[c]
	i := r.lo + int32(sort.Search(int(r.hi-r.lo), func(i int) bool { return e.nodes[int(r.lo)+i].id >= id }))
	return i, i < r.hi && e.nodes[i].id == id
}

// indexQuotas fills the tree, the consortium's own pool excepted.
func (e *engine) indexQuotas() {
	put := func(a int32, id any, qs []Quota) {
		for _, q := range qs {
			c, ok := e.classAt[q.Class]
			if !ok {
				e.problem("quota of %v names the unknown class %q", id, q.Class)
				continue
			}
			q = q.at(e.now)
			x := e.ledger.at(c, a)
			x.nominal += count(e, q.Nominal, "quota", id)
			if q.BorrowLimit != nil {
				x.borrow = count(e, *q.BorrowLimit, "borrow limit", id)
			}
			if q.LendLimit != nil {
				x.lend = count(e, *q.LendLimit, "lend limit", id)
			}
			if x.nominal > 0 && e.ledger.parent[a] > 0 {
				e.orgs[e.projects[a].org].split = true
			}
		}
	}
	seen := make([]bool, len(e.projects))
	for i := range e.in.Orgs {
		if o := e.orgAt[e.in.Orgs[i].ID]; !seen[o+1] {
			seen[o+1] = true
			e.weigh(o, &e.in.Orgs[i])
			put(o+1, e.in.Orgs[i].ID, e.in.Orgs[i].Quotas)
		}
	}
	for i := range e.in.Projects {
		if a, ok := e.projAt[e.in.Projects[i].ID]; ok && !seen[a] {
			seen[a] = true
			put(a, e.in.Projects[i].ID, e.in.Projects[i].Quotas)
		}
	}
	for c := range e.classes {
		e.ledger.settle(int32(c))
	}
	e.indexAhead()
}

// weigh reads what an organisation weighs in each class.
func (e *engine) weigh(o int32, x *Org) {
	for c := range e.classes {
		e.weights[e.oc(int32(c), o)] = int64(count(e, x.Weight, "weight", x.ID))
	}
	for _, q := range x.Quotas {
		if c, ok := e.classAt[q.Class]; ok && q.Weight != nil {
			e.weights[e.oc(c, o)] = int64(count(e, *q.Weight, "weight", x.ID))
		}
	}
}

// indexCapacity computes the consortium's own pool: what the hardware that can
// be used has beyond the quotas of the organisations. Lend limits don't reach
// above the organisations, so the tree below stays as it is.
func (e *engine) indexCapacity() {
	capacity := make([]int, len(e.classes))
	for i := range e.nodes {
		n := &e.nodes[i]
		if n.open {
			capacity[n.class] += n.cap
		} else {
			capacity[n.class] += min(n.cap, n.planned)
		}
	}
	for c := range e.classes {
		sold := 0
		for a := 1; a < e.ledger.width; a++ {
			sold += e.ledger.at(int32(c), int32(a)).nominal
		}
		root := e.ledger.at(int32(c), 0)
		kept := sold - root.subtree
		root.nominal = max(0, capacity[c]-sold)
		root.subtree += root.nominal
		e.whole[c] = max(e.whole[c]-kept, root.subtree)
	}
}

func (e *engine) oc(c, o int32) int { return int(c)*len(e.orgs) + int(o) }

// org is the account of an organisation.
func (e *engine) org(c, o int32) *account { return e.ledger.at(c, o+1) }
