package rating

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"gpupool/domain/money"
	"gpupool/domain/pool"
)

func exposure(t testing.TB, in Input, jobs ...Commitment) money.Amount {
	t.Helper()
	got, err := Exposure(in, jobs, in.Period.Start)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestTheCapOfTheDemo(t *testing.T) {
	t.Parallel()
	p := prices()
	loan, spot := p[6], p[7]
	starter := PlanWindow{Version: "lab-1", Account: "acc", Valid: always(), Fee: 49_000, Included: map[pool.ClassID]pool.GPUMillis{"a100": Hours(400)}}
	in := Input{Period: november.Bounds(time.UTC), Plans: []PlanWindow{starter},
		Prices: []PriceRow{p[5], loan, spot}, Totals: []Total{use("before", loan, 368), use("before", spot, 80)}}
	job := func(name string, tier pool.Tier, hours int64) Commitment {
		return Commitment{Job: pool.JobID(name), Account: "acc", Class: "a100", Tier: tier, Use: Hours(hours), Plan: "lab-1"}
	}
	running := job("running", pool.Burst, 20)
	for _, c := range []struct {
		what string
		jobs []Commitment
		want money.Amount
	}{
		{"used", nil, 37_136},
		{"and reserved", []Commitment{running}, 37_136 + 1_840},
		{"and 2 GPUs for 12 hours break the cap", []Commitment{running, job("ft-chat-7b", pool.Burst, 24)}, 41_184},
		{"as spot it fits", []Commitment{running, job("ft-chat-7b", pool.Spot, 24)}, 37_136 + 1_840 + 984},
		{"what the fee covers costs nothing", []Commitment{running, job("g", pool.Guaranteed, 380)}, 37_136 + 1_840},
		{"and beyond it is overage", []Commitment{job("g", pool.Guaranteed, 410)}, 37_136 + 1_150},
	} {
		if got := exposure(t, in, c.jobs...); got != c.want {
			t.Errorf("%s: %d, want %d", c.what, got, c.want)
		}
	}
	if _, err := Exposure(in, []Commitment{{Job: "x", Class: "mi300", Tier: pool.Spot, Use: 1}}, in.Period.Start); err == nil {
		t.Error("a commitment without any price has an exposure")
	}
}

func TestUpToNamesTheDearestThatCanHappen(t *testing.T) {
	t.Parallel()
	p := prices()
	now := day(time.UTC, 12)
	announced := row("a100", pool.Loan, "1.40")
	announced.Valid.Start = day(time.UTC, 20)
	gone := row("a100", pool.Own, "9.99")
	gone.Valid.End = now
	for _, c := range []struct {
		what string
		rows []PriceRow
		tier pool.Tier
		want money.Amount
	}{
		{"guaranteed stays own", p, pool.Guaranteed, 125 * 24},
		{"burst may be own or loan", p, pool.Burst, 125 * 24},
		{"an announced list counts", append(slices.Clone(p), announced), pool.Burst, 140 * 24},
		{"a list that has ended does not", append(slices.Clone(p), gone), pool.Burst, 125 * 24},
		{"spot is spot", p, pool.Spot, 41 * 24},
	} {
		if got, ok := UpTo(c.rows, "a100", c.tier, Hours(24), now); !ok || got != c.want {
			t.Errorf("%s: %d, %v, want %d", c.what, got, ok, c.want)
		}
	}
	if _, ok := UpTo(p[:6], "a100", pool.Burst, Hours(1), now); ok {
		t.Error("a burst job has an upper bound although loans have no price")
	}
}

// outcomes draws what committed jobs may in fact use: any part of the
// commitment under any cover and row they can reach.
func outcomes(rt *rapid.T, in Input, jobs []Commitment) []Total {
	var out []Total
	for _, c := range jobs {
		left := int64(c.Use)
		for left > 0 && rapid.IntRange(0, 5).Draw(rt, "goes on") > 0 {
			cover := rapid.SampledFrom(Reach(c.Tier)).Draw(rt, "cover")
			var rows []PriceRow
			for _, r := range in.Prices {
				if r.Class == c.Class && r.Cover == cover {
					rows = append(rows, r)
				}
			}
			u := c.as(cover, []PriceRow{rapid.SampledFrom(rows).Draw(rt, "row")}, always())
			u.Use = pool.GPUMillis(rapid.Int64Range(1, left).Draw(rt, "use"))
			left -= int64(u.Use)
			if i := slices.IndexFunc(out, func(t Total) bool { return t.Bucket == u.Bucket }); i >= 0 {
				out[i].Use += u.Use
			} else {
				out = append(out, u)
			}
		}
	}
	return out
}

func commitments(rt *rapid.T, plan pool.PlanVersionID) []Commitment {
	var jobs []Commitment
	for i := range rapid.IntRange(1, 6).Draw(rt, "jobs") {
		jobs = append(jobs, Commitment{Job: pool.JobID([]string{"x", "y", "z", "u", "v", "w"}[i]), Project: "llm", Account: "acc", Plan: plan,
			Class: rapid.SampledFrom([]pool.ClassID{"h100", "a100"}).Draw(rt, "class"),
			Tier:  rapid.SampledFrom(pool.Tiers).Draw(rt, "tier"),
			Use:   pool.GPUMillis(rapid.Int64Range(1, int64(Hours(40))).Draw(rt, "committed"))})
	}
	return jobs
}

func TestNoOutcomeCostsMoreThanTheExposure(t *testing.T) {
	t.Parallel()
	near := 0
	rapid.Check(t, func(rt *rapid.T) {
		in := months(rt)
		plan := in.Plans[len(in.Plans)-1].Version
		jobs := commitments(rt, plan)
		most, err := Exposure(in, jobs, in.Period.Start)
		if err != nil {
			rt.Fatal(err)
		}
		real := in
		real.Totals = append(slices.Clone(in.Totals), outcomes(rt, in, jobs)...)
		lines := rate(rt, real)
		got, err := Charges(lines)
		if err != nil {
			rt.Fatal(err)
		}
		// every line may round up by half a unit, and the exposure's down
		if got > most+money.Amount(len(lines)) {
			rt.Fatalf("exposure %d, charged %d", most, got)
		}
		if got*2 > most && len(real.Totals) > len(in.Totals) {
			near++
		}
	})
	if near == 0 {
		t.Error("no outcome came near its exposure: too tame")
	}
}

func TestMoreCommittedNeverExposesLess(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		in := months(rt)
		jobs := commitments(rt, in.Plans[len(in.Plans)-1].Version)
		all, err := Exposure(in, jobs, in.Period.Start)
		fewer, err2 := Exposure(in, jobs[1:], in.Period.Start)
		if err != nil || err2 != nil || fewer > all {
			rt.Fatalf("%d with all, %d without the first (%v, %v)", all, fewer, err, err2)
		}
	})
}

