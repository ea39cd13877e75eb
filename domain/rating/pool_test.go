package rating

import (
	"fmt"
	"testing"
	"time"

	"gpupool/domain/meter"
	"gpupool/domain/money"
	"gpupool/domain/pool"
)

// The plans and prices of the demonstration, in EUR cents.

func zone(t testing.TB, name string) *time.Location {
	t.Helper()
	loc, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return loc
}

var november = pool.Month{Year: 2026, Month: time.November}

func day(loc *time.Location, d int) pool.Instant {
	return pool.At(time.Date(2026, time.November, d, 0, 0, 0, 0, loc))
}

func always() pool.Interval { return pool.Interval{Start: 0, End: pool.Never} }

func row(class pool.ClassID, c pool.Cover, cents string) PriceRow {
	eur, err := money.CurrencyOf("EUR")
	if err != nil {
		panic(err)
	}
	p, err := eur.ParsePrice(cents)
	if err != nil {
		panic(err)
	}
	return PriceRow{PriceWindow: meter.PriceWindow{ID: pool.PriceRowID(fmt.Sprintf("%s-%s-%s", class, c, cents)), Class: class, Cover: c, Valid: always()},
		List: "list", Price: p, LenderShare: 6000}
}

// prices has a second A100 row for own and a night row for spot, as lists that
// follow each other and times of day make them.
func prices() []PriceRow {
	return []PriceRow{
		row("h100", pool.Own, "2.20"), row("h100", pool.Loan, "1.80"), row("h100", pool.SpotCover, "0.80"), row("h100", pool.SpotCover, "0.68"),
		row("a100", pool.Own, "1.25"), row("a100", pool.Own, "1.15"), row("a100", pool.Loan, "0.92"), row("a100", pool.SpotCover, "0.41"),
	}
}

func lab(v pool.Interval) PlanWindow {
	return PlanWindow{Version: "lab-1", Account: "acc", Valid: v, Fee: 399_000,
		Included: map[pool.ClassID]pool.GPUMillis{"h100": Hours(2000), "a100": Hours(900)}}
}

func use(job string, r PriceRow, hours int64) Total {
	return Total{Bucket{Account: "acc", Class: r.Class, Cover: r.Cover, PriceRow: r.ID, PlanVersion: "lab-1", Project: "llm", User: "ming", Job: pool.JobID(job)}, Hours(hours)}
}

// brief prints lines as "kind class cover price hours amount".
func brief(lines []Line) []string {
	var out []string
	for _, l := range lines {
		out = append(out, fmt.Sprintf("%s %s %s %d %s %d", l.Kind, l.Class, l.Cover, l.Price/money.MicroPerMinor, l.Quantity.Hours(), l.Amount))
	}
	return out
}
