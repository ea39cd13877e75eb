package billing

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/stripe/stripe-go/v76"
	"github.com/stripe/stripe-go/v76/client"

	"gpupool/domain"
	"gpupool/domain/money"
)

// StripeConfig says which Stripe account is used. Nothing is read from the
// environment.
type StripeConfig struct {
	Key      string // secret key
	Currency money.Currency
	URL      string        // of the API; default https://api.stripe.com
	Timeout  time.Duration // of one call; default 30 s
	// HTTPClient replaces the transport, for tests.
	HTTPClient *http.Client
}

// Stripe mirrors invoices to a Stripe account. It is safe for concurrent use.
type Stripe struct {
	api      *client.API
	key      string
	currency string
}

var _ domain.Issuer = (*Stripe)(nil)

// NewStripe makes the issuer; it calls nobody. Errors are *domain.Error with
// code Invalid.
func NewStripe(cfg StripeConfig) (*Stripe, error) {
	if cfg.URL == "" {
		cfg.URL = stripe.APIURL
	}
	if cfg.Timeout == 0 {
		cfg.Timeout = 30 * time.Second
	}
	u, err := url.Parse(cfg.URL)
	switch {
	case cfg.Key == "":
		return nil, domain.Errf(domain.Invalid, "A Stripe key is needed.")
	case cfg.Currency.Code == "":
		return nil, domain.Errf(domain.Invalid, "Stripe needs the currency of the pool.")
	case err != nil || u.Host == "" || u.User != nil || u.Scheme != "https" && u.Scheme != "http":
		return nil, domain.Errf(domain.Invalid, "The address of Stripe is not valid.")
	}
	hc := cfg.HTTPClient
	if hc == nil {
		hc = &http.Client{Timeout: cfg.Timeout}
	}
	// A configuration of its own for each backend, with an explicit address: a
	// shared one sends the others to the live host.
	backend := func(kind stripe.SupportedBackend) stripe.Backend {
		return stripe.GetBackendWithConfig(kind, &stripe.BackendConfig{
			URL:               stripe.String(strings.TrimSuffix(cfg.URL, "/")),
			HTTPClient:        hc,
			EnableTelemetry:   stripe.Bool(false),
			MaxNetworkRetries: stripe.Int64(2), // every write has a key, so a repetition is the same act
			LeveledLogger:     &stripe.LeveledLogger{Level: stripe.LevelNull},
		})
	}
	api := client.New(cfg.Key, &stripe.Backends{
		API: backend(stripe.APIBackend), Connect: backend(stripe.ConnectBackend), Uploads: backend(stripe.UploadsBackend),
	})
	return &Stripe{api: api, key: cfg.Key, currency: strings.ToLower(cfg.Currency.Code)}, nil
}

func (*Stripe) Name() string { return "stripe" }

// params are those of every write: the caller's context and a key under which
// a repetition is the same act.
func params(ctx context.Context, key string) stripe.Params {
	return stripe.Params{Context: ctx, IdempotencyKey: stripe.String(key)}
}

// list reads whole pages; Stripe's largest is 100.
func list(ctx context.Context) stripe.ListParams {
	return stripe.ListParams{Context: ctx, Limit: stripe.Int64(100)}
}
