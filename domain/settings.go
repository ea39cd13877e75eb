package domain

import (
	"time"

	"gpupool/domain/money"
	"gpupool/domain/pool"
)

// Settings of the pool: one row. Currency and zone are fixed at the first
// issued invoice.
type Settings struct {
	Name          string
	NameZH        string
	Currency      money.Currency
	Zone          string // IANA name of the billing zone
	Grace         time.Duration
	SetupGrace    time.Duration // image pull and set-up that is free
	SetupLimit    time.Duration // how long a run may be pending before it is stopped
	ForgetAfter   time.Duration // when what has ended is removed from the cluster
	Notice        time.Duration // before a reclaimed job is stopped
	Signal        string        // sent at once when notice is given, e.g. SIGUSR1
	DefaultMaxRun time.Duration
	LongestMaxRun time.Duration
	InvoicePrefix string
	Seller        Party
	Bank          string // payment instructions printed on invoices
	Paused        bool   // the operator stopped admission
	Demo          bool
	TestPool      bool
	Fair          bool // fair reclaim between borrowers
	OwnPriority   bool // a member's work of higher priority may stop its own of lower
	Configured    bool // the operator has finished the set-up
	CreatedAt     pool.Instant
}

// Location loads the billing zone; the name was checked when it was stored.
func (s Settings) Location() *time.Location {
	loc, err := time.LoadLocation(s.Zone)
	if err != nil {
		return time.UTC
	}
	return loc
}

// Party is a name and address as printed on a document.
type Party struct {
	Name    string
	Address string // lines
	Country string // ISO 3166-1 alpha-2
	TaxID   string
}

// ClockRow is the stored state of the business clock: at wall instant Wall the
// business time was Business, and it runs Speed times as fast. A real pool
// has no row: its business clock is system time.
type ClockRow struct {
	Wall     pool.Instant
	Business pool.Instant
	Speed    int
}

// At is the business time at the wall instant.
func (c ClockRow) At(wall pool.Instant) pool.Instant {
	if wall < c.Wall {
		return c.Business // a wall clock set back never turns business time back
	}
	return c.Business + (wall-c.Wall)*pool.Instant(c.Speed)
}
