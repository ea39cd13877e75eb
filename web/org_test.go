package web

import (
	"strings"
	"testing"
	"time"
)

func TestTheDashboardAnswersFourQuestions(t *testing.T) {
	t.Parallel()
	p := open(t)
	w := p.owner()
	w.get("/o/rheinau").want(200).says("First steps", "Submit the first job", "0 of 6 guaranteed in use", "6,490.00")
	p.submit(w)
	p.cycle()
	p.pool.Clock.Add(time.Hour)
	p.cycle()
	page := w.get("/o/rheinau").want(200)
	page.says("4 of 6 guaranteed in use", "5.00 EURat list price, of what runs", "4 of 3,000 included GPU-hours", "is closed", "llm-ft")
	if page.doc().Find("#start").Length() != 0 {
		t.Error("the first steps stay after the first job")
	}
	if page.doc().Find(`[data-bind]`).Length() < 3 {
		t.Error("the page does not follow the server")
	}
	p.foreign().get("/o/rheinau").want(404)
	p.foreign().get("/o/kestrelis").want(200).says("no subscription", "Choose a plan")
	p.viewer().get("/o/rheinau").want(200)
}

func TestTheOwnerSetsLimitsWithinThePlan(t *testing.T) {
	t.Parallel()
	p := open(t)
	w := p.owner()
	w.get("/o/rheinau/quota").want(200).says("Borrow at most", "6 / 6", "4 / 4")
	path := "/o/rheinau/quota/" + string(p.pool.Class)
	for _, bad := range []string{"7", "-1", "two", "1.5", "99999999999999999999", "<b>"} {
		a := w.post(path, with(nil, "borrow", bad, "lend", "1")).want(422)
		if !strings.Contains(a.text(), "Write a whole number from 0 to 6.") || a.value("borrow") != bad {
			t.Errorf("borrow %q: %s", bad, a.text())
		}
	}
	w.post(path, with(nil, "borrow", "2", "lend", "")).want(303)
	w.get("/o/rheinau/quota").want(200).says("2 / 6", "4 / 4")
	w.post("/o/rheinau/quota/b200", with(nil, "borrow", "1")).want(404)
	p.member().post(path, with(nil, "borrow", "1")).want(403)
	if p.member().get("/o/rheinau/quota").want(200).doc().Find("form[action='"+path+"']").Length() != 0 {
		t.Error("a member is offered to change limits")
	}
}

func TestUsageAddsUp(t *testing.T) {
	t.Parallel()
	p := open(t)
	w := p.owner()
	w.get("/o/rheinau/usage").want(200).says("Nothing was used in")
	p.submit(w)
	p.submit(p.member(), "tier", "spot")
	p.cycle()
	p.pool.Clock.Add(time.Hour)
	p.cycle()
	page := w.get("/o/rheinau/usage").want(200).says("provisional", "LLM", "Included hours", "Spot", "1.80 EUR")
	if got := strings.TrimSpace(page.doc().Find("#usage tfoot td").Last().Text()); got != "1.80 EUR" {
		t.Errorf("the total is %q", got)
	}
	if got := page.doc().Find("#costs-table tbody td").Last().Text(); got != "1.80" {
		t.Errorf("the chart's table says %q", got)
	}
	w.get("/o/rheinau/usage?by=person").want(200).says("anna", "ming")
	w.get("/o/rheinau/usage?by=class").want(200).says("a100-80g")
	w.get("/o/rheinau/usage?month=1999-01").want(404)
	w.get("/o/rheinau/usage?month=soon").want(404)
	if csv := w.get("/o/rheinau/usage.csv").want(200); !strings.Contains(csv.body, "amount_EUR") || !strings.Contains(csv.body, ",spot,4.000,1.80,yes") {
		t.Errorf("the file is %s", csv.body)
	}
}

func TestEverybodySeesThePoolAndItsPrices(t *testing.T) {
	t.Parallel()
	p := open(t)
	w := p.browser()
	w.get("/").want(200).says("One GPU cluster. 2 organisations.", "Campus", "6 guaranteed", "6,490.00 EUR", "1.25 EUR", "Verify all invoices now")
	w.get("/marketplace").want(200).says("A100 80 GB", "80 GiB", "0.45 EUR", "in force since", "60 %")
	w.get("/verify").want(200).says("No invoice was issued yet")
	p.owner().get("/marketplace").want(200)
}

func TestTheTrailIsForOwnersAndViewers(t *testing.T) {
	t.Parallel()
	p := open(t)
	p.owner().get("/o/rheinau/audit").want(200).says("subscription.start")
	p.viewer().get("/o/rheinau/audit").want(200)
	p.member().get("/o/rheinau/audit").want(403)
}

func TestTheDashboardAsksTheSameHoweverManyJobsThereAre(t *testing.T) {
	t.Parallel()
	p := open(t)
	w := p.member()
	p.submit(w)
	p.cycle()
	w.get("/o/rheinau").want(200) // what is kept is read once
	first := p.statements(w, "/o/rheinau")
	for range 55 {
		p.spot()
	}
	p.cycle()
	w.get("/o/rheinau").want(200)
	if many := p.statements(w, "/o/rheinau"); many != first || many > 12 {
		t.Errorf("%d statements for one job, %d for 56; at most 12 and the same", first, many)
	}
}
