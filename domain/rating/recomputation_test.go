package rating

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"math/big"
	"sort"
	"strconv"
	"testing"
	"time"

	"pgregory.net/rapid"

	"gpupool/domain/meter"
	"gpupool/domain/pool"
)

// recompute is the second opinion: it reads the exported usage records and
// computes the charge of each class, cover and price row with exact rationals.
// It shares no code with the packages that it checks.
func recompute(export []byte, cents map[string]*big.Rat, poolHours map[string]*big.Rat) (map[string]*big.Int, error) {
	_, body, _ := bytes.Cut(export, []byte("\n"))
	rows, err := csv.NewReader(bytes.NewReader(body)).ReadAll()
	if err != nil {
		return nil, err
	}
	type use struct{ class, cover, row string }
	hours := map[use]*big.Rat{}
	for _, r := range rows {
		number := func(i int) int64 {
			n, e := strconv.ParseInt(r[i], 10, 64)
			if e != nil {
				err = e
			}
			return n
		}
		u := use{r[6], r[8], r[9]}
		if hours[u] == nil {
			hours[u] = new(big.Rat)
		}
		hours[u].Add(hours[u], big.NewRat((number(5)-number(4))*number(7)*number(18), 3_600_000))
	}
	var order []use
	for u := range hours {
		order = append(order, u)
	}
	sort.Slice(order, func(i, k int) bool { // dearest first, as included hours burn
		if c := cents[order[i].row].Cmp(cents[order[k].row]); c != 0 {
			return c > 0
		}
		return order[i].row < order[k].row
	})
	charges := map[string]*big.Int{}
	for _, u := range order {
		h := hours[u]
		if u.cover == "own" {
			if free := poolHours[u.class]; free.Cmp(h) >= 0 {
				free.Sub(free, h)
				h = new(big.Rat)
			} else {
				h = new(big.Rat).Sub(h, free)
				free.SetInt64(0)
			}
		}
		exact := new(big.Rat).Mul(h, cents[u.row])
		twice := new(big.Int).Mul(exact.Num(), big.NewInt(2))
		twice.Add(twice, exact.Denom())
		charges[u.row] = twice.Quo(twice, new(big.Int).Mul(exact.Denom(), big.NewInt(2)))
	}
	return charges, err
}

func TestAnIndependentRecomputationComesToTheSame(t *testing.T) {
	t.Parallel()
	charged := 0
	rapid.Check(t, func(rt *rapid.T) {
		in := Input{Period: november.Bounds(time.UTC), Prices: prices(), Plans: []PlanWindow{lab(always())}}
		in.Plans[0].Included = map[pool.ClassID]pool.GPUMillis{"h100": Hours(50), "a100": Hours(70)}
		var ledger []Segment
		for i := range rapid.IntRange(0, 30).Draw(rt, "segments") {
			p := rapid.SampledFrom(in.Prices).Draw(rt, "row")
			start := in.Period.Start + pool.Instant(rapid.Int64Range(0, in.Period.Millis()-1).Draw(rt, "start"))
			s := Segment{Seq: int64(len(ledger) + 1), Alloc: pool.AllocID(fmt.Sprint("a", i)), Attempt: pool.AttemptID{Job: "j", N: 1}, Start: start,
				End: start + pool.Instant(rapid.Int64Range(1, 30_000_000).Draw(rt, "length")), Class: p.Class, GPUs: rapid.IntRange(1, 8).Draw(rt, "gpus"),
				Cover: p.Cover, PriceRow: p.ID, PlanVersion: "lab-1", Org: "o", Project: "llm", User: "u", Account: "acc", Sign: 1}
			ledger = append(ledger, s)
			if rapid.IntRange(0, 3).Draw(rt, "corrected") == 0 {
				back, again := s, s
				back.Sign, back.Seq = -1, s.Seq+1
				again.GPUs, again.Seq, again.Revision = 1, s.Seq+2, 1
				ledger = append(ledger, back, again)
			}
		}
		var export bytes.Buffer
		if err := meter.WriteCanonical(&export, ledger); err != nil {
			rt.Fatal(err)
		}
		cents := map[string]*big.Rat{}
		for _, p := range in.Prices {
			cents[string(p.ID)] = big.NewRat(int64(p.Price), 1_000_000)
		}
		want, err := recompute(export.Bytes(), cents, map[string]*big.Rat{"h100": big.NewRat(50, 1), "a100": big.NewRat(70, 1)})
		if err != nil {
			rt.Fatal(err)
		}
		if in.Totals, err = Totals(ledger); err != nil {
			rt.Fatal(err)
		}
		got := map[string]int64{}
		for _, l := range rate(rt, in) {
			got[string(l.PriceRow)] += int64(l.Amount)
		}
		for id, w := range want {
			if w.Int64() != got[id] {
				rt.Fatalf("%s: charged %d, recomputed %s", id, got[id], w)
			}
			if w.Sign() > 0 {
				charged++
			}
		}
		if len(want) < len(got) {
			rt.Fatalf("charged %v, recomputed %v", got, want)
		}
	})
	if charged == 0 {
		t.Error("nothing was charged: too tame")
	}
}
