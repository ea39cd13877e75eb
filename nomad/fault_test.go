package nomad_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"gpupool/domain"
	"gpupool/domain/pool"
	"gpupool/nomad"
	"gpupool/nomad/embedded"
)

func quick(o *embedded.Options, c *nomad.Config) { c.PollEvery = 50 * time.Millisecond }

func TestReadsAreRepeatedAndWritesAreNot(t *testing.T) {
	t.Parallel()
	b := simulate(t)
	b.c.FailNext(2, embedded.Match{Method: "GET", Path: "/v1/allocations"}, 500, "No cluster leader")
	_, err := b.cluster.Runs(t.Context())
	must(t, err)

	must(t, b.cluster.EnsureNamespace(t.Context(), b.org))
	var writes atomic.Int64
	b.c.OnRequest(func(method, path string, when embedded.Moment) {
		if method != http.MethodGet && strings.HasPrefix(path, "/v1/jobs") && when == embedded.Before {
			writes.Add(1)
		}
	})
	b.c.FailNext(1, embedded.Match{Method: "PUT", Path: "/v1/jobs"}, 500, "No cluster leader")
	err = b.cluster.Submit(t.Context(), b.attempt(t, 1, b.work(time.Minute, 0, "hello")))
	if domain.CodeOf(err) != domain.Unavailable || writes.Load() != 1 {
		t.Fatalf("a refused registration was sent %d times and gave %v", writes.Load(), err)
	}
}

func TestASubmitWhoseAnswerWasLostIsOneRunAfterTheNext(t *testing.T) {
	t.Parallel()
	b := simulate(t)
	must(t, b.cluster.EnsureNamespace(t.Context(), b.org))
	s := b.attempt(t, 4, b.work(time.Minute, 0, "hello"))
	b.c.DropAfter(1, embedded.Match{Method: "PUT", Path: "/v1/jobs"})
	if err := b.cluster.Submit(t.Context(), s); domain.CodeOf(err) != domain.Unavailable {
		t.Fatalf("a lost answer gives %v", err)
	}
	b.submit(t, s)
	b.wait(t, s.Attempt, domain.RunRunning)
	if n := len(b.runs(t, s.Attempt)); n != 1 {
		t.Fatalf("%d runs", n)
	}
}

func TestADeniedStreamIsNoticedAndPollingGoesOn(t *testing.T) {
	t.Parallel()
	b := simulate(t, quick)
	b.c.MuteStreams(true)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var changes atomic.Int64
	go func() { _ = b.cluster.Watch(ctx, func() { changes.Add(1) }) }()
	b.until(t, "polling", func() bool { return changes.Load() > 3 })
	b.until(t, "the warning", func() bool { return warned(t, b.bench, "event stream") })
	b.c.MuteStreams(false)
	b.until(t, "the warning to go", func() bool { return !warned(t, b.bench, "event stream") })
}

func TestACutStreamIsOpenedAgain(t *testing.T) {
	t.Parallel()
	b := simulate(t)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var changes, opened atomic.Int64
	b.c.OnRequest(func(_, path string, when embedded.Moment) {
		if strings.HasPrefix(path, "/v1/event/stream") && when == embedded.Before {
			opened.Add(1)
		}
	})
	go func() { _ = b.cluster.Watch(ctx, func() { changes.Add(1) }) }()
	b.until(t, "the first connection", func() bool { return changes.Load() > 0 })
	before := changes.Load()
	b.c.CutStreams()
	b.until(t, "a second connection and a word of it", func() bool { return opened.Load() > 1 && changes.Load() > before })
}

