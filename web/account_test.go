package web

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

func TestAPersonChangesTheirProfile(t *testing.T) {
	t.Parallel()
	b := full(t, nil)
	w := b.as(b.Member.Email)
	r := w.post("/account/profile", url.Values{"name": {""}, "lang": {"tlh"}, "time_zone": {"Mars/Olympus"}}).want(422)
	if r.at("name") == "" || r.at("lang") == "" || r.at("time_zone") == "" || r.value("time_zone") != "Mars/Olympus" {
		t.Errorf("refused: %q %q %q, typed %q", r.at("name"), r.at("lang"), r.at("time_zone"), r.value("time_zone"))
	}
	w.post("/account/profile", url.Values{"name": {"李明"}, "lang": {"en"}, "time_zone": {"Asia/Shanghai"}}).want(303)
	page := w.get("/account").want(200).says("Your profile was saved.", "2 Nov 2026, 17:00 CST")
	if got := page.doc().Find(".menu.user .name").Text(); got != "李明" {
		t.Errorf("the header shows %q", got)
	}
}

func TestATimeIsShownInTheViewersZoneWithItsISOForm(t *testing.T) {
	t.Parallel()
	b := full(t, nil)
	page := b.as(b.Member.Email).get("/account").want(200)
	x := page.doc().Find("#sessions local-time").First()
	if iso := x.Find("time").AttrOr("title", ""); iso != "2026-11-02T09:00:00Z" || x.Text() != "2 Nov 2026, 10:00 CET" {
		t.Errorf("%q on hover, %q shown", iso, x.Text())
	}
}

func TestAPasswordIsChangedAndOtherSessionsEnd(t *testing.T) {
	t.Parallel()
	b := full(t, nil)
	w, other := b.as(b.Member.Email), b.as(b.Member.Email)
	r := w.post("/account/password", url.Values{"current": {"not this one, no"}, "new": {"a new long password"}}).want(422)
	if r.at("current") == "" || strings.Contains(r.body, "a new long password") {
		t.Error("a wrong current password is not told, or the new one came back")
	}
	if r := w.post("/account/password", url.Values{"current": {password}, "new": {"short"}}).want(422); r.at("new") == "" {
		t.Error("a short password is taken")
	}
	w.post("/account/password", url.Values{"current": {password}, "new": {"a new long password"}}).want(303)
	w.get("/account").want(200).says("The password was changed.")
	other.get("/account").want(303)
	b.browser().post("/signin", url.Values{"email": {b.Member.Email}, "password": {password}}).want(401)
}

func TestAPersonEndsAnotherOfTheirSessions(t *testing.T) {
	t.Parallel()
	b := full(t, nil)
	w, other := b.as(b.Member.Email), b.as(b.Member.Email)
	page := w.get("/account").want(200)
	if n := page.doc().Find("#sessions tbody tr").Length(); n != 2 {
		t.Fatalf("%d sessions", n)
	}
	end := page.doc().Find(`#sessions input[name="session"]`)
	if end.Length() != 1 {
		t.Fatalf("%d sessions can be ended, not this one", end.Length())
	}
	_, token, _ := strings.Cut(other.cookie(), "=")
	if strings.Contains(page.body, token) || strings.Contains(page.body, storedToken(token)) {
		t.Error("the page gives a session away")
	}
	id := end.AttrOr("value", "")
	b.as(b.Lead.Email).post("/account/sessions/end", url.Values{"session": {id}}).want(404)
	w.post("/account/sessions/end", url.Values{"session": {id}}).want(303)
	other.get("/account").want(303)
	w.get("/account").want(200)
}

func TestAPITokensAreMadeAndRevoked(t *testing.T) {
	t.Parallel()
	b := full(t, nil)
	w := b.as(b.Member.Email)
	r := w.post("/account/tokens", url.Values{"name": {"<i>"}, "days": {"9999"}}).want(422)
	if r.at("days") == "" || r.at("scopes") == "" || r.value("days") != "9999" {
		t.Errorf("refused: %q %q, typed %q", r.at("days"), r.at("scopes"), r.value("days"))
	}
	w.post("/account/tokens", url.Values{"name": {"laptop"}, "days": {"30"}, "scopes": {"read", "jobs"}}).want(303)
	page := w.get("/account").want(200).says("laptop", "Submit and stop jobs", "Active")
	secret := page.doc().Find("#secret code").Text()
	a, err := b.Service.ActorByToken(b.ctx, secret, "127.0.0.1")
	b.must(err)
	if a.User != b.Member.User {
		t.Errorf("the token is %s's", a.User)
	}
	id := page.doc().Find(`#tokens input[name="token"]`).AttrOr("value", "")
	b.as(b.Lead.Email).post("/account/tokens/revoke", url.Values{"token": {id}}).want(404)
	w.post("/account/tokens/revoke", url.Values{"token": {id}}).want(303)
	w.get("/account").want(200).says("Taken back")
	if _, err := b.Service.ActorByToken(b.ctx, secret, "127.0.0.1"); err == nil {
		t.Error("a revoked token works")
	}
}

func TestADisabledPersonIsSignedOut(t *testing.T) {
	t.Parallel()
	b := full(t, nil)
	w := b.as(b.Member.Email)
	b.disable(b.Member.User)
	w.get("/account").want(303)
	w.post("/signin", url.Values{"email": {b.Member.Email}, "password": {password}}).want(401)
}

func TestTheNavigationShowsOnlyWhatThePersonMayUse(t *testing.T) {
	t.Parallel()
	b := full(t, nil)
	links := func(who string) string {
		var all []string
		for _, n := range b.as(who).get("/account").want(200).doc().Find("nav.side a").Nodes {
			for _, a := range n.Attr {
				if a.Key == "href" {
					all = append(all, a.Val)
				}
			}
		}
		return strings.Join(all, " ")
	}
	if got := links(b.Operator.Email); !strings.Contains(got, "/op/closing") {
		t.Errorf("operator: %s", got)
	}
	owner, member := links(b.Owner.Email), links(b.Member.Email)
	if strings.Contains(owner, "/op") || !strings.Contains(owner, "/o/rheinau/audit") || strings.Contains(member, "/o/rheinau/audit") {
		t.Errorf("owner: %s; member: %s", owner, member)
	}
	for _, path := range strings.Fields(owner) {
		b.as(b.Owner.Email).get(path).want(http.StatusOK)
	}
}
