package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// patience is how long a test waits for what a person would see within a second.
const patience = 30 * time.Second

// findChromium is the browser of this machine; with CI=true it must be there.
func findChromium(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if p, err := exec.LookPath(name); err == nil {
			return p
		}
	}
	if os.Getenv("CI") == "true" {
		t.Fatal("CI needs chromium")
	}
	t.Skip("left out: no chromium on this machine")
	return ""
}

// newBrowser starts Chromium with an empty profile for at most limit. Its
// tabs are opened by newTab.
func newBrowser(t *testing.T, limit time.Duration, more ...chromedp.ExecAllocatorOption) context.Context {
	t.Helper()
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(findChromium(t)), chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.NoFirstRun, chromedp.Flag("disable-background-networking", true), chromedp.Flag("disable-component-update", true),
		chromedp.Flag("disable-sync", true), chromedp.WindowSize(1280, 900))
	options = append(options, more...)
	limited, endLimit := context.WithTimeout(t.Context(), limit)
	allocated, endProcess := chromedp.NewExecAllocator(limited, options...)
	ctx, end := chromedp.NewContext(allocated)
	if err := chromedp.Do(ctx, chromedp.Navigate("about:blank")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		end()
		endProcess()
		endLimit()
	})
	return ctx
}

// tab is one person's window with cookies of its own.
type tab struct {
	t    *testing.T
	ctx  context.Context
	base string
	who  string
}

func newTab(t *testing.T, browser context.Context, base, who string) *tab {
	t.Helper()
	ctx, end := chromedp.NewContext(browser, chromedp.WithNewBrowserContext())
	t.Cleanup(end)
	return &tab{t: t, ctx: ctx, base: base, who: who}
}

// open goes to a path of the portal, or to a whole address.
func (b *tab) open(path string) {
	b.t.Helper()
	if strings.HasPrefix(path, "/") {
		path = b.base + path
	}
	if err := chromedp.Do(b.ctx, chromedp.Navigate(path)); err != nil {
		b.t.Fatalf("%s opens %s: %v", b.who, path, err)
	}
}

// ask evaluates an expression, a promise included.
func ask[T any](b *tab, expression string) T {
	b.t.Helper()
	v, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		b.t.Fatalf("%s: %s: %v", b.who, expression, err)
	}
	return v
}

// until waits for the expression to be true in the page, which may be on its
// way to another.
func (b *tab) until(what, expression string) {
	b.t.Helper()
	end := time.Now().Add(patience)
	for {
		ok, err := chromedp.Run(b.ctx, chromedp.Evaluate[bool]("Boolean("+expression+")"))
		if ok {
			return
		}
		if b.ctx.Err() != nil || time.Now().After(end) {
			text, _ := chromedp.Run(b.ctx, chromedp.Evaluate[string](`location.href + "\n" + document.querySelector("main")?.innerText`))
			b.t.Fatalf("%s: %s: %s never came true (%v). The page: %s", b.who, what, expression, err, text)
		}
		select {
		case <-b.ctx.Done():
		case <-time.After(30 * time.Millisecond):
		}
	}
}

// sees waits until the page says all of the texts.
func (b *tab) sees(texts ...string) {
	b.t.Helper()
	for _, s := range texts {
		b.until("sees "+s, "document.body.textContent.includes("+jsonOf(s)+")")
	}
}

func jsonOf(v any) string {
	j, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(j)
}

// fill types into fields of a form, by their names: a text, the value of an
// option, or "on" for a box.
func (b *tab) fill(form string, values map[string]string) {
	b.t.Helper()
	missing := ask[string](b, `((form, values) => {
		const f = document.querySelector(form)
		if (!f) return "the form " + form
		for (const [name, value] of Object.entries(values)) {
			const all = [...f.elements].filter(e => e.name === name)
			if (!all.length) return "the field " + name
			for (const e of all) {
				if (e.type === "radio" || e.type === "checkbox") e.checked = e.value === value || value === "on" && all.length === 1
				else e.value = value
				if (e.tagName === "SELECT" && e.value !== value) return "the choice " + value + " of " + name
				e.dispatchEvent(new Event("input", {bubbles: true}))
				e.dispatchEvent(new Event("change", {bubbles: true}))
			}
		}
		return ""
	})(`+jsonOf(form)+`, `+jsonOf(values)+`)`)
	if missing != "" {
		b.t.Fatalf("%s finds no %s at %s", b.who, missing, ask[string](b, "location.href"))
	}
}

// press clicks what the selector finds and waits for the page after it.
func (b *tab) press(selector string) {
	b.t.Helper()
	found := ask[bool](b, `(s => {
		const e = document.querySelector(s)
		if (!e) return false
		window.before = true
		e.click()
		return true
	})(`+jsonOf(selector)+`)`)
	if !found {
		b.t.Fatalf("%s finds no %s at %s: %s", b.who, selector, ask[string](b, "location.href"), ask[string](b, "document.body.innerText"))
	}
	b.until("presses "+selector, `!window.before && document.readyState === "complete"`)
}

// send fills a form and sends it; the form must not come back with a refusal.
func (b *tab) send(form string, values map[string]string) {
	b.t.Helper()
	b.fill(form, values)
	b.press(form + ` button:not([type=button])`)
	if bad := ask[string](b, `[...document.querySelectorAll(".error-summary, .field.bad")].map(e => e.innerText).join("; ")`); bad != "" {
		b.t.Fatalf("%s sent %s and was refused: %s", b.who, form, bad)
	}
}

// confirm opens a question and says yes.
func (b *tab) confirm(id string) {
	b.t.Helper()
	b.until("has the question "+id, `document.querySelector("#`+id+` > summary")`)
	ask[any](b, `document.querySelector("#`+id+` > summary").click()`)
	b.until("is asked", `document.querySelector("dialog.confirm[open]")`)
	b.press(`dialog.confirm .actions button:not([data-close])`)
}

// pool is a running `gpupool serve` with a clock for tests.
type testServer struct{ url, code string }

// startServer runs serve in this process until the test ends.
func startServer(t *testing.T, c config) testServer {
	t.Helper()
	c.Addr, c.Data, c.TestPool, c.LogFormat = "127.0.0.1:0", t.TempDir(), true, "text"
	c.NomadDriver, c.NomadPrefix = "docker", "gpupool"
	read, write := io.Pipe()
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		err := serve(ctx, c, write)
		write.CloseWithError(fmt.Errorf("serve ended: %w", err))
		ended <- err
	}()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	var s testServer
	in := bufio.NewScanner(read)
	for s.code == "" && in.Scan() {
		if _, url, ok := strings.Cut(in.Text(), ": http"); ok {
			s.url = "http" + url
		}
		if _, code, ok := strings.Cut(in.Text(), "with the code "); ok {
			s.code = code
		}
	}
	if s.url == "" || s.code == "" {
		t.Fatalf("serve printed no address and code: %v", in.Err())
	}
	return s
}
