package web

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"gpupool/domain"
	"gpupool/domain/pool"
	"gpupool/views"
	"gpupool/views/lang"
)

const (
	usualLimit = 30 * time.Second
	bodyLimit  = 1 << 20 // bytes of a form
)

// visit is one request: who asks, in which language and zone, and the answer.
type visit struct {
	server   *Server
	echo     echo.Context
	ctx      context.Context
	route    route
	actor    domain.Actor
	user     domain.User // zero for a stranger
	settings domain.Settings
	now      pool.Instant // business time
	speed    int          // of a demo's clock; 0: system time
	orgs     []domain.Organisation
	org      pool.OrgID // of the path, empty when it has none
	format
	nonce string                // that the form was sent with
	mark  int64                 // of the hub, taken before anything was read
	news  []domain.Announcement // that stand on every page now
}

// adapt makes an echo handler of a route.
func (s *Server) adapt(r route) echo.HandlerFunc {
	return func(c echo.Context) error {
		ctx := c.Request().Context()
		if r.stream == "" {
			limit := r.limit
			if limit == 0 {
				limit = usualLimit
			}
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, limit)
			defer cancel()
			c.SetRequest(c.Request().WithContext(ctx))
		}
		if t := traceOf(ctx); t != nil {
			t.route = r.path
		}
		v := &visit{server: s, echo: c, ctx: ctx, route: r, mark: s.service.Hub().Mark()}
		if r.who == machine {
			return r.handle(s, v)
		}
		if err := v.identify(); err != nil {
			return err
		}
		c.Set(visitKey, v)
		if err := s.check(r.who, v.actor, v.org); err != nil {
			return err
		}
		if r.method == http.MethodPost {
			return v.sent(r.handle)
		}
		return r.handle(s, v)
	}
}

const visitKey = "visit"

// identify finds out who asks.
func (v *visit) identify() error {
	s, c := v.server, v.echo
	for _, name := range c.ParamNames() {
		if p := c.Param(name); !utf8.ValidString(p) || strings.ContainsRune(p, 0) || len(p) > 300 {
			return domain.Errf(domain.NotFound, "There is no such page.")
		}
	}
	v.org = pool.OrgID(c.Param("org"))
	v.actor = domain.Actor{Via: domain.ViaWeb, IP: c.RealIP()}
	if id := s.sessions.GetString(v.ctx, sessionUser); id != "" {
		a, u, err := s.service.ActorFor(v.ctx, pool.UserID(id), domain.ViaWeb, c.RealIP())
		switch {
		case err == nil:
			v.actor, v.user = a, u
		case domain.CodeOf(err) == domain.Unauthenticated: // disabled since
			if err := s.sessions.Destroy(v.ctx); err != nil {
				return err
			}
		default:
			return err
		}
	}
	if t := traceOf(v.ctx); t != nil {
		t.user = string(v.actor.User)
	}
	err := s.store.View(v.ctx, func(tx domain.Tx) error {
		v.now = tx.Now()
		k, err := readKnown(tx)
		v.settings, v.types = k.settings, k.types
		if err == nil && v.settings.Demo {
			var c domain.ClockRow
			if c, err = tx.Clock(); err == nil {
				v.speed = c.Speed
			}
		}
		if err != nil || !v.actor.SignedIn() {
			return err
		}
		if terms, err := domain.LoadTerms(tx); err == nil {
			v.news = terms.Announced(v.now)
		} else if domain.CodeOf(err) != domain.NotFound { // a pool that isn't set up yet
			return err
		}
		v.orgs = nil
		for _, o := range k.orgs {
			if _, ok := v.actor.Roles[o.ID]; ok {
				v.orgs = append(v.orgs, o)
			}
		}
		return err
	})
	if err != nil {
		return err
	}
	v.speak()
	return nil
}

// speak chooses language and zone: the person's own, else the browser's language and the pool's zone.
func (v *visit) speak() {
	said := lang.Lang(v.user.Lang)
	if !v.actor.SignedIn() {
		said = lang.Match(v.echo.Request().Header.Get("Accept-Language"))
	}
	v.format = format{Printer: lang.For(said), zone: v.settings.Location(), currency: v.settings.Currency, types: v.types}
	if loc, err := time.LoadLocation(v.user.TimeZone); err == nil && v.user.TimeZone != "" {
		v.zone = loc
	}
	v.ctx = lang.With(v.ctx, v.Lang())
}

