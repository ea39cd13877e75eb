package billing

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/stripe/stripe-go/v76"

	"gpupool/domain"
)

// said is what Stripe said, with the key struck out. It unwraps to nothing, so
// no request is kept.
type said string

func (s said) Error() string { return string(s) }

func wrap(code domain.Code, err error, sentence string, args ...any) error {
	e := domain.Errf(code, sentence, args...)
	e.Err = err
	return e
}

// fail turns a failed call into a domain.Error. What may go well later is
// Unavailable.
func (s *Stripe) fail(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var e *stripe.Error
	if !errors.As(err, &e) {
		return wrap(domain.Unavailable, s.scrub(err.Error()), "Stripe can't be reached.")
	}
	text := s.scrub(strings.TrimSpace(string(e.Type) + " " + string(e.Code) + " " + e.Msg + " " + e.RequestID))
	switch {
	case e.HTTPStatusCode == http.StatusUnauthorized || e.HTTPStatusCode == http.StatusForbidden:
		return wrap(domain.Forbidden, text, "Stripe refuses our key.")
	case e.HTTPStatusCode == http.StatusNotFound || e.Code == stripe.ErrorCodeResourceMissing:
		return wrap(domain.NotFound, text, "Stripe does not know this.")
	case e.HTTPStatusCode == http.StatusTooManyRequests, e.HTTPStatusCode >= 500, e.HTTPStatusCode == http.StatusConflict:
		return wrap(domain.Unavailable, text, "Stripe can't do this at the moment.")
	default:
		return wrap(domain.Conflict, text, "Stripe refuses this.")
	}
}

func (s *Stripe) scrub(text string) error {
	return said(strings.ReplaceAll(text, s.key, "(secret)"))
}
