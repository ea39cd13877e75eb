package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// axeScript is the text of axe-core; with CI=true it must be there.
func axeScript(t *testing.T) string {
	t.Helper()
	path := os.Getenv("GPUPOOL_TEST_AXE")
	text, err := os.ReadFile(path)
	if path != "" && err == nil {
		return string(text)
	}
	if os.Getenv("CI") == "true" {
		t.Fatalf("CI needs axe-core in the file that GPUPOOL_TEST_AXE names: %v", err)
	}
	t.Skip("left out: GPUPOOL_TEST_AXE names no file with axe-core")
	return ""
}

// startDemo runs the demo in this process until the test ends.
func startDemo(t *testing.T) string {
	t.Helper()
	read, write := io.Pipe()
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		err := runDemo(ctx, config{Addr: "127.0.0.1:0", Data: t.TempDir(), LogFormat: "text"}, demoFlags{seed: 1}, write)
		write.CloseWithError(fmt.Errorf("the demo ended: %w", err))
		ended <- err
	}()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("demo: %v", err)
		}
	})
	in, address := bufio.NewScanner(read), ""
	for address == "" && in.Scan() {
		_, address, _ = strings.Cut(in.Text(), "Open ")
	}
	if address == "" {
		t.Fatalf("the demo printed no address: %v", in.Err())
	}
	go func() { _, _ = io.Copy(io.Discard, read) }()
	return address
}

// look is how a person has set up their screen.
type look struct {
	name          string
	width, height int64
	flag          string // for Chromium's blink-settings
	scheme        string
	once          bool // a page that several roles have is looked at as the first of them
}

var looks = []look{
	{"light at 1440 px", 1440, 900, "preferredColorScheme=1", "light", false},
	{"dark at 390 px", 390, 844, "preferredColorScheme=0", "dark", true},
}

// visitor is a role of the demo, and the pages beyond its navigation that it looks at: addresses, or "page > selector"
// for where the first such link on a page leads.
type visitor struct {
	role, email string
	more        []string
}

const theOrg, operatorEmail = "/o/rheinau", "tomas.berg@norbridge.example"

// visitors begin with those who may do most.
var visitors = []visitor{
	{"stranger", "", []string{"/", "/signin", "/marketplace", "/verify"}},
	{"owner", "anna.vogt@rheinau.example", []string{theOrg + `/billing > a[href*="/billing/plan?"]`, theOrg + `/projects > main tbody a[href*="/projects/"]`}},
	{"operator", operatorEmail, []string{"/setup", "/op/prices/new", "/op/queue/whatif?ask=rules&no_lending=on",
		`/o/lanwan/jobs?state=waiting > main tbody a[href*="/jobs/"]`,
		`/op/plans > main tbody a[href*="/op/plans/"]`, `/op/prices > main tbody a[href*="/op/prices/"]`, `/op/classes > main tbody a[href*="/op/classes/"]`,
		`/op/nodes > main tbody a[href*="/op/nodes/"]`, `/op/members > main tbody a[href*="/op/members/"]`, `/op/invoices > main tbody a[href*="/op/invoices/"]`}},
	{"finance", "martina.kohl@rheinau.example", []string{theOrg + `/invoices > main tbody a[href*="/invoices/"]`, theOrg + "/billing/accounts/new"}},
	{"project lead", "sara.okafor@rheinau.example", []string{theOrg + `/projects > main tbody a[href*="/projects/"]`}},
	{"researcher", "li.ming@rheinau.example", []string{"/account", theOrg + "/jobs/new", theOrg + "/jobs/new?template=batch",
		theOrg + `/jobs?state=running > main tbody a[href*="/jobs/"]`,
		theOrg + `/jobs?state=ended > main tbody tr:has(.badge.tone-bad) a[href*="/jobs/"]`}},
	{"auditor", "jonas.reuter@rheinau.example", []string{theOrg + "/usage?by=person"}},
}

// TestPagesKeepTheAccessibilityRules looks at the pages of every role with axe-core, in a light and in a dark look, wide and narrow.
// No page may write an error to the console, break its content security policy or ask another host for anything.
func TestPagesKeepTheAccessibilityRules(t *testing.T) {
	t.Parallel()
	axe := axeScript(t)
	findChromium(t)
	address, empty := startDemo(t), startServer(t, config{})
	prepare(t, address, axe)
	for _, l := range looks {
		t.Run(l.name, func(t *testing.T) {
			t.Parallel()
			browser, seen := newBrowser(t, 8*time.Minute, chromedp.Flag("blink-settings", l.flag)), map[string]bool{}
			for _, who := range visitors {
				inspect(t, browser, address, axe, l, who, seen)
			}
			inspect(t, browser, empty.url, axe, l, visitor{role: "first visitor", more: []string{"/", "/setup"}}, map[string]bool{})
		})
	}
}

