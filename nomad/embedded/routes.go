package embedded

import (
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// query is a request as a handler sees it.
type query struct {
	*http.Request
	params url.Values
	body   []byte
	level  level
}

// answer is what a handler gives back. A body that is a string goes out as
// text, with status 200 as JSON; anything else goes out as JSON.
type answer struct {
	status int
	index  uint64
	read   bool // a query: leader and contact are named, and it can be waited on
	body   any
	next   string // token of the next page
}

func readOf(index uint64, body any) answer {
	return answer{status: http.StatusOK, index: index, read: true, body: body}
}

func wrote(index uint64, body any) answer {
	return answer{status: http.StatusOK, index: index, body: body}
}

func plain(body any) answer { return answer{status: http.StatusOK, body: body} }

// failed is an error as Nomad answers it: plain text, nearly always 500.
func failed(status int, text string) answer { return answer{status: status, body: text} }

func notFound(index uint64, what string) answer {
	return answer{status: http.StatusNotFound, index: index, read: true, body: what + " not found"}
}

func (c *Cluster) routes() *http.ServeMux {
	m := http.NewServeMux()
	get := func(path string, l level, h func(query) answer) { m.HandleFunc("GET "+path, c.handler(l, h)) }
	put := func(path string, h func(query) answer) {
		m.HandleFunc("PUT "+path, c.handler(manage, h))
		m.HandleFunc("POST "+path, c.handler(manage, h))
	}
	del := func(path string, h func(query) answer) { m.HandleFunc("DELETE "+path, c.handler(manage, h)) }

	get("/v1/jobs", read, c.listJobs)
	put("/v1/jobs", c.registerJob)
	put("/v1/jobs/parse", c.parseJob)
	put("/v1/validate/job", c.validateJob)
	get("/v1/job/{id}", read, c.readJob)
	put("/v1/job/{id}", c.registerJob)
	del("/v1/job/{id}", c.deregisterJob)
	put("/v1/job/{id}/plan", c.planJob)
	put("/v1/job/{id}/evaluate", c.evaluateJob)
	get("/v1/job/{id}/allocations", read, c.jobAllocations)
	get("/v1/job/{id}/evaluations", read, c.jobEvaluations)
	get("/v1/job/{id}/summary", read, c.jobSummary)

	get("/v1/evaluations", read, c.listEvaluations)
	get("/v1/evaluation/{id}", read, c.readEvaluation)
	get("/v1/evaluation/{id}/allocations", read, c.evaluationAllocations)
	get("/v1/allocations", read, c.listAllocations)
	get("/v1/allocation/{id}", read, c.readAllocation)
	put("/v1/allocation/{id}/stop", c.stopAllocation)
	put("/v1/client/allocation/{id}/signal", c.signalAllocation)
	get("/v1/client/allocation/{id}/stats", read, c.allocationStats)
	get("/v1/client/stats", read, c.clientStats)
	m.HandleFunc("GET /v1/client/fs/logs/{id}", c.streamLogs)

	get("/v1/nodes", read, c.listNodes)
	get("/v1/node/{id}", read, c.readNode)
	get("/v1/node/{id}/{part}", read, c.readNodePart)
	put("/v1/node/{id}/drain", c.drainNode)
	put("/v1/node/{id}/eligibility", c.eligibilityNode)
	get("/v1/node/pools", read, c.listPools)
	put("/v1/node/pools", c.writePool)

	get("/v1/namespaces", read, c.listNamespaces)
	put("/v1/namespaces", c.writeNamespace)
	put("/v1/namespace", c.writeNamespace)
	get("/v1/namespace/{name}", read, c.readNamespace)
	put("/v1/namespace/{name}", c.writeNamespace)
	del("/v1/namespace/{name}", c.deleteNamespace)
	get("/v1/vars", manage, c.listVariables)
	get("/v1/var/{path...}", manage, c.readVariable)
	put("/v1/var/{path...}", c.writeVariable)
	del("/v1/var/{path...}", c.deleteVariable)

	get("/v1/agent/self", read, c.agentSelf)
	get("/v1/agent/health", denied, c.agentHealth)
	get("/v1/status/leader", denied, func(query) answer { return plain(json.RawMessage(`"127.0.0.1:4647"`)) })
	get("/v1/regions", denied, func(query) answer { return plain([]string{c.opt.Region}) })
	get("/v1/operator/scheduler/configuration", read, c.readScheduler)
	put("/v1/operator/scheduler/configuration", c.writeScheduler)
	put("/v1/system/gc", func(query) answer { c.collect(c.at); return wrote(c.s.Index, nil) })
	get("/v1/acl/token/self", read, c.ownToken)
	m.HandleFunc("GET /v1/event/stream", c.streamEvents)
	return m
}

// maxBody is the largest request that is read, 4 MiB.
const maxBody = 4 << 20

// handler wraps h: rights, faults, one lock, everything due done first, the
// outcome on disk before the answer, and waiting for a later index.
func (c *Cluster) handler(need level, h func(query) answer) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		q := query{Request: r, params: r.URL.Query()}
		var err error
		if q.body, err = io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody)); err != nil {
			http.Error(w, err.Error(), http.StatusRequestEntityTooLarge)
			return
		}
		if q.level = c.levelOf(r); q.level < need {
			write(w, failed(http.StatusForbidden, "Permission denied"))
			return
		}
		a := c.once(q, h)
		after, _ := strconv.ParseUint(q.params.Get("index"), 10, 64)
		if r.Method == http.MethodGet && after > 0 && a.read && a.index <= after {
			a = c.wait(q, h, after)
		}
		write(w, a)
	}
}

