package domain

import (
	"time"

	"gpupool/domain/money"
	"gpupool/domain/pool"
)

// GPUClass is a purchasable kind of GPU. It selects Nomad devices by vendor,
// type, model and memory; a device belongs to exactly one class.
type GPUClass struct {
	ID            pool.ClassID
	Name          string
	Vendor        string // "nvidia"
	Type          string // "gpu"
	Model         string // Nomad's device name
	MemoryMiB     int64
	PerCard       int // how many of this class make one card: 1, or 7 for a slice
	CPUPerGPU     int // MHz share of the node
	MemPerGPU     int // MiB share of the node
	DefaultMaxRun time.Duration
	MaxRun        time.Duration
	CloudLow      int64 // cloud list price in micro-minor-units per GPU-hour, 0: unknown
	CloudHigh     int64
	CloudNote     string // source and date
	CreatedAt     pool.Instant
}

// NodeState is what the scheduler may do with a node.
type NodeState string

const (
	NodeReady    NodeState = "ready"
	NodeDraining NodeState = "draining" // running jobs end, none start
	NodeDown     NodeState = "down"
)

// Site is a place where nodes stand.
type Site struct {
	ID   pool.SiteID
	Name string
}

// Node is a machine with GPUs of one class, its site and contributor. GPUs
// and state come from Nomad's inventory; site and contributor from us.
type Node struct {
	ID          pool.NodeID
	Name        string
	Class       pool.ClassID // empty: its devices belong to no class
	Site        pool.SiteID
	Contributor pool.OrgID
	GPUs        int      // healthy devices
	Devices     []string // UUIDs of all devices
	Unhealthy   []string
	Foreign     int // GPUs held by allocations that are not ours
	State       NodeState
	Cordoned    bool // by the operator
	SeenAt      pool.Instant
}

// Contribution is a dated record of hardware a member puts in. Its GPUs are
// nominal quota of the contributor beyond the plan's.
type Contribution struct {
	ID    string
	Org   pool.OrgID
	Node  pool.NodeID
	Class pool.ClassID
	GPUs  int
	Quota int // GPUs added to the member's own quota; the rest is in its plan
	From  pool.Instant
	To    pool.Instant // pool.Never while it lasts
}

// Plan groups the versions of one offer.
type Plan struct {
	ID     pool.PlanID
	Name   string
	NameZH string
	Hidden bool
}

// PlanVersion never changes once published.
type PlanVersion struct {
	ID          pool.PlanVersionID
	Plan        pool.PlanID
	N           int
	Fee         money.Amount // net, per month
	Classes     []PlanClass
	CarryOver   bool
	AnnualPool  bool
	PublishedAt pool.Instant // 0: draft
	CreatedAt   pool.Instant
}

// PlanClass is what a plan gives in one GPU class.
type PlanClass struct {
	Class       pool.ClassID
	Guaranteed  int
	Included    pool.GPUMillis // a month
	BorrowLimit int            // GPUs beyond guaranteed
	LendLimit   int            // GPUs of unused guaranteed lent to others
}

// PriceList is a dated, immutable list of prices.
type PriceList struct {
	ID          pool.PriceListID
	Name        string
	From        pool.Instant // effective
	PublishedAt pool.Instant // 0: draft
	ProposedBy  pool.UserID
	ApprovedBy  pool.UserID
	Rows        []PriceRow
	CreatedAt   pool.Instant
}

// PriceRow is the price of one class and cover in a window of the day. The
// rows of a class and cover tile the day.
type PriceRow struct {
	ID          pool.PriceRowID
	List        pool.PriceListID
	Class       pool.ClassID
	Cover       pool.Cover
	Price       money.Price // net, per GPU-hour
	LenderShare int         // basis points of loan and spot money for the lender
	FromMinute  int         // minute of the billing zone's day, inclusive
	ToMinute    int         // exclusive, 1440 is the day's end; from > to wraps midnight
}

// Subscription is organisation x plan version over a half-open interval.
type Subscription struct {
	ID        pool.SubscriptionID
	Org       pool.OrgID
	Account   pool.AccountID
	Version   pool.PlanVersionID
	Start     pool.Instant
	End       pool.Instant // pool.Never while it runs
	Payment   string       // "ok", "overdue", "failed"
	Pauses    []string
	CreatedAt pool.Instant
}

// Limit is a dated choice of an owner within the plan, nil leaves the plan's.
type Limit struct {
	Org    pool.OrgID
	Class  pool.ClassID
	From   pool.Instant
	Borrow *int
	Lend   *int
}

// Weight is how much an organisation counts in the order of borrowers of a
// class, from an instant on. Without one it is 1.
type Weight struct {
	Org    pool.OrgID
	Class  pool.ClassID
	From   pool.Instant
	Weight int
}

// ProjectQuota is a project's part of the guaranteed GPUs of its organisation
// in a class, from an instant on, and how many beyond it the project may use;
// nil: as many as the organisation.
type ProjectQuota struct {
	Project    pool.ProjectID
	Class      pool.ClassID
	From       pool.Instant
	Guaranteed int
	Borrow     *int
}

// CapMode is what happens when a spending cap is reached.
type CapMode string

const (
	CapStop      CapMode = "stop"
	CapDowngrade CapMode = "downgrade"
	CapBill      CapMode = "bill"
	CapNotify    CapMode = "notify"
)

// SpendingCap is a dated cap on the net variable charges of a billing month.
type SpendingCap struct {
	Org    pool.OrgID
	From   pool.Instant
	Amount *money.Amount // nil: no cap
	Mode   CapMode
}
