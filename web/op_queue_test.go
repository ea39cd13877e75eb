package web

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"gpupool/domain"
	"gpupool/domain/pool"
	"gpupool/domain/store/storetest"
)

// submits sends a job of rheinau, a second after what was before, and returns its id.
func (b *bundle) submits(name string, gpus int, tier pool.Tier) pool.JobID {
	b.t.Helper()
	b.Clock.Add(time.Second)
	j, err := b.Service.SubmitJob(b.ctx, b.Member, b.Org, domain.JobInput{Project: b.Project.ID, Name: name, Classes: []pool.ClassID{b.Class}, Nodes: 1, GPUsPerNode: gpus,
		Tier: tier, MaxRun: time.Hour, Spec: domain.JobSpec{Image: "pytorch/pytorch:2.6"}})
	b.must(err)
	return j.ID
}

func (b *bundle) decides() {
	b.t.Helper()
	_, err := b.Service.RunEngine(b.ctx)
	b.must(err)
}

func TestTheQueuePageShowsThePlanClassByClass(t *testing.T) {
	t.Parallel()
	b := full(t, nil)
	w := b.as(b.Operator.Email)
	b.submits("inside", 5, pool.Burst)
	b.decides()
	b.Clock.Add(time.Minute)
	b.submits("beyond", 2, pool.Burst)
	b.decides()
	b.submits("late", 4, pool.Burst)
	b.decides()
	doc := w.get("/op/queue").want(200).doc()
	cell := func(table string, row, column int) string {
		return strings.TrimSpace(doc.Find("#" + table + " tbody tr").Eq(row).Children().Eq(column).Text())
	}
	for what, x := range map[string][2]string{
		"usable":             {cell("classes", 0, 1), "8"},
		"own":                {cell("classes", 0, 2), "6"},
		"borrowed":           {cell("classes", 0, 3), "1"},
		"free but scattered": {cell("classes", 0, 6), "1"},
		"place":              {cell("queue", 0, 0), "1"},
		"member":             {cell("queue", 0, 2), "TU Rheinau"},
		"part of the quota":  {cell("owners-order", 0, 4), "116 %"},
		"on loan":            {cell("borrowers-order", 0, 2), "1"},
		"turn of the victim": {cell("victims-order", 0, 0), "–"}, // inside its minimum run time
	} {
		if x[0] != x[1] {
			t.Errorf("%s: %q, want %q", what, x[0], x[1])
		}
	}
	if s := cell("queue", 0, 1); !strings.HasPrefix(s, "late") {
		t.Errorf("waits: %q", s)
	}
	if s := cell("queue", 0, 4); !strings.Contains(s, "free") || !strings.Contains(s, "It starts when") {
		t.Errorf("why: %q", s)
	}
	if s := cell("queue", 0, 5); !latest.MatchString(s) {
		t.Errorf("expected start %q", s)
	}
	if s := cell("victims-order", 0, 1); !strings.HasPrefix(s, "beyond") {
		t.Errorf("next victim %q", s)
	}
	if n := w.get("/op/queue?member=kestrelis").want(200).doc().Find("#queue tbody tr").Length(); n != 0 {
		t.Errorf("%d jobs of a member that has none", n)
	}
	if n := w.get("/op/queue?class=a100-80g&member=rheinau").want(200).doc().Find("#queue tbody tr").Length(); n != 1 {
		t.Errorf("%d jobs of the only class and member", n)
	}
}

func TestTheQueueIsReadPageByPage(t *testing.T) {
	t.Parallel()
	b := full(t, nil)
	b.must(b.Service.PauseAdmission(b.ctx, b.Operator, true))
	for i := range domain.QueuePage + 3 {
		b.submits(fmt.Sprintf("job-%02d", i), 1, pool.Burst)
	}
	b.decides()
	w := b.as(b.Operator.Email)
	first := w.get("/op/queue").want(200).says("1 to 50 of 53 jobs")
	href := first.doc().Find("#queue a[rel=next]").AttrOr("href", "")
	second := w.get(href).want(200).says("51 to 53 of 53 jobs")
	if n := second.doc().Find("#queue tbody tr").Length(); n != 3 {
		t.Errorf("%d jobs on the second page", n)
	}
	w.get("/op/queue?page=99").want(200)
	w.get("/op/queue?page=-1&class=%00&member='").want(200)
}

