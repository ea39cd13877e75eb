package domain

import "gpupool/domain/pool"

// User is a person who can sign in. E-mail is unique, stored in small letters.
type User struct {
	ID           pool.UserID
	Email        string
	Name         string
	PasswordHash string // argon2id; empty: cannot sign in with a password
	Operator     bool
	Lang         string
	TimeZone     string
	CreatedAt    pool.Instant
	Disabled     bool
}

// Organisation is a member of the consortium.
type Organisation struct {
	ID        pool.OrgID
	Name      string
	NameZH    string
	ShowAs    string // what others see: "name", "pseudonym", "member"
	Pseudonym string
	CreatedAt pool.Instant
	Pauses    []string // reasons; empty: not paused
}

// Membership is user x organisation x role.
type Membership struct {
	User  pool.UserID
	Org   pool.OrgID
	Role  pool.Role
	Since pool.Instant
}

// Member is a membership with the person's name, for lists.
type Member struct {
	Membership
	Name, Email string
}

// Invitation lets a person join an organisation. Only the hash of its token
// is stored; the link is shown once.
type Invitation struct {
	ID         string
	TokenHash  string
	Org        pool.OrgID
	Email      string
	Role       pool.Role
	Project    pool.ProjectID // optional: joins this project too
	InvitedBy  pool.UserID
	CreatedAt  pool.Instant
	ExpiresAt  pool.Instant // wall clock
	AcceptedAt pool.Instant // 0: open
	RevokedAt  pool.Instant
}

// APIToken acts for its user with the scopes it names.
type APIToken struct {
	ID        string
	User      pool.UserID
	Name      string
	Hash      string // SHA-256 of the token, hex
	Prefix    string // first characters, to recognise it
	Scopes    []string
	CreatedAt pool.Instant
	ExpiresAt pool.Instant
	LastUsed  pool.Instant
	RevokedAt pool.Instant
}

// Session is a browser session; Token is the hash that scs stores under.
type Session struct {
	Token     string
	User      pool.UserID
	Data      []byte
	ExpiresAt pool.Instant // wall clock
	CreatedAt pool.Instant
	IP, Agent string
}

// Project is a cost centre of an organisation.
type Project struct {
	ID           pool.ProjectID
	Org          pool.OrgID
	Name         string
	Budget       *int64 // minor units per budget period at list price; nil: none
	BudgetPeriod string // "month" or "total"
	Sites        []pool.SiteID
	Nodes        string       // "any", "own" (own nodes only), "unshared"
	NodeOwners   []pool.OrgID // contributors of the nodes it may run on, the consortium among them; empty: all
	CreatedAt    pool.Instant
	Pauses       []string
	Archived     bool
}

// ProjectMember narrows a member of the organisation to the project; Lead
// keeps its budget.
type ProjectMember struct {
	Project pool.ProjectID
	User    pool.UserID
	Lead    bool
}
