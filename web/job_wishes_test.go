package web

import (
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"gpupool/domain"
	"gpupool/domain/domaintest"
	"gpupool/domain/pool"
)

// second adds another GPU type, dearer than the first.
func (b *bundle) second() pool.ClassID {
	b.t.Helper()
	in := domaintest.Class()
	in.ID, in.Name, in.Model = "h100-80g", "H100 80 GB", "NVIDIA H100 80GB HBM3"
	c, err := b.Service.CreateClass(b.ctx, b.Operator, in)
	b.must(err)
	prices := domaintest.Prices(b.Class)
	for i, r := range domaintest.Prices(c.ID).Rows {
		r.Price = []string{"3.75", "3.00", "1.35"}[i]
		prices.Rows = append(prices.Rows, r)
	}
	b.Clock.Add(time.Hour)
	prices.From = b.Clock.Now()
	l, err := b.Service.SavePriceListDraft(b.ctx, b.Operator, prices)
	b.must(err)
	_, _, err = b.Service.PublishPriceList(b.ctx, b.Operator, l.ID, "")
	b.must(err)
	return c.ID
}

// What the form asks under More comes to the job, to its page and list, and stands in the form of a rerun.
func TestAJobsWishesFromFormToRerun(t *testing.T) {
	t.Parallel()
	p := open(t)
	p.second()
	w := p.member()
	first := p.submit(w, "name", "prepare")
	page := w.get("/o/rheinau/jobs/new").want(200)
	if d := page.doc().Find("#more"); d.Length() != 1 || d.Is("[open]") || d.Find(`select[name="depends_on"] option`).Length() != 2 {
		t.Errorf("the fold is open, or the own job can't be chosen: %s", d.Text())
	}
	now := p.pool.Clock.Now()
	typed := func(at pool.Instant) string { return at.In(p.zone()).Format("2006-01-02T15:04") }
	start, due := now.Add(time.Hour), now.Add(30*time.Hour)
	wishes := url.Values{"priority": {"-7"}, "not_before": {typed(start)}, "deadline": {typed(due)}, "depends_on": {string(first)}}
	form := with(p.jobForm())
	for k, v := range wishes {
		form[k] = v
	}
	form["class"] = []string{string(p.pool.Class), "h100-80g", ""}
	q := w.do("POST", "/o/rheinau/jobs/quote", form, nil).want(200).says("at most 30.00 EUR", "Paid by") // 4 × 2 h at the dearer 3.75
	form.Set("up_to", q.doc().Find(`button[name="up_to"]`).AttrOr("value", ""))
	a := w.post("/o/rheinau/jobs", form).want(303)
	id := pool.JobID(a.location()[strings.LastIndex(a.location(), "/")+1:])
	v, err := p.Service.Job(p.ctx, p.pool.Member, p.pool.Org, id)
	p.must(err)
	j := v.Job
	if j.Priority != -7 || j.NotBefore.Sub(start).Abs() >= time.Minute || j.Deadline.Sub(due).Abs() >= time.Minute || j.DependsOn != first || !slices.Equal(j.Classes, []pool.ClassID{p.pool.Class, "h100-80g"}) {
		t.Errorf("the job is %+v", j)
	}
	shown := w.get("/o/rheinau/jobs/"+string(id)).want(200).says("-7, in its project", "it must start by", "Start no sooner than", "A100 80 GB / H100 80 GB", "Change while it waits")
	if got := shown.doc().Find(`#asked a[href$="/jobs/` + string(first) + `"]`).Length(); got != 1 {
		t.Error("the job that it waits for is no link")
	}
	if cli := shown.doc().Find("#cli code").Text(); !strings.Contains(cli, "--deadline "+j.Deadline.String()) || !strings.Contains(cli, "--class h100-80g") {
		t.Errorf("the command is %s", cli)
	}
	w.get("/o/rheinau/jobs").want(200).says("priority -7", "ends by")
	again := w.get("/o/rheinau/jobs/new?from=" + string(id)).want(200)
	for field, want := range wishes {
		if got := again.value(field); got != want[0] {
			t.Errorf("rerun has %s %q, want %q", field, got, want[0])
		}
	}
	if c := again.doc().Find("#f-class-2 option[selected]").AttrOr("value", ""); c != "h100-80g" || !again.doc().Find("#more").Is("[open]") {
		t.Errorf("rerun chooses %q second", c)
	}
	p.must(p.Service.StopJob(p.ctx, p.pool.Member, p.pool.Org, first))
	p.pool.Clock.Add(2 * time.Hour)
	over := w.get("/o/rheinau/jobs/new?from=" + string(id)).want(200)
	if over.value("depends_on") != "" || over.value("not_before") != "" || over.value("deadline") == "" {
		t.Error("a rerun waits for a job that has ended, or for a time that is over")
	}
}

