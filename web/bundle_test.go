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
	"gpupool/domain/domaintest"
	"gpupool/domain/pool"
)

const password = domaintest.Password

// bundle is a portal over a pool of its own, served on a loopback address.
type bundle struct {
	*domaintest.Pool
	t       testing.TB
	server  *Server
	cluster *fakeCluster
	http    *httptest.Server
	log     *lines
	ctx     context.Context
	job     string // of the walk
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

// bare is a pool that nobody has set up.
func bare(t testing.TB, change func(o *Options)) *bundle {
	t.Helper()
	return serve(t, domaintest.Bare, change)
}

// full is a pool with two members, people of every role, a GPU type on a node, plans and prices.
func full(t testing.TB, change func(o *Options)) *bundle {
	t.Helper()
	return serve(t, domaintest.New, change)
}

func serve(t testing.TB, make func(testing.TB, ...domaintest.Option) *domaintest.Pool, change func(o *Options)) *bundle {
	t.Helper()
	b := &bundle{t: t, cluster: newFakeCluster(), log: &lines{}, ctx: t.Context()}
	log := slog.New(slog.NewTextHandler(b.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	b.Pool = make(t, func(c *domain.Config) { c.Cluster, c.Log = b.cluster, log })
	o := Options{Service: b.Service, Store: b.Store, Log: log, Wall: func() time.Time { return b.Clock.Now().Time() }, Version: "test"}
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

func (b *bundle) must(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

// closed moves the clock beyond the month's grace, closes it and returns the number of rheinau's invoice.
func (b *bundle) closed() string {
	b.t.Helper()
	b.Clock.Set(pool.At(time.Date(2026, 12, 2, 12, 0, 0, 0, time.UTC)))
	all, err := b.Service.CloseMonth(b.ctx, b.Operator, pool.Month{Year: 2026, Month: time.November})
	b.must(err)
	for _, c := range all {
		b.must(c.Err)
		if c.Invoice.Org == b.Org {
			return c.Invoice.Number
		}
	}
	b.t.Fatal("no invoice was made")
	return ""
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

// cookie is the session's as the browser would send it.
func (w *browser) cookie() string {
	u, err := url.Parse(w.b.http.URL)
	w.b.must(err)
	for _, c := range w.client.Jar.Cookies(u) {
		return c.Name + "=" + c.Value
	}
	return ""
}

// answer is what came back, read to its end.
type answer struct {
	t      testing.TB
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

// status asks and reads only the head of the answer: some have no end.
func (w *browser) status(method, path string, form url.Values) int {
	w.b.t.Helper()
	ctx, cancel := context.WithCancel(w.b.ctx)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, w.b.http.URL+path, strings.NewReader(form.Encode()))
	w.b.must(err)
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	res, err := w.client.Do(r)
	w.b.must(err)
	res.Body.Close()
	return res.StatusCode
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

// disable takes a person's right to sign in away.
func (b *bundle) disable(id pool.UserID) {
	b.t.Helper()
	b.Update(func(tx domain.Tx) error {
		u, err := tx.User(id)
		if err != nil {
			return err
		}
		u.Disabled = true
		return tx.UpdateUser(u)
	})
}
