package web

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"gpupool/domain"
	"gpupool/domain/domaintest"
	"gpupool/domain/pool"
	"gpupool/domain/store"
)

// portal is a portal over a full pool: members, catalogue, prices, a cluster whose runs a test moves.
type portal struct {
	*bundle
	pool    *domaintest.Pool
	cluster *runs
}

// open serves a full pool.
func open(t *testing.T, change ...func(o *Options)) *portal {
	t.Helper()
	c := &runs{fakeCluster: newFakeCluster(), log: "epoch 1\nepoch 2\n"}
	p := domaintest.New(t, func(d *domain.Config) { d.Cluster = c })
	c.now = p.Clock.Now
	b := &bundle{Pool: p, t: t, log: &lines{}, ctx: t.Context()}
	o := Options{Service: p.Service, Store: p.Store, Log: slog.New(slog.NewTextHandler(b.log, nil)), Wall: func() time.Time { return p.Clock.Now().Time() }, Version: "test"}
	for _, f := range change {
		f(&o)
	}
	var err error
	if b.server, err = New(o); err != nil {
		t.Fatal(err)
	}
	b.http = httptest.NewServer(b.server)
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(b.log.String())
		}
		b.server.Close()
		b.http.Close()
	})
	return &portal{bundle: b, pool: p, cluster: c}
}

func (p *portal) member() *browser  { return p.as("ming@rheinau.example") }
func (p *portal) owner() *browser   { return p.as("anna@rheinau.example") }
func (p *portal) finance() *browser { return p.as("martina@rheinau.example") }
func (p *portal) viewer() *browser  { return p.as("jonas@rheinau.example") }
func (p *portal) foreign() *browser { return p.as("camille@kestrelis.example") }

// cycle lets the engine and the cluster do what is due.
func (p *portal) cycle() {
	p.t.Helper()
	p.must(p.Service.Cycle(p.ctx, true))
	p.must(p.Service.Cycle(p.ctx, true))
}

// jobForm is a form that is right.
func (p *portal) jobForm() url.Values {
	return url.Values{"project": {string(p.pool.Project.ID)}, "name": {"llm-ft"}, "class": {string(p.pool.Class)}, "nodes": {"1"}, "gpus": {"4"}, "tier": {"burst"},
		"interruptible": {"on"}, "max_run": {"2"}, "image": {"pytorch/pytorch:2.6"}, "command": {"python"}, "args": {"train.py"}, "env": {"SEED=1"}}
}

// with is a form with some fields changed.
func with(form url.Values, pairs ...string) url.Values {
	out := url.Values{}
	for k, v := range form {
		out[k] = v
	}
	for i := 0; i < len(pairs); i += 2 {
		out.Set(pairs[i], pairs[i+1])
	}
	return out
}

// submit sends a job as the quote said and returns its id.
func (p *portal) submit(w *browser, pairs ...string) pool.JobID {
	p.t.Helper()
	form := with(p.jobForm(), pairs...)
	q := w.do("POST", "/o/rheinau/jobs/quote", form, nil).want(200)
	form.Set("up_to", q.doc().Find(`button[name="up_to"]`).AttrOr("value", ""))
	a := w.post("/o/rheinau/jobs", form).want(303)
	return pool.JobID(a.location()[strings.LastIndex(a.location(), "/")+1:])
}

// spot submits a small job without a page.
func (p *portal) spot() {
	p.t.Helper()
	_, err := p.Service.SubmitJob(p.ctx, p.pool.Member, p.pool.Org, domain.JobInput{Project: p.pool.Project.ID, Name: "x", Classes: []pool.ClassID{p.pool.Class},
		Nodes: 1, GPUsPerNode: 1, Tier: pool.Spot, MaxRun: time.Hour, Spec: domain.JobSpec{Image: "python"}})
	p.must(err)
}

// runs is a cluster whose allocations run from the moment they are submitted until a test ends them.
type runs struct {
	*fakeCluster
	mu   sync.Mutex
	all  []domain.Run
	now  func() pool.Instant
	log  string
	next uint64
}

func (r *runs) Submit(_ context.Context, s domain.RunSpec) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, x := range r.all {
		if x.Attempt == s.Attempt {
			return nil
		}
	}
	for i, p := range s.Placement {
		r.next++
		run := domain.Run{Alloc: pool.AllocID(fmt.Sprintf("%s-%d", s.Attempt.NomadID(), i)), ModifyIndex: r.next, Attempt: s.Attempt, Org: s.Org, Node: p.Node,
			Status: domain.RunRunning, Desired: "run", Created: r.now(), Modified: r.now(), Heartbeat: r.now(), Events: []domain.RunEvent{{Type: "Started", At: r.now()}}}
		for k := range p.GPUs {
			run.Devices = append(run.Devices, fmt.Sprintf("GPU-%s-%d", p.Node, k))
		}
		r.all = append(r.all, run)
	}
	return nil
}

func (r *runs) Stop(_ context.Context, _ pool.OrgID, a pool.AttemptID) error {
	r.end(a, domain.RunEvent{Type: "Killed", At: r.now()})
	return nil
}

// end makes the runs of an attempt end now.
func (r *runs) end(a pool.AttemptID, last ...domain.RunEvent) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range r.all {
		if x := &r.all[i]; x.Attempt == a && x.Status == domain.RunRunning {
			r.next++
			x.ModifyIndex, x.Modified, x.Finished, x.Status = r.next, r.now(), r.now(), domain.RunComplete
			x.Events = append(x.Events, domain.RunEvent{Type: "Terminated", At: r.now()})
			x.Events = append(x.Events, last...)
			for _, e := range last {
				if e.Exit != 0 {
					x.Status = domain.RunFailed
				}
			}
		}
	}
}

func (r *runs) Runs(context.Context) ([]domain.Run, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := make([]domain.Run, len(r.all))
	for i, x := range r.all {
		x.Heartbeat = r.now()
		out[i] = x
	}
	return out, nil
}

func (r *runs) Registered(context.Context) (map[pool.AttemptID]bool, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := map[pool.AttemptID]bool{}
	for _, x := range r.all {
		out[x.Attempt] = x.Status != domain.RunRunning
	}
	return out, nil
}

func (r *runs) Logs(_ context.Context, _ pool.OrgID, _ pool.AllocID, _ string, offset, _ int64, _ bool, w io.Writer) (int64, error) {
	if offset < 0 { // from the end
		offset = max(0, int64(len(r.log))+offset)
	}
	if offset >= int64(len(r.log)) {
		return offset, nil
	}
	n, err := io.WriteString(w, r.log[offset:])
	return offset + int64(n), err
}

// statements is how many a page needs, the session included.
func (p *portal) statements(w *browser, path string) int64 {
	p.t.Helper()
	ctx := store.Counting(p.ctx)
	r := httptest.NewRequestWithContext(ctx, "GET", p.http.URL+path, nil)
	for _, c := range w.client.Jar.Cookies(r.URL) {
		r.AddCookie(c)
	}
	answer := httptest.NewRecorder()
	p.server.ServeHTTP(answer, r)
	if answer.Code != 200 {
		p.t.Fatalf("%s: status %d", path, answer.Code)
	}
	return store.Count(ctx)
}
