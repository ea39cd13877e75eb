package rating

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gpupool/domain/money"
	"gpupool/domain/pool"
)

func TestPricesThatInviteArbitrageAreFound(t *testing.T) {
	t.Parallel()
	const eur = 100 * money.MicroPerMinor
	for _, c := range []struct {
		what            string
		own, loan, spot string
		want            []Finding
	}{
		{"the prices of the demo", "2.20", "1.80", "0.80", nil},
		{"loan may cost as much as overage", "1.80", "1.80", "0.80", nil},
		{"spot as dear as a loan", "2.20", "1.80", "1.80", []Finding{{Rule: SpotBelowLoan, Class: "h100", Have: 180 * eur / 100, Limit: 180 * eur / 100}}},
		{"a loan dearer than overage", "1.70", "1.80", "0.80", []Finding{{Rule: LoanWithinOwn, Class: "h100", Have: 180 * eur / 100, Limit: 170 * eur / 100}}},
	} {
		rows := []PriceRow{row("h100", pool.Own, c.own), row("h100", pool.Loan, c.loan), row("h100", pool.SpotCover, c.spot)}
		if diff := cmp.Diff(c.want, CheckPrices(rows)); diff != "" {
			t.Errorf("%s: %s", c.what, diff)
		}
	}
	want := []Finding{{Rule: PricesComplete, Class: "h100", Have: 1, Limit: 3}}
	if diff := cmp.Diff(want, CheckPrices([]PriceRow{row("h100", pool.Own, "1")})); diff != "" {
		t.Errorf("a class without loan and spot: %s", diff)
	}
}

func TestAFeeBelowWhatLendingEarnsIsFound(t *testing.T) {
	t.Parallel()
	month := november.Bounds(time.UTC) // 720 hours
	o := Offer{Version: "campus-1", Fee: 649_000, LendLimit: map[pool.ClassID]int{"h100": 3, "a100": 4}}
	rows := []PriceRow{row("h100", pool.Own, "2.20"), row("h100", pool.Loan, "1.80"), row("h100", pool.SpotCover, "0.80"), row("a100", pool.Loan, "0.92")}
	// 60 % of 720 h x (3 x 1.80 + 4 x 0.92) = 3 922.56
	if got := CheckFee(o, rows, month); got != nil {
		t.Errorf("the campus plan: %+v", got)
	}
	o.Fee = 392_255
	want := []Finding{{Rule: FeeAboveLending, Plan: "campus-1", Have: 392_255, Limit: 392_256}}
	if diff := cmp.Diff(want, CheckFee(o, rows, month)); diff != "" {
		t.Error(diff)
	}
}

func TestGuaranteesBeyondTheHardwareAreFound(t *testing.T) {
	t.Parallel()
	ready := map[pool.ClassID]int{"h100": 16, "a100": 16}
	if got := CheckGuarantees(map[pool.ClassID]int{"h100": 14, "a100": 16}, ready, money.FullRate); got != nil {
		t.Errorf("what the demo sells: %+v", got)
	}
	want := []Finding{{Rule: GuaranteesBacked, Class: "h100", Have: 17, Limit: 16}, {Rule: GuaranteesBacked, Class: "mi300", Have: 1, Limit: 0}}
	if diff := cmp.Diff(want, CheckGuarantees(map[pool.ClassID]int{"mi300": 1, "h100": 17, "a100": 1}, ready, money.FullRate)); diff != "" {
		t.Error(diff)
	}
	if got := CheckGuarantees(map[pool.ClassID]int{"h100": 24}, ready, 15_000); got != nil {
		t.Errorf("with 150 %%: %+v", got)
	}
}
