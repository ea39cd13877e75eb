package nomad

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/hashicorp/nomad/api"
)

// read is a GET, tried three times: it changes nothing. ns may be "*".
func (c *Client) read(ctx context.Context, path, ns string, params map[string]string, out any) (*api.QueryMeta, error) {
	for try := 0; ; try++ {
		meta, err := c.readOnce(ctx, path, ns, params, out)
		if err == nil {
			return meta, nil
		}
		if try == 2 || ctx.Err() != nil || !transient(err) {
			return nil, c.fail(ctx, err)
		}
		if !pause(ctx, 100*time.Millisecond<<(2*try)) {
			return nil, ctx.Err()
		}
	}
}

func (c *Client) readOnce(ctx context.Context, path, ns string, params map[string]string, out any) (*api.QueryMeta, error) {
	ctx, done := context.WithTimeout(ctx, c.cfg.Timeout)
	defer done()
	q := &api.QueryOptions{Namespace: ns, Params: params}
	return c.api.Raw().Query(path, out, q.WithContext(ctx))
}

// write is sent once: whether a lost answer was done is for the caller's next
// comparison to find out, not for a blind repetition.
func (c *Client) write(ctx context.Context, path, ns, token string, in, out any) error {
	cctx, done := context.WithTimeout(ctx, c.cfg.Timeout)
	defer done()
	q := &api.WriteOptions{Namespace: ns, AuthToken: token}
	_, err := c.api.Raw().Write(path, in, out, q.WithContext(cctx))
	return c.fail(ctx, err)
}

func (c *Client) remove(ctx context.Context, path, ns string) error {
	cctx, done := context.WithTimeout(ctx, c.cfg.Timeout)
	defer done()
	q := &api.WriteOptions{Namespace: ns}
	var out any
	_, err := c.api.Raw().Delete(path, &out, q.WithContext(cctx))
	return c.fail(ctx, err)
}

// transient tells whether a read may go well when it is repeated at once.
func transient(err error) bool {
	status, body := answer(err)
	if errors.Is(err, context.DeadlineExceeded) {
		return false // it was waited for long enough
	}
	return status == 0 || status == http.StatusTooManyRequests || status == http.StatusBadGateway ||
		status == http.StatusServiceUnavailable || status == http.StatusGatewayTimeout ||
		status == http.StatusInternalServerError && !missing(body) && !refused(body)
}

// pause waits for d; false when ctx ended first.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}
