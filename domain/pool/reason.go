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
	Deadline         ReasonCode = "deadline"
	Dependency       ReasonCode = "dependency"
	Site             ReasonCode = "site"
	Data             ReasonCode = "data"
	NoSubscription   ReasonCode = "subscription"
	ProjectPaused    ReasonCode = "project_paused"
	AdmissionPaused  ReasonCode = "admission_paused"
	ClassUnavailable ReasonCode = "class_unavailable"
	Maintenance      ReasonCode = "maintenance"
	DependencyCycle  ReasonCode = "dependency_cycle"
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
	Ref   string     `json:"ref,omitempty"`   // the job, node, order, project or sites meant

	// Of the organisation in the class, where quota matters: what is guaranteed
	// to it and what it uses, spot excluded.
	Quota int64 `json:"quota,omitempty"`
	Used  int64 `json:"used,omitempty"`
	// Elsewhere is how many GPUs of the class are free on nodes that the job may
	// not use.
	Elsewhere int64 `json:"elsewhere,omitempty"`
}

// Detail is a sentence with its numbers.
type Detail struct {
	Sentence string
	Args     []any
}

// Details are what the row's sentence doesn't say.
func (r Reason) Details() []Detail {
	var out []Detail
	if r.Code == Site && r.Ref != "" {
		out = append(out, Detail{"Allowed sites: %s.", []any{r.Ref}})
	}
	if r.Code == BorrowLimit && r.Ref != "" {
		out = append(out, Detail{"This is the limit of the job's project.", nil})
	}
	switch {
	case r.Quota > 0 && r.Used > r.Quota:
		out = append(out, Detail{"Your %d guaranteed are all used, and %d more are borrowed.", []any{r.Quota, r.Used - r.Quota}})
	case r.Quota > 0:
		out = append(out, Detail{"Of your %d guaranteed, %d are used.", []any{r.Quota, r.Used}})
	}
	if r.Elsewhere > 0 {
		out = append(out, Detail{"%d more are free on nodes where it may not run.", []any{r.Elsewhere}})
	}
	return out
}

// ReasonRow documents one code: the code of the public cases, the sentence
// (its verbs are Need, Have, Limit, Until, Ref, Class by index), and what lifts it.
type ReasonRow struct {
	Code     ReasonCode
	CaseCode string
	Sentence string
	Lifts    string
}

// Reasons is the one table of wait reasons.
var Reasons = []ReasonRow{
	{QuotaFull, "QUOTA_FULL", "Needs %[1]d %[6]s; of your %[3]d guaranteed, %[2]d are left for guaranteed jobs.", "a job of your organisation ends, or the owner raises the quota"},
	{ClassFull, "CLASS_FULL", "Needs %[1]d %[6]s; %[2]d are free in the pool.", "a running job ends"},
	{Scattered, "SCATTERED", "Needs %[1]d %[6]s on one node; %[2]d are free but scattered, at most %[3]d on one node.", "jobs on one node end"},
	{BorrowLimit, "BORROW_LIMIT", "Needs %[1]d borrowed %[6]s; the borrow limit is %[3]d and %[2]d are left.", "the owner raises the borrow limit, or own jobs end"},
	{LendLimit, "LEND_LIMIT", "Needs %[1]d %[6]s; owners keep back %[3]d and lend %[2]d more.", "owners raise their lend limit"},
	{Budget, "BUDGET", "Up to %[1]s; the project's budget of %[3]s has %[2]s left.", "the lead raises the budget, or the next budget period begins"},
	{Cap, "CAP", "Up to %[1]s; the spending cap of %[3]s has %[2]s left.", "the owner raises the cap, running jobs end early, or the next month begins"},
	{OrderExhausted, "PURCHASE_ORDER", "Up to %[1]s; purchase order %[5]s of %[3]s has %[2]s left.", "finance adds a purchase order"},
	{NeverFits, "NEVER_FITS", "Needs %[1]d %[6]s; the largest that can ever fit is %[3]d.", "the GPUs or the quota that it would need are added"},
	{WaitingForDrain, "WAITING_FOR_DRAIN", "%[6]s are being freed for it: jobs under notice: %[2]d, gone by %[4]s.", "the jobs under notice stop"},
	{Reserved, "RESERVED", "Needs %[1]d %[6]s; %[2]d are free but reserved for job %[5]s until %[4]s.", "the reserved job starts"},
	{PolicyWindow, "POLICY_WINDOW", "Not allowed at this time of day; allowed from %[4]s.", "the window opens"},
	{MinimumRun, "MINIMUM_RUN", "Borrowers hold %[2]d %[6]s that their minimum run time protects; the first of these runs until %[4]s.", "the minimum run time ends"},
	{Behind, "BEHIND", "Place %[1]d of %[3]d in the queue; jobs like it before it: %[2]d.", "the jobs before it start"},
	{NotBefore, "NOT_BEFORE", "Starts no sooner than %[4]s, as asked.", "the time comes"},
	{Deadline, "DEADLINE", "It can't end by its deadline any more: %[4]s.", "the deadline is moved, or it asks for a shorter run"},
	{Dependency, "DEPENDENCY", "Waits for job %[5]s to finish.", "that job finishes"},
	{DependencyCycle, "DEPENDENCY_CYCLE", "Waits for itself: a job that it depends on depends on it.", "a job of that circle is cancelled"},
	{Site, "SITE", "The project may run on %[2]d of %[3]d nodes with %[6]s.", "the owner allows more sites"},
	{Data, "DATA", "Its data is at site %[5]s, where %[2]d of %[3]d %[6]s are free; it needs %[1]d.", "GPUs at that site become free"},
	{NoSubscription, "SUBSCRIPTION", "The organisation has no active subscription.", "the owner subscribes to a plan"},
	{ProjectPaused, "PROJECT_PAUSED", "The project or its organisation is paused: %[5]s.", "the pause is lifted"},
	{AdmissionPaused, "ADMISSION_PAUSED", "The operator has paused the start of new jobs.", "the operator resumes"},
	{Maintenance, "MAINTENANCE", "Needs %[1]d %[6]s; %[2]d are free. %[3]d more are on nodes in maintenance, or that go into it before the job would end; the first is back at %[4]s.", "the maintenance is over, or it asks for a shorter run"},
	{ClassUnavailable, "CLASS_UNAVAILABLE", "No healthy %[6]s is in the pool.", "a node of this type comes back"},
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
