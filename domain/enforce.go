package domain

import (
	"fmt"
	"slices"

	"gpupool/domain/pool"
	"gpupool/domain/quota"
)

// enforce applies what the plan does to running work for no other job: stops
// with notice, notices taken back, burst work that goes on as spot.
func (a *applying) enforce(tx Tx) error {
	for _, id := range a.plan.Resume {
		if err := a.keep(tx, id); err != nil {
			return err
		}
	}
	for _, x := range a.plan.Above {
		if err := a.above(tx, x); err != nil {
			return err
		}
	}
	for _, id := range a.plan.ToBurst {
		if err := a.turn(tx, id, pool.Burst); err != nil {
			return err
		}
	}
	for _, id := range a.plan.ToSpot {
		if err := a.turn(tx, id, pool.Spot); err != nil {
			return err
		}
	}
	for _, s := range a.plan.Stop {
		why := EndOverBudget
		for reason, rule := range stopRules {
			if rule == s.Rule {
				why = reason
			}
		}
		if err := a.notice(tx, s.Attempt, s.At, why, a.stopDetail(s.Reason)); err != nil {
			return err
		}
	}
	return nil
}

// stopDetail says in words which limit was exceeded, without what only finance
// may see.
func (a *applying) stopDetail(r pool.Reason) string {
	switch r.Code {
	case pool.Cap:
		return "the spending cap"
	case pool.Budget:
		return "the budget of " + r.Ref
	case pool.OrderExhausted:
		return "purchase order " + r.Ref
	}
	return a.terms.nodeName(pool.NodeID(r.Ref))
}

// notice puts an attempt under notice: the signal now, the stop at a time. One
// that is to stop already stays as it is.
func (a *applying) notice(tx Tx, id pool.AttemptID, at pool.Instant, why EndReason, detail string) error {
	t, err := tx.Attempt(id)
	if err != nil || t.StopAt != 0 || t.State == AttemptEnded {
		return err
	}
	t.State, t.NoticeAt, t.StopAt, t.StopReason, t.StopDetail = AttemptStopping, a.now, at, why, detail
	if err := tx.UpdateAttempt(t); err != nil {
		return err
	}
	j, err := tx.JobByID(id.Job)
	if err != nil {
		return err
	}
	j.State = JobStopping
	if err := tx.UpdateJob(j); err != nil {
		return err
	}
	if why != EndTakenBack { // that stands with its promise
		err := audit(tx, System("engine"), j.Org, "job.notice", string(j.ID), nil, map[string]any{"why": why, "detail": detail, "stop_at": at.String()})
		if err != nil {
			return err
		}
	}
	a.orgs[j.Org] = true
	w := attemptWork{Attempt: id, Org: t.Org, Signal: a.terms.Settings.Signal}
	return enqueue(tx, "nomad.signal", fmt.Sprintf("signal:%s:%d", id.NomadID(), a.now), w)
}

// keep takes the notice back from an attempt that no stop was sent to.
func (a *applying) keep(tx Tx, id pool.AttemptID) error {
	t, err := tx.Attempt(id)
	if err != nil {
		return err
	}
	if t.StopSent != 0 || !t.StopReason.ByEngine() || t.State == AttemptEnded {
		return nil
	}
	t.NoticeAt, t.StopAt, t.StopReason, t.StopDetail = 0, 0, "", ""
	j, err := tx.JobByID(id.Job)
	if err != nil {
		return err
	}
	if t.StartedAt != 0 {
		t.State, j.State = AttemptRunning, JobRunning
	} else {
		t.State, j.State = AttemptPlaced, JobStarting
	}
	a.orgs[j.Org] = true
	if err := tx.UpdateAttempt(t); err != nil {
		return err
	}
	return tx.UpdateJob(j)
}

// turn lets a running job go on as another tier. What it is charged as from now
// on stands in the plan's covers.
func (a *applying) turn(tx Tx, id pool.AttemptID, tier pool.Tier) error {
	t, err := tx.Attempt(id)
	if err != nil {
		return err
	}
	j, err := tx.JobByID(id.Job)
	if err != nil {
		return err
	}
	before := j.Tier
	t.Tier, t.GuaranteedUntil, j.Tier = tier, 0, tier
	a.orgs[j.Org] = true
	if err := tx.UpdateAttempt(t); err != nil {
		return err
	}
	if err := tx.UpdateJob(j); err != nil {
		return err
	}
	return audit(tx, System("engine"), j.Org, "job.to_"+string(tier), string(j.ID), map[string]any{"tier": before}, map[string]any{"tier": tier})
}

// above stores until when guaranteed work above its quota stays guaranteed.
func (a *applying) above(tx Tx, x quota.Above) error {
	t, err := tx.Attempt(x.Attempt)
	if err != nil {
		return err
	}
	t.GuaranteedUntil = x.Until
	a.orgs[t.Org] = true
	return tx.UpdateAttempt(t)
}

// broken marks attempts that hold a device which isn't healthy.
func (v *view) broken(tx Tx) error {
	bad := map[string]bool{}
	for _, n := range v.terms.Nodes {
		for _, d := range n.Unhealthy {
			bad[d] = true
		}
	}
	if len(bad) == 0 {
		return nil
	}
	meters, err := tx.OpenMeters()
	if err != nil {
		return err
	}
	hit := map[pool.AttemptID]bool{}
	for _, m := range meters {
		hit[m.Attempt] = hit[m.Attempt] || slices.ContainsFunc(m.Devices, func(d string) bool { return bad[d] })
	}
	for i := range v.snap.Running {
		v.snap.Running[i].Broken = hit[v.snap.Running[i].ID]
	}
	return nil
}
