package meter

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"gpupool/domain/pool"
)

// minute is an instant n minutes after a round one, which keeps the tables readable.
func minute(n int) pool.Instant {
	return 1_790_000_000_000 + pool.Instant(n)*60_000
}

const grace = 10 * time.Minute

// said is an observation of allocation a1 that was created at minute 0.
func said(index uint64, s Status, received int, set func(*Observation)) Observation {
	o := Observation{Alloc: "a1", ModifyIndex: index, Status: s, Created: minute(0), Received: minute(received)}
	if set != nil {
		set(&o)
	}
	return o
}

func TestHold(t *testing.T) {
	t.Parallel()
	started := func(at int) func(*Observation) {
		return func(o *Observation) { o.Setup, o.Started = minute(1), minute(at) }
	}
	finished := func(at int) func(*Observation) {
		return func(o *Observation) { o.Setup, o.Started, o.Finished = minute(1), minute(2), minute(at) }
	}
	silent := func(heartbeat int) func(*Observation) {
		return func(o *Observation) { o.Heartbeat = minute(heartbeat) }
	}
	open := func(start, seen int) Held {
		return Held{Start: minute(start), End: pool.Never, Seen: minute(seen), Quality: Exact}
	}
	closed := func(start, end int) Held {
		return Held{Start: minute(start), End: minute(end), Seen: minute(end), Quality: Exact}
	}
	estimated := func(h Held) Held { h.Quality = Estimated; return h }
	for _, c := range []struct {
		what string
		obs  []Observation
		s    Sighting
		want Held
	}{
		{"a run that started is charged from its start",
			[]Observation{said(1, Running, 4, started(3))}, Sighting{}, open(3, 4)},
		{"what is in the list now is known to be held until now",
			[]Observation{said(1, Running, 4, started(3))}, Sighting{LastSeen: minute(30)}, open(3, 30)},
		{"a long image pull is charged after the set-up grace",
			[]Observation{said(1, Pending, 4, func(o *Observation) { o.Setup = minute(1) }), said(2, Running, 25, started(24))},
			Sighting{}, open(11, 25)},
		{"a restart in place overwrites Started, the earliest counts",
			[]Observation{said(1, Running, 4, started(3)), said(2, Running, 20, started(19))}, Sighting{}, open(3, 20)},
		{"the end is the latest finish",
			[]Observation{said(1, Running, 4, started(2)), said(2, Complete, 41, finished(40))}, Sighting{}, closed(2, 40)},
		{"a second terminal report may move the finish later",
			[]Observation{said(1, Complete, 41, finished(40)), said(2, Complete, 43, finished(42))}, Sighting{}, closed(2, 42)},
		{"a node's clock that runs ahead is clamped to our receipt",
			[]Observation{said(1, Complete, 41, finished(500))}, Sighting{}, closed(2, 41)},
		{"a node's clock that runs behind is clamped to the creation",
			[]Observation{said(1, Running, 4, started(-300))}, Sighting{}, open(0, 4)},
		{"a lost run ends at the last heartbeat, estimated",
			[]Observation{said(1, Running, 4, started(2)), said(2, Lost, 30, silent(20))}, Sighting{},
			estimated(closed(2, 20))},
		{"what a lost run does later is shown, not charged",
			[]Observation{said(1, Running, 4, started(2)), said(2, Lost, 30, silent(20)), said(3, Running, 35, nil), said(4, Complete, 51, finished(50))},
			Sighting{}, Held{Start: minute(2), End: minute(20), Seen: minute(35), Quality: Estimated, Grown: minute(50)}},
		{"a lost run whose node is out of touch is closed all the same",
			[]Observation{said(1, Running, 4, started(2)), said(2, Lost, 30, silent(20)), said(3, Unknown, 31, silent(20))}, Sighting{},
			estimated(closed(2, 20))},
		{"a run whose node is out of touch stays open and is flagged",
			[]Observation{said(1, Running, 4, started(2)), said(2, Unknown, 30, silent(20))}, Sighting{},
			Held{Start: minute(2), End: pool.Never, Seen: minute(20), Quality: Exact, Flagged: true}},
		{"a node that comes back takes the flag away",
			[]Observation{said(1, Running, 4, started(2)), said(2, Unknown, 30, silent(20)), said(3, Running, 40, started(2))},
			Sighting{}, open(2, 40)},
		{"a vanished run ends when it was last seen, estimated",
			[]Observation{said(1, Running, 4, started(2))}, Sighting{LastSeen: minute(17), Vanished: true},
			estimated(closed(2, 17))},
		{"time from the notice on is free",
			[]Observation{said(1, Running, 4, started(2)), said(2, Complete, 41, finished(40))}, Sighting{Notice: minute(31)},
			Held{Start: minute(2), End: minute(31), Seen: minute(40), Quality: Exact}},
		{"a finish before the notice stands",
			[]Observation{said(1, Complete, 41, finished(40))}, Sighting{Notice: minute(45)}, closed(2, 40)},
		{"a run that ended inside the set-up grace is free",
			[]Observation{said(1, Failed, 6, func(o *Observation) { o.Setup, o.Finished = minute(1), minute(5) })}, Sighting{},
			closed(5, 5)},
		{"a run that never began holds nothing",
			[]Observation{said(1, Pending, 4, nil)}, Sighting{LastSeen: minute(9)},
			Held{Start: pool.Never, End: pool.Never, Seen: minute(9), Quality: Exact}},
		{"a finish that nobody saw is taken from the receipt, estimated",
			[]Observation{said(1, Running, 4, started(2)), said(2, Failed, 9, nil)}, Sighting{}, estimated(closed(2, 9))},
	} {
		got, err := Hold(c.obs, c.s, grace)
		if err != nil {
			t.Errorf("%s: %v", c.what, err)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", c.what, diff)
		}
	}
}

