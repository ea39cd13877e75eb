package embedded_test

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/nomad/api"

	"gpupool/nomad/embedded"
)

func TestBlockingListReturnsAfterAJumpOfTheClock(t *testing.T) {
	t.Parallel()
	b := newBench(t, func(o *embedded.Options) { o.Poll = time.Hour })
	b.register(spec{id: "j-1", gpus: 1, env: lasts(time.Hour)})
	_, meta, err := b.api.Allocations().List(nil)
	b.ok(err)
	type result struct {
		as   []*api.AllocationListStub
		meta *api.QueryMeta
		err  error
	}
	got := make(chan result, 1)
	go func() {
		as, m, err := b.api.Allocations().List(&api.QueryOptions{WaitIndex: meta.LastIndex, WaitTime: time.Minute})
		got <- result{as, m, err}
	}()
	select {
	case r := <-got:
		t.Fatalf("returned before anything changed: %v", r.err)
	case <-time.After(20 * time.Millisecond):
	}
	b.clock.Advance(48 * time.Hour)
	b.c.Wake()
	r := <-got
	b.ok(r.err)
	if r.as[0].ClientStatus != "complete" || r.meta.LastIndex <= meta.LastIndex || !r.meta.KnownLeader {
		t.Errorf("%s at %d after %d", r.as[0].ClientStatus, r.meta.LastIndex, meta.LastIndex)
	}
}

func TestBlockingListReturnsWhenItsTimeIsOver(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.register(spec{id: "j-1", gpus: 1, env: lasts(time.Hour)})
	_, meta, err := b.api.Jobs().List(nil)
	b.ok(err)
	_, again, err := b.api.Jobs().List(&api.QueryOptions{WaitIndex: meta.LastIndex, WaitTime: 30 * time.Millisecond})
	b.ok(err)
	if again.LastIndex != meta.LastIndex {
		t.Errorf("index %d, want the old %d", again.LastIndex, meta.LastIndex)
	}
}

// reader is an event stream read line by line.
type reader struct {
	t     *testing.T
	lines chan string // closed when the stream ends
}

func (b *bench) stream(query string) *reader {
	b.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	b.t.Cleanup(cancel)
	req, err := http.NewRequestWithContext(ctx, "GET", b.url+"/v1/event/stream"+query, nil)
	b.ok(err)
	resp, err := http.DefaultClient.Do(req)
	b.ok(err)
	if resp.StatusCode != 200 {
		b.t.Fatalf("stream: %s", resp.Status)
	}
	r := &reader{b.t, make(chan string, 1000)}
	go func() {
		defer close(r.lines)
		defer resp.Body.Close()
		s := bufio.NewScanner(resp.Body)
		s.Buffer(nil, 1<<20)
		for s.Scan() {
			r.lines <- s.Text()
		}
	}()
	return r
}

type line struct {
	Index  uint64
	Events []struct {
		Topic, Type, Key string
		Payload          map[string]any
	}
}

func (r *reader) next() (line, string, bool) {
	r.t.Helper()
	select {
	case text, ok := <-r.lines:
		var l line
		if ok {
			if err := json.Unmarshal([]byte(text), &l); err != nil {
				r.t.Fatal(err)
			}
		}
		return l, text, ok
	case <-time.After(5 * time.Second):
		r.t.Fatal("no line came")
		return line{}, "", false
	}
}

func (r *reader) silent() bool {
	select {
	case <-r.lines:
		return false
	case <-time.After(50 * time.Millisecond):
		return true
	}
}

// types reads until the event type comes, and lists "Topic Type" of all.
func (r *reader) types(until string) []string {
	r.t.Helper()
	var out []string
	for {
		l, _, ok := r.next()
		if !ok {
			r.t.Fatalf("the stream ended after %v", out)
		}
		for _, e := range l.Events {
			out = append(out, e.Topic+" "+e.Type)
			if e.Topic+" "+e.Type == until {
				return out
			}
		}
	}
}

func TestEventStreamTellsALife(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	s := b.stream("?topic=Job&topic=Allocation&topic=Evaluation&index=1000000")
	if _, text, _ := s.next(); text != "{}" {
		t.Fatalf("first line %q, want {}", text)
	}
	b.register(spec{id: "ev-1", gpus: 1, env: lasts(time.Minute)})
	got := strings.Join(s.types("Evaluation EvaluationUpdated"), ", ")
	want := "Job JobRegistered, Evaluation JobRegistered, Evaluation PlanResult, Allocation PlanResult, Job AllocationUpdated, Evaluation EvaluationUpdated"
	if !strings.HasSuffix(got, want) {
		t.Errorf("registration tells %s, want %s", got, want)
	}
	b.clock.Advance(time.Hour)
	if got := s.types("Job AllocationUpdated"); len(got) != 4 {
		t.Errorf("its life tells %v, want three changes of the allocation and the job's end", got)
	}
	_, _, err := b.api.Jobs().Deregister("ev-1", true, nil)
	b.ok(err)
	for _, k := range s.types("Evaluation EvaluationUpdated") {
		if strings.HasPrefix(k, "Allocation") {
			t.Error("a purge tells of the allocation; a real one is silent")
		}
	}
}

