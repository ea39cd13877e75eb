package main

import (
	"strings"
	"testing"
	"time"

	"gpupool/domain/store/storetest"
)

const journeyPassword = "a long enough passphrase"

// journey is the whole program and the people who use it, each in a window of their own.
type journey struct {
	t                                    *testing.T
	server                               testServer
	operator, owner, finance, researcher *tab
	month, job, invoice                  string
}

// TestJourneyInTheBrowser goes from an empty pool to a paid invoice.
func TestJourneyInTheBrowser(t *testing.T) {
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		walkJourney(t, config{})
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		walkJourney(t, config{DatabaseURL: storetest.Postgres(t).PostgresURL})
	})
}

func walkJourney(t *testing.T, c config) {
	browser := newBrowser(t, 8*time.Minute)
	s := startServer(t, c)
	j := &journey{t: t, server: s}
	j.operator, j.owner = newTab(t, browser, s.url, "the operator"), newTab(t, browser, s.url, "the owner")
	j.finance, j.researcher = newTab(t, browser, s.url, "finance"), newTab(t, browser, s.url, "the researcher")
	j.setUp()
	j.offer()
	j.subscribe()
	j.submit()
	j.run()
	j.look()
	j.closeMonth()
	j.readInvoice()
	j.pay()
}

// setUp: the first visitor becomes the operator with the code from the log.
func (j *journey) setUp() {
	b := j.operator
	b.open("/")
	b.send("form#operator", map[string]string{"code": j.server.code, "name": "Tomas Berg", "email": "tomas@pool.example", "password": journeyPassword})
	b.open("/op/settings")
	b.send("form#settings", map[string]string{"name": "Norbridge", "currency": "EUR", "zone": "Europe/Berlin", "seller_name": "Norbridge eG",
		"seller_address": "Hafenallee 3\n20457 Hamburg", "seller_country": "DE", "bank": "IBAN DE00 0000"})
	b.sees("The settings were saved.")
}

// offer: the operator defines a GPU type, a plan and prices, and invites a member.
func (j *journey) offer() {
	b := j.operator
	b.open("/op/classes")
	b.until("is offered the cluster's devices", `document.querySelector("#unclassed a") || (location.reload(), false)`)
	b.press("#unclassed a")
	b.send("form#class", map[string]string{"id": "h100-80g", "name": "H100 80 GB", "cpu_per_gpu": "2000", "mem_per_gpu": "65536"})
	b.sees("The GPU type H100 80 GB was created.")

	b.open("/op/plans")
	b.send("form#plan", map[string]string{"name": "Lab", "name_zh": "实验室版", "id": "lab"})
	b.send("form#version", map[string]string{"fee": "3990", "guaranteed.h100-80g": "4", "included.h100-80g": "0", "borrow.h100-80g": "2", "lend.h100-80g": "2"})
	b.confirm("publish")
	b.sees("Version 1 of Lab is published.")

	b.open("/op/prices/new")
	b.send("form#prices", map[string]string{"name": "Prices", "class.0": "h100-80g", "cover.0": "own", "price.0": "36.00", "share.0": "0",
		"class.1": "h100-80g", "cover.1": "loan", "price.1": "18.00", "share.1": "60", "class.2": "h100-80g", "cover.2": "spot", "price.2": "8.00", "share.2": "60"})
	b.confirm("publish")
	b.sees("Published")

	b.open("/op/members")
	b.send(`form[action="/op/members"]`, map[string]string{"name": "University of Rheinau", "slug": "rheinau", "owner_email": "anna@rheinau.example"})
	b.sees("University of Rheinau is a member now.")
	j.accept(j.owner, j.link(b), "Anna Vogt")
}

// link is the address of an invitation, shown once.
func (j *journey) link(b *tab) string {
	j.t.Helper()
	text := ask[string](b, `document.querySelector("#secret")?.textContent ?? ""`)
	at := strings.Index(text, "http")
	if at < 0 {
		j.t.Fatalf("%s sees no link of the invitation but %q", b.who, text)
	}
	link, _, _ := strings.Cut(text[at:], " ")
	return strings.TrimSuffix(strings.TrimSpace(link), "Copy")
}

// accept: an invited person says who they are and is in.
func (j *journey) accept(b *tab, link, name string) {
	j.t.Helper()
	b.open(link)
	b.sees("University of Rheinau")
	b.send("form#accept", map[string]string{"name": name, "password": journeyPassword})
	b.until("is in the organisation", `location.pathname.startsWith("/o/rheinau")`)
}

// subscribe: the owner makes a billing account, reads what the plan costs, takes it, and invites people.
func (j *journey) subscribe() {
	b := j.owner
	b.open("/o/rheinau/billing/accounts/new")
	b.send("form#account", map[string]string{"name": "Faculty of Physics", "buyer_name": "University of Rheinau", "buyer_address": "Am Strom 1\n50667 Rheinau",
		"buyer_country": "DE", "emails": "ap@rheinau.example", "tax_kind": "standard", "tax_rate": "19", "terms_days": "30", "language": "en", "issuer": "local"})
	b.open("/o/rheinau/billing")
	b.press(`a[href^="/o/rheinau/billing/plan?"]`)
	b.sees("Lab: what it costs", "3,990.00")
	b.press("form#subscribe button")
	b.sees("The plan was chosen.")

	b.open("/o/rheinau/projects")
	b.send("form#new-project", map[string]string{"name": "LLM"})
	b.open("/o/rheinau/team")
	b.send("form#invite", map[string]string{"email": "ming@rheinau.example", "role": "member"})
	j.accept(j.researcher, j.link(b), "Li Ming 李明")
	b.open("/o/rheinau/team")
	b.send("form#invite", map[string]string{"email": "martina@rheinau.example", "role": "finance"})
	j.accept(j.finance, j.link(b), "Martina Kohl")
}

