package web

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/labstack/echo/v4"

	"gpupool/domain"
	"gpupool/views/lang"
)

// problem is an error as the API answers it (RFC 9457). Code is stable; Detail is a sentence for a person.
type problem struct {
	Type   string         `json:"type"`
	Title  string         `json:"title"`
	Status int            `json:"status"`
	Detail string         `json:"detail"`
	Code   string         `json:"code"`
	Errors []problemField `json:"errors,omitempty"`
	header http.Header
}

// problemField names what is wrong: a JSON pointer into the body, a parameter of the query, or a header.
type problemField struct {
	Pointer   string `json:"pointer,omitempty"`
	Parameter string `json:"parameter,omitempty"`
	Header    string `json:"header,omitempty"`
	Detail    string `json:"detail"`
}

func (p *problem) Error() string { return p.Code + ": " + p.Detail }

// problemTitles has one title per code, the same at every occurrence.
var problemTitles = map[string]string{
	string(domain.Invalid):         "The input is not valid",
	string(domain.NotFound):        "Not found",
	string(domain.Forbidden):       "Not allowed",
	string(domain.Unauthenticated): "A valid API token is needed",
	string(domain.Conflict):        "Not possible now",
	string(domain.TooMany):         "Too many requests",
	string(domain.Unavailable):     "Not available now",
	string(domain.Internal):        "Something failed",
	"insufficient_scope":           "The token's scopes do not allow this",
	"malformed":                    "The body is not JSON",
	"unsupported_media_type":       "The body must be application/json",
	"too_large":                    "The body is too large",
	"method_not_allowed":           "This method can't be used here",
	"idempotency_key_reused":       "The Idempotency-Key was used with another request",
	"idempotency_in_flight":        "The first request with this Idempotency-Key is under way",
	"idempotency_unknown":          "The first request with this Idempotency-Key broke off",
}

// pointers are the fields of the core that have another name in the body.
var pointers = map[string]string{"class": "/classes", "gpus": "/gpus_per_node", "max_run": "/max_run_seconds", "sim": "/simulation"}

func pointerOf(field string) string {
	if p, ok := pointers[field]; ok {
		return p
	}
	return "/" + field
}

// badParameter refuses a value of the query.
func badParameter(name, sentence string) error {
	return &problem{Status: http.StatusUnprocessableEntity, Code: string(domain.Invalid), Detail: "Please correct the query.",
		Errors: []problemField{{Parameter: name, Detail: sentence}}}
}

// apiFail answers an error as a problem. What happened inside is logged and never shown.
func (s *Server) apiFail(err error, c echo.Context) {
	if c.Response().Committed || errors.Is(err, context.Canceled) && c.Request().Context().Err() != nil {
		return
	}
	p := problemOf(err)
	if c.Request().Method == http.MethodGet {
		p.ofQuery(err)
	}
	if p.Status >= 500 {
		s.log.Error("request failed", "route", c.Path(), "error", err)
	}
	p.Type, p.Title = "urn:gpupool:problem:"+p.Code, problemTitles[p.Code]
	h := c.Response().Header()
	for k, v := range p.header {
		h[k] = v
	}
	if p.Status == http.StatusUnauthorized {
		h.Set("WWW-Authenticate", `Bearer realm="gpupool"`)
	}
	if h.Get("Retry-After") == "" && (p.Status == http.StatusTooManyRequests || p.Status == http.StatusServiceUnavailable) {
		h.Set("Retry-After", "5")
	}
	b, err := json.Marshal(p)
	if err == nil {
		err = c.Blob(p.Status, "application/problem+json", b)
	}
	if err != nil && c.Request().Context().Err() == nil {
		s.log.Error("problem not sent", "error", err)
	}
}

// ofQuery names the parameters of a GET where the core names fields.
func (p *problem) ofQuery(err error) {
	var e *domain.Error
	if !errors.As(err, &e) || len(e.Fields) != len(p.Errors) || len(e.Fields) == 0 {
		return
	}
	p.Detail = "Please correct the query."
	for i, f := range e.Fields {
		p.Errors[i].Pointer, p.Errors[i].Parameter = "", f.Field
	}
}

// problemOf makes a problem of any error.
func problemOf(err error) *problem {
	var p *problem
	if errors.As(err, &p) {
		out := *p
		return &out
	}
	var e *domain.Error
	var large *http.MaxBytesError
	var he *echo.HTTPError
	say := lang.For(lang.English)
	switch {
	case errors.As(err, &large):
		return &problem{Status: http.StatusRequestEntityTooLarge, Code: "too_large", Detail: say.T("The body is larger than %d kB.", int64(bodyLimit/1000))}
	case errors.As(err, &e) && e.Code != domain.Internal:
		p = &problem{Status: statusOf(e.Code), Code: string(e.Code), Detail: say.T(e.Message, e.Args...)}
		for _, f := range e.Fields {
			p.Errors = append(p.Errors, problemField{Pointer: pointerOf(f.Field), Detail: say.T(f.Message, f.Args...)})
		}
		if e.Code == domain.NotFound {
			p.Detail = "There is no such thing here."
		}
		return p
	case errors.As(err, &he) && he.Code == http.StatusMethodNotAllowed:
		return &problem{Status: he.Code, Code: "method_not_allowed", Detail: "The Allow header names the methods of this path."}
	case errors.As(err, &he) && he.Code == http.StatusNotFound:
		return &problem{Status: he.Code, Code: string(domain.NotFound), Detail: "There is no such path in the API."}
	case errors.Is(err, context.DeadlineExceeded):
		return &problem{Status: http.StatusServiceUnavailable, Code: string(domain.Unavailable), Detail: "This took too long and was given up. Please try again."}
	}
	return &problem{Status: http.StatusInternalServerError, Code: string(domain.Internal), Detail: "Something failed inside the portal. It is in its log."}
}
