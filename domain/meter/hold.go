package meter

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"gpupool/domain/pool"
)

// Status of an allocation as the cluster reports it.
type Status string

const (
	Pending  Status = "pending"
	Running  Status = "running"
	Complete Status = "complete"
	Failed   Status = "failed"
	Lost     Status = "lost"
	Unknown  Status = "unknown" // the node is out of touch; the GPUs may still be held
)

// Observation is what the cluster said about an allocation at one modify
// index. Instants are 0 where it said nothing. Setup, Started, Finished and
// Heartbeat come from the node's clock; Created and Received do not.
type Observation struct {
	Alloc       pool.AllocID
	ModifyIndex uint64
	Status      Status
	Created     pool.Instant
	Received    pool.Instant // when we got it
	Setup       pool.Instant // event Task Setup
	Started     pool.Instant // first event Started that is still listed
	Finished    pool.Instant // latest FinishedAt of its tasks
	Heartbeat   pool.Instant // last heartbeat of its node, for lost and unknown
}

// Sighting is what is known beside the observations.
type Sighting struct {
	LastSeen pool.Instant // last list of allocations that contained it while its node was in touch
	Vanished bool         // it is in no list any more and never was seen to end
	Notice   pool.Instant // signal of a stop by us; from then on the time is free; 0 for none
}

// Held is the interval in which an allocation had its GPUs and is charged for
// them. End is Never while it is open; then it is known to be held until Seen,
// and only that much may be metered.
type Held struct {
	Start, End pool.Instant
	Seen       pool.Instant
	Quality    Quality
	Flagged    bool         // its node is out of touch
	Grown      pool.Instant // a later end that came after it was closed; shown, not charged; 0 for none
}

// Interval is what may be metered by now: up to the end, or while open up to
// the last sighting. Empty while the allocation holds nothing.
func (h Held) Interval() pool.Interval {
	return pool.Interval{Start: h.Start, End: min(h.End, max(h.Seen, h.Start))}
}

// Open tells whether more of it may have to be charged.
func (h Held) Open() bool { return h.End == pool.Never }

// ErrNotYours says that observations of several allocations were mixed.
var ErrNotYours = errors.New("observation belongs to another allocation")

// Hold concludes from all observations of one allocation, in any order and
// with doubles, in which interval it is charged. Having GPUs is what is
// charged: from the first Started, or from the end of the set-up grace when
// set-up and image pull take longer; restarts in place are inside.
//
// Node clocks are clamped to [Created, Received]. The end is the latest
// Finished when it completed or failed, the last heartbeat when it was lost
// (estimated; what it does later is Grown), the last time it was seen when it
// vanished (estimated), and never later than the notice of a stop by us.
func Hold(seen []Observation, s Sighting, setupGrace time.Duration) (Held, error) {
	obs := slices.Clone(seen)
	slices.SortFunc(obs, func(a, b Observation) int {
		return cmp.Or(cmp.Compare(a.ModifyIndex, b.ModifyIndex), cmp.Compare(a.Received, b.Received),
			cmp.Compare(a.Status, b.Status), cmp.Compare(a.Finished, b.Finished))
	})
	h := Held{Start: pool.Never, End: pool.Never, Seen: s.LastSeen, Quality: Exact}
	closed := Status("")
	for _, o := range obs {
		if o.Alloc != obs[0].Alloc {
			return Held{}, fmt.Errorf("%s among those of %s: %w", o.Alloc, obs[0].Alloc, ErrNotYours)
		}
		h.begin(o, setupGrace)
		closed = h.end(o, closed)
	}
	if closed == "" && s.Vanished {
		h.End, h.Quality, h.Flagged = h.Seen, Estimated, false
	}
	if closed != "" {
		h.Seen = max(h.Seen, h.End)
	}
	if s.Notice != 0 {
		h.End = min(h.End, s.Notice)
	}
	h.Start = min(h.Start, h.End) // it ended inside the set-up grace, or never began
	return h, nil
}

// begin moves the start: only ever earlier.
func (h *Held) begin(o Observation, grace time.Duration) {
	if o.Started != 0 {
		h.Start = min(h.Start, o.clamp(o.Started))
	}
	if o.Setup != 0 {
		h.Start = min(h.Start, o.clamp(o.Setup).Add(grace))
	}
}

// end applies one observation in the order of the modify index. The first
// terminal status decides; a second terminal of the same kind may still move a
// finish later, anything after lost is only shown.
func (h *Held) end(o Observation, closed Status) Status {
	h.Flagged = o.Status == Unknown && closed == ""
	switch o.Status {
	case Complete, Failed:
		finish := o.clamp(cmp.Or(o.Finished, o.Received))
		if closed == Lost {
			h.Grown = max(h.Grown, finish)
			return closed
		}
		if closed == "" {
			h.End = finish
			if o.Finished == 0 {
				h.Quality = Estimated
			}
		}
		h.End = max(h.End, finish)
		return o.Status
	case Lost:
		if closed == "" {
			h.End, h.Quality = o.clamp(cmp.Or(o.Heartbeat, h.Seen, o.Received)), Estimated
			return Lost
		}
	case Running, Pending:
		h.Seen = max(h.Seen, o.Received)
	case Unknown:
		h.Seen = max(h.Seen, o.clamp(o.Heartbeat))
	}
	return closed
}

// clamp holds a node's clock between the allocation's birth and our receipt.
func (o Observation) clamp(i pool.Instant) pool.Instant {
	return min(max(i, o.Created), o.Received)
}
