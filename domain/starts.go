package domain

import (
	"context"
	"slices"
	"time"

	"gpupool/domain/pool"
	"gpupool/domain/quota"
)

// ToldStart is what a job was told of its start when it was submitted and had
// to wait, and what came of it.
type ToldStart struct {
	Job    pool.JobID
	At     pool.Instant
	Latest pool.Instant // 0: none was told
	Likely quota.Likely // zero: none was told
	Played quota.Likely // the same before it was widened
	Start  pool.Instant // of its first attempt; 0: not yet
	Over   pool.Instant // when the job ended without one; 0: it didn't
}

// Kept tells how a likely start came true: -1 sooner, 0 inside the interval,
// 1 later. False while that isn't known.
func (t ToldStart) Kept() (int, bool) {
	switch {
	case !t.Likely.Known() || t.Start == 0:
		return 0, false
	case t.Start < t.Likely.Early:
		return -1, true
	case t.Start > t.Likely.Late:
		return 1, true
	}
	return 0, true
}

// asTold is a told start as what is learnt from it.
func (t ToldStart) asTold(now pool.Instant) quota.Told {
	x := quota.Told{At: t.At, Played: t.Played, Start: t.Start}
	if t.Start == 0 {
		x.Open, x.Start = true, now
		if t.Over != 0 {
			x.Start = t.Over
		}
	}
	return x
}

// StartsKept is how the last told starts came true.
type StartsKept struct {
	Told, Inside, Sooner, Later int           // likely starts of jobs that have started
	Bounds, Missed              int           // latest starts of those, and how many came after it
	Error, Width, Wait          time.Duration // medians: from the middle to the start, of the intervals, of the waits
}

func startsKept(all []ToldStart) StartsKept {
	var k StartsKept
	var errors, widths, waits []time.Duration
	for _, t := range all {
		if t.Start == 0 {
			continue
		}
		if t.Latest != 0 {
			k.Bounds++
			if t.Start > t.Latest {
				k.Missed++
			}
		}
		kept, known := t.Kept()
		if !known {
			continue
		}
		k.Told++
		switch kept {
		case -1:
			k.Sooner++
		case 1:
			k.Later++
		default:
			k.Inside++
		}
		errors = append(errors, max(t.Start-t.Likely.Middle, t.Likely.Middle-t.Start).Sub(0))
		widths = append(widths, t.Likely.Late.Sub(t.Likely.Early))
		waits = append(waits, t.Start.Sub(t.At))
	}
	k.Error, k.Width, k.Wait = middle(errors), middle(widths), middle(waits)
	return k
}

func middle(d []time.Duration) time.Duration {
	if len(d) == 0 {
		return 0
	}
	slices.Sort(d)
	return d[(len(d)-1)/2]
}

// renewed is how old an answer may be in business time while nothing happens.
const renewed = time.Minute

// waiting is a job that the decision left waiting.
func (d *Decision) waiting(id pool.JobID) (quota.Job, bool) {
	if d == nil {
		return quota.Job{}, false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.waits == nil {
		d.waits = make(map[pool.JobID]int, len(d.Snapshot.Pending))
		for i := range d.Snapshot.Pending {
			d.waits[d.Snapshot.Pending[i].ID] = i
		}
		for _, a := range d.Plan.Admit {
			delete(d.waits, a.Job)
		}
	}
	i, ok := d.waits[id]
	if !ok {
		return quota.Job{}, false
	}
	return d.Snapshot.Pending[i], true
}

// start tells when a job starts that waits after the decision, now. All pages
// ask here, so that they say the same; it is computed once for each decision,
// and again when time has passed. False for a job that the decision didn't leave
// waiting.
func (d *Decision) start(id pool.JobID, habits *quota.Habits, now pool.Instant) (quota.Start, bool) {
	if _, ok := d.waiting(id); !ok {
		return quota.Start{}, false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.outlook == nil || now.Sub(d.looked) >= renewed {
		s := d.Snapshot
		s.Habits = habits
		d.looked = max(now, d.At)
		d.outlook = quota.NewOutlook(s, d.Plan, d.At, d.looked)
	}
	return d.outlook.Start(id), true
}

// starts tells when jobs that wait will start.
func (s *Service) starts(tx Tx, jobs []Job) (map[pool.JobID]quota.Start, error) {
	out := map[pool.JobID]quota.Start{}
	d := s.LastDecision()
	if d == nil || !slices.ContainsFunc(jobs, func(j Job) bool { return j.State == JobWaiting }) {
		return out, nil
	}
	habits, err := s.habits.of(tx, d.Snapshot.Orgs)
	if err != nil {
		return nil, err
	}
	for _, j := range jobs {
		if j.State != JobWaiting || j.StopAsked != 0 {
			continue
		}
		if x, ok := d.start(j.ID, habits, tx.Now()); ok {
			out[j.ID] = x
		} else if j.SubmittedAt > d.At { // no decision has seen it
			out[j.ID] = quota.Start{Latest: j.StartsBy}
		}
	}
	return out, nil
}

// tellAtOnce bounds the jobs that one turn tells their start.
const tellAtOnce = 50

// tellStarts keeps what each job that has to wait is told of its start, once,
// after the first decision that has seen it.
func (s *Service) tellStarts(ctx context.Context) error {
	d := s.LastDecision()
	if d == nil {
		return nil
	}
	waits := map[pool.JobID]bool{}
	var fresh []pool.JobID
	for i := range d.Snapshot.Pending {
		id := d.Snapshot.Pending[i].ID
		waits[id] = true
		if !s.told[id] && len(fresh) < tellAtOnce {
			fresh = append(fresh, id)
		}
	}
	for id := range s.told {
		if !waits[id] {
			delete(s.told, id)
		}
	}
	if len(fresh) == 0 {
		return nil
	}
	var told []ToldStart
	err := s.store.View(ctx, func(tx Tx) error {
		told = told[:0]
		for _, id := range fresh {
			j, err := tx.JobByID(id)
			if err != nil {
				return err
			}
			if j.Attempts > 0 || j.State != JobWaiting {
				continue
			}
			if _, before, err := tx.ToldStart(id); err != nil || before {
				if err != nil {
					return err
				}
				continue
			}
			all, err := s.starts(tx, []Job{j})
			if err != nil {
				return err
			}
			if x, ok := all[id]; ok {
				told = append(told, ToldStart{Job: id, At: tx.Now(), Latest: startsBy(x.Latest), Likely: x.Likely, Played: x.Played})
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	if len(told) > 0 {
		err = s.store.Update(ctx, func(tx Tx) error {
			for _, t := range told {
				if _, err := tx.InsertToldStart(t); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err == nil {
		if s.told == nil {
			s.told = map[pool.JobID]bool{}
		}
		for _, id := range fresh {
			s.told[id] = true
		}
	}
	return err
}
