package web

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"gpupool/static"
)

func TestAnotherSiteCannotSendAForm(t *testing.T) {
	t.Parallel()
	b := full(t, nil)
	w := b.as(b.Operator.Email)
	form := func() url.Values { return url.Values{"id": {"evil"}, "name": {"Evil"}, "nonce": {newNonce()}} }
	for name, h := range map[string]http.Header{
		"another site by its fetch metadata":  {"Sec-Fetch-Site": {"cross-site"}},
		"a sibling domain":                    {"Sec-Fetch-Site": {"same-site"}},
		"another origin, from an old browser": {"Origin": {"https://evil.example"}},
		"a page without an origin":            {"Origin": {"null"}},
	} {
		if r := w.do("POST", "/op/sites", form(), h); r.status != 403 {
			t.Errorf("%s: %d", name, r.status)
		}
	}
	sites, err := b.Service.Sites(b.ctx, b.Operator)
	b.must(err)
	if len(sites) != 1 {
		t.Errorf("sites: %v", sites)
	}
	w.do("POST", "/op/sites", form(), http.Header{"Sec-Fetch-Site": {"same-origin"}}).want(303)
}

func TestEveryAnswerHasTheSecurityHeaders(t *testing.T) {
	t.Parallel()
	b := full(t, nil)
	w := b.as(b.Operator.Email)
	answers := map[string]answer{
		"page": w.get("/op"), "error": w.get("/nowhere"), "redirect": w.get("/"), "probe": w.get("/healthz"), "style": w.get(static.URL("app.css")), "missing asset": w.get(static.Prefix + "x/y"),
		"refused form": w.post("/op/sites", nil), "cross-site": w.do("POST", "/op/sites", url.Values{}, http.Header{"Sec-Fetch-Site": {"cross-site"}}),
	}
	for name, a := range answers {
		csp := a.header.Get("Content-Security-Policy")
		for _, want := range []string{"default-src 'self'", "frame-ancestors 'none'", "object-src 'none'", "base-uri 'none'", "form-action 'self' https://checkout.stripe.com"} {
			if !strings.Contains(csp, want) {
				t.Errorf("%s: the policy %q lacks %q", name, csp, want)
			}
		}
		if strings.Contains(csp, "unsafe") || strings.Contains(csp, "*") {
			t.Errorf("%s: the policy %q is not strict", name, csp)
		}
		if a.header.Get("X-Content-Type-Options") != "nosniff" || a.header.Get("Referrer-Policy") != "same-origin" || a.header.Get("X-Frame-Options") != "DENY" {
			t.Errorf("%s: headers %v", name, a.header)
		}
	}
	if c := answers["page"].header.Get("Cache-Control"); c != "no-store" {
		t.Errorf("a page may be kept by caches: %q", c)
	}
}

func TestNoPageHasInlineStyleOrScript(t *testing.T) {
	t.Parallel()
	b := full(t, nil)
	number := b.closed()
	browsers := b.walkers()
	for _, r := range b.server.table() {
		if r.method != http.MethodGet || r.stream != "" || r.who == machine {
			continue
		}
		for _, role := range []string{"stranger", "owner", "operator"} {
			a := browsers[role].get(b.walkPath(r.path, number))
			if !strings.HasPrefix(a.header.Get("Content-Type"), "text/html") {
				continue
			}
			d := a.doc()
			if n := d.Find("[style], style, script:not([src]), [onclick], [onload], a[href^='javascript:']").Length(); n > 0 {
				t.Errorf("%s: %d inline styles or scripts", r.path, n)
			}
			ids := map[string]bool{}
			for _, n := range d.Find("[id]").Nodes {
				for _, x := range n.Attr {
					if x.Key == "id" && ids[x.Val] {
						t.Errorf("%s as %s: id %q twice", r.path, role, x.Val)
					} else if x.Key == "id" {
						ids[x.Val] = true
					}
				}
			}
			if d.Find("h1").Length() != 1 && a.status < 300 {
				t.Errorf("%s as %s: %d h1", r.path, role, d.Find("h1").Length())
			}
		}
	}
}

func TestNoSecretReachesTheLog(t *testing.T) {
	t.Parallel()
	b := full(t, nil)
	w := b.as(b.Operator.Email)
	w.post("/op/members", url.Values{"name": {"New"}, "slug": {"newcomer"}, "owner_email": {"o@new.example"}}).want(303)
	link := w.get("/op/members/newcomer").want(200).doc().Find("#secret code").Text()
	token := link[strings.LastIndex(link, "/")+1:]
	if len(token) < 20 {
		t.Fatalf("link %q", link)
	}
	b.browser().get("/invite/" + token).want(200)
	b.browser().get("/signin?next=/invite/" + token)
	b.browser().post("/invite/"+token, url.Values{"name": {"Nora"}, "password": {"quite a secret phrase"}}).want(303)
	w.post("/account/tokens", url.Values{"name": {"laptop"}, "days": {"30"}, "scopes": {"read"}}).want(303)
	pat := w.get("/account").doc().Find("#secret code").Text()
	if !strings.HasPrefix(pat, "gpupool_pat_") {
		t.Fatalf("token %q", pat)
	}
	_, session, _ := strings.Cut(w.cookie(), "=")
	said := b.log.String()
	for name, secret := range map[string]string{"invitation": token, "password": password, "new password": "quite a secret phrase", "API token": pat, "session": session} {
		if strings.Contains(said, secret) {
			t.Errorf("the %s stands in the log", name)
		}
	}
	if !strings.Contains(said, "route=/invite/:token") {
		t.Error("the log has no line of the invitation's page")
	}
}

