package store_test

import (
	"database/sql"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gpupool/domain"
	"gpupool/domain/pool"
	"gpupool/domain/store"
	"gpupool/domain/store/storetest"
)

func TestAnAttemptIsKeptWithAllThatHappenedToIt(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		twoMembers(t, s)
		j, first := aRun(t, s, uni, 1)
		second := domain.Attempt{ID: pool.AttemptID{Job: j.ID, N: 2}, Org: uni, Project: j.Project, User: j.User, Class: "l40s", Tier: pool.Spot,
			State: domain.AttemptPlaced, AdmittedAt: storetest.Start + 7}
		inTx(t, s, func(tx domain.Tx) error { return tx.InsertAttempt(second) })
		inTx(t, s, func(tx domain.Tx) error {
			all, err := tx.Attempts(j.ID)
			if d := cmp.Diff([]domain.Attempt{first, second}, all); d != "" || err != nil {
				t.Errorf("%v %s", err, d)
			}
			wantCode(t, "twice", tx.InsertAttempt(second), domain.Conflict)
			done := first
			done.State, done.StartedAt, done.Split, done.Placement = domain.AttemptEnded, 0, pool.Split{Spot: 8}, nil
			done.Org, done.AdmittedAt = clinic, 1 // whose it is and when it began never change
			if err := tx.UpdateAttempt(done); err != nil {
				return err
			}
			done.Org, done.AdmittedAt = uni, first.AdmittedAt
			got, err := tx.Attempt(first.ID)
			if d := cmp.Diff(done, got); d != "" || err != nil {
				t.Errorf("updated: %v %s", err, d)
			}
			return nil
		})
		inTx(t, s, func(tx domain.Tx) error {
			for what, id := range map[string]pool.AttemptID{"no job": {N: 1}, "no number": {Job: j.ID}, "below one": {Job: j.ID, N: -1}} {
				_, err := tx.Attempt(id)
				wantCode(t, what, err, domain.Invalid)
			}
			_, err := tx.Attempt(pool.AttemptID{Job: j.ID, N: 3})
			wantCode(t, "an unknown one", err, domain.NotFound)
			wantCode(t, "update of an unknown one", tx.UpdateAttempt(anAttempt(aJob(uni, 9))), domain.NotFound)
			return nil
		})
		err := s.Update(t.Context(), func(tx domain.Tx) error { return tx.InsertAttempt(anAttempt(aJob(uni, 9))) })
		wantCode(t, "an attempt of no job", err, domain.NotFound)
	})
}

func TestLiveAttemptsAreThoseThatHaveNotEnded(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		twoMembers(t, s)
		_, mine := aRun(t, s, uni, 1)
		_, ended := aRun(t, s, uni, 2)
		_, theirs := aRun(t, s, clinic, 3)
		inTx(t, s, func(tx domain.Tx) error {
			ended.State = domain.AttemptEnded
			return tx.UpdateAttempt(ended)
		})
		inView(t, s, func(tx domain.Tx) error {
			all, err := tx.LiveAttempts()
			if d := cmp.Diff([]domain.Attempt{theirs, mine}, all); d != "" || err != nil {
				t.Errorf("all: %v %s", err, d)
			}
			one, err := tx.LiveAttemptsOf(uni)
			if d := cmp.Diff([]domain.Attempt{mine}, one); d != "" || err != nil {
				t.Errorf("of one: %v %s", err, d)
			}
			_, err = tx.LiveAttemptsOf("")
			wantCode(t, "of nobody", err, domain.Invalid)
			return nil
		})
	})
}

func TestTheLastAttemptsAreThoseOfTheLastJobs(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		twoMembers(t, s)
		_, _ = aRun(t, s, uni, 1)
		j, ended := aRun(t, s, uni, 2)
		_, last := aRun(t, s, uni, 4)
		_, _ = aRun(t, s, clinic, 3)
		again := ended
		again.ID.N, again.Placement = 2, nil
		ended.State = domain.AttemptEnded
		inTx(t, s, func(tx domain.Tx) error { return firstError(tx.UpdateAttempt(ended), tx.InsertAttempt(again)) })
		inView(t, s, func(tx domain.Tx) error {
			want := []domain.Attempt{ended, again, last}
			if j.ID > last.ID.Job {
				want = []domain.Attempt{last, ended, again}
			}
			got, err := tx.LastAttempts(uni, 2)
			if d := cmp.Diff(want, got); d != "" || err != nil {
				t.Errorf("of two jobs: %v %s", err, d)
			}
			for _, n := range []int{0, -1} {
				if got, err := tx.LastAttempts(uni, n); len(got) > 0 || err != nil {
					t.Errorf("of %d jobs: %v %v", n, got, err)
				}
			}
			_, err = tx.LastAttempts("", 2)
			wantCode(t, "of nobody", err, domain.Invalid)
			return nil
		})
	})
}

