package web

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"gpupool/domain"
	"gpupool/domain/pool"
)

func TestTheSpecificationHasThePathsThatThereAre(t *testing.T) {
	t.Parallel()
	doc, err := specification()
	if err != nil {
		t.Fatal(err)
	}
	var written, served []string
	for path, item := range doc.Paths.Map() {
		for method := range item.Operations() {
			written = append(written, method+" "+path)
		}
	}
	for _, r := range apiTable() {
		parts := strings.Split(r.path, "/")
		for i, p := range parts {
			if name, ok := strings.CutPrefix(p, ":"); ok {
				parts[i] = "{" + name + "}"
			}
		}
		served = append(served, r.method+" "+strings.Join(parts, "/"))
	}
	slices.Sort(written)
	slices.Sort(served)
	if !slices.Equal(written, served) {
		t.Errorf("openapi.json has %q, served are %q", written, served)
	}
	b := openAPIBench(t)
	if r := b.browser().get("/api/openapi.json"); r.status != 200 || r.body != string(openAPIFile) {
		t.Errorf("openapi.json: %d, %d bytes", r.status, len(r.body))
	}
}

func TestTheAPIFromQuoteToInvoice(t *testing.T) {
	t.Parallel()
	b := openAPIBench(t)
	b.engine()
	ming, anna := b.token(b.pool.Member), b.token(b.pool.Owner)
	me := in[object](b.get("/api/v1/me", ming).want(200))
	if me["email"] != "ming@rheinau.example" || me["currency"] != "EUR" || me["now"] != "2026-11-02T09:00:00.000Z" {
		t.Errorf("me: %v", me)
	}
	quote := in[apiQuoteJSON](b.post(jobsPath+"/quote", ming, b.job(nil)).want(200))
	// 4 GPUs for 2 hours at 1.25, the dearest that a flexible job can fall to.
	if quote.UpTo != (apiMoney{1000, "EUR"}) || !quote.Admitted || quote.GPUs != 4 || quote.Price.MicroMinor != 125_000_000 {
		t.Errorf("quote: %+v", quote)
	}
	sent := b.post(jobsPath, ming, b.job(nil)).want(201)
	j := in[object](sent)
	place := sent.header.Get("Location")
	if j["state"] == "waiting" || j["up_to"].(object)["amount_minor"] != 1000.0 || place != jobsPath+"/"+j["id"].(string) {
		t.Errorf("submitted: %s at %q", sent.body, place)
	}
	b.cycle() // it runs before the clock moves, whoever turns the loops
	b.pool.Clock.Add(time.Hour)
	b.cycle()
	if list := in[object](b.get(jobsPath+"?state=starting&state=running&q=LLM", ming).want(200)); len(list["items"].([]any)) != 1 {
		t.Errorf("list: %v", list)
	}
	if r := b.get(place+"/log?offset=8", ming).want(200); r.body != "epoch 2\n" || r.header.Get(nextOffset) != "16" {
		t.Errorf("log: %q, next %s", r.body, r.header.Get(nextOffset))
	}
	if r := b.get(place+"/log?follow=true", ming).want(200); r.body != "epoch 1\nepoch 2\n" {
		t.Errorf("followed: %q", r.body)
	}
	b.post(place+"/stop", ming, nil).want(200)
	b.cycle()
	ended := in[object](b.get(place, ming).want(200))
	if end := ended["end"].(object); ended["state"] != "ended" || end["reason"] != "stopped" || end["exit_code"] != nil {
		t.Errorf("ended: %v", ended)
	}
	if charged := ended["charged"].(object)["amount_minor"]; charged != 500.0 {
		t.Errorf("charged %v, want 4 GPUs for an hour", charged)
	}
	b.post(place+"/stop", ming, nil).refused(409, "conflict")
	usage := in[apiUsageJSON](b.get("/api/v1/orgs/rheinau/usage?month=2026-11", ming).want(200))
	if len(usage.Lines) != 1 || usage.Lines[0].Use != 4*pool.MillisPerHour || usage.Lines[0].Project.Name != "LLM" || !usage.Provisional {
		t.Errorf("usage: %+v", usage)
	}
	quota := in[object](b.get("/api/v1/orgs/rheinau/quota", ming).want(200))
	row := quota["classes"].([]any)[0].(object)
	if row["guaranteed"] != 6.0 || row["included_used_gpu_milliseconds"] != 4.0*pool.MillisPerHour || quota["plan"].(object)["name"] != "Campus" {
		t.Errorf("quota: %v", quota)
	}
	b.closeNovember()
	list := in[apiPage[apiInvoiceRow]](b.get("/api/v1/orgs/rheinau/invoices", anna).want(200))
	if len(list.Items) != 1 || list.Items[0].Month != "2026-11" {
		t.Fatalf("invoices: %+v", list)
	}
	one := in[apiInvoiceJSON](b.get("/api/v1/orgs/rheinau/invoices/"+list.Items[0].Number, anna).want(200))
	var net int64
	for _, l := range one.Lines {
		net += l.Amount.AmountMinor
	}
	if net != one.Net.AmountMinor || len(one.Lines) < 2 || one.Lines[1].Jobs[0].Job != j["id"] {
		t.Errorf("invoice: %+v", one)
	}
	b.get("/api/v1/orgs/kestrelis/invoices/"+one.Number, b.token(b.pool.OtherOwner)).refused(404, "not_found")
}

