package store_test

import (
	"sync"
	"sync/atomic"
	"testing"

	"gpupool/domain"
	"gpupool/domain/pool"
	"gpupool/domain/store"
	"gpupool/domain/store/storetest"
)

func TestSettingsAreOneRow(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		inTx(t, s, func(tx domain.Tx) error {
			_, err := tx.Settings()
			wantCode(t, "before the set-up", err, domain.NotFound)
			for _, want := range []domain.Settings{filled[domain.Settings](10), filled[domain.Settings](50), {}} {
				if err := tx.SaveSettings(want); err != nil {
					return err
				}
				got, err := tx.Settings()
				same(t, "settings", got, err, want)
			}
			return nil
		})
	})
}

func TestTheStoredClockOnlyMovesForward(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		inTx(t, s, func(tx domain.Tx) error {
			_, err := tx.Clock()
			wantCode(t, "a real pool", err, domain.NotFound)
			c := domain.ClockRow{Wall: 5, Business: pool.Never - 1, Speed: 60}
			if err := tx.SaveClock(c); err != nil {
				return err
			}
			got, err := tx.Clock()
			same(t, "clock", got, err, c)
			back := c
			back.Business--
			wantCode(t, "a clock turned back", tx.SaveClock(back), domain.Conflict)
			c.Wall, c.Speed = 9, 0
			if err := tx.SaveClock(c); err != nil {
				return err
			}
			got, err = tx.Clock()
			same(t, "a clock stopped", got, err, c)
			return nil
		})
	})
}

func TestTheVersionIsComparedAndSet(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		inTx(t, s, func(tx domain.Tx) error {
			v, err := tx.Version()
			if err != nil {
				return err
			}
			if err := tx.BumpVersion(); err != nil {
				return err
			}
			stale, err := tx.AdvanceVersion(v)
			if stale || err != nil {
				t.Errorf("a stale version advanced: %v %v", stale, err)
			}
			ok, err := tx.AdvanceVersion(v + 1)
			if !ok || err != nil {
				t.Errorf("the version did not advance: %v %v", ok, err)
			}
			got, err := tx.Version()
			same(t, "version", got, err, v+2)
			return nil
		})
	})
}

func TestOneOfManyAdvancesAVersion(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		var from int64
		inView(t, s, func(tx domain.Tx) (err error) { from, err = tx.Version(); return err })
		var won atomic.Int64
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				var ok bool
				inTx(t, s, func(tx domain.Tx) (err error) { ok, err = tx.AdvanceVersion(from); return err })
				if ok {
					won.Add(1)
				}
			})
		}
		wg.Wait()
		if won.Load() != 1 {
			t.Errorf("%d of 8 advanced the same version", won.Load())
		}
	})
}

func TestALeaseHasOneHolder(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) { // the wall clock stands at Start
		take := func(what, holder string, until pool.Instant, want bool) {
			t.Helper()
			inTx(t, s, func(tx domain.Tx) error {
				got, err := tx.TakeLease("engine", holder, until)
				if got != want {
					t.Errorf("%s: %v, want %v", what, got, want)
				}
				return err
			})
		}
		take("a free lease", "a", storetest.Start+10, true)
		take("held by another", "b", storetest.Start+10, false)
		take("renewed", "a", storetest.Start+20, true)
		take("given up", "a", storetest.Start, true)
		take("run out at this instant", "b", storetest.Start+10, true)
		take("taken over", "a", storetest.Start+10, false)
		inTx(t, s, func(tx domain.Tx) error {
			ok, err := tx.TakeLease("other", "a", storetest.Start+10)
			if !ok {
				t.Error("another lease is not free")
			}
			return err
		})
	})
}

func TestFlagsAreSmallNamedValues(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		inTx(t, s, func(tx domain.Tx) error {
			for _, want := range []string{"", "1", hardText, ""} {
				if err := tx.SetFlag("name", want); err != nil {
					return err
				}
				got, err := tx.Flag("name")
				same(t, "flag", got, err, want)
			}
			return nil
		})
	})
}
