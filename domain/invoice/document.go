// Package invoice makes invoices and credit notes of rated lines, says which
// states they may take, and checks them against the ledger. It is pure:
// numbers, instants and stored rows come as arguments.
package invoice

import (
	"gpupool/domain/money"
	"gpupool/domain/pool"
	"gpupool/domain/rating"
)

// Kind of a document.
type Kind string

const (
	Start      Kind = "start"   // the first fee in advance, prorated
	Regular    Kind = "regular" // a month's use and fee
	Adjustment Kind = "adjustment"
	CreditNote Kind = "credit"
)

// Treatment is how tax applies to a buyer.
type Treatment string

const (
	Standard      Treatment = "standard"
	Exempt        Treatment = "exempt"
	ReverseCharge Treatment = "reverse"
	OutsideScope  Treatment = "outside" // supplied outside the tax area
)

// TaxProfile of a billing account. Rate counts with Standard only; the others
// must give the Reason that the law wants printed.
type TaxProfile struct {
	Treatment Treatment
	Rate      money.BasisPoints
	Reason    string
}

// Party is a seller or buyer as printed. It is copied in at issue and never
// looked up again.
type Party struct {
	Name      string
	Address   []string // lines
	TaxID     string
	Email     string
	Reference string // the buyer's own, e.g. a purchase order
	Bank      string // the seller's account details
}

// Line is a position of a document, numbered from 1. For a credit note,
// Credits is the number of the line of the invoice that it takes back.
type Line struct {
	No int
	rating.Line
	Tax     Tax
	Credits int
}

// Tax names the rate of a line and its share of the tax of that rate.
type Tax struct {
	Treatment Treatment
	Rate      money.BasisPoints
	Amount    money.Amount
}

// TaxTotal is the subtotal of one treatment and rate, rounded once.
type TaxTotal struct {
	Treatment Treatment
	Rate      money.BasisPoints
	Reason    string
	Net, Tax  money.Amount
}

// Range of the ledger that a document bills: the segments of its billing
// account with From < Seq <= To.
type Range struct{ From, To int64 }

// Document is a whole invoice or credit note. Money is net, then tax, then
// total, in minor units of Currency; on a credit note all are negative. An
// issued document never changes. A field that is added later has omitzero, so
// that documents issued before keep their hash.
type Document struct {
	Form     string // of this struct, for readers to come
	ID       pool.InvoiceID
	Number   string // e.g. NB-2026-000123; empty on a draft
	Kind     Kind
	Account  pool.AccountID
	Org      pool.OrgID
	Period   pool.Month
	Zone     string // billing zone, as printed
	Language string // en or zh
	Currency money.Currency
	Seller   Party
	Buyer    Party
	Issued   pool.Instant // 0 on a draft
	Due      pool.Instant
	Names    map[string]string // what classes, plans, projects, users and jobs (by id) were called at issue
	Corrects string            // number of the invoice that a credit note refers to
	Reason   string            // why a credit note was made
	Lines    []Line
	Net      money.Amount
	Taxes    []TaxTotal
	Tax      money.Amount
	Total    money.Amount
	Range    Range
	Segments string // SHA-256 of the canonical segments of Range, hex
	Previous string // Hash of the issuer's document before this one; empty for the first
	Hash     string // SHA-256 over Segments, Previous and the document's content, hex
}

// form names the layout of Document.
const form = "gpupool-invoice-1"

// Draft tells whether the document has not been issued.
func (d Document) Draft() bool { return d.Number == "" }