// closeNovember moves the clock past the month and its grace, and closes it.
func (b *apiBench) closeNovember() {
	b.t.Helper()
	b.pool.Clock.Set(pool.At(time.Date(2026, 12, 2, 12, 0, 0, 0, time.UTC)))
	closed, err := b.Service.CloseMonth(b.ctx, b.pool.Operator, pool.Month{Year: 2026, Month: 11})
	b.must(err)
	for _, c := range closed {
		b.must(c.Err)
	}
}

func TestCatalogueOfTheAPI(t *testing.T) {
	t.Parallel()
	b := openAPIBench(t)
	token := b.token(b.pool.Viewer, domain.ScopeRead)
	classes := in[apiPage[apiClass]](b.get("/api/v1/classes", token).want(200))
	if c := classes.Items[0]; c.ID != "a100-80g" || c.Free != 8 || len(c.Prices) != 3 || c.Prices[1].Price.MicroMinor != 100_000_000 {
		t.Errorf("classes: %+v", classes)
	}
	plans := in[object](b.get("/api/v1/plans", token).want(200))["items"].([]any)
	if len(plans) != 2 {
		t.Errorf("plans: %v", plans)
	}
	prices := in[object](b.get("/api/v1/prices", token).want(200))
	if rows := prices["in_force"].(object)["rows"].([]any); len(rows) != 3 || prices["zone"] != "Europe/Berlin" {
		t.Errorf("prices: %v", prices)
	}
	projects := in[object](b.get("/api/v1/orgs/rheinau/projects", token).want(200))["items"].([]any)
	if p := projects[0].(object); p["name"] != "LLM" || p["billing_account"].(object)["name"] != "Main" {
		t.Errorf("projects: %v", projects)
	}
	orgs := in[apiPage[apiOrg]](b.get("/api/v1/orgs", token).want(200))
	if len(orgs.Items) != 1 || orgs.Items[0].Role != "viewer" {
		t.Errorf("orgs: %+v", orgs)
	}
}