// prepare lets the demo's clock run like any other, so that pages stay as they are while they are looked at, and sees that axe-core
// finds what is wrong.
func prepare(t *testing.T, address, axe string) {
	t.Helper()
	b := newTab(t, newBrowser(t, time.Minute), address, "the operator")
	b.signIn(operatorEmail)
	b.press(`#demo button[value="1x"]`)
	b.until("sees the clock slow", `document.querySelector('#demo button[value="1x"]').getAttribute("aria-pressed") === "true"`)
	b.open("data:text/html,<img src='data:,'>")
	if findings := b.breaks(axe); len(findings) == 0 {
		t.Fatal("axe-core finds nothing wrong with a picture without words")
	}
}

// signIn is the demo's one click.
func (b *tab) signIn(email string) {
	b.t.Helper()
	b.open("/signin")
	b.press(`form[action="/demo/signin"]:has(input[value="` + email + `"]) button`)
}

func inspect(t *testing.T, browser context.Context, address, axe string, l look, who visitor, seen map[string]bool) {
	t.Helper()
	// A tab that stayed open would follow the pool and take time from the next.
	ctx, end := chromedp.NewContext(browser, chromedp.WithNewBrowserContext())
	defer end()
	b := &tab{t: t, ctx: ctx, base: address, who: "the " + who.role + ", " + l.name}
	if err := chromedp.Do(b.ctx, chromedp.EmulateViewport(l.width, l.height)); err != nil {
		t.Fatal(err)
	}
	complaints := b.complaints()
	if who.email != "" {
		b.signIn(who.email)
	} else {
		b.open("/signin")
	}
	if !ask[bool](b, `matchMedia("(prefers-color-scheme: `+l.scheme+`)").matches && innerWidth === `+jsonOf(l.width)) {
		t.Fatalf("%s: the browser does not show this look", b.who)
	}
	pages := ask[[]string](b, `[...document.querySelectorAll("nav.side a")].map(a => a.getAttribute("href"))`)
	if who.email != "" && len(pages) < 4 {
		t.Fatalf("%s: the navigation has only %v", b.who, pages)
	}
	for _, p := range slices.Concat(pages, who.more) {
		if l.once && seen[p] {
			continue
		}
		seen[p] = true
		from, selector, linked := strings.Cut(p, " > ")
		b.open(from)
		if linked {
			to := ask[string](b, `document.querySelector(`+jsonOf(selector)+`)?.href ?? ""`)
			if to == "" {
				t.Errorf("%s finds no %s at %s", b.who, selector, from)
				continue
			}
			b.open(to)
		}
		b.obeys(axe)
		for _, c := range complaints() {
			t.Errorf("%s at %s: the console says %s", b.who, p, c)
		}
	}
}

// finding is a rule of axe-core that a page breaks.
type finding struct {
	Rule, Help string
	Nodes      []string
}

// axeTags are the rules of WCAG 2.2 at the levels A and AA.
var axeTags = []string{"wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"}

// breaks is what axe-core finds on the page. The script comes through the DevTools protocol: the page's policy would refuse it.
func (b *tab) breaks(axe string) (findings []finding) {
	b.t.Helper()
	if _, err := chromedp.Run(b.ctx, chromedp.Evaluate[chromedp.Void](axe)); err != nil {
		b.t.Fatalf("%s: axe-core: %v", b.who, err)
	}
	return ask[[]finding](b, `axe.run(document, {runOnly: {type: "tag", values: `+jsonOf(axeTags)+`}, resultTypes: ["violations"]})
		.then(r => r.violations.map(v => ({Rule: v.id, Help: v.help, Nodes: v.nodes.map(n => n.html + "  at " + n.target + ": " + n.failureSummary)})))`)
}

// obeys looks at the page with axe-core, and at the hosts that it asked.
func (b *tab) obeys(axe string) {
	b.t.Helper()
	here := ask[string](b, "location.href")
	for _, f := range b.breaks(axe) {
		b.t.Errorf("%s at %s breaks %s (%s) %d times, first: %s", b.who, strings.TrimPrefix(here, b.base), f.Rule, f.Help, len(f.Nodes), f.Nodes[0])
	}
	own, err := url.Parse(b.base)
	if err != nil {
		b.t.Fatal(err)
	}
	for _, asked := range ask[[]string](b, `performance.getEntriesByType("resource").map(e => e.name)`) {
		if u, err := url.Parse(asked); err != nil || u.Host != own.Host && u.Scheme != "data" {
			b.t.Errorf("%s at %s asks another host: %s", b.who, here, asked)
		}
	}
}

// complaints collects errors and warnings of the console, among them what the content security policy refuses. Each call returns the new ones.
func (b *tab) complaints() func() []string {
	var mu sync.Mutex
	var all []string
	messages := chromedp.Console(b.ctx)
	go func() {
		for m, err := range messages {
			if err != nil {
				return
			}
			if m.Type == chromedp.ConsoleError || m.Type == chromedp.ConsoleWarning || m.IsException() {
				mu.Lock()
				all = append(all, m.String()+" "+m.URL)
				mu.Unlock()
			}
		}
	}()
	return func() []string {
		mu.Lock()
		defer mu.Unlock()
		out := all
		all = nil
		return out
	}
}
