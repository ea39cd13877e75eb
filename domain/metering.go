package domain

import (
	"context"
	"errors"
	"slices"
	"time"

	"gpupool/domain/meter"
	"gpupool/domain/pool"
)

// observed turns a stored observation into the meter's.
func (o Observation) observed() meter.Observation {
	r := o.Run
	m := meter.Observation{Alloc: o.Alloc, ModifyIndex: o.ModifyIndex, Status: meter.Status(r.Status), Created: r.Created,
		Received: o.ReceivedAt, Finished: r.Finished, Heartbeat: r.Heartbeat}
	for _, e := range r.Events {
		switch {
		case e.Type == "Task Setup" && (m.Setup == 0 || e.At < m.Setup):
			m.Setup = e.At
		case e.Type == "Started" && (m.Started == 0 || e.At < m.Started):
			m.Started = e.At
		}
	}
	return m
}

// meterRun stores the use of one allocation that is not in the ledger yet, up
// to the last midnight, or to its end when it has ended. seen is when the
// cluster last had it in its list.
func meterRun(tx Tx, terms Terms, t Attempt, r Run, seen pool.Instant, vanished bool) (meter.Held, error) {
	held, err := heldBy(tx, terms, t, r, meter.Sighting{LastSeen: seen, Vanished: vanished})
	if err != nil || held.Start == pool.Never {
		return held, err
	}
	if held.Open() && held.Start > held.Seen {
		return held, nil // set-up is still free: nothing is charged yet
	}
	m, err := ensureMeter(tx, terms, t, r, held, seen)
	if err != nil || m.Closed {
		return held, err
	}
	held = withinPromise(held, m.From, t)
	if held.Open() {
		return held, nil // MeterDays stores what is complete
	}
	held.End = max(held.End, m.From) // free from before it began
	m.End, m.Quality = held.End, held.Quality
	if m.End < m.Until {
		if err := takeBack(tx, terms, t, m, seen); err != nil {
			return held, err
		}
	}
	return held, storeUse(tx, terms, t, m, pool.Interval{Start: m.Until, End: max(held.End, m.Until)}, seen)
}

// heldBy concludes from what is stored of an allocation when it had its GPUs.
func heldBy(tx Tx, terms Terms, t Attempt, r Run, sight meter.Sighting) (meter.Held, error) {
	all, err := tx.Observations(t.ID)
	if err != nil {
		return meter.Held{}, err
	}
	var obs []meter.Observation
	for _, o := range all {
		if o.Alloc == r.Alloc {
			m := o.observed()
			// Cover begins with the admission; a cluster whose clock is behind
			// ours can't have begun before it.
			m.Created = max(m.Created, t.AdmittedAt)
			obs = append(obs, m)
		}
	}
	if sight.Vanished || r.Status.Terminal() { // while it runs on, a notice may still be withdrawn
		sight.Notice = t.freeFrom()
	}
	return meter.Hold(obs, sight, terms.Settings.SetupGrace)
}

// withinPromise ends charged use at the declared maximum: the "up to" shown
// at submit is kept even when a node is slow to stop.
func withinPromise(h meter.Held, from pool.Instant, t Attempt) meter.Held {
	if t.MaxEnd == pool.Never {
		return h
	}
	latest := min(h.Start, from).Add(t.MaxEnd.Sub(t.AdmittedAt))
	if !h.Open() {
		h.End = min(h.End, latest)
	}
	h.Seen = min(h.Seen, latest)
	return h
}

// ensureMeter inserts the meter of an allocation. When an earlier start became
// known it stores the use from there to where the meter began.
func ensureMeter(tx Tx, terms Terms, t Attempt, r Run, held meter.Held, now pool.Instant) (Meter, error) {
	m, err := tx.Meter(r.Alloc)
	if CodeOf(err) == NotFound {
		m = Meter{Alloc: r.Alloc, Attempt: t.ID, Org: t.Org, Node: r.Node, GPUs: len(r.Devices),
			Devices: r.Devices, From: held.Start, Until: held.Start, End: pool.Never, Quality: meter.Exact}
		return m, tx.InsertMeter(m)
	}
	if err != nil || m.Closed || held.Start >= m.From || held.End <= m.From {
		return m, err
	}
	ok, err := tx.ExtendMeterBack(m.Alloc, m.From, held.Start)
	if err != nil || !ok {
		return m, err
	}
	began := m.From
	m.From = held.Start
	segments, err := foldUse(tx, terms, t, m, pool.Interval{Start: m.From, End: began}, now)
	if err != nil || len(segments) == 0 {
		return m, err
	}
	_, err = tx.AppendSegments(segments)
	return m, err
}

// takeBack corrects the ledger of an allocation that turned out to have ended
// before what was stored: its node had been out of touch over midnight.
func takeBack(tx Tx, terms Terms, t Attempt, m Meter, now pool.Instant) error {
	ledger, err := tx.Segments(SegmentFilter{Org: t.Org, Job: t.ID.Job})
	if err != nil {
		return err
	}
	ledger = slices.DeleteFunc(ledger, func(s Segment) bool { return s.Alloc != m.Alloc })
	right, err := foldUse(tx, terms, t, m, pool.Interval{Start: m.From, End: m.End}, now)
	if err != nil {
		return err
	}
	rows, err := meter.Replace(ledger, right)
	if err != nil || len(rows) == 0 {
		return err
	}
	_, err = tx.AppendSegments(rows)
	return err
}

