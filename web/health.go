package web

import (
	"crypto/subtle"
	"net/http"
	"strings"

	"gpupool/domain"
)

// healthz: the process answers.
func (s *Server) healthz(v *visit) error {
	return v.echo.JSON(http.StatusOK, map[string]string{"status": "ok"})
}

// readyz: the database answers. A cluster that is away degrades the pool and does not take the portal away.
func (s *Server) readyz(v *visit) error {
	if err := s.ready(v.ctx); err != nil {
		s.log.Error("not ready", "error", err)
		return v.echo.JSON(http.StatusServiceUnavailable, map[string]string{"status": "down", "database": "down"})
	}
	state := map[string]string{"status": "ok", "database": "ok", "cluster": "ok"}
	if !s.service.ClusterHealth().OK {
		state["status"], state["cluster"] = "degraded", "down"
	}
	return v.echo.JSON(http.StatusOK, state)
}

// version of the program.
func (s *Server) version(v *visit) error {
	return v.echo.JSON(http.StatusOK, map[string]string{"version": s.opts.Version})
}

// metrics with the bearer token that was set for them.
func (s *Server) metrics(v *visit) error {
	token, ok := strings.CutPrefix(v.echo.Request().Header.Get("Authorization"), "Bearer ")
	if s.opts.MetricsToken == "" {
		return domain.Errf(domain.NotFound, "There is no such page.")
	}
	if !ok || subtle.ConstantTimeCompare([]byte(token), []byte(s.opts.MetricsToken)) != 1 {
		v.echo.Response().Header().Set("WWW-Authenticate", `Bearer realm="metrics"`)
		return v.echo.JSON(http.StatusUnauthorized, map[string]string{"status": "a bearer token is needed"})
	}
	s.Metrics().ServeHTTP(v.echo.Response(), v.echo.Request())
	return nil
}