// submit: the researcher sees the price and the start before sending.
func (j *journey) submit() {
	b := j.researcher
	b.open("/o/rheinau/jobs/new?template=batch")
	project := ask[string](b, `[...document.querySelector("form#job [name=project]").options].find(o => o.text === "LLM").value`)
	b.fill("form#job", map[string]string{"project": project, "name": "llm-ft-70b", "class": "h100-80g", "gpus": "4", "tier": "guaranteed", "max_run": "2"})
	b.until("sees the quote", `document.querySelector("#price .at-most")?.textContent.includes("288.00 EUR")`)
	b.sees("Submit: up to 288.00 EUR")
	b.until("sees the probable start", `document.querySelector("#price .likely")?.textContent.length > 0`)
	b.press(`#price button[name=up_to]`)
	b.until("is led to the job", `/\/o\/rheinau\/jobs\/j-/.test(location.pathname)`)
	j.job = ask[string](b, "location.pathname")
}

const shownCost = `parseFloat(document.querySelector("#figures")?.textContent.match(/Cost so far\D*([0-9.,]+)/)?.[1].replace(",", "") ?? "0")`

// run: the job runs, writes its log, costs more and more, and ends. The page follows by itself.
func (j *journey) run() {
	b := j.researcher
	b.sees("Try 1 admitted", "Try 1 runs")
	b.until("sees the job run", `document.querySelector("#state")?.textContent.includes("Running")`)
	b.until("sees what it wrote", `document.querySelector("#log")?.textContent.replace(/\s+/g, " ").length > 40`)
	b.until("sees its cost", shownCost+" > 0")
	before := ask[float64](b, shownCost)
	b.until("sees its cost grow", shownCost+" > "+jsonOf(before))
	j.month = ask[string](b, `new Intl.DateTimeFormat("sv-SE", {timeZone: "Europe/Berlin", year: "numeric", month: "2-digit"}).format(new Date())`)

	j.operator.open("/op")
	j.operator.press(`#demo button[value="60x"]`)
	b.sees("Try 1 ended", "Finished")
	if ask[float64](b, shownCost) > 288 {
		j.t.Error("it cost more than was promised")
	}
}

// look: the owner sees quota and use by project and person.
func (j *journey) look() {
	b := j.owner
	b.open("/o/rheinau/quota")
	b.sees("H100 80 GB")
	b.open("/o/rheinau/usage?by=project")
	b.sees("LLM")
	b.open("/o/rheinau/usage?by=person")
	b.sees("Li Ming 李明")
}

// closeMonth: the operator moves the clock past the month's end and its grace, and closes it.
func (j *journey) closeMonth() {
	b := j.operator
	for range 2 { // on the first of a month the button leads to the end of the last one's grace
		b.open("/op/closing?month=" + j.month)
		if ask[bool](b, `document.querySelector("#close") !== null`) {
			break
		}
		b.press(`#demo button[value="month_end"]`)
		b.sees("The clock stands at")
	}
	b.open("/op/closing?month=" + j.month)
	b.confirm("close")
	b.sees("1 invoices issued")
}

// readInvoice: finance reads the lines, the jobs behind them, and takes both files.
func (j *journey) readInvoice() {
	b := j.finance
	b.open("/o/rheinau/invoices")
	b.press(`main table a[href^="/o/rheinau/invoices/"]`)
	j.invoice = ask[string](b, `location.pathname.split("/").pop()`)
	b.sees("Lab", "H100 80 GB", "GPU-hours")
	b.until("finds the job behind its line", `document.querySelector('[id^="line-"] a[href="`+j.job+`"]')`)
	pdf := ask[string](b, `fetch(location.pathname + ".pdf").then(r => r.text()).then(s => s.slice(0, 5))`)
	if pdf != "%PDF-" {
		j.t.Errorf("the PDF begins with %q", pdf)
	}
	csv := ask[string](b, `fetch(location.pathname + ".csv").then(r => r.headers.get("content-type") + "\n" + r.status)`)
	if !strings.HasPrefix(csv, "text/csv") || !strings.HasSuffix(csv, "200") {
		j.t.Errorf("the CSV is answered with %q", csv)
	}
}

// pay: the operator records what the bank received; finance sees it.
func (j *journey) pay() {
	b := j.operator
	b.open("/op/invoices/" + j.invoice)
	b.send("form#payment", map[string]string{"reference": "bank-0001"})
	b.sees("The payment was recorded.")
	j.finance.open("/o/rheinau/invoices/" + j.invoice)
	j.finance.until("sees that it is paid", `document.querySelector("h1").parentElement.textContent.toLowerCase().includes("paid")`)
}
