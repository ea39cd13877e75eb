package domain

import (
	"context"
	"slices"
	"strings"

	"gpupool/domain/pool"
)

// AccountInput is the form of a billing account, numbers as typed.
type AccountInput struct {
	Name      string
	Buyer     Party
	BuyerRef  string // e.g. a Leitweg-ID; printed on invoices
	Emails    string // separated by commas, blanks or lines; 1 to 10
	TaxKind   string // standard, exempt, reverse, outside
	TaxRate   string // percent; only for standard
	TaxReason string // printed when no tax is charged; needed for all but standard
	TermsDays string // 0 to 120
	Language  string
	Issuer    string // local, or stripe where it is set up
	Advance   bool   // fee in advance
}

// Accounts of an organisation.
func (s *Service) Accounts(ctx context.Context, a Actor, org pool.OrgID) ([]BillingAccount, error) {
	if err := a.Need(org, ActViewBilling); err != nil {
		return nil, err
	}
	var out []BillingAccount
	err := s.store.View(ctx, func(tx Tx) (err error) { out, err = tx.Accounts(org); return err })
	return out, err
}

// Account is one of the organisation's.
func (s *Service) Account(ctx context.Context, a Actor, org pool.OrgID, id pool.AccountID) (BillingAccount, error) {
	if err := a.Need(org, ActViewBilling); err != nil {
		return BillingAccount{}, err
	}
	var b BillingAccount
	err := s.store.View(ctx, func(tx Tx) (err error) { b, err = tx.Account(org, id); return err })
	return b, err
}

// CreateAccount makes a billing account. Projects that have none go to it from
// now on.
func (s *Service) CreateAccount(ctx context.Context, a Actor, org pool.OrgID, in AccountInput) (BillingAccount, error) {
	if err := a.Need(org, ActBilling); err != nil {
		return BillingAccount{}, err
	}
	b, err := s.accountOf(in)
	if err != nil {
		return BillingAccount{}, err
	}
	b.ID, b.Org = pool.AccountID(s.newID("acc-")), org
	err = s.update(ctx, org, func(tx Tx) error {
		if err := accountNameFree(tx, b); err != nil {
			return err
		}
		b.CreatedAt = tx.Now()
		if err := tx.InsertAccount(b); err != nil {
			return err
		}
		if err := audit(tx, a, org, "account.create", string(b.ID), nil, b); err != nil {
			return err
		}
		projects, err := tx.Projects(org)
		if err != nil {
			return err
		}
		for _, p := range projects {
			rows, err := tx.ProjectAccounts(p.ID)
			if err != nil {
				return err
			}
			if len(rows) > 0 {
				continue
			}
			if err := assign(tx, a, org, p.ID, rows, b.ID); err != nil {
				return err
			}
		}
		return nil
	})
	return b, err
}

// UpdateAccount changes a billing account; issued invoices keep what they say.
// When the fee is paid is fixed once a subscription uses the account.
func (s *Service) UpdateAccount(ctx context.Context, a Actor, org pool.OrgID, id pool.AccountID, in AccountInput) (BillingAccount, error) {
	if err := a.Need(org, ActBilling); err != nil {
		return BillingAccount{}, err
	}
	b, err := s.accountOf(in)
	if err != nil {
		return BillingAccount{}, err
	}
	b.ID, b.Org = id, org
	err = s.update(ctx, org, func(tx Tx) error {
		old, err := tx.Account(org, id)
		if err != nil {
			return err
		}
		b.CreatedAt, b.LastSeq = old.CreatedAt, old.LastSeq
		if err := accountNameFree(tx, b); err != nil {
			return err
		}
		subs, err := tx.Subscriptions(org)
		if err != nil {
			return err
		}
		if b.Advance != old.Advance && slices.ContainsFunc(subs, func(x Subscription) bool { return x.Account == id && x.Start < x.End }) {
			return Fields{{Field: "advance", Message: "Fixed once a subscription uses the account. Make another account and choose it with the next plan."}}.Err()
		}
		if err := tx.UpdateAccount(b); err != nil {
			return err
		}
		return audit(tx, a, org, "account.update", string(id), old, b)
	})
	return b, err
}

func accountNameFree(tx Tx, b BillingAccount) error {
	all, err := tx.Accounts(b.Org)
	if err != nil {
		return err
	}
	for _, x := range all {
		if x.ID != b.ID && strings.EqualFold(x.Name, b.Name) {
			return Fields{{Field: "name", Message: "Another billing account has this name."}}.Err()
		}
	}
	return nil
}

// accountOf checks the form.
func (s *Service) accountOf(in AccountInput) (BillingAccount, error) {
	var f Fields
	b := BillingAccount{Name: checkName(&f, "name", in.Name), Buyer: checkParty(&f, "buyer", in.Buyer), BuyerRef: trimmed(in.BuyerRef),
		TaxKind: in.TaxKind, TaxReason: trimmed(in.TaxReason), Language: in.Language, Issuer: in.Issuer, Advance: in.Advance}
	checkLine(&f, "buyer_ref", b.BuyerRef, false, maxName)
	mails := strings.FieldsFunc(in.Emails, func(r rune) bool { return strings.ContainsRune(", ;\t\r\n", r) })
	switch {
	case len(mails) == 0:
		f.Add("emails", "Please fill in this field.")
	case len(mails) > 10:
		f.Add("emails", "At most %d addresses; this has %d.", 10, len(mails))
	default:
		for _, m := range mails {
			b.Emails = append(b.Emails, checkEmail(&f, "emails", m))
		}
	}
	b.taxOf(&f, in)
	b.TermsDays = int(checkCount(&f, "terms_days", in.TermsDays, 0, 120))
	checkChoice(&f, "language", b.Language, Languages...)
	issuers := make([]string, 0, len(s.issuers))
	for name := range s.issuers {
		issuers = append(issuers, name)
	}
	slices.Sort(issuers)
	checkChoice(&f, "issuer", b.Issuer, issuers...)
	return b, f.Err()
}

func (b *BillingAccount) taxOf(f *Fields, in AccountInput) {
	checkChoice(f, "tax_kind", in.TaxKind, "standard", "exempt", "reverse", "outside")
	checkText(f, "tax_reason", b.TaxReason, in.TaxKind != "standard", 200)
	switch rate := trimmed(in.TaxRate); {
	case in.TaxKind == "standard":
		if b.TaxRate = checkRate(f, "tax_rate", rate); b.TaxRate == 0 && rate != "" {
			f.Add("tax_rate", "Above 0 %%; an account without tax is exempt, reverse charge or outside, with its reason.")
		}
	case rate != "" && checkRate(f, "tax_rate", rate) != 0:
		f.Add("tax_rate", "Must be 0 or empty: no tax is charged for %s.", in.TaxKind)
	}
	if in.TaxKind == "reverse" && b.Buyer.TaxID == "" {
		f.Add("buyer_tax_id", "Reverse charge needs the buyer's tax id.")
	}
}
