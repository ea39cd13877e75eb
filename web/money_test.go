package web

import (
	"bytes"
	"encoding/csv"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"gpupool/domain"
	"gpupool/domain/pool"
)

// closed is a portal whose first month is closed, with a job of 4 GPUs for one hour in it.
func closed(t *testing.T) (p *portal, number string, job pool.JobID) {
	t.Helper()
	p = open(t)
	_, err := p.Service.SetLimit(p.ctx, p.pool.Owner, p.pool.Org, p.pool.Class, domain.LimitInput{})
	p.must(err)
	job = p.submit(p.member(), "tier", "spot")
	p.cycle()
	p.pool.Clock.Add(time.Hour)
	p.cycle()
	p.cluster.end(pool.AttemptID{Job: job, N: 1})
	p.cycle()
	month := pool.MonthOf(p.pool.Clock.Now(), time.UTC)
	p.pool.Clock.Set(month.Bounds(time.UTC).End.Add(48 * time.Hour))
	p.must(p.Service.MeterDays(p.ctx))
	all, err := p.Service.CloseMonth(p.ctx, p.pool.Operator, month)
	p.must(err)
	for _, c := range all {
		p.must(c.Err)
		if c.Invoice.Org == p.pool.Org {
			number = c.Invoice.Number
		}
	}
	if number == "" {
		t.Fatal("no invoice was made")
	}
	return p, number, job
}

func TestAnInvoiceLeadsToItsJobs(t *testing.T) {
	t.Parallel()
	p, number, job := closed(t)
	w := p.finance()
	w.get("/o/rheinau/invoices").want(200).says(number, "November 2026", "Issued")
	page := w.get("/o/rheinau/invoices/" + number).want(200)
	page.says("Monthly fee, Campus", "Spot, A100 80 GB", "4 GPU-hours", "1.80 EUR", "Tax of 19 %", "Hash", "TU Rheinau", "IBAN")
	if page.doc().Find(`a[href="/o/rheinau/jobs/`+string(job)+`"]`).Length() == 0 {
		t.Error("no line leads to its job")
	}
	p.member().get("/o/rheinau/invoices/" + number).want(403)
	p.foreign().get("/o/rheinau/invoices/" + number).want(404)
	p.foreign().get("/o/kestrelis/invoices/" + number).want(404)
	w.get("/o/rheinau/invoices/NB-2026-999999").want(404)
	p.browser().get("/verify").want(200).says("Every invoice is right.", "1 invoices were computed again")
}

func TestTheFileOfAnInvoiceAddsUpToIt(t *testing.T) {
	t.Parallel()
	p, number, _ := closed(t)
	w := p.finance()
	body := w.get("/o/rheinau/invoices/" + number + ".csv").want(200).body
	rows, err := csv.NewReader(strings.NewReader(strings.TrimPrefix(body, "\uFEFF"))).ReadAll()
	p.must(err)
	at := map[string]int{}
	for i, h := range rows[0] {
		at[h] = i
	}
	cents := 0
	for _, r := range rows[1:] {
		n, err := strconv.Atoi(strings.Replace(r[at["amount_net_EUR"]], ".", "", 1))
		p.must(err)
		cents += n
	}
	view, err := p.Service.Invoice(p.ctx, p.pool.Finance, p.pool.Org, number)
	p.must(err)
	if int64(cents) != int64(view.Frozen.Document.Net) || len(rows) < 3 {
		t.Errorf("the rows add up to %d, the invoice is %d", cents, view.Frozen.Document.Net)
	}
}

func TestTheSameInvoiceIsTheSamePDF(t *testing.T) {
	t.Parallel()
	p, number, _ := closed(t)
	w := p.finance()
	one := w.get("/o/rheinau/invoices/" + number + ".pdf").want(200)
	if font, _ := fontFor("", "A"); font == nil {
		one.says("this server has no font")
		t.Log("this machine has no font: the page to print was checked instead")
		return
	}
	if !bytes.HasPrefix([]byte(one.body), []byte("%PDF-")) || one.header.Get("Content-Type") != "application/pdf" {
		t.Fatalf("no PDF: %.80q", one.body)
	}
	p.pool.Clock.Add(time.Hour)
	if two := w.get("/o/rheinau/invoices/" + number + ".pdf"); two.body != one.body {
		t.Error("the second copy differs")
	}
}

func TestLettersThatNoFontHasLeadToThePageToPrint(t *testing.T) {
	t.Parallel()
	if font, missing := fontFor("", "Rheinau 🚀"); font != nil || missing != "" && missing != "🚀" {
		t.Errorf("a font has %q", missing)
	}
	if _, err := faceOf([]byte("OTTO and more than sixteen bytes")); err == nil {
		t.Error("a font of another kind was taken")
	}
	if _, err := faceOf([]byte("ttcf\x00\x01\x00\x00\xff\xff\xff\xff\xff\xff\xff\xff")); err == nil {
		t.Error("a broken collection was taken")
	}
	if _, err := faceOf(nil); err == nil {
		t.Error("an empty file was taken")
	}
}

