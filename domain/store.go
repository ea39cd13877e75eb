package domain

import (
	"context"

	"gpupool/domain/money"
	"gpupool/domain/pool"
)

// Store keeps everything. View sees one consistent state and changes nothing.
// Update commits all or nothing; it may run fn more than once, so fn touches
// only tx and values it sets anew.
type Store interface {
	View(ctx context.Context, fn func(tx Tx) error) error
	Update(ctx context.Context, fn func(tx Tx) error) error
}

// Tx is one transaction. A lookup that finds nothing returns an Error with
// code NotFound; an insert of what is there already returns Conflict; an
// update that hits no row returns NotFound. Tenant first: the lookup of
// another organisation's row is NotFound. A zero id is refused.
type Tx interface {
	// Now is the business time of this transaction, the same at each call.
	Now() pool.Instant
	// Wall is the wall time of this transaction: sessions, tokens, limits.
	Wall() pool.Instant
	SettingsTx
	UserTx
	SessionTx
	OrgTx
	ProjectTx
	CatalogTx
	AccountTx
	SubscriptionTx
	NodeTx
	TimeTx
	JobTx
	AttemptTx
	LedgerTx
	InvoiceTx
	LogTx
	ReportTx
}

// SettingsTx keeps the pool's one settings row, the business clock and the
// version that admissions are compared with.
type SettingsTx interface {
	Settings() (Settings, error)
	SaveSettings(s Settings) error
	Clock() (ClockRow, error) // NotFound in a real pool
	SaveClock(c ClockRow) error
	Version() (int64, error)
	// BumpVersion is called by whatever can make an admission wrong.
	BumpVersion() error
	// AdvanceVersion compares and sets; false: somebody else was first.
	AdvanceVersion(from int64) (bool, error)
	// TakeLease makes holder the one engine until the wall instant; false:
	// another one holds it.
	TakeLease(name, holder string, until pool.Instant) (bool, error)
	// Memo is load, or what an earlier View loaded under the key while nothing
	// that changes seldom has changed: settings, people, members, projects,
	// catalogue, prices, subscriptions, limits, caps, sites, nodes,
	// contributions, purchase orders, time policies, announcements. The value is shared: never change it.
	Memo(key string, load func() (any, error)) (any, error)
	// Flag and SetFlag keep small named values, e.g. the hash of the operator code.
	Flag(name string) (string, error) // empty when not set
	SetFlag(name, value string) error // empty removes it
}

type UserTx interface {
	User(id pool.UserID) (User, error)
	UserByEmail(email string) (User, error)
	Users() ([]User, error) // by e-mail
	CountUsers() (int64, error)
	InsertUser(u User) error
	UpdateUser(u User) error
	// User, Memberships and ProjectsOf are all that an actor is made of.
	Memberships(u pool.UserID) ([]Membership, error)
	ProjectsOf(u pool.UserID) ([]Project, error) // that the person is in, by id
	InsertToken(t APIToken) error
	TokenByHash(hash string) (APIToken, error)
	Tokens(u pool.UserID) ([]APIToken, error)
	TouchToken(id string, at pool.Instant) error
	RevokeToken(u pool.UserID, id string, at pool.Instant) error
}

// SessionTx is what the session store of web needs. Instants are wall clock.
type SessionTx interface {
	Session(token string) (Session, error)
	SaveSession(s Session) error // insert or replace
	DeleteSession(token string) error
	SessionsOf(u pool.UserID) ([]Session, error)
	DeleteExpiredSessions(before pool.Instant) error
	// CountSignIn counts one failed try for the key (address or e-mail hash) in
	// the window that began at from, and returns how many there are.
	CountSignIn(key string, at, from pool.Instant) (int64, error)
	SignInTries(key string, from pool.Instant) (int64, error)
}

