package domain

import (
	"context"
	"regexp"
	"time"

	"gpupool/domain/money"
	"gpupool/domain/pool"
)

// SettingsInput is the operator's form, as typed.
type SettingsInput struct {
	Name, NameZH       string
	Currency           string // ISO code of the allow-list
	Zone               string // IANA name
	GraceHours         string // after a month's end, 0 to 168
	SetupGraceMinutes  string // 0 to 120
	SetupLimitMinutes  string // 2 to 240, not less than what is free
	ForgetAfterHours   string // 1 to 744
	NoticeMinutes      string // 0 to 120
	Signal             string
	DefaultMaxRunHours string // 1 to 744
	LongestMaxRunHours string // 1 to 744
	InvoicePrefix      string
	Seller             Party
	Bank               string
	Fair               bool
	OwnPriority        bool
}

// MaxRunHours is the longest maximum run time of any job: 31 days.
const MaxRunHours = 31 * 24

var (
	prefixes  = regexp.MustCompile(`^[A-Z0-9][A-Z0-9-]{0,9}$`)
	countries = regexp.MustCompile(`^[A-Z]{2}$`)
)

// SaveSettings changes the pool's settings. Currency and zone are fixed once an
// invoice is issued; the number of a currency's digits is fixed once a plan or
// price list exists, because their amounts are stored in its minor units.
func (s *Service) SaveSettings(ctx context.Context, a Actor, in SettingsInput) (Settings, error) {
	if err := a.NeedOperator(); err != nil {
		return Settings{}, err
	}
	var f Fields
	n := Settings{Fair: in.Fair, OwnPriority: in.OwnPriority, Signal: in.Signal, Zone: trimmed(in.Zone), Bank: trimmed(in.Bank), NameZH: trimmed(in.NameZH),
		InvoicePrefix: trimmed(in.InvoicePrefix), Configured: true}
	n.Name = checkName(&f, "name", in.Name)
	checkLine(&f, "name_zh", n.NameZH, false, maxName)
	var err error
	if n.Currency, err = money.CurrencyOf(trimmed(in.Currency)); err != nil {
		f.Add("currency", "%s", sentence(err))
	}
	if _, err := time.LoadLocation(n.Zone); err != nil || n.Zone == "" || n.Zone == "Local" {
		f.Add("zone", "Write an IANA time zone such as Europe/Berlin.")
	}
	n.Grace = time.Duration(checkCount(&f, "grace_hours", in.GraceHours, 0, 168)) * time.Hour
	n.SetupGrace = time.Duration(checkCount(&f, "setup_grace_minutes", in.SetupGraceMinutes, 0, 120)) * time.Minute
	n.SetupLimit = time.Duration(checkCount(&f, "setup_limit_minutes", in.SetupLimitMinutes, 2, 240)) * time.Minute
	if n.SetupLimit < n.SetupGrace {
		f.Add("setup_limit_minutes", "Less than the free set-up, %d minutes.", int64(n.SetupGrace/time.Minute))
	}
	n.ForgetAfter = time.Duration(checkCount(&f, "forget_after_hours", in.ForgetAfterHours, 1, MaxRunHours)) * time.Hour
	n.Notice = time.Duration(checkCount(&f, "notice_minutes", in.NoticeMinutes, 0, 120)) * time.Minute
	checkChoice(&f, "signal", in.Signal, "SIGUSR1", "SIGUSR2", "SIGTERM", "SIGINT", "SIGHUP")
	n.DefaultMaxRun = time.Duration(checkCount(&f, "default_max_run_hours", in.DefaultMaxRunHours, 1, MaxRunHours)) * time.Hour
	n.LongestMaxRun = time.Duration(checkCount(&f, "longest_max_run_hours", in.LongestMaxRunHours, 1, MaxRunHours)) * time.Hour
	if n.DefaultMaxRun > n.LongestMaxRun {
		f.Add("default_max_run_hours", "Longer than the longest, %d hours.", int64(n.LongestMaxRun/time.Hour))
	}
	if n.InvoicePrefix != "" && !prefixes.MatchString(n.InvoicePrefix) {
		f.Add("invoice_prefix", "At most 10 capital letters, digits and hyphens, not beginning with a hyphen.")
	}
	n.Seller = checkParty(&f, "seller", in.Seller)
	checkText(&f, "bank", n.Bank, true, maxAddress)
	if err := f.Err(); err != nil {
		return Settings{}, err
	}
	err = s.update(ctx, "", func(tx Tx) error {
		old, err := tx.Settings()
		if err != nil {
			return err
		}
		if err := checkFixed(tx, old, n); err != nil {
			return err
		}
		n.Paused, n.Demo, n.TestPool, n.CreatedAt = old.Paused, old.Demo, old.TestPool, old.CreatedAt
		if err := tx.SaveSettings(n); err != nil {
			return err
		}
		if err := tx.BumpVersion(); err != nil {
			return err
		}
		return audit(tx, a, "", "settings.save", "settings", old, n)
	})
	return n, err
}

