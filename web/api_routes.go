package web

import (
	"context"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"gpupool/domain"
)

// apiPrefix is where the JSON API lives. Its paths know no cookie: only bearer tokens.
const apiPrefix = "/api/v1"

// apiRoute is one row of the API's table.
type apiRoute struct {
	method string
	path   string // below apiPrefix
	who    access // person or inOrg
	handle func(*Server, *call) error
	stream bool // may follow something without end: no time limit
	once   bool // takes an Idempotency-Key
}

func apiGet(path string, who access, handle func(*Server, *call) error) apiRoute {
	return apiRoute{method: http.MethodGet, path: path, who: who, handle: handle}
}

// apiDo changes something; with an Idempotency-Key it does so once.
func apiDo(path string, who access, handle func(*Server, *call) error) apiRoute {
	return apiRoute{method: http.MethodPost, path: path, who: who, handle: handle, once: true}
}

// apiAsk is a POST that changes nothing.
func apiAsk(path string, who access, handle func(*Server, *call) error) apiRoute {
	return apiRoute{method: http.MethodPost, path: path, who: who, handle: handle}
}

// apiTable is every path of the API. A test walks it as every role, another compares it with openapi.json.
func apiTable() []apiRoute {
	log := apiGet("/orgs/:org/jobs/:job/log", inOrg(domain.ActView), (*Server).apiJobLog)
	log.stream = true
	return []apiRoute{
		apiGet("/me", person, (*Server).apiMe),
		apiGet("/classes", person, (*Server).apiClasses),
		apiGet("/plans", person, (*Server).apiPlans),
		apiGet("/prices", person, (*Server).apiPrices),
		apiGet("/queue", person, (*Server).apiQueue),
		apiGet("/queue/whatif", person, (*Server).apiWhatIf),
		apiGet("/announcements", person, (*Server).apiAnnouncements),
		apiGet("/time-policies", person, (*Server).apiTimePolicies),
		apiGet("/orgs", person, (*Server).apiOrgs),
		apiGet("/orgs/:org/projects", inOrg(domain.ActView), (*Server).apiProjects),
		apiGet("/orgs/:org/quota", inOrg(domain.ActView), (*Server).apiQuota),
		apiAsk("/orgs/:org/jobs/quote", inOrg(domain.ActSubmit), (*Server).apiJobQuote),
		apiDo("/orgs/:org/jobs", inOrg(domain.ActSubmit), (*Server).apiJobSubmit),
		apiGet("/orgs/:org/jobs", inOrg(domain.ActView), (*Server).apiJobs),
		apiGet("/orgs/:org/jobs/:job", inOrg(domain.ActView), (*Server).apiJob),
		{method: http.MethodPatch, path: "/orgs/:org/jobs/:job", who: inOrg(domain.ActSubmit), handle: (*Server).apiJobChange},
		apiDo("/orgs/:org/jobs/:job/stop", inOrg(domain.ActSubmit), (*Server).apiJobStop),
		log,
		apiGet("/orgs/:org/usage", inOrg(domain.ActView), (*Server).apiUsage),
		apiGet("/orgs/:org/invoices", inOrg(domain.ActViewBilling), (*Server).apiInvoices),
		apiGet("/orgs/:org/invoices/:number", inOrg(domain.ActViewBilling), (*Server).apiInvoice),
	}
}

// api serves everything below /api/. It stands beside the pages: no session is loaded, no form is read, every error
// is a problem in JSON.
func (s *Server) api() http.Handler {
	e := echo.New()
	e.HTTPErrorHandler = s.apiFail
	e.IPExtractor = s.echo.IPExtractor
	e.GET("/api/openapi.json", s.openAPI)
	for _, r := range apiTable() {
		e.Add(r.method, apiPrefix+r.path, s.adaptAPI(r))
		if r.method == http.MethodGet && !r.stream {
			e.Add(http.MethodHead, apiPrefix+r.path, s.adaptAPI(r))
		}
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-store")
		r.Body = http.MaxBytesReader(w, r.Body, bodyLimit)
		e.ServeHTTP(w, r)
	})
}

// adaptAPI makes an echo handler of a row.
func (s *Server) adaptAPI(r apiRoute) echo.HandlerFunc {
	return func(c echo.Context) error {
		ctx := c.Request().Context()
		if !r.stream {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, usualLimit)
			defer cancel()
			c.SetRequest(c.Request().WithContext(ctx))
		}
		if t := traceOf(ctx); t != nil {
			t.route = apiPrefix + r.path
		}
		q := &call{server: s, echo: c, ctx: ctx, route: r}
		if err := q.identify(); err != nil {
			return err
		}
		if err := q.allowed(); err != nil {
			return err
		}
		if r.once && c.Request().Header.Get(idempotencyKey) != "" {
			return q.once(r.handle)
		}
		return r.handle(s, q)
	}
}

// fromCLI tells our own command line from other programs, for the audit trail only.
func fromCLI(agent string) bool { return strings.HasPrefix(agent, "gpupool-cli/") }
