package web

import (
	"context"
	"errors"
	"net/http"
	"net/url"

	"github.com/labstack/echo/v4"

	"gpupool/domain"
	"gpupool/views"
	"gpupool/views/lang"
)

// retryAfter is what a refused sign-in is told, in seconds.
const retryAfter = "900"

// statusOf is the one map from codes to statuses.
func statusOf(c domain.Code) int {
	switch c {
	case domain.Invalid:
		return http.StatusUnprocessableEntity
	case domain.NotFound:
		return http.StatusNotFound
	case domain.Forbidden:
		return http.StatusForbidden
	case domain.Unauthenticated:
		return http.StatusUnauthorized
	case domain.Conflict:
		return http.StatusConflict
	case domain.TooMany:
		return http.StatusTooManyRequests
	case domain.Unavailable:
		return http.StatusServiceUnavailable
	}
	return http.StatusInternalServerError
}

// fail answers an error with a page. What happened inside is logged and never shown.
func (s *Server) fail(err error, c echo.Context) {
	if c.Response().Committed || errors.Is(err, context.Canceled) && c.Request().Context().Err() != nil {
		return
	}
	e := s.refusalOf(err, c)
	if e.Code == domain.Internal || e.Code == domain.Unavailable {
		s.log.Error("request failed", "route", c.Path(), "error", err)
	}
	v, ok := c.Get(visitKey).(*visit)
	if ok {
		v.ctx = context.WithoutCancel(v.ctx) // the time of the handler is over, the page of the error is still made
	} else {
		v = &visit{server: s, echo: c, ctx: context.WithoutCancel(c.Request().Context())}
		if v.identify() != nil {
			v.format = format{Printer: lang.For(lang.English)}
		}
	}
	v.ctx = context.WithoutCancel(v.ctx) // the time of the request is over, the page about it is not
	if e.Code == domain.Unauthenticated && !v.actor.SignedIn() {
		next := "/signin"
		if c.Request().Method == http.MethodGet {
			next += "?next=" + url.QueryEscape(c.Request().URL.RequestURI())
		}
		_ = v.redirect(next) // nothing is left to answer
		return
	}
	if e.Code == domain.TooMany || e.Code == domain.Unavailable {
		c.Response().Header().Set("Retry-After", retryAfter)
	}
	status := statusOf(e.Code)
	if he := (*echo.HTTPError)(nil); errors.As(err, &he) && he.Code == http.StatusMethodNotAllowed {
		status = he.Code
	}
	page := views.Page{Title: v.T(titleOf(e.Code)), Heading: v.T(titleOf(e.Code)), Plain: true}
	if err := v.show(status, page, views.Problem(v.say(e), v.home())); err != nil {
		s.log.Error("error page", "error", err)
		http.Error(c.Response(), "Something failed inside the portal.", http.StatusInternalServerError)
	}
}

// refusalOf makes an Error with a sentence of any error.
func (s *Server) refusalOf(err error, c echo.Context) *domain.Error {
	var e *domain.Error
	if errors.As(err, &e) && e.Code != domain.Internal {
		return e
	}
	var large *http.MaxBytesError
	var he *echo.HTTPError
	switch {
	case errors.As(err, &large):
		return domain.Errf(domain.Invalid, "The form is larger than %d kB.", int64(bodyLimit/1000))
	case errors.As(err, &he) && he.Code == http.StatusMethodNotAllowed:
		return domain.Errf(domain.NotFound, "This page can't be used in this way.")
	case errors.As(err, &he) && he.Code == http.StatusNotFound:
		return domain.Errf(domain.NotFound, "There is no such page.")
	case errors.Is(err, context.DeadlineExceeded):
		return domain.Errf(domain.Unavailable, "This took too long and was given up. Please try again.")
	}
	return domain.Errf(domain.Internal, "Something failed inside the portal. It is in the log; nothing of your form was kept.")
}

func titleOf(c domain.Code) string {
	switch c {
	case domain.NotFound:
		return "Not found"
	case domain.Forbidden:
		return "Not allowed"
	case domain.Conflict:
		return "Not possible now"
	case domain.TooMany:
		return "Too many tries"
	case domain.Unavailable:
		return "Not available now"
	case domain.Invalid:
		return "Please check the form"
	}
	return "Something failed"
}
