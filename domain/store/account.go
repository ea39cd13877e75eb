package store

import (
	"gpupool/domain"
	"gpupool/domain/money"
	"gpupool/domain/pool"
)

type accountRow struct {
	ID           pool.AccountID `gorm:"column:id;primaryKey"`
	Org          pool.OrgID     `gorm:"column:org_id"`
	Name         string         `gorm:"column:name"`
	BuyerName    string         `gorm:"column:buyer_name"`
	BuyerAddress string         `gorm:"column:buyer_address"`
	BuyerCountry string         `gorm:"column:buyer_country"`
	BuyerTaxID   string         `gorm:"column:buyer_tax_id"`
	BuyerRef     string         `gorm:"column:buyer_ref"`
	Emails       string         `gorm:"column:emails"`
	TaxKind      string         `gorm:"column:tax_kind"`
	TaxRate      int            `gorm:"column:tax_rate"`
	TaxReason    string         `gorm:"column:tax_reason"`
	TermsDays    int            `gorm:"column:terms_days"`
	Language     string         `gorm:"column:language"`
	Issuer       string         `gorm:"column:issuer"`
	Advance      bool           `gorm:"column:advance"`
	LastSeq      int64          `gorm:"column:last_seq"`
	Created      pool.Instant   `gorm:"column:created_at"`
}

func (accountRow) TableName() string { return "billing_accounts" }

func accountOf(r accountRow) (domain.BillingAccount, error) {
	a := domain.BillingAccount{ID: r.ID, Org: r.Org, Name: r.Name,
		Buyer:    domain.Party{Name: r.BuyerName, Address: r.BuyerAddress, Country: r.BuyerCountry, TaxID: r.BuyerTaxID},
		BuyerRef: r.BuyerRef, TaxKind: r.TaxKind, TaxRate: r.TaxRate, TaxReason: r.TaxReason, TermsDays: r.TermsDays,
		Language: r.Language, Issuer: r.Issuer, Advance: r.Advance, LastSeq: r.LastSeq, CreatedAt: r.Created}
	return a, fromJSON("emails", r.Emails, &a.Emails)
}

func rowOfAccount(a domain.BillingAccount) accountRow {
	return accountRow{a.ID, a.Org, a.Name, a.Buyer.Name, a.Buyer.Address, a.Buyer.Country, a.Buyer.TaxID, a.BuyerRef,
		toJSON(a.Emails), a.TaxKind, a.TaxRate, a.TaxReason, a.TermsDays, a.Language, a.Issuer, a.Advance, a.LastSeq, a.CreatedAt}
}

type orderRow struct {
	ID      pool.PurchaseOrderID `gorm:"column:id;primaryKey"`
	Account pool.AccountID       `gorm:"column:account_id"`
	Number  string               `gorm:"column:number"`
	Amount  money.Amount         `gorm:"column:amount"`
	From    pool.Instant         `gorm:"column:valid_from"`
	To      pool.Instant         `gorm:"column:valid_to"`
	AtZero  string               `gorm:"column:at_zero"`
	Created pool.Instant         `gorm:"column:created_at"`
}

func (orderRow) TableName() string { return "purchase_orders" }

func orderOf(r orderRow) (domain.PurchaseOrder, error) {
	return domain.PurchaseOrder{ID: r.ID, Account: r.Account, Number: r.Number, Amount: r.Amount, From: r.From, To: r.To,
		AtZero: r.AtZero, CreatedAt: r.Created}, nil
}

func (t *tx) Account(org pool.OrgID, id pool.AccountID) (domain.BillingAccount, error) {
	if err := needed(org, id); err != nil {
		return domain.BillingAccount{}, err
	}
	return one(t, accountOf, "org_id = ? AND id = ?", org, id)
}

// Accounts by organisation, then name.
func (t *tx) Accounts(org pool.OrgID) ([]domain.BillingAccount, error) {
	if org == "" {
		return all(t, accountOf, "org_id, name, id", "")
	}
	return all(t, accountOf, "name, id", "org_id = ?", org)
}

// InsertAccount begins the account's ledger at number 0, whatever LastSeq says.
func (t *tx) InsertAccount(a domain.BillingAccount) error {
	if err := needed(a.ID, a.Org); err != nil {
		return err
	}
	a.LastSeq = 0
	return insert(t, rowOfAccount(a))
}

func (t *tx) UpdateAccount(a domain.BillingAccount) error {
	if err := needed(a.ID, a.Org); err != nil {
		return err
	}
	return change(t, rowOfAccount(a), []string{"name", "buyer_name", "buyer_address", "buyer_country", "buyer_tax_id", "buyer_ref",
		"emails", "tax_kind", "tax_rate", "tax_reason", "terms_days", "language", "issuer", "advance"}, "org_id = ? AND id = ?", a.Org, a.ID)
}

// Orders of an account by the begin of their validity.
func (t *tx) Orders(a pool.AccountID) ([]domain.PurchaseOrder, error) {
	if err := needed(a); err != nil {
		return nil, err
	}
	return all(t, orderOf, "valid_from, created_at, id", "account_id = ?", a)
}

func (t *tx) AllOrders() ([]domain.PurchaseOrder, error) {
	return all(t, orderOf, "account_id, valid_from, created_at, id", "")
}

func (t *tx) InsertOrder(o domain.PurchaseOrder) error {
	if err := needed(o.ID, o.Account); err != nil {
		return err
	}
	return insert(t, orderRow{o.ID, o.Account, o.Number, o.Amount, o.From, o.To, o.AtZero, o.CreatedAt})
}