func (p *portal) zone() *time.Location {
	l, err := time.LoadLocation(domaintest.Settings().Zone)
	p.must(err)
	return l
}

func TestRefusedWishesComeBack(t *testing.T) {
	t.Parallel()
	p := open(t)
	w := p.member()
	id := p.submit(w)
	for _, c := range []struct{ field, value, says string }{
		{"priority", "101", "A number from -100 to 100."},
		{"priority", "high", "Write a whole number such as 4."},
		{"not_before", "tomorrow", "Write the time as 2026-11-02 09:00."},
		{"not_before", "2199-01-01T00:00", "At most a year ahead."},
		{"deadline", "2026-13-40T00:00", "Write the time as 2026-11-02 09:00."},
		{"deadline", "2001-01-01T00:00", "Too soon: it may run for 120 minutes, and could not end by then."},
		{"deadline", "2199-01-01T00:00", "At most a year ahead."},
	} {
		for _, path := range []string{"/o/rheinau/jobs", "/o/rheinau/jobs/" + string(id) + "/change"} {
			a := w.post(path, with(p.jobForm(), c.field, c.value)).want(422)
			if !strings.Contains(a.at(c.field), c.says) || a.value(c.field) != c.value {
				t.Errorf("%s: %s=%q says %q and came back as %q", path, c.field, c.value, a.at(c.field), a.value(c.field))
			}
			if d := a.doc().Find("#more"); d.Length() == 1 && !d.Is("[open]") {
				t.Errorf("%s=%q: the error stands in a fold that is closed", c.field, c.value)
			}
		}
	}
	w.post("/o/rheinau/jobs", with(p.jobForm(), "depends_on", "j-nobodys")).want(422).says("There is no such job in your organisation.")
}

func TestAWaitingJobIsChangedByThoseWhoMay(t *testing.T) {
	t.Parallel()
	p := open(t)
	w := p.member()
	id := p.submit(w)
	change := "/o/rheinau/jobs/" + string(id) + "/change"
	p.viewer().post(change, nil).want(403)
	p.foreign().post(change, nil).want(404)
	w.post(change, url.Values{"priority": {"12"}}).want(303)
	page := w.get("/o/rheinau/jobs/" + string(id)).want(200).says("12, in its project")
	if page.doc().Find("#change").AttrOr("action", "") != change || page.value("priority") != "12" {
		t.Error("the form does not stand there as it was set")
	}
	if p.viewer().get("/o/rheinau/jobs/"+string(id)).want(200).doc().Find("#change").Length() != 0 {
		t.Error("a viewer is offered to change it")
	}
	p.cycle()
	w.post(change, url.Values{"priority": {"1"}}).want(409).says("Only a job that waits can be changed.")
}

func TestTheAPIChangesAWaitingJob(t *testing.T) {
	t.Parallel()
	b := openAPIBench(t)
	token := b.token(b.pool.Member)
	j, err := b.Service.SubmitJob(b.ctx, b.pool.Member, b.pool.Org, domain.JobInput{Project: b.pool.Project.ID, Name: "x", Classes: []pool.ClassID{b.pool.Class}, Nodes: 1, GPUsPerNode: 1,
		Tier: pool.Spot, MaxRun: time.Hour, NotBefore: b.pool.Clock.Now().Add(time.Hour), Spec: domain.JobSpec{Image: "busybox"}})
	b.must(err)
	path := jobsPath + "/" + string(j.ID)
	due := iso(b.pool.Clock.Now().Add(9 * time.Hour))
	b.send("PATCH", path, token, object{"priority": 4, "deadline": due}, nil).want(200)
	r := b.get(path, token).want(200)
	for _, want := range []string{`"priority":4`, `"deadline":"` + strings.TrimSuffix(due, "Z"), `"not_before":"20`} {
		if !strings.Contains(r.body, want) {
			t.Errorf("the job has no %s: %s", want, r.body)
		}
	}
	b.send("PATCH", path, token, `{"not_before": null, "deadline": ""}`, nil).want(200)
	if r := b.get(path, token).want(200); !strings.Contains(r.body, `"not_before":null,"deadline":null`) {
		t.Errorf("the wishes are still there: %s", r.body)
	}
	for body, at := range map[string]string{`{"priority": 101}`: "/priority", `{"deadline": "soon"}`: "/deadline", `{"tier": "spot"}`: "/tier", `{"priority": "high"}`: "/priority"} {
		if r := b.send("PATCH", path, token, body, nil).want(422); !strings.Contains(r.body, `"pointer":"`+at+`"`) {
			t.Errorf("%s: %s", body, r.body)
		}
	}
}
