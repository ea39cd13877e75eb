package web

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"

	"gpupool/domain"
	"gpupool/domain/pool"
)

// hostile is text that must come back as it was typed and never do anything.
var hostile = []string{"<script>alert(1)</script>", "'; DROP TABLE orgs; --", "🦙🦙🦙", "李明的项目", strings.Repeat("x", 5000), "\x00\x01", "-1", "99999999999999999999", "1e9", "１２", "../../etc/passwd", "%s%d%n"}

func TestTheOperatorCreatesAMemberAndItsOwnerAccepts(t *testing.T) {
	t.Parallel()
	b := full(t, nil)
	w := b.as(b.Operator.Email)
	r := w.post("/op/members", url.Values{"name": {"Helixbay <b>"}, "slug": {"No Slug"}, "owner_email": {"nobody"}}).want(422)
	if r.at("slug") == "" || r.at("owner_email") == "" || r.value("name") != "Helixbay <b>" || r.value("slug") != "No Slug" || r.value("owner_email") != "nobody" {
		t.Errorf("refused: %q %q, typed %q", r.at("slug"), r.at("owner_email"), r.value("name"))
	}
	if at := w.post("/op/members", url.Values{"name": {"Again"}, "slug": {"rheinau"}, "owner_email": {"a@b.example"}}).want(422).at("slug"); at == "" {
		t.Error("a short name is given twice")
	}
	l := w.post("/op/members", url.Values{"name": {"Helixbay"}, "slug": {"helixbay"}, "owner_email": {"noor@helixbay.example"}}).want(303).location()
	page := w.get(l).want(200).says("Helixbay is a member now.", "It is shown once")
	link, err := url.Parse(page.doc().Find("#secret code").Text())
	b.must(err)
	if w.get(l).doc().Find("#secret").Length() != 0 {
		t.Error("the link is shown twice")
	}
	n := b.browser()
	n.get(link.Path).want(200).says("Join Helixbay", "noor@helixbay.example", "Owner")
	refused := n.post(link.Path, url.Values{"name": {"Noor"}, "password": {"short"}}).want(422)
	if refused.at("password") == "" || refused.value("name") != "Noor" {
		t.Error("the refused form lost what was typed or says nothing")
	}
	n.post(link.Path, url.Values{"name": {"Noor"}, "password": {password}}).want(303)
	n.get("/account").want(200).says("noor@helixbay.example")
	b.browser().get(link.Path).want(409).says("accepted already")
	w.get("/op/members").want(200).says("Helixbay")
}

func TestSomebodySignedInAcceptsAnInvitationForTheirAddressOnly(t *testing.T) {
	t.Parallel()
	b := full(t, nil)
	_, token, err := b.Service.InviteMember(b.ctx, b.OtherOwner, b.Other, domain.InviteInput{Email: b.Member.Email, Role: pool.RoleViewer})
	b.must(err)
	path := "/invite/" + token
	b.browser().get(path).want(200).says("has an account already")
	b.as(b.Lead.Email).post(path, nil).want(409).says("This invitation is for")
	w := b.as(b.Member.Email)
	w.get(path).want(200).says("Accept and join")
	w.post(path, nil).want(303)
	w.get("/account").want(200).says("You have joined.")
}

func TestAMemberIsPausedForAReasonAndRunsAgain(t *testing.T) {
	t.Parallel()
	b := full(t, nil)
	w := b.as(b.Operator.Email)
	w.post("/op/members/rheinau/pause", nil).want(422).says("Please fill in this field.")
	w.post("/op/members/rheinau/pause", url.Values{"reason": {"invoice overdue"}}).want(303)
	w.get("/op/members/rheinau").want(200).says("is paused.", "invoice overdue", "Lift this reason")
	w.post("/op/members/rheinau/resume", url.Values{"reason": {"invoice overdue"}}).want(303)
	w.get("/op/members/rheinau").want(200).says("runs again.", "Not paused")
	w.post("/op/members/never-was/pause", url.Values{"reason": {"x"}}).want(404)
}

