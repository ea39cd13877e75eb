package domain

import (
	"context"
	"fmt"

	"gpupool/domain/pool"
)

// setupTries is how many attempts of a job may end because they didn't start
// in time; with the last one the job ends, so that it holds no GPUs for ever.
const setupTries = 3

// slowStart tells whether an attempt takes too long to start, and why it is
// stopped for that. GPUs are held while an image is pulled or something else
// blocks. A gang of which not every run runs within the free set-up costs
// nothing; any other run may be pending for the set-up limit.
func slowStart(st Settings, t Attempt, runs []Run, now pool.Instant) (EndReason, string) {
	begun, running, waits := t.AdmittedAt, 0, ""
	for _, r := range runs {
		begun = max(begun, r.Created)
		switch {
		case r.Status != RunPending:
			running++
		case len(r.Events) > 0:
			waits = r.Events[len(r.Events)-1].Message
		}
	}
	n := len(t.Placement)
	if together := max(st.SetupGrace, placeLimit); n > 1 && running < n && now.Sub(begun) > together {
		return EndGang, fmt.Sprintf("%d of %d nodes had started after %d minutes", running, n, int64(together.Minutes()))
	}
	if running == len(runs) || now.Sub(begun) <= st.SetupLimit {
		return "", ""
	}
	why := fmt.Sprintf("not running after %d minutes", int64(st.SetupLimit.Minutes()))
	if waits != "" {
		why += ", last: " + waits
	}
	return EndSetup, why
}

// stopSlow stops an attempt that takes too long to start.
func (s *Service) stopSlow(ctx context.Context, w world, t Attempt, runs []Run) error {
	why, detail := slowStart(w.settings, t, runs, w.now)
	if why == "" {
		return nil
	}
	return s.store.Update(ctx, func(tx Tx) error {
		t, err := tx.Attempt(t.ID)
		if err != nil || t.State == AttemptEnded || t.StopAt != 0 || t.StartedAt != 0 {
			return err
		}
		t.StopAt, t.StopReason, t.StopDetail = tx.Now(), why, detail
		return sendStop(tx, &t)
	})
}

// slow tells whether an attempt ended because it didn't start in time.
func (r EndReason) slow() bool { return r == EndSetup || r == EndGang }

// tooSlow tells whether a job's attempts have taken too long to start so often
// that it won't be tried again.
func tooSlow(tx Tx, j pool.JobID) (bool, error) {
	all, err := tx.Attempts(j)
	n := 0
	for _, a := range all {
		if a.End.slow() {
			n++
		}
	}
	return n >= setupTries, err
}

// freeFrom is the instant from which an attempt that is stopped costs nothing;
// 0: it costs to its end.
func (a Attempt) freeFrom() pool.Instant {
	switch {
	case a.StopReason == EndGang: // what ran had nobody to work with
		return a.AdmittedAt
	case a.StopReason.ByEngine():
		return a.NoticeAt
	}
	return 0
}