// apiRights is who gets which status from each path: stranger, member, lead, finance, owner, viewer, operator, owner of
// another organisation.
var apiRights = map[string][8]int{
	"GET /me":                         {401, 200, 200, 200, 200, 200, 200, 200},
	"GET /classes":                    {401, 200, 200, 200, 200, 200, 200, 200},
	"GET /plans":                      {401, 200, 200, 200, 200, 200, 200, 200},
	"GET /prices":                     {401, 200, 200, 200, 200, 200, 200, 200},
	"GET /announcements":              {401, 200, 200, 200, 200, 200, 200, 200},
	"GET /time-policies":              {401, 404, 404, 404, 404, 404, 200, 404},
	"GET /queue":                      {401, 404, 404, 404, 404, 404, 200, 404},
	"GET /queue/whatif":               {401, 404, 404, 404, 404, 404, 422, 404},
	"GET /orgs":                       {401, 200, 200, 200, 200, 200, 200, 200},
	"GET /orgs/:org/projects":         {401, 200, 200, 200, 200, 200, 200, 404},
	"GET /orgs/:org/quota":            {401, 200, 200, 200, 200, 200, 200, 404},
	"POST /orgs/:org/jobs/quote":      {401, 200, 200, 403, 200, 403, 403, 404},
	"POST /orgs/:org/jobs":            {401, 201, 201, 403, 201, 403, 403, 404},
	"GET /orgs/:org/jobs":             {401, 200, 200, 200, 200, 200, 200, 404},
	"GET /orgs/:org/jobs/:job":        {401, 200, 200, 200, 200, 200, 200, 404},
	"PATCH /orgs/:org/jobs/:job":      {401, 403, 200, 403, 200, 403, 403, 404},
	"POST /orgs/:org/jobs/:job/stop":  {401, 403, 200, 403, 200, 403, 403, 404},
	"GET /orgs/:org/jobs/:job/log":    {401, 200, 200, 200, 200, 200, 200, 404},
	"GET /orgs/:org/usage":            {401, 200, 200, 200, 200, 200, 200, 404},
	"GET /orgs/:org/invoices":         {401, 403, 403, 200, 200, 200, 200, 404},
	"GET /orgs/:org/invoices/:number": {401, 403, 403, 200, 200, 200, 200, 404},
}

func TestEveryPathOfTheAPIAsEveryRole(t *testing.T) {
	t.Parallel()
	b := openAPIBench(t)
	p := b.pool
	b.closeNovember()
	b.engine()
	rows, err := b.Service.Invoices(b.ctx, p.Owner, p.Org)
	b.must(err)
	tokens := []string{""}
	for _, a := range []domain.Actor{p.Member, p.Lead, p.Finance, p.Owner, p.Viewer, p.Operator, p.OtherOwner} {
		tokens = append(tokens, b.token(a, domain.ScopeRead, domain.ScopeJobs))
	}
	for _, r := range apiTable() {
		want, ok := apiRights[r.method+" "+r.path]
		if !ok {
			t.Errorf("%s %s: nobody has said who may use it", r.method, r.path)
			continue
		}
		for i, token := range tokens {
			j, err := b.Service.SubmitJob(b.ctx, p.Owner, p.Org, domain.JobInput{Project: p.Project.ID, Name: "walk", Classes: []pool.ClassID{p.Class}, Nodes: 1, GPUsPerNode: 1,
				Tier: pool.Spot, MaxRun: time.Hour, NotBefore: p.Clock.Now().Add(time.Hour), Spec: domain.JobSpec{Image: "busybox"}})
			b.must(err)
			path := apiPrefix + strings.NewReplacer(":org", string(p.Org), ":job", string(j.ID), ":number", rows[0].Invoice.Number).Replace(r.path)
			var body any
			if r.method == "POST" && strings.Contains(r.path, "jobs") && !strings.HasSuffix(r.path, "stop") {
				body = b.job(object{"gpus_per_node": 1, "tier": "spot"})
			}
			if r.method == "PATCH" {
				body = object{"priority": 3}
			}
			if got := b.send(r.method, path, token, body, nil); got.status != want[i] {
				t.Errorf("%s %s as %d: %d, want %d: %s", r.method, path, i, got.status, want[i], got.body)
			}
		}
	}
}

