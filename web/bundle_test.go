package web

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"

	"gpupool/domain"
	"gpupool/domain/pool"
	"gpupool/domain/store"
	"gpupool/domain/store/storetest"
)

const password = "correct horse battery"

// bundle is a portal over an empty store, served on a loopback address.
type bundle struct {
	t       *testing.T
	server  *Server
	service *domain.Service
	store   *store.Store
	cluster *fakeCluster
	http    *httptest.Server
	log     *lines
	ctx     context.Context
	op      domain.User // the operator
}

// lines keeps what was logged.
type lines struct {
	mu sync.Mutex
	b  strings.Builder
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// empty is a pool that nobody has set up.
func empty(t *testing.T, change func(o *Options)) *bundle {
	t.Helper()
	b := &bundle{t: t, store: storetest.Open(t, nil, storetest.SQLite(t)), cluster: newFakeCluster(), log: &lines{}, ctx: t.Context()}
	log := slog.New(slog.NewTextHandler(b.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	b.service = domain.New(domain.Config{Store: b.store, Cluster: b.cluster, Passwords: Argon2id{Memory: 64, Passes: 1, Threads: 1}, Log: log})
	o := Options{Service: b.service, Store: b.store, Log: log, Wall: func() time.Time { return storetest.Start.Time() }, Version: "test"}
	if change != nil {
		change(&o)
	}
	var err error
	if b.server, err = New(o); err != nil {
		t.Fatal(err)
	}
	b.http = httptest.NewServer(b.server)
	t.Cleanup(func() {
		b.server.Close()
		b.http.Close()
	})
	return b
}

// set is a pool with an operator, settings, a GPU type on two nodes, a published plan and prices.
func set(t *testing.T, change func(o *Options)) *bundle {
	t.Helper()
	b := empty(t, change)
	code, err := b.service.PrepareOperatorCode(b.ctx)
	b.must(err)
	b.op, err = b.service.BecomeOperator(b.ctx, domain.Actor{Via: domain.ViaWeb}, domain.BecomeOperatorInput{Code: code, Email: "tomas@consortium.example", Name: "Tomas Berg", Password: password})
	b.must(err)
	_, err = b.service.SaveSettings(b.ctx, b.operator(), settingsInput())
	b.must(err)
	return b
}

func settingsInput() domain.SettingsInput {
	return domain.SettingsInput{Name: "Norbridge", Currency: "EUR", Zone: "Europe/Berlin", GraceHours: "24", SetupGraceMinutes: "10", NoticeMinutes: "10",
		Signal: "SIGUSR1", DefaultMaxRunHours: "24", LongestMaxRunHours: "744", InvoicePrefix: "NB", Bank: "IBAN DE00 0000", Fair: true,
		Seller: domain.Party{Name: "Norbridge eG", Address: "Hafen 1\nKiel", Country: "DE", TaxID: "DE1"}}
}

func (b *bundle) operator() domain.Actor {
	return domain.Actor{User: b.op.ID, Name: b.op.Name, Email: b.op.Email, Operator: true, Via: domain.ViaWeb}
}

func (b *bundle) must(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

// member makes an organisation with its owner and returns the owner as an actor.
func (b *bundle) member(slug string) domain.Actor {
	b.t.Helper()
	_, i, token, err := b.service.CreateMember(b.ctx, b.operator(), domain.CreateMemberInput{Slug: slug, Name: "Org " + slug, OwnerEmail: "owner@" + slug + ".example"})
	b.must(err)
	return b.accept(i, token)
}

// join invites and accepts a person with a role.
func (b *bundle) join(owner domain.Actor, org pool.OrgID, role pool.Role) domain.Actor {
	b.t.Helper()
	i, token, err := b.service.InviteMember(b.ctx, owner, org, domain.InviteInput{Email: string(role) + "@" + string(org) + ".example", Role: role})
	b.must(err)
	return b.accept(i, token)
}

func (b *bundle) accept(i domain.Invitation, token string) domain.Actor {
	b.t.Helper()
	u, err := b.service.AcceptInvitation(b.ctx, domain.Actor{Via: domain.ViaWeb}, token, domain.AcceptInput{Name: "Person " + i.Email, Password: password})
	b.must(err)
	a, _, err := b.service.ActorFor(b.ctx, u.ID, domain.ViaWeb, "127.0.0.1")
	b.must(err)
	return a
}

// browser is a person with cookies of their own.
type browser struct {
	b      *bundle
	client *http.Client
	host   string // sent instead of the server's, when set
}

func (b *bundle) browser() *browser {
	jar, err := cookiejar.New(nil)
	b.must(err)
	return &browser{b: b, client: &http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
}

// as signs in.
func (b *bundle) as(email string) *browser {
	b.t.Helper()
	w := b.browser()
	if r := w.post("/signin", url.Values{"email": {email}, "password": {password}}); r.status != http.StatusSeeOther {
		b.t.Fatalf("sign-in of %s: %d %s", email, r.status, r.text())
	}
	return w
}

// answer is what came back, read to its end.
type answer struct {
	t      *testing.T
	status int
	header http.Header
	body   string
}

func (w *browser) do(method, path string, form url.Values, header http.Header) answer {
	w.b.t.Helper()
	var body io.Reader
	if form != nil {
		body = strings.NewReader(form.Encode())
	}
	r, err := http.NewRequestWithContext(w.b.ctx, method, w.b.http.URL+path, body)
	w.b.must(err)
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for k, v := range header {
		r.Header[k] = v
	}
	if w.host != "" {
		r.Host = w.host
	}
	res, err := w.client.Do(r)
	w.b.must(err)
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	w.b.must(err)
	return answer{w.b.t, res.StatusCode, res.Header, string(text)}
}

func (w *browser) get(path string) answer { w.b.t.Helper(); return w.do("GET", path, nil, nil) }

// post sends a form. Without a nonce it gets a fresh one, as a page would have put in.
func (w *browser) post(path string, form url.Values) answer {
	w.b.t.Helper()
	if form == nil {
		form = url.Values{}
	}
	if !form.Has("nonce") {
		form.Set("nonce", newNonce())
	}
	return w.do("POST", path, form, nil)
}

func (a answer) doc() *goquery.Document {
	a.t.Helper()
	d, err := goquery.NewDocumentFromReader(strings.NewReader(a.body))
	if err != nil {
		a.t.Fatal(err)
	}
	return d
}

// text is what a person reads in the main part, blanks folded.
func (a answer) text() string {
	a.t.Helper()
	return strings.Join(strings.Fields(a.doc().Find("main").Text()), " ")
}

// at is the sentence at a field.
func (a answer) at(field string) string {
	a.t.Helper()
	return strings.TrimSpace(a.doc().Find("#f-" + strings.ReplaceAll(field, ".", `\.`) + "-error").Text())
}

// value is what stands in a field.
func (a answer) value(field string) string {
	a.t.Helper()
	s := a.doc().Find(`[name="` + field + `"]`).First()
	if s.Is("textarea") {
		return s.Text()
	}
	if s.Is("select") {
		return s.Find("option[selected]").AttrOr("value", "")
	}
	return s.AttrOr("value", "")
}

func (a answer) location() string { return a.header.Get("Location") }

// want fails unless the answer has the status.
func (a answer) want(status int) answer {
	a.t.Helper()
	if a.status != status {
		a.t.Fatalf("status %d, want %d: %s", a.status, status, a.text())
	}
	return a
}

// says fails unless the page has every sentence.
func (a answer) says(sentences ...string) answer {
	a.t.Helper()
	for _, s := range sentences {
		if !strings.Contains(a.text(), s) {
			a.t.Errorf("the page does not say %q:\n%s", s, a.text())
		}
	}
	return a
}
