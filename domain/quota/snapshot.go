package quota

import (
	"time"

	"gpupool/domain/money"
	"gpupool/domain/pool"
)

// Snapshot is everything a decision depends on, read at one pool version. The
// order of its slices never matters. All counts are whole GPUs.
type Snapshot struct {
	Version  int64 // the pool version it was read at; comes back in Plan.Version
	Classes  []Class
	Nodes    []Node
	Orgs     []Org
	Projects []Project
	Running  []Attempt // whatever holds GPUs now, also what is being stopped
	Pending  []Job     // whatever wants GPUs, also the beneficiaries of promises
	Promises []Promise // stored promises that are still open
	Budgets  []Budget
	Decayed  []DecayedUse
	Windows  []Window
	Policy   Policy
	Habits   *Habits // how declared limits were used; nil: nothing is known
	Brief    bool    // explain nothing: Plan.Wait stays empty (for replay)
}

// Class is a purchasable kind of GPU.
type Class struct {
	ID     pool.ClassID
	MinRun time.Duration // a borrower is protected this long from its start
}

// NodeState is whether a node takes new work.
type NodeState string

const (
	Ready    NodeState = "ready"
	Draining NodeState = "draining" // runs on, takes nothing new
	Down     NodeState = "down"     // has no GPUs now
)

// Node is the GPUs of one class on one machine. A machine with GPUs of two
// classes is two rows with the same id.
type Node struct {
	ID          pool.NodeID
	Class       pool.ClassID
	Site        pool.SiteID
	Contributor pool.OrgID // pool.Consortium when no member put it in
	GPUs        int        // healthy devices
	Foreign     int        // devices that allocations which are not ours hold
	State       NodeState
	// Maintenance is a window in which the node is taken away; zero when none
	// is planned. Work that could still run when it begins isn't placed there.
	Maintenance pool.Interval
}

// Quota is what an account has of one class at the moment of the snapshot:
// the guaranteed GPUs of its plan version plus its contributions.
type Quota struct {
	Class       pool.ClassID
	Nominal     int
	BorrowLimit *int // most GPUs above the nominal; nil = unlimited
	LendLimit   *int // most unused GPUs that others may use; nil = all
	Weight      *int // of an organisation in the class; nil = its Org.Weight
	// Ahead is what time policies make of it later, in order.
	Ahead []QuotaStep
}

// Org is a child of the consortium. What the hardware has beyond the quotas
// of all organisations is the consortium's own pool; the engine computes it.
type Org struct {
	ID             pool.OrgID
	Weight         int // share of the surplus of a class where its quota names none; 0 = last in line, protected inside quota all the same
	Quotas         []Quota
	Paused         string // reasons of a pause, empty when none
	NoSubscription bool
}

// Project is a child of an organisation. Its own quota, if any, is added to
// the organisation's.
type Project struct {
	ID     pool.ProjectID
	Org    pool.OrgID
	Quotas []Quota
	Paused string
	// Where it may run; empty = everywhere.
	Sites        []pool.SiteID
	NodeOwners   []pool.OrgID // contributors of the nodes; its own always counts when OwnNodesOnly
	OwnNodesOnly bool         // only nodes that its organisation contributed
	NoSharedNode bool         // never beside work of another organisation
}

// NodeGPUs is a number of GPUs on one node.
type NodeGPUs struct {
	Node pool.NodeID
	GPUs int
}

// Attempt is a running try of a job: it holds GPUs until it leaves Running.
type Attempt struct {
	ID          pool.AttemptID
	Org         pool.OrgID
	Project     pool.ProjectID
	User        pool.UserID
	Class       pool.ClassID
	Placement   []NodeGPUs
	Tier        pool.Tier
	Priority    int
	Submitted   pool.Instant // of its job
	Started     pool.Instant
	MaxEnd      pool.Instant // declared and enforced end; pool.Never when there is none
	MinRunUntil pool.Instant // protected from reclaim before this; 0 = not
	Fixed       bool         // nobody may stop it for another job
	Split       pool.Split   // what it is charged as now
	Stopping    bool         // a stop was sent; its GPUs come back by themselves
	Broken      bool         // one of its devices isn't healthy: where GPUs are missing, it goes first
	// GuaranteedUntil is set for guaranteed work whose quota was cut under it
	// (Plan.Above): from then on it is burst work. 0 = its quota holds it.
	GuaranteedUntil pool.Instant
	// Notice is the rule by which an earlier plan ends it for no other job, at
	// StopAt; empty when it is under no such notice. Until the stop is sent
	// (Stopping) the notice can be taken back.
	Notice  StopRule
	StopAt  pool.Instant
	Charges []Charge
}

