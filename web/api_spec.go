package web

import (
	_ "embed"
	"net/http"

	"github.com/labstack/echo/v4"
)

// openAPIFile describes the API. It is written by hand; a test checks every tested answer against it.
//
//go:embed openapi.json
var openAPIFile []byte

// openAPI needs no token: it holds nothing of anybody.
func (s *Server) openAPI(c echo.Context) error {
	if t := traceOf(c.Request().Context()); t != nil {
		t.route = "/api/openapi.json"
	}
	c.Response().Header().Set("Cache-Control", "public, max-age=3600")
	return c.Blob(http.StatusOK, "application/json", openAPIFile)
}
