package nomad

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"time"

	"github.com/hashicorp/nomad/api"

	"gpupool/domain"
)

// Silence that means something. A healthy stream sends {} at once and every
// 30 s; one that is denied answers 200 on 2.x and then says nothing.
const (
	firstLine2   = 3 * time.Second  // from 2.0 on
	firstLineOld = 35 * time.Second // before, the first {} comes with the heartbeat
	silence      = 75 * time.Second
	maxLine      = 16 << 20
)

const streamPath = "/v1/event/stream?topic=Allocation&topic=Evaluation&topic=Job&topic=Node"

// Watch calls changed after every connect, at every event and at least every
// Config.PollEvery, until ctx ends; it returns ctx's error. A stream that is
// denied, broken or silent is opened again and costs only time: the caller
// compares lists. changed must return quickly and may be called often.
func (c *Client) Watch(ctx context.Context, changed func()) error {
	poll := time.NewTicker(c.cfg.PollEvery)
	defer poll.Stop()
	wait := 250 * time.Millisecond
	for ctx.Err() == nil {
		healthy := c.follow(ctx, poll.C, changed)
		if healthy {
			wait = 250 * time.Millisecond
		}
		if !c.waitPolling(ctx, wait, poll.C, changed) {
			break
		}
		wait = min(2*wait, 15*time.Second)
	}
	return ctx.Err()
}

// waitPolling waits for d before the next connect without missing a poll.
func (c *Client) waitPolling(ctx context.Context, d time.Duration, poll <-chan time.Time, changed func()) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return false
		case <-poll:
			changed()
		case <-t.C:
			return true
		}
	}
}

// follow reads one connection until it ends or falls silent. It tells whether
// the stream ever spoke.
func (c *Client) follow(ctx context.Context, poll <-chan time.Time, changed func()) bool {
	ctx, done := context.WithCancel(ctx)
	defer done()
	lines := make(chan batch)
	go c.stream(ctx, lines)

	quiet := time.NewTimer(c.firstLine())
	defer quiet.Stop()
	spoke, last := false, uint64(0)
	for {
		select {
		case <-ctx.Done():
			return spoke
		case <-poll:
			changed()
		case <-quiet.C:
			if !spoke {
				c.denied.Store(true)
			}
			return spoke
		case b, ok := <-lines:
			if !ok {
				return spoke
			}
			quiet.Reset(silence)
			if !spoke {
				spoke = true
				c.denied.Store(false)
				changed() // what happened while we did not listen
			}
			if b.Index != 0 {
				changed()
			}
			if b.Index != 0 && b.Index < last {
				return spoke // the servers were reset; begin anew
			}
			last = max(last, b.Index)
		}
	}
}

func (c *Client) firstLine() time.Duration {
	if v, ok := c.version.Load().(string); ok && olderThan(v, 2, 0, 0) {
		return firstLineOld
	}
	return firstLine2
}

// batch is a line of the stream. Of the events only that they are there is
// used: their payload passes through floats and is no source of truth.
type batch struct {
	Index uint64
}

// stream sends the lines of one connection until it ends, then closes out.
// The stock reader drops heartbeats, by which a dead stream is told.
func (c *Client) stream(ctx context.Context, out chan<- batch) {
	defer close(out)
	q := &api.QueryOptions{Namespace: "*"}
	body, err := c.api.Raw().Response(streamPath, q.WithContext(ctx))
	if err != nil {
		if domain.CodeOf(c.describe(err)) == domain.Forbidden {
			c.denied.Store(true)
		}
		return
	}
	defer body.Close()
	lines := bufio.NewScanner(io.Reader(body))
	lines.Buffer(make([]byte, 64<<10), maxLine)
	for lines.Scan() {
		var b batch
		if json.Unmarshal(lines.Bytes(), &b) != nil {
			return
		}
		select {
		case out <- b:
		case <-ctx.Done():
			return
		}
	}
}
