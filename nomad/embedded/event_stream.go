package embedded

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// topics is what a stream asks for: topic or "*", to keys or "*".
type topics map[string][]string

func (t topics) want(e event) bool {
	for _, name := range []string{e.Topic, "*"} {
		for _, k := range t[name] {
			if k == "*" || k == e.Key || slices.Contains(e.FilterKeys, k) {
				return true
			}
		}
	}
	return false
}

func topicsOf(params []string) topics {
	t := topics{}
	for _, p := range params {
		name, key, has := strings.Cut(p, ":")
		if !has || key == "" {
			key = "*"
		}
		t[name] = append(t[name], key)
	}
	if len(t) == 0 {
		t["*"] = []string{"*"}
	}
	return t
}

// streamEvents sends events as lines of JSON: one `{}` at once, then what
// happens, and `{}` when nothing does. It is a hint, not the truth.
func (c *Cluster) streamEvents(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	want, ns := topicsOf(q["topic"]), q.Get("namespace")
	if ns == "" {
		ns = "default"
	}
	index, _ := strconv.ParseUint(q.Get("index"), 10, 64)
	mute := c.levelOf(r) < read
	if mute && strings.HasPrefix(c.opt.Version, "1.") {
		write(w, failed(http.StatusForbidden, "Permission denied"))
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusOK)
	out := http.NewResponseController(w)
	if err := out.Flush(); err != nil {
		return
	}
	s := c.openStream(index)
	if mute || s.mute {
		c.silence(r, s)
		return
	}
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	if enc.Encode(struct{}{}) != nil || out.Flush() != nil {
		return
	}
	beat := time.NewTicker(c.opt.Heartbeat)
	defer beat.Stop()
	for {
		changed, todo, over := c.nextBatches(s)
		if over {
			return
		}
		for _, b := range todo {
			if !sendBatch(enc, b, want, ns) {
				return
			}
			s.seq = b.seq + 1
		}
		if len(todo) > 0 && out.Flush() != nil {
			return
		}
		select {
		case <-changed:
		case <-time.After(c.opt.Poll):
		case <-beat.C:
			if !c.stalled() && (enc.Encode(struct{}{}) != nil || out.Flush() != nil) {
				return
			}
		case <-r.Context().Done():
			return
		case <-c.closed:
			return
		}
	}
}

// stream is one reader's place.
type stream struct {
	seq  uint64 // next batch to send
	cut  uint64 // number of cuts when it began
	mute bool
}

func (c *Cluster) openStream(index uint64) *stream {
	s := &stream{}
	_ = c.do(func() error {
		s.seq, s.cut, s.mute = c.ring.from(index), c.faults.cuts, c.faults.mute
		return nil
	})
	return s
}

// nextBatches lets time pass and gives what the reader hasn't seen; over: the
// stream was cut.
func (c *Cluster) nextBatches(s *stream) (changed <-chan struct{}, todo []batch, over bool) {
	err := c.do(func() error {
		over = c.faults.cuts != s.cut
		if !c.faults.stall {
			todo = c.ring.after(s.seq)
		}
		return nil
	})
	return c.watch(), todo, over || err != nil
}

func (c *Cluster) stalled() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.faults.stall
}

// silence holds a connection open without a word, as a denied stream does.
func (c *Cluster) silence(r *http.Request, s *stream) {
	for {
		changed := c.watch()
		c.mu.Lock()
		over := c.faults.cuts != s.cut
		c.mu.Unlock()
		if over {
			return
		}
		select {
		case <-changed:
		case <-r.Context().Done():
			return
		case <-c.closed:
			return
		}
	}
}

func sendBatch(enc *json.Encoder, b batch, want topics, ns string) bool {
	line := struct {
		Events []event
		Index  uint64
	}{Index: b.index}
	for _, e := range b.events {
		if want.want(e) && (e.Namespace == "" || ns == "*" || e.Namespace == ns) {
			line.Events = append(line.Events, e)
		}
	}
	return len(line.Events) == 0 || enc.Encode(line) == nil
}
