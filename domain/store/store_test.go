package store_test

import (
	"context"
	"testing"

	"gpupool/domain"
	"gpupool/domain/store"
	"gpupool/domain/store/storetest"
)

func TestTheClocksStandStillInATransaction(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		err := s.View(context.Background(), func(tx domain.Tx) error {
			if tx.Now() != storetest.Start || tx.Wall() != storetest.Start {
				t.Errorf("now %s, wall %s", tx.Now(), tx.Wall())
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	})
}
