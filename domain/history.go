package domain

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"gpupool/domain/meter"
	"gpupool/domain/pool"
	"gpupool/domain/rating"
	"gpupool/domain/replay"
)

// History is a replayed past on its way into the store. It was decided,
// metered and will be rated by the same code as the present.
type History struct {
	Result  replay.Result
	Setup   time.Duration
	Devices map[pool.NodeID][]string // of each node, in order
	Users   map[pool.UserID]pool.UserID
	Specs   func(j replay.Job) JobSpec
	Log     func(j replay.Job, a replay.Attempt) []byte // the end of what an ended attempt wrote
	// metered is how far each allocation is in the ledger.
	metered map[pool.AllocID]pool.Instant
	held    map[pool.AllocID][]string
}

// ImportJobs stores jobs, attempts, cover, promises, loans and observations of a
// history, as they stand at its end. Only a demo or test pool has a history.
func (s *Service) ImportJobs(ctx context.Context, h *History) error {
	h.metered = map[pool.AllocID]pool.Instant{}
	h.giveDevices()
	return s.store.Update(ctx, func(tx Tx) error {
		st, err := tx.Settings()
		if err != nil {
			return err
		}
		if !st.Demo && !st.TestPool {
			return Errf(Conflict, "Only a demo or test pool has an imported history.")
		}
		t, err := LoadTerms(tx)
		if err != nil {
			return err
		}
		for _, o := range h.Result.Jobs {
			if err := h.importJob(tx, t, o); err != nil {
				return fmt.Errorf("job %s: %w", o.ID, err)
			}
		}
		for i, p := range h.Result.Promises {
			state := PromiseOpen
			switch {
			case p.Kept != 0:
				state = PromiseKept
			case !p.Open:
				state = PromiseWithdrawn
			}
			err := tx.InsertPromise(Promise{ID: fmt.Sprintf("p-%06d", i+1), Job: p.Job, Class: p.Class, Placement: fromQuota(p.Place),
				Victims: p.Victims, Rule: string(p.Rule), MadeAt: p.Made, StopAt: p.StopAt, State: state})
			if err != nil {
				return err
			}
		}
		for _, u := range h.Result.Loans {
			if err := tx.SaveLoanUse(LoanUse(u)); err != nil {
				return err
			}
		}
		return nil
	})
}

// giveDevices tells which devices of its nodes each attempt had: the lowest
// free ones at its start.
func (h *History) giveDevices() {
	type change struct {
		at    pool.Instant
		start bool
		alloc pool.AllocID
		node  pool.NodeID
		gpus  int
	}
	var all []change
	for _, o := range h.Result.Jobs {
		for _, a := range o.Attempts {
			for n, g := range a.Placement {
				id := replay.AllocID(pool.AttemptID{Job: o.ID, N: a.N}, n)
				all = append(all, change{a.Admitted, true, id, g.Node, g.GPUs})
				if a.End != pool.Never {
					all = append(all, change{a.End, false, id, g.Node, g.GPUs})
				}
			}
		}
	}
	slices.SortStableFunc(all, func(a, b change) int {
		if a.at == b.at && a.start != b.start {
			if a.start {
				return 1
			}
			return -1
		}
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.alloc, b.alloc))
	})
	h.held = map[pool.AllocID][]string{}
	busy := map[string]bool{}
	for _, c := range all {
		if !c.start {
			for _, d := range h.held[c.alloc] {
				busy[d] = false
			}
			continue
		}
		for _, d := range h.Devices[c.node] {
			if len(h.held[c.alloc]) < c.gpus && !busy[d] {
				busy[d] = true
				h.held[c.alloc] = append(h.held[c.alloc], d)
			}
		}
	}
}

// user of the store for a user of the trace.
func (h *History) user(u pool.UserID) pool.UserID {
	if id, ok := h.Users[u]; ok {
		return id
	}
	return u
}

func (h *History) importJob(tx Tx, t Terms, o replay.Outcome) error {
	j := Job{ID: o.ID, Org: o.Org, Project: o.Project, User: h.user(o.User), Name: o.Name, Classes: []pool.ClassID{o.Class}, Nodes: o.Nodes,
		GPUsPerNode: o.GPUs, Tier: o.Tier, Priority: o.Priority, MaxRun: o.Limit, Spec: h.Specs(o.Job), State: JobWaiting,
		Reasons: o.Reasons, Position: o.Position, Attempts: len(o.Attempts), SubmittedAt: o.Submit}
	up, ok := rating.UpTo(t.Prices(), o.Class, o.Tier, j.fullUse(), o.Submit)
	if !ok {
		return Errf(Conflict, "There is no price for %s as %s yet.", o.Class, o.Tier)
	}
	j.UpTo = up
	var last *Attempt
	if n := len(o.Attempts); n > 0 {
		at := h.attempt(o, o.Attempts[n-1], j)
		last = &at
	}
	h.finish(&j, o, last)
	if last != nil && last.State == AttemptEnded {
		j.LogTail = h.Log(o.Job, o.Attempts[len(o.Attempts)-1])
	}
	if err := tx.InsertJob(j); err != nil {
		return err
	}
	for _, a := range o.Attempts {
		at := h.attempt(o, a, j)
		if err := tx.InsertAttempt(at); err != nil {
			return err
		}
		for _, c := range a.Covers {
			if err := tx.InsertCover(CoverRow{Attempt: at.ID, From: c.From, Split: c.Split}); err != nil {
				return err
			}
		}
		for n := range a.Placement {
			r := h.run(o, a, n)
			if _, err := tx.InsertObservation(Observation{Alloc: r.Alloc, ModifyIndex: r.ModifyIndex, Attempt: at.ID, Run: r, ReceivedAt: r.Modified}); err != nil {
				return err
			}
		}
	}
	return nil
}