func TestWhatIsShownOnceIsShownOnce(t *testing.T) {
	t.Parallel()
	b := full(t, nil)
	w := b.as(b.Owner.Email)
	w.post("/account/tokens", url.Values{"name": {"laptop"}, "days": {"30"}, "scopes": {"read"}}).want(303)
	if w.get("/account").doc().Find("#secret").Length() != 1 {
		t.Fatal("the token is not shown")
	}
	if w.get("/account").doc().Find("#secret").Length() != 0 {
		t.Error("the token is shown again")
	}
}

func TestAFormSentTwiceIsDoneOnce(t *testing.T) {
	t.Parallel()
	b := full(t, nil)
	w := b.as(b.Operator.Email)
	nonce := w.get("/op/plans").doc().Find(`#plan input[name="nonce"]`).AttrOr("value", "")
	form := url.Values{"id": {"lab"}, "name": {""}, "nonce": {nonce}}
	w.post("/op/plans", form).want(422) // nothing was done: the same page may be sent again
	form.Set("name", "Lab")
	first := w.post("/op/plans", form).want(303).location()
	second := w.post("/op/plans", form).want(303).location()
	if first != "/op/plans/lab" || second != first {
		t.Errorf("led to %q, then %q", first, second)
	}
	plans, err := b.Service.Plans(b.ctx, b.Operator)
	b.must(err)
	if len(plans) != 3 {
		t.Errorf("%d plans", len(plans))
	}
	if r := b.as(b.Owner.Email).post("/account/profile", url.Values{"nonce": {nonce}, "name": {"Anna"}, "lang": {"en"}}); r.status != 409 {
		t.Errorf("another person's nonce: %d", r.status)
	}
	if r := w.do("POST", "/op/plans", url.Values{"id": {"x"}}, nil); r.status != 422 {
		t.Errorf("no nonce: %d", r.status)
	}
}

func TestAFormSentManyTimesAtOnceIsDoneOnce(t *testing.T) {
	t.Parallel()
	b := full(t, nil)
	w := b.as(b.Operator.Email)
	number := b.closed()
	w = b.as(b.Operator.Email) // sessions end while the month passes
	nonce, answers := newNonce(), make(chan answer, 6)
	for i := range cap(answers) {
		go func() {
			answers <- w.post("/op/invoices/"+number+"/payment", url.Values{"nonce": {nonce}, "amount": {"100.00"}, "reference": {"R" + string(rune('0'+i))}})
		}()
	}
	for range cap(answers) {
		(<-answers).want(303)
	}
	x, err := b.Service.Invoice(b.ctx, b.Operator, b.Org, number)
	b.must(err)
	if len(x.Payments) != 1 {
		t.Errorf("%d payments", len(x.Payments))
	}
}

func TestAFormTooLargeIsRefused(t *testing.T) {
	t.Parallel()
	b := full(t, nil)
	b.as(b.Operator.Email).post("/op/sites", url.Values{"name": {strings.Repeat("x", bodyLimit)}}).want(422).says("larger than")
}

func TestMetricsWantTheirToken(t *testing.T) {
	t.Parallel()
	b := full(t, func(o *Options) { o.MetricsToken = "scrape-me" })
	w := b.browser()
	w.get("/op")
	w.do("GET", "/metrics", nil, http.Header{"Authorization": {"Bearer wrong"}}).want(401)
	body := w.do("GET", "/metrics", nil, http.Header{"Authorization": {"Bearer scrape-me"}}).want(200).body
	for _, line := range []string{`gpupool_gpus{class="a100-80g",use="free"} 8`, `gpupool_http_requests_total{method="GET",route="/op",status="303"} 1`, "gpupool_cluster_up", "gpupool_outbox_open"} {
		if !strings.Contains(body, line) {
			t.Errorf("no %s", line)
		}
	}
}

func TestHTTPSMakesTheCookieSecure(t *testing.T) {
	t.Parallel()
	b := full(t, func(o *Options) { o.PublicURL = "https://pool.example" })
	r := b.browser().post("/signin", url.Values{"email": {b.Owner.Email}, "password": {password}}).want(303)
	if c := r.header.Get("Set-Cookie"); !strings.HasPrefix(c, "__Host-gpupool_session=") || !strings.Contains(c, "Secure") {
		t.Errorf("cookie %q", c)
	}
}

func TestArgon2idKeepsPasswords(t *testing.T) {
	t.Parallel()
	a := Argon2id{Memory: 64, Passes: 1, Threads: 1}
	hash, err := a.Hash("correct horse")
	if err != nil || !strings.HasPrefix(hash, "$argon2id$v=19$m=64,t=1,p=1$") {
		t.Fatalf("%q %v", hash, err)
	}
	other, err := a.Hash("correct horse")
	if err != nil || other == hash {
		t.Errorf("two hashes of one password are the same: %v", err)
	}
	if ok, err := a.Matches("correct horse", hash); !ok || err != nil {
		t.Error("the right password is refused", err)
	}
	if ok, err := a.Matches("correct horsf", hash); ok || err != nil {
		t.Error("a wrong password is taken", err)
	}
	strong, err := Argon2id{}.Hash("x")
	if err != nil || !strings.HasPrefix(strong, "$argon2id$v=19$m=65536,t=1,p=4$") {
		t.Errorf("%q %v", strong, err)
	}
}
