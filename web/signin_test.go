package web

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

func TestTheFirstVisitorBecomesTheOperatorWithTheCode(t *testing.T) {
	t.Parallel()
	b := empty(t, nil)
	code, err := b.service.PrepareOperatorCode(b.ctx)
	b.must(err)
	w := b.browser()
	if l := w.get("/").want(http.StatusSeeOther).location(); l != "/setup" {
		t.Fatalf("a new pool leads to %q", l)
	}
	w.get("/setup").want(200).says("The pool is being set up", "Become the operator")
	r := w.post("/setup", url.Values{"code": {"wrong"}, "name": {"<b>Tomas</b> 微"}, "email": {"t@c.example"}, "password": {password}}).want(422)
	if r.at("code") == "" || r.value("name") != "<b>Tomas</b> 微" {
		t.Errorf("the refused form: error %q, name %q", r.at("code"), r.value("name"))
	}
	if strings.Contains(r.body, password) {
		t.Error("a typed password came back")
	}
	w.post("/setup", url.Values{"code": {code}, "name": {"Tomas"}, "email": {"t@c.example"}, "password": {password}}).want(303)
	w.get("/setup").want(200).says("(done)")
	if l := w.get("/").location(); l != "/op" {
		t.Errorf("the operator begins at %q", l)
	}
	if l := b.browser().post("/setup", url.Values{"code": {code}, "name": {"Eve"}, "email": {"e@c.example"}, "password": {password}}); l.status != 409 {
		t.Errorf("a second operator by the same code: %d", l.status)
	}
}

func TestSigningInRenewsTheSessionAndSigningOutEndsIt(t *testing.T) {
	t.Parallel()
	b := set(t, nil)
	w := b.browser()
	w.get("/signin").want(200)
	planted := "planted-token-of-somebody-else"
	r := w.do("POST", "/signin", url.Values{"email": {b.op.Email}, "password": {password}}, http.Header{"Cookie": {"gpupool_session=" + planted}}).want(303)
	c := r.header.Get("Set-Cookie")
	if c == "" || strings.Contains(c, planted) || !strings.Contains(c, "HttpOnly") || !strings.Contains(c, "SameSite=Lax") {
		t.Fatalf("the cookie after sign-in: %q", c)
	}
	stolen := http.Header{"Cookie": {strings.SplitN(c, ";", 2)[0]}}
	if b.browser().do("GET", "/", nil, stolen).location() != "/op" {
		t.Fatal("the session does not work")
	}
	w.post("/signout", nil).want(303)
	if l := b.browser().do("GET", "/", nil, stolen).location(); l == "/op" {
		t.Error("the session lives on after signing out")
	}
}

func TestAWrongPasswordIsToldWithoutSayingWhich(t *testing.T) {
	t.Parallel()
	b := set(t, nil)
	for _, email := range []string{b.op.Email, "nobody@consortium.example", "", "' OR 1=1 --", strings.Repeat("a", 5000), "🦙@例.example"} {
		r := b.browser().post("/signin", url.Values{"email": {email}, "password": {"wrong password here"}}).want(401)
		r.says("The e-mail or the password is wrong.")
		if got := r.value("email"); got != email {
			t.Errorf("typed %.40q, came back %.40q", email, got)
		}
	}
}

func TestSignInIsLimited(t *testing.T) {
	t.Parallel()
	b := set(t, nil)
	w := b.browser()
	for range 10 {
		w.post("/signin", url.Values{"email": {b.op.Email}, "password": {"wrong password here"}}).want(401)
	}
	r := w.post("/signin", url.Values{"email": {b.op.Email}, "password": {password}}).want(429)
	if r.header.Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
}

func TestSignInNeverLeadsAway(t *testing.T) {
	t.Parallel()
	b := set(t, nil)
	for _, next := range []string{"https://evil.example/", "//evil.example", "/\\evil.example", "javascript:alert(1)", "evil", "\r\nX: y"} {
		r := b.browser().post("/signin", url.Values{"email": {b.op.Email}, "password": {password}, "next": {next}}).want(303)
		if r.location() != "/" {
			t.Errorf("next=%q leads to %q", next, r.location())
		}
	}
}
