package store_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"gpupool/domain"
	"gpupool/domain/pool"
	"gpupool/domain/quota"
	"gpupool/domain/store"
	"gpupool/domain/store/storetest"
)

// What a job was told stays; what came of it is read from its first attempt,
// or from its end when it had none.
func TestAToldStartComesBackWithWhatCameOfIt(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		twoMembers(t, s)
		j, a := aRun(t, s, uni, 1)
		waits, over := aJob(clinic, 2), aJob(uni, 3)
		over.State, over.EndedAt = domain.JobEnded, storetest.Start+50
		told := func(j domain.Job, at pool.Instant) domain.ToldStart {
			return domain.ToldStart{Job: j.ID, At: at, Latest: at + 9, Likely: quota.Likely{Early: at + 1, Middle: at + 2, Late: at + 3},
				Played: quota.Likely{Early: at + 4, Middle: at + 5, Late: at + 6}}
		}
		first, second, third := told(j, 100), told(waits, 300), told(over, 200)
		inTx(t, s, func(tx domain.Tx) error {
			if err := firstError(tx.InsertJob(waits), tx.InsertJob(over)); err != nil {
				return err
			}
			for _, x := range []domain.ToldStart{first, second, third} {
				if fresh, err := tx.InsertToldStart(x); !fresh || err != nil {
					t.Errorf("%s: %v %v", x.Job, fresh, err)
				}
			}
			if fresh, err := tx.InsertToldStart(told(j, 999)); fresh || err != nil {
				t.Errorf("told twice: %v %v", fresh, err)
			}
			_, err := tx.InsertToldStart(domain.ToldStart{})
			wantCode(t, "of nothing", err, domain.Invalid)
			return nil
		})
		first.Start, third.Over = a.AdmittedAt, over.EndedAt
		inView(t, s, func(tx domain.Tx) error {
			got, err := tx.ToldStarts(9)
			if d := cmp.Diff([]domain.ToldStart{second, third, first}, got); d != "" || err != nil {
				t.Errorf("%v %s", err, d)
			}
			if got, err = tx.ToldStarts(1); len(got) != 1 || err != nil {
				t.Errorf("the newest: %v %v", got, err)
			}
			one, known, err := tx.ToldStart(j.ID)
			if d := cmp.Diff(first, one); d != "" || !known || err != nil {
				t.Errorf("%v %v %s", known, err, d)
			}
			if _, known, err = tx.ToldStart("j-none"); known || err != nil {
				t.Errorf("of an unknown job: %v %v", known, err)
			}
			jobs, err := tx.SubmittedSince(waits.SubmittedAt, 9)
			if err != nil || len(jobs) != 2 || jobs[0].ID != over.ID && jobs[0].ID != waits.ID || jobs[1].SubmittedAt > jobs[0].SubmittedAt {
				t.Errorf("submitted since: %d, %v", len(jobs), err)
			}
			if jobs, err = tx.SubmittedSince(0, 1); len(jobs) != 1 || err != nil {
				t.Errorf("the newest: %d %v", len(jobs), err)
			}
			return nil
		})
	})
}