func (c *Cluster) once(q query, h func(query) answer) answer {
	var a answer
	if err := c.do(func() error { a = h(q); a.freeze(); return nil }); err != nil {
		return failed(http.StatusInternalServerError, err.Error())
	}
	return a
}

// freeze turns the body to bytes while nobody else can change what it shows.
func (a *answer) freeze() {
	switch b := a.body.(type) {
	case nil, string, []byte:
	case json.RawMessage:
		a.body = []byte(b)
	default:
		out, err := json.Marshal(b)
		if err != nil {
			*a = failed(http.StatusInternalServerError, err.Error())
			return
		}
		a.body = out
	}
}

// wait asks again until the index is later than after, or the time is over.
func (c *Cluster) wait(q query, h func(query) answer, after uint64) answer {
	d := 5 * time.Minute
	if s := q.params.Get("wait"); s != "" {
		v, err := time.ParseDuration(s)
		if err != nil {
			return failed(http.StatusBadRequest, "Invalid wait time")
		}
		d = min(v, 10*time.Minute)
	}
	limit := time.NewTimer(d)
	defer limit.Stop()
	a, seen := answer{}, uint64(0)
	for first := true; ; first = false {
		changed, now := c.look()
		if first || now != seen { // a list is made again only when something changed
			if a = c.once(q, h); a.index > after || !a.read {
				return a
			}
			seen = now
		}
		if !c.pause(q.Request, changed, limit.C) {
			return a
		}
	}
}

// look lets time pass and gives the cluster's index, with what is closed at
// the next change.
func (c *Cluster) look() (<-chan struct{}, uint64) {
	changed := c.watch()
	_ = c.do(func() error { return nil }) // what is broken shows in the answer
	return changed, c.Index()
}

// watch is closed at the next change.
func (c *Cluster) watch() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.changed
}

// pause waits for a change or for the business clock to have moved; false: the
// time is over, the client is gone or the cluster is closed.
func (c *Cluster) pause(r *http.Request, changed <-chan struct{}, limit <-chan time.Time) bool {
	poll := time.NewTimer(c.opt.Poll)
	defer poll.Stop()
	select {
	case <-changed:
	case <-poll.C:
	case <-limit:
		return false
	case <-r.Context().Done():
		return false
	case <-c.closed:
		return false
	}
	return true
}

func write(w http.ResponseWriter, a answer) {
	h := w.Header()
	if a.index > 0 || a.read || a.status == http.StatusOK && a.body != nil {
		h.Set("X-Nomad-Index", strconv.FormatUint(a.index, 10))
	}
	if a.read {
		h.Set("X-Nomad-KnownLeader", "true")
		h.Set("X-Nomad-LastContact", "0")
	}
	if a.next != "" {
		h.Set("X-Nomad-NextToken", a.next)
	}
	switch b := a.body.(type) {
	case nil:
		w.WriteHeader(a.status)
	case string:
		h.Set("Content-Type", "text/plain; charset=utf-8")
		w.WriteHeader(a.status)
		io.WriteString(w, b) //nolint:errcheck // the client is gone
	case []byte:
		h.Set("Content-Type", "application/json")
		w.WriteHeader(a.status)
		w.Write(b) //nolint:errcheck // the client is gone
	}
}

// namespace of a request: the parameter, or default. "*" means all.
func (q query) namespace() string {
	if ns := q.params.Get("namespace"); ns != "" {
		return ns
	}
	return "default"
}

func (q query) sees(ns string) bool { return q.namespace() == "*" || q.namespace() == ns }

func (q query) flag(name string) bool {
	on, _ := strconv.ParseBool(q.params.Get(name))
	return on
}
