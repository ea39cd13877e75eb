package web

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"time"

	"gpupool/domain"
	"gpupool/domain/pool"
)

const (
	idempotencyKey = "Idempotency-Key"
	replayed       = "Idempotency-Replayed" // set on an answer that is a repetition
	// brokenOff is when a request without an answer can no longer be under way: longer than the limit of any.
	brokenOff = 2 * usualLimit
)

// keptAnswer is what is stored under a key: which request it was, and its answer as soon as there is one.
type keptAnswer struct {
	Request string          `json:"request"` // hash of method, path and body
	At      pool.Instant    `json:"at"`      // wall clock of the first try
	Status  int             `json:"status,omitempty"`
	Place   string          `json:"location,omitempty"`
	Body    json.RawMessage `json:"body,omitempty"`
	Free    bool            `json:"free,omitempty"` // refused: nothing was done, so the key is free again
}

// once does a request with an Idempotency-Key one time. The same request again gets the same answer; another request
// under the key is refused. A refused request leaves the key free, one that failed inside does not.
func (q *call) once(handle func(*Server, *call) error) error {
	key := q.echo.Request().Header.Get(idempotencyKey)
	if len(key) > 255 || !printable(key) {
		return &problem{Status: http.StatusUnprocessableEntity, Code: string(domain.Invalid), Detail: "Please correct the header.",
			Errors: []problemField{{Header: idempotencyKey, Detail: "1 to 255 printable characters of ASCII."}}}
	}
	body, err := q.body()
	if err != nil {
		return err
	}
	r := q.echo.Request()
	r.Body = io.NopCloser(bytes.NewReader(body))
	nonce := "api:" + hashOf(string(q.actor.User), key)
	mine := keptAnswer{Request: hashOf(r.Method, r.URL.EscapedPath(), string(body))}
	first, err := q.claim(nonce, &mine)
	if err != nil {
		return err
	}
	if first != nil {
		return q.repeat(*first, mine)
	}
	// From here on it is done to its end, even when nobody waits for the answer any more: who asks again gets it.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(q.ctx), usualLimit)
	defer cancel()
	q.ctx = ctx
	taped := &tape{ResponseWriter: q.echo.Response().Writer}
	q.echo.Response().Writer = taped
	err = handle(q.server, q)
	switch {
	case taped.status >= 200 && taped.status < 300:
		mine.Status, mine.Place, mine.Body = taped.status, taped.Header().Get("Location"), bytes.TrimSpace(taped.body.Bytes())
	case err != nil && problemOf(err).Status < 500:
		mine.Free = true
	default:
		return err // nobody knows how far it came: the key stays taken
	}
	if ferr := q.keep(nonce, mine); ferr != nil {
		q.server.log.Error("answer of an Idempotency-Key not kept", "error", ferr)
	}
	return err
}

// claim takes the key. first is what is stored under it already, nil when this request is the one to do it.
func (q *call) claim(nonce string, mine *keptAnswer) (first *keptAnswer, err error) {
	err = q.server.store.Update(q.ctx, func(tx domain.Tx) error {
		first, mine.At = nil, tx.Wall()
		text, err := inJSON(mine)
		if err != nil {
			return err
		}
		fresh, stored, err := tx.UseNonce(domain.Nonce{Nonce: nonce, User: q.actor.User, At: tx.Wall(), Result: string(text)})
		if err != nil || fresh {
			return err
		}
		var was keptAnswer
		if err := json.Unmarshal([]byte(stored), &was); err != nil {
			return err
		}
		if was.Free {
			return tx.FinishNonce(nonce, string(text))
		}
		first = &was
		return nil
	})
	return first, err
}

func (q *call) keep(nonce string, a keptAnswer) error {
	text, err := inJSON(a)
	if err != nil {
		return err
	}
	return q.server.store.Update(q.ctx, func(tx domain.Tx) error { return tx.FinishNonce(nonce, string(text)) })
}

// repeat answers a request whose key was used before.
func (q *call) repeat(first, mine keptAnswer) error {
	switch {
	case first.Request != mine.Request:
		return &problem{Status: http.StatusUnprocessableEntity, Code: "idempotency_key_reused", Detail: "This Idempotency-Key belongs to another request. Use a new key for each.",
			Errors: []problemField{{Header: idempotencyKey, Detail: "It was used with another path or body."}}}
	case first.Status == 0 && mine.At.Sub(first.At) < brokenOff:
		return &problem{Status: http.StatusConflict, Code: "idempotency_in_flight", Detail: "Ask again in a moment: the answer will be the same.",
			header: http.Header{"Retry-After": {seconds(time.Second)}}}
	case first.Status == 0:
		return &problem{Status: http.StatusConflict, Code: "idempotency_unknown", Detail: "Look whether it took effect before you send it with a new key."}
	}
	h := q.echo.Response().Header()
	h.Set(replayed, "true")
	if first.Place != "" {
		h.Set("Location", first.Place)
	}
	return q.echo.Blob(first.Status, "application/json", append(first.Body, '\n'))
}

// tape remembers what is answered.
type tape struct {
	http.ResponseWriter
	status int
	body   bytes.Buffer
}

func (t *tape) WriteHeader(status int) {
	if t.status == 0 {
		t.status = status
	}
	t.ResponseWriter.WriteHeader(status)
}

func (t *tape) Write(b []byte) (int, error) {
	t.body.Write(b)
	return t.ResponseWriter.Write(b)
}

func (t *tape) Unwrap() http.ResponseWriter { return t.ResponseWriter }

// hashOf is a hash over parts that can't run into each other.
func hashOf(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		sum := sha256.Sum256([]byte(p))
		h.Write(sum[:])
	}
	return hex.EncodeToString(h.Sum(nil))
}

func printable(s string) bool {
	for i := range len(s) {
		if s[i] < 0x20 || s[i] > 0x7e {
			return false
		}
	}
	return s != ""
}
