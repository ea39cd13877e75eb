package embedded

import (
	"cmp"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"time"
)

// frame is a piece of a file; Offset is where the piece ends.
type frame struct {
	Data      []byte `json:",omitempty"`
	File      string `json:",omitempty"`
	FileEvent string `json:",omitempty"`
	Offset    int64  `json:",omitempty"`
}

// frameSize is the most bytes in one frame.
const frameSize = 64 << 10

// streamLogs serves /v1/client/fs/logs/{id} as a server forwards it: frames,
// or plain text with plain=true; with follow=true until the task is over.
func (c *Cluster) streamLogs(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	if c.levelOf(r) < read {
		write(w, failed(http.StatusForbidden, "Permission denied"))
		return
	}
	id, task, kind := r.PathValue("id"), q.Get("task"), cmp.Or(q.Get("type"), "stdout")
	text, _, bad := c.readLog(id, task, kind)
	if bad != nil {
		write(w, *bad)
		return
	}
	offset, _ := strconv.Atoi(q.Get("offset"))
	at := min(max(offset, 0), len(text))
	if q.Get("origin") == "end" {
		at = len(text) - at
	}
	plain, _ := strconv.ParseBool(q.Get("plain"))
	follow, _ := strconv.ParseBool(q.Get("follow"))
	if plain {
		w.Header().Set("Content-Type", "text/plain")
	} else {
		w.Header().Set("Content-Type", "application/json")
	}
	w.WriteHeader(http.StatusOK)
	s := logSink{w: w, out: http.NewResponseController(w), plain: plain, file: "alloc/logs/" + task + "." + kind + ".0", at: at}
	beat := time.NewTicker(time.Second)
	defer beat.Stop()
	for {
		changed := c.watch()
		text, over, bad := c.readLog(id, task, kind)
		if bad != nil || s.send(text) != nil || !follow || over {
			break
		}
		select {
		case <-changed:
		case <-time.After(c.opt.Poll):
		case <-beat.C:
			if s.beat() != nil {
				return
			}
		case <-r.Context().Done():
			return
		case <-c.closed:
			return
		}
	}
}

// readLog gives all that was written until now, and whether no more will come.
func (c *Cluster) readLog(id, task, kind string) (text string, over bool, bad *answer) {
	a := c.once(query{}, func(query) answer {
		if kind != "stdout" && kind != "stderr" {
			return failed(http.StatusBadRequest, "Log type must be stdout or stderr")
		}
		a := c.s.allocs[id]
		if a == nil {
			return failed(http.StatusNotFound, "Unknown allocation \""+id+"\"")
		}
		if n := c.s.nodes[a.NodeID]; n == nil || !n.connected() {
			return failed(http.StatusNotFound, "No path to node")
		}
		if task == "" {
			return failed(http.StatusBadRequest, "must provide task name")
		}
		known := false
		if g := c.textOf(a).group(a.Group); g != nil {
			for _, t := range g.Tasks {
				known = known || t.Name == task
			}
		}
		if !known {
			return failed(http.StatusNotFound, "unknown task name \""+task+"\"")
		}
		if len(a.Tries) == 0 {
			return failed(http.StatusNotFound, "task \""+task+"\" not started yet. No logs available")
		}
		text, over = c.logText(a, kind, c.at), a.ended()
		return answer{status: http.StatusOK}
	})
	if a.status != http.StatusOK {
		return "", false, &a
	}
	return text, over, nil
}

type logSink struct {
	w     io.Writer
	out   *http.ResponseController
	plain bool
	file  string
	at    int // bytes of the file already sent
}

// send writes what is new in text.
func (s *logSink) send(text string) error {
	for s.at < len(text) {
		part := text[s.at:min(len(text), s.at+frameSize)]
		s.at += len(part)
		var err error
		if s.plain {
			_, err = io.WriteString(s.w, part)
		} else {
			err = s.frame(frame{Data: []byte(part), File: s.file, Offset: int64(s.at)})
		}
		if err != nil {
			return err
		}
	}
	return s.out.Flush()
}

func (s *logSink) beat() error {
	if s.plain {
		return nil
	}
	if err := s.frame(frame{}); err != nil {
		return err
	}
	return s.out.Flush()
}

func (s *logSink) frame(f frame) error {
	b, err := json.Marshal(f)
	if err == nil {
		_, err = s.w.Write(b)
	}
	return err
}
