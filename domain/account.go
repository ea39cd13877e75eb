package domain

import (
	"gpupool/domain/money"
	"gpupool/domain/pool"
)

// BillingAccount is who gets an invoice.
type BillingAccount struct {
	ID        pool.AccountID
	Org       pool.OrgID
	Name      string
	Buyer     Party
	BuyerRef  string
	Emails    []string
	TaxKind   string // "standard", "exempt", "reverse", "outside"
	TaxRate   int    // basis points
	TaxReason string // printed when the rate is 0
	TermsDays int
	Language  string
	Issuer    string // "local" or "stripe"
	Advance   bool   // fee in advance
	LastSeq   int64  // last sequence number of its ledger
	CreatedAt pool.Instant
}

// AccountOfProject is dated: from From on the project's use goes to Account.
type AccountOfProject struct {
	Project pool.ProjectID
	Account pool.AccountID
	From    pool.Instant
}

// PurchaseOrder has its number as text, as the buyer wrote it.
type PurchaseOrder struct {
	ID        pool.PurchaseOrderID
	Account   pool.AccountID
	Number    string
	Amount    money.Amount
	From, To  pool.Instant
	AtZero    string // "stop", "next", "without"
	CreatedAt pool.Instant
}

// Payment is money received for an invoice, recorded by the operator or a
// webhook. Amount may be negative for a refund or correction.
type Payment struct {
	ID         string
	Invoice    pool.InvoiceID
	Amount     money.Amount
	ReceivedAt pool.Instant
	Reference  string // of the bank; unique per issuer
	Note       string
	RecordedBy pool.UserID
	RecordedAt pool.Instant
}
