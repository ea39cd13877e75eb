package invoice

import (
	"encoding/json"
	"errors"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"gpupool/domain/money"
)

// billingCase reads one of the cases made from public bug reports; each names
// its source in the file.
func billingCase(t *testing.T, id string, into any) {
	t.Helper()
	raw, err := os.ReadFile("../testdata/billing_cases.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ Cases []json.RawMessage }
	if err := json.Unmarshal(raw, &file); err != nil {
		t.Fatal(err)
	}
	for _, c := range file.Cases {
		var head struct{ ID, Source string }
		if err := json.Unmarshal(c, &head); err != nil {
			t.Fatal(err)
		}
		if head.ID == id {
			t.Logf("source: %s", head.Source)
			if err := json.Unmarshal(c, into); err != nil {
				t.Fatal(err)
			}
			return
		}
	}
	t.Fatalf("no case %s", id)
}

func issued(t testing.TB, o Order) Document {
	t.Helper()
	d, err := Issue(build(t, o), "NB-2026-000123", 1000, 2000, nil, "")
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestTaxOfCreditNotesIsCumulative(t *testing.T) {
	t.Parallel()
	var c struct {
		Given struct {
			Lines []money.Amount    `json:"lines_minor"`
			Tax   money.BasisPoints `json:"tax_percent"`
		}
		Right struct {
			Net   money.Amount
			Tax   money.Amount
			Total money.Amount   `json:"invoice_total"`
			Notes []money.Amount `json:"credit_note_totals"`
			Sum   money.Amount   `json:"sum_of_credit_notes"`
		}
	}
	billingCase(t, "BC07-credit-note-tax-drift", &c)
	inv := issued(t, order(vat(c.Given.Tax), c.Given.Lines...))
	if inv.Net != c.Right.Net || inv.Tax != c.Right.Tax || inv.Total != c.Right.Total {
		t.Errorf("invoice %d + %d = %d, want %+v", inv.Net, inv.Tax, inv.Total, c.Right)
	}
	var notes []Document
	var totals []money.Amount
	var sum money.Amount
	for _, line := range []int{1, 3, 4, 2} { // 6833, 5750, 8500, 6833
		note, err := CreditFor(inv, notes, "cn", "dispute", []Credit{{Line: line, Net: inv.Lines[line-1].Amount}})
		if err != nil {
			t.Fatal(err)
		}
		notes, totals, sum = append(notes, note), append(totals, -note.Total), sum-note.Total
	}
	if diff := cmp.Diff(c.Right.Notes, totals); diff != "" || sum != c.Right.Sum {
		t.Errorf("notes sum to %d: %s", sum, diff)
	}
	if _, err := CreditFor(inv, notes, "cn", "again", []Credit{{Line: 1, Net: 1}}); !errors.Is(err, ErrTooMuch) {
		t.Errorf("a line was credited twice: %v", err)
	}
}

func TestCreditNotesNeverExceedTheInvoice(t *testing.T) {
	t.Parallel()
	whole := 0
	rapid.Check(t, func(rt *rapid.T) {
		amounts := rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) money.Amount {
			return money.Amount(rapid.Int64Range(1, 9999).Draw(rt, "amount"))
		}), 1, 6).Draw(rt, "lines")
		inv := issued(t, order(vat(money.BasisPoints(rapid.IntRange(0, 25).Draw(rt, "vat"))), amounts...))
		var notes []Document
		var net, total money.Amount
		for range rapid.IntRange(1, 12).Draw(rt, "notes") {
			line := rapid.IntRange(1, len(amounts)).Draw(rt, "line")
			left := open(inv, notes)[line]
			if left == 0 {
				continue
			}
			take := left
			if rapid.Bool().Draw(rt, "part") {
				take = money.Amount(rapid.Int64Range(1, int64(left)).Draw(rt, "take"))
			}
			note, err := CreditFor(inv, notes, "cn", "dispute", []Credit{{Line: line, Net: take, Quantity: 7}})
			if err != nil {
				rt.Fatal(err)
			}
			if errs := CheckSums(note); errs != nil {
				rt.Fatal(errs)
			}
			notes, net, total = append(notes, note), net-note.Net, total-note.Total
			if total > inv.Total || note.Total > 0 {
				rt.Fatalf("notes of %d for an invoice of %d", total, inv.Total)
			}
		}
		if net == inv.Net {
			whole++
			if total != inv.Total {
				rt.Fatalf("all lines are credited, %d of %d", total, inv.Total)
			}
		}
	})
	if whole == 0 {
		t.Error("no invoice was credited as a whole: too tame")
	}
}

