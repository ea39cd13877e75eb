package invoice

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"gpupool/domain/money"
	"gpupool/domain/pool"
)

func TestSettlementDividesEachDayByUnusedQuota(t *testing.T) {
	t.Parallel()
	const hour = pool.GPUMillis(pool.MillisPerHour)
	loan := Earning{Borrower: "kestrelis", Class: "h100", Cover: pool.Loan, Share: 6000, Amount: 18_000,
		Days: []DayUse{{1, 60 * hour}, {2, 40 * hour}}}
	unused := []Unused{
		{"helixbay", "h100", 1, 48 * hour}, {"rheinau", "h100", 1, 24 * hour},
		{"rheinau", "h100", 2, 10 * hour}, {pool.Consortium, "h100", 2, 30 * hour},
		{"helixbay", "a100", 1, 500 * hour}, // another class earns nothing of it
	}
	got := Settle([]Earning{loan}, unused)
	want := Settlement{
		Cells: []Cell{
			{"kestrelis", "consortium", "h100", pool.Loan, 6000, 30 * hour, 5_400},
			{"kestrelis", "helixbay", "h100", pool.Loan, 6000, 40 * hour, 7_200},
			{"kestrelis", "rheinau", "h100", pool.Loan, 6000, 30 * hour, 5_400},
		},
		Statements: []Statement{
			{"consortium", []StatementLine{{"h100", pool.Loan, 6000, 30 * hour, 5_400, 3_240}}, 5_400, 3_240},
			{"helixbay", []StatementLine{{"h100", pool.Loan, 6000, 40 * hour, 7_200, 4_320}}, 7_200, 4_320},
			{"rheinau", []StatementLine{{"h100", pool.Loan, 6000, 30 * hour, 5_400, 3_240}}, 5_400, 3_240},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	nobody := Settle([]Earning{loan}, nil)
	if len(nobody.Cells) != 1 || nobody.Cells[0].Lender != pool.Consortium || nobody.Cells[0].Amount != 18_000 {
		t.Errorf("when nobody lends: %+v", nobody)
	}
}

func TestTheSettlementMatrixIsExact(t *testing.T) {
	t.Parallel()
	negative := 0
	rapid.Check(t, func(rt *rapid.T) {
		orgs := []pool.OrgID{"a", "b", "c", pool.Consortium}
		classes := []pool.ClassID{"h100", "a100"}
		var unused []Unused
		for day := range 5 {
			for _, o := range orgs {
				for _, c := range classes {
					if rapid.Bool().Draw(rt, "lends") {
						unused = append(unused, Unused{o, c, pool.Instant(day), pool.GPUMillis(rapid.Int64Range(0, 1e10).Draw(rt, "unused"))})
					}
				}
			}
		}
		var earnings []Earning
		rows, use := map[pool.OrgID]money.Amount{}, map[pool.OrgID]pool.GPUMillis{}
		for range rapid.IntRange(0, 8).Draw(rt, "earnings") {
			e := Earning{Borrower: rapid.SampledFrom(orgs).Draw(rt, "borrower"), Class: rapid.SampledFrom(classes).Draw(rt, "class"),
				Cover: rapid.SampledFrom([]pool.Cover{pool.Loan, pool.SpotCover}).Draw(rt, "cover"),
				Share: 6000, Amount: money.Amount(rapid.Int64Range(-1e4, 1e8).Draw(rt, "amount"))}
			for day := range rapid.IntRange(0, 5).Draw(rt, "days") {
				d := DayUse{pool.Instant(day), pool.GPUMillis(rapid.Int64Range(0, 1e10).Draw(rt, "use"))}
				e.Days = append(e.Days, d)
				use[e.Borrower] += d.Use
			}
			if e.Amount < 0 {
				negative++
			}
			rows[e.Borrower] += e.Amount
			earnings = append(earnings, e)
		}
		got := Settle(earnings, unused)
		columns := map[pool.OrgID]money.Amount{}
		for _, c := range got.Cells {
			rows[c.Borrower] -= c.Amount
			use[c.Borrower] -= c.Use
			columns[c.Lender] += c.Amount
		}
		for o := range rows {
			if rows[o] != 0 || use[o] != 0 {
				rt.Fatalf("%d and %d GPU-ms of borrower %s are at no lender", rows[o], use[o], o)
			}
		}
		for _, s := range got.Statements {
			if s.Gross != columns[s.Lender] {
				rt.Fatalf("statement of %s says %d, its column %d", s.Lender, s.Gross, columns[s.Lender])
			}
			var sum money.Amount
			for _, l := range s.Lines {
				if l.Amount != l.Share.Of(l.Gross) {
					rt.Fatalf("line %+v", l)
				}
				sum += l.Amount
			}
			if sum != s.Amount {
				rt.Fatalf("lines of %s sum to %d, not to %d", s.Lender, sum, s.Amount)
			}
			delete(columns, s.Lender)
		}
		if len(columns) != 0 {
			rt.Fatalf("lenders %v have no statement", columns)
		}
		other := Settle(rapid.Permutation(earnings).Draw(rt, "earnings in another order"), rapid.Permutation(unused).Draw(rt, "quotas in another order"))
		if diff := cmp.Diff(got, other); diff != "" {
			rt.Fatal(diff)
		}
	})
	if negative == 0 {
		t.Error("nothing was ever taken back: too tame")
	}
}
