package money

import (
	"encoding/json"
	"os"
	"testing"

	"gpupool/domain/pool"
)

// billingCase reads one of the cases made from public bug reports; each names
// its source in the file.
func billingCase(t *testing.T, id string, into any) {
	t.Helper()
	raw, err := os.ReadFile("../testdata/billing_cases.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Cases []json.RawMessage
	}
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

func TestSubCentPriceIsRoundedOnce(t *testing.T) {
	t.Parallel()
	var c struct {
		Given struct {
			UnitPrice string `json:"unit_price"`
			Units     int64
			Currency  string
		}
		Right struct {
			AmountMinor Amount `json:"amount_minor"`
		}
	}
	billingCase(t, "BC06-sub-cent-price", &c)
	cur, err := CurrencyOf(c.Given.Currency)
	if err != nil {
		t.Fatal(err)
	}
	p, err := cur.ParsePrice(c.Given.UnitPrice)
	if err != nil {
		t.Fatal(err)
	}
	if got := Charge(pool.GPUMillis(c.Given.Units*pool.MillisPerHour), p); got != c.Right.AmountMinor {
		t.Errorf("%d units at %s cost %d, want %d", c.Given.Units, c.Given.UnitPrice, got, c.Right.AmountMinor)
	}
}

func TestEqualLinesDoNotDriftFromTheTotal(t *testing.T) {
	t.Parallel()
	var c struct {
		Given struct {
			TestScenario struct {
				Lines      int
				TotalMinor Amount `json:"total_minor"`
			} `json:"test_scenario"`
		}
		Right struct {
			High int    `json:"lines_at_28485"`
			Low  int    `json:"lines_at_28484"`
			Sum  Amount `json:"sum_minor"`
		}
	}
	billingCase(t, "BC11-line-rounding-drift", &c)
	count := map[Amount]int{}
	var sum Amount
	for _, p := range Split(c.Given.TestScenario.TotalMinor, make([]int64, c.Given.TestScenario.Lines)) {
		count[p]++
		sum += p
	}
	if count[28485] != c.Right.High || count[28484] != c.Right.Low || sum != c.Right.Sum {
		t.Errorf("lines %v sum to %d, want %+v", count, sum, c.Right)
	}
}

func TestMinorUnitsFollowTheCurrency(t *testing.T) {
	t.Parallel()
	var c struct {
		Given struct{ Prices map[string]string }
		Right map[string]any
	}
	billingCase(t, "BC12-currency-exponent", &c)
	// RWF and KWD are not offered; the arithmetic must be right all the same.
	exponents := map[string]int{"RWF": 0, "KWD": 3}
	for code, text := range c.Given.Prices {
		cur, err := CurrencyOf(code)
		if e, notOffered := exponents[code]; notOffered {
			if err == nil {
				t.Errorf("%s is not on the list and was accepted", code)
			}
			cur = Currency{code, e}
		}
		got, err := cur.Parse(text)
		if want := c.Right[code]; err != nil || Amount(want.(float64)) != got || cur.Format(got) != text {
			t.Errorf("%s %s is %d (%v), want %v, and back %s", code, text, got, err, want, cur.Format(got))
		}
	}
	for _, code := range []string{"", "eur", "XYZ", "EURO"} {
		if _, err := CurrencyOf(code); err == nil {
			t.Errorf("currency %q was accepted", code)
		}
	}
}
