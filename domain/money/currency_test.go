package money

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

var eur, jpy = Currency{"EUR", 2}, Currency{"JPY", 0}

func TestAmountsThatPeopleType(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		in   string
		cur  Currency
		want Amount
		err  string // a piece of the sentence
	}{
		{"12.50", eur, 1250, ""},
		{" 12.5 ", eur, 1250, ""},
		{"12", eur, 1200, ""},
		{"12.500", eur, 1250, ""},
		{"0", eur, 0, ""},
		{"80", jpy, 80, ""},
		{"10000000000.00", eur, MaxAmount, ""},
		{"", eur, 0, "is empty"},
		{"   ", eur, 0, "is empty"},
		{"-1", eur, 0, "can't be negative"},
		{"12.505", eur, 0, "at most 2 digits after the point"},
		{"12.5", jpy, 0, "JPY has no digits after the point"},
		{"10000000000.01", eur, 0, "at most 10000000000.00 EUR"},
		{"99999999999999999999999999", eur, 0, "at most 10000000000.00 EUR"},
		{"12,50", eur, 0, "write an amount such as 12.50"},
		{"1 000", eur, 0, "not a plain decimal"},
		{"1e3", eur, 0, "not a plain decimal"},
		{"+5", eur, 0, "not a plain decimal"},
		{"12.50 EUR", eur, 0, "not a plain decimal"},
		{"€12", eur, 0, "not a plain decimal"},
		{".5", eur, 0, "not a plain decimal"},
		{"5.", eur, 0, "not a plain decimal"},
		{"1.2.3", eur, 0, "not a plain decimal"},
		{"１２", eur, 0, "not a plain decimal"},
		{"十二", eur, 0, "not a plain decimal"},
		{"12' OR '1'='1", eur, 0, "not a plain decimal"},
		{"NaN", eur, 0, "not a plain decimal"},
	} {
		got, err := c.cur.Parse(c.in)
		if c.err == "" && (err != nil || got != c.want) || c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) {
			t.Errorf("%q in %s: %d, %v; want %d, %q", c.in, c.cur.Code, got, err, c.want, c.err)
		}
	}
}

func TestPricesThatPeopleType(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		in   string
		want Price
		out  string
		err  string
	}{
		{"1.80", 180_000_000, "1.80", ""},
		{"0.067", 6_700_000, "0.067", ""},
		{"0.00000001", 1, "0.00000001", ""},
		{"36000", MaxPrice, "36000.00", ""},
		{"0.000000001", 0, "", "at most 8 digits"},
		{"36000.01", 0, "", "at most 36000.00 EUR"},
		{"-1.80", 0, "", "can't be negative"},
		{"1.80/h", 0, "", "write a price per GPU-hour such as 1.25"},
	} {
		got, err := eur.ParsePrice(c.in)
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%q: %d, %v; want %q", c.in, got, err, c.err)
			}
			continue
		}
		if err != nil || got != c.want || eur.FormatPrice(got) != c.out {
			t.Errorf("%q: %d, %v, printed %s", c.in, got, err, eur.FormatPrice(got))
		}
	}
}

func TestWhatIsPrintedCanBeReadBack(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		c := rapid.SampledFrom(append([]Currency{{"KWD", 3}}, Currencies...)).Draw(rt, "currency")
		a := Amount(rapid.Int64Range(0, int64(MaxAmount)).Draw(rt, "amount"))
		if got, err := c.Parse(c.Format(a)); err != nil || got != a {
			rt.Fatalf("%d prints as %s, reads as %d, %v", a, c.Format(a), got, err)
		}
		p := Price(rapid.Int64Range(0, int64(MaxPrice)).Draw(rt, "price"))
		if got, err := c.ParsePrice(c.FormatPrice(p)); err != nil || got != p {
			rt.Fatalf("%d prints as %s, reads as %d, %v", p, c.FormatPrice(p), got, err)
		}
		if a > 0 && c.Format(-a) != "-"+c.Format(a) {
			rt.Fatalf("minus %d prints as %s", a, c.Format(-a))
		}
	})
}

func TestPercentagesThatPeopleType(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]BasisPoints{"19": 1900, "8.1": 810, "0": 0, "100": 10_000, "7.75": 775} {
		got, err := ParsePercent(in)
		if err != nil || got != want || got.String() != in {
			t.Errorf("%q: %d, %v, printed %s", in, got, err, got)
		}
	}
	for in, want := range map[string]string{"": "is empty", "-1": "negative", "100.01": "at most 100", "8.125": "at most 2 digits", "19 %": "write a percentage"} {
		if _, err := ParsePercent(in); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", in, err, want)
		}
	}
}