func TestALostNodeLeavesALastHeartbeat(t *testing.T) {
	t.Parallel()
	b := simulate(t)
	must(t, b.cluster.EnsureNamespace(t.Context(), b.org))
	s := b.attempt(t, 1, b.work(time.Hour, 0, "hello"))
	b.submit(t, s)
	r := b.wait(t, s.Attempt, domain.RunRunning)
	if r.Heartbeat != 0 {
		t.Fatalf("a running run has the heartbeat %s", r.Heartbeat)
	}
	down := pool.Instant(b.clock.Load())
	must(t, b.c.NodeDown(string(r.Node)))
	r = b.wait(t, s.Attempt, domain.RunUnknown)
	if r.Heartbeat < down-1000 || r.Heartbeat > pool.Instant(b.clock.Load()) {
		t.Fatalf("down at %s, last heartbeat %s", down, r.Heartbeat)
	}
	nodes, err := b.cluster.Nodes(t.Context())
	must(t, err)
	for _, n := range nodes {
		if (n.ID == r.Node) != (n.State == domain.NodeDown) || n.State == domain.NodeDown && n.LastSeen == 0 {
			t.Fatalf("the node %s is %s, last seen %s", n.Name, n.State, n.LastSeen)
		}
	}
}

func TestUnhealthyAndVanishedGPUsAreSeen(t *testing.T) {
	t.Parallel()
	b := simulate(t)
	g := b.gpuNodes(t)[0].Groups[0]
	must(t, b.c.BreakGPU("gpu-01", g.Healthy[0], "it fell off the bus"))
	must(t, b.c.RemoveGPU("gpu-01", g.Healthy[1]))
	now := b.gpuNodes(t)[0].Groups[0]
	if len(now.Healthy) != 6 || len(now.Unhealthy) != 1 || now.Unhealthy[0] != g.Healthy[0] {
		t.Fatalf("%d healthy, unhealthy %v", len(now.Healthy), now.Unhealthy)
	}
}

func TestAForbiddenTokenIsSaidWithoutTheToken(t *testing.T) {
	t.Parallel()
	const secret = "b1946ac9-2492-4d23-a31c-000000000000"
	echo := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Error(w, "denied for "+r.Header.Get("X-Nomad-Token"), http.StatusForbidden)
	}))
	defer echo.Close()
	c, err := nomad.New(nomad.Config{Addr: echo.URL, Token: secret, Driver: "docker"})
	must(t, err)
	defer c.Close()
	_, err = c.Runs(t.Context())
	if domain.CodeOf(err) != domain.Forbidden || strings.Contains(err.Error(), secret) || !strings.Contains(err.Error(), "(secret)") {
		t.Fatalf("the error is %v", err)
	}
}

func TestAnAgentThatIsAwayIsUnavailable(t *testing.T) {
	t.Parallel()
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	c, err := nomad.New(nomad.Config{Addr: gone.URL, Driver: "docker"})
	must(t, err)
	if _, err := c.Ping(t.Context()); domain.CodeOf(err) != domain.Unavailable {
		t.Fatalf("an agent that is away gives %v", err)
	}
	silent := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	defer silent.Close()
	c, err = nomad.New(nomad.Config{Addr: silent.URL, Driver: "docker", Timeout: 50 * time.Millisecond})
	must(t, err)
	if _, err := c.Ping(t.Context()); domain.CodeOf(err) != domain.Unavailable || !strings.Contains(err.Error(), "in time") {
		t.Fatalf("a silent agent gives %v", err)
	}
}

func TestAFollowedLogEndsWithTheReader(t *testing.T) {
	t.Parallel()
	b := simulate(t)
	must(t, b.cluster.EnsureNamespace(t.Context(), b.org))
	s := b.attempt(t, 1, b.work(time.Hour, 0, "hello"))
	b.submit(t, s)
	r := b.wait(t, s.Attempt, domain.RunRunning)
	ctx, stop := context.WithCancel(t.Context())
	wrote := &watched{}
	ended := make(chan error, 1)
	go func() {
		_, err := b.cluster.Logs(ctx, b.org, r.Alloc, "stdout", 0, 1<<20, true, wrote)
		ended <- err
	}()
	b.until(t, "words", func() bool { return wrote.n.Load() > 0 })
	stop()
	must(t, <-ended)
}

// watched counts what is written to it.
type watched struct{ n atomic.Int64 }

func (w *watched) Write(p []byte) (int, error) {
	w.n.Add(int64(len(p)))
	return len(p), nil
}

func warned(t *testing.T, b *bench, word string) bool {
	t.Helper()
	info, err := b.cluster.Ping(t.Context())
	must(t, err)
	for _, w := range info.Warnings {
		if strings.Contains(w, word) {
			return true
		}
	}
	return false
}
