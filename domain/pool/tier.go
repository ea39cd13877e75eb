package pool

// Tier is what may happen to a job.
type Tier string

const (
	Guaranteed Tier = "guaranteed" // inside own quota; nobody else can evict it
	Burst      Tier = "burst"      // own quota first, beyond it borrows; reclaimable with notice
	Spot       Tier = "spot"       // whatever is idle; preemptible
)

// Tiers in the order of protection.
var Tiers = []Tier{Guaranteed, Burst, Spot}

func (t Tier) Valid() bool { return t == Guaranteed || t == Burst || t == Spot }

// Cover is what a running GPU is charged as.
type Cover string

const (
	Own       Cover = "own"
	Loan      Cover = "loan"
	SpotCover Cover = "spot"
)

// Covers in the order in which lines are printed.
var Covers = []Cover{Own, Loan, SpotCover}

func (c Cover) Valid() bool { return c == Own || c == Loan || c == SpotCover }

// Split tells as what the GPUs of a running attempt are charged. The sum is
// always the number of GPUs of the attempt.
type Split struct{ Own, Loan, Spot int }

func (s Split) Total() int { return s.Own + s.Loan + s.Spot }

// Of returns the number of GPUs charged as c.
func (s Split) Of(c Cover) int {
	switch c {
	case Own:
		return s.Own
	case Loan:
		return s.Loan
	default:
		return s.Spot
	}
}

// Role of a person in an organisation. Operator is global and not a Role.
type Role string

const (
	RoleMember  Role = "member"
	RoleLead    Role = "lead"
	RoleFinance Role = "finance"
	RoleOwner   Role = "owner"
	RoleViewer  Role = "viewer"
)

var Roles = []Role{RoleMember, RoleLead, RoleFinance, RoleOwner, RoleViewer}

func (r Role) Valid() bool {
	for _, x := range Roles {
		if r == x {
			return true
		}
	}
	return false
}
