package web

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"

	"gpupool/domain"
	"gpupool/domain/pool"
)

// cells of a row of a table, by its id.
func cells(doc *goquery.Document, table string, row int) []string {
	var out []string
	doc.Find("#" + table + " tbody tr").Eq(row).Children().Each(func(_ int, s *goquery.Selection) {
		out = append(out, strings.Join(strings.Fields(s.Text()), " "))
	})
	return out
}

// It is Monday 2 November 2026, 10:00 in Berlin.
func TestAQuotaByTimeIsMadeShownAndEnded(t *testing.T) {
	t.Parallel()
	b := full(t, nil)
	w, anna := b.as(b.Operator.Email), b.as(b.Owner.Email)
	w.get("/op/policies").want(200).says("No time policy yet")
	if anna.get("/o/rheinau/quota").want(200).doc().Find("#policies, #changes").Length() != 0 {
		t.Error("without a time policy the member sees tables of them")
	}
	in := url.Values{"name": {"Lends nothing <b>"}, "org": {"rheinau"}, "class": {"a100-80g"}, "guaranteed": {"+1"}, "lend": {"0"}, "days": {"mon", "tue", "wed", "thu", "fri"}, "from": {"08:00"}, "to": {"18:00"}}
	w.post("/op/policies", in).want(303)
	page := w.get("/op/policies").want(200).says("was added. It holds from now on")
	row := cells(page.doc(), "policies", 0)
	for i, want := range []string{"Lends nothing <b>", "TU Rheinau", "1 more guaranteed, lends nothing", "Mon to Fri, 08:00 to 18:00", "Holds now"} {
		if len(row) < 6 || !strings.Contains(row[i], want) {
			t.Errorf("cell %d: %q, want %q", i, row, want)
		}
	}
	in.Del("nonce")
	in.Set("name", "Noon")
	in.Set("from", "12:00")
	r := w.post("/op/policies", in).want(422)
	if !strings.Contains(r.at("lend"), "sets the same at some of these hours") || r.value("from") != "12:00" || r.value("guaranteed") != "+1" {
		t.Errorf("refused at lend with %q, typed %q", r.at("lend"), r.value("from"))
	}
	doc := anna.get("/o/rheinau/quota").want(200).doc()
	if row := cells(doc, "policies", 0); len(row) != 5 || row[0] != "Lends nothing <b>" || !strings.Contains(row[4], "until Mon 2 Nov 2026, 18:00 CET") {
		t.Errorf("the member sees %q", row)
	}
	for i, want := range []string{"Mon 2 Nov 2026, 18:00 CET", "A100 80 GB", "7 → 6", "6", "0 → 4"} {
		if row := cells(doc, "changes", 0); len(row) != 5 || row[i] != want {
			t.Errorf("the next change is %q, cell %d wants %q", row, i, want)
		}
	}
	if row := cells(doc, "limits", 0); row[1] != "7" || row[7] != "0 / 0" {
		t.Errorf("the quota of now is %q", row)
	}
	action, _ := page.doc().Find("#policies form").Attr("action")
	w.post(action, nil).want(303)
	w.get("/op/policies").want(200).says("has ended.")
	w.post(action, nil).want(409)
	if row := cells(anna.get("/o/rheinau/quota").want(200).doc(), "limits", 0); row[1] != "6" || row[7] != "4 / 4" {
		t.Errorf("afterwards the quota is %q", row)
	}
	if rows, err := b.Service.AuditTrail(b.ctx, b.Operator, b.Org, 0, 10); err != nil || rows[0].Action != "time_policy.end" || rows[1].Action != "time_policy.create" {
		t.Errorf("audit %+v: %v", rows, err)
	}
}

