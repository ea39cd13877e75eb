package web

import (
	"bufio"
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"gpupool/domain"
	"gpupool/domain/pool"
)

// stream opens the live feed and returns its data lines as they come; closed when the server ends it.
func (w *browser) stream(ctx context.Context, path string) (<-chan string, http.Header) {
	w.b.t.Helper()
	r, err := http.NewRequestWithContext(ctx, "GET", w.b.http.URL+path, nil)
	w.b.must(err)
	res, err := w.client.Do(r)
	w.b.must(err)
	if res.StatusCode != 200 {
		w.b.t.Fatalf("%s: %d", path, res.StatusCode)
	}
	out := make(chan string, 100)
	go func() {
		defer close(out)
		defer res.Body.Close()
		for s := bufio.NewScanner(res.Body); s.Scan(); {
			if data, ok := strings.CutPrefix(s.Text(), "data: "); ok {
				out <- data
			}
		}
	}()
	return out, res.Header
}

func TestTheLiveFeedTellsWhatConcernsTheViewer(t *testing.T) {
	t.Parallel()
	b := full(t, nil)
	ctx, cancel := context.WithTimeout(b.ctx, 20*time.Second)
	defer cancel()
	mine, h := b.as(b.Member.Email).stream(ctx, "/events?org=rheinau")
	if h.Get("Content-Type") != "text/event-stream; charset=utf-8" || h.Get("X-Accel-Buffering") != "no" {
		t.Errorf("headers %v", h)
	}
	theirs, _ := b.as(b.OtherOwner.Email).stream(ctx, "/events?org=kestrelis")
	b.Service.Hub().Publish(string(b.Org))
	if got, ok := <-mine; !ok || got != "org pool clock" {
		t.Errorf("told %q", got)
	}
	b.Service.Hub().Publish("")
	if got, ok := <-theirs; !ok || got != "org pool clock" {
		t.Errorf("told %q", got)
	}
	select {
	case got := <-theirs:
		t.Errorf("a foreign change was told: %q", got)
	default:
	}
}

// A page that was read before a change, and whose stream stands only after it, hears of it all the same.
func TestTheLiveFeedTellsWhatHappenedSinceThePageWasRead(t *testing.T) {
	t.Parallel()
	b := full(t, nil)
	ctx, cancel := context.WithTimeout(b.ctx, 20*time.Second)
	defer cancel()
	who := b.as(b.Member.Email)
	hub := b.Service.Hub()
	for topic, concerns := range map[string]bool{string(b.Org): true, "": true, string(b.Other): false} {
		mark := hub.Mark()
		src, ok := who.get("/o/rheinau/jobs").doc().Find("live-feed").Attr("src")
		if !ok {
			t.Fatal("the page follows nothing")
		}
		hub.Publish(topic)
		if got := hub.Moved(string(b.Org), mark); got != concerns {
			t.Errorf("after %q: moved is %t", topic, got)
		}
		if concerns {
			if feed, _ := who.stream(ctx, src); <-feed != "org pool clock" {
				t.Errorf("after %q: told nothing", topic)
			}
		}
	}
	if !hub.Moved("*", hub.Mark()-1<<40) || !hub.Moved("*", hub.Mark()+1) || hub.Moved("*", hub.Mark()) {
		t.Error("the mark of another process counts as one of this")
	}
}

func TestTheLiveFeedOfAForeignOrganisationIsNotFound(t *testing.T) {
	t.Parallel()
	b := full(t, nil)
	for org, who := range map[pool.OrgID]domain.Actor{b.Org: b.OtherOwner, b.Other: b.Member, "never-was": b.Member} {
		if got := b.as(who.Email).status("GET", "/events?org="+string(org), nil); got != 404 {
			t.Errorf("%s: %d", org, got)
		}
	}
}

func TestClosingTheServerEndsOpenStreams(t *testing.T) {
	t.Parallel()
	b := full(t, nil)
	ctx, cancel := context.WithTimeout(b.ctx, 20*time.Second)
	defer cancel()
	feed, _ := b.as(b.Operator.Email).stream(ctx, "/events")
	b.server.Close()
	if _, ok := <-feed; ok {
		t.Error("a message instead of the end")
	}
	if ctx.Err() != nil {
		t.Error("the stream stayed open")
	}
}