type OrgTx interface {
	Org(id pool.OrgID) (Organisation, error)
	Orgs() ([]Organisation, error) // by name
	InsertOrg(o Organisation) error
	UpdateOrg(o Organisation) error
	Members(org pool.OrgID) ([]Member, error) // by name
	SaveMembership(m Membership) error        // insert or change the role
	DeleteMembership(u pool.UserID, org pool.OrgID) error
	InsertInvitation(i Invitation) error
	InvitationByHash(hash string) (Invitation, error)
	Invitations(org pool.OrgID) ([]Invitation, error) // newest first
	UpdateInvitation(i Invitation) error
}

type ProjectTx interface {
	Project(org pool.OrgID, id pool.ProjectID) (Project, error)
	Projects(org pool.OrgID) ([]Project, error) // by name
	AllProjects() ([]Project, error)
	InsertProject(p Project) error
	UpdateProject(p Project) error
	ProjectMembers(p pool.ProjectID) ([]ProjectMember, error)
	SaveProjectMember(m ProjectMember) error
	DeleteProjectMember(p pool.ProjectID, u pool.UserID) error
	// ProjectAccounts are the dated rows of one project, or of all with "", by From.
	ProjectAccounts(p pool.ProjectID) ([]AccountOfProject, error)
	InsertProjectAccount(a AccountOfProject) error
}

type CatalogTx interface {
	Class(id pool.ClassID) (GPUClass, error)
	Classes() ([]GPUClass, error) // by id
	InsertClass(c GPUClass) error
	UpdateClass(c GPUClass) error
	Plans() ([]Plan, error)
	InsertPlan(p Plan) error
	PlanVersion(id pool.PlanVersionID) (PlanVersion, error)
	PlanVersions() ([]PlanVersion, error) // by plan, n; with their classes
	// SavePlanVersion inserts or replaces a draft; a published one is Conflict.
	SavePlanVersion(v PlanVersion) error
	PriceLists() ([]PriceList, error) // by From; with their rows
	PriceList(id pool.PriceListID) (PriceList, error)
	SavePriceList(l PriceList) error // as SavePlanVersion
}

type AccountTx interface {
	Account(org pool.OrgID, id pool.AccountID) (BillingAccount, error)
	Accounts(org pool.OrgID) ([]BillingAccount, error) // of all members with ""
	InsertAccount(a BillingAccount) error
	UpdateAccount(a BillingAccount) error // all but LastSeq
	Orders(a pool.AccountID) ([]PurchaseOrder, error)
	AllOrders() ([]PurchaseOrder, error)
	InsertOrder(o PurchaseOrder) error
}

type SubscriptionTx interface {
	// Subscriptions of one member, or of all with "", by Start.
	Subscriptions(org pool.OrgID) ([]Subscription, error)
	InsertSubscription(s Subscription) error
	UpdateSubscription(s Subscription) error // End, Payment, Pauses, Account
	Limits(org pool.OrgID) ([]Limit, error)  // of all with "", by From
	InsertLimit(l Limit) error
	Weights() ([]Weight, error) // of all members, by From
	InsertWeight(w Weight) error
	ProjectQuotas() ([]ProjectQuota, error) // of all projects, by From
	InsertProjectQuota(q ProjectQuota) error
	Caps(org pool.OrgID) ([]SpendingCap, error) // of all with "", by From
	InsertCap(c SpendingCap) error
}

type NodeTx interface {
	Sites() ([]Site, error)
	SaveSite(s Site) error
	Nodes() ([]Node, error) // by name
	SaveNode(n Node) error  // insert or replace
	Contributions() ([]Contribution, error)
	InsertContribution(c Contribution) error
}

// TimeTx keeps what the operator arranges by time. Rows are never edited, only
// ended, once: ending one that has ended is Conflict.
type TimeTx interface {
	TimePolicies() ([]TimePolicy, error) // ended ones too, by CreatedAt
	InsertTimePolicy(p TimePolicy) error
	EndTimePolicy(id string, at pool.Instant) error
	Announcements() ([]Announcement, error) // ended ones too, by Start
	InsertAnnouncement(a Announcement) error
	EndAnnouncement(id string, at pool.Instant) error
}