// finish brings the job's state to what its last attempt says.
func (h *History) finish(j *Job, o replay.Outcome, last *Attempt) {
	switch {
	case last == nil || last.State == AttemptEnded && !o.Attempts[len(o.Attempts)-1].Finished:
		return // it waits
	case last.State == AttemptEnded:
		j.State, j.End, j.EndDetail, j.EndedAt, j.Reasons = JobEnded, last.End, last.EndDetail, last.EndedAt, nil
	case last.State == AttemptStopping:
		j.State, j.Reasons = JobStopping, nil
	case last.State == AttemptPlaced:
		j.State, j.Reasons = JobStarting, nil
	default:
		j.State, j.Reasons = JobRunning, nil
	}
}

func (h *History) attempt(o replay.Outcome, a replay.Attempt, j Job) Attempt {
	t := Attempt{ID: pool.AttemptID{Job: o.ID, N: a.N}, Org: o.Org, Project: o.Project, User: j.User, Class: a.Class,
		Placement: fromQuota(a.Placement), Tier: o.Tier, Priority: o.Priority, Split: a.Covers[len(a.Covers)-1].Split,
		State: AttemptRunning, AdmittedAt: a.Admitted, StartedAt: a.Started, MaxEnd: a.MaxEnd}
	if a.Started > h.Result.Until {
		t.State, t.StartedAt = AttemptPlaced, 0
	}
	if a.Notice != 0 {
		t.State, t.NoticeAt, t.StopAt, t.StopReason = AttemptStopping, a.Notice, a.StopAt, EndTakenBack
		t.StopDetail = fmt.Sprintf("%s (%s)", h.orgOf(a.Promised), a.Rule)
	}
	if a.End == pool.Never {
		return t
	}
	t.State, t.EndedAt, t.ExitCode = AttemptEnded, a.End, o.Exit
	switch {
	case !a.Finished:
		t.End, t.EndDetail, t.StopSent, t.ExitCode = EndTakenBack, t.StopDetail, a.StopAt, 0
	case a.TimeLimit:
		t.End, t.ExitCode = EndTimeLimit, 0
	case o.OOM:
		t.End = EndGPUMemory
	case o.Exit != 0:
		t.End, t.EndDetail = EndExitCode, fmt.Sprint(o.Exit)
	default:
		t.End = EndFinished
	}
	return t
}

func (h *History) orgOf(id pool.JobID) pool.OrgID {
	for _, o := range h.Result.Jobs {
		if o.ID == id {
			return o.Org
		}
	}
	return ""
}

// run is the allocation as the cluster would have shown it last.
func (h *History) run(o replay.Outcome, a replay.Attempt, node int) Run {
	id := pool.AttemptID{Job: o.ID, N: a.N}
	r := Run{Alloc: replay.AllocID(id, node), ModifyIndex: 1, Attempt: id, Org: o.Org, Node: a.Placement[node].Node, Status: RunRunning,
		Desired: "run", Created: a.Admitted, Modified: min(max(a.Started, a.Admitted), h.Result.Until), Devices: h.held[replay.AllocID(id, node)]}
	if a.Started > h.Result.Until {
		r.Status = RunPending
	} else {
		r.Events = append(r.Events, RunEvent{Type: "Started", At: a.Started})
	}
	if a.End != pool.Never {
		r.Status, r.Finished, r.Modified = RunComplete, a.End, a.End
		if o.Exit != 0 && a.Finished {
			r.Status = RunFailed
		}
		r.Events = append(r.Events, RunEvent{Type: "Terminated", At: a.End, Exit: o.Exit})
	}
	return r
}

