package store_test

import (
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gpupool/domain"
	"gpupool/domain/meter"
	"gpupool/domain/pool"
	"gpupool/domain/store"
	"gpupool/domain/store/storetest"
)

func TestWhatTheClusterSaidIsStoredOnce(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		id := pool.AttemptID{Job: "j-1", N: 1}
		seen := func(alloc pool.AllocID, index uint64) domain.Observation {
			run := domain.Run{Alloc: alloc, ModifyIndex: index, Attempt: id, Org: uni, Node: "n1", Status: domain.RunRunning, Desired: "run", Created: 1,
				Modified: 2, Finished: 3, Heartbeat: 4, Devices: []string{"GPU-1"}, Events: []domain.RunEvent{{Type: "Started", At: 5, Message: hardText + "\x00", OOM: true}}}
			return domain.Observation{Alloc: alloc, ModifyIndex: index, Attempt: id, Run: run, ReceivedAt: 9}
		}
		inTx(t, s, func(tx domain.Tx) error {
			for _, o := range []domain.Observation{seen("al-2", 7), seen("al-1", 30), seen("al-1", 4)} {
				if fresh, err := tx.InsertObservation(o); !fresh || err != nil {
					return fmt.Errorf("%s %d: %t %v", o.Alloc, o.ModifyIndex, fresh, err)
				}
			}
			again := seen("al-1", 30)
			again.Run.Node = "changed"
			if fresh, err := tx.InsertObservation(again); fresh || err != nil {
				t.Errorf("again: %t %v", fresh, err)
			}
			other := seen("al-3", 9)
			other.Attempt.N = 2
			_, err := tx.InsertObservation(other)
			return err
		})
		inTx(t, s, func(tx domain.Tx) error {
			got, err := tx.Observations(id)
			if d := cmp.Diff([]domain.Observation{seen("al-1", 30), seen("al-2", 7)}, got); d != "" || err != nil {
				t.Errorf("the latest of each: %v %s", err, d)
			}
			_, err = tx.InsertObservation(domain.Observation{ModifyIndex: 1, Attempt: id})
			wantCode(t, "without an allocation", err, domain.Invalid)
			if fresh, err := tx.InsertObservation(seen("al-9", math.MaxUint64)); fresh || err == nil {
				t.Error("an index beyond the databases' integers is taken")
			}
			return nil
		})
	})
}

func TestAMeterIsKeptAndOnlyItsEndIsUpdated(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		twoMembers(t, s)
		_, a := aRun(t, s, uni, 1)
		_, b := aRun(t, s, clinic, 2)
		m := domain.Meter{Alloc: "al-1", Attempt: a.ID, Org: uni, Node: "n1", GPUs: 2, Devices: []string{"GPU-1", "GPU-2"}, From: 10, Until: 10, End: pool.Never, Quality: meter.Exact}
		theirs := domain.Meter{Alloc: "al-0", Attempt: b.ID, Org: clinic, From: 1, Until: 2, End: 2, Quality: meter.Exact}
		inTx(t, s, func(tx domain.Tx) error { return firstError(tx.InsertMeter(m), tx.InsertMeter(theirs)) })
		inTx(t, s, func(tx domain.Tx) error {
			wantCode(t, "twice", tx.InsertMeter(m), domain.Conflict)
			wantCode(t, "without an allocation", tx.InsertMeter(domain.Meter{Attempt: a.ID, Org: uni}), domain.Invalid)
			wantCode(t, "update of an unknown one", tx.UpdateMeter(domain.Meter{Alloc: "al-9"}), domain.NotFound)
			_, err := tx.Meter("al-9")
			wantCode(t, "an unknown one", err, domain.NotFound)
			open, err := tx.OpenMeters()
			if d := cmp.Diff([]domain.Meter{theirs, m}, open); d != "" || err != nil {
				t.Errorf("open: %v %s", err, d)
			}
			changed := m
			changed.From, changed.Until, changed.GPUs, changed.Node = 1, 2, 9, "n9" // never by UpdateMeter
			changed.End, changed.Quality, changed.Closed, changed.Devices = 50, meter.Estimated, true, []string{"GPU-1"}
			return tx.UpdateMeter(changed)
		})
		inView(t, s, func(tx domain.Tx) error {
			want := m
			want.End, want.Quality, want.Closed, want.Devices = 50, meter.Estimated, true, []string{"GPU-1"}
			got, err := tx.Meter("al-1")
			if d := cmp.Diff(want, got); d != "" || err != nil {
				t.Errorf("%v %s", err, d)
			}
			of, err := tx.MetersOf(a.ID)
			if d := cmp.Diff([]domain.Meter{want}, of); d != "" || err != nil {
				t.Errorf("of the attempt: %v %s", err, d)
			}
			if open, err := tx.OpenMetersOf(uni); len(open) != 0 || err != nil {
				t.Errorf("open of uni: %v %v", open, err)
			}
			if open, err := tx.OpenMetersOf(clinic); len(open) != 1 || err != nil {
				t.Errorf("open of clinic: %v %v", open, err)
			}
			return nil
		})
	})
}

func TestOfEightThatMeterTheSameIntervalExactlyOneDoes(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		twoMembers(t, s)
		_, a := aRun(t, s, uni, 1)
		inTx(t, s, func(tx domain.Tx) error {
			return tx.InsertMeter(domain.Meter{Alloc: "al-1", Attempt: a.ID, Org: uni, From: 100, Until: 100, End: pool.Never, Quality: meter.Exact})
		})
		race := func(claim func(tx domain.Tx) (bool, error)) int64 {
			var won atomic.Int64
			var wg sync.WaitGroup
			for range 8 {
				wg.Go(func() {
					var ok bool
					err := s.Update(t.Context(), func(tx domain.Tx) (err error) {
						ok, err = claim(tx)
						return err
					})
					if err != nil {
						t.Error(err)
					}
					if ok {
						won.Add(1)
					}
				})
			}
			wg.Wait()
			return won.Load()
		}
		if n := race(func(tx domain.Tx) (bool, error) { return tx.AdvanceMeter("al-1", 100, 200) }); n != 1 {
			t.Errorf("%d advanced the meter", n)
		}
		if n := race(func(tx domain.Tx) (bool, error) { return tx.ExtendMeterBack("al-1", 100, 50) }); n != 1 {
			t.Errorf("%d extended the meter back", n)
		}
		inTx(t, s, func(tx domain.Tx) error {
			if m, err := tx.Meter("al-1"); m.From != 50 || m.Until != 200 || err != nil {
				t.Errorf("metered [%d, %d) %v", m.From, m.Until, err)
			}
			if ok, err := tx.AdvanceMeter("al-9", 1, 2); ok || err != nil {
				t.Errorf("an unknown meter: %t %v", ok, err)
			}
			_, err := tx.AdvanceMeter("al-1", 200, 200)
			wantCode(t, "forward by nothing", err, domain.Invalid)
			_, err = tx.ExtendMeterBack("al-1", 50, 60)
			wantCode(t, "back to a later start", err, domain.Invalid)
			return nil
		})
	})
}
