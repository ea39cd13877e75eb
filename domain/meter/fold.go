package meter

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"gpupool/domain/pool"
)

// Faults of a history. The caller sets the allocation aside and goes on.
var (
	ErrNoCover      = errors.New("has no cover yet")
	ErrTooFewCover  = errors.New("holds more GPUs than its cover tells")
	ErrNoPrice      = errors.New("has no price")
	ErrNoAssignment = errors.New("belongs to no project and billing account")
	ErrFuture       = errors.New("lies in the future")
)

// ClockSlack is how far beyond now the end of a window may lie.
const ClockSlack = 5 * time.Second

// Fold meters the part of window in which the run held its GPUs: one segment
// per cover, cut wherever the cover, the price row, the plan version, the
// project or the billing account changes and at each midnight of the billing
// zone, which is also every period's edge. Segments come out ordered by start,
// then own, loan, spot, with revision 0 and sign +1; per cover they tile.
//
// The caller gives the part not metered before, [metered until, to), and
// stores the segments only if metered_until is still what it was; Reach tells
// the new value. Folding two parts gives the same use as folding the whole.
func Fold(h History, window pool.Interval, now pool.Instant, zone *time.Location) ([]Segment, error) {
	if window.End > now.Add(ClockSlack) {
		return nil, fmt.Errorf("allocation %s: the end %s %w", h.Run.Alloc, window.End, ErrFuture)
	}
	part := window.Intersect(h.Run.Held.Interval())
	if part.Empty() {
		return nil, nil
	}
	var out []Segment
	for _, c := range pool.Covers {
		segments, err := foldCover(h, c, part, zone)
		if err != nil {
			return nil, fmt.Errorf("allocation %s: %w", h.Run.Alloc, err)
		}
		out = append(out, segments...)
	}
	slices.SortStableFunc(out, func(a, b Segment) int { return int(a.Start - b.Start) })
	return out, nil
}

// Reach is how far Fold of this window meters: the new metered_until.
func (r Run) Reach(window pool.Interval) pool.Instant {
	return max(window.Start, min(window.End, r.Held.Interval().End))
}

// GPUs is the number of distinct devices.
func (r Run) GPUs() int {
	seen := map[string]bool{}
	for _, d := range r.Devices {
		seen[d] = true
	}
	return len(seen)
}

// Share is the part of an attempt's cover that falls on the gpus after the
// first offset ones, counted own first, then loan, then spot: so the
// allocations of a gang divide its cover without remainder.
func Share(s pool.Split, offset, gpus int) pool.Split {
	take := func(n int) int {
		skip := min(n, offset)
		offset -= skip
		got := min(n-skip, gpus)
		gpus -= got
		return got
	}
	return pool.Split{Own: take(s.Own), Loan: take(s.Loan), Spot: take(s.Spot)}
}

func foldCover(h History, c pool.Cover, part pool.Interval, zone *time.Location) ([]Segment, error) {
	prices := newSchedule(h.Prices, h.Run.Class, c, part, zone)
	cuts := append(h.cuts(part), prices.cuts...)
	cuts = append(midnights(part, zone, cuts), part.Start, part.End)
	slices.Sort(cuts)
	cuts = slices.Compact(cuts)
	var out []Segment
	for i := 1; i < len(cuts); i++ {
		piece := pool.Interval{Start: cuts[i-1], End: cuts[i]}.Intersect(part)
		if piece.Empty() {
			continue
		}
		s, err := h.segment(c, piece, prices)
		if err != nil {
			return nil, err
		}
		out = append(out, s...)
	}
	return joinUncut(out, zone), nil
}

// segment is the one segment of a piece in which nothing changes, or none when
// no GPU has this cover.
func (h History) segment(c pool.Cover, piece pool.Interval, prices schedule) ([]Segment, error) {
	gpus, err := h.gpus(c, piece.Start)
	if err != nil || gpus == 0 {
		return nil, err
	}
	row, ok := prices.at(piece.Start)
	if !ok {
		return nil, fmt.Errorf("%s as %s at %s %w", h.Run.Class, c, piece.Start, ErrNoPrice)
	}
	var plan pool.PlanVersionID
	if i := slices.IndexFunc(h.Plans, func(p PlanWindow) bool { return p.Valid.Contains(piece.Start) }); i >= 0 {
		plan = h.Plans[i].Version
	}
	i := slices.IndexFunc(h.Assignments, func(a Assignment) bool { return a.Valid.Contains(piece.Start) })
	if i < 0 {
		return nil, fmt.Errorf("its use at %s %w", piece.Start, ErrNoAssignment)
	}
	r := h.Run
	return []Segment{{
		Alloc: r.Alloc, Attempt: r.Attempt, Start: piece.Start, End: piece.End,
		Class: r.Class, GPUs: gpus, Cover: c, PriceRow: row, PlanVersion: plan,
		Org: r.Org, Project: h.Assignments[i].Project, User: r.User, Account: h.Assignments[i].Account,
		Node: r.Node, Source: r.Source, Quality: r.Held.Quality, Sign: 1,
	}}, nil
}

// gpus is how many GPUs of this allocation have cover c at i. Time before the
// first cover row has the first row's cover: the clock of a node may run a
// little ahead of the decision.
func (h History) gpus(c pool.Cover, i pool.Instant) (int, error) {
	if len(h.Covers) == 0 {
		return 0, ErrNoCover
	}
	var first, row CoverRow
	for k, r := range h.Covers {
		if k == 0 || r.From < first.From {
			first = r
		}
		if r.From <= i && (row == CoverRow{} || r.From >= row.From) {
			row = r
		}
	}
	if row == (CoverRow{}) {
		row = first
	}
	n := h.Run.GPUs()
	share := Share(row.Split, h.Run.Offset, n)
	if share.Total() != n {
		return 0, fmt.Errorf("%d GPUs after %d, cover %+v: %w", n, h.Run.Offset, row.Split, ErrTooFewCover)
	}
	return share.Of(c), nil
}

func (h History) cuts(part pool.Interval) []pool.Instant {
	var out []pool.Instant
	for _, c := range h.Covers {
		out = append(out, c.From)
	}
	for _, p := range h.Plans {
		out = append(out, p.Valid.Start, p.Valid.End)
	}
	for _, a := range h.Assignments {
		out = append(out, a.Valid.Start, a.Valid.End)
	}
	return slices.DeleteFunc(out, func(i pool.Instant) bool { return !part.Contains(i) })
}

func midnights(part pool.Interval, zone *time.Location, cuts []pool.Instant) []pool.Instant {
	for m := pool.NextMidnight(part.Start, zone); m < part.End; m = pool.NextMidnight(m, zone) {
		cuts = append(cuts, m)
	}
	return cuts
}

// joinUncut takes back cuts at which nothing changed for this cover.
func joinUncut(in []Segment, zone *time.Location) []Segment {
	var out []Segment
	for _, s := range in {
		if n := len(out); n > 0 && out[n-1].End == s.Start && pool.NextMidnight(out[n-1].Start, zone) > s.Start {
			same := s
			same.Start, same.End = out[n-1].Start, out[n-1].End
			if same == out[n-1] {
				out[n-1].End = s.End
				continue
			}
		}
		out = append(out, s)
	}
	return out
}