// JobFilter selects jobs of a page; zero fields select all.
type JobFilter struct {
	Org     pool.OrgID
	Project pool.ProjectID
	// Projects narrows to these when not nil.
	Projects []pool.ProjectID
	User     pool.UserID
	Class    pool.ClassID
	States   []JobState
	Search   string       // in name or id
	From, To pool.Instant // submitted in [From, To)
	Before   string       // cursor: the job id after which the page begins
	Limit    int          // at most 200
}

// Promised is what an invoice needs to know of a job.
type Promised struct {
	Name string
	UpTo money.Amount
}

type JobTx interface {
	Job(org pool.OrgID, id pool.JobID) (Job, error)
	JobByID(id pool.JobID) (Job, error) // for loops, all members
	Jobs(f JobFilter) ([]Job, error)    // newest first (SubmittedAt, then ID)
	CountJobs(org pool.OrgID) (map[JobState]int64, error)
	LiveJobs() ([]Job, error) // all members, by SubmittedAt, ID
	InsertJob(j Job) error
	UpdateJob(j Job) error
	// Promised are names and promises of these jobs, in chunks of one statement.
	Promised(ids []pool.JobID) (map[pool.JobID]Promised, error)
	// SetReasons changes only what the engine explains: reasons, position, expected start.
	SetReasons(id pool.JobID, reasons []pool.Reason, position int, startsBy pool.Instant) error
	// SubmittedSince are the jobs of all members submitted at from or later, the
	// newest first, at most so many, without their logs.
	SubmittedSince(from pool.Instant, limit int) ([]Job, error)
	InsertToldStart(s ToldStart) (bool, error) // false when the job was told before
	ToldStarts(limit int) ([]ToldStart, error) // newest first
	ToldStart(id pool.JobID) (s ToldStart, told bool, err error)
}

type AttemptTx interface {
	Attempt(id pool.AttemptID) (Attempt, error)
	Attempts(job pool.JobID) ([]Attempt, error) // by n
	LiveAttempts() ([]Attempt, error)           // not ended, of all members
	LiveAttemptsOf(org pool.OrgID) ([]Attempt, error)
	// LastAttempts are those of the member's last submitted jobs, so many of them.
	LastAttempts(org pool.OrgID, jobs int) ([]Attempt, error)
	InsertAttempt(a Attempt) error
	UpdateAttempt(a Attempt) error
	InsertCover(c CoverRow) error
	Covers(a pool.AttemptID) ([]CoverRow, error) // by From
	// LiveCovers are the rows of all attempts that have not ended, of one
	// member or of all with "", by From.
	LiveCovers(org pool.OrgID) ([]CoverRow, error)
	OpenPromises() ([]Promise, error)
	InsertPromise(p Promise) error
	UpdatePromise(p Promise) error
}

// SegmentFilter selects rows of the ledger; zero fields select all.
type SegmentFilter struct {
	Org      pool.OrgID
	Account  pool.AccountID
	Job      pool.JobID
	Project  pool.ProjectID
	Projects []pool.ProjectID // narrows when not nil
	User     pool.UserID
	From, To pool.Instant // starts in [From, To)
	AfterSeq int64        // with Account: Seq in (AfterSeq, ToSeq]
	ToSeq    int64
}

