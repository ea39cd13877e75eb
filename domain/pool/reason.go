package pool

import "fmt"

// ReasonCode names why a queued job waits.
type ReasonCode string

const (
	QuotaFull        ReasonCode = "quota_full"
	ClassFull        ReasonCode = "class_full"
	Scattered        ReasonCode = "scattered"
	BorrowLimit      ReasonCode = "borrow_limit"
	LendLimit        ReasonCode = "lend_limit"
	Budget           ReasonCode = "budget"
	Cap              ReasonCode = "cap"
	OrderExhausted   ReasonCode = "purchase_order"
	NeverFits        ReasonCode = "never_fits"
	WaitingForDrain  ReasonCode = "waiting_for_drain"
	Reserved         ReasonCode = "reserved"
	PolicyWindow     ReasonCode = "policy_window"
	MinimumRun       ReasonCode = "minimum_run_time"
	Behind           ReasonCode = "behind"
	NotBefore        ReasonCode = "not_before"
	Dependency       ReasonCode = "dependency"
	Site             ReasonCode = "site"
	Data             ReasonCode = "data"
	NoSubscription   ReasonCode = "subscription"
	ProjectPaused    ReasonCode = "project_paused"
	AdmissionPaused  ReasonCode = "admission_paused"
	ClassUnavailable ReasonCode = "class_unavailable"
)

// Reason is one true obstacle with its numbers. The meaning of Have, Limit
// and Until depends on the code and stands in Reasons.
type Reason struct {
	Code  ReasonCode `json:"code"`
	Class ClassID    `json:"class,omitempty"`
	Need  int64      `json:"need,omitempty"`  // GPUs, or minor units for money
	Have  int64      `json:"have,omitempty"`  // what is there now
	Limit int64      `json:"limit,omitempty"` // the number that was exceeded
	Until Instant    `json:"until,omitempty"` // when it lifts, 0 when not known
	Ref   string     `json:"ref,omitempty"`   // the job, node, order or project meant
}

// ReasonRow documents one code: the code of the public cases, the sentence
// (its verbs are Need, Have, Limit, Until, Ref by index), and what lifts it.
type ReasonRow struct {
	Code     ReasonCode
	CaseCode string
	Sentence string
	Lifts    string
}

// Reasons is the one table of wait reasons.
var Reasons = []ReasonRow{
	{QuotaFull, "QUOTA_FULL", "Needs %[1]d GPUs; your guaranteed %[3]d have %[2]d left.", "a job of your organisation ends, or the owner raises the quota"},
	{ClassFull, "CLASS_FULL", "Needs %[1]d GPUs; %[2]d are free in the pool.", "a running job ends"},
	{Scattered, "SCATTERED", "Needs %[1]d GPUs on one node; %[2]d are free, but at most %[3]d on one node.", "jobs on one node end"},
	{BorrowLimit, "BORROW_LIMIT", "Needs %[1]d borrowed GPUs; the borrow limit is %[3]d and %[2]d are left.", "the owner raises the borrow limit, or own jobs end"},
	{LendLimit, "LEND_LIMIT", "Needs %[1]d GPUs; owners keep back %[3]d and lend %[2]d more.", "owners raise their lend limit"},
	{Budget, "BUDGET", "Up to %[1]s; the project's budget of %[3]s has %[2]s left.", "the lead raises the budget, or the next budget period begins"},
	{Cap, "CAP", "Up to %[1]s; the spending cap of %[3]s has %[2]s left.", "the owner raises the cap, running jobs end early, or the next month begins"},
	{OrderExhausted, "PURCHASE_ORDER", "Up to %[1]s; purchase order %[5]s of %[3]s has %[2]s left.", "finance adds a purchase order"},
	{NeverFits, "NEVER_FITS", "Needs %[1]d GPUs; the largest that can ever fit is %[3]d.", "the GPUs or the quota that it would need are added"},
	{WaitingForDrain, "WAITING_FOR_DRAIN", "GPUs are being freed: %[2]d jobs under notice, gone by %[4]s.", "the jobs under notice stop"},
	{Reserved, "RESERVED", "%[2]d GPUs are free but reserved for job %[5]s until %[4]s.", "the reserved job starts"},
	{PolicyWindow, "POLICY_WINDOW", "Not allowed at this time of day; allowed from %[4]s.", "the window opens"},
	{MinimumRun, "MINIMUM_RUN", "Borrowers are protected by their minimum run time until %[4]s.", "the minimum run time ends"},
	{Behind, "BEHIND", "%[2]d jobs stand before it in the queue.", "the jobs before it start"},
	{NotBefore, "NOT_BEFORE", "Starts no sooner than %[4]s, as asked.", "the time comes"},
	{Dependency, "DEPENDENCY", "Waits for job %[5]s to finish.", "that job finishes"},
	{Site, "SITE", "The project may run on %[2]d of %[3]d nodes of this GPU type.", "the owner allows more sites"},
	{Data, "DATA", "Its data is at site %[5]s.", "GPUs at that site become free"},
	{NoSubscription, "SUBSCRIPTION", "The organisation has no active subscription.", "the owner subscribes to a plan"},
	{ProjectPaused, "PROJECT_PAUSED", "The project or its organisation is paused: %[5]s.", "the pause is lifted"},
	{AdmissionPaused, "ADMISSION_PAUSED", "The operator has paused the start of new jobs.", "the operator resumes"},
	{ClassUnavailable, "CLASS_UNAVAILABLE", "No healthy GPU of this type is in the pool.", "a node of this type comes back"},
}

// Outlook is the sentence, in two parts, of what must come for the job to
// start: the first has a verb for the second.
func (r ReasonRow) Outlook() (sentence, what string) {
	if r.Code == NeverFits {
		return "It can never start as the pool is: %s.", "ask for fewer GPUs, another GPU type, or more quota"
	}
	return "It starts when %s.", r.Lifts
}

// RowOf finds the row of a code; it panics on a code that has none, which a
// test excludes.
func RowOf(c ReasonCode) ReasonRow {
	for _, r := range Reasons {
		if r.Code == c {
			return r
		}
	}
	panic(fmt.Sprintf("wait reason %q has no row", c))
}
