package domain

import (
	"gpupool/domain/meter"
	"gpupool/domain/money"
	"gpupool/domain/pool"
	"gpupool/domain/rating"
)

// work is what runs now, read once for a page.
type work struct {
	attempts []Attempt // of all members, not ended
	meters   []Meter   // open, of the member asked for or of all
	covers   map[pool.AttemptID][]meter.CoverRow
}

// readWork reads it in three statements.
func readWork(tx Tx, org pool.OrgID) (work, error) {
	var w work
	var err error
	if w.attempts, err = tx.LiveAttempts(); err != nil || len(w.attempts) == 0 {
		return w, err
	}
	if org == "" {
		w.meters, err = tx.OpenMeters()
	} else {
		w.meters, err = tx.OpenMetersOf(org)
	}
	if err != nil || len(w.meters) == 0 {
		return w, err
	}
	rows, err := tx.LiveCovers(org)
	w.covers = coversByAttempt(rows)
	return w, err
}

// use folds what running attempts have used since it was last stored, up to
// now: stored segments plus this is the live use. Meters that can't be folded
// yet (no cover, no account) are left out; reconcile reports them.
func (w work) use(t Terms, window pool.Interval, now pool.Instant) []Segment {
	by := map[pool.AttemptID]Attempt{}
	for _, a := range w.attempts {
		by[a.ID] = a
	}
	var out []Segment
	for _, m := range w.meters {
		a, ok := by[m.Attempt]
		if !ok {
			continue
		}
		seen := now
		if free := a.freeFrom(); free != 0 {
			seen = max(m.From, min(seen, free))
		}
		h := t.history(a, m, w.covers[m.Attempt], seen)
		segments, err := meter.Fold(h, pool.Interval{Start: max(m.Until, window.Start), End: min(now, window.End)}, now, t.Zone)
		if err != nil {
			continue
		}
		out = append(out, segments...)
	}
	return out
}

func coversByAttempt(rows []CoverRow) map[pool.AttemptID][]meter.CoverRow {
	out := map[pool.AttemptID][]meter.CoverRow{}
	for _, r := range rows {
		out[r.Attempt] = append(out[r.Attempt], meter.CoverRow{From: r.From, Split: r.Split})
	}
	return out
}

// history is what meter.Fold needs of an allocation.
func (t Terms) history(a Attempt, m Meter, covers []meter.CoverRow, seen pool.Instant) meter.History {
	h := meter.History{
		Run: meter.Run{Alloc: m.Alloc, Attempt: m.Attempt, Org: m.Org, User: a.User, Class: a.Class, Node: m.Node,
			Source: "nomad", Devices: m.Devices, Offset: before(a.Placement, m.Node),
			Held: meter.Held{Start: m.From, End: m.End, Seen: seen, Quality: m.Quality}},
		Covers:      covers,
		Assignments: t.Assignments(a.Project),
	}
	for _, p := range t.Prices() {
		if p.Class == a.Class {
			h.Prices = append(h.Prices, p.PriceWindow)
		}
	}
	for _, p := range t.PlanWindows(m.Org) {
		h.Plans = append(h.Plans, meter.PlanWindow{Valid: p.Valid, Version: p.Version})
	}
	return h
}

// before counts the GPUs of a placement ahead of a node: the runs of a gang
// divide its cover in the order of the placement, whoever is seen first.
func before(p []NodeGPUs, node pool.NodeID) int {
	n := 0
	for _, x := range p {
		if x.Node == node {
			return n
		}
		n += x.GPUs
	}
	return 0 // on a node of its own choice: then it is no gang
}

// totalsOf turns stored sums and live segments into rating's totals.
func totalsOf(rows []UsageRow, live []Segment) []rating.Total {
	sums := map[rating.Bucket]pool.GPUMillis{}
	for _, r := range rows {
		sums[rating.Bucket{Account: r.Account, Class: r.Class, Cover: r.Cover, PriceRow: r.Row, PlanVersion: r.Version,
			Project: r.Project, User: r.User, Job: r.Job}] += r.Use
	}
	for _, s := range live {
		sums[rating.Bucket{Account: s.Account, Class: s.Class, Cover: s.Cover, PriceRow: s.PriceRow, PlanVersion: s.PlanVersion,
			Project: s.Project, User: s.User, Job: s.Attempt.Job}] += s.Use()
	}
	out := make([]rating.Total, 0, len(sums))
	for b, use := range sums {
		if use > 0 {
			out = append(out, rating.Total{Bucket: b, Use: use})
		}
	}
	return out
}

// MonthCharges rates an organisation's use of a month so far, live use
// included: provisional while the month is open. Parts are per project, person
// and job.
func MonthCharges(tx Tx, t Terms, org pool.OrgID, m pool.Month) ([]rating.Line, error) {
	w, err := readWork(tx, org)
	if err != nil {
		return nil, err
	}
	return monthCharges(tx, t, org, m, w)
}

func monthCharges(tx Tx, t Terms, org pool.OrgID, m pool.Month, w work) ([]rating.Line, error) {
	bounds := m.Bounds(t.Zone)
	rows, err := tx.Usage(SegmentFilter{Org: org, From: bounds.Start, To: bounds.End}, UsageGroup{Project: true, User: true, Account: true, Job: true})
	if err != nil {
		return nil, err
	}
	return rating.Rate(rating.Input{Period: bounds, Totals: totalsOf(rows, w.use(t, bounds, tx.Now())), Plans: t.PlanWindows(org), Prices: t.Prices()})
}

// listValue is what use costs at list price, included or not: what a
// project's budget counts.
func listValue(totals []rating.Total, prices map[pool.PriceRowID]money.Price) money.Amount {
	type key struct {
		row pool.PriceRowID
	}
	sums := map[key]pool.GPUMillis{}
	for _, t := range totals {
		sums[key{t.PriceRow}] += t.Use
	}
	var sum money.Amount
	for k, use := range sums {
		sum += money.Charge(use, prices[k.row])
	}
	return sum
}