func TestATokenWithoutTheScopeJobsOnlyReads(t *testing.T) {
	t.Parallel()
	b := openAPIBench(t)
	token := b.token(b.pool.Owner, domain.ScopeRead)
	b.get(jobsPath, token).want(200)
	r := b.post(jobsPath, token, b.job(nil))
	r.refused(403, "insufficient_scope")
	if h := r.header.Get("WWW-Authenticate"); !strings.Contains(h, `scope="jobs"`) {
		t.Errorf("WWW-Authenticate: %q", h)
	}
	b.post(jobsPath, b.token(b.pool.Viewer), b.job(nil)).refused(403, "forbidden")
}

func TestOnlyTokensLetIn(t *testing.T) {
	t.Parallel()
	b := openAPIBench(t)
	w := b.as("anna@rheinau.example")
	if r := w.get("/api/v1/me"); r.status != 401 || !strings.HasPrefix(r.header.Get("WWW-Authenticate"), "Bearer") || r.header.Get("Set-Cookie") != "" {
		t.Errorf("with a cookie: %d, %v", r.status, r.header)
	}
	good := b.token(b.pool.Owner)
	bad := []string{"Basic YTpi", "Bearer", "Bearer ", "Bearer gpupool_pat_", "Bearer " + good + "x", "Bearer " + good[:len(good)-1], "Bearer " + strings.Repeat("a", 3000), "Bearer ' OR 1=1 --", good}
	for _, h := range bad {
		b.send("GET", "/api/v1/me", "", nil, http.Header{"Authorization": {h}}).refused(401, "unauthenticated")
	}
	b.send("GET", "/api/v1/me", "", nil, http.Header{"Authorization": {"bearer  " + good}}).want(200)
	tokens, err := b.Service.Tokens(b.ctx, b.pool.Owner)
	b.must(err)
	b.must(b.Service.RevokeToken(b.ctx, b.pool.Owner, tokens[0].ID))
	b.get("/api/v1/me", good).refused(401, "unauthenticated")
	if strings.Contains(b.log.String(), good) {
		t.Error("a token stands in the log")
	}
}

func TestWrongTokensAndTooManyRequestsAreSlowedDown(t *testing.T) {
	t.Parallel()
	b := openAPIBench(t)
	good, other := b.token(b.pool.Owner), b.token(b.pool.Member)
	for range requests.burst {
		b.get("/api/v1/me", good).want(200)
	}
	r := b.get("/api/v1/me", good)
	r.refused(429, "too_many")
	if r.header.Get("Retry-After") != "1" {
		t.Errorf("Retry-After: %q", r.header.Get("Retry-After"))
	}
	b.get("/api/v1/me", other).want(200)
	b.pool.Clock.Add(time.Second)
	b.get("/api/v1/me", good).want(200)
	for range guesses.burst {
		b.get("/api/v1/me", domain.TokenPrefix+"wrong").refused(401, "unauthenticated")
	}
	r = b.get("/api/v1/me", other)
	r.refused(429, "too_many")
	if r.header.Get("Retry-After") != "3" {
		t.Errorf("Retry-After after guessing: %q", r.header.Get("Retry-After"))
	}
}