func TestEventPayloadsHaveTheKeysOfARealNomad(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	s := b.stream("?topic=*")
	b.register(spec{id: "ev-1", gpus: 1, env: lasts(time.Minute)})
	b.clock.Advance(time.Hour)
	ours := map[string]map[string]any{}
	for len(ours) < 4 {
		l, _, _ := s.next()
		for _, e := range l.Events {
			if e.Topic != "Allocation" || e.Payload["Allocation"].(map[string]any)["ClientStatus"] == "complete" {
				ours[e.Topic] = e.Payload
			}
		}
	}
	compared := 0
	for _, text := range strings.Split(strings.TrimSpace(read(t, "event_stream_batch_lifecycle.ndjson")), "\n") {
		var l line
		b.ok(json.Unmarshal([]byte(text), &l))
		for _, e := range l.Events {
			if a, ok := e.Payload["Allocation"].(map[string]any); ok && a["ClientStatus"] != "complete" || e.Payload["Deleted"] == true || e.Topic == "Evaluation" {
				continue
			}
			compared++
			for _, d := range differences("", e.Payload, ours[e.Topic]) {
				if !known("", d) {
					t.Errorf("%s event %s", e.Topic, d)
				}
			}
		}
	}
	if compared < 4 {
		t.Errorf("compared %d events", compared)
	}
}

func TestStreamResumesAtTheNearestAndDoesNotTellWhatIsMissing(t *testing.T) {
	t.Parallel()
	b := newBench(t, func(o *embedded.Options) { o.Ring = 4 })
	var indexes []uint64
	for _, id := range []string{"j-1", "j-2", "j-3"} {
		b.register(spec{id: id, gpus: 1})
		indexes = append(indexes, b.c.Index())
	}
	first := func(query string) uint64 {
		s := b.stream(query)
		s.next() // {}
		l, _, _ := s.next()
		return l.Index
	}
	if got := first("?index=1"); got <= indexes[1]-1 || got > indexes[2] {
		t.Errorf("an index long gone resumes at %d, want among the last four batches before %d", got, indexes[2])
	}
	if got := first("?index=9999"); got != indexes[2] {
		t.Errorf("an index of the future resumes at %d, want the newest %d", got, indexes[2])
	}
	b.c.ForgetEvents()
	s := b.stream("?index=1")
	s.next()
	if !s.silent() {
		t.Error("a forgotten ring still tells something")
	}
}

func TestStreamFaults(t *testing.T) {
	t.Parallel()
	b := newBench(t, func(o *embedded.Options) { o.Heartbeat = 5 * time.Millisecond })
	s := b.stream("?topic=Job")
	s.next()
	b.c.DropEvents(-1)
	b.register(spec{id: "unheard", gpus: 1})
	b.c.Heal()
	b.register(spec{id: "heard", gpus: 1})
	for {
		l, text, _ := s.next()
		if len(l.Events) > 0 && l.Events[0].Key == "unheard" {
			t.Fatal("a dropped event arrived")
		}
		if len(l.Events) > 0 && l.Events[0].Key == "heard" {
			break
		}
		if len(l.Events) == 0 && text != "{}" {
			t.Fatalf("line %q", text)
		}
	}
	b.c.MuteStreams(true)
	if m := b.stream(""); !m.silent() {
		t.Error("a muted stream speaks")
	}
	b.c.CutStreams()
	until(t, "the end of the cut stream", func() bool {
		select {
		case _, ok := <-s.lines:
			return !ok
		default:
			return false
		}
	})
	b.c.MuteStreams(false)
	s = b.stream("?topic=Node")
	s.next()
	b.c.StallStreams(true)
	for !s.silent() {
	}
}

func TestIndexReset(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.register(spec{id: "j-1", gpus: 1})
	high := b.c.Index()
	b.ok(b.c.ResetIndex(3))
	_, meta, err := b.api.Allocations().List(nil)
	b.ok(err)
	if meta.LastIndex >= high || meta.LastIndex > 3 {
		t.Errorf("index %d after the reset, want at most 3", meta.LastIndex)
	}
}

func TestDeniedStreamLooksHealthyFromTwoOn(t *testing.T) {
	t.Parallel()
	acl := func(version string) func(o *embedded.Options) {
		return func(o *embedded.Options) { o.Version, o.Management, o.Read = version, "secret-m", "secret-r" }
	}
	b := newBench(t, acl("2.0.6"))
	if s := b.stream(""); !s.silent() {
		t.Error("a denied stream of 2.x speaks")
	}
	b = newBench(t, acl("1.6.10"))
	if status, _, _ := b.get("/v1/event/stream"); status != 403 {
		t.Errorf("a denied stream of 1.6: %d, want 403", status)
	}
}

func TestThreeLevelsOfRights(t *testing.T) {
	t.Parallel()
	b := newBench(t, func(o *embedded.Options) { o.Management, o.Read = "secret-m", "secret-r" })
	for _, c := range []struct {
		token       string
		read, write bool
	}{{"", false, false}, {"wrong", false, false}, {"secret-r", true, false}, {"secret-m", true, true}} {
		a := b.client(c.token)
		_, _, err := a.Jobs().List(nil)
		if (err == nil) != c.read {
			t.Errorf("token %q lists jobs: %v", c.token, err)
		}
		_, _, err = a.Jobs().Register(job(spec{id: "j-1", gpus: 1}), nil)
		if (err == nil) != c.write {
			t.Errorf("token %q registers: %v", c.token, err)
		}
		if _, err := a.Status().Leader(); err != nil {
			t.Errorf("token %q asks for the leader: %v", c.token, err)
		}
	}
}