func TestHoursAreClosed(t *testing.T) {
	t.Parallel()
	b := full(t, nil)
	w := b.as(b.Operator.Email)
	r := w.post("/op/policies", url.Values{"closed": {"on"}, "name": {"Teaching"}, "tier": {"spot"}, "from": {"8"}, "to": {"18:00"}}).want(422)
	if r.doc().Find("#closed .bad").Length() != 1 || r.doc().Find("#policy .bad").Length() != 0 {
		t.Errorf("the mistake is shown at %d fields of its form and %d of the other", r.doc().Find("#closed .bad").Length(), r.doc().Find("#policy .bad").Length())
	}
	w.post("/op/policies", url.Values{"closed": {"on"}, "name": {"Teaching"}, "tier": {"spot"}, "days": {"tue", "thu"}, "from": {"22:00"}, "to": {"06:00"}}).want(303)
	row := cells(w.get("/op/policies").want(200).doc(), "policies", 0)
	for i, want := range []string{"Teaching", "every member every GPU type", "no spot work runs", "Tue, Thu, 22:00 to 06:00 the next day", "from Tue 3 Nov 2026, 22:00 CET"} {
		if !strings.Contains(row[i], want) {
			t.Errorf("cell %d: %q, want %q", i, row[i], want)
		}
	}
	// Everybody it concerns sees it, and a job that waits for it says until when.
	b.as(b.Viewer.Email).get("/o/rheinau/quota").want(200).says("Teaching", "no spot work runs")
	b.Clock.Set(pool.At(time.Date(2026, 11, 3, 21, 30, 0, 0, time.UTC)))
	id := b.submits("night", 1, pool.Spot)
	b.decides()
	b.as(b.Member.Email).get("/o/rheinau/jobs/" + string(id)).want(200).says("Not allowed at this time of day; allowed from 4 Nov 2026, 06:00 CET.")
}

func TestAMaintenanceIsPlannedOnItsPageAndStandsOnAll(t *testing.T) {
	t.Parallel()
	b := full(t, nil)
	w, ming := b.as(b.Operator.Email), b.as(b.Member.Email)
	r := w.post("/op/announcements", url.Values{"maintenance": {"on"}, "text": {"New switch"}, "node": {"gpu-01"}, "start": {"2026-11-12T08:00"}, "end": {"2026-11-12T07:00"}}).want(422)
	if r.at("end") == "" || r.value("start") != "2026-11-12T08:00" || r.value("text") != "New switch" {
		t.Errorf("refused at %q, typed %q", r.at("end"), r.value("start"))
	}
	w.post("/op/announcements", url.Values{"maintenance": {"on"}, "text": {"New switch"}, "node": {"gpu-01"}, "start": {"2026-11-12T08:00"}, "end": {"2026-11-12T12:00"}}).want(303)
	w.post("/op/announcements", url.Values{"text": {"Survey: <i>tell us</i>"}, "end": {"2026-11-20T00:00"}}).want(303)
	page := w.get("/op/announcements").want(200)
	row := cells(page.doc(), "announcements", 1)
	for i, want := range []string{"New switch", "gpu-01", "Thu 12 Nov 2026, 08:00 CET", "Thu 12 Nov 2026, 12:00 CET", "Planned"} {
		if !strings.Contains(row[i], want) {
			t.Errorf("cell %d: %q, want %q", i, row[i], want)
		}
	}
	w.get("/op/nodes").want(200).says("Maintenance from Thu 12 Nov 2026, 08:00 CET to Thu 12 Nov 2026, 12:00 CET")
	notices := func(c *browser) string { return c.get("/o/rheinau/jobs").want(200).doc().Find(".notice").Text() }
	if s := notices(ming); !strings.Contains(s, "Survey: <i>tell us</i>") || strings.Contains(s, "switch") {
		t.Errorf("ten days before the member reads %q", s)
	}
	if s := b.browser().get("/").want(200).body; strings.Contains(s, "Survey") {
		t.Error("a stranger reads it")
	}
	// A job that could run into it isn't started there, and says so.
	b.Clock.Set(pool.At(time.Date(2026, 11, 11, 12, 0, 0, 0, time.UTC)))
	if s := notices(ming); !strings.Contains(s, "Maintenance from 12 Nov 2026, 08:00 CET to 12 Nov 2026, 12:00 CET") || !strings.Contains(s, "New switch") {
		t.Errorf("the day before the member reads %q", s)
	}
	j, err := b.Service.SubmitJob(b.ctx, b.Member, b.Org, domain.JobInput{Project: b.Project.ID, Name: "long", Classes: []pool.ClassID{b.Class}, Nodes: 1, GPUsPerNode: 1,
		Tier: pool.Burst, MaxRun: 24 * time.Hour, Spec: domain.JobSpec{Image: "pytorch/pytorch:2.6"}})
	b.must(err)
	b.decides()
	ming.get("/o/rheinau/jobs/" + string(j.ID)).want(200).says("on nodes in maintenance, or that go into it before the job would end; the first is back at 12 Nov 2026, 12:00 CET")
	b.Clock.Set(pool.At(time.Date(2026, 11, 12, 8, 0, 0, 0, time.UTC)))
	w.get("/op/nodes").want(200).says("In maintenance", "until Thu 12 Nov 2026, 12:00 CET")
	if s := notices(ming); !strings.Contains(s, "Maintenance until 12 Nov 2026, 12:00 CET") {
		t.Errorf("meanwhile the member reads %q", s)
	}
	action, _ := page.doc().Find(`#announcements tr:contains("New switch") form`).Attr("action")
	w.post(action, nil).want(303)
	w.get("/op/announcements").want(200).says("The maintenance is over.")
	w.post(action, nil).want(409)
	if s := notices(ming); strings.Contains(s, "switch") {
		t.Errorf("afterwards the member reads %q", s)
	}
	if row := cells(w.get("/op/announcements").want(200).doc(), "past", 0); row[0] != "New switch" {
		t.Errorf("past: %q", row)
	}
}

