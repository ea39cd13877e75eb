package nomad

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/hashicorp/nomad/api"

	"gpupool/domain"
	"gpupool/domain/pool"
)

// Logs copies what the run wrote, see domain.LogReader. The servers forward
// the call; the node itself is never called with our token. A run whose task
// has not started has written nothing yet.
func (c *Client) Logs(ctx context.Context, org pool.OrgID, alloc pool.AllocID, stream string, offset, limit int64, follow bool, w io.Writer) (int64, error) {
	if stream != "stdout" && stream != "stderr" {
		return offset, domain.Errf(domain.Invalid, "The log is stdout or stderr.")
	}
	if offset < 0 || limit <= 0 {
		return offset, domain.Errf(domain.Invalid, "The part of the log is not valid.")
	}
	body, err := c.openLog(ctx, org, alloc, stream, offset, follow)
	if err != nil || body == nil {
		return offset, err
	}
	defer body.Close()
	n, err := io.Copy(w, io.LimitReader(body, limit))
	if err != nil && ctx.Err() != nil && follow {
		err = nil // the reader went away, which is how following ends
	} else if errors.Is(err, io.ErrUnexpectedEOF) {
		err = domain.Errf(domain.Unavailable, "The log broke off.")
	}
	return offset + n, err
}

// openLog returns nil when there is nothing to read yet.
func (c *Client) openLog(ctx context.Context, org pool.OrgID, alloc pool.AllocID, stream string, offset int64, follow bool) (io.ReadCloser, error) {
	cancel := context.CancelFunc(func() {})
	rctx := ctx
	if !follow {
		rctx, cancel = context.WithTimeout(ctx, c.cfg.Timeout)
	}
	q := &api.QueryOptions{Namespace: c.namespace(org), Params: map[string]string{
		"task": task, "type": stream, "origin": "start", "plain": "true",
		"offset": strconv.FormatInt(offset, 10), "follow": strconv.FormatBool(follow),
	}}
	body, err := c.api.Raw().Response("/v1/client/fs/logs/"+url.PathEscape(string(alloc)), q.WithContext(rctx))
	if err == nil {
		return logBody{body, cancel}, nil
	}
	cancel()
	if status, text := answer(err); status == http.StatusNotFound && strings.Contains(text, "not started") {
		return nil, nil
	}
	err = c.fail(ctx, err)
	if domain.CodeOf(err) == domain.NotFound {
		return nil, wrap(domain.NotFound, err, "The log of this run is no longer kept on its node.")
	}
	return nil, err
}

// logBody ends its deadline with the reading.
type logBody struct {
	io.ReadCloser
	cancel context.CancelFunc
}

func (b logBody) Close() error {
	defer b.cancel()
	return b.ReadCloser.Close()
}
