package replay

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"strings"
	"testing"

	"gpupool/domain/money"
)

func compared(t *testing.T) (Trace, []Report, []Result, money.Currency) {
	t.Helper()
	p := load(t, tinyPool)
	tr := read(t, strings.Replace(tinyTrace, "borrows", "=1+1", 1), p)
	base := Setting{Name: "as the pool says", Pool: p, Check: true}
	without, err := base.Without("lending")
	if err != nil {
		t.Fatal(err)
	}
	var reports []Report
	var results []Result
	for _, s := range []Setting{base, without, base.Baseline(false)} {
		res, r, err := s.Run(tr.Jobs)
		if err != nil {
			t.Fatal(err)
		}
		reports, results = append(reports, r), append(results, res)
	}
	cur, err := money.CurrencyOf("EUR")
	if err != nil {
		t.Fatal(err)
	}
	return tr, reports, results, cur
}

func TestAComparisonShowsWhatDiffersFromTheFirst(t *testing.T) {
	t.Parallel()
	_, reports, _, cur := compared(t)
	lines := map[string][]string{}
	for _, l := range strings.Split(Compare(reports, cur), "\n") {
		f := strings.Fields(l)
		if len(f) > 1 {
			lines[strings.Join(f[:2], " ")] = f
		}
	}
	for key, want := range map[string]string{
		"jobs done":     "jobs done 5 2 (-3) 5 (same)",
		"gpu withheld":  "gpu withheld 0.00 % 68.75 % (+68.75 %) 0.00 % (same)", // 11 of 4 hours of 4 GPUs
		"guest invoice": "guest invoice EUR 22.50 10.00 (-12.50) -",
		"owner wait":    "owner wait p95 0s 0s (same) 1h0m0s (+1h0m0s)",
	} {
		if got := strings.Join(lines[key], " "); got != want {
			t.Errorf("%s: %q, want %q", key, got, want)
		}
	}
}

func TestJSONAndCSVHoldTheSameFigures(t *testing.T) {
	t.Parallel()
	tr, reports, results, cur := compared(t)
	var b bytes.Buffer
	if err := WriteJSON(&b, tr, reports, cur); err != nil {
		t.Fatal(err)
	}
	var got struct {
		Trace    struct{ Jobs int }
		Currency string
		Settings []struct {
			Name    string
			Net     string `json:"invoices_net"`
			Members []struct {
				Organisation, Net string
				Metered           []struct {
					Loan int64 `json:"loan_gpu_ms"`
				}
			}
		}
	}
	if err := json.Unmarshal(b.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if len(got.Settings) != 3 || got.Currency != "EUR" || got.Trace.Jobs != 5 || got.Settings[0].Net != "130.50" || got.Settings[2].Net != "" ||
		got.Settings[0].Members[1].Net != "22.50" || got.Settings[0].Members[1].Metered[0].Loan != 12*int64(hour) {
		t.Errorf("%+v", got)
	}
	b.Reset()
	if err := WriteMembersCSV(&b, reports, cur); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(&b).ReadAll()
	if err != nil || len(rows) != 7 || rows[2][1] != "guest" || rows[2][12] != "12.000" || rows[2][18] != "22.50" || rows[4][18] != "10.00" {
		t.Errorf("%v %q", err, rows)
	}
	b.Reset()
	if err := WriteJobsCSV(&b, reports, results); err != nil {
		t.Fatal(err)
	}
	rows, err = csv.NewReader(&b).ReadAll()
	if err != nil || len(rows) != 16 || rows[1][2] != "'=1+1" || rows[1][14] != "2" || rows[1][15] != "1" || rows[2][13] != "0" {
		t.Errorf("%v %q", err, rows)
	}
}
