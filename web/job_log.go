package web

import (
	"bytes"
	"context"
	"strings"
	"time"
	"unicode/utf8"

	"gpupool/domain"
	"gpupool/domain/pool"
	"gpupool/views"
	"gpupool/views/ui"
)

const (
	logTail  = 64 << 10 // bytes that the page shows
	logWhole = 16 << 20 // bytes that a download has at most
)

// jobLogPanel is the log as far as it goes; while the job lives the browser follows it.
func (v *visit) jobLogPanel(p *views.JobPage, j domain.Job) error {
	if j.Attempts == 0 {
		p.Log = views.Prose(v.T("The log begins when the job starts."))
		return nil
	}
	p.LogLinks = []ui.Link{{Label: v.T("Download"), Href: v.jobPath(j.ID, "/log")}, {Label: v.T("Errors only"), Href: v.jobPath(j.ID, "/log?stream=stderr")}}
	text, err := v.logText(j.ID, "stdout", logTail)
	switch {
	case err == nil:
	case domain.CodeOf(err) == domain.NotFound:
		p.LogLinks = nil
		p.Log = ui.Notice{Tone: ui.Info, Text: v.T("The log was collected: the cluster no longer keeps it.")}.Show()
		return nil
	case domain.CodeOf(err) == domain.Unavailable:
		p.Log = ui.Notice{Tone: ui.Warn, Text: v.T("The log can't be read now. It shows here as soon as the cluster answers.")}.Show()
		return nil
	default:
		return err
	}
	src := ""
	if j.Live() {
		src = v.jobPath(j.ID, "/log/stream")
	}
	p.Log, p.LogShown = ui.Log(v.T("Log"), src, text), true
	return nil
}

// logText is the end of a log as text.
func (v *visit) logText(id pool.JobID, stream string, limit int64) (string, error) {
	ctx, cancel := context.WithTimeout(v.ctx, 3*time.Second)
	defer cancel()
	var b bytes.Buffer
	_, err := v.server.service.JobLog(ctx, v.actor, v.org, id, stream, -limit, limit, false, &b)
	if err != nil && ctx.Err() != nil && v.ctx.Err() == nil {
		err = domain.Errf(domain.Unavailable, "The cluster does not answer.")
	}
	text := b.Bytes()
	if int64(len(text)) >= limit { // it begins within a line
		if i := bytes.IndexByte(text, '\n'); i >= 0 {
			text = text[i+1:]
		}
	}
	return strings.ToValidUTF8(string(text), "\uFFFD"), err
}

// jobLog is the log as a plain file.
func (s *Server) jobLog(v *visit) error {
	stream := v.query("stream")
	if stream == "" {
		stream = "stdout"
	}
	id := pool.JobID(v.param("job"))
	var b bytes.Buffer
	if _, err := s.service.JobLog(v.ctx, v.actor, v.org, id, stream, 0, logWhole, false, &b); err != nil {
		return err
	}
	return v.attach(string(id)+"-"+stream+".log", "text/plain; charset=utf-8", b.Bytes())
}

// jobLogStream sends a log line by line as it is written, from its beginning: the page's text is replaced.
func (s *Server) jobLogStream(v *visit) error {
	id := pool.JobID(v.param("job"))
	ctx, cancel := context.WithCancel(v.ctx)
	defer cancel()
	go func() {
		select {
		case <-s.closing:
			cancel()
		case <-ctx.Done():
		}
	}()
	w := &logEvents{visit: v}
	_, err := s.service.JobLog(ctx, v.actor, v.org, id, "stdout", 0, logWhole, true, w)
	if !w.open && err != nil {
		return err
	}
	if w.open || w.begin() == nil {
		w.flush()
		if !v.lives(id) {
			_ = w.stream.send("event: end\ndata: end\n\n") // the browser may have gone
		}
	}
	return nil
}

// lives tells whether a job may still write: it is about to start, or queued again. The browser then asks again.
func (v *visit) lives(id pool.JobID) bool {
	j, err := v.server.service.Job(v.ctx, v.actor, v.org, id)
	return err == nil && j.Job.Live()
}

// logEvents turns what a log writes into server-sent events, one for each line.
type logEvents struct {
	visit  *visit
	stream stream
	open   bool
	rest   []byte // of a line that is not complete
}

func (w *logEvents) begin() (err error) {
	if w.stream, err = w.visit.openStream(); err == nil {
		w.open = true
		err = w.stream.send("event: reset\ndata: reset\n\n")
	}
	return err
}

func (w *logEvents) Write(p []byte) (int, error) {
	if !w.open {
		if err := w.begin(); err != nil {
			return 0, err
		}
	}
	w.rest = append(w.rest, p...)
	var out strings.Builder
	for {
		i := bytes.IndexByte(w.rest, '\n')
		if i < 0 {
			break
		}
		event(&out, w.rest[:i])
		w.rest = w.rest[i+1:]
	}
	if out.Len() == 0 {
		return len(p), nil
	}
	return len(p), w.stream.send(out.String())
}

func (w *logEvents) flush() {
	if len(w.rest) > 0 {
		var out strings.Builder
		event(&out, w.rest)
		_ = w.stream.send(out.String()) // the browser may have gone
		w.rest = nil
	}
}

// event writes a line; a carriage return would end the field early, so each part of a progress bar is a line.
func event(out *strings.Builder, line []byte) {
	text := string(line)
	if !utf8.ValidString(text) {
		text = strings.ToValidUTF8(text, "\uFFFD")
	}
	for _, part := range strings.Split(strings.TrimSuffix(text, "\r"), "\r") {
		out.WriteString("data: " + part + "\n\n")
	}
}