type LedgerTx interface {
	// InsertObservation is false when (alloc, index) was there already.
	InsertObservation(o Observation) (bool, error)
	// LatestObservation of each allocation of the attempt, by allocation.
	Observations(a pool.AttemptID) ([]Observation, error)
	Meter(a pool.AllocID) (Meter, error)
	MetersOf(a pool.AttemptID) ([]Meter, error)
	OpenMeters() ([]Meter, error)
	OpenMetersOf(org pool.OrgID) ([]Meter, error)
	InsertMeter(m Meter) error // Conflict when there
	UpdateMeter(m Meter) error // End, Quality, Closed, Devices only
	// AdvanceMeter compares and sets Until; false: somebody else metered it.
	AdvanceMeter(a pool.AllocID, from, to pool.Instant) (bool, error)
	// ExtendMeterBack compares and sets From to an earlier start.
	ExtendMeterBack(a pool.AllocID, from, to pool.Instant) (bool, error)
	// AppendSegments numbers the segments per billing account and inserts them.
	AppendSegments(s []Segment) ([]Segment, error)
	Segments(f SegmentFilter) ([]Segment, error) // by account, Seq
	LendingDays(from, to pool.Instant) ([]LendingDay, error)
	SaveLendingDay(d LendingDay) error
	LoanUses() ([]LoanUse, error) // by organisation and class
	SaveLoanUse(u LoanUse) error
}

type InvoiceTx interface {
	// NextNumber counts gapless per series and year, from 1.
	NextNumber(series string, year int) (int64, error)
	InsertInvoice(i Invoice) error // with its first state row; Conflict for (account, month, kind)
	Invoice(org pool.OrgID, id pool.InvoiceID) (Invoice, error)
	InvoiceByNumber(number string) (Invoice, error)
	Invoices(org pool.OrgID) ([]Invoice, error) // of all with "", newest first
	// LastInvoice of the account by ToSeq, NotFound when none.
	LastInvoice(a pool.AccountID) (Invoice, error)
	InvoiceOf(a pool.AccountID, m pool.Month, kind string) (Invoice, error)
	InsertInvoiceState(s InvoiceState) error
	InvoiceStates(id pool.InvoiceID) ([]InvoiceState, error)
	// CurrentStates of the invoices of a member, or of all with "".
	CurrentStates(org pool.OrgID) (map[pool.InvoiceID]string, error)
	InsertPayment(p Payment) error // Conflict for a reference that is there
	Payments(id pool.InvoiceID) ([]Payment, error)
	PaymentSums(org pool.OrgID) (map[pool.InvoiceID]money.Amount, error)
}

// LogTx keeps the audit trail, the outbox and form nonces.
type LogTx interface {
	InsertAudit(r AuditRow) error                                         // Seq is given by the store
	Audit(org pool.OrgID, beforeSeq int64, limit int) ([]AuditRow, error) // of the whole pool with "", newest first
	InsertOutbox(r OutboxRow) error                                       // one with the same key that is there is left as it is
	DueOutbox(wall pool.Instant, limit int) ([]OutboxRow, error)          // by id
	UpdateOutbox(r OutboxRow) error
	OpenOutbox() (int64, error)
	// UseNonce is false when the nonce was used; then result is the first answer.
	UseNonce(n Nonce) (fresh bool, result string, err error)
	FinishNonce(nonce, result string) error
	DeleteNonces(before pool.Instant) error
}

// UsageRow is a total of the ledger.
type UsageRow struct {
	Class   pool.ClassID
	Cover   pool.Cover
	Row     pool.PriceRowID
	Version pool.PlanVersionID
	Project pool.ProjectID
	User    pool.UserID
	Account pool.AccountID
	Org     pool.OrgID
	Job     pool.JobID
	Day     pool.Instant // only when grouped by day
	Use     pool.GPUMillis
}

// UsageGroup says which columns a total is split by; the others stay zero. Day
// is the first instant of the day of the billing zone: no segment spans two.
type UsageGroup struct {
	Project, User, Account, Org, Job, Day bool
}

// ReportTx answers the sums of pages in one statement each.
type ReportTx interface {
	// Usage sums the ledger over segments that start in [f.From, f.To),
	// always by class, cover, price row and plan version.
	Usage(f SegmentFilter, by UsageGroup) ([]UsageRow, error)
	// JobUse sums the ledger per job, class, cover and price row for these jobs.
	JobUse(jobs []pool.JobID) (map[pool.JobID][]UsageRow, error)
	// NamesOf gives the names of users for lists.
	NamesOf(ids []pool.UserID) (map[pool.UserID]string, error)
}
