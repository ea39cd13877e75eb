package web

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/legacy"

	"gpupool/domain"
	"gpupool/domain/domaintest"
	"gpupool/domain/pool"
)

// apiBench is a portal whose answers are checked against openapi.json, one and all.
type apiBench struct {
	*portal
	paths routers.Router
}

var specification = sync.OnceValues(func() (*openapi3.T, error) {
	doc, err := openapi3.NewLoader().LoadFromData(openAPIFile)
	if err != nil {
		return nil, err
	}
	return doc, doc.Validate(openapi3.NewLoader().Context)
})

func openAPIBench(t *testing.T) *apiBench {
	t.Helper()
	p := open(t)
	doc, err := specification()
	p.must(err)
	paths, err := legacy.NewRouter(doc)
	p.must(err)
	return &apiBench{p, paths}
}

// engine lets the loops' work be done when something wakes them, until the test ends.
func (b *apiBench) engine() {
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-stop:
				return
			case <-b.Service.Hub().Woken():
			}
			if err := b.Service.Cycle(b.ctx, true); err != nil && b.ctx.Err() == nil {
				b.t.Error(err)
			}
		}
	}()
	b.t.Cleanup(func() { close(stop); <-done })
}

// token makes one for a person.
func (b *apiBench) token(a domain.Actor, scopes ...string) string {
	b.t.Helper()
	if len(scopes) == 0 {
		scopes = []string{domain.ScopeJobs}
	}
	_, secret, err := b.Service.CreateToken(b.ctx, a, domain.TokenInput{Name: "test", Scopes: scopes, Days: "90"})
	b.must(err)
	return secret
}

// reply is an answer of the API.
type reply struct {
	answer
	bench *apiBench
}

// send asks the API; body is nil, a text that is sent as it is, or a value that becomes JSON.
func (b *apiBench) send(method, path, token string, body any, header http.Header) reply {
	b.t.Helper()
	var r io.Reader
	switch x := body.(type) {
	case nil:
	case string:
		r = strings.NewReader(x)
	default:
		text, err := json.Marshal(x)
		b.must(err)
		r = bytes.NewReader(text)
	}
	req, err := http.NewRequestWithContext(b.ctx, method, b.http.URL+path, r)
	b.must(err)
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	for k, v := range header {
		req.Header[k] = v
	}
	res, err := http.DefaultClient.Do(req)
	b.must(err)
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	b.must(err)
	b.described(req, res, text)
	return reply{answer{b.t, res.StatusCode, res.Header, string(text)}, b}
}

// described checks that the answer is one that openapi.json describes.
func (b *apiBench) described(req *http.Request, res *http.Response, body []byte) {
	b.t.Helper()
	if res.StatusCode >= 400 && res.Header.Get("Content-Type") != "application/problem+json" && req.Method != http.MethodHead {
		b.t.Errorf("%s %s: %d is no problem+json: %s", req.Method, req.URL.Path, res.StatusCode, body)
	}
	if req.Method == http.MethodHead {
		return // as GET, without the body
	}
	req = req.Clone(b.ctx)
	req.URL.Scheme, req.URL.Host = "", "" // the server's address in openapi.json is a path
	route, params, err := b.paths.FindRoute(req)
	if err != nil {
		if res.StatusCode != http.StatusNotFound && res.StatusCode != http.StatusMethodNotAllowed {
			b.t.Errorf("%s %s is not in openapi.json: %v", req.Method, req.URL.Path, err)
		}
		return
	}
	in := &openapi3filter.ResponseValidationInput{
		RequestValidationInput: &openapi3filter.RequestValidationInput{Request: req, PathParams: params, Route: route},
		Status:                 res.StatusCode, Header: res.Header, Options: &openapi3filter.Options{IncludeResponseStatus: true},
	}
	in.SetBodyBytes(body)
	if err := openapi3filter.ValidateResponse(b.ctx, in); err != nil {
		b.t.Errorf("%s %s: %v", req.Method, req.URL.Path, err)
	}
}

func (b *apiBench) get(path, token string) reply {
	b.t.Helper()
	return b.send("GET", path, token, nil, nil)
}

func (b *apiBench) post(path, token string, body any) reply {
	b.t.Helper()
	return b.send("POST", path, token, body, nil)
}

// want fails unless the answer has the status.
func (r reply) want(status int) reply {
	r.t.Helper()
	if r.status != status {
		r.t.Fatalf("status %d, want %d: %s", r.status, status, r.body)
	}
	return r
}

// refused fails unless the answer is a problem of this status and code; it returns what is wrong by pointer,
// parameter or header.
func (r reply) refused(status int, code string) map[string]string {
	r.t.Helper()
	r.want(status)
	var p problem
	if err := json.Unmarshal([]byte(r.body), &p); err != nil || p.Code != code || p.Status != status {
		r.t.Fatalf("want the problem %s: %s", code, r.body)
	}
	at := map[string]string{}
	for _, e := range p.Errors {
		at[e.Pointer+e.Parameter+e.Header] = e.Detail
	}
	return at
}

// in decodes the answer.
func in[T any](r reply) T {
	r.t.Helper()
	var v T
	if err := json.Unmarshal([]byte(r.body), &v); err != nil {
		r.t.Fatalf("%v: %s", err, r.body)
	}
	return v
}

// object is an answer or a body as it stands.
type object = map[string]any

// job is a body that is right, with some fields changed; nil takes one away.
func (b *apiBench) job(change object) object {
	j := object{"project": b.pool.Project.ID, "name": "llm-ft", "classes": []string{"a100-80g"}, "gpus_per_node": 4, "tier": "burst", "max_run_seconds": 7200,
		"image": "pytorch/pytorch:2.6", "command": "python", "args": []string{"train.py"}, "env": map[string]string{"SEED": "1"}}
	for k, v := range change {
		if j[k] = v; v == nil {
			delete(j, k)
		}
	}
	return j
}

const jobsPath = "/api/v1/orgs/rheinau/jobs"

// account is a billing account of another organisation.
func account(name string) domain.AccountInput {
	in := domaintest.Account()
	in.Name = name
	return in
}

func (t *apiTime) UnmarshalJSON(b []byte) error {
	var at *time.Time
	err := json.Unmarshal(b, &at)
	if *t = 0; at != nil {
		*t = apiTime(pool.At(*at))
	}
	return err
}