func TestOnlyWhatWasBilledCanBeCredited(t *testing.T) {
	t.Parallel()
	inv := issued(t, order(vat(19), 100, -40))
	draft := build(t, order(vat(19), 100))
	for _, c := range []struct {
		what string
		inv  Document
		c    Credit
		want error
	}{
		{"more than the line", inv, Credit{Line: 1, Net: 101}, ErrTooMuch},
		{"a line of which a waiver took a part", inv, Credit{Line: 1, Net: 61}, ErrTooMuch},
		{"nothing", inv, Credit{Line: 1}, ErrTooMuch},
		{"a negative amount", inv, Credit{Line: 1, Net: -1}, ErrTooMuch},
		{"a waiver", inv, Credit{Line: 2, Net: 1}, ErrTooMuch},
		{"a line that is not there", inv, Credit{Line: 3, Net: 1}, nil},
		{"line 0", inv, Credit{Line: 0, Net: 1}, nil},
		{"a draft", draft, Credit{Line: 1, Net: 1}, nil},
	} {
		if _, err := CreditFor(c.inv, nil, "cn", "why", []Credit{c.c}); err == nil || c.want != nil && !errors.Is(err, c.want) {
			t.Errorf("%s: %v", c.what, err)
		}
	}
	if _, err := CreditFor(inv, nil, "cn", "why", []Credit{{Line: 1, Net: 30}, {Line: 1, Net: 80}}); !errors.Is(err, ErrTooMuch) {
		t.Errorf("a line was credited twice in one note: %v", err)
	}
}

func TestPrepaidCreditNeverExceedsTheTotal(t *testing.T) {
	t.Parallel()
	var c struct {
		Given struct {
			Lines   int
			Amount  money.Amount      `json:"line_amount_minor"`
			Tax     money.BasisPoints `json:"tax_percent"`
			Invoice struct{ Fees, Taxes, Total money.Amount }
			Wallet  money.Amount `json:"wallet_minor"`
		}
		Right struct {
			Applied money.Amount `json:"credit_applied"`
			Due     money.Amount `json:"amount_due"`
			After   money.Amount `json:"wallet_after"`
		}
	}
	billingCase(t, "BC10-credits-exceed-invoice", &c)
	amounts := make([]money.Amount, c.Given.Lines)
	for i := range amounts {
		amounts[i] = c.Given.Amount
	}
	inv := build(t, order(vat(c.Given.Tax), amounts...))
	if inv.Net != c.Given.Invoice.Fees || inv.Tax != c.Given.Invoice.Taxes || inv.Total != c.Given.Invoice.Total {
		t.Errorf("invoice %d + %d = %d, want %+v", inv.Net, inv.Tax, inv.Total, c.Given.Invoice)
	}
	used := UsePrepaid(c.Given.Wallet, inv.Total)
	b, err := BalanceOf(inv.Total, nil, []money.Amount{used})
	if err != nil || used != c.Right.Applied || b.Due != c.Right.Due || c.Given.Wallet-used != c.Right.After {
		t.Errorf("%d applied, %d due, %d left (%v), want %+v", used, b.Due, c.Given.Wallet-used, err, c.Right)
	}
	rapid.Check(t, func(rt *rapid.T) {
		wallet := money.Amount(rapid.Int64Range(0, 1e12).Draw(rt, "wallet"))
		total := money.Amount(rapid.Int64Range(-1e9, 1e12).Draw(rt, "total"))
		used := UsePrepaid(wallet, total)
		b, err := BalanceOf(total, nil, []money.Amount{used})
		if err != nil || used < 0 || used > wallet || b.Due != max(0, total-wallet) || used > 0 && b.Over != 0 {
			rt.Fatalf("%d of %d for %d: %+v, %v", used, wallet, total, b, err)
		}
	})
}