func TestPriorityOfAMembersOwnJobsIsASetting(t *testing.T) {
	t.Parallel()
	b := full(t, nil)
	w := b.as(b.Operator.Email)
	page := w.get("/op/settings").want(200).says("Off: priority orders what waits, and stops nothing.")
	if _, on := page.doc().Find("#f-own_priority").Attr("checked"); on {
		t.Error("it is on before anybody switched it on")
	}
	form := url.Values{"own_priority": {"on"}}
	page.doc().Find("#settings input, #settings select, #settings textarea").Each(func(_ int, s *goquery.Selection) {
		name, _ := s.Attr("name")
		switch {
		case name == "own_priority" || name == "nonce" || s.AttrOr("type", "") == "checkbox":
		case goquery.NodeName(s) == "textarea":
			form.Set(name, s.Text())
		case goquery.NodeName(s) == "select":
			form.Set(name, s.Find("option[selected]").AttrOr("value", ""))
		default:
			form.Set(name, s.AttrOr("value", ""))
		}
	})
	w.post("/op/settings", form).want(303)
	if st, err := b.Service.Settings(b.ctx); err != nil || !st.OwnPriority || st.Fair {
		t.Errorf("settings %+v: %v", st, err)
	}
	if _, on := w.get("/op/settings").doc().Find("#f-own_priority").Attr("checked"); !on {
		t.Error("the page forgot it")
	}
	b.decides()
	if !b.Service.LastDecision().Snapshot.Policy.OwnPriority {
		t.Error("the engine doesn't know")
	}
}

func TestTheCalendarInTheAPI(t *testing.T) {
	t.Parallel()
	b := openAPIBench(t)
	_, _, err := b.Service.AddTimePolicy(b.ctx, b.pool.Operator, domain.TimePolicyInput{Name: "Nights", Org: b.pool.Org, Class: b.pool.Class, Guaranteed: "2", Borrow: "8", From: "20:00", To: "06:00"})
	b.must(err)
	_, err = b.Service.Announce(b.ctx, b.pool.Operator, domain.AnnouncementInput{Text: "Power", Start: "2026-11-12 08:00", End: "2026-11-12 12:00", Maintenance: true, Site: b.pool.Site})
	b.must(err)
	quota := in[object](b.get("/api/v1/orgs/rheinau/quota", b.token(b.pool.Viewer, domain.ScopeRead)).want(200))
	p := quota["time_policies"].([]any)[0].(object)
	if p["name"] != "Nights" || p["guaranteed"] != 2.0 || p["lend_limit"] != nil || p["from"] != "20:00" || p["holds_until"] != nil || p["holds_next"] != "2026-11-02T19:00:00.000Z" || len(p["weekdays"].([]any)) != 7 {
		t.Errorf("time policy %v", p)
	}
	c := quota["changes"].([]any)[0].(object)
	if c["from"] != "2026-11-02T19:00:00.000Z" || c["guaranteed"] != 2.0 || c["borrow_limit"] != 8.0 || c["lend_limit"] != 4.0 {
		t.Errorf("change %v", c)
	}
	if all := in[object](b.get("/api/v1/time-policies", b.token(b.pool.Operator, domain.ScopeRead)).want(200))["items"].([]any); len(all) != 1 {
		t.Errorf("time policies %v", all)
	}
	a := in[object](b.get("/api/v1/announcements", b.token(b.pool.Member)).want(200))["items"].([]any)[0].(object)
	if a["text"] != "Power" || a["start"] != "2026-11-12T07:00:00.000Z" || a["maintenance"] != true || a["node"] != nil || a["site"] != "main" {
		t.Errorf("announcement %v", a)
	}
}
