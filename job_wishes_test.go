package main

import (
	"strings"
	"testing"
	"time"

	"gpupool/domain"
	"gpupool/domain/pool"
)

// A job that can't end by its deadline any more ends without having started or
// cost anything, at that moment, and what waited for it goes on.
func TestAJobMissesItsDeadline(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, r *rig) {
		r.submit(r.ask(pool.Burst, 8, 3*time.Hour, 3*time.Hour))
		r.turn()
		in := r.ask(pool.Burst, 4, 10*time.Minute, time.Hour)
		in.Deadline = r.Clock.Now().Add(2 * time.Hour)
		due := r.submit(in)
		after := r.ask(pool.Burst, 8, 10*time.Minute, time.Hour)
		after.DependsOn = due.ID
		next := r.submit(after)
		r.turn()
		last := in.Deadline.Add(-time.Hour)
		r.Clock.Add(last.Sub(r.Clock.Now()))
		r.turn()
		r.wants(due.ID, "waiting")
		if at := r.Service.NextDecision(); at != last+1 {
			t.Errorf("the decision could change at %s, want right after %s", at, last)
		}
		r.Clock.Add(time.Millisecond)
		r.turn()
		r.wants(due.ID, "ended deadline")
		if j := r.job(due.ID); j.EndedAt != last+1 || len(j.Reasons) != 0 || len(r.attempts(due.ID)) != 0 {
			t.Errorf("it ended as %+v", j)
		}
		r.until(next.ID, "ended finished", 4*time.Hour, 10*time.Minute)
		r.truth()
	})
}

// What a waiting job wishes is changed by those who may, in bounds, while it
// waits; the next decision goes by it.
func TestAWaitingJobIsChanged(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, r *rig) {
		run := r.submit(r.ask(pool.Burst, 8, 50*time.Minute, time.Hour))
		r.turn()
		in := r.ask(pool.Burst, 8, 10*time.Minute, time.Hour)
		first := r.submit(in)
		r.Clock.Add(second)
		other := r.submit(in)
		r.turn()
		now := r.Clock.Now()
		set := func(id pool.JobID, by domain.Actor, c domain.JobChange) error {
			return r.Service.ChangeJob(ctx, by, r.Org, id, c)
		}
		high, due, soon, none := 7, now.Add(5*time.Hour), now.Add(30*time.Minute), pool.Instant(0)
		for _, x := range []struct {
			name string
			by   domain.Actor
			c    domain.JobChange
			want domain.Code
		}{
			{"a viewer", r.Viewer, domain.JobChange{Priority: &high}, domain.Forbidden},
			{"an owner", r.Owner, domain.JobChange{Priority: &high, Deadline: &due}, ""},
			{"a deadline before its end", r.Member, domain.JobChange{Deadline: &soon}, domain.Invalid},
		} {
			if err := set(other.ID, x.by, x.c); (err == nil) != (x.want == "") || err != nil && domain.CodeOf(err) != x.want {
				t.Errorf("%s: %v, want %q", x.name, err, x.want)
			}
		}
		if err := set(run.ID, r.Member, domain.JobChange{Priority: &high}); domain.CodeOf(err) != domain.Conflict {
			t.Errorf("a running job: %v", err)
		}
		if j := r.job(other.ID); j.Priority != 7 || j.Deadline != due || j.NotBefore != 0 {
			t.Errorf("it is %+v", j)
		}
		r.until(other.ID, "starting", 2*time.Hour, 5*time.Minute) // before the older one
		r.wants(first.ID, "waiting")
		if err := set(first.ID, r.Member, domain.JobChange{Deadline: &none, NotBefore: &due}); err != nil {
			t.Fatal(err)
		}
		r.until(other.ID, "ended finished", 2*time.Hour, 5*time.Minute)
		r.turn()
		if j := r.job(first.ID); len(j.Reasons) == 0 || j.Reasons[0] != (pool.Reason{Code: pool.NotBefore, Until: due}) {
			t.Errorf("waits for %+v", j.Reasons)
		}
	})
}

func TestTheCommandChangesAWaitingJob(t *testing.T) {
	t.Parallel()
	s := openShell(t)
	due := s.Clock.Now().Add(9 * time.Hour).Time().In(time.Local).Truncate(time.Minute)
	out, errs, code := s.run(s.Member, "job", "run", "--class", string(s.Class), "--gpus", "8", "--max-run", "1h", "--not-before", s.Clock.Now().Add(time.Hour).String(), "--priority", "3", "busybox")
	s.wants(0, nil, out, errs, code)
	id := strings.TrimSpace(out)
	out, errs, code = s.run(s.Member, "job", "change", id, "--priority", "-4", "--deadline", due.Format("2006-01-02 15:04"))
	s.wants(0, []string{"priority -4", "starts no sooner than", "must have ended by " + due.Format("2006-01-02 15:04")}, out, errs, code)
	out, errs, code = s.run(s.Member, "job", "change", id, "--not-before", "none", "--deadline", "none")
	if s.wants(0, []string{"priority -4"}, out, errs, code); strings.Contains(out, "ended by") || strings.Contains(out, "no sooner") {
		t.Errorf("the wishes are still there: %s", out)
	}
	out, errs, code = s.run(s.Member, "job", "change", id)
	s.wants(exitUsage, []string{"say what to change"}, out, errs, code)
	out, errs, code = s.run(s.Member, "job", "change", id, "--deadline", "soon")
	s.wants(exitUsage, []string{"--deadline: Write the time as 2026-11-02T09:00:00Z."}, out, errs, code)
	out, errs, code = s.run(s.Viewer, "job", "change", id, "--priority", "1")
	s.wants(exitNotAllowed, nil, out, errs, code)
}
