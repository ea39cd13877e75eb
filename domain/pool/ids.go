package pool

import (
	"fmt"
	"regexp"
)

// Every identifier is a type of its own, so that a project id never stands
// where an organisation id is meant. The zero value is never a valid id.
type (
	OrgID           string // slug of the organisation, stands in paths: /o/{org}
	ProjectID       string // unique in the whole pool
	UserID          string
	JobID           string
	ClassID         string // e.g. a100-80g
	NodeID          string // Nomad's node id (a UUID) or the embedded cluster's
	PlanID          string
	PlanVersionID   string
	PriceListID     string
	PriceRowID      string // a row of one price list: class, cover, time window
	AccountID       string // billing account
	SubscriptionID  string
	PurchaseOrderID string
	InvoiceID       string
	AllocID         string // what Nomad calls an allocation
	SiteID          string
)

// Consortium is the contributor of nodes that no member put in.
const Consortium OrgID = "consortium"

var slug = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{1,62}$`)

// MaxSlug is the longest identifier that a person may choose.
const MaxSlug = 63

// CheckSlug tells in a sentence why s can't be an identifier that stands in a path.
func CheckSlug(s string) error {
	if !slug.MatchString(s) {
		return fmt.Errorf("must be 2 to %d characters: small letters, digits and hyphens, not beginning with a hyphen", MaxSlug)
	}
	return nil
}

// AttemptID names one try of a job.
type AttemptID struct {
	Job JobID
	N   int // from 1
}

// NomadID is the id under which the attempt is registered with Nomad.
func (a AttemptID) NomadID() string { return fmt.Sprintf("%s-%d", a.Job, a.N) }

var className = regexp.MustCompile(`^[a-z0-9][a-z0-9.-]{1,62}$`)

// CheckSlugClass is CheckSlug for GPU classes, which may have dots too:
// a100-1g.10gb.
func CheckSlugClass(s string) error {
	if !className.MatchString(s) {
		return fmt.Errorf("must be 2 to %d characters: small letters, digits, hyphens and dots, beginning with a letter or digit", MaxSlug)
	}
	return nil
}
