package rating

import (
	"cmp"
	"slices"

	"gpupool/domain/money"
	"gpupool/domain/pool"
)

// Rule that a price list or plan must keep, so that nobody earns by going round
// in circles.
type Rule string

const (
	SpotBelowLoan    Rule = "spot_below_loan"   // spot < loan, or spot work would hold loans
	LoanWithinOwn    Rule = "loan_within_own"   // loan <= overage, or quota would be worth less than none
	FeeAboveLending  Rule = "fee_above_lending" // fee >= what lending everything could earn
	GuaranteesBacked Rule = "guarantees_backed" // guarantees sold <= ready hardware x ratio
	PricesComplete   Rule = "prices_complete"   // own, loan and spot all have a price
)

// Finding is a rule that is not kept, with both numbers: minor units for the
// fee, micro-minor-units for prices, GPUs for guarantees. Publishing in spite
// of it is logged with the operator's reason.
type Finding struct {
	Rule  Rule
	Class pool.ClassID
	Plan  pool.PlanVersionID
	Have  int64
	Limit int64
}

// CheckPrices looks at the rows of one price list by class: the dearest spot
// against the cheapest loan, the dearest loan against the cheapest own.
func CheckPrices(rows []PriceRow) []Finding {
	type span struct {
		low, high money.Price
		found     bool
	}
	at := map[pool.ClassID]map[pool.Cover]span{}
	for _, r := range rows {
		if at[r.Class] == nil {
			at[r.Class] = map[pool.Cover]span{}
		}
		s := at[r.Class][r.Cover]
		if !s.found {
			s = span{r.Price, r.Price, true}
		}
		at[r.Class][r.Cover] = span{min(s.low, r.Price), max(s.high, r.Price), true}
	}
	var out []Finding
	for class, c := range at {
		own, loan, spot := c[pool.Own], c[pool.Loan], c[pool.SpotCover]
		if !own.found || !loan.found || !spot.found {
			out = append(out, Finding{Rule: PricesComplete, Class: class, Have: int64(len(c)), Limit: int64(len(pool.Covers))})
			continue
		}
		if spot.high >= loan.low {
			out = append(out, Finding{Rule: SpotBelowLoan, Class: class, Have: int64(spot.high), Limit: int64(loan.low)})
		}
		if loan.high > own.low {
			out = append(out, Finding{Rule: LoanWithinOwn, Class: class, Have: int64(loan.high), Limit: int64(own.low)})
		}
	}
	sortFindings(out)
	return out
}

// Offer is what a plan version sells, for the check of its fee.
type Offer struct {
	Version    pool.PlanVersionID
	Fee        money.Amount
	Guaranteed map[pool.ClassID]int
	LendLimit  map[pool.ClassID]int
}

// CheckFee compares the fee with what a member could earn in the period by
// lending all it may and running nothing, at the dearest loan or spot row and
// its lender's share.
func CheckFee(o Offer, rows []PriceRow, period pool.Interval) []Finding {
	var most money.Amount
	for class, n := range o.LendLimit {
		var best money.Amount
		for _, r := range rows {
			if r.Class == class && r.Cover != pool.Own {
				best = max(best, r.LenderShare.Of(money.Charge(pool.GPUMillis(int64(n)*period.Millis()), r.Price)))
			}
		}
		most += best
	}
	if o.Fee >= most {
		return nil
	}
	return []Finding{{Rule: FeeAboveLending, Plan: o.Version, Have: int64(o.Fee), Limit: int64(most)}}
}

// CheckGuarantees compares the guarantees sold with the ready GPUs by class.
// ratio is how much may be sold of them; FullRate (the default) is just all.
func CheckGuarantees(sold, ready map[pool.ClassID]int, ratio money.BasisPoints) []Finding {
	var out []Finding
	for class, n := range sold {
		limit := int64(ready[class]) * int64(ratio) / int64(money.FullRate)
		if int64(n) > limit {
			out = append(out, Finding{Rule: GuaranteesBacked, Class: class, Have: int64(n), Limit: limit})
		}
	}
	sortFindings(out)
	return out
}

func sortFindings(f []Finding) {
	slices.SortFunc(f, func(a, b Finding) int { return cmp.Or(cmp.Compare(a.Class, b.Class), cmp.Compare(a.Rule, b.Rule)) })
}
