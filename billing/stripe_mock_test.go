package billing

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stripe/stripe-go/v76"

	"gpupool/domain"
	"gpupool/domain/money"
)

// mockVersion of stripe-mock knows exactly the API version of stripe-go v76.
const mockVersion = "0.183.0"

// TestCallsFitStripe sends every call that we make to the official mock, which
// checks it against Stripe's own description and refuses what is not in it.
func TestCallsFitStripe(t *testing.T) {
	t.Parallel()
	s := onMock(t)
	ctx := t.Context()
	account := domain.BillingAccount{
		ID: "acc-1", Name: "Cost centre 7", Language: "de", Emails: []string{"ap@example.org"},
		Buyer: domain.Party{Name: "Universität Nord", Address: "Am Hafen 1\n20457 Hamburg", Country: "DE"},
	}
	inv := domain.Invoice{ID: "inv-1", Number: "GP-2026-0007", Total: 119_00, IssuedAt: 1_790_000_000_000, DueAt: 1_790_000_000_000 + 30*86_400_000}
	lines := []domain.IssueLine{{ID: "fee", Text: "Plan", Amount: 124_00}, {ID: "waiver", Text: "taken back early", Amount: -5_00}}

	calls := []struct {
		name string
		call func() error
	}{
		{"a customer is made", func() error {
			id, err := s.Prepare(ctx, "k:"+t.Name(), account)
			if err == nil && id == "" {
				return fmt.Errorf("no id")
			}
			return err
		}},
		{"a customer without an address is searched for", func() error {
			bare := account
			bare.Emails = nil
			_, err := s.findCustomer(ctx, bare)
			return err
		}},
		{"a draft is made", func() error {
			i, err := s.api.Invoices.New(s.draftParams(ctx, "k", "cus_1", inv))
			if err == nil && i.ID == "" {
				return fmt.Errorf("no id")
			}
			return err
		}},
		{"a draft is looked for", func() error { _, err := s.findInvoice(ctx, "cus_1", inv); return err }},
		{"items are added", func() error { return s.add(ctx, "k", "", "cus_1", "in_1", lines) }},
		{"items are listed", func() error { _, err := s.items(ctx, "in_1"); return err }},
		{"a draft is finalised", func() error { _, err := s.finalise(ctx, "k", "in_1"); return err }},
		{"an invoice is paid out of band", func() error { return s.pay(ctx, "k", "in_1") }},
		{"a payment is recorded", func() error { return s.Paid(ctx, "k", "in_1") }},
	}
	for _, c := range calls {
		t.Run(c.name, func(t *testing.T) {
			if err := c.call(); err != nil {
				t.Fatal(err)
			}
		})
	}
	// The mock keeps no state, so its draft never has our lines: it must not be
	// finalised.
	if _, err := s.Issue(ctx, "k", "cus_1", inv, lines); domain.CodeOf(err) != domain.Conflict {
		t.Fatalf("a draft with other items gives %v", err)
	}
}

func TestTheMockRefusesWhatStripeDoesNotKnow(t *testing.T) {
	t.Parallel()
	s := onMock(t)
	p := &stripe.InvoicePayParams{Params: params(t.Context(), "k")}
	p.AddExtra("pay_with_gold", "true")
	if _, err := s.api.Invoices.Pay("in_1", p); err == nil {
		t.Fatal("the mock takes anything, so it proves nothing")
	}
}

var mock struct {
	once sync.Once
	url  string
	err  error
}

// TestMain ends the mock, which all tests share.
func TestMain(m *testing.M) {
	code := m.Run()
	if running != nil {
		_ = running.Process.Kill()
		_ = running.Wait()
	}
	os.Exit(code)
}

var running *exec.Cmd

func onMock(t *testing.T) *Stripe {
	t.Helper()
	path, err := mockPath()
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	mock.once.Do(func() { mock.url, mock.err = startMock(path) })
	if mock.err != nil {
		t.Fatal(mock.err)
	}
	s, err := NewStripe(StripeConfig{Key: "sk_test_123", Currency: money.Currency{Code: "EUR", Exponent: 2}, URL: mock.url, Timeout: 10 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func mockPath() (string, error) {
	if p, err := exec.LookPath("stripe-mock"); err == nil {
		return p, nil
	}
	home, err := os.UserHomeDir()
	if err == nil {
		p := filepath.Join(home, "go", "bin", "stripe-mock")
		if _, err := os.Stat(p); err == nil {
			return p, nil
		}
	}
	return "", fmt.Errorf("stripe-mock is not installed: go install github.com/stripe/stripe-mock@v%s", mockVersion)
}

// startMock runs it on two free loopback ports: without both flags it would
// take its default ports on every interface.
func startMock(path string) (string, error) {
	plain, err := freeAddr()
	if err != nil {
		return "", err
	}
	secure, err := freeAddr()
	if err != nil {
		return "", err
	}
	running = exec.Command(path, "-http-addr", plain, "-https-addr", secure)
	if err := running.Start(); err != nil {
		return "", err
	}
	url := "http://" + plain
	poll := time.NewTicker(20 * time.Millisecond)
	defer poll.Stop()
	for range 500 {
		if r, err := http.Get(url + "/v1/charges"); err == nil { //nolint:noctx // only whether it listens
			return url, r.Body.Close()
		}
		<-poll.C
	}
	return "", fmt.Errorf("stripe-mock does not answer at %s", url)
}

func freeAddr() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}
