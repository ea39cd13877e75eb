package web

import (
	"strings"
	"testing"
	"time"

	"gpupool/domain/money"
	"gpupool/domain/pool"
	"gpupool/views/lang"
)

func english(t *testing.T, zone, code string) format {
	t.Helper()
	loc, err := time.LoadLocation(zone)
	if err != nil {
		t.Fatal(err)
	}
	c, err := money.CurrencyOf(code)
	if err != nil {
		t.Fatal(err)
	}
	return format{Printer: lang.For(lang.English), zone: loc, currency: c}
}

func TestFiguresReadAsPeopleWriteThem(t *testing.T) {
	t.Parallel()
	eur, jpy := english(t, "Europe/Berlin", "EUR"), english(t, "Asia/Tokyo", "JPY")
	at := pool.At(time.Date(2026, 11, 26, 13, 5, 0, 0, time.UTC))
	for name, x := range map[string][2]string{
		"an amount":                    {eur.money(123450), "1,234.50 EUR"},
		"a negative amount":            {eur.money(-3840), "-38.40 EUR"},
		"no money":                     {eur.money(0), "0.00 EUR"},
		"the largest amount":           {eur.money(money.MaxAmount), "10,000,000,000.00 EUR"},
		"a currency without cents":     {jpy.money(1234), "1,234 JPY"},
		"a price":                      {eur.price(180 * money.MicroPerMinor), "1.80 EUR"},
		"a price finer than a cent":    {eur.price(1_234_567), "0.01234567 EUR"},
		"whole hours":                  {eur.hours(1500 * pool.MillisPerHour), "1,500"},
		"parts of an hour":             {eur.hours(pool.MillisPerHour * 5 / 4), "1.25"},
		"less than an hour taken back": {eur.hours(-pool.MillisPerHour / 2), "-0.5"},
		"an instant":                   {eur.at(at), "26 Nov 2026, 14:05 CET"},
		"the same elsewhere":           {jpy.at(at), "26 Nov 2026, 22:05 JST"},
		"never":                        {eur.at(pool.Never), ""},
		"a month":                      {eur.month(pool.Month{Year: 2026, Month: 11}), "November 2026"},
		"days":                         {eur.span(50*time.Hour + 30*time.Minute), "2 d 2 h"},
		"minutes":                      {eur.span(14 * time.Minute), "14 min"},
		"no time":                      {eur.span(0), "0 s"},
		"a share":                      {eur.percent(1, 3), "33 %"},
		"a share of nothing":           {eur.percent(1, 0), ""},
		"initials":                     {initials("Anna Maria Vogt"), "AV"},
		"a Chinese name":               {initials("李明"), "李"},
	} {
		if x[0] != x[1] {
			t.Errorf("%s: %q, want %q", name, x[0], x[1])
		}
	}
}

func TestEveryWaitReasonIsASentenceWithItsNumbers(t *testing.T) {
	t.Parallel()
	f := english(t, "Europe/Berlin", "EUR")
	for _, r := range pool.Reasons {
		s := f.reason(pool.Reason{Code: r.Code, Need: 4107, Have: 3209, Limit: 2311, Until: 1_793_610_000_000, Ref: "ref-7", Class: "h100"})
		if strings.Contains(s, "%!") || strings.Contains(s, "[") || s == "" {
			t.Errorf("%s: %q", r.Code, s)
		}
		if moneyReasons[r.Code] && !strings.Contains(s, "41.07 EUR") {
			t.Errorf("%s names no amount: %q", r.Code, s)
		}
		if f.reasonName(r.Code) == string(r.Code) {
			t.Errorf("%s has no name for counts", r.Code)
		}
		if f.lifts(r.Code) == "" {
			t.Errorf("%s: nothing lifts it", r.Code)
		}
	}
}

func TestLocalPathsStayHere(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]string{"/op": "/op", "/o/x?a=b#c": "/o/x?a=b#c", "//evil": "/", "https://evil": "/", "": "/", "op": "/", "/\\evil": "/", "/a\nb": "/"} {
		if got := local(s, "/"); got != want {
			t.Errorf("%q: %q", s, got)
		}
	}
}