func checkFixed(tx Tx, old, n Settings) error {
	if old.Currency == n.Currency && old.Zone == n.Zone {
		return nil
	}
	var f Fields
	invoices, err := tx.Invoices("")
	if err != nil {
		return err
	}
	if len(invoices) > 0 {
		if old.Currency != n.Currency {
			f.Add("currency", "Fixed as %s: %d invoices are issued.", old.Currency.Code, len(invoices))
		}
		if old.Zone != n.Zone {
			f.Add("zone", "Fixed as %s: %d invoices are issued.", old.Zone, len(invoices))
		}
		return f.Err()
	}
	if old.Currency.Exponent != n.Currency.Exponent {
		versions, err := tx.PlanVersions()
		if err != nil {
			return err
		}
		lists, err := tx.PriceLists()
		if err != nil {
			return err
		}
		if len(versions)+len(lists) > 0 {
			f.Add("currency", "%s has %d digits after the point and %s has %d; %d plans and price lists are in %s already.",
				n.Currency.Code, n.Currency.Exponent, old.Currency.Code, old.Currency.Exponent, len(versions)+len(lists), old.Currency.Code)
		}
	}
	return f.Err()
}

// checkParty is a name and address as documents print them.
func checkParty(f *Fields, field string, p Party) Party {
	p = Party{Name: trimmed(p.Name), Address: trimmed(p.Address), Country: trimmed(p.Country), TaxID: trimmed(p.TaxID)}
	checkLine(f, field+"_name", p.Name, true, maxName)
	checkText(f, field+"_address", p.Address, true, maxAddress)
	if !countries.MatchString(p.Country) {
		f.Add(field+"_country", "Write a country as two capital letters such as DE.")
	}
	checkLine(f, field+"_tax_id", p.TaxID, false, 50)
	return p
}

// PauseAdmission stops or resumes the start of new jobs in the whole pool.
// What runs goes on.
func (s *Service) PauseAdmission(ctx context.Context, a Actor, paused bool) error {
	if err := a.NeedOperator(); err != nil {
		return err
	}
	return s.update(ctx, "", func(tx Tx) error {
		st, err := tx.Settings()
		if err != nil || st.Paused == paused {
			return err
		}
		before := st.Paused
		st.Paused = paused
		if err := tx.SaveSettings(st); err != nil {
			return err
		}
		if err := tx.BumpVersion(); err != nil {
			return err
		}
		return audit(tx, a, "", "admission.pause", "settings", map[string]bool{"paused": before}, map[string]bool{"paused": paused})
	})
}

// AuditTrail is the changes of one organisation, or of the whole pool with ""
// for the operator, newest first: at most limit (1 to 200) rows with a
// sequence number below before; 0 begins at the newest.
func (s *Service) AuditTrail(ctx context.Context, a Actor, org pool.OrgID, before int64, limit int) ([]AuditRow, error) {
	err := a.NeedOperator()
	if org != "" {
		err = a.Need(org, ActAudit)
	}
	if err != nil {
		return nil, err
	}
	var rows []AuditRow
	err = s.store.View(ctx, func(tx Tx) (err error) {
		rows, err = tx.Audit(org, before, min(max(limit, 1), 200))
		return err
	})
	return rows, err
}