// foldUse folds window of an allocation under its stored cover.
func foldUse(tx Tx, terms Terms, t Attempt, m Meter, window pool.Interval, now pool.Instant) ([]Segment, error) {
	covers, err := tx.Covers(t.ID)
	if err != nil {
		return nil, err
	}
	rows := make([]meter.CoverRow, len(covers))
	for i, c := range covers {
		rows[i] = meter.CoverRow{From: c.From, Split: c.Split}
	}
	return meter.Fold(terms.history(t, m, rows, window.End), window, max(now, tx.Now()), terms.Zone)
}

// storeUse folds window of an allocation into the ledger. The meter's
// compare-and-set is what makes each millisecond stored once.
func storeUse(tx Tx, terms Terms, t Attempt, m Meter, window pool.Interval, now pool.Instant) error {
	segments, err := foldUse(tx, terms, t, m, window, now)
	if err != nil {
		return err
	}
	if !window.Empty() {
		ok, err := tx.AdvanceMeter(m.Alloc, window.Start, window.End)
		if err != nil {
			return err
		}
		if !ok {
			return Errf(Conflict, "The use of %s was metered by another process.", m.Alloc)
		}
	}
	if len(segments) > 0 {
		if _, err := tx.AppendSegments(segments); err != nil {
			return err
		}
	}
	m.Until = max(m.Until, window.End)
	m.Closed = m.End != pool.Never
	return tx.UpdateMeter(m)
}

// MeterDays stores what running allocations have used up to the last midnight
// of the billing zone, so that a closed day, and so a closed month, is in the
// ledger even while jobs run on. It is safe to repeat.
func (s *Service) MeterDays(ctx context.Context) error {
	s.mu.Lock()
	listed := s.listed
	s.mu.Unlock()
	if listed == 0 {
		return nil // nothing was seen yet in this process
	}
	type due struct {
		meter   Meter
		attempt Attempt
	}
	var work []due
	err := s.store.View(ctx, func(tx Tx) error {
		st, err := tx.Settings()
		if err != nil {
			return err
		}
		midnight := dayDone(listed, st)
		meters, err := tx.OpenMeters()
		if err != nil {
			return err
		}
		attempts, err := tx.LiveAttempts()
		if err != nil {
			return err
		}
		work = work[:0]
		for _, m := range meters {
			i := slices.IndexFunc(attempts, func(a Attempt) bool { return a.ID == m.Attempt })
			if m.Until < midnight && i >= 0 {
				work = append(work, due{m, attempts[i]})
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	var errs []error
	for _, d := range work {
		err := s.store.Update(ctx, func(tx Tx) error { return meterDay(tx, d.attempt.ID, d.meter.Alloc, listed) })
		if err != nil {
			s.log.Error("metering", "allocation", d.meter.Alloc, "error", err)
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

func meterDay(tx Tx, id pool.AttemptID, alloc pool.AllocID, listed pool.Instant) error {
	t, err := tx.Attempt(id)
	if err != nil || t.State == AttemptEnded {
		return err
	}
	m, err := tx.Meter(alloc)
	if err != nil || m.Closed {
		return err
	}
	terms, err := LoadTerms(tx)
	if err != nil {
		return err
	}
	obs, err := tx.Observations(id)
	if err != nil {
		return err
	}
	held := withinPromise(meter.Held{Start: m.From, End: pool.Never, Seen: listed}, m.From, t)
	for _, o := range obs {
		if o.Alloc != alloc {
			continue
		}
		if o.Run.Status.Terminal() {
			return nil // its end is stored with the attempt's
		}
		if o.Run.Status == RunUnknown {
			held.Seen = min(held.Seen, max(o.Run.Heartbeat, m.Until)) // nobody knows more
		}
	}
	if free := t.freeFrom(); free != 0 {
		held.Seen = min(held.Seen, free)
	}
	to := min(dayDone(listed, terms.Settings), held.Seen)
	if to <= m.Until {
		return nil
	}
	return storeUse(tx, terms, t, m, pool.Interval{Start: m.Until, End: to}, listed)
}

// newsDelay is how long a cluster may take to tell that a run has ended or
// that a node is out of touch. What is younger is not stored as used yet.
const newsDelay = 2 * time.Minute

// dayDone is the midnight up to which a list made at listed is the truth.
func dayDone(listed pool.Instant, st Settings) pool.Instant {
	return lastMidnight(listed.Add(-newsDelay), st)
}

// lastMidnight is the latest midnight of the billing zone not after i.
func lastMidnight(i pool.Instant, st Settings) pool.Instant {
	loc := st.Location()
	y, mo, d := i.In(loc).Date()
	m := pool.NextMidnight(i, loc)
	for back := 0; m > i; back++ {
		m = midnightOf(y, int(mo), d-back, loc)
	}
	return m
}
