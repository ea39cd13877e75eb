package web

import (
	"context"
	"log/slog"
	"net/http"
	"strings"

	"gpupool/static"
)

// trace is what a request's line in the log needs to know from inside.
type trace struct {
	route string // the pattern, never the path: a path may carry an invitation's token
	user  string
}

type traceKey struct{}

func traceOf(ctx context.Context) *trace {
	t, _ := ctx.Value(traceKey{}).(*trace)
	return t
}

// observe writes one line and counts one request. Neither has the path, the query, a header or the body.
func (s *Server) observe(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		start := s.wall()
		t := &trace{}
		sw := &statusWriter{ResponseWriter: w, status: http.StatusOK}
		next.ServeHTTP(sw, r.WithContext(context.WithValue(r.Context(), traceKey{}, t)))
		if strings.HasPrefix(r.URL.Path, static.Prefix) {
			t.route = static.Prefix
		} else if t.route == "" {
			t.route = "other"
		}
		took := s.wall().Sub(start)
		s.meters.request(t.route, r.Method, sw.status, took)
		s.log.LogAttrs(r.Context(), levelOf(t.route, sw.status), "request", attr("method", methodOf(r.Method)), attr("route", t.route),
			attr("status", sw.status), attr("ms", took.Milliseconds()), attr("bytes", sw.bytes), attr("user", t.user), attr("ip", s.ip(r)))
	})
}

// statusWriter remembers what was answered.
type statusWriter struct {
	http.ResponseWriter
	status int
	bytes  int64
	wrote  bool
}

func (w *statusWriter) WriteHeader(status int) {
	if !w.wrote {
		w.status, w.wrote = status, true
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *statusWriter) Write(b []byte) (int, error) {
	w.wrote = true
	n, err := w.ResponseWriter.Write(b)
	w.bytes += int64(n)
	return n, err
}

func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// methodOf bounds what a client may write into a label.
func methodOf(m string) string {
	switch m {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodDelete, http.MethodOptions, http.MethodPatch:
		return m
	}
	return "other"
}

func levelOf(route string, status int) slog.Level {
	switch {
	case status >= 500:
		return slog.LevelError
	case route == static.Prefix || route == "/healthz" || route == "/readyz" || route == "/metrics":
		return slog.LevelDebug
	}
	return slog.LevelInfo
}

func attr(key string, value any) slog.Attr { return slog.Any(key, value) }

func (s *Server) ip(r *http.Request) string { return s.echo.IPExtractor(r) }
