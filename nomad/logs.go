package nomad

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/nomad/api"

	"gpupool/domain"
	"gpupool/domain/pool"
)

// refill is how long a followed log may lag behind.
const refill = 700 * time.Millisecond

// Logs copies what the run wrote, see domain.LogReader. The servers forward
// the call; the node itself is never called with our token. A run whose task
// has not started has written nothing yet.
//
// A negative offset is the last -offset bytes; it can't be followed, and the
// offset returned is the number of bytes read.
//
// Nomad's own following never ends, not even when the run has: so we read
// again and again and look at the run in between.
func (c *Client) Logs(ctx context.Context, org pool.OrgID, alloc pool.AllocID, stream string, offset, limit int64, follow bool, w io.Writer) (int64, error) {
	if stream != "stdout" && stream != "stderr" {
		return offset, domain.Errf(domain.Invalid, "The log is stdout or stderr.")
	}
	if limit <= 0 || offset < 0 && follow {
		return offset, domain.Errf(domain.Invalid, "The part of the log is not valid.")
	}
	for end := max(0, offset) + limit; ; {
		// Asked before reading, so that the last words are not missed.
		over, err := c.over(ctx, org, alloc)
		if err != nil {
			return offset, err
		}
		next, err := c.copyLog(ctx, org, alloc, stream, offset, end-max(0, offset), w)
		offset = next
		if follow && ctx.Err() != nil {
			return offset, nil // the reader went away, which is how following ends
		}
		if err != nil || over || !follow || offset >= end || !pause(ctx, refill) {
			return offset, err
		}
	}
}

// over tells whether the run has ended. NotFound: it isn't the organisation's.
// Nomad itself does not look at the namespace that a log is asked for in: it
// answers for every allocation that our token may read.
func (c *Client) over(ctx context.Context, org pool.OrgID, alloc pool.AllocID) (bool, error) {
	var a struct{ Namespace, ClientStatus string }
	_, err := c.read(ctx, "/v1/allocation/"+url.PathEscape(string(alloc)), c.namespace(org), nil, &a)
	if err != nil {
		return false, err
	}
	if a.Namespace != c.namespace(org) {
		return false, domain.Errf(domain.NotFound, "There is no such run.")
	}
	return domain.RunStatus(a.ClientStatus).Terminal(), nil
}

// copyLog copies what is there now.
func (c *Client) copyLog(ctx context.Context, org pool.OrgID, alloc pool.AllocID, stream string, offset, limit int64, w io.Writer) (int64, error) {
	origin, from := "start", offset
	if offset < 0 {
		origin, from, offset = "end", -offset, 0
	}
	rctx, done := context.WithTimeout(ctx, c.cfg.Timeout)
	defer done()
	q := &api.QueryOptions{Namespace: c.namespace(org), Params: map[string]string{
		"task": task, "type": stream, "origin": origin, "plain": "true",
		"offset": strconv.FormatInt(from, 10), "follow": "false",
	}}
	body, err := c.api.Raw().Response("/v1/client/fs/logs/"+url.PathEscape(string(alloc)), q.WithContext(rctx))
	if err != nil {
		return offset, c.logError(ctx, err)
	}
	defer body.Close()
	n, err := io.Copy(w, io.LimitReader(body, limit))
	if err != nil && ctx.Err() == nil {
		err = wrap(domain.Unavailable, c.scrub(err), "The log broke off.")
	}
	return offset + n, err
}

// logError is nil when the task has not started: there is nothing to read yet.
func (c *Client) logError(ctx context.Context, err error) error {
	if status, text := answer(err); status == http.StatusNotFound && strings.Contains(text, "not started") {
		return nil
	}
	err = c.fail(ctx, err)
	if domain.CodeOf(err) == domain.NotFound {
		return wrap(domain.NotFound, err, "The log of this run is no longer kept on its node.")
	}
	return err
}