func TestBadInputIsSaidAtItsField(t *testing.T) {
	t.Parallel()
	b := openAPIBench(t)
	token := b.token(b.pool.Member)
	foreign, err := b.Service.CreateAccount(b.ctx, b.pool.OtherOwner, b.pool.Other, account("Theirs"))
	b.must(err)
	theirs, err := b.Service.CreateProject(b.ctx, b.pool.OtherOwner, b.pool.Other, domain.ProjectInput{Name: "Theirs", Account: foreign.ID})
	b.must(err)
	tests := []struct {
		sentence string
		change   object
		at       string
	}{
		{"no project", object{"project": nil}, "/project"},
		{"a project that is not there", object{"project": "p-nowhere"}, "/project"},
		{"a project of another organisation", object{"project": theirs.ID}, "/project"},
		{"a zero byte in an id", object{"project": "p-\x00"}, "/project"},
		{"an empty name", object{"name": "  "}, "/name"},
		{"a name that is too long", object{"name": strings.Repeat("长", 121)}, "/name"},
		{"no GPU type", object{"classes": []string{}}, "/classes"},
		{"an unknown GPU type", object{"classes": []string{"'; DROP TABLE jobs; --"}}, "/classes"},
		{"no node", object{"nodes": 0}, "/nodes"},
		{"fewer GPUs than none", object{"gpus_per_node": -4}, "/gpus_per_node"},
		{"more GPUs than any node could have", object{"gpus_per_node": 1 << 40}, "/gpus_per_node"},
		{"no tier", object{"tier": "flexible 🚀"}, "/tier"},
		{"a priority that is too high", object{"priority": 101}, "/priority"},
		{"a run that is too short", object{"max_run_seconds": 59}, "/max_run_seconds"},
		{"a run that never ends", object{"max_run_seconds": int64(1) << 60}, "/max_run_seconds"},
		{"a negative run", object{"max_run_seconds": -1}, "/max_run_seconds"},
		{"a time that is none", object{"not_before": "tomorrow"}, "/not_before"},
		{"a time that is far", object{"not_before": "2199-01-01T00:00:00Z"}, "/not_before"},
		{"a job that is not there", object{"depends_on": "j-nowhere"}, "/depends_on"},
		{"no image", object{"image": nil}, "/image"},
		{"an image with a script", object{"image": "<script>alert(1)</script>"}, "/image"},
		{"a variable of the pool", object{"env": map[string]string{"NVIDIA_VISIBLE_DEVICES": "all"}}, "/env"},
		{"interpolation", object{"command": "${nomad.token}"}, "/command"},
		{"simulation in a real pool", object{"simulation": object{"length_seconds": 5}}, "/simulation"},
		{"another currency", object{"max_cost": object{"amount_minor": 1, "currency": "USD"}}, "/max_cost/currency"},
		{"less than it may cost", object{"max_cost": object{"amount_minor": 999, "currency": "EUR"}}, "/max_cost"},
		{"a text for a number", object{"nodes": "2"}, "/nodes"},
		{"a fraction", object{"gpus_per_node": 1.5}, "/gpus_per_node"},
		{"a text for a list", object{"args": "train.py"}, "/args"},
		{"a number for a text", object{"name": 5}, "/name"},
		{"a field that there isn't", object{"gpus/node": 5}, "/gpus~1node"},
	}
	for _, tt := range tests {
		t.Run(tt.sentence, func(t *testing.T) {
			at := b.post(jobsPath, token, b.job(tt.change)).refused(422, "invalid")
			if at[tt.at] == "" {
				t.Errorf("nothing at %s: %v", tt.at, at)
			}
		})
	}
	if jobs, _, err := b.Service.Jobs(b.ctx, b.pool.Owner, domain.JobFilter{Org: b.pool.Org}); err != nil || len(jobs) != 0 {
		t.Errorf("%d jobs were made, %v", len(jobs), err)
	}
	all := b.post(jobsPath, token, b.job(object{"name": "", "nodes": 99, "max_run_seconds": -1})).refused(422, "invalid")
	if len(all) != 3 {
		t.Errorf("not all at once: %v", all)
	}
}

