package web

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"gpupool/domain"
)

// demoPortal is a full pool as a demo with a clock at 60 times the wall's.
func demoPortal(t *testing.T) *bundle {
	t.Helper()
	b := full(t, func(o *Options) {
		o.Demo = &DemoOptions{Sentence: "Simulated cluster and mail; no GPU is used; no money moves.", People: []DemoPerson{
			{Email: "anna@rheinau.example", Name: "Anna Vogt", Role: "Owner"}, {Email: "tomas@norbridge.example", Name: "Tomas Berg", Role: "Operator"}, {Email: "gone@rheinau.example", Name: "Gone", Role: "Viewer"}}}
	})
	b.Update(func(tx domain.Tx) error {
		st, err := tx.Settings()
		if err != nil {
			return err
		}
		st.Demo = true
		return tx.SaveSettings(st)
	})
	b.must(b.Service.StartClock(b.ctx, domain.System("demo"), b.Clock.Now(), 60))
	return b
}

func TestTheDemoSignsInWithOneClickOnThisMachineOnly(t *testing.T) {
	t.Parallel()
	b := demoPortal(t)
	w := b.browser()
	w.get("/signin").want(200).says("Sign in as Anna Vogt", "Tomas Berg")
	w.post("/demo/signin", url.Values{"email": {"anna@rheinau.example"}, "next": {"/account"}}).want(303)
	w.get("/account").want(200).says("anna@rheinau.example")
	w.post("/demo/signin", url.Values{"email": {"tomas@norbridge.example"}}).want(303) // from one person to another
	w.get("/op").want(200)

	b.browser().post("/demo/signin", url.Values{"email": {b.Member.Email}}).want(404) // not one of the demo's people
	foreign := b.browser()
	foreign.host = "pool.example"
	foreign.post("/demo/signin", url.Values{"email": {"anna@rheinau.example"}}).want(404)
	if foreign.get("/signin").want(200).doc().Find(`form[action="/demo/signin"]`).Length() > 0 {
		t.Error("a foreign name shows the one-click sign-in")
	}
}

func TestTheDemoClockIsTurnedByItsBanner(t *testing.T) {
	t.Parallel()
	b := demoPortal(t)
	w := b.as(b.Member.Email)
	banner := w.get("/account").want(200).doc().Find("#demo")
	if banner.Find(".speed").Text() != "60x" || banner.Find("time").Text() != "Mon 2 Nov 2026, 10:00 CET" {
		t.Fatalf("banner: %s", banner.Text())
	}
	l := w.post("/demo/clock", url.Values{"advance": {"hour"}, "return": {"/account"}}).want(303).location()
	part := w.do("GET", l, nil, http.Header{"X-Part": {"1"}}) // a live page that refreshes itself meanwhile takes the sentence from nobody
	if strings.Contains(part.want(200).doc().Text(), "The clock stands at") {
		t.Error("a part of a page shows what the form has to say")
	}
	if got := w.get(l).want(200).says("The clock stands at Mon 2 Nov 2026, 11:00 CET now.").doc().Find("#demo time").Text(); got != "Mon 2 Nov 2026, 11:00 CET" {
		t.Errorf("after an hour: %s", got)
	}
	w.post("/demo/clock", url.Values{"advance": {"friday"}}).want(303)
	w.post("/demo/clock", url.Values{"advance": {"1x"}, "return": {"https://evil.example"}}).want(303)
	banner = w.get("/account").doc().Find("#demo")
	if banner.Find("time").Text() != "Fri 6 Nov 2026, 15:00 CET" || banner.Find(`button[aria-pressed="true"]`).Text() != "1x" {
		t.Errorf("banner: %s", banner.Text())
	}
	w.post("/demo/clock", url.Values{"advance": {"backwards"}}).want(422)
	w.post("/demo/clock", url.Values{"advance": {"month_end"}}).want(303)
	if got := w.get("/account").doc().Find("#demo time").Text(); got != "Wed 2 Dec 2026, 00:00 CET" {
		t.Errorf("the month's end and its grace: %s", got)
	}
	w.get("/account").want(200) // the session is on wall time and lives on
	if b.browser().post("/demo/clock", url.Values{"advance": {"hour"}}).status != 404 {
		t.Error("a stranger turns the clock")
	}
}

func TestARealPoolHasNoBanner(t *testing.T) {
	t.Parallel()
	b := full(t, nil)
	if b.as(b.Member.Email).get("/account").want(200).doc().Find("#demo").Length() > 0 {
		t.Error("there is a banner")
	}
}
