package web

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"gpupool/domain"
	"gpupool/domain/domaintest"
	"gpupool/domain/pool"
)

func TestAJobIsPricedBeforeItIsSent(t *testing.T) {
	t.Parallel()
	p := open(t)
	w := p.member()
	w.get("/o/rheinau/jobs/new").want(200).says("Price and start", "Flexible")
	q := w.do("POST", "/o/rheinau/jobs/quote", p.jobForm(), nil).want(200)
	// 4 GPUs for 2 hours at 1.25, the dearest of own and loan.
	q.says("at most 10.00 EUR", "starts at once")
	if b := q.doc().Find(`button[name="up_to"]`); strings.TrimSpace(b.Text()) != "Submit: up to 10.00 EUR" || b.AttrOr("form", "") != "job" {
		t.Errorf("the button says %q", b.Text())
	}
	if q.value("name") != "llm-ft" || q.value("project") != string(p.pool.Project.ID) {
		t.Error("the form lost what was typed")
	}
	w.post("/o/rheinau/jobs", p.jobForm()).want(409).says("Nothing was sent yet")
	w.post("/o/rheinau/jobs", with(p.jobForm(), "up_to", "9.99")).want(409)
	w.get("/o/rheinau/jobs").want(200).says("No job yet.")
}

func TestAJobFromFormToEnd(t *testing.T) {
	t.Parallel()
	p := open(t)
	w := p.member()
	id := p.submit(w)
	w.get("/o/rheinau/jobs/"+string(id)).want(200).says("was submitted", "Waiting", "10.00", "The log begins when the job starts.")
	p.cycle()
	p.pool.Clock.Add(time.Hour)
	p.cycle()
	page := w.get("/o/rheinau/jobs/" + string(id)).want(200)
	page.says("Running", "Try 1 runs", "epoch 2", "5.00", "4 own")
	if page.doc().Find("live-feed").Length() != 1 || page.doc().Find("log-tail").AttrOr("src", "") != "/o/rheinau/jobs/"+string(id)+"/log/stream" {
		t.Error("the page does not follow the server")
	}
	p.cluster.end(pool.AttemptID{Job: id, N: 1}, domain.RunEvent{Type: "Terminated", At: p.pool.Clock.Now(), Exit: 1})
	p.cycle()
	end := w.get("/o/rheinau/jobs/"+string(id)).want(200).says("Ended with an error", "the last lines of the log", "Usage records", "5.00")
	if end.doc().Find("#segments tbody tr").Length() == 0 {
		t.Error("no usage record is shown")
	}
	again := w.get("/o/rheinau/jobs/new?from=" + string(id)).want(200)
	for field, want := range map[string]string{"name": "llm-ft", "gpus": "4", "max_run": "2", "env": "SEED=1", "image": "pytorch/pytorch:2.6"} {
		if got := again.value(field); got != want {
			t.Errorf("rerun has %s %q, want %q", field, got, want)
		}
	}
	log := w.get("/o/rheinau/jobs/" + string(id) + "/log").want(200)
	if log.body != "epoch 1\nepoch 2\n" || !strings.HasPrefix(log.header.Get("Content-Type"), "text/plain") {
		t.Errorf("the log is %q", log.body)
	}
	stream := w.get("/o/rheinau/jobs/" + string(id) + "/log/stream").want(200)
	if !strings.Contains(stream.body, "data: epoch 1\n\ndata: epoch 2\n\n") || !strings.Contains(stream.body, "event: end") {
		t.Errorf("the stream is %q", stream.body)
	}
	if csv := w.get("/o/rheinau/jobs.csv").want(200); !strings.HasPrefix(csv.body, "\uFEFFjob_id,") || !strings.Contains(csv.body, string(id)) {
		t.Errorf("the file is %q", csv.body)
	}
	w.get("/o/rheinau/jobs/" + string(id) + "/segments.csv").want(200)
}

