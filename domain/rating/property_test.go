package rating

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"gpupool/domain/money"
	"gpupool/domain/pool"
)

// months draws an organisation's month: several jobs, users, projects, two
// accounts, up to three plan windows, use in odd milliseconds.
func months(rt *rapid.T) Input {
	in := Input{Period: november.Bounds(time.UTC), Prices: prices()}
	cut := []pool.Instant{in.Period.Start}
	for range rapid.IntRange(0, 2).Draw(rt, "plan changes") {
		cut = append(cut, in.Period.Start+pool.Instant(rapid.Int64Range(1, in.Period.Millis()-1).Draw(rt, "change")))
	}
	slices.Sort(cut)
	cut = append(slices.Compact(cut), pool.Never)
	for i := 1; i < len(cut); i++ {
		w := lab(pool.Interval{Start: cut[i-1], End: cut[i]})
		if i == 2 {
			w.Version, w.Fee = "campus-1", 649_000
			w.Included = map[pool.ClassID]pool.GPUMillis{"h100": Hours(20), "a100": Hours(30)}
		} else {
			w.Included = map[pool.ClassID]pool.GPUMillis{"h100": Hours(30), "a100": Hours(10)}
		}
		in.Plans = append(in.Plans, w)
	}
	for range rapid.IntRange(0, 25).Draw(rt, "totals") {
		r := rapid.SampledFrom(in.Prices).Draw(rt, "row")
		u := use(rapid.SampledFrom([]string{"j1", "j2", "j3", "j4"}).Draw(rt, "job"), r, 0)
		u.PlanVersion = rapid.SampledFrom([]pool.PlanVersionID{"lab-1", "campus-1", ""}).Draw(rt, "plan")
		u.Account = rapid.SampledFrom([]pool.AccountID{"acc", "acc-2"}).Draw(rt, "account")
		u.Use = pool.GPUMillis(rapid.Int64Range(1, int64(Hours(12))).Draw(rt, "use"))
		if !slices.ContainsFunc(in.Totals, func(t Total) bool { return t.Bucket == u.Bucket }) {
			in.Totals = append(in.Totals, u)
		}
	}
	return in
}

func rate(rt *rapid.T, in Input) []Line {
	rt.Helper()
	lines, err := Rate(in)
	if err != nil {
		rt.Fatal(err)
	}
	return lines
}

func TestEveryMillisecondIsOnOneLine(t *testing.T) {
	t.Parallel()
	met := map[Kind]int{}
	rapid.Check(t, func(rt *rapid.T) {
		in := months(rt)
		lines := rate(rt, in)
		type who struct {
			class pool.ClassID
			job   pool.JobID
			cover pool.Cover
		}
		used, billed := map[who]pool.GPUMillis{}, map[who]pool.GPUMillis{}
		included := map[pool.ClassID]pool.GPUMillis{}
		for _, u := range in.Totals {
			used[who{u.Class, u.Job, u.Cover}] += u.Use
		}
		keys := map[Key]bool{}
		for _, l := range lines {
			met[l.Kind]++
			if l.Quantity <= 0 || l.Amount != money.Charge(l.Quantity, l.Price) || keys[l.Key()] {
				rt.Fatalf("line %+v is empty, not its price, or there twice", l)
			}
			keys[l.Key()] = true
			if l.Kind == Included {
				included[l.Class] += l.Quantity
			}
			var q pool.GPUMillis
			var a money.Amount
			for _, p := range l.Parts {
				if p.Quantity <= 0 || p.Amount < 0 || p.Amount > money.ChargeUp(p.Quantity, l.Price) {
					rt.Fatalf("part %+v of line %+v", p, l)
				}
				q, a = q+p.Quantity, a+p.Amount
				billed[who{l.Class, p.Job, l.Cover}] += p.Quantity
			}
			if q != l.Quantity || a != l.Amount {
				rt.Fatalf("parts sum to %d and %d of %+v", q, a, l)
			}
		}
		if diff := cmp.Diff(used, billed, cmp.AllowUnexported(who{})); diff != "" {
			rt.Fatalf("used and billed differ: %s", diff)
		}
		for class, most := range Pool(in.Plans, in.Period) {
			if included[class] > most {
				rt.Fatalf("%d of %d included hours of %s burned", included[class], most, class)
			}
		}
	})
	for _, k := range []Kind{Included, Overage, Loan, Spot} {
		if met[k] == 0 {
			t.Errorf("no month had a line of kind %s: too tame", k)
		}
	}
}

