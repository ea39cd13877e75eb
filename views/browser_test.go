package views

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/a-h/templ"
	"github.com/chromedp/chromedp"

	"gpupool/static"
	"gpupool/views/ui"
)

// policy is as strict as the portal's: what it blocks here is blocked there.
const policy = "default-src 'self'; style-src 'self'; script-src 'self'; img-src 'self' data:; object-src 'none'; base-uri 'none'"

// liveServer serves one page whose figures the test changes, with its stream of events.
type liveServer struct {
	*httptest.Server
	count  atomic.Int64
	events chan string
	posted atomic.Int64
}

func newLiveServer(t *testing.T) *liveServer {
	s := &liveServer{events: make(chan string)}
	done := make(chan struct{})
	mux := http.NewServeMux()
	mux.Handle(static.Prefix, static.Handler())
	mux.HandleFunc("GET /events", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		flush := http.NewResponseController(w).Flush
		_, _ = io.WriteString(w, ": open\n\n")
		_ = flush()
		for {
			select {
			case topics := <-s.events:
				_, _ = fmt.Fprintf(w, "data: %s\n\n", topics)
				_ = flush()
			case <-r.Context().Done():
				return
			case <-done:
				return
			}
		}
	})
	mux.HandleFunc("/{$}", func(w http.ResponseWriter, r *http.Request) { s.page(w, r.FormValue("q"), "") })
	mux.HandleFunc("GET /gallery", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("Content-Security-Policy", policy)
		_ = gallery().Render(r.Context(), w)
	})
	mux.HandleFunc("POST /quote", func(w http.ResponseWriter, r *http.Request) { s.page(w, "", r.PostFormValue("gpus")) })
	mux.HandleFunc("POST /end", func(w http.ResponseWriter, r *http.Request) {
		s.posted.Add(1)
		http.Redirect(w, r, "/", http.StatusSeeOther)
	})
	s.Server = httptest.NewServer(mux)
	t.Cleanup(func() {
		close(done)
		s.CloseClientConnections()
		s.Close()
	})
	return s
}

func (s *liveServer) page(w http.ResponseWriter, query, gpus string) {
	p := galleryPage()
	p.Live.Src = "/events"
	p.Search.Action = "/"
	form := func(attributes string, children ...templ.Component) templ.Component {
		return templ.Join(templ.Raw("<form "+attributes+">"), templ.Join(children...), templ.Raw("</form>"))
	}
	quote := ui.Quote{NotYet: "Say how many."}
	if gpus != "" {
		quote = ui.Quote{AtMost: gpus + ".00 EUR"}
	}
	body := templ.Join(
		in(ui.Panel{ID: "count", Title: "Count", Topics: "count other"}.Show(), ui.Facts([]ui.Fact{{Name: "n", Text: fmt.Sprint("count is ", s.count.Load())}})),
		form(`method="get" action="/" id="filter" data-swap="#list"`, ui.Field{Name: "q", ID: "filter-q", Label: "Filter", Value: query}.Text()),
		ui.Table{ID: "list", Caption: "List for " + query, Empty: ui.Empty{Title: "Nothing for " + query}}.Show(),
		form(`method="post" action="/nowhere" data-swap="#quote" data-swap-action="/quote"`, ui.Field{Name: "gpus", Label: "GPUs"}.Number()),
		quote.Show(),
		ui.Confirm{ID: "end", Label: "End", Title: "End it?", Action: "/end", Nonce: "n", Do: "End it"}.Show(),
		ui.Clock(ui.Time{ISO: "2026-11-26T13:05:00Z", Text: "server text"}),
	)
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy", policy)
	_ = in(Layout(p), body).Render(context.Background(), w) // the browser may have gone
}

// browser opens a tab and collects what the page complains about.
func browser(t *testing.T) (context.Context, func() []string) {
	path, err := exec.LookPath("chromium")
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal("CI needs chromium: ", err)
		}
		t.Skip("no chromium on this machine")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.Flag("disable-background-networking", true), chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-sync", true))
	limited, cancelLimit := context.WithTimeout(context.Background(), 90*time.Second)
	allocated, cancelAllocated := chromedp.NewExecAllocator(limited, options...)
	ctx, cancel := chromedp.NewContext(allocated)
	var mu sync.Mutex
	var complaints []string
	messages := chromedp.Console(ctx)
	read := make(chan struct{})
	go func() {
		defer close(read)
		for m, err := range messages {
			if err != nil {
				return
			}
			mu.Lock()
			complaints = append(complaints, fmt.Sprint(m.Type, ": ", m.Text))
			mu.Unlock()
		}
	}()
	t.Cleanup(func() {
		cancel()
		cancelAllocated()
		cancelLimit()
		<-read
	})
	return ctx, func() []string {
		mu.Lock()
		defer mu.Unlock()
		return append([]string(nil), complaints...)
	}
}