func TestTheOwnerIsInvitedAgainOnlyWhileThereIsNone(t *testing.T) {
	t.Parallel()
	b := full(t, nil)
	w := b.as(b.Operator.Email)
	if w.get("/op/members/rheinau").want(200).doc().Find("#invite").Length() != 0 {
		t.Error("an owner can be invited though there is one")
	}
	w.post("/op/members", url.Values{"name": {"Helixbay"}, "slug": {"helixbay"}, "owner_email": {"noor@helixbay.example"}}).want(303)
	w.get("/op/members/helixbay")
	w.post("/op/members/helixbay/invite", url.Values{"email": {"else@helixbay.example"}}).want(303)
	if w.get("/op/members/helixbay").want(200).doc().Find("#secret code").Text() == "" {
		t.Error("no new link")
	}
}

func TestAGPUTypeIsMadeOfADeviceThatTheClusterReports(t *testing.T) {
	t.Parallel()
	b := full(t, nil)
	b.cluster.add("gpu-09", "NVIDIA H100-SXM5-80GB", 8)
	w := b.as(b.Operator.Email)
	page := w.get("/op/classes").want(200).says("Devices of the cluster without a GPU type", "NVIDIA H100-SXM5-80GB")
	href := page.doc().Find("#unclassed a").AttrOr("href", "")
	form := w.get(strings.TrimSuffix(href, "#new")).want(200)
	if form.value("model") != "NVIDIA H100-SXM5-80GB" || form.value("id") != "h100-sxm5-80gb" || form.value("memory_mib") != "81920" {
		t.Errorf("the suggestion fills in %q %q %q", form.value("model"), form.value("id"), form.value("memory_mib"))
	}
	w.post("/op/classes", url.Values{"id": {"h100-80g"}, "name": {"H100 80 GB"}, "vendor": {"nvidia"}, "model": {"NVIDIA H100-SXM5-80GB"}, "memory_mib": {"81920"}}).want(303)
	w.get("/op/classes").want(200).says("The GPU type H100 80 GB was created.", "h100-80g")
	w.post("/op/classes/h100-80g", url.Values{"name": {"H100"}, "vendor": {"nvidia"}, "model": {"NVIDIA H100-SXM5-80GB"}, "memory_mib": {"81920"}, "cloud_low": {"2.50"}, "cloud_high": {"6.5"}, "cloud_note": {"lists of 9 Nov"}}).want(303)
	if got := w.get("/op/classes/h100-80g").want(200).value("cloud_high"); got != "6.50" {
		t.Errorf("cloud price %q", got)
	}
}

func TestTheClusterMayBeAway(t *testing.T) {
	t.Parallel()
	b := full(t, nil)
	b.cluster.down = domain.Errf(domain.Unavailable, "Nomad does not answer.")
	w := b.as(b.Operator.Email)
	w.get("/op/classes").want(200).says("The cluster does not answer")
	w.get("/op/nodes").want(200).says("gpu-01")
	w.get("/op").want(200)
	if body := w.get("/readyz").want(200).body; !strings.Contains(body, "degraded") {
		t.Error(body)
	}
}

func TestEveryFieldOfTheOperatorRefusesNonsenseAndKeepsWhatWasTyped(t *testing.T) {
	t.Parallel()
	b := full(t, nil)
	number := b.closed()
	w := b.as(b.Operator.Email)
	forms := map[string][]string{
		"/op/classes":                         {"id", "memory_mib", "per_card", "cpu_per_gpu", "mem_per_gpu", "max_run_hour", "cloud_low"},
		"/op/classes/a100-80g":                {"memory_mib", "default_max_run_hour"},
		"/op/plans":                           {"id"},
		"/op/plans/campus/draft":              {"fee", "guaranteed.a100-80g", "included.a100-80g", "borrow.a100-80g", "lend.a100-80g"},
		"/op/members":                         {"slug", "owner_email"},
		"/op/sites":                           {"id"},
		"/op/policies":                        {"guaranteed", "borrow", "lend", "from", "to", "first", "last"},
		"/op/announcements":                   {"start", "end"},
		"/op/settings":                        {"grace_hours", "notice_minutes", "zone", "invoice_prefix", "seller_country", "longest_max_run_hours"},
		"/op/nodes/gpu-01/contribution":       {"gpus", "quota"},
		"/op/invoices/" + number + "/payment": {"amount", "received_at"},
	}
	for path, fields := range forms {
		for _, field := range fields {
			for _, typed := range hostile {
				if (field == "amount" || field == "guaranteed" && path == "/op/policies") && typed == "-1" {
					continue // money that was sent back, one GPU less
				}
				if (field == "id" || field == "slug") && pool.CheckSlug(typed) == nil {
					continue // odd, but a short name
				}
				r := w.post(path, url.Values{field: {typed}, "org": {string(b.Org)}})
				if r.status != 422 {
					t.Errorf("%s %s=%.30q: %d", path, field, typed, r.status)
					continue
				}
				if r.at(field) == "" {
					t.Errorf("%s %s=%.30q: no sentence at the field", path, field, typed)
				}
				if want := strings.ReplaceAll(typed, "\x00", "\uFFFD"); r.value(field) != want {
					t.Errorf("%s %s: typed %.30q, came back %.30q", path, field, want, r.value(field))
				}
				if r.doc().Find("main script").Length() > 0 {
					t.Fatalf("%s %s: typed script became a script", path, field)
				}
			}
		}
	}
}