func TestAJobIsStoppedByThoseWhoMay(t *testing.T) {
	t.Parallel()
	p := open(t)
	w := p.member()
	id := p.submit(w)
	p.cycle()
	stop := "/o/rheinau/jobs/" + string(id) + "/stop"
	p.viewer().post(stop, nil).want(403)
	p.foreign().post(stop, nil).want(404)
	page := w.get("/o/rheinau/jobs/" + string(id)).want(200)
	if page.doc().Find("#stop form").AttrOr("action", "") != stop {
		t.Error("there is no question before stopping")
	}
	w.post(stop, nil).want(303)
	p.cycle()
	w.get("/o/rheinau/jobs/" + string(id)).want(200).says("Stopped: ming")
	if p.viewer().get("/o/rheinau/jobs/"+string(id)).want(200).doc().Find("#stop").Length() != 0 {
		t.Error("a viewer is offered to stop it")
	}
}

func TestARefusedJobFormComesBack(t *testing.T) {
	t.Parallel()
	p := open(t)
	w := p.member()
	script := `<script>alert(1)</script>'; DROP TABLE jobs; --`
	for _, c := range []struct{ field, value, says string }{
		{"name", "", "Please fill in this field."},
		{"name", strings.Repeat("长", 200), "At most 120 characters; this has 200."},
		{"project", "prj-of-somebody", "There is no such project."},
		{"class", "b200", "There is no such GPU type."},
		{"gpus", "-1", "A number from 1 to 64."},
		{"gpus", "99999999999999999999", "Write a whole number such as 4."},
		{"gpus", "four 🚀", "Write a whole number such as 4."},
		{"gpus", "", "Please fill in this field."},
		{"nodes", "0", "A number from 1 to 64."},
		{"nodes", "1.5", "Write a whole number such as 4."},
		{"tier", "gold", "Please choose guaranteed, flexible or spot."},
		{"interruptible", "", "Flexible and spot jobs can be interrupted."},
		{"max_run", "-3", "Write a number of hours such as 24"},
		{"max_run", "3 EUR", "Write a number of hours such as 24"},
		{"max_run", "9999999", "Write a number of hours such as 24"},
		{"max_run", "100000", "At most 744 hours for this GPU type."},
		{"image", script, "An image reference"},
		{"command", "${NOMAD_TOKEN}", "are not allowed here."},
		{"env", "no equals sign", "Each line is NAME=value"},
		{"env", "NOMAD_TOKEN=x", "is set by the pool and can't be given."},
	} {
		form := with(p.jobForm(), c.field, c.value)
		for _, path := range []string{"/o/rheinau/jobs", "/o/rheinau/jobs/quote"} {
			a := w.post(path, form)
			if a.status != 422 && path == "/o/rheinau/jobs" {
				t.Errorf("%s=%q: status %d", c.field, c.value, a.status)
			}
			if !strings.Contains(a.at(c.field), c.says) {
				t.Errorf("%s=%q says %q, want %q", c.field, c.value, a.at(c.field), c.says)
			}
			if got := a.value(c.field); c.field != "class" && c.field != "tier" && c.field != "interruptible" && c.field != "project" && got != c.value {
				t.Errorf("%s=%q came back as %q", c.field, c.value, got)
			}
		}
	}
	// Text in any script stays text.
	id := p.submit(w, "name", script+" 训练 🚀")
	page := w.get("/o/rheinau/jobs/" + string(id)).want(200)
	if page.doc().Find("h1").Text() != script+" 训练 🚀" {
		t.Errorf("the heading is %q", page.doc().Find("h1").Text())
	}
}

func TestAJobThatCanNeverFitSaysTheNumber(t *testing.T) {
	t.Parallel()
	p := open(t)
	q := p.member().do("POST", "/o/rheinau/jobs/quote", with(p.jobForm(), "gpus", "16"), nil).want(200)
	q.says("16 A100 80 GB", "the largest that can ever fit is 8", "It can never start as the pool is: ask for fewer GPUs", "never starts like this")
}