func TestBodiesThatAreNoJSON(t *testing.T) {
	t.Parallel()
	b := openAPIBench(t)
	token := b.token(b.pool.Member)
	for _, body := range []string{"", "{", "[]", `"a"`, `{"name":"a"} {"name":"b"}`, "\xff\xfe"} {
		r := b.send("POST", jobsPath, token, body, http.Header{"Content-Type": {"application/json"}})
		r.refused(400, "malformed")
	}
	b.send("POST", jobsPath, token, "name=a", http.Header{"Content-Type": {"application/x-www-form-urlencoded"}}).refused(415, "unsupported_media_type")
	b.post(jobsPath, token, `{"name":"`+strings.Repeat("a", bodyLimit)+`"}`).refused(413, "too_large")
	b.post(jobsPath, token, "null").refused(422, "invalid")
	r := b.send("DELETE", jobsPath, token, nil, nil)
	r.refused(405, "method_not_allowed")
	if !strings.Contains(r.header.Get("Allow"), "POST") {
		t.Errorf("Allow: %q", r.header.Get("Allow"))
	}
	b.get("/api/v1/nothing", token).refused(404, "not_found")
	b.get("/api/v2/me", token).refused(404, "not_found")
	for query, name := range map[string]string{"limit=0": "limit", "limit=201": "limit", "limit=x": "limit", "state=gone": "state", "cursor=j-nowhere": "cursor", "cursor=%00": "cursor"} {
		if at := b.get(jobsPath+"?"+query, token).refused(422, "invalid"); at[name] == "" {
			t.Errorf("%s: %v", query, at)
		}
	}
	if at := b.get("/api/v1/orgs/rheinau/usage?month=2026-13", token).refused(422, "invalid"); at["month"] == "" {
		t.Errorf("month: %v", at)
	}
	for _, path := range []string{jobsPath + "/j-%00", jobsPath + "/%ff", jobsPath + "/" + strings.Repeat("j", 400), "/api/v1/orgs/%F0%9F%9A%80/jobs", "/api/v1/orgs/" + url.PathEscape("' OR 1=1 --") + "/jobs"} {
		b.get(path, token).refused(404, "not_found")
	}
}

// No body makes the API fail: it is taken or refused.
func TestNoBodyBreaksTheAPI(t *testing.T) {
	t.Parallel()
	b := openAPIBench(t)
	token := b.token(b.pool.Member)
	keys := []string{"project", "name", "classes", "nodes", "gpus_per_node", "tier", "priority", "max_run_seconds", "not_before", "depends_on", "renewable", "image", "command",
		"args", "env", "max_cost", "simulation"}
	n, taken := 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		body := b.job(nil)
		for range rapid.IntRange(0, 3).Draw(rt, "changes") {
			body[rapid.SampledFrom(keys).Draw(rt, "key")] = rapid.OneOf(
				rapid.Map(rapid.String(), func(s string) any { return s }),
				rapid.Map(rapid.Int64(), func(i int64) any { return i }),
				rapid.Map(rapid.SliceOfN(rapid.String(), 0, 3), func(s []string) any { return s }),
				rapid.Map(rapid.MapOfN(rapid.String(), rapid.String(), 0, 3), func(m map[string]string) any { return m }),
				rapid.Map(rapid.Bool(), func(x bool) any { return x }),
			).Draw(rt, "value")
		}
		if n++; n%150 == 0 {
			b.pool.Clock.Add(10 * time.Second) // the rate limit is another test's matter
		}
		switch r := b.post(jobsPath+"/quote", token, body); r.status {
		case 200:
			taken++
		case 422, 409:
		default:
			rt.Fatalf("%d: %s for %v", r.status, r.body, body)
		}
	})
	if taken == 0 || taken == n {
		t.Errorf("%d of %d bodies were taken: the draw met only one side", taken, n)
	}
}