func TestAPlanIsDraftedPublishedAndThenNeverChanges(t *testing.T) {
	t.Parallel()
	b := full(t, nil)
	w := b.as(b.Operator.Email)
	l := w.post("/op/plans", url.Values{"id": {"lab"}, "name": {"Lab"}}).want(303).location()
	w.get(l).want(200).says("No version yet")
	fields := url.Values{"fee": {"3990.00"}, "guaranteed.a100-80g": {"3"}, "included.a100-80g": {"900"}, "borrow.a100-80g": {"4"}, "lend.a100-80g": {"4"}}
	if at := w.post(l+"/draft", fields).want(422).at("lend.a100-80g"); !strings.Contains(at, "3") {
		t.Errorf("lending more than guaranteed: %q", at)
	}
	fields.Set("lend.a100-80g", "2")
	fields.Del("nonce")
	w.post(l+"/draft", fields).want(303)
	page := w.get(l).want(200).says("Version 1 is a draft", "3,990.00 EUR", "3 guaranteed, 900 h included")
	version := page.doc().Find(`#publish input[name="version"]`).AttrOr("value", "")
	w.post(l+"/publish", url.Values{"version": {version}}).want(303)
	w.get(l).want(200).says("Version 1 published", "guaranteed GPUs are sold")
	w.post(l+"/publish", url.Values{"version": {version}}).want(409)
}

func TestAPriceListIsDraftedFromTheOneInForceAndPublished(t *testing.T) {
	t.Parallel()
	b := full(t, nil)
	w := b.as(b.Operator.Email)
	page := w.get("/op/prices/new").want(200)
	form := url.Values{"name": {"Winter"}, "from": {"2026-12-01"}}
	page.doc().Find("#prices [name]").Each(func(_ int, s *goquery.Selection) {
		name, _ := s.Attr("name")
		if name != "nonce" && name != "name" && !(name == "from") {
			form.Set(name, page.value(name))
		}
	})
	if form.Get("price.0") != "1.25" {
		t.Fatalf("the draft begins with %q", form.Get("price.0"))
	}
	form.Set("price.0", "abc")
	if r := w.post("/op/prices/new", form).want(422); r.at("price.0") == "" || r.value("price.0") != "abc" || r.value("from") != "2026-12-01" {
		t.Errorf("refused: %q %q %q", r.at("price.0"), r.value("price.0"), r.value("from"))
	}
	form.Set("price.0", "1.15")
	form.Del("nonce")
	l := w.post("/op/prices/new", form).want(303).location()
	w.get(l).want(200).says("The draft Winter was saved.")
	w.post(l+"/publish", nil).want(303)
	w.get(l).want(200).says("Winter is published.", "In force from Tue 1 Dec 2026, 00:00 CET", "1.15 EUR")
	w.get("/op/prices").want(200).says("Announced", "In force")
}

