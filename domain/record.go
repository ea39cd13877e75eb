package domain

import (
	"gpupool/domain/money"
	"gpupool/domain/pool"
)

// Invoice is an issued document and its place in the ledger. Doc is the
// frozen invoice.Document as canonical JSON: every copy is made from it.
type Invoice struct {
	ID       pool.InvoiceID
	Number   string
	Account  pool.AccountID
	Org      pool.OrgID
	Month    pool.Month
	Kind     string // start, regular, adjustment, credit
	FromSeq  int64  // ledger range (FromSeq, ToSeq]
	ToSeq    int64
	Net      money.Amount
	Tax      money.Amount
	Total    money.Amount
	IssuedAt pool.Instant
	DueAt    pool.Instant
	Hash     string // SHA-256 over the segments of its range and PrevHash
	PrevHash string
	Issuer   string // local or stripe
	Doc      []byte
}

// InvoiceState is an append-only state row.
type InvoiceState struct {
	Invoice pool.InvoiceID
	At      pool.Instant
	State   string // issued, paid, void, uncollectible
	By      pool.UserID
	Note    string
}

// AuditRow is one change: who, what, before and after, from where.
type AuditRow struct {
	Seq     int64
	At      pool.Instant // business clock
	Wall    pool.Instant
	User    pool.UserID
	Name    string // of the actor at that time
	Via     Via
	IP      string
	Org     pool.OrgID // empty: of the pool
	Action  string     // e.g. job.submit
	Subject string     // id of what changed
	Before  string     // JSON, empty when created
	After   string     // JSON, empty when removed
}

// OutboxRow is work to do outside a transaction, with the key it is done
// under. It is stored before the call and never lost.
type OutboxRow struct {
	ID        int64
	Kind      string // nomad.submit, nomad.signal, nomad.stop, stripe.…, mail.send
	Key       string // idempotency key, unique
	Payload   []byte // JSON
	CreatedAt pool.Instant
	NextAt    pool.Instant // not before, wall clock
	Tries     int
	LastError string
	DoneAt    pool.Instant // 0: open
}

// Nonce is a form that was sent: done once, answered the same again.
type Nonce struct {
	Nonce  string
	User   pool.UserID
	At     pool.Instant // wall clock
	Result string       // where the first answer redirected to
}