// becomes waits until the expression is true in the page.
func becomes(t *testing.T, ctx context.Context, what, expression string) {
	t.Helper()
	for {
		ok, err := chromedp.Run(ctx, chromedp.Evaluate[bool]("Boolean("+expression+")"))
		if ok {
			return
		}
		if ctx.Err() != nil {
			t.Fatalf("%s: %s never came true (%v)", what, expression, err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func does(t *testing.T, ctx context.Context, steps ...chromedp.Action[chromedp.Void]) {
	t.Helper()
	if err := chromedp.Do(ctx, steps...); err != nil {
		t.Fatal(err)
	}
}

func js(code string) chromedp.Action[chromedp.Void] { return chromedp.Evaluate[chromedp.Void](code) }

func TestTheScriptKeepsThePageFreshInARealBrowser(t *testing.T) {
	t.Parallel()
	s := newLiveServer(t)
	ctx, complaints := browser(t)
	does(t, ctx, chromedp.Navigate(s.URL+"/"))
	becomes(t, ctx, "the feed connects", `document.querySelector("[data-state=live]")`)
	becomes(t, ctx, "a time stands as the server wrote it, with the browser's on hover", `[...document.querySelectorAll("local-time time")].some(t => t.textContent === "server text" && t.title.startsWith("2026-11-26T13:05:00Z"+" \u00b7 "))`)

	s.count.Store(7)
	s.events <- "other"
	becomes(t, ctx, "an event refreshes the region", `document.querySelector("#count").textContent.includes("count is 7")`)

	does(t, ctx, js(`{const f=document.querySelector("#filter-q"); f.focus(); f.value="llm"; f.dispatchEvent(new Event("input",{bubbles:true}))}`))
	becomes(t, ctx, "the list follows the filter", `document.querySelector("#list").textContent.includes("Nothing for llm")`)
	becomes(t, ctx, "the address follows the list", `location.search === "?q=llm"`)
	does(t, ctx, js(`{const f=document.querySelector("#f-gpus"); f.value="38"; f.dispatchEvent(new Event("input",{bubbles:true}))}`))
	becomes(t, ctx, "the quote follows the form", `document.querySelector("#quote .at-most")?.textContent.includes("38.00 EUR")`)

	does(t, ctx, js(`document.activeElement.blur()`), chromedp.KeyEvent("/"))
	becomes(t, ctx, "the slash focuses the search", `document.activeElement.id === "search"`)
	does(t, ctx, js(`document.activeElement.blur()`), chromedp.KeyEvent("?"))
	becomes(t, ctx, "the question mark opens the help", `document.querySelector("#shortcuts").open`)
	does(t, ctx, js(`document.querySelector("#shortcuts").close()`))

	does(t, ctx, js(`document.querySelector("#end summary").click()`))
	becomes(t, ctx, "the question is a dialog", `document.querySelector("dialog.confirm[open] form[action='/end']")`)
	does(t, ctx, js(`document.querySelector("dialog.confirm [data-close]").click()`))
	becomes(t, ctx, "keeping closes it", `!document.querySelector("dialog.confirm") && document.querySelector("details#end form")`)
	if s.posted.Load() != 0 {
		t.Error("asking already did it")
	}
	does(t, ctx, js(`document.querySelector("#end summary").click()`), js(`document.querySelector("dialog.confirm button.danger").click()`))
	becomes(t, ctx, "confirming does it and comes back", `location.pathname === "/" && location.search === ""`)
	if got := s.posted.Load(); got != 1 {
		t.Errorf("done %d times", got)
	}
	for _, c := range complaints() {
		t.Errorf("the browser complains: %s", c)
	}
}

func TestALostConnectionIsSaidAndSurvived(t *testing.T) {
	t.Parallel()
	s := newLiveServer(t)
	ctx, complaints := browser(t)
	does(t, ctx, chromedp.Navigate(s.URL+"/"))
	becomes(t, ctx, "the feed connects", `document.querySelector("[data-state=live]")`)
	s.count.Store(9)
	s.CloseClientConnections()
	becomes(t, ctx, "the loss is said", `document.querySelector("[data-state=lost]")`)
	becomes(t, ctx, "the connection comes back and what was missed is fetched", `document.querySelector("[data-state=live]") && document.querySelector("#count").textContent.includes("count is 9")`)
	for _, c := range complaints() {
		if strings.Contains(c, "Content Security Policy") || strings.Contains(c, "TypeError") {
			t.Errorf("the browser complains: %s", c)
		}
	}
}

// Tables scroll inside their own region; the page itself never scrolls sideways.
func TestNoPartIsWiderThanTheScreen(t *testing.T) {
	t.Parallel()
	s := newLiveServer(t)
	ctx, _ := browser(t)
	does(t, ctx, chromedp.Navigate(s.URL+"/gallery"))
	for _, width := range []int64{360, 390, 640, 768, 960, 1280, 1600} {
		does(t, ctx, chromedp.EmulateViewport(width, 900))
		becomes(t, ctx, "the width is set", fmt.Sprintf("innerWidth === %d", width))
		wide, err := chromedp.Run(ctx, chromedp.Evaluate[string](`document.documentElement.scrollWidth <= innerWidth ? "" :
			[...document.querySelectorAll("main *, header *, aside *, footer *")].filter(e => e.getBoundingClientRect().right > innerWidth + 1 && !e.closest(".scroll, .side, .tabs, pre")).slice(0, 5).map(e => e.tagName + "." + e.getAttribute("class")).join(", ") || "something"`))
		if err != nil {
			t.Fatal(err)
		}
		if wide != "" {
			t.Errorf("at %d pixels these reach over the edge: %s", width, wide)
		}
	}
}
