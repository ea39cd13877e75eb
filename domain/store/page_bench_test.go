package store_test

import (
	"database/sql"
	"fmt"
	"testing"

	"gpupool/domain"
	"gpupool/domain/store"
	"gpupool/domain/store/storetest"
)

// fillJobs writes n ended jobs of the organisation next to what is there.
func fillJobs(t testing.TB, hand *sql.DB, n int) {
	t.Helper()
	_, err := hand.Exec(fmt.Sprintf(`WITH RECURSIVE c (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < %d)
		INSERT INTO jobs SELECT 'f-' || n, 'uni', 'lab-uni', CASE WHEN n %% 10 = 0 THEN 'ada-uni' ELSE 'bo' END, 'train ' || n, 'train ' || n, '["a100-80g"]', 1, 1,
		'burst', 0, 1, FALSE, 0, '', '{"image":"x"}', 'ended', '[]', 0, 0, 0, 1, %d + n, 1, 'finished', '', '', 0 FROM c`, n, int64(storetest.Start)))
	if err != nil {
		t.Fatal(err)
	}
}

// BenchmarkPageOfJobs reads the first page and the one in the middle of the
// list, of few and of many jobs: the times should be alike.
func BenchmarkPageOfJobs(b *testing.B) {
	for _, n := range []int{100, 100_000} {
		c := storetest.SQLite(b)
		s := storetest.Open(b, nil, c)
		twoMembers(b, s)
		hand, err := sql.Open("sqlite", c.SQLitePath)
		if err != nil {
			b.Fatal(err)
		}
		fillJobs(b, hand, n)
		hand.Close()
		inTx(b, s, func(tx domain.Tx) error { return tx.InsertJob(aJob(uni, 1)) })
		for name, f := range map[string]domain.JobFilter{
			"first":  {Org: uni},
			"middle": {Org: uni, Before: fmt.Sprint("f-", n/2+1)},
			"person": {Org: uni, User: "ada-uni"},
			"search": {Org: uni, Search: "train 77"},
			"live":   {Org: uni, States: []domain.JobState{domain.JobWaiting, domain.JobRunning}},
			"pool":   {},
		} {
			f.Limit = 50
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) { page(b, s, f) })
		}
		b.Run(fmt.Sprintf("counts/%d", n), func(b *testing.B) {
			for b.Loop() {
				inView(b, s, func(tx domain.Tx) error { _, err := tx.CountJobs(uni); return err })
			}
		})
	}
}

func page(b *testing.B, s *store.Store, f domain.JobFilter) {
	for b.Loop() {
		inView(b, s, func(tx domain.Tx) error {
			jobs, err := tx.Jobs(f)
			if len(jobs) == 0 {
				b.Fatal("an empty page")
			}
			return err
		})
	}
}
