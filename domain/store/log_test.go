package store_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gpupool/domain"
	"gpupool/domain/store"
	"gpupool/domain/store/storetest"
)

func TestTheAuditTrailIsPagedNewestFirstAndByMember(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		full := domain.AuditRow{At: 1, Wall: 2, User: "ada", Name: hardText, Via: domain.ViaWeb, IP: "::1", Org: uni, Action: "job.submit",
			Subject: "j1", Before: `{"a":"` + "名前" + `"}`, After: hardText}
		inTx(t, s, func(tx domain.Tx) error {
			for n := range 5 {
				r := full
				r.At = full.At + 10 // the first row is inserted last
				r.Subject = fmt.Sprint(n)
				if n%2 == 1 {
					r.Org = ""
				}
				if err := tx.InsertAudit(r); err != nil {
					return err
				}
			}
			return tx.InsertAudit(full)
		})
		inView(t, s, func(tx domain.Tx) error {
			all, err := tx.Audit("", 0, 0)
			if err != nil || len(all) != 6 {
				return fmt.Errorf("%d rows of the pool: %v", len(all), err)
			}
			want := full
			want.Seq = all[0].Seq
			if d := cmp.Diff(want, all[0]); d != "" {
				t.Errorf("the newest row: %s", d)
			}
			var seen []string
			for before := int64(0); ; {
				part, err := tx.Audit(uni, before, 1)
				if err != nil {
					return err
				}
				if len(part) == 0 {
					break
				}
				seen, before = append(seen, part[0].Subject), part[0].Seq
			}
			if d := cmp.Diff([]string{"j1", "4", "2", "0"}, seen); d != "" {
				t.Errorf("pages of one member: %s", d)
			}
			return nil
		})
	})
}

func TestWorkInTheOutboxIsKeptOncePerKey(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		r := domain.OutboxRow{Kind: "nomad.submit", Key: "k1", Payload: []byte(`{"x":"🚀"}`), CreatedAt: 1, NextAt: 100}
		inTx(t, s, func(tx domain.Tx) error {
			other := r
			other.Payload, other.NextAt = []byte(`{}`), 0
			late := domain.OutboxRow{Kind: "mail.send", Key: "k2", Payload: []byte(`{}`), NextAt: 50}
			return firstError(tx.InsertOutbox(r), tx.InsertOutbox(other), tx.InsertOutbox(late))
		})
		inTx(t, s, func(tx domain.Tx) error {
			if n, err := tx.OpenOutbox(); n != 2 || err != nil {
				t.Errorf("%d open, %v", n, err)
			}
			if due, err := tx.DueOutbox(99, 10); len(due) != 1 || err != nil || due[0].Key != "k2" {
				t.Errorf("due at 99: %v, %v", due, err)
			}
			due, err := tx.DueOutbox(100, 10)
			if err != nil || len(due) != 2 {
				return fmt.Errorf("due at 100: %v, %v", due, err)
			}
			want := r
			want.ID = due[0].ID
			if d := cmp.Diff(want, due[0]); d != "" {
				t.Errorf("the first row stays as it was: %s", d)
			}
			done := due[0]
			done.Tries, done.LastError, done.DoneAt, done.Payload = 3, "broken \xff\x00 text", 7, []byte("not written")
			if err := tx.UpdateOutbox(done); err != nil {
				return err
			}
			return tx.InsertOutbox(r) // a key that is done is not done again
		})
		inTx(t, s, func(tx domain.Tx) error {
			if due, err := tx.DueOutbox(100, 10); len(due) != 1 || err != nil || due[0].Key != "k2" {
				t.Errorf("due after the first is done: %v, %v", due, err)
			}
			if n, err := tx.OpenOutbox(); n != 1 || err != nil {
				t.Errorf("%d open, %v", n, err)
			}
			wantCode(t, "an unknown row", tx.UpdateOutbox(domain.OutboxRow{ID: 99}), domain.NotFound)
			wantCode(t, "an empty key", tx.InsertOutbox(domain.OutboxRow{Kind: "mail.send"}), domain.Invalid)
			return nil
		})
	})
}

func TestAFormSentEightTimesAtOnceIsDoneOnce(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		n := domain.Nonce{Nonce: "n1", User: "ada", At: 5}
		var done atomic.Int64
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				var fresh bool
				err := s.Update(t.Context(), func(tx domain.Tx) (err error) {
					if fresh, _, err = tx.UseNonce(n); err == nil && fresh {
						err = tx.FinishNonce("n1", "/o/uni/jobs/名")
					}
					return err
				})
				if err != nil {
					t.Error(err)
				}
				if fresh {
					done.Add(1)
				}
			})
		}
		wg.Wait()
		if done.Load() != 1 {
			t.Errorf("done %d times", done.Load())
		}
		inTx(t, s, func(tx domain.Tx) error {
			if fresh, result, err := tx.UseNonce(n); fresh || result != "/o/uni/jobs/名" || err != nil {
				t.Errorf("again: %t %q %v", fresh, result, err)
			}
			_, _, err := tx.UseNonce(domain.Nonce{Nonce: "n1", User: "eve"})
			wantCode(t, "another person's form", err, domain.Conflict)
			wantCode(t, "an unknown form", tx.FinishNonce("n9", ""), domain.NotFound)
			if err := tx.DeleteNonces(5); err != nil {
				return err
			}
			if fresh, _, err := tx.UseNonce(n); fresh || err != nil {
				t.Errorf("a nonce of the instant itself is kept: %t %v", fresh, err)
			}
			if err := tx.DeleteNonces(6); err != nil {
				return err
			}
			if fresh, _, err := tx.UseNonce(n); !fresh || err != nil {
				t.Errorf("an old nonce is forgotten: %t %v", fresh, err)
			}
			return nil
		})
	})
}