func TestPagesOfJobsMeetWithoutGapOrTwin(t *testing.T) {
	t.Parallel()
	b := openAPIBench(t)
	token := b.token(b.pool.Member)
	want := map[string]bool{}
	for i := range 7 {
		j, err := b.Service.SubmitJob(b.ctx, b.pool.Member, b.pool.Org, domain.JobInput{Project: b.pool.Project.ID, Name: fmt.Sprint("job ", i), Classes: []pool.ClassID{b.pool.Class},
			Nodes: 1, GPUsPerNode: 1, Tier: pool.Spot, MaxRun: time.Hour, Spec: domain.JobSpec{Image: "busybox"}})
		b.must(err)
		want[string(j.ID)] = true
	}
	path, pages := jobsPath+"?limit=3&state=waiting", 0
	for path != "" {
		r := b.get(path, token).want(200)
		p := in[apiPage[object]](r)
		for _, j := range p.Items {
			if !want[j["id"].(string)] {
				t.Errorf("%v comes twice", j["id"])
			}
			delete(want, j["id"].(string))
		}
		path = ""
		if link := r.header.Get("Link"); link != "" {
			path = strings.TrimSuffix(strings.TrimPrefix(link, "<"), `>; rel="next"`)
			if p.Next == nil || !strings.Contains(path, "cursor="+*p.Next) || !strings.Contains(path, "state=waiting") {
				t.Errorf("link %q, cursor %v", link, p.Next)
			}
		}
		pages++
	}
	if len(want) > 0 || pages != 3 {
		t.Errorf("%d pages, left out: %v", pages, want)
	}
}

func TestAnUnchangedAnswerIsNotSentAgain(t *testing.T) {
	t.Parallel()
	b := openAPIBench(t)
	token := b.token(b.pool.Member)
	tag := b.get("/api/v1/plans", token).want(200).header.Get("ETag")
	r := b.send("GET", "/api/v1/plans", token, nil, http.Header{"If-None-Match": {`"other", W/` + tag}})
	if r.status != 304 || r.body != "" {
		t.Errorf("%d with %d bytes, want 304", r.status, len(r.body))
	}
	b.pool.Plan("big", "Big", "9990.00", domain.PlanClassInput{Class: b.pool.Class, Guaranteed: "1"})
	if r := b.send("GET", "/api/v1/plans", token, nil, http.Header{"If-None-Match": {tag}}).want(200); r.header.Get("ETag") == tag {
		t.Error("another answer has the same tag")
	}
	if r := b.send("HEAD", "/api/v1/plans", token, nil, nil).want(200); r.body != "" {
		t.Errorf("HEAD has a body: %q", r.body)
	}
}

func TestOnlyWhoMayChangeAJobSeesItsVariables(t *testing.T) {
	t.Parallel()
	b := openAPIBench(t)
	b.engine()
	place := b.post(jobsPath, b.token(b.pool.Member), b.job(object{"env": map[string]string{"WANDB_KEY": "s3cret-value"}})).want(201).header.Get("Location")
	other := b.pool.Join(b.pool.Owner, b.pool.Org, "noor", pool.RoleMember)
	for _, tt := range []struct {
		who  domain.Actor
		sees bool
	}{{b.pool.Member, true}, {b.pool.Lead, true}, {b.pool.Owner, true}, {other, false}, {b.pool.Viewer, false}, {b.pool.Finance, false}, {b.pool.Operator, false}} {
		if r := b.get(place, b.token(tt.who)).want(200); strings.Contains(r.body, "s3cret-value") != tt.sees {
			t.Errorf("%s sees it: %t", tt.who.Email, !tt.sees)
		}
	}
}

// A question in the address names what is wrong as the parameter that it is.
func TestAWrongQuestionNamesItsParameter(t *testing.T) {
	t.Parallel()
	b := openAPIBench(t)
	token := b.token(b.pool.Operator)
	for query, parameter := range map[string]string{"ask=grant&org=rheinau&class=a100-80g&gpus=zwei": "gpus", "ask=drain&node=nowhere": "node", "": "ask"} {
		if r := b.get("/api/v1/queue/whatif?"+query, token).want(422); !strings.Contains(r.body, `"parameter":"`+parameter+`"`) || strings.Contains(r.body, `"pointer"`) {
			t.Errorf("%s: %s", query, r.body)
		}
	}
}