func TestCoverIsDecidedOncePerInstantAndNeverChanged(t *testing.T) {
	t.Parallel()
	eachByHand(t, func(t *testing.T, s *store.Store, hand *sql.DB) {
		twoMembers(t, s)
		_, a := aRun(t, s, uni, 1)
		rows := []domain.CoverRow{
			{Attempt: a.ID, From: 10, Split: pool.Split{Own: 3, Loan: 5}}, {Attempt: a.ID, From: 20, Split: pool.Split{Own: 8}},
		}
		inTx(t, s, func(tx domain.Tx) error {
			if err := firstError(tx.InsertCover(rows[1]), tx.InsertCover(rows[0])); err != nil {
				return err
			}
			wantCode(t, "again from the same instant", tx.InsertCover(domain.CoverRow{Attempt: a.ID, From: 10}), domain.Conflict)
			got, err := tx.Covers(a.ID)
			if d := cmp.Diff(rows, got); d != "" || err != nil {
				t.Errorf("%v %s", err, d)
			}
			return nil
		})
		refused(t, hand, "UPDATE covers SET own_gpus = 8", "DELETE FROM covers")
		err := s.Update(t.Context(), func(tx domain.Tx) error {
			return tx.InsertCover(domain.CoverRow{Attempt: pool.AttemptID{Job: "j-none", N: 1}, From: 1})
		})
		wantCode(t, "cover of no attempt", err, domain.NotFound)
	})
}

func TestPromisesAreOpenUntilTheyAreKeptOrNot(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		twoMembers(t, s)
		j, a := aRun(t, s, uni, 1)
		late := domain.Promise{ID: "p-1", Job: j.ID, Class: "a100-80g", Placement: []domain.NodeGPUs{{Node: "n1", GPUs: 8}},
			Victims: []pool.AttemptID{a.ID, {Job: "j-x", N: 4}}, Rule: hardText, MadeAt: 9, StopAt: 70, State: domain.PromiseOpen}
		early := domain.Promise{ID: "p-2", Job: j.ID, Class: "a100-80g", MadeAt: 8, State: domain.PromiseOpen}
		inTx(t, s, func(tx domain.Tx) error { return firstError(tx.InsertPromise(late), tx.InsertPromise(early)) })
		inTx(t, s, func(tx domain.Tx) error {
			open, err := tx.OpenPromises()
			if d := cmp.Diff([]domain.Promise{early, late}, open); d != "" || err != nil {
				t.Errorf("%v %s", err, d)
			}
			wantCode(t, "twice", tx.InsertPromise(late), domain.Conflict)
			wantCode(t, "an unknown one", tx.UpdatePromise(domain.Promise{ID: "p-9", State: domain.PromiseKept}), domain.NotFound)
			wantCode(t, "without an id", tx.InsertPromise(domain.Promise{Job: j.ID, Class: "c"}), domain.Invalid)
			early.State = domain.PromiseLapsed
			late.Victims = late.Victims[:1]
			return firstError(tx.UpdatePromise(early), tx.UpdatePromise(late))
		})
		inView(t, s, func(tx domain.Tx) error {
			open, err := tx.OpenPromises()
			if d := cmp.Diff([]domain.Promise{late}, open); d != "" || err != nil {
				t.Errorf("%v %s", err, d)
			}
			return nil
		})
	})
}

func TestLiveCoversAreThoseOfAttemptsThatHaveNotEnded(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		twoMembers(t, s)
		_, mine := aRun(t, s, uni, 1)
		_, ended := aRun(t, s, uni, 2)
		_, theirs := aRun(t, s, clinic, 3)
		var rows []domain.CoverRow
		for i, a := range []domain.Attempt{mine, theirs, ended, mine} {
			rows = append(rows, domain.CoverRow{Attempt: a.ID, From: pool.Instant(i + 1), Split: pool.Split{Own: i, Loan: 2}})
		}
		inTx(t, s, func(tx domain.Tx) error {
			ended.State = domain.AttemptEnded
			if err := tx.UpdateAttempt(ended); err != nil {
				return err
			}
			for _, r := range []int{3, 2, 1, 0} {
				if err := tx.InsertCover(rows[r]); err != nil {
					return err
				}
			}
			return nil
		})
		inView(t, s, func(tx domain.Tx) error {
			all, err := tx.LiveCovers("")
			if d := cmp.Diff([]domain.CoverRow{rows[0], rows[1], rows[3]}, all); d != "" || err != nil {
				t.Errorf("all: %v %s", err, d)
			}
			one, err := tx.LiveCovers(uni)
			if d := cmp.Diff([]domain.CoverRow{rows[0], rows[3]}, one); d != "" || err != nil {
				t.Errorf("of one: %v %s", err, d)
			}
			return nil
		})
	})
}