func TestTheListNarrowsByItsAddress(t *testing.T) {
	t.Parallel()
	p := open(t)
	w := p.member()
	a, b := p.submit(w, "name", "alpha"), p.submit(w, "name", "beta")
	if n := rowsOf(w.get("/o/rheinau/jobs").want(200), "jobs"); n != 2 {
		t.Errorf("%d jobs, want 2", n)
	}
	one := w.get("/o/rheinau/jobs?q=alp").want(200).says("alpha")
	if rowsOf(one, "jobs") != 1 || one.value("q") != "alp" {
		t.Error("the search does not narrow the list")
	}
	w.get("/o/rheinau/jobs?state=ended").want(200).says("No job matches.")
	w.get("/o/rheinau/jobs?state=nonsense").want(200).says("No job matches.")
	w.get("/o/rheinau/jobs?project=other").want(200).says("No job matches.")
	if next := w.get("/o/rheinau/jobs?before=" + string(max(a, b))).want(200); rowsOf(next, "jobs") > 1 {
		t.Error("the cursor does not cut the list")
	}
	w.get("/o/kestrelis/jobs/" + string(a)).want(404)
	p.foreign().get("/o/kestrelis/jobs/" + string(a)).want(404)
}

func rowsOf(a answer, table string) int { return a.doc().Find("#" + table + " tbody tr").Length() }

func TestAMemberOfAProjectSeesOnlyIt(t *testing.T) {
	t.Parallel()
	p := open(t)
	id := p.submit(p.owner())
	other, err := p.Service.CreateProject(p.ctx, p.pool.Owner, p.pool.Org, domain.ProjectInput{Name: "Teaching"})
	p.must(err)
	p.must(p.Service.SaveProjectMember(p.ctx, p.pool.Owner, p.pool.Org, other.ID, p.pool.Member.User, false))
	w := p.member()
	w.get("/o/rheinau/jobs").want(200).says("No job yet.")
	w.get("/o/rheinau/jobs/" + string(id)).want(404)
	if page := w.get("/o/rheinau/jobs/new").want(200); strings.Contains(page.text(), "LLM") {
		t.Error("the form offers a project of others")
	}
	w.post("/o/rheinau/jobs", with(p.jobForm(), "up_to", "10.00")).want(422)
}

func TestTheListAsksTheSameHoweverLongItIs(t *testing.T) {
	t.Parallel()
	p := open(t)
	w := p.member()
	one := func() int64 { return p.statements(w, "/o/rheinau/jobs") }
	p.submit(w)
	p.cycle()
	w.get("/o/rheinau/jobs").want(200) // what is kept is read once
	first := one()
	for range 55 {
		p.spot()
	}
	p.cycle()
	if many := one(); many != first || many > 12 {
		t.Errorf("%d statements for one job, %d for 56; at most 12 and the same", first, many)
	}
	next := w.get("/o/rheinau/jobs").doc().Find(`a[rel=next]`).AttrOr("href", "")
	if u, err := url.Parse(next); err != nil || rowsOf(w.get(u.String()).want(200), "jobs") != 6 {
		t.Errorf("the second page is at %q", next)
	}
}

func TestASimulatedLengthAppliesWithAnyBehaviour(t *testing.T) {
	t.Parallel()
	for _, sim := range []string{"", "finish", "exit", "oom", "idle"} {
		in, bad := jobForm{Nodes: "1", GPUs: "1", Sim: sim, SimMinutes: "45"}.parse(true, time.UTC)
		if len(bad) > 0 || in.Spec.Sim == nil || in.Spec.Sim.LengthMs != 45*60_000 {
			t.Errorf("%q: %v %v", sim, in.Spec.Sim, bad)
		}
		for _, minutes := range []string{"-1", "abc", "44641", "1.5"} {
			if _, bad := (jobForm{Nodes: "1", GPUs: "1", Sim: sim, SimMinutes: minutes}).parse(true, time.UTC); len(bad) != 1 || bad[0].Field != "sim_minutes" {
				t.Errorf("%q with %q minutes: %v", sim, minutes, bad)
			}
		}
	}
	if in, bad := (jobForm{Nodes: "1", GPUs: "1"}).parse(true, time.UTC); len(bad) > 0 || in.Spec.Sim != nil {
		t.Errorf("nothing typed: %v %v", in.Spec.Sim, bad)
	}
}