func TestNoJobIsChargedMoreThanItWasPromised(t *testing.T) {
	t.Parallel()
	kept := 0
	rapid.Check(t, func(rt *rapid.T) {
		in := months(rt)
		jobs := commitments(rt, in.Plans[len(in.Plans)-1].Version)
		before := map[pool.JobID]money.Amount{}
		var promises []Promise
		for _, c := range jobs {
			up, ok := UpTo(in.Prices, c.Class, c.Tier, c.Use, in.Period.Start)
			if !ok {
				rt.Fatal("no price")
			}
			promises = append(promises, Promise{Job: c.Job, UpTo: up})
		}
		// a list that comes without notice makes everything dearer
		if rapid.Bool().Draw(rt, "dearer") {
			in.Prices = slices.Clone(in.Prices)
			for i := range in.Prices {
				in.Prices[i].Price *= 4
			}
		}
		for range 2 { // the job runs over two periods
			real := in
			real.Totals = append(slices.Clone(in.Totals), outcomes(rt, in, halves(jobs))...)
			lines := rate(rt, real)
			all := Keep(lines, promises)
			for _, l := range all {
				if l.Kind == Waiver {
					kept++
				}
				var a money.Amount
				for _, p := range l.Parts {
					before[p.Job] += p.Amount
					a += p.Amount
				}
				if a != l.Amount {
					rt.Fatalf("parts sum to %d of %+v", a, l)
				}
			}
			for i, p := range promises {
				if before[p.Job] > p.UpTo {
					rt.Fatalf("job %s was promised %d and charged %d", p.Job, p.UpTo, before[p.Job])
				}
				promises[i].Before = before[p.Job]
			}
		}
	})
	if kept == 0 {
		t.Error("no promise had to be kept: too tame")
	}
}

func halves(jobs []Commitment) []Commitment {
	out := slices.Clone(jobs)
	for i := range out {
		out[i].Use /= 2
	}
	return out
}