func TestUnsoundPricesNeedAReason(t *testing.T) {
	t.Parallel()
	b := full(t, nil)
	b.Clock.Add(time.Hour) // beyond the list in force
	w := b.as(b.Operator.Email)
	form := url.Values{"name": {"Odd"}}
	for i, row := range [][3]string{{"a100-80g", "own", "1.00"}, {"a100-80g", "loan", "1.00"}, {"a100-80g", "spot", "2.00"}} {
		n := "." + string(rune('0'+i))
		form.Set("class"+n, row[0])
		form.Set("cover"+n, row[1])
		form.Set("price"+n, row[2])
	}
	l := w.post("/op/prices/new", form).want(303).location()
	w.post(l+"/publish", nil).want(422).says("spot for 2.00 EUR is not below loan for 1.00 EUR")
	w.post(l+"/publish", url.Values{"override": {"a test of demand"}}).want(303)
}

func TestANodeIsAssignedAndCordoned(t *testing.T) {
	t.Parallel()
	b := full(t, nil)
	w := b.as(b.Operator.Email)
	w.get("/op/nodes").want(200).says("gpu-01", "Ready", "the consortium", "Main hall")
	w.post("/op/sites", url.Values{"id": {"lindenholm"}, "name": {"Lindenholm"}}).want(303)
	if r := w.post("/op/nodes/gpu-01", url.Values{"site": {"nowhere"}, "contributor": {"rheinau"}}).want(422); r.at("site") == "" {
		t.Error("an unknown site is taken")
	}
	w.post("/op/nodes/gpu-01", url.Values{"site": {"lindenholm"}, "contributor": {"rheinau"}, "cordoned": {"on"}}).want(303)
	w.get("/op/nodes").want(200).says("Cordoned", "lindenholm", "TU Rheinau")
	if r := w.post("/op/nodes/gpu-01/contribution", url.Values{"org": {"rheinau"}, "gpus": {"99"}, "quota": {"0"}}).want(422); r.at("gpus") == "" || r.value("gpus") != "99" {
		t.Error("more GPUs than the node has are taken")
	}
	w.post("/op/nodes/gpu-01/contribution", url.Values{"org": {"rheinau"}, "gpus": {"8"}, "quota": {"2"}}).want(303)
	w.get("/op/nodes/gpu-01").want(200).says("The contribution was recorded.", "rheinau")
	w.post("/op/nodes/gone", nil).want(404)
}

func TestTheQueueIsExplainedInWords(t *testing.T) {
	t.Parallel()
	b := full(t, nil)
	w := b.as(b.Operator.Email)
	w.get("/op/queue").want(200).says("No decision yet")
	b.must(b.Service.PauseAdmission(b.ctx, b.Operator, true))
	b.orgValues()
	_, err := b.Service.RunEngine(b.ctx)
	b.must(err)
	w.get("/op/queue").want(200).says("walked", "flexible", "1 GPUs, A100 80 GB", "The operator has paused the start of new jobs.", "Resume admission")
	w.get("/op").want(200).says("Admission is paused", "Jobs waiting1")
	w.post("/op/pause", url.Values{"paused": {"no"}}).want(303)
	_, err = b.Service.RunEngine(b.ctx)
	b.must(err)
	w.get("/op/queue").want(200).says("Started by this decision", "1 on gpu-01", "1 own", "Pause admission")
	heat := w.get("/op").want(200).doc().Find("#heat-table tbody td").First().Text()
	if heat != "1" {
		t.Errorf("the heat map counts %q own GPUs", heat)
	}
}

func TestAMonthIsClosedOnceItsGraceHasPassed(t *testing.T) {
	t.Parallel()
	b := full(t, nil)
	w := b.as(b.Operator.Email)
	w.get("/op/closing").want(200).says("November 2026", "Open", "can be closed from Wed 2 Dec 2026, 00:00 CET")
	w.post("/op/closing", url.Values{"month": {"2026-11"}}).want(409).says("can be closed from")
	w.post("/op/closing", url.Values{"month": {"<b>"}}).want(422)
	b.Clock.Set(pool.At(time.Date(2026, 12, 2, 12, 0, 0, 0, time.UTC)))
	w = b.as(b.Operator.Email)
	w.get("/op/closing").want(200).says("Ready to close")
	w.post("/op/closing", url.Values{"month": {"2026-11"}}).want(303)
	page := w.get("/op/closing?month=2026-11").want(200).says("1 invoices issued, 0 were there already", "Main", "rheinau")
	number := page.doc().Find("#accounts td a").First().Text()
	w.post("/op/closing", url.Values{"month": {"2026-11"}}).want(303)
	again := w.get("/op/closing?month=2026-11").want(200).says("0 invoices issued, 1 were there already")
	if got := again.doc().Find("#accounts td a").First().Text(); got != number || number == "" {
		t.Errorf("closing again made %q of %q", got, number)
	}
}

