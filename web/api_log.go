package web

import (
	"bytes"
	"context"
	"net/http"
	"strconv"
	"time"

	"gpupool/domain/pool"
)

// nextOffset is where the next part of a log begins, in bytes.
const nextOffset = "Gpupool-Next-Offset"

// apiJobLog is a log of the newest try as plain text: a part of it, or with follow=true from there on until the try
// has ended.
func (s *Server) apiJobLog(q *call) error {
	id, stream := pool.JobID(q.param("job")), q.query("stream")
	if stream == "" {
		stream = "stdout"
	}
	if stream != "stdout" && stream != "stderr" {
		return badParameter("stream", "stdout or stderr.")
	}
	offset, err := q.number("offset", 0, 1<<50, 0)
	if err != nil {
		return err
	}
	limit, err := q.number("limit", 1, logWhole, 1<<20)
	if err != nil {
		return err
	}
	switch q.query("follow") {
	case "", "false":
	case "true":
		return q.followLog(id, stream, offset)
	default:
		return badParameter("follow", "true or false.")
	}
	ctx, cancel := context.WithTimeout(q.ctx, usualLimit)
	defer cancel()
	var b bytes.Buffer
	next, err := s.service.JobLog(ctx, q.actor, q.org, id, stream, offset, limit, false, &b)
	if err != nil {
		return err
	}
	q.echo.Response().Header().Set(nextOffset, strconv.FormatInt(max(next, offset), 10))
	return q.echo.Blob(http.StatusOK, "text/plain; charset=utf-8", b.Bytes())
}

// followLog sends a log as it is written.
func (q *call) followLog(id pool.JobID, stream string, offset int64) error {
	ctx, cancel := context.WithCancel(q.ctx)
	defer cancel()
	go func() {
		select {
		case <-q.server.closing:
			cancel()
		case <-ctx.Done():
		}
	}()
	w := &flushed{call: q}
	_, err := q.server.service.JobLog(ctx, q.actor, q.org, id, stream, offset, 1<<50, true, w)
	if err != nil && !w.open {
		return err
	}
	if err != nil {
		q.server.log.Info("a followed log broke off", "error", err)
		return nil // the answer has begun; the reader asks again from where it is
	}
	w.begin()
	return nil
}

// flushed sends each piece at once. The answer begins with the first, so that a refusal before it can be a problem.
type flushed struct {
	call *call
	open bool
}

func (w *flushed) begin() {
	if w.open {
		return
	}
	w.open = true
	res := w.call.echo.Response()
	h := res.Header()
	h.Set("Content-Type", "text/plain; charset=utf-8")
	h.Set("X-Accel-Buffering", "no")
	_ = http.NewResponseController(res).SetWriteDeadline(time.Time{}) // where the server has one, it is for short answers
	res.WriteHeader(http.StatusOK)
}

func (w *flushed) Write(b []byte) (int, error) {
	w.begin()
	res := w.call.echo.Response()
	n, err := res.Write(b)
	if err == nil {
		err = http.NewResponseController(res).Flush()
	}
	return n, err
}

// number is a whole number of the query.
func (q *call) number(name string, low, high, without int64) (int64, error) {
	s := q.query(name)
	if s == "" {
		return without, nil
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < low || n > high {
		return 0, badParameter(name, "A number from "+strconv.FormatInt(low, 10)+" to "+strconv.FormatInt(high, 10)+".")
	}
	return n, nil
}