func TestNothingIsMeteredBeyondTheLastSighting(t *testing.T) {
	t.Parallel()
	h, err := Hold([]Observation{said(1, Running, 4, func(o *Observation) { o.Started = minute(2) })}, Sighting{LastSeen: minute(9)}, grace)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := h.Interval(), (pool.Interval{Start: minute(2), End: minute(9)}); got != want || !h.Open() {
		t.Errorf("metered %v, open %v, want %v and open", got, h.Open(), want)
	}
	waiting, err := Hold([]Observation{said(1, Pending, 4, func(o *Observation) { o.Setup = minute(1) })}, Sighting{}, grace)
	if err != nil {
		t.Fatal(err)
	}
	if got := waiting.Interval(); got.Millis() != 0 {
		t.Errorf("a run inside its set-up grace is metered for %v", got)
	}
}

func TestHoldRefusesAForeignObservation(t *testing.T) {
	t.Parallel()
	other := said(2, Running, 5, nil)
	other.Alloc = "a2"
	if _, err := Hold([]Observation{said(1, Running, 4, nil), other}, Sighting{}, grace); !errors.Is(err, ErrNotYours) {
		t.Errorf("got %v", err)
	}
}

func TestHoldIsTheSameForAnyOrderWithDoubles(t *testing.T) {
	t.Parallel()
	lost, grown := 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		obs := observations(rt)
		s := Sighting{LastSeen: minute(rapid.IntRange(0, 300).Draw(rt, "seen")), Vanished: rapid.Bool().Draw(rt, "vanished")}
		if rapid.Bool().Draw(rt, "noticed") {
			s.Notice = minute(rapid.IntRange(0, 300).Draw(rt, "notice"))
		}
		want, err := Hold(obs, s, grace)
		if err != nil {
			rt.Fatal(err)
		}
		again := append(rapid.Permutation(obs).Draw(rt, "order"), rapid.SliceOf(rapid.SampledFrom(obs)).Draw(rt, "doubles")...)
		got, err := Hold(again, s, grace)
		if err != nil || got != want {
			rt.Fatalf("in another order %+v (%v), was %+v", got, err, want)
		}
		if v := want.Interval(); v.End < v.Start {
			rt.Fatalf("%+v is metered over %v", want, v)
		}
		if want.Quality == Estimated {
			lost++
		}
		if want.Grown != 0 {
			grown++
		}
	})
	if lost == 0 || grown == 0 {
		t.Errorf("the histories had %d estimated ends and %d that grew: too tame", lost, grown)
	}
}

func observations(rt *rapid.T) []Observation {
	statuses := []Status{Pending, Running, Running, Complete, Failed, Lost, Unknown}
	var obs []Observation
	for i := range rapid.IntRange(1, 7).Draw(rt, "n") {
		received := 10 + 30*i
		o := said(uint64(i+1), rapid.SampledFrom(statuses).Draw(rt, "status"), received, nil)
		at := func(what string) pool.Instant {
			if rapid.IntRange(0, 3).Draw(rt, what+" missing") == 0 {
				return 0
			}
			return minute(rapid.IntRange(-20, received+20).Draw(rt, what))
		}
		o.Setup, o.Started, o.Finished, o.Heartbeat = at("setup"), at("started"), at("finished"), at("heartbeat")
		obs = append(obs, o)
	}
	return obs
}