func TestAPaymentIsRecordedOnAnInvoice(t *testing.T) {
	t.Parallel()
	b := full(t, nil)
	number := b.closed()
	w := b.as(b.Operator.Email)
	path := "/op/invoices/" + number
	page := w.get(path).want(200).says("Issued", "Nothing received yet")
	due := page.value("amount")
	if due == "" || due == "0.00" {
		t.Fatalf("still to pay %q", due)
	}
	if r := w.post(path+"/payment", url.Values{"amount": {"0"}, "reference": {""}}).want(422); r.at("amount") == "" || r.at("reference") == "" || r.value("amount") != "0" {
		t.Error("nothing is received without a reference, or what was typed is gone")
	}
	w.post(path+"/payment", url.Values{"amount": {due}, "reference": {"SEPA 4711"}, "received_at": {"2026-12-01"}}).want(303)
	w.get(path).want(200).says("Paid", "SEPA 4711")
	if at := w.post(path+"/payment", url.Values{"amount": {"1.00"}, "reference": {"SEPA 4711"}}).want(422).at("reference"); at == "" {
		t.Error("one bank reference is taken twice")
	}
	w.get("/op/invoices?state=paid").want(200).says(number)
	if strings.Contains(w.get("/op/invoices?state=overdue").want(200).text(), number) {
		t.Error("the filter does not filter")
	}
	csv := w.get("/op/invoices?format=csv").want(200)
	if !strings.Contains(csv.body, "number,organisation,") || !strings.Contains(csv.body, number+",rheinau,") || csv.header.Get("Content-Type") != "text/csv; charset=utf-8" {
		t.Errorf("CSV: %s", csv.body)
	}
	w.get("/op/invoices/NB-1900-1").want(404)
}

func TestSettingsAreSavedAndFixedOnceAnInvoiceExists(t *testing.T) {
	t.Parallel()
	b := full(t, nil)
	b.closed()
	w := b.as(b.Operator.Email)
	page := w.get("/op/settings").want(200)
	form := url.Values{}
	page.doc().Find("#settings [name]").Each(func(_ int, s *goquery.Selection) {
		if name, _ := s.Attr("name"); name != "nonce" {
			form.Set(name, page.value(name))
		}
	})
	form.Set("notice_minutes", "20")
	w.post("/op/settings", form).want(303)
	if got := w.get("/op/settings").value("notice_minutes"); got != "20" {
		t.Errorf("saved %q", got)
	}
	form.Set("zone", "Asia/Shanghai")
	form.Del("nonce")
	if r := w.post("/op/settings", form).want(422); r.at("zone") == "" || r.value("zone") != "Asia/Shanghai" {
		t.Errorf("the zone changes under invoices: %q", r.at("zone"))
	}
}

func TestTheTrailNamesWhoChangedWhat(t *testing.T) {
	t.Parallel()
	b := full(t, nil)
	w := b.as(b.Operator.Email)
	w.get("/op/audit").want(200).says("Tomas Berg", "settings.save", "member.join")
	page := w.get("/op/audit?org=kestrelis").want(200)
	if strings.Contains(page.doc().Find("#audit tbody").Text(), "rheinau") {
		t.Error("another member's changes are listed")
	}
	csv := w.get("/op/audit?format=csv&org=kestrelis").want(200).body
	if !strings.Contains(csv, "seq,business_at,") || !strings.Contains(csv, "organisation.create") {
		t.Error(csv)
	}
	w.get("/op/audit?before=nonsense").want(200)
}

func TestAnUnknownPageAndAWrongMethodAreTold(t *testing.T) {
	t.Parallel()
	b := full(t, nil)
	for _, w := range []*browser{b.browser(), b.as(b.Owner.Email), b.as(b.Operator.Email)} {
		w.get("/no/such/page").want(404).says("There is no such page.")
		w.get("/op/plans/%00").want(404)
		w.do("DELETE", "/account", nil, http.Header{"Sec-Fetch-Site": {"same-origin"}}).want(405)
	}
}
