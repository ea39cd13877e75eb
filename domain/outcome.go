package domain

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"time"

	"gpupool/domain/pool"
)

func midnightOf(y, m, d int, loc *time.Location) pool.Instant {
	return pool.DayStart(y, time.Month(m), d, loc)
}

// outcome is how an attempt ended, and whether its job ends with it.
type outcome struct {
	End    EndReason
	Exit   int
	Detail string
	At     pool.Instant
	Final  bool // the job ends; else it queues again with its old submit time
	Tail   []byte
}

// advance moves an attempt on by what its runs say, inside a transaction that
// has stored them. runs empty: it vanished.
func advance(tx Tx, t Attempt, runs []Run, seen pool.Instant, tail []byte) error {
	terms, err := LoadTerms(tx)
	if err != nil {
		return err
	}
	if len(runs) == 0 {
		return vanished(tx, terms, t, seen)
	}
	terminal, started, end := 0, pool.Instant(0), pool.Instant(0)
	var failed *Run
	for i, r := range runs {
		held, err := meterRun(tx, terms, t, r, seen, false)
		if err != nil {
			return err
		}
		if held.Start != pool.Never && (started == 0 || held.Start < started) {
			started = held.Start
		}
		if r.Status.Terminal() {
			terminal++
			if end = max(end, r.Finished); held.End != pool.Never {
				end = max(end, held.End)
			}
			if r.Status != RunComplete && failed == nil {
				failed = &runs[i]
			}
		}
	}
	lost, err := gone(tx, t, runs)
	if err != nil {
		return err
	}
	if terminal == len(runs) && (terminal+lost >= len(t.Placement) || t.StopSent != 0) {
		if err := meterGone(tx, terms, t, runs, seen); err != nil {
			return err
		}
		last := &runs[len(runs)-1]
		if failed != nil {
			last = failed
		}
		return endAttempt(tx, t, classify(t, *last, end, tail))
	}
	if failed != nil && t.StopAt == 0 { // a gang lives and dies together
		o := classify(t, *failed, end, tail)
		t.StopAt, t.StopReason, t.StopDetail, t.ExitCode = tx.Now(), o.End, o.Detail, o.Exit
		return sendStop(tx, &t)
	}
	if t.StopAt != 0 && t.StopAt <= tx.Now() && t.StopSent == 0 {
		return sendStop(tx, &t)
	}
	return markRunning(tx, t, runs, started)
}

func markRunning(tx Tx, t Attempt, runs []Run, started pool.Instant) error {
	running := 0
	for _, r := range runs {
		if r.Status == RunRunning || r.Status.Terminal() {
			running++
		}
	}
	if running < len(t.Placement) || started == 0 || t.StartedAt != 0 {
		return nil
	}
	t.StartedAt = started
	if t.State == AttemptPlaced {
		t.State = AttemptRunning
	}
	if err := tx.UpdateAttempt(t); err != nil {
		return err
	}
	j, err := tx.JobByID(t.ID.Job)
	if err != nil || j.State != JobStarting {
		return err
	}
	j.State = JobRunning
	return tx.UpdateJob(j)
}

// vanished ends an attempt that the cluster knows nothing of any more: use is
// charged to when it was last seen, and marked as estimated.
func vanished(tx Tx, terms Terms, t Attempt, seen pool.Instant) error {
	if err := meterGone(tx, terms, t, nil, seen); err != nil {
		return err
	}
	o := outcome{End: EndVanished, At: tx.Now(), Detail: "the cluster no longer knows it"}
	if t.StopReason != "" {
		o.End, o.Detail, o.Final = t.StopReason, t.StopDetail, finalStop(t.StopReason)
	}
	return endAttempt(tx, t, o)
}

// meterGone closes the meters of the runs that were seen once and are not
// among those that the cluster still shows.
func meterGone(tx Tx, terms Terms, t Attempt, runs []Run, seen pool.Instant) error {
	obs, err := tx.Observations(t.ID)
	if err != nil {
		return err
	}
	for _, o := range obs {
		if slices.ContainsFunc(runs, func(r Run) bool { return r.Alloc == o.Alloc }) {
			continue
		}
		if _, err := meterRun(tx, terms, t, o.Run, max(seen, o.ReceivedAt), true); err != nil {
			return err
		}
	}
	return nil
}

// gone counts the runs that were seen once and are not shown any more.
func gone(tx Tx, t Attempt, runs []Run) (int, error) {
	obs, err := tx.Observations(t.ID)
	n := 0
	for _, o := range obs {
		if !slices.ContainsFunc(runs, func(r Run) bool { return r.Alloc == o.Alloc }) {
			n++
		}
	}
	return n, err
}