func TestAPlanShowsItsExactFeeBeforeItIsChosen(t *testing.T) {
	t.Parallel()
	p := open(t)
	w := p.foreign()
	plan := "/o/kestrelis/billing/plan?version=" + string(p.pool.Starter.ID)
	w.get("/o/kestrelis/billing").want(200).says("No subscription.", "No billing account yet.", "Starter")
	w.get(plan).want(422).says("Add a billing account first")
	account := url.Values{"name": {"Main"}, "buyer_name": {"Kestrelis Mobility SAS"}, "buyer_address": {"1 Rue du Port\n69001 Lyon"}, "buyer_country": {"FR"}, "buyer_tax_id": {"FR1"}, "emails": {"ap@kestrelis.example"},
		"tax_kind": {"reverse"}, "tax_reason": {"Reverse charge"}, "terms_days": {"30"}, "language": {"en"}, "issuer": {"local"}, "fee": {"arrears"}}
	for field, bad := range map[string]string{"name": "", "buyer_country": "Frankreich", "emails": "nobody", "terms_days": "-5", "tax_kind": "maybe", "tax_reason": "", "buyer_tax_id": strings.Repeat("9", 51), "issuer": "bank"} {
		a := w.post("/o/kestrelis/billing/accounts", with(account, field, bad)).want(422)
		if a.at(field) == "" || field != "tax_kind" && field != "issuer" && a.value(field) != bad {
			t.Errorf("%s=%q says %q and came back as %q", field, bad, a.at(field), a.value(field))
		}
	}
	w.post("/o/kestrelis/billing/accounts", account).want(303)
	page := w.get(plan).want(200).says("Fee of each full month, net490.00 EUR", "Subscribe: 490.00 EUR a month")
	form := url.Values{"version": {page.value("version")}, "account": {page.value("account")}}
	w.post("/o/kestrelis/billing/plan", form).want(303)
	w.get("/o/kestrelis/billing").want(200).says("Starter, version 1", "Next invoice of Main", "provisional", "yours")
	w.post("/o/kestrelis/billing/plan", with(form, "nonce", "another")).want(409).says("has Starter already")
	w.get("/o/kestrelis/billing/plan?version="+string(p.pool.Campus.ID)).want(200).says("Difference this month", "Change to Campus")
	w.get("/o/kestrelis/billing/plan?version=other").want(422).says("There is no such plan.")
	w.post("/o/kestrelis/billing/cancel", nil).want(303)
	w.get("/o/kestrelis/billing").want(200).says("Keep Starter")
	w.post("/o/kestrelis/billing/keep", nil).want(303)
	w.get("/o/kestrelis/billing").want(200).says("Cancel the subscription")
	p.finance().post("/o/rheinau/billing/cancel", nil).want(403)
	p.member().get("/o/rheinau/billing").want(403)
	p.viewer().get("/o/rheinau/billing").want(200)
}

func TestCapsAndOrdersComeBackWhenRefused(t *testing.T) {
	t.Parallel()
	p := open(t)
	w := p.finance()
	for _, bad := range []string{"-1", "12,50", "1e9", "99999999999999999999", "<script>", "ten 🚀"} {
		a := w.post("/o/rheinau/billing/cap", url.Values{"amount": {bad}, "mode": {"stop"}}).want(422)
		if a.doc().Find("#f-cap-error").Text() == "" || a.doc().Find("#f-cap").AttrOr("value", "") != bad {
			t.Errorf("cap %q: %s", bad, a.doc().Find("#cap").Text())
		}
	}
	w.post("/o/rheinau/billing/cap", url.Values{"amount": {"400.00"}, "mode": {"stop"}}).want(303)
	w.get("/o/rheinau/billing").want(200).says("400.00 EUR a month, what exceeds it stops")
	order := url.Values{"number": {"4500-17/B"}, "account": {string(p.pool.Account.ID)}, "amount": {"12000.00"}, "from": {""}, "to": {"2027-03-31"}, "at_zero": {"stop"}}
	for field, bad := range map[string]string{"number": "", "amount": "-4", "to": "31.3.2027", "at_zero": "explode", "account": "acc-of-others"} {
		a := w.post("/o/rheinau/billing/orders", with(order, field, bad)).want(422)
		if !strings.Contains(a.text(), "Please check the form") {
			t.Errorf("%s=%q: %s", field, bad, a.text())
		}
	}
	w.post("/o/rheinau/billing/orders", order).want(303)
	w.get("/o/rheinau/billing").want(200).says("4500-17/B", "12,000.00 EUR", "31 Mar 2027")
}
