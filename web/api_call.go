package web

import (
	"context"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/labstack/echo/v4"

	"gpupool/domain"
	"gpupool/domain/pool"
	"gpupool/views/lang"
)

// call is one request of the API.
type call struct {
	server   *Server
	echo     echo.Context
	ctx      context.Context
	route    apiRoute
	actor    domain.Actor
	org      pool.OrgID // of the path, empty when it has none
	settings domain.Settings
	now      pool.Instant // business time
	format                // English, the pool's zone: for the sentences in answers
}

// identify finds out whose token it is, and counts the request.
func (q *call) identify() error {
	s, c := q.server, q.echo
	for _, name := range c.ParamNames() {
		if p := c.Param(name); !utf8.ValidString(p) || strings.ContainsRune(p, 0) || len(p) > 300 {
			return domain.Errf(domain.NotFound, "There is no such page.")
		}
	}
	q.org = pool.OrgID(c.Param("org"))
	header := c.Request().Header.Get(echo.HeaderAuthorization)
	token, ok := bearer(header)
	if !ok {
		if header == "" {
			return domain.Errf(domain.Unauthenticated, "An API token is needed: Authorization: Bearer %s…", domain.TokenPrefix)
		}
		return domain.Errf(domain.Unauthenticated, "The Authorization header is not a bearer token.")
	}
	ip := c.RealIP()
	if wait := s.limits.spent("ip:"+ip, guesses); wait > 0 {
		return tooMany(wait)
	}
	a, err := s.service.ActorByToken(q.ctx, token, ip)
	if domain.CodeOf(err) == domain.Unauthenticated {
		s.limits.take("ip:"+ip, guesses)
	}
	if err != nil {
		return err
	}
	if wait := s.limits.take("user:"+string(a.User), requests); wait > 0 {
		return tooMany(wait)
	}
	if fromCLI(c.Request().UserAgent()) {
		a.Via = domain.ViaCLI
	}
	q.actor = a
	if t := traceOf(q.ctx); t != nil {
		t.user = string(a.User)
	}
	return q.load()
}

// load reads what answers are written with.
func (q *call) load() error {
	err := q.server.store.View(q.ctx, func(tx domain.Tx) error {
		q.now = tx.Now()
		k, err := readKnown(tx)
		q.settings, q.types = k.settings, k.types
		return err
	})
	q.format = format{Printer: lang.For(lang.English), zone: q.settings.Location(), currency: q.settings.Currency, types: q.types}
	return err
}

// bearer is the token of an Authorization header (RFC 6750).
func bearer(header string) (string, bool) {
	scheme, token, ok := strings.Cut(header, " ")
	token = strings.TrimSpace(token)
	return token, ok && strings.EqualFold(scheme, "Bearer") && token != ""
}

// allowed is nil when role and scopes let the actor go on. What only the token's scopes forbid is said as that.
func (q *call) allowed() error {
	err := q.server.check(q.route.who, q.actor, q.org)
	if domain.CodeOf(err) != domain.Forbidden || err == nil {
		return err
	}
	person := q.actor
	person.TokenID = ""
	if person.Can(q.org, q.route.who.act) {
		return &problem{Status: http.StatusForbidden, Code: "insufficient_scope", Detail: q.T("This token does not have the scope %s.", domain.ScopeJobs),
			header: http.Header{"Www-Authenticate": {`Bearer realm="gpupool", error="insufficient_scope", scope="` + domain.ScopeJobs + `"`}}}
	}
	return err
}

// param is a value of the path.
func (q *call) param(name string) string { return q.echo.Param(name) }

// query is a value of the address; what no database keeps is replaced.
func (q *call) query(name string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(q.echo.QueryParam(name), "\uFFFD"), "\x00", "\uFFFD")
}

// orgPath is an API path of the organisation of the call.
func (q *call) orgPath(rest string) string { return apiPrefix + "/orgs/" + string(q.org) + rest }

func tooMany(wait time.Duration) error {
	return &problem{Status: http.StatusTooManyRequests, Code: string(domain.TooMany), Detail: "Too many requests. Retry-After says when to go on.",
		header: http.Header{"Retry-After": {seconds(wait)}}}
}