// finalStop tells whether a job ends with an attempt that we stopped for the
// reason; else it queues again.
func finalStop(r EndReason) bool {
	return !r.ByEngine() && r != EndNotPlaced && r != EndNodeFault && !r.slow()
}

var gpuMemory = [][]byte{[]byte("CUDA out of memory"), []byte("CUDA error: out of memory"), []byte("torch.OutOfMemoryError"), []byte("CUDA_ERROR_OUT_OF_MEMORY")}

// classify says why a run ended, from what we did and what Nomad tells.
func classify(t Attempt, r Run, end pool.Instant, tail []byte) outcome {
	o := outcome{At: end, Final: true, Tail: tail}
	for _, e := range r.Events {
		if e.Type == "Terminated" {
			o.Exit = e.Exit
			if e.OOM {
				o.End = EndMemory
			}
		}
		if strings.Contains(e.Message, "max_run_duration") {
			o.End = EndTimeLimit
		}
		if (e.Type == "Driver Failure" || e.Type == "Failed Artifact Download") && strings.Contains(strings.ToLower(e.Message), "image") {
			o.End, o.Detail = EndImage, e.Message
		}
	}
	switch {
	case t.StopReason != "" && t.StopSent != 0:
		o.End, o.Detail, o.Final = t.StopReason, t.StopDetail, finalStop(t.StopReason)
		if t.ExitCode != 0 {
			o.Exit = t.ExitCode
		}
	case o.End != "":
	case r.Status == RunLost:
		o.End, o.Final = EndNodeFault, false
	case o.Exit != 0 && containsAny(tail, gpuMemory):
		o.End = EndGPUMemory
	case o.Exit != 0 || r.Status == RunFailed:
		o.End, o.Detail = EndExitCode, fmt.Sprint(o.Exit)
	case t.StopReason.ByEngine(): // it ended by itself under notice
		o.End = EndFinished
	default:
		o.End = EndFinished
	}
	return o
}

func containsAny(b []byte, words [][]byte) bool {
	for _, w := range words {
		if bytes.Contains(b, w) {
			return true
		}
	}
	return false
}

// endAttempt ends an attempt whose use is in the ledger, and its job or the
// job's wait for its next attempt.
func endAttempt(tx Tx, t Attempt, o outcome) error {
	if o.At == 0 {
		o.At = tx.Now()
	}
	t.State, t.End, t.EndedAt, t.ExitCode, t.EndDetail = AttemptEnded, o.End, o.At, o.Exit, o.Detail
	if err := tx.UpdateAttempt(t); err != nil {
		return err
	}
	j, err := tx.JobByID(t.ID.Job)
	if err != nil {
		return err
	}
	if len(o.Tail) > 0 {
		j.LogTail = o.Tail
	}
	switch {
	case j.StopAsked != 0 && !o.Final:
		o.End, o.Detail, o.Final = EndStopped, j.StopBy, true
	case !o.Final:
		used, err := usedByWaiting(tx, []Job{j})
		if err != nil {
			return err
		}
		slow, err := tooSlow(tx, j.ID)
		switch {
		case err != nil:
			return err
		case slow && o.End.slow():
			o.Final = true
		case j.MaxRun-usedTime(j, used[j.ID]) < maxRunFloor:
			o.Final = true
			if !o.End.slow() {
				o.End = EndTimeLimit
			}
		}
	}
	if o.Final {
		j.State, j.End, j.EndDetail, j.EndedAt = JobEnded, o.End, o.Detail, o.At
	} else {
		j.State = JobWaiting
	}
	if err := tx.UpdateJob(j); err != nil {
		return err
	}
	return tx.BumpVersion()
}

// usedByWaiting is what the earlier attempts of waiting jobs were charged for.
func usedByWaiting(tx Tx, jobs []Job) (map[pool.JobID]pool.GPUMillis, error) {
	var ids []pool.JobID
	for _, j := range jobs {
		if j.Attempts > 0 && j.State != JobEnded {
			ids = append(ids, j.ID)
		}
	}
	out := map[pool.JobID]pool.GPUMillis{}
	if len(ids) == 0 {
		return out, nil
	}
	use, err := tx.JobUse(ids)
	if err != nil {
		return nil, err
	}
	for id, rows := range use {
		for _, r := range rows {
			out[id] += r.Use
		}
	}
	return out, nil
}

// usedTime is charged run time of a job so far, rounded up to the millisecond.
func usedTime(j Job, used pool.GPUMillis) time.Duration {
	n := pool.GPUMillis(max(j.GPUs(), 1))
	return time.Duration((used+n-1)/n) * time.Millisecond
}

// remaining is what is left of the maximum run time, over all attempts.
func remaining(j Job, used pool.GPUMillis) time.Duration {
	return max(j.MaxRun-usedTime(j, used), maxRunFloor)
}
