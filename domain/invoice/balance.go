package invoice

import "gpupool/domain/money"

// Balance of an invoice. Due is never negative; what is beyond the total is Over.
type Balance struct {
	Total    money.Amount // of the invoice, tax included
	Credited money.Amount // by credit notes and prepaid credit, positive
	Paid     money.Amount // payments minus refunds and bounces
	Due      money.Amount // still to pay
	Over     money.Amount // paid too much: stays on the account or goes back
}

// BalanceOf nets payments (negative when they bounce or are refunded) and
// credits (positive) against the total. Error: money overflows.
func BalanceOf(total money.Amount, payments, credits []money.Amount) (Balance, error) {
	b := Balance{Total: total}
	var err error
	if b.Paid, err = money.Sum(payments...); err != nil {
		return Balance{}, err
	}
	if b.Credited, err = money.Sum(credits...); err != nil {
		return Balance{}, err
	}
	open, err := total.Sub(b.Paid)
	if err == nil {
		open, err = open.Sub(b.Credited)
	}
	if err != nil {
		return Balance{}, err
	}
	b.Due, b.Over = max(open, 0), max(-open, 0)
	return b, nil
}

// State is what the balance says: paid when nothing is due.
func (b Balance) State() State {
	if b.Due == 0 {
		return Paid
	}
	return Issued
}

// UsePrepaid is how much of a prepaid balance an invoice takes, after tax:
// never more than there is, never more than the total.
func UsePrepaid(balance, total money.Amount) money.Amount {
	return max(0, min(balance, total))
}