// Job waits for GPUs: Nodes distinct nodes with GPUs each.
type Job struct {
	ID        pool.JobID
	Org       pool.OrgID
	Project   pool.ProjectID
	User      pool.UserID
	Classes   []pool.ClassID // acceptable, in order of preference
	Nodes     int
	GPUs      int // on each node
	Tier      pool.Tier
	Priority  int           // larger is more important inside its organisation
	Submitted pool.Instant  // age: the first submit, kept over attempts
	MaxRun    time.Duration // declared limit of the next attempt; 0 = none. Compared in steps of 15 minutes, rounded up
	NotBefore pool.Instant  // 0 = at once
	Deadline  pool.Instant  // it starts only where it ends by then, MaxRun after its start; 0 = none
	DependsOn []pool.JobID  // unfinished jobs only
	DataSite  pool.SiteID   // where its volumes are; empty = anywhere
	Paused    string
	Fixed     bool
	Charges   []Charge
}

// Units is the number of GPUs that the job holds when it runs.
func (j Job) Units() int { return j.Nodes * j.GPUs }

// BudgetID names a budget, cap or purchase order inside one snapshot.
type BudgetID string

// Budget is a limit of money over a period: a project's budget, an
// organisation's cap, or a purchase order.
type Budget struct {
	ID       BudgetID
	Kind     pool.ReasonCode // pool.Budget, pool.Cap or pool.OrderExhausted
	Ref      string          // the project, organisation or order number shown to people
	Limit    money.Amount
	Spent    money.Amount  // rated charges of the period so far
	AtLimit  AtLimit       // what happens to running work that it can't bear
	Lines    int           // lines of an invoice that its charges can come to stand on: each is rounded once
	Period   pool.Interval // commitments beyond its end are tested when the next begins
	Included []Included    // hours of the fee that are still unused, class by class
}

// AtLimit is what an organisation chose for work that runs when the money for
// it runs out: a cap was lowered, prices rose, an order ended, a month began.
type AtLimit string

const (
	StopAtLimit AtLimit = "stop"      // what exceeds it stops with notice; also the zero value
	SpotAtLimit AtLimit = "downgrade" // burst work goes on as spot where that is cheaper; what then exceeds stops
	BillToLimit AtLimit = "bill"      // everything runs on until what is used comes to the limit
	RunOn       AtLimit = "notify"    // running work is left alone
)

// Included is what is left of the included hours of a class.
type Included struct {
	Class pool.ClassID
	Left  pool.GPUMillis
}

// Charge says that the use of a job counts against a budget, at the dearest
// price that it can fall to over all covers and price rows of the period.
type Charge struct {
	Budget BudgetID
	Class  pool.ClassID // which class the price is for; empty = any
	Price  money.Price
	Spot   money.Price // the dearest price as spot; 0 when it can't go on as spot
	// Included: unused included hours pay first. Only for work that can't
	// fall to loan or spot, which never burn included hours.
	Included bool
}

// DecayedUse is the loan use of an organisation in a class with the half-life
// of the policy: GPU-milliseconds as of At, and the loan GPUs held since then.
type DecayedUse struct {
	Org   pool.OrgID
	Class pool.ClassID
	Use   pool.GPUMillis
	At    pool.Instant
	Rate  int
}

// Window is a time in which some work isn't allowed. Empty fields mean all.
type Window struct {
	Org    pool.OrgID
	Class  pool.ClassID
	Tier   pool.Tier
	Closed pool.Interval
}

// Policy is what the operator has switched on.
type Policy struct {
	FairReclaim     bool          // a borrower may take from a richer borrower
	OwnPriority     bool          // higher priority may replace lower inside an organisation
	AdmissionPaused bool          // nothing new starts
	Notice          time.Duration // between the signal and the stop of a victim
	CutNotice       time.Duration // guaranteed work above a quota that was cut stays guaranteed so long; 0 = to its declared end
	DrainLimit      time.Duration // a victim not gone this long after its stop is an alarm; 0 = no limit
	ReserveAfter    time.Duration // a borrower waiting longer may reserve; 0 = never
	HalfLife        time.Duration // of decayed loan use; 0 = past use doesn't count
}
