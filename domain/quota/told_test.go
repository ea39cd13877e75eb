package quota

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"gpupool/domain/pool"
)

func toldOf(at pool.Instant, early, middle, late, came time.Duration) Told {
	return Told{At: at, Played: Likely{at.Add(early), at.Add(middle), at.Add(late)}, Start: at.Add(came)}
}

// Whatever the plays are wrong by, the pool learns it: eight of the next ten
// lie inside, about as many before as after, and half before the middle.
func TestToldStartsAreLearntFrom(t *testing.T) {
	t.Parallel()
	for name, came := range map[string]func(r *rand.Rand, played time.Duration) time.Duration{
		"as played": func(r *rand.Rand, played time.Duration) time.Duration {
			return time.Duration(float64(played) * (0.5 + r.Float64()))
		},
		"always three times as late": func(r *rand.Rand, played time.Duration) time.Duration {
			return time.Duration(float64(played) * 3 * (0.8 + 0.4*r.Float64()))
		},
		"much sooner": func(r *rand.Rand, played time.Duration) time.Duration {
			return time.Duration(float64(played) * r.Float64() / 3)
		},
		"with a long tail": func(r *rand.Rand, played time.Duration) time.Duration {
			return time.Duration(float64(played) * math.Exp(r.NormFloat64()))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(7, 20261201))
			var all []Told
			before, inside, after, sooner := 0, 0, 0, 0
			const first, trials = 100, 600
			for n := range trials {
				at := noon.Add(time.Duration(n) * time.Hour)
				played := time.Duration(r.Int64N(int64(20*time.Hour))) + time.Hour
				x := toldOf(at, played*3/4, played, played*5/4, came(r, played))
				l := judge(all[max(0, len(all)-200):]).widened(x.Played, at)
				switch {
				case n < first:
				case x.Start < l.Early:
					before++
				case x.Start > l.Late:
					after++
				default:
					inside++
				}
				if n >= first && x.Start < l.Middle {
					sooner++
				}
				all = append(all, x)
			}
			t.Logf("%d before, %d inside, %d after; %d before the middle", before, inside, after, sooner)
			const judged = trials - first
			if inside < judged*74/100 || inside > judged*86/100 || before > judged*15/100 || after > judged*15/100 || sooner < judged*42/100 || sooner > judged*58/100 {
				t.Errorf("of %d starts %d came before, %d inside, %d after; %d before the middle", judged, before, inside, after, sooner)
			}
		})
	}
}

// A job that still waits long after the end of its interval counts as late
// before it starts; one that was told a moment ago says nothing yet.
func TestWhatStillWaitsIsLearntFrom(t *testing.T) {
	t.Parallel()
	var all []Told
	for range 60 {
		all = append(all, toldOf(noon, time.Hour, 2*time.Hour, 3*time.Hour, 2*time.Hour))
	}
	without := judge(all)
	for n := range 30 {
		x := toldOf(noon, time.Hour, 2*time.Hour, 3*time.Hour, 0)
		x.Open = true
		if n < 15 {
			x.Start = noon.Add(40 * time.Hour)
		}
		all = append(all, x)
	}
	if r := judge(all[:60+15]); r.Late < 10*without.Late {
		t.Errorf("fifteen that wait ten times as long as told change %+v to %+v", without, r)
	}
	if r := judge(append(slices.Clone(all[:60]), all[75:]...)); r != without {
		t.Errorf("fifteen that were just told change %+v to %+v", without, r)
	}
	if r := judge(all[60:]); r != judge(nil) {
		t.Errorf("without one start the record is %+v", r)
	}
}

func TestAWidenedIntervalIsInOrderAndHangsOnNoOrder(t *testing.T) {
	t.Parallel()
	span := func(rt *rapid.T, name string) time.Duration {
		return time.Duration(rapid.Int64Range(0, int64(horizon/time.Millisecond)).Draw(rt, name)) * time.Millisecond
	}
	draw := func(rt *rapid.T) Likely {
		l := []time.Duration{span(rt, "early"), span(rt, "middle"), span(rt, "late")}
		slices.Sort(l)
		return Likely{noon.Add(l[0]), noon.Add(l[1]), noon.Add(l[2])}
	}
	rapid.Check(t, func(rt *rapid.T) {
		var all []Told
		for range rapid.IntRange(0, 60).Draw(rt, "told") {
			all = append(all, Told{At: noon, Played: draw(rt), Start: noon.Add(span(rt, "came")), Open: rapid.Bool().Draw(rt, "open")})
		}
		r := judge(all)
		l := r.widened(draw(rt), noon)
		if l.Early < noon || l.Early > l.Middle || l.Middle > l.Late {
			rt.Fatalf("%+v by %+v", l, r)
		}
		slices.Reverse(all)
		if x := judge(all); x != r {
			rt.Fatalf("%+v in another order %+v", r, x)
		}
	})
}
