package meter

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

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

// secondsByMonth folds one GPU's run and sums it by billing month.
func secondsByMonth(t *testing.T, v pool.Interval, tz string) map[string]int64 {
	t.Helper()
	loc := zone(t, tz)
	segments, err := Fold(one(v, 1), v, v.End, loc)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]int64{}
	for _, s := range segments {
		m := pool.MonthOf(s.Start, loc)
		if b := m.Bounds(loc); s.End > b.End {
			t.Errorf("segment %+v lies in two months", s)
		}
		got[m.String()] += int64(s.Use()) / 1000
	}
	return got
}

func TestUseFallsIntoTheMonthOfTheBillingZone(t *testing.T) {
	t.Parallel()
	var c struct {
		Given struct {
			TZ      string
			Segment struct{ Start, End string }
		}
		Right struct {
			JanuaryStart int64 `json:"january_start_unix"`
			December     int64 `json:"december_gpu_seconds"`
			January      int64 `json:"january_gpu_seconds"`
		}
	}
	billingCase(t, "BC03-month-window-timezone", &c)
	got := secondsByMonth(t, pool.Interval{Start: at(t, c.Given.Segment.Start), End: at(t, c.Given.Segment.End)}, c.Given.TZ)
	if diff := cmp.Diff(map[string]int64{"2024-12": c.Right.December, "2025-01": c.Right.January}, got); diff != "" {
		t.Error(diff)
	}
	january := pool.Month{Year: 2025, Month: 1}.Bounds(zone(t, c.Given.TZ))
	if int64(january.Start)/1000 != c.Right.JanuaryStart {
		t.Errorf("January starts at %s", january.Start)
	}
}

func TestAnInstantOnTheEdgeBelongsToTheNextMonthForEverybody(t *testing.T) {
	t.Parallel()
	var c struct {
		Given struct {
			TZ      string
			Instant string `json:"usage_instant"`
		}
		Right struct {
			MarchEnd int64 `json:"march_end_unix"`
		}
	}
	billingCase(t, "BC04-dst-fixed-offset", &c)
	loc := zone(t, c.Given.TZ)
	i := at(t, c.Given.Instant)
	march := pool.Month{Year: 2023, Month: 3}.Bounds(loc)
	if int64(march.End)/1000 != c.Right.MarchEnd || march.Contains(i) {
		t.Errorf("March is %v and contains %s: %v", march, i, march.Contains(i))
	}
	got := secondsByMonth(t, pool.Interval{Start: i.Add(-5_000_000_000), End: i.Add(7_000_000_000)}, c.Given.TZ)
	if diff := cmp.Diff(map[string]int64{"2023-03": 5, "2023-04": 7}, got); diff != "" {
		t.Error(diff)
	}
}

func TestTheLastDayIsMeteredToTheInstantOfCancelling(t *testing.T) {
	t.Parallel()
	var c struct {
		Given struct {
			Service struct{ Start, Cancel string }
		}
		Right struct {
			Seconds int64 `json:"gpu_seconds"`
		}
	}
	billingCase(t, "BC05-cancel-day-tail-lost", &c)
	var sum int64
	for _, s := range secondsByMonth(t, pool.Interval{Start: at(t, c.Given.Service.Start), End: at(t, c.Given.Service.Cancel)}, "UTC") {
		sum += s
	}
	if sum != c.Right.Seconds {
		t.Errorf("%d GPU-seconds, want %d", sum, c.Right.Seconds)
	}
}