// say is an error's sentence in the language of the visit.
func (v *visit) say(e *domain.Error) string { return v.T(e.Message, e.Args...) }

// text is a field of the sent form, never of the query. What no database keeps is replaced, so that it is refused as
// text and not as a failure.
func (v *visit) text(name string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(v.echo.Request().PostForm.Get(name), "\uFFFD"), "\x00", "\uFFFD")
}

// texts are all values of a field.
func (v *visit) texts(name string) []string {
	var all []string
	for _, s := range v.echo.Request().PostForm[name] {
		all = append(all, strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD"))
	}
	return all
}

// query is a value of the address.
func (v *visit) query(name string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(v.echo.QueryParam(name), "\uFFFD"), "\x00", "\uFFFD")
}

// param is a value of the path.
func (v *visit) param(name string) string { return v.echo.Param(name) }

// show renders the page into memory first, so that a failure becomes an error page and never half a page.
func (v *visit) show(status int, p views.Page, content templ.Component) error {
	v.frame(&p)
	var b bytes.Buffer
	if err := views.Layout(p).Render(templ.WithChildren(v.ctx, content), &b); err != nil {
		return err
	}
	h := v.echo.Response().Header()
	h.Set("Cache-Control", "no-store")
	h.Add("Vary", "Accept-Language")
	return v.echo.HTMLBlob(status, b.Bytes())
}

// page shows a page that is as it should be.
func (v *visit) page(p views.Page, content templ.Component) error {
	return v.show(http.StatusOK, p, content)
}

// attach sends a file to be saved.
func (v *visit) attach(name, contentType string, body []byte) error {
	h := v.echo.Response().Header()
	h.Set("Content-Disposition", `attachment; filename="`+strings.Map(fileRune, name)+`"`)
	h.Set("Cache-Control", "no-store")
	return v.echo.Blob(http.StatusOK, contentType, body)
}

func fileRune(r rune) rune {
	if r > 0x7e || r < 0x20 || strings.ContainsRune(`"\/;:`, r) {
		return '-'
	}
	return r
}

// done answers a form: where the person goes on, and a sentence of what was done.
func (v *visit) done(path, sentence string, args ...any) error {
	if sentence != "" {
		v.flash(v.T(sentence, args...))
	}
	return v.redirect(path)
}

// redirect with 303, so that the browser asks for the page with GET.
func (v *visit) redirect(path string) error {
	return v.echo.Redirect(http.StatusSeeOther, path)
}

// refusal is a refused form: what to say at each field and above all of them.
type refusal struct {
	status int
	at     map[string]string
	whole  string
}

// refused tells whether err is something that the person can put right in the form; everything else goes to the
// error page.
func (v *visit) refused(err error) (refusal, bool) {
	var e *domain.Error
	if !errors.As(err, &e) {
		return refusal{}, false
	}
	switch e.Code {
	case domain.Invalid, domain.Conflict, domain.TooMany, domain.Unauthenticated:
	default:
		return refusal{}, false
	}
	r := refusal{status: statusOf(e.Code), at: map[string]string{}}
	for _, f := range e.Fields {
		if r.at[f.Field] == "" {
			r.at[f.Field] = v.T(f.Message, f.Args...)
		}
	}
	if len(e.Fields) == 0 {
		r.whole = v.say(e)
	}
	if e.Code == domain.TooMany {
		v.echo.Response().Header().Set("Retry-After", retryAfter)
	}
	return r, true
}

// local is a path of this portal, or other when s is anything else: an address to return to never leads away.
func local(s, other string) string {
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "" || u.Host != "" || u.User != nil || !strings.HasPrefix(u.Path, "/") ||
		strings.HasPrefix(s, "//") || strings.ContainsAny(s, "\\\r\n\t") || len(s) > 2000 {
		return other
	}
	return s
}
