package web

import (
	"strings"

	"gpupool/domain"
	"gpupool/domain/money"
	"gpupool/domain/pool"
	"gpupool/views/ui"
)

// words of the portal for what the code calls by a short name. Each is a key of the translation.
var words = map[string]string{
	"guaranteed": "guaranteed", "burst": "flexible", "spot": "spot", "own": "own", "loan": "borrowed",
	"waiting": "Waiting", "starting": "Starting", "running": "Running", "stopping": "Stopping", "finished": "Finished",
	"failed": "Failed", "stopped": "Stopped", "lost": "Lost", "refused": "Refused", "admitted": "Admitted",
	"issued": "Issued", "paid": "Paid", "overdue": "Overdue", "void": "Void", "uncollectible": "Written off",
	"ready": "Ready", "draining": "Draining", "down": "Down", "cordoned": "Cordoned",
	"draft": "Draft", "published": "Published", "open": "Open", "closed": "Closed", "active": "Active", "paused": "Paused",
	"expired": "Expired", "archived": "Archived", "revoked": "Taken back", "accepted": "Accepted", "ended": "Ended",
	"member": "Member", "lead": "Lead", "finance": "Finance", "owner": "Owner", "viewer": "Viewer", "operator": "Operator",
}

// word is the portal's word; a name it does not know stands as it is.
func (f format) word(name string) string {
	if w, ok := words[name]; ok {
		return f.T(w)
	}
	return name
}

func (f format) state(name string) ui.Badge     { return ui.StateBadge(name, f.word(name)) }
func (f format) tier(t pool.Tier) ui.Badge      { return ui.TierBadge(string(t), f.word(string(t))) }
func (f format) coverage(c pool.Cover) ui.Badge { return ui.CoverBadge(string(c), f.word(string(c))) }

// moneyReasons have amounts where the others have GPUs.
var moneyReasons = map[pool.ReasonCode]bool{pool.Budget: true, pool.Cap: true, pool.OrderExhausted: true}

// reason is the sentence of a wait reason with its numbers.
func (f format) reason(r pool.Reason) string {
	row := pool.RowOf(r.Code)
	until := f.at(r.Until)
	if until == "" {
		until = f.T("a time that is not known yet")
	}
	if moneyReasons[r.Code] {
		return f.index(row.Sentence, f.money(money.Amount(r.Need)), f.money(money.Amount(r.Have)), f.money(money.Amount(r.Limit)), until, r.Ref, f.typeName(r.Class))
	}
	sentences := []string{f.index(row.Sentence, r.Need, r.Have, r.Limit, until, r.Ref, f.typeName(r.Class))}
	for _, d := range r.Details() {
		sentences = append(sentences, f.T(d.Sentence, d.Args...))
	}
	return strings.Join(sentences, " ")
}

// index fills a sentence whose verbs name their argument. Arguments that it does not name are no mistake, which is
// why the sentence is looked up first and filled by fmt, whose complaint about them is cut off.
func (f format) index(sentence string, args ...any) string {
	last := 0
	for i := range sentence {
		if i+2 < len(sentence) && sentence[i] == '%' && sentence[i+1] == '[' {
			last = max(last, int(sentence[i+2]-'0'))
		}
	}
	return f.T(sentence, args[:min(last, len(args))]...)
}

// lifts is what takes a wait reason away.
func (f format) lifts(c pool.ReasonCode) string { return f.T(pool.RowOf(c).Lifts) }

// outlook is what must come for a job to start, or that nothing will do.
func (f format) outlook(c pool.ReasonCode) string {
	sentence, what := pool.RowOf(c).Outlook()
	return f.T(sentence, f.T(what))
}

// whole is a warning's sentence.
func (f format) warning(w domain.Warning) string { return f.T(w.Message, w.Args...) }

// reasonNames are wait reasons in a few words, for counts.
var reasonNames = map[pool.ReasonCode]string{
	pool.QuotaFull: "Guaranteed GPUs all in use", pool.ClassFull: "GPUs all in use", pool.Scattered: "Free GPUs scattered over nodes",
	pool.BorrowLimit: "Borrow limit", pool.LendLimit: "Lend limit", pool.Budget: "Project budget", pool.Cap: "Spending cap", pool.OrderExhausted: "Purchase order used up",
	pool.NeverFits: "Never fits", pool.WaitingForDrain: "GPUs are being freed", pool.Reserved: "Reserved for another job", pool.PolicyWindow: "Not at this time of day",
	pool.MinimumRun: "Minimum run time of borrowers", pool.Behind: "Behind others", pool.NotBefore: "Not before its time", pool.Deadline: "Deadline can't be kept", pool.Dependency: "Waits for another job", pool.DependencyCycle: "Jobs wait for one another",
	pool.Site: "Allowed sites", pool.Data: "Site of its data", pool.NoSubscription: "No subscription", pool.ProjectPaused: "Project or member paused",
	pool.Maintenance: "Nodes in maintenance", pool.AdmissionPaused: "Admission paused", pool.ClassUnavailable: "GPU type out of service",
}

func (f format) reasonName(c pool.ReasonCode) string {
	if s, ok := reasonNames[c]; ok {
		return f.T(s)
	}
	return string(c)
}
