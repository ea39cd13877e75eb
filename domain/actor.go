package domain

import "gpupool/domain/pool"

// Via tells from where an actor acts.
type Via string

const (
	ViaWeb    Via = "web"
	ViaAPI    Via = "api"
	ViaCLI    Via = "cli"
	ViaSystem Via = "system" // a loop, the clock, the demo's history
)

// Actor is who asks, and from where. The zero Actor is a stranger.
type Actor struct {
	User     pool.UserID
	Name     string
	Email    string
	Operator bool
	Roles    map[pool.OrgID]pool.Role
	// Projects narrows a member of an organisation to these projects; an
	// organisation that is absent here is not narrowed.
	Projects map[pool.OrgID][]pool.ProjectID
	Via      Via
	IP       string
	TokenID  string   // set when the actor came with an API token
	Scopes   []string // of the token; never above the owner's rights
}

// System is the actor of loops.
func System(name string) Actor { return Actor{Name: name, Via: ViaSystem, Operator: true} }

// SignedIn tells whether the actor is a known person.
func (a Actor) SignedIn() bool { return a.User != "" }

// Act is something an actor may do inside an organisation.
type Act string

const (
	ActView         Act = "view"         // see the organisation's pages
	ActSubmit       Act = "submit"       // submit jobs, stop own jobs
	ActManageJobs   Act = "manage_jobs"  // stop anybody's jobs of the organisation
	ActProjects     Act = "projects"     // create and change projects, budgets
	ActTeam         Act = "team"         // invite, roles
	ActViewBilling  Act = "view_billing" // subscription, invoices, caps
	ActBilling      Act = "billing"      // billing accounts, purchase orders, caps
	ActSubscribe    Act = "subscribe"    // subscribe, change, cancel
	ActQuota        Act = "quota"        // borrow and lend limits
	ActAudit        Act = "audit"        // the organisation's audit trail
	ActContribution Act = "contribution" // nodes put in, lending statements
)

var rights = map[pool.Role][]Act{
	pool.RoleMember:  {ActView, ActSubmit},
	pool.RoleLead:    {ActView, ActSubmit, ActManageJobs},
	pool.RoleFinance: {ActView, ActViewBilling, ActBilling, ActContribution},
	pool.RoleOwner: {ActView, ActSubmit, ActManageJobs, ActProjects, ActTeam, ActViewBilling, ActBilling,
		ActSubscribe, ActQuota, ActAudit, ActContribution},
	pool.RoleViewer: {ActView, ActViewBilling, ActAudit},
}

// Scopes of API tokens. A token without a scope for an act can't do it.
const (
	ScopeRead = "read"
	ScopeJobs = "jobs"
)

// Can tells whether the actor may do act in org. An operator may see
// everything of every member, and changes nothing inside one.
func (a Actor) Can(org pool.OrgID, act Act) bool {
	if a.Via == ViaSystem {
		return true
	}
	if a.TokenID != "" && !a.scoped(act) {
		return false
	}
	if a.Operator && (act == ActView || act == ActViewBilling || act == ActAudit || act == ActContribution) {
		return true
	}
	for _, r := range rights[a.Roles[org]] {
		if r == act {
			return true
		}
	}
	return false
}

func (a Actor) scoped(act Act) bool {
	need := ScopeRead
	switch act {
	case ActSubmit, ActManageJobs:
		need = ScopeJobs
	case ActView, ActViewBilling, ActAudit, ActContribution:
	default:
		return false // a token never manages people, money or quota
	}
	for _, s := range a.Scopes {
		if s == need || s == ScopeJobs && need == ScopeRead {
			return true
		}
	}
	return false
}

// Knows tells whether the actor may learn that org exists in detail.
func (a Actor) Knows(org pool.OrgID) bool {
	_, member := a.Roles[org]
	return member || a.Operator || a.Via == ViaSystem
}

// SeesProject tells whether a narrowed member may see the project.
func (a Actor) SeesProject(org pool.OrgID, p pool.ProjectID) bool {
	only, narrowed := a.Projects[org]
	if !narrowed || a.Operator {
		return true
	}
	for _, x := range only {
		if x == p {
			return true
		}
	}
	return false
}

// Need is nil when the actor may do act in org. A foreign organisation is
// not found, so that its existence does not show.
func (a Actor) Need(org pool.OrgID, act Act) error {
	switch {
	case !a.Knows(org):
		return Errf(NotFound, "There is no such page.")
	case !a.Can(org, act):
		return Errf(Forbidden, "Your role does not allow this.")
	}
	return nil
}

// NeedOperatorView is nil for the consortium's operator, also with a token
// that may read: what it guards changes nothing.
func (a Actor) NeedOperatorView() error {
	if a.Operator && a.Can("", ActView) {
		return nil
	}
	return Errf(NotFound, "There is no such page.")
}

// NeedOperator is nil for the consortium's operator.
func (a Actor) NeedOperator() error {
	if a.Operator && a.TokenID == "" {
		return nil
	}
	return Errf(NotFound, "There is no such page.")
}
