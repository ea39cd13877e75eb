package store_test

import (
	"sync"
	"testing"
	"time"

	"gpupool/domain"
	"gpupool/domain/pool"
	"gpupool/domain/store"
	"gpupool/domain/store/storetest"
)

func TestSessionsAreReplacedAndExpire(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		inTx(t, s, func(tx domain.Tx) error {
			now := storetest.Start
			older, newer, gone := filled[domain.Session](10), filled[domain.Session](30), filled[domain.Session](50)
			older.User, newer.User, gone.User = "ada", "ada", ""
			older.Data = []byte{0, 0xff, 1} // not text
			older.ExpiresAt, newer.ExpiresAt, gone.ExpiresAt = now, now+1, now-1
			_, err := tx.Session(older.Token)
			wantCode(t, "unknown", err, domain.NotFound)
			if err := firstError(tx.SaveSession(gone), tx.SaveSession(older), tx.SaveSession(newer)); err != nil {
				return err
			}
			got, err := tx.Session(older.Token)
			same(t, "first", got, err, older)
			older.Data, older.IP = nil, "::1"
			if err := tx.SaveSession(older); err != nil {
				return err
			}
			got, err = tx.Session(older.Token)
			same(t, "replaced", got, err, older)
			list, err := tx.SessionsOf("ada")
			same(t, "newest first", list, err, []domain.Session{newer, older})

			if err := tx.DeleteExpiredSessions(now); err != nil {
				return err
			}
			_, err = tx.Session(gone.Token)
			wantCode(t, "expired", err, domain.NotFound)
			if err := firstError(tx.DeleteSession(newer.Token), tx.DeleteSession(newer.Token)); err != nil {
				return err
			}
			list, err = tx.SessionsOf("ada")
			same(t, "the one that expires at this instant is left", list, err, []domain.Session{older})
			wantCode(t, "no token", tx.SaveSession(domain.Session{}), domain.Invalid)
			_, err = tx.SessionsOf("") // would list everybody who is not signed in
			wantCode(t, "of nobody", err, domain.Invalid)
			return nil
		})
	})
}

func TestFailedSignInsAreCountedInTheirWindow(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		now := storetest.Start
		inTx(t, s, func(tx domain.Tx) error {
			for i, want := range []int64{1, 2, 3} {
				n, err := tx.CountSignIn("10.0.0.1", now+pool.Instant(i/2), now) // two in one millisecond
				same(t, "tries", n, err, want)
			}
			n, err := tx.SignInTries("10.0.0.1", now+1)
			same(t, "in a later window", n, err, 1)
			n, err = tx.SignInTries("10.0.0.2", now)
			same(t, "of another key", n, err, 0)
			if err := tx.DeleteExpiredSessions(now.Add(24 * time.Hour)); err != nil {
				return err
			}
			n, err = tx.SignInTries("10.0.0.1", 0)
			same(t, "a day later", n, err, 3)
			if err := tx.DeleteExpiredSessions(now.Add(24*time.Hour) + 1); err != nil {
				return err
			}
			n, err = tx.SignInTries("10.0.0.1", 0)
			same(t, "forgotten", n, err, 1)
			_, err = tx.CountSignIn("", now, now)
			wantCode(t, "no key", err, domain.Invalid)
			return nil
		})
	})
}

func TestFailedSignInsAtOnceAreAllCounted(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		var wg sync.WaitGroup
		for range 12 {
			wg.Go(func() {
				inTx(t, s, func(tx domain.Tx) error { _, err := tx.CountSignIn("k", storetest.Start, 0); return err })
			})
		}
		wg.Wait()
		inView(t, s, func(tx domain.Tx) error {
			n, err := tx.SignInTries("k", 0)
			same(t, "tries", n, err, 12)
			return nil
		})
	})
}
