package store_test

import (
	"testing"

	"gpupool/domain"
	"gpupool/domain/pool"
	"gpupool/domain/store"
	"gpupool/domain/store/storetest"
)

func TestTimePoliciesAreOnlyEnded(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		inTx(t, s, func(tx domain.Tx) error {
			early, late := filled[domain.TimePolicy](10), filled[domain.TimePolicy](40)
			early.ID, early.CreatedAt, early.Days, early.Tier, early.EndedAt = "b", 100, 31, pool.Burst, pool.Never
			late.ID, late.CreatedAt, late.Days, late.EndedAt = "a", 200, 127, 300
			late.Guaranteed, late.Borrow, late.Lend = nil, nil, nil
			if err := firstError(tx.InsertTimePolicy(late), tx.InsertTimePolicy(early)); err != nil {
				return err
			}
			got, err := tx.TimePolicies()
			same(t, "by begin", got, err, []domain.TimePolicy{early, late})
			if err := tx.EndTimePolicy("b", 500); err != nil {
				return err
			}
			early.EndedAt = 500
			got, err = tx.TimePolicies()
			same(t, "one ended", got, err, []domain.TimePolicy{early, late})
			wantCode(t, "ended again", tx.EndTimePolicy("b", 600), domain.Conflict)
			wantCode(t, "unknown", tx.EndTimePolicy("c", 600), domain.NotFound)
			wantCode(t, "no id to end", tx.EndTimePolicy("", 600), domain.Invalid)
			wantCode(t, "no id", tx.InsertTimePolicy(domain.TimePolicy{}), domain.Invalid)
			wantCode(t, "twice", tx.InsertTimePolicy(early), domain.Conflict)
			return nil
		})
	})
}

func TestAnnouncementsAreOnlyEnded(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		inTx(t, s, func(tx domain.Tx) error {
			early, late := filled[domain.Announcement](10), filled[domain.Announcement](40)
			early.ID, early.Start, early.End, early.EndedAt = "b", 100, 900, pool.Never
			late.ID, late.Start, late.End, late.EndedAt = "a", 200, 300, 250
			if err := firstError(tx.InsertAnnouncement(late), tx.InsertAnnouncement(early)); err != nil {
				return err
			}
			if err := tx.EndAnnouncement("b", 500); err != nil {
				return err
			}
			early.EndedAt = 500
			got, err := tx.Announcements()
			same(t, "by start, one ended", got, err, []domain.Announcement{early, late})
			wantCode(t, "ended again", tx.EndAnnouncement("b", 600), domain.Conflict)
			wantCode(t, "unknown", tx.EndAnnouncement("c", 600), domain.NotFound)
			wantCode(t, "no id", tx.InsertAnnouncement(domain.Announcement{Start: 1, End: 2}), domain.Invalid)
			return nil
		})
	})
}
