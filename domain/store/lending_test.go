package store_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"gpupool/domain"
	"gpupool/domain/store"
	"gpupool/domain/store/storetest"
)

func TestALoanUseIsReplaced(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		first := domain.LoanUse{Org: uni, Class: "a100-80g", Use: 5, At: 12, Rate: 2}
		other := domain.LoanUse{Org: clinic, Class: "a100-80g", Use: 6, At: 12}
		later := domain.LoanUse{Org: uni, Class: "a100-80g", Use: 1 << 50, At: 30}
		inTx(t, s, func(tx domain.Tx) error {
			return firstError(tx.SaveLoanUse(first), tx.SaveLoanUse(other), tx.SaveLoanUse(later))
		})
		inTx(t, s, func(tx domain.Tx) error {
			got, err := tx.LoanUses()
			if d := cmp.Diff([]domain.LoanUse{other, later}, got); d != "" || err != nil {
				t.Errorf("%v %s", err, d)
			}
			wantCode(t, "of nobody", tx.SaveLoanUse(domain.LoanUse{Class: "c"}), domain.Invalid)
			return nil
		})
	})
}

func TestALendingDayIsIntegratedFurther(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		first := domain.LendingDay{Org: uni, Class: "a100-80g", Day: 10, Unused: 5, Until: 12}
		other := domain.LendingDay{Org: clinic, Class: "a100-80g", Day: 10, Unused: 6, Until: 12}
		next := domain.LendingDay{Org: uni, Class: "a100-80g", Day: 20, Unused: 7, Until: 22}
		further := first
		further.Unused, further.Until = 8, 19
		inTx(t, s, func(tx domain.Tx) error {
			return firstError(tx.SaveLendingDay(next), tx.SaveLendingDay(first), tx.SaveLendingDay(other), tx.SaveLendingDay(further))
		})
		inTx(t, s, func(tx domain.Tx) error {
			got, err := tx.LendingDays(10, 20)
			if d := cmp.Diff([]domain.LendingDay{other, further}, got); d != "" || err != nil {
				t.Errorf("%v %s", err, d)
			}
			got, err = tx.LendingDays(11, 21)
			if d := cmp.Diff([]domain.LendingDay{next}, got); d != "" || err != nil {
				t.Errorf("%v %s", err, d)
			}
			wantCode(t, "of nobody", tx.SaveLendingDay(domain.LendingDay{Class: "c"}), domain.Invalid)
			return nil
		})
	})
}
