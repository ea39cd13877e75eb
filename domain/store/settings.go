package store

import (
	"time"

	"gpupool/domain"
	"gpupool/domain/money"
	"gpupool/domain/pool"
)

type settingsRow struct {
	ID            int64        `gorm:"column:id;primaryKey;autoIncrement:false"`
	Name          string       `gorm:"column:name"`
	NameZH        string       `gorm:"column:name_zh"`
	Currency      string       `gorm:"column:currency"`
	Exponent      int          `gorm:"column:exponent"`
	Zone          string       `gorm:"column:zone"`
	Grace         int64        `gorm:"column:grace_ms"`
	SetupGrace    int64        `gorm:"column:setup_grace_ms"`
	SetupLimit    int64        `gorm:"column:setup_limit_ms"`
	ForgetAfter   int64        `gorm:"column:forget_after_ms"`
	Notice        int64        `gorm:"column:notice_ms"`
	Signal        string       `gorm:"column:signal"`
	DefaultRun    int64        `gorm:"column:default_run_ms"`
	LongestRun    int64        `gorm:"column:longest_run_ms"`
	InvoicePrefix string       `gorm:"column:invoice_prefix"`
	SellerName    string       `gorm:"column:seller_name"`
	SellerAddress string       `gorm:"column:seller_address"`
	SellerCountry string       `gorm:"column:seller_country"`
	SellerTaxID   string       `gorm:"column:seller_tax_id"`
	Bank          string       `gorm:"column:bank"`
	Paused        bool         `gorm:"column:paused"`
	Demo          bool         `gorm:"column:demo"`
	TestPool      bool         `gorm:"column:test_pool"`
	Fair          bool         `gorm:"column:fair"`
	Configured    bool         `gorm:"column:configured"`
	Created       pool.Instant `gorm:"column:created_at"`
	OwnPriority   bool         `gorm:"column:own_priority"`
}

func (settingsRow) TableName() string { return "settings" }

// Durations are kept in whole milliseconds.
func millis(d time.Duration) int64    { return d.Milliseconds() }
func duration(ms int64) time.Duration { return time.Duration(ms) * time.Millisecond }

func (t *tx) Settings() (domain.Settings, error) {
	r, err := find[settingsRow](t, "id = 1")
	if err != nil {
		return domain.Settings{}, err
	}
	return domain.Settings{
		Name: r.Name, NameZH: r.NameZH, Currency: money.Currency{Code: r.Currency, Exponent: r.Exponent}, Zone: r.Zone,
		Grace: duration(r.Grace), SetupGrace: duration(r.SetupGrace), SetupLimit: duration(r.SetupLimit), ForgetAfter: duration(r.ForgetAfter), Notice: duration(r.Notice), Signal: r.Signal,
		DefaultMaxRun: duration(r.DefaultRun), LongestMaxRun: duration(r.LongestRun), InvoicePrefix: r.InvoicePrefix,
		Seller: domain.Party{Name: r.SellerName, Address: r.SellerAddress, Country: r.SellerCountry, TaxID: r.SellerTaxID},
		Bank:   r.Bank, Paused: r.Paused, Demo: r.Demo, TestPool: r.TestPool, Fair: r.Fair, Configured: r.Configured,
		CreatedAt: r.Created, OwnPriority: r.OwnPriority,
	}, nil
}

func (t *tx) SaveSettings(s domain.Settings) error {
	r := settingsRow{
		ID: 1, Name: s.Name, NameZH: s.NameZH, Currency: s.Currency.Code, Exponent: s.Currency.Exponent, Zone: s.Zone,
		Grace: millis(s.Grace), SetupGrace: millis(s.SetupGrace), SetupLimit: millis(s.SetupLimit), ForgetAfter: millis(s.ForgetAfter), Notice: millis(s.Notice), Signal: s.Signal,
		DefaultRun: millis(s.DefaultMaxRun), LongestRun: millis(s.LongestMaxRun), InvoicePrefix: s.InvoicePrefix,
		SellerName: s.Seller.Name, SellerAddress: s.Seller.Address, SellerCountry: s.Seller.Country, SellerTaxID: s.Seller.TaxID,
		Bank: s.Bank, Paused: s.Paused, Demo: s.Demo, TestPool: s.TestPool, Fair: s.Fair, Configured: s.Configured,
		Created: s.CreatedAt, OwnPriority: s.OwnPriority,
	}
	return put(t, r, []string{"id"}, []string{"name", "name_zh", "currency", "exponent", "zone", "grace_ms", "setup_grace_ms", "setup_limit_ms", "forget_after_ms",
		"notice_ms", "signal", "default_run_ms", "longest_run_ms", "invoice_prefix", "seller_name", "seller_address",
		"seller_country", "seller_tax_id", "bank", "paused", "demo", "test_pool", "fair", "configured", "created_at", "own_priority"})
}

type clockRow struct {
	ID       int64        `gorm:"column:id;primaryKey;autoIncrement:false"`
	Wall     pool.Instant `gorm:"column:wall"`
	Business pool.Instant `gorm:"column:business"`
	Speed    int          `gorm:"column:speed"`
}

func (clockRow) TableName() string { return "business_clock" }

func (t *tx) Clock() (domain.ClockRow, error) {
	r, err := find[clockRow](t, "id = 1")
	if err != nil {
		return domain.ClockRow{}, err
	}
	return domain.ClockRow{Wall: r.Wall, Business: r.Business, Speed: r.Speed}, nil
}

// SaveClock refuses to turn business time back.
func (t *tx) SaveClock(c domain.ClockRow) error {
	old, err := t.Clock()
	if err == nil && c.Business < old.Business {
		return domain.Errf(domain.Conflict, "The clock only moves forward.")
	}
	if err != nil && domain.CodeOf(err) != domain.NotFound {
		return err
	}
	return put(t, clockRow{1, c.Wall, c.Business, c.Speed}, []string{"id"}, []string{"wall", "business", "speed"})
}
