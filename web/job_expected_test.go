package web

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"gpupool/domain"
	"gpupool/domain/pool"
)

// past gives the member so many jobs that used half of their limits.
func (p *portal) past(n int) {
	p.t.Helper()
	p.pool.Update(func(tx domain.Tx) error {
		for i := range n {
			at := tx.Now().Add(-time.Duration(i+3) * time.Hour)
			j := domain.Job{ID: pool.JobID(fmt.Sprintf("j-past-%03d", i)), Org: p.pool.Org, Project: p.pool.Project.ID, User: p.pool.Member.User, Name: "past",
				Classes: []pool.ClassID{p.pool.Class}, Nodes: 1, GPUsPerNode: 1, Tier: pool.Burst, MaxRun: 2 * time.Hour, State: domain.JobEnded,
				Spec: domain.JobSpec{Image: "python"}, SubmittedAt: at, EndedAt: at.Add(time.Hour), End: domain.EndFinished, Attempts: 1}
			a := domain.Attempt{ID: pool.AttemptID{Job: j.ID, N: 1}, Org: j.Org, Project: j.Project, User: j.User, Class: p.pool.Class, Tier: j.Tier,
				State: domain.AttemptEnded, AdmittedAt: at, StartedAt: at, MaxEnd: at.Add(j.MaxRun), EndedAt: at.Add(time.Hour), End: j.End}
			if err := tx.InsertJob(j); err != nil {
				return err
			}
			if err := tx.InsertAttempt(a); err != nil {
				return err
			}
		}
		return nil
	})
}

var latest = regexp.MustCompile(`At the latest (\S+ )?\d\d:\d\d \w+ unless an owner claims`)
var interval = regexp.MustCompile(`Likely [^.]*\d\d:\d\d \w+( \([^)]* to [^)]*\))?\.`)

func TestAWaitingJobSaysWhenItLikelyStarts(t *testing.T) {
	t.Parallel()
	for name, history := range map[string]int{"without a history": 0, "with one": 40} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := open(t)
			p.past(history)
			w := p.member()
			for range 2 {
				p.submit(w)
				p.cycle()
			}
			id := p.submit(w)
			p.cycle()
			form := w.do("POST", "/o/rheinau/jobs/quote", p.jobForm(), nil).want(200).text()
			path := "/o/rheinau/jobs/" + string(id)
			page := w.get(path).want(200).text()
			for where, text := range map[string]string{"the form": form, "the job's page": page} {
				if !latest.MatchString(text) {
					t.Errorf("%s tells no bound: %s", where, text)
				}
				if interval.MatchString(text) != (history > 0) {
					t.Errorf("%s, a history of %d jobs: %s", where, history, text)
				}
			}
			p.statements(w, path) // reads what changes seldom
			if n := p.statements(w, path); n > 12 {
				t.Errorf("the page of a waiting job needs %d statements, at most 12", n)
			}
			v, err := p.Service.Job(p.ctx, p.pool.Member, p.pool.Org, id)
			p.must(err)
			if l := v.Expected.Likely; l.Known() != (history > 0) || l.Early > l.Middle || l.Middle > l.Late || l.Late > v.Expected.Latest {
				t.Errorf("likely %+v, at the latest %s", l, v.Expected.Latest)
			}
		})
	}
}

// The job's page, the list, the dashboard, the operator's queue and the API say
// the same, also after something else has changed; what was told at first stays
// on the job's page, with what came of it.
func TestEveryPlaceTellsTheSameStart(t *testing.T) {
	t.Parallel()
	p := open(t)
	p.past(40)
	w := p.member()
	for range 2 {
		p.submit(w)
		p.cycle()
		p.Clock.Add(20 * time.Minute)
	}
	ahead := p.submit(w)
	p.cycle()
	id := p.submit(w)
	p.cycle()
	told := func() string {
		v, err := p.Service.Job(p.ctx, p.pool.Member, p.pool.Org, id)
		p.must(err)
		l := v.Expected.Likely
		if !l.Known() || v.Told.Job != id || !v.Told.Likely.Known() {
			t.Fatalf("likely %+v, told %+v", v.Expected, v.Told)
		}
		rows, _, err := p.Service.Jobs(p.ctx, p.pool.Member, domain.JobFilter{Org: p.pool.Org})
		p.must(err)
		d, err := p.Service.Dashboard(p.ctx, p.pool.Member, p.pool.Org)
		p.must(err)
		for where, all := range map[string][]domain.JobRow{"the list": rows, "the dashboard": d.Recent} {
			n := 0
			for _, r := range all {
				if r.Job.ID == id {
					n++
					if r.Expected != v.Expected {
						t.Errorf("%s says %+v, the job's page %+v", where, r.Expected, v.Expected)
					}
				}
			}
			if n != 1 {
				t.Errorf("%s has the job %d times", where, n)
			}
		}
		q, err := p.Service.Queue(p.ctx, p.pool.Operator, domain.QueueFilter{})
		p.must(err)
		if q.Starts[id] != v.Expected {
			t.Errorf("the operator's queue says %+v, the job's page %+v", q.Starts[id], v.Expected)
		}
		words := regexp.MustCompile(`Likely [^.]*\.`).FindString(w.get("/o/rheinau/jobs/" + string(id)).want(200).text())
		if page := p.as(p.Operator.Email).get("/op/queue").want(200).text(); words == "" || !strings.Contains(page, words) {
			t.Errorf("the operator's page doesn't say %q", words)
		}
		return fmt.Sprint(v.Expected)
	}
	first := told()
	p.Clock.Add(10 * time.Minute)
	if again := told(); again == first {
		t.Errorf("ten minutes later it is still %s", again)
	}
	p.must(p.Service.StopJob(p.ctx, p.pool.Member, p.pool.Org, ahead))
	p.cycle()
	told() // what another decision says, they all say
}