func TestACheaperAlternativeKeepsWhatWasTyped(t *testing.T) {
	t.Parallel()
	p := open(t)
	w := p.member()
	form := with(p.jobForm(), "name", "typed by hand", "gpus", "3")
	b := w.do("POST", "/o/rheinau/jobs/quote", form, nil).want(200).doc().Find(`#price button[form="job"][value="spot"]`)
	if b.Length() != 1 {
		t.Fatal("spot is not offered")
	}
	form.Set(b.AttrOr("name", ""), b.AttrOr("value", ""))
	a := w.do("POST", b.AttrOr("formaction", ""), form, nil).want(200)
	if a.value("name") != "typed by hand" || a.value("gpus") != "3" || a.doc().Find(`input[name="tier"][checked]`).AttrOr("value", "") != "spot" {
		t.Errorf("what was typed is lost: %q, %q GPUs", a.value("name"), a.value("gpus"))
	}
	a.says("Submit: up to 2.70 EUR")
}

func TestAnEmptyJobFormAsksOnlyForWhatIsNeeded(t *testing.T) {
	t.Parallel()
	p := open(t)
	a := p.member().post("/o/rheinau/jobs", url.Values{}).want(422)
	if a.at("max_run") != "" || !strings.Contains(a.at("class"), "Please choose a GPU type.") {
		t.Errorf("longest run says %q, GPU type %q", a.at("max_run"), a.at("class"))
	}
}

func TestAJobsPageStaysTrueWhileItIsOpen(t *testing.T) {
	t.Parallel()
	p := open(t)
	w := p.member()
	id := p.submit(w)
	bound := func(region string) string {
		t.Helper()
		e := w.get("/o/rheinau/jobs/" + string(id)).want(200).doc().Find("#" + region + "[data-bind~=org]")
		if e.Length() == 0 && region != "log" {
			t.Errorf("%s does not follow the server", region)
		}
		return e.Text()
	}
	if s := bound("state"); !strings.Contains(s, "Waiting") {
		t.Errorf("the badge says %q", s)
	}
	if s := bound("heading-actions"); !strings.Contains(s, "It does not start.") {
		t.Errorf("the question before stopping says %q", s)
	}
	if s := bound("log"); !strings.Contains(s, "The log begins when the job starts.") {
		t.Errorf("the log says %q", s)
	}
	p.cycle()
	p.pool.Clock.Add(time.Minute)
	p.cycle()
	if s := bound("state"); !strings.Contains(s, "Running") {
		t.Errorf("the badge says %q", s)
	}
	if s := bound("heading-actions"); !strings.Contains(s, "what it has not saved is lost") {
		t.Errorf("the question before stopping says %q", s)
	}
	if bound("log") != "" {
		t.Error("a log that follows by itself is fetched with the page too")
	}
}

func TestNodesAreCalledByTheirNames(t *testing.T) {
	t.Parallel()
	p := open(t)
	p.pool.Update(func(tx domain.Tx) error {
		n := domaintest.NodeOf(p.pool.Node, p.pool.Class, p.pool.Site, 8)
		n.Name = "rack-seven"
		return tx.SaveNode(n)
	})
	w := p.member()
	id := p.submit(w)
	p.cycle()
	p.pool.Clock.Add(time.Hour)
	p.cycle()
	p.cluster.end(pool.AttemptID{Job: id, N: 1}, domain.RunEvent{Type: "Terminated", At: p.pool.Clock.Now()})
	p.cycle()
	page := w.get("/o/rheinau/jobs/" + string(id)).want(200).says("4 on rack-seven")
	if s := page.doc().Find("#segments tbody").Text(); !strings.Contains(s, "rack-seven") || strings.Contains(page.text(), string(p.pool.Node)) {
		t.Errorf("the usage records say %q", s)
	}
	if csv := w.get("/o/rheinau/jobs/" + string(id) + "/segments.csv").want(200); !strings.Contains(csv.body, ",rack-seven,gpu-01,") {
		t.Errorf("the file is %q", csv.body)
	}
}

func TestMonthsBeginWithThePool(t *testing.T) {
	t.Parallel()
	p := open(t)
	months := func() int {
		return p.member().get("/o/rheinau/usage").want(200).doc().Find(`select[name="month"] option`).Length()
	}
	if n := months(); n != 1 {
		t.Errorf("%d months in the pool's first", n)
	}
	p.pool.Clock.Add(62 * 24 * time.Hour)
	if n := months(); n != 3 {
		t.Errorf("%d months after two more", n)
	}
}
