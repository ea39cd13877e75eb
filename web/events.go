package web

import (
	"fmt"
	"net/http"
	"strconv"
	"time"

	"gpupool/domain"
	"gpupool/domain/pool"
)

// heartbeat keeps proxies from closing a stream on which nothing happens.
const heartbeat = 15 * time.Second

// events tells a page that something changed, so that it fetches its regions again: "org" for the organisation of
// the query, "pool" for everything, "clock" when a demo's time was moved or passes, "time" now and then. It never says what changed.
// "since" is the mark that the page was read at: what changed before the stream stood is told first.
func (s *Server) events(v *visit) error {
	topic := "*"
	if org := pool.OrgID(v.query("org")); org != "" {
		if err := v.actor.Need(org, domain.ActView); err != nil {
			return err
		}
		topic = string(org)
	} else if err := v.actor.NeedOperator(); err != nil && v.actor.SignedIn() && len(v.orgs) > 0 {
		topic = string(v.orgs[0].ID)
	} else if err != nil {
		topic = "" // strangers hear of the pool as a whole
	}
	changes, cancel := s.service.Hub().Subscribe(topic)
	defer cancel()
	e, err := v.openStream()
	if err != nil {
		return err
	}
	passing := "time" // what grows with time alone, such as the cost of a job that runs
	if s.demo != nil {
		passing += " clock"
	}
	beat := time.NewTicker(heartbeat)
	defer beat.Stop()
	missed := make(chan struct{}, 1)
	if mark, err := strconv.ParseInt(v.query("since"), 10, 64); err == nil && s.service.Hub().Moved(topic, mark) {
		missed <- struct{}{}
	}
	for n := 1; ; n++ {
		select {
		case <-v.ctx.Done():
			return nil
		case <-s.closing:
			return nil
		case <-missed:
			err = e.send(changed(n))
		case <-changes:
			err = e.send(changed(n))
		case <-beat.C:
			err = e.send(fmt.Sprintf("id: %d\ndata: %s\n\n", n, passing))
		}
		if err != nil {
			return nil // the browser has gone
		}
	}
}

func changed(n int) string { return fmt.Sprintf("id: %d\ndata: org pool clock\n\n", n) }

// stream is an open answer of server-sent events.
type stream struct {
	w http.ResponseWriter
	c *http.ResponseController
}

// openStream begins one. The first line reaches the browser at once, so that it knows the stream stands.
func (v *visit) openStream() (stream, error) {
	res := v.echo.Response()
	h := res.Header()
	h.Set("Content-Type", "text/event-stream; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no")
	res.WriteHeader(http.StatusOK)
	e := stream{w: res, c: http.NewResponseController(res)}
	_ = e.c.SetWriteDeadline(time.Time{}) // where the server has one, it is for pages
	return e, e.send("retry: 3000\n: open\n\n")
}

func (e stream) send(text string) error {
	if _, err := e.w.Write([]byte(text)); err != nil {
		return err
	}
	return e.c.Flush()
}
