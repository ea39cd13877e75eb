package invoice

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gpupool/domain/money"
	"gpupool/domain/pool"
	"gpupool/domain/rating"
)

var november = pool.Month{Year: 2026, Month: time.November}

// order is an invoice of lines with these net amounts.
func order(tax TaxProfile, amounts ...money.Amount) Order {
	o := Order{ID: "inv-1", Kind: Regular, Account: "acc", Org: "rheinau", Period: november, Zone: "Europe/Berlin", Language: "en",
		Currency: money.Currency{Code: "EUR", Exponent: 2}, Tax: tax,
		Seller: Party{Name: "Norbridge GPU Consortium eG", Address: []string{"Hafenstr. 1"}},
		Buyer:  Party{Name: "Technical University of Rheinau", Reference: "4500-17/B"}}
	for i, a := range amounts {
		o.Lines = append(o.Lines, rating.Line{Kind: rating.Loan, Account: "acc", Class: "h100", Cover: pool.Loan, PriceRow: pool.PriceRowID(fmt.Sprint(i)),
			Quantity: pool.GPUMillis(a) * 3, Amount: a, Parts: []rating.Part{{Project: "llm", Job: "j", Quantity: pool.GPUMillis(a) * 3, Amount: a}}})
	}
	return o
}

func vat(percent money.BasisPoints) TaxProfile {
	return TaxProfile{Treatment: Standard, Rate: percent * 100}
}

func build(t testing.TB, o Order) Document {
	t.Helper()
	d, err := Build(o)
	if err != nil {
		t.Fatal(err)
	}
	if errs := CheckSums(d); errs != nil {
		t.Fatal(errs)
	}
	return d
}

func TestBuildAddsUp(t *testing.T) {
	t.Parallel()
	exempt := TaxProfile{Treatment: Exempt, Reason: "VAT exempt under section 4 no. 14 UStG"}
	reverse := TaxProfile{Treatment: ReverseCharge, Reason: "Reverse charge: VAT is owed by the recipient"}
	for _, c := range []struct {
		what            string
		o               Order
		net, tax, total money.Amount
		lineTax         []money.Amount
		reason          string
	}{
		{"the dispute of the demo", order(vat(19), 10_512), 10_512, 1_997, 12_509, []money.Amount{1_997}, ""},
		{"tax is rounded once for all lines", order(vat(19), 3, 3, 3), 9, 2, 11, []money.Amount{1, 1, 0}, ""},
		{"a waiver takes its tax with it", order(vat(19), 10_000, -2_500), 7_500, 1_425, 8_925, []money.Amount{1_900, -475}, ""},
		{"exempt prints its reason", order(exempt, 10_000), 10_000, 0, 10_000, []money.Amount{0}, exempt.Reason},
		{"reverse charge prints its reason", order(reverse, 10_000), 10_000, 0, 10_000, []money.Amount{0}, reverse.Reason},
		{"an invoice without lines is zero", order(vat(19)), 0, 0, 0, nil, ""},
	} {
		d := build(t, c.o)
		if d.Net != c.net || d.Tax != c.tax || d.Total != c.total {
			t.Errorf("%s: %d + %d = %d, want %d + %d = %d", c.what, d.Net, d.Tax, d.Total, c.net, c.tax, c.total)
		}
		var shares []money.Amount
		for i, l := range d.Lines {
			shares = append(shares, l.Tax.Amount)
			if l.No != i+1 {
				t.Errorf("%s: line %d has the number %d", c.what, i+1, l.No)
			}
		}
		if diff := cmp.Diff(c.lineTax, shares); diff != "" {
			t.Errorf("%s: %s", c.what, diff)
		}
		if len(d.Taxes) > 0 && d.Taxes[0].Reason != c.reason {
			t.Errorf("%s: prints the reason %q", c.what, d.Taxes[0].Reason)
		}
		if !d.Draft() {
			t.Errorf("%s: a draft has the number %q", c.what, d.Number)
		}
	}
}

func TestBuildRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		what string
		o    Order
		want string
	}{
		{"a line of another account", func() Order { o := order(vat(19), 1); o.Lines[0].Account = "b"; return o }(), ErrForeignLine.Error()},
		{"a rate above 100 %", order(vat(101), 1), "between 0 and 100"},
		{"a negative rate", order(vat(-1), 1), "between 0 and 100"},
		{"exempt without a reason", order(TaxProfile{Treatment: Exempt}, 1), "needs the reason"},
		{"an unknown treatment", order(TaxProfile{Treatment: "none"}, 1), "not known"},
		{"a net that overflows", order(vat(0), 1<<62, 1<<62), money.ErrOverflow.Error()},
	} {
		if _, err := Build(c.o); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.what, err)
		}
	}
}

func TestStatesMoveOnlyAsTheTableSays(t *testing.T) {
	t.Parallel()
	states := []State{Issued, Paid, Void, Uncollectible}
	allowed := map[[2]State]bool{
		{Issued, Paid}: true, {Issued, Void}: true, {Issued, Uncollectible}: true,
		{Uncollectible, Paid}: true, {Uncollectible, Void}: true, {Paid, Issued}: true,
	}
	for _, from := range states {
		for _, to := range states {
			err := Move(from, to)
			if ok := allowed[[2]State{from, to}] || from == to; ok != (err == nil) || err != nil && !errors.Is(err, ErrTransition) {
				t.Errorf("from %s to %s: %v", from, to, err)
			}
		}
	}
	if Void.Live() || !Paid.Live() {
		t.Error("a void invoice counts, or a paid one does not")
	}
}

func TestBalances(t *testing.T) {
	t.Parallel()
	type amounts = []money.Amount
	for _, c := range []struct {
		what              string
		payments, credits amounts
		want              Balance
		state             State
	}{
		{"nothing paid", nil, nil, Balance{10_000, 0, 0, 10_000, 0}, Issued},
		{"15.00 short", amounts{8_500}, nil, Balance{10_000, 0, 8_500, 1_500, 0}, Issued},
		{"in two parts", amounts{8_500, 1_500}, nil, Balance{10_000, 0, 10_000, 0, 0}, Paid},
		{"paid twice", amounts{10_000, 10_000}, nil, Balance{10_000, 0, 20_000, 0, 10_000}, Paid},
		{"a payment bounced", amounts{10_000, -10_000}, nil, Balance{10_000, 0, 0, 10_000, 0}, Issued},
		{"a credit note pays too", amounts{4_000}, amounts{6_000}, Balance{10_000, 6_000, 4_000, 0, 0}, Paid},
		{"credited after it was paid", amounts{10_000}, amounts{2_000}, Balance{10_000, 2_000, 10_000, 0, 2_000}, Paid},
	} {
		got, err := BalanceOf(10_000, c.payments, c.credits)
		if err != nil || got != c.want || got.State() != c.state {
			t.Errorf("%s: %+v, %s, %v", c.what, got, got.State(), err)
		}
	}
	if _, err := BalanceOf(0, amounts{1 << 62, 1 << 62}, nil); !errors.Is(err, money.ErrOverflow) {
		t.Errorf("payments that overflow: %v", err)
	}
}
