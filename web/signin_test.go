package web

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"
)

func TestTheFirstVisitorBecomesTheOperatorWithTheCode(t *testing.T) {
	t.Parallel()
	b := bare(t, nil)
	code, err := b.Service.PrepareOperatorCode(b.ctx)
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
	b := full(t, nil)
	w := b.as(b.Owner.Email)
	before := w.cookie()
	r := w.do("POST", "/signout", url.Values{"nonce": {newNonce()}}, nil).want(303)
	if r.location() != "/" {
		t.Errorf("signing out leads to %q", r.location())
	}
	r = w.do("POST", "/signin", url.Values{"email": {b.Operator.Email}, "password": {password}}, http.Header{"Cookie": {before}}).want(303)
	c := r.header.Get("Set-Cookie")
	after := strings.SplitN(c, ";", 2)[0]
	if after == before || !strings.Contains(c, "HttpOnly") || !strings.Contains(c, "SameSite=Lax") {
		t.Fatalf("the cookie after sign-in: %q, before: %q", c, before)
	}
	if l := b.browser().do("GET", "/account", nil, http.Header{"Cookie": {before}}).location(); l != "/signin?next=%2Faccount" {
		t.Errorf("the token from before the sign-in leads to %q", l)
	}
	if l := b.browser().do("GET", "/", nil, http.Header{"Cookie": {after}}).location(); l != "/op" {
		t.Errorf("the new token leads to %q", l)
	}
}

func TestASessionThatSignsInAgainChangesItsToken(t *testing.T) {
	t.Parallel()
	b := full(t, nil)
	w := b.as(b.Owner.Email)
	before := w.cookie()
	w.post("/signin", url.Values{"email": {b.Owner.Email}, "password": {password}}).want(303)
	if w.cookie() == before {
		t.Fatal("the token stayed")
	}
	if b.browser().do("GET", "/account", nil, http.Header{"Cookie": {before}}).status != 303 {
		t.Error("the old token still opens the account")
	}
	w.get("/account").want(200)
}

func TestASessionEndsFourteenDaysAfterTheSignIn(t *testing.T) {
	t.Parallel()
	b := full(t, nil)
	w := b.as(b.Owner.Email)
	b.Clock.Add(14*24*time.Hour - time.Minute)
	w.get("/account").want(200)
	b.Clock.Add(time.Minute)
	w.get("/account").want(303)
}

func TestAWrongPasswordIsToldWithoutSayingWhich(t *testing.T) {
	t.Parallel()
	b := full(t, nil)
	for _, email := range []string{b.Operator.Email, "nobody@consortium.example", "", "' OR 1=1 --", strings.Repeat("a", 5000), "🦙@例.example"} {
		r := b.browser().post("/signin", url.Values{"email": {email}, "password": {"wrong password here"}}).want(401)
		r.says("The e-mail or the password is wrong.")
		if got := r.value("email"); got != email {
			t.Errorf("typed %.40q, came back %.40q", email, got)
		}
	}
}

func TestSignInIsLimited(t *testing.T) {
	t.Parallel()
	b := full(t, nil)
	w := b.browser()
	for range 10 {
		w.post("/signin", url.Values{"email": {b.Operator.Email}, "password": {"wrong password here"}}).want(401)
	}
	r := w.post("/signin", url.Values{"email": {b.Operator.Email}, "password": {password}}).want(429)
	if r.header.Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
}

func TestSignInNeverLeadsAway(t *testing.T) {
	t.Parallel()
	b := full(t, nil)
	for _, next := range []string{"https://evil.example/", "//evil.example", "/\\evil.example", "javascript:alert(1)", "evil", "\r\nX: y"} {
		r := b.browser().post("/signin", url.Values{"email": {b.Operator.Email}, "password": {password}, "next": {next}}).want(303)
		if r.location() != "/" {
			t.Errorf("next=%q leads to %q", next, r.location())
		}
	}
}