// ImportUse stores the use of a history up to an instant: all of what had
// ended by then, and whole days of what still ran. Months are closed between
// two calls, as they were in that past.
func (s *Service) ImportUse(ctx context.Context, h *History, upTo pool.Instant) error {
	return s.store.Update(ctx, func(tx Tx) error {
		t, err := LoadTerms(tx)
		if err != nil {
			return err
		}
		done := map[pool.AllocID]pool.Instant{}
		var segments []Segment
		midnight := lastMidnight(upTo, t.Settings)
		for _, o := range h.Result.Jobs {
			for _, a := range o.Attempts {
				for n := range a.Placement {
					hist := h.history(t, o, a, n)
					to := midnight
					if hist.Run.Held.End <= upTo {
						to = hist.Run.Held.End
					}
					from := max(h.metered[hist.Run.Alloc], a.Started)
					if to <= from {
						continue
					}
					some, err := meter.Fold(hist, pool.Interval{Start: from, End: to}, upTo, t.Zone)
					if err != nil {
						return fmt.Errorf("job %s: %w", o.ID, err)
					}
					segments = append(segments, some...)
					done[hist.Run.Alloc] = to
				}
			}
		}
		slices.SortStableFunc(segments, func(a, b Segment) int { return cmp.Compare(a.End, b.End) })
		for part := range slices.Chunk(segments, 500) {
			if _, err := tx.AppendSegments(part); err != nil {
				return err
			}
		}
		for alloc, to := range done {
			h.metered[alloc] = to
		}
		return nil
	})
}

// history is what the meter reads of one allocation; the live path reads the
// same from the stored rows.
func (h *History) history(t Terms, o replay.Outcome, a replay.Attempt, n int) meter.History {
	at := h.attempt(o, a, Job{User: h.user(o.User)})
	id := replay.AllocID(at.ID, n)
	end := a.End
	if a.Notice != 0 {
		end = min(end, a.Notice) // free from the signal on
	}
	m := Meter{Alloc: id, Attempt: at.ID, Org: o.Org, Node: a.Placement[n].Node, GPUs: a.Placement[n].GPUs,
		Devices: h.held[id], From: a.Started, End: max(end, a.Started), Quality: meter.Exact}
	var covers []meter.CoverRow
	for _, c := range a.Covers {
		covers = append(covers, meter.CoverRow{From: c.From, Split: c.Split})
	}
	return t.history(at, m, covers, h.Result.Until)
}

// FinishImport stores the meters as they stand at the history's end, after
// the last ImportUse.
func (s *Service) FinishImport(ctx context.Context, h *History) error {
	return s.store.Update(ctx, func(tx Tx) error {
		t, err := LoadTerms(tx)
		if err != nil {
			return err
		}
		for _, o := range h.Result.Jobs {
			for _, a := range o.Attempts {
				if a.Started > h.Result.Until {
					continue
				}
				for n := range a.Placement {
					run := h.history(t, o, a, n).Run
					m := Meter{Alloc: run.Alloc, Attempt: run.Attempt, Org: run.Org, Node: run.Node, GPUs: len(run.Devices),
						Devices: run.Devices, From: run.Held.Start, Until: max(h.metered[run.Alloc], run.Held.Start), End: pool.Never, Quality: meter.Exact}
					if a.End != pool.Never {
						m.End, m.Closed = run.Held.End, true
					}
					if err := tx.InsertMeter(m); err != nil {
						return err
					}
				}
			}
		}
		if err := tx.SetFlag("listed_at", fmt.Sprint(int64(h.Result.Until))); err != nil {
			return err
		}
		return tx.BumpVersion()
	})
}

// Flight is an attempt that runs at the end of a history: the cluster takes
// it over.
type Flight struct {
	Spec   RunSpec
	Alloc  []pool.AllocID // one for each node of the placement
	Node   []pool.NodeID
	Device [][]string
	Placed pool.Instant
	Start  pool.Instant
}

// InFlight lists them, by attempt.
func (h *History) InFlight(classes []GPUClass) []Flight {
	var out []Flight
	for _, o := range h.Result.Jobs {
		for _, a := range o.Attempts {
			if a.End != pool.Never {
				continue
			}
			id := pool.AttemptID{Job: o.ID, N: a.N}
			i := slices.IndexFunc(classes, func(c GPUClass) bool { return c.ID == a.Class })
			spec := h.Specs(o.Job)
			sim := Sim{}
			if spec.Sim != nil {
				sim = *spec.Sim
			}
			sim.LengthMs = int64(a.Planned - a.Started)
			spec.Sim = &sim
			f := Flight{Spec: RunSpec{Attempt: id, Org: o.Org, Project: o.Project, User: h.user(o.User), Name: o.Name, Class: classes[i],
				Placement: fromQuota(a.Placement), MaxRun: a.MaxEnd.Sub(a.Admitted), Spec: spec}, Placed: a.Admitted, Start: a.Started}
			for n, g := range a.Placement {
				alloc := replay.AllocID(id, n)
				f.Alloc = append(f.Alloc, alloc)
				f.Node = append(f.Node, g.Node)
				f.Device = append(f.Device, h.held[alloc])
			}
			out = append(out, f)
		}
	}
	return out
}
