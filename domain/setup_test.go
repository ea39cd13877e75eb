package domain_test

import (
	"context"
	"strings"
	"testing"

	"gpupool/domain"
	"gpupool/domain/domaintest"
	"gpupool/domain/pool"
)

var ctx = context.Background()

func code(t testing.TB, err error) domain.Code {
	t.Helper()
	if err == nil {
		return ""
	}
	return domain.CodeOf(err)
}

// wants ends the test unless err has the code and its text holds all of the words.
func wants(t testing.TB, err error, c domain.Code, words ...string) {
	t.Helper()
	if err == nil || domain.CodeOf(err) != c {
		t.Fatalf("got %v, want an error with code %s", err, c)
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("%q does not say %q", err, w)
		}
	}
}

func ok[T any](t testing.TB) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func TestTheFirstVisitorBecomesTheOperatorOnce(t *testing.T) {
	t.Parallel()
	p := domaintest.Bare(t)
	s := p.Service
	stranger := domain.Actor{Via: domain.ViaWeb}
	in := domain.BecomeOperatorInput{Email: " Tomas@Norbridge.example ", Name: "Tomas Berg", Password: domaintest.Password}
	old := ok[string](t)(s.PrepareOperatorCode(ctx))
	in.Code = ok[string](t)(s.PrepareOperatorCode(ctx))
	if old == in.Code || len(in.Code) < 20 {
		t.Fatalf("codes %q and %q", old, in.Code)
	}
	wrong := in
	wrong.Code = old
	_, err := s.BecomeOperator(ctx, stranger, wrong)
	wants(t, err, domain.Invalid, "code: ")
	wrong.Code = ""
	_, err = s.BecomeOperator(ctx, stranger, wrong)
	wants(t, err, domain.Invalid, "code: ")
	u := ok[domain.User](t)(s.BecomeOperator(ctx, stranger, in))
	if !u.Operator || u.Email != "tomas@norbridge.example" {
		t.Errorf("%+v", u)
	}
	_, err = s.BecomeOperator(ctx, stranger, in)
	wants(t, err, domain.Conflict)
	if again := ok[string](t)(s.PrepareOperatorCode(ctx)); again != "" {
		t.Errorf("a pool with an operator prints the code %q", again)
	}
	a := p.Actor(u.ID)
	if err := a.NeedOperator(); err != nil {
		t.Error(err)
	}
}

func TestTheChecklistTicksItself(t *testing.T) {
	t.Parallel()
	done := func(p *domaintest.Pool) string {
		var out []string
		for _, x := range ok[[]domain.SetupStep](t)(p.Service.SetupChecklist(ctx, domain.Actor{})) {
			if x.Done {
				out = append(out, x.Code)
			}
		}
		return strings.Join(out, " ")
	}
	if got := done(domaintest.Bare(t)); got != "" {
		t.Errorf("nobody was here, done: %s", got)
	}
	if got := done(domaintest.Empty(t)); got != "operator" {
		t.Errorf("after the first visit: %s", got)
	}
	if got := done(domaintest.New(t)); got != "operator classes node plan prices issuer member" {
		t.Errorf("with a full pool: %s", got)
	}
}

func TestCurrencyAndZoneAreFixedByTheFirstInvoice(t *testing.T) {
	t.Parallel()
	p := domaintest.Empty(t)
	in := domaintest.Settings()
	in.Currency, in.Zone = "JPY", "Asia/Tokyo"
	st := ok[domain.Settings](t)(p.Service.SaveSettings(ctx, p.Operator, in))
	if st.Currency.Code != "JPY" || st.Currency.Exponent != 0 || !st.Configured {
		t.Errorf("%+v", st)
	}
	full := domaintest.New(t)
	_, err := full.Service.SaveSettings(ctx, full.Operator, in)
	wants(t, err, domain.Invalid, "currency: JPY has 0 digits after the point and EUR has 2; 3 plans and price lists")
	in.Currency = "CHF"
	ok[domain.Settings](t)(full.Service.SaveSettings(ctx, full.Operator, in))
	full.Update(func(tx domain.Tx) error {
		return tx.InsertInvoice(domain.Invoice{ID: "i-1", Number: "NB2026-000001", Account: full.Account.ID, Org: full.Org, Kind: "regular",
			Month: pool.Month{Year: 2026, Month: 10}, Issuer: "local", IssuedAt: tx.Now(), Doc: []byte("{}")})
	})
	in.Currency, in.Zone = "EUR", "Europe/Berlin"
	_, err = full.Service.SaveSettings(ctx, full.Operator, in)
	wants(t, err, domain.Invalid, "currency: Fixed as CHF: 1 invoices", "zone: Fixed as Asia/Tokyo: 1 invoices")
	in.Currency, in.Zone, in.Name = "CHF", "Asia/Tokyo", "北桥算力联盟"
	ok[domain.Settings](t)(full.Service.SaveSettings(ctx, full.Operator, in))
}

func TestPausingAdmissionMovesThePoolVersion(t *testing.T) {
	t.Parallel()
	p := domaintest.New(t)
	before := version(p)
	if err := p.Service.PauseAdmission(ctx, p.Operator, true); err != nil {
		t.Fatal(err)
	}
	if st := ok[domain.Settings](t)(p.Service.Settings(ctx)); !st.Paused || version(p) <= before {
		t.Errorf("paused %v, version %d after %d", st.Paused, version(p), before)
	}
	rows := ok[[]domain.AuditRow](t)(p.Service.AuditTrail(ctx, p.Operator, "", 0, 1))
	if rows[0].Action != "admission.pause" || rows[0].User != p.Operator.User || rows[0].Before != `{"paused":false}` || rows[0].After != `{"paused":true}` {
		t.Errorf("%+v", rows[0])
	}
}

func version(p *domaintest.Pool) (v int64) {
	p.T.Helper()
	if err := p.Store.View(ctx, func(tx domain.Tx) (err error) { v, err = tx.Version(); return err }); err != nil {
		p.T.Fatal(err)
	}
	return v
}