func TestTheOrderOfWhatIsKnownChangesNoLine(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		in := months(rt)
		want := rate(rt, in)
		in.Totals = rapid.Permutation(in.Totals).Draw(rt, "totals")
		in.Prices = rapid.Permutation(in.Prices).Draw(rt, "prices")
		in.Plans = rapid.Permutation(in.Plans).Draw(rt, "plans")
		if diff := cmp.Diff(want, rate(rt, in)); diff != "" {
			rt.Fatal(diff)
		}
	})
}

func TestACutAtWhichNothingChangesChangesNoLine(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		in := months(rt)
		want, fees := rate(rt, in), FeeLines(in.Plans, in.Period)
		i := rapid.IntRange(0, len(in.Plans)-1).Draw(rt, "window")
		w := in.Plans[i]
		at := pool.Instant(rapid.Int64Range(int64(w.Valid.Start), int64(min(w.Valid.End, in.Period.End))).Draw(rt, "at"))
		a, b := w, w
		a.Valid.End, b.Valid.Start = at, at
		in.Plans = append(slices.Delete(slices.Clone(in.Plans), i, i+1), b, a)
		if diff := cmp.Diff(want, rate(rt, in)); diff != "" {
			rt.Fatal(diff)
		}
		if diff := cmp.Diff(fees, FeeLines(in.Plans, in.Period)); diff != "" {
			rt.Fatal(diff)
		}
	})
}

// sums adds up lines by position, whichever invoice they stand on.
func sums(lines []Line) map[Key][2]int64 {
	out := map[Key][2]int64{}
	for _, l := range lines {
		s := out[l.Key()]
		s[0] += int64(l.Quantity)
		s[1] += int64(l.Amount)
		out[l.Key()] = s
	}
	for k, s := range out {
		if s == [2]int64{} {
			delete(out, k)
		}
	}
	return out
}

func TestWhateverComesLateTheSumOfAllInvoicesIsRight(t *testing.T) {
	t.Parallel()
	negative := 0
	rapid.Check(t, func(rt *rapid.T) {
		var billed []Line
		var now []Line
		for range rapid.IntRange(1, 4).Draw(rt, "invoices") {
			now = rate(rt, months(rt)) // any knowledge: late rows, reversals, another plan
			more := Adjust(november, billed, now)
			for _, l := range more {
				var q pool.GPUMillis
				var a money.Amount
				for _, p := range l.Parts {
					q, a = q+p.Quantity, a+p.Amount
				}
				if q != l.Quantity || a != l.Amount {
					rt.Fatalf("parts of the adjustment %+v sum to %d and %d", l, q, a)
				}
				if l.Amount < 0 {
					negative++
				}
			}
			billed = append(billed, more...)
		}
		if diff := cmp.Diff(sums(now), sums(billed)); diff != "" {
			rt.Fatalf("right and billed differ: %s", diff)
		}
		if again := Adjust(november, billed, now); len(again) != 0 {
			rt.Fatalf("closing again bills %v", brief(again))
		}
	})
	if negative == 0 {
		t.Error("no adjustment took anything back: too tame")
	}
}

func TestAWaiverIsAsIfTheUseHadNotBeen(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		in := months(rt)
		for _, u := range in.Totals {
			part := rapid.Int64Range(0, int64(u.Use)).Draw(rt, "part")
			more := rapid.Int64Range(0, int64(u.Use)-part).Draw(rt, "more")
			in.Waivers = append(in.Waivers, Waived{PlatformFault, u.Bucket, pool.GPUMillis(part)}, Waived{Maintenance, u.Bucket, pool.GPUMillis(more)})
		}
		lines := rate(rt, in)
		// the same as if the waived use had never been
		less := in
		less.Waivers, less.Totals = nil, slices.Clone(in.Totals)
		for i, w := range in.Waivers {
			less.Totals[i/2].Use -= w.Use
		}
		got, err := Net(lines)
		want, err2 := Net(rate(rt, less))
		if err != nil || err2 != nil || got != want {
			rt.Fatalf("%d with waivers, %d without the use (%v, %v)", got, want, err, err2)
		}
		keys := map[Key]bool{}
		for _, l := range lines {
			if l.Kind == Waiver && l.Amount > 0 || keys[l.Key()] {
				rt.Fatalf("a waiver that costs, or a line that is there twice: %+v", l)
			}
			keys[l.Key()] = true
		}
	})
}
