package quota

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"gpupool/domain/pool"
)

// Every GPU of the hardware stands in one figure of its class, and a job for
// which GPUs and quota are there, but not left by a reservation, is told that
// and never that the class is full.
func TestWhatAReservationKeepsIsNamedAndFiguresAddUp(t *testing.T) {
	t.Parallel()
	var m met
	met := map[string]int{}
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld(rt, &m, draws{fair: rapid.Bool().Draw(rt, "fair"), notice: rapid.Bool().Draw(rt, "notice"), rules: rapid.Bool().Draw(rt, "rules")})
		w.crowd(8)
		for range 25 {
			w.happen()
			plan := Decide(w.snap, w.now)
			all := Explain(w.snap, plan, w.now)
			w.apply(plan)
			is := read(&w.snap, w.now)
			for _, x := range all {
				w.adds(x, is, met)
			}
			for _, x := range plan.Wait {
				w.truthful(x, plan, is, met)
			}
			w.now++
		}
	})
	metAll(t, met, "figures", "free", "scattered", "reserved", "closed", "foreign", "named reservations")
}

// adds compares the figures of a class with its nodes and what holds them.
func (w *world) adds(x ClassState, is *model, met map[string]int) {
	hardware, held := 0, 0
	for i := range is.nodes {
		n := &is.nodes[i]
		if n.Class != x.Class {
			continue
		}
		if n.held > n.cap {
			return // more runs than there is, until the victims are gone
		}
		hardware, held = hardware+n.GPUs, held+n.held
	}
	if got := x.Own + x.Loan + x.Spot; got != held {
		w.t.Fatalf("%d GPUs of %s are held, and %d by cover: %+v", held, x.Class, got, x)
	}
	if got := x.Whole + x.Scattered + x.Reserved + x.Promised + held + x.Closed + x.Foreign; got != hardware {
		w.t.Fatalf("%s has %d GPUs, its figures come to %d: %+v", x.Class, hardware, got, x)
	}
	met["figures"]++
	met["free"] += x.Whole
	met["scattered"] += x.Scattered
	met["reserved"] += x.Reserved
	met["closed"] += x.Closed
	met["foreign"] += x.Foreign
}

// truthful looks at the reasons of a wait beside the state that the plan leaves.
func (w *world) truthful(x Waiting, plan Plan, is *model, met map[string]int) {
	i := slices.IndexFunc(w.snap.Pending, func(j Job) bool { return j.ID == x.Job })
	others := slices.ContainsFunc(x.Reasons, func(r pool.Reason) bool {
		return r.Code != pool.Reserved && r.Code != pool.Behind && slices.Contains(barred, r.Code)
	})
	if j := w.snap.Pending[i]; !x.Promised && !others {
		for _, id := range j.Classes {
			c := is.classes[id]
			if !is.fits(&j, c, false) || j.Tier == pool.Guaranteed && !is.entitled(&j, c) {
				continue
			}
			keeps := slices.IndexFunc(plan.Reserved, func(r Reservation) bool { return r.Class == id && r.Job != j.ID })
			if keeps < 0 {
				w.t.Fatalf("%s fits in %s, nothing is reserved there, and it waits for %+v", j.ID, id, x.Reasons)
			}
			full := slices.ContainsFunc(x.Reasons, func(r pool.Reason) bool {
				return r.Class == id && slices.Contains([]pool.ReasonCode{pool.ClassFull, pool.Scattered, pool.WaitingForDrain}, r.Code)
			})
			named := slices.IndexFunc(x.Reasons, func(r pool.Reason) bool { return r.Class == id && r.Code == pool.Reserved })
			if full || named < 0 || x.Reasons[named].Ref != string(plan.Reserved[keeps].Job) || x.Reasons[named].Have < int64(j.Units()) {
				w.t.Fatalf("%s fits in %s but for the reservation of %s, and is told %+v", j.ID, id, plan.Reserved[keeps].Job, x.Reasons)
			}
			met["named reservations"]++
		}
	}
}