func TestWhatIfIsAnsweredAndStoresNothing(t *testing.T) {
	t.Parallel()
	b := full(t, nil)
	w := b.as(b.Operator.Email)
	b.submits("inside", 5, pool.Burst)
	b.decides()
	b.Clock.Add(time.Minute)
	b.submits("beyond", 2, pool.Burst)
	b.decides()
	b.submits("late", 4, pool.Burst)
	b.decides()
	before := b.everything()
	for query, says := range map[string][]string{
		"ask=drain&node=gpu-01":                             {"What if gpu-01 is drained", "Runs on the node now", "inside", "The node is empty by"},
		"ask=drain&node=gpu-01&move=on":                     {"its jobs are stopped now", "Is stopped now and waits again.", "Stopped that would run on2"},
		"ask=grant&org=rheinau&class=a100-80g&gpus=2":       {"What if TU Rheinau has 2 more guaranteed A100 80 GB", "1 own, 1 borrowed", "2 own", "+0.25"},
		"ask=add&class=a100-80g&nodes=1&gpus=8":             {"Start that would wait1", "late", "Starts now: 4 on new-1"},
		"ask=rules&no_lending=on&fair=on":                   {"lending off, fair reclaim on"},
		"ask=grant&org=kestrelis&class=a100-80g&gpus=10000": {"Kestrelis", "It would change nothing now."},
	} {
		w.get("/op/queue/whatif?" + query).want(200).says(append(says, "Nothing was changed")...)
	}
	for query, field := range map[string]string{
		"ask=grant&org=rheinau&class=a100-80g&gpus=zwei": "gpus", "ask=grant&org=nobody&class=a100-80g&gpus=2": "org", "ask=grant&org=rheinau&class=x&gpus=2": "class",
		"ask=drain&node=%3Cb%3E": "node", "ask=add&class=a100-80g&nodes=0&gpus=8": "nodes",
	} {
		id := strings.Split(strings.TrimPrefix(query, "ask="), "&")[0]
		page := w.get("/op/queue/whatif?" + query).want(422)
		if page.doc().Find("#f-"+id+"-"+field+"-error").Length() != 1 {
			t.Errorf("%s: nothing is said at %s", query, field)
		}
	}
	if after := b.everything(); after != before {
		t.Errorf("asking changed the store:\n%s\n%s", before, after)
	}
}

// everything is what a question could have changed.
func (b *bundle) everything() string {
	var s string
	b.must(b.Store.View(b.ctx, func(tx domain.Tx) error {
		version, err := tx.Version()
		b.must(err)
		jobs, err := tx.LiveJobs()
		b.must(err)
		attempts, err := tx.LiveAttempts()
		b.must(err)
		promises, err := tx.OpenPromises()
		b.must(err)
		nodes, err := tx.Nodes()
		b.must(err)
		s = fmt.Sprint(version, jobs, attempts, promises, nodes)
		return nil
	}))
	return s
}

func TestTheQueueAsksTheSameForOneJobAndForMany(t *testing.T) {
	t.Parallel()
	b := full(t, nil)
	w := b.as(b.Operator.Email)
	asks := func(path string) int64 {
		ctx := storetest.Counting(b.ctx)
		r := httptest.NewRequestWithContext(ctx, "GET", path, nil)
		r.Header.Set("Cookie", w.cookie())
		a := httptest.NewRecorder()
		b.server.ServeHTTP(a, r)
		if a.Code != 200 {
			t.Fatalf("%s: %d", path, a.Code)
		}
		return storetest.Count(ctx)
	}
	pages := map[string]int64{"/op/queue": 12, "/op/queue/whatif?ask=add&class=a100-80g&nodes=1&gpus=8": 16}
	before := map[string]int64{}
	for _, jobs := range []int{5, 25} {
		for i := range jobs {
			b.submits(fmt.Sprintf("job-%02d-%d", i, jobs), 4, pool.Burst)
		}
		b.decides()
		for p, most := range pages {
			asks(p)
			n := asks(p)
			if n > most || n == 0 || before[p] != 0 && n != before[p] {
				t.Errorf("%s with %d more jobs: %d statements, %d before, at most %d", p, jobs, n, before[p], most)
			}
			before[p] = n
		}
	}
	t.Log(before)
}

func TestTheAPITellsTheOperatorTheQueueAndAnswersWhatIf(t *testing.T) {
	t.Parallel()
	b := openAPIBench(t)
	token := b.token(b.pool.Operator, domain.ScopeRead)
	b.get("/api/v1/queue", token).want(200)
	b.submits("inside", 5, pool.Burst)
	b.decides()
	b.submits("late", 4, pool.Burst)
	b.decides()
	var q struct {
		Total   int `json:"waiting_total"`
		Classes []struct {
			Usable, Own int
			Owners      []struct{ Org string } `json:"inside_quota"`
		}
		Waiting []struct {
			Position int
			Reasons  []struct{ Message string }
		}
	}
	b.must(json.Unmarshal([]byte(b.get("/api/v1/queue?class=a100-80g&member=rheinau", token).want(200).body), &q))
	if q.Total != 1 || len(q.Waiting) != 1 || len(q.Waiting[0].Reasons) == 0 || len(q.Classes) != 1 || q.Classes[0].Usable != 8 || q.Classes[0].Own != 5 || q.Classes[0].Owners[0].Org != "rheinau" {
		t.Errorf("queue: %+v", q)
	}
	var w struct {
		Jobs []struct {
			After struct{ State string }
		}
	}
	b.must(json.Unmarshal([]byte(b.get("/api/v1/queue/whatif?ask=add&class=a100-80g&nodes=1&gpus=8", token).want(200).body), &w))
	if len(w.Jobs) != 1 || w.Jobs[0].After.State != "starts" {
		t.Errorf("what if: %+v", w)
	}
	b.get("/api/v1/queue/whatif?ask=drain&node=gpu-01&move=yes", token).want(200)
	b.get("/api/v1/queue/whatif?ask=grant&org=rheinau&class=a100-80g&gpus=x", token).refused(422, "invalid")
}
