package nomad

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/hashicorp/nomad/api"

	"gpupool/domain"
)

// cause is what the cluster said, with our secrets struck out. It unwraps to
// nothing but the end of a context, so no request with its headers is kept.
type cause struct {
	text string
	is   error
}

func (c *cause) Error() string { return c.text }
func (c *cause) Unwrap() error { return c.is }

func wrap(code domain.Code, err error, sentence string, args ...any) *domain.Error {
	e := domain.Errf(code, sentence, args...)
	e.Err = err
	return e
}

// scrub keeps the text of err without any of the secrets.
func (c *Client) scrub(err error) error {
	text := err.Error()
	for _, s := range []string{c.cfg.Token, c.cfg.NamespaceToken} {
		if s != "" {
			text = strings.ReplaceAll(text, s, "(secret)")
		}
	}
	out := &cause{text: text}
	for _, end := range []error{context.Canceled, context.DeadlineExceeded} {
		if errors.Is(err, end) {
			out.is = end
		}
	}
	return out
}

// fail turns what a call returned into a domain.Error. Nearly every refusal of
// Nomad is a 500 with text, so the text decides; whatever is not understood is
// Unavailable, which the caller may try again.
func (c *Client) fail(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return ctx.Err() // the caller gave up; that is no fault of the cluster
	}
	err = c.describe(err)
	return err
}

func (c *Client) describe(err error) error {
	safe := c.scrub(err)
	status, body := answer(err)
	switch {
	case status == 0 && errors.Is(err, context.DeadlineExceeded):
		return wrap(domain.Unavailable, safe, "The cluster did not answer in time.")
	case status == 0:
		return wrap(domain.Unavailable, safe, "The cluster can't be reached.")
	case status == http.StatusForbidden || strings.Contains(body, "Permission denied"):
		return wrap(domain.Forbidden, safe, "The cluster refuses this to our token.")
	case status == http.StatusNotFound, missing(body):
		return wrap(domain.NotFound, safe, "The cluster does not know this.")
	case strings.Contains(body, "Enforcing job modify index"):
		return wrap(domain.Conflict, safe, "The cluster has another job of this name.")
	case status == http.StatusTooManyRequests:
		return wrap(domain.Unavailable, safe, "The cluster is too busy.")
	case strings.Contains(body, "No cluster leader"), strings.Contains(body, "No path to"):
		return wrap(domain.Unavailable, safe, "The cluster has no leader or can't reach the node.")
	case status == http.StatusBadRequest, refused(body):
		return wrap(domain.Invalid, safe, "The cluster refuses the job: %s", firstLine(safe.Error(), body))
	default:
		return wrap(domain.Unavailable, safe, "The cluster answered with an error.")
	}
}

// answer is the status and text of a reply, 0 when there was no reply.
func answer(err error) (int, string) {
	var u api.UnexpectedResponseError
	if errors.As(err, &u) {
		return u.StatusCode(), u.Body()
	}
	return 0, ""
}

func missing(body string) bool {
	b := strings.ToLower(body)
	return strings.Contains(b, "not found") || strings.Contains(b, "unknown allocation") ||
		strings.Contains(b, "nonexistent namespace") || strings.Contains(b, "no such file")
}

func refused(body string) bool {
	b := strings.ToLower(body)
	return strings.Contains(b, "error occurred") || strings.Contains(b, "errors occurred") ||
		strings.Contains(b, "not allowed") || strings.Contains(b, "not permitted") || strings.Contains(b, "invalid")
}

func firstLine(fallback, body string) string {
	if body == "" {
		body = fallback
	}
	lines := strings.FieldsFunc(body, func(r rune) bool { return r == '\n' })
	// A list of problems begins with a count; the problem itself is next.
	for _, l := range lines {
		l = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(l), "*"))
		if l != "" && !strings.Contains(l, "occurred:") {
			return l
		}
	}
	return strings.TrimSpace(body)
}
