package web

import (
	"context"
	"fmt"
	"io"
	"net/http/httptest"
	"testing"
	"time"

	"gpupool/domain"
	"gpupool/domain/pool"
	"gpupool/domain/store/storetest"
	"gpupool/static"
)

// jobsOf gives the member its jobs from up to n: one in ten waits, the others have ended.
func (b *bundle) jobsOf(from, n int) {
	b.t.Helper()
	now := b.Clock.Now()
	for ; from < n; from += 1000 {
		b.Update(func(tx domain.Tx) error {
			for i := from; i < min(from+1000, n); i++ {
				j := domain.Job{ID: pool.JobID(fmt.Sprintf("fill-%05d", i)), Org: b.Org, Project: b.Project.ID, User: b.Member.User, Name: fmt.Sprintf("training %d", i),
					Classes: []pool.ClassID{b.Class}, Nodes: 1, GPUsPerNode: 1, Tier: pool.Burst, MaxRun: time.Hour, Spec: domain.JobSpec{Image: "example.org/train:1"},
					State: domain.JobEnded, SubmittedAt: now.Add(-time.Duration(n-i) * time.Second), EndedAt: now, End: domain.EndFinished}
				if i%10 == 0 {
					j.State, j.EndedAt, j.End = domain.JobWaiting, 0, ""
				}
				if err := tx.InsertJob(j); err != nil {
					return err
				}
			}
			return nil
		})
	}
}

// visitor asks the server without a network between.
type visitor struct {
	b      *bundle
	cookie string
}

func (v visitor) get(t testing.TB, path string) (took time.Duration, statements int64) {
	t.Helper()
	ctx := storetest.Counting(context.WithoutCancel(v.b.ctx))
	r := httptest.NewRequestWithContext(ctx, "GET", path, nil)
	r.Header.Set("Cookie", v.cookie)
	a := httptest.NewRecorder()
	began := time.Now()
	v.b.server.ServeHTTP(a, r)
	took = time.Since(began)
	if a.Code != 200 {
		text, _ := io.ReadAll(a.Body)
		t.Fatalf("%s: %d %s", path, a.Code, text)
	}
	return took, storetest.Count(ctx)
}

func TestDashboardAndJobListAskTheSameForOneJobAndForTenThousand(t *testing.T) {
	t.Parallel()
	b := full(t, nil)
	v := visitor{b, b.as(b.Owner.Email).cookie()}
	pages := []string{"/o/" + string(b.Org), "/o/" + string(b.Org) + "/jobs"}
	b.jobsOf(0, 1)
	before := map[string]int64{}
	for _, p := range pages {
		v.get(t, p) // what is read once has been read
		_, before[p] = v.get(t, p)
	}
	b.jobsOf(1, 10_000)
	for _, p := range pages {
		_, n := v.get(t, p)
		if n == 0 || n > 12 || before[p] > 12 || n != before[p] {
			t.Errorf("%s: %d statements for 1 job, %d for 10 000; at most 12 and the same", p, before[p], n)
		}
	}
}

// BenchmarkFiguresOfPages: goal, measured, and whether it is met.
func BenchmarkFiguresOfPages(bb *testing.B) {
	for _, jobs := range []int{1, 10_000} {
		bb.Run(fmt.Sprintf("%d jobs", jobs), func(bench *testing.B) {
			if bench.N > 1 {
				return // each page is timed on its own below
			}
			b := full(bench, nil)
			b.jobsOf(0, jobs)
			v := visitor{b, b.as(b.Owner.Email).cookie()}
			fastest := func(v visitor, path string) (time.Duration, int64) {
				best, n := time.Hour, int64(0)
				for range 20 {
					var d time.Duration
					d, n = v.get(bench, path)
					best = min(best, d)
				}
				return best, n
			}
			plain, _ := fastest(visitor{b, ""}, static.URL("app.css"))
			page, _ := fastest(visitor{b, ""}, "/signin")
			for _, path := range []string{"/o/" + string(b.Org), "/o/" + string(b.Org) + "/jobs"} {
				took, n := fastest(v, path)
				bench.Logf("%s, %d jobs: goal at most 12 statements, measured %d, %s", path, jobs, n, verdict(n <= 12))
				bench.Logf("%s, %d jobs: goal at most 5 times the sign-in page's %v (a file takes %v), measured %v, %.1f times, %s", path, jobs, page, plain, took,
					float64(took)/float64(page), verdict(took <= 5*page))
			}
		})
	}
}

func verdict(ok bool) string {
	if ok {
		return "ok"
	}
	return "missed"
}
