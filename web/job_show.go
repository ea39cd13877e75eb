package web

import (
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/a-h/templ"

	"gpupool/domain"
	"gpupool/domain/pool"
	"gpupool/domain/quota"
	"gpupool/views"
	"gpupool/views/ui"
)

// jobShow is one job, which follows the server while it lives.
func (s *Server) jobShow(v *visit) error {
	return s.jobShowPage(v, nil, refusal{status: http.StatusOK})
}

// jobShowPage shows the job; sent are the wishes that were refused.
func (s *Server) jobShowPage(v *visit, sent *jobWishes, r refusal) error {
	j, err := s.service.Job(v.ctx, v.actor, v.org, pool.JobID(v.param("job")))
	if err != nil {
		return err
	}
	_, projects, err := v.jobChoices()
	if err != nil {
		return err
	}
	p := views.JobPage{Stats: v.jobStats(j), Notices: v.jobNotices(j), Timeline: v.jobTimeline(j), Facts: v.jobFacts(j, projects),
		Attempts: v.attemptTable(j), Segments: v.segmentTable(j), CLI: cliOf(v.org, j.Job)}
	if j.Job.State == domain.JobWaiting {
		for _, r := range j.Job.Reasons {
			if r.Code == pool.Dependency { // of the same organisation
				if d, err := s.service.Job(v.ctx, v.actor, v.org, pool.JobID(r.Ref)); err == nil {
					r.Ref = d.Job.Name
				}
			}
			p.Waits = append(p.Waits, views.Wait{Reason: v.reason(r), Lifts: v.outlook(r.Code)})
		}
		if !never(j.Job.Reasons) {
			p.Starts = v.expected(j.Expected)
		}
	}
	if j.Job.State == domain.JobWaiting && v.mayStop(j.Job) {
		w := v.wishesOf(j.Job)
		if sent != nil {
			w = *sent
		}
		p.Change = views.Form{ID: "change", Action: v.jobPath(j.Job.ID, "/change"), Nonce: newNonce(), Problem: r.whole, Submit: v.T("Change"), Fields: v.wishFields(w, r.at)}.Show()
	}
	if err := v.jobLogPanel(&p, j.Job); err != nil {
		return err
	}
	page := views.Page{Title: j.Job.Name, Heading: j.Job.Name, Wide: true, Crumbs: []ui.Link{{Label: v.T("Jobs"), Href: v.orgPath("/jobs")}, {Label: j.Job.Name}},
		Lead:   v.T("Submitted by %s for project %s on %s.", j.UserName, named(projects, j.Job.Project), v.at(j.Job.SubmittedAt)),
		Badges: []ui.Badge{v.state(v.jobState(j.Job)), v.tier(j.Job.Tier)}, Actions: v.jobActions(j.Job)}
	if r.whole != "" && p.Change == nil {
		page.Notices = []ui.Notice{{Tone: ui.Bad, Text: r.whole}}
	}
	if j.Job.Live() {
		page.Live = v.live()
	}
	return v.show(r.status, page, p.Show())
}

// jobChange changes what a waiting job wishes.
func (s *Server) jobChange(v *visit) error {
	id, w := pool.JobID(v.param("job")), v.sentWishes()
	var bad domain.Fields
	priority, notBefore, deadline := w.read(&bad, v.zoneOrUTC())
	err := bad.Err()
	if err == nil {
		err = s.service.ChangeJob(v.ctx, v.actor, v.org, id, domain.JobChange{Priority: &priority, NotBefore: &notBefore, Deadline: &deadline})
	}
	if err != nil {
		if r, ok := v.refused(err); ok {
			return s.jobShowPage(v, &w, r)
		}
		return err
	}
	return v.done(v.jobPath(id, ""), "The job was changed. The next decision goes by it.")
}

// jobActions are rerun, and stop for those who may.
func (v *visit) jobActions(j domain.Job) templ.Component {
	var all []templ.Component
	if v.mayStop(j) {
		loses := []string{v.T("It does not start.")}
		if j.State != domain.JobWaiting {
			loses = []string{v.T("The program is stopped; what it has not saved is lost."), v.T("It is charged up to the moment it ends.")}
		}
		all = append(all, ui.Confirm{ID: "stop", Label: v.T("Stop"), Title: v.T("Stop %s?", j.Name), Loses: loses, Action: v.jobPath(j.ID, "/stop"), Nonce: newNonce(), Do: v.T("Stop the job")}.Show())
	}
	if v.actor.Can(v.org, domain.ActSubmit) {
		all = append(all, ui.LinkButton(v.T("Rerun"), v.orgPath("/jobs/new?from="+string(j.ID)), "", "undo"))
	}
	return templ.Join(all...)
}

func (v *visit) mayStop(j domain.Job) bool {
	if !j.Live() || j.StopAsked != 0 || !v.actor.Can(v.org, domain.ActSubmit) {
		return false
	}
	return j.User == v.actor.User || v.actor.Can(v.org, domain.ActManageJobs)
}

func (v *visit) jobStats(j domain.JobView) []ui.Stat {
	cost := ui.Stat{Label: v.T("Cost so far"), Value: v.figure(j.Charged), Unit: v.currency.Code, Note: v.T("at list price; included hours are settled on the invoice")}
	if j.Job.UpTo > 0 {
		cost.Meter = &ui.Meter{Value: int64(j.Charged), Max: int64(j.Job.UpTo), Label: v.T("%s of at most %s", v.money(j.Charged), v.money(j.Job.UpTo)), Tone: ui.Info}
	}
	stats := []ui.Stat{cost, {Label: v.T("At most"), Value: v.figure(j.Job.UpTo), Unit: v.currency.Code, Note: v.T("promised when it was submitted")},
		{Label: v.T("GPUs"), Value: v.count(int64(j.Job.GPUs())), Note: v.shape(j.Job)}}
	if n := len(j.Attempts); n > 0 {
		a := j.Attempts[n-1]
		end := a.EndedAt
		if end == 0 {
			end = j.Now
		}
		if a.StartedAt != 0 {
			stats = append(stats, ui.Stat{Label: v.T("Running time"), Value: v.span(end.Sub(a.StartedAt)), Note: v.T("try %d; at most until %s", a.ID.N, v.at(a.MaxEnd))})
		}
	}
	if j.Job.State == domain.JobWaiting {
		pos := v.T("not known yet")
		if j.Job.Position > 0 {
			pos = v.count(int64(j.Job.Position))
		}
		stats = append(stats, ui.Stat{Label: v.T("Place in the queue"), Value: pos, Note: v.starts(false, roundedUp(j.Expected.Latest))})
	}
	return stats
}

// jobNotices say what the person should know first: the end with advice, or a notice to stop.
func (v *visit) jobNotices(j domain.JobView) []ui.Notice {
	switch {
	case j.Job.State == domain.JobEnded:
		n := ui.Notice{Tone: ui.Bad, Title: v.ended(j.Job.End, j.Job.EndDetail) + ".", Text: v.advice(j.Job.End)}
		switch j.Job.End {
		case domain.EndFinished:
			n.Tone = ui.Good
		case domain.EndStopped, domain.EndNeverStarts:
			n.Tone = ui.Neutral
		default:
			n.Link = ui.Link{Label: v.T("Rerun with changes"), Href: v.orgPath("/jobs/new?from=" + string(j.Job.ID))}
		}
		return []ui.Notice{n}
	case j.Job.StopAsked != 0:
		return []ui.Notice{{Tone: ui.Info, Text: v.T("%s asked to stop it.", j.Job.StopBy)}}
	}
	if n := len(j.Attempts); n > 0 {
		if a := j.Attempts[n-1]; a.GuaranteedUntil != 0 && a.GuaranteedUntil != pool.Never && a.EndedAt == 0 && a.NoticeAt == 0 {
			return []ui.Notice{{Tone: ui.Warn, Title: v.T("Guaranteed until %s.", v.at(a.GuaranteedUntil)),
				Text: v.T("The quota became smaller while it ran. Nothing stops for that: it goes on, and is a flexible job from then on.")}}
		}
		if a := j.Attempts[n-1]; a.NoticeAt != 0 && a.EndedAt == 0 {
			return []ui.Notice{{Tone: ui.Warn, Title: v.T("Under notice: it is stopped at %s.", v.at(a.StopAt)), Text: v.ended(a.StopReason, a.StopDetail) + ". " + v.T("From the notice on it is free of charge.")}}
		}
	}
	return nil
}

// jobTimeline tells the states and tries in order.
func (v *visit) jobTimeline(j domain.JobView) []ui.Event {
	all := []ui.Event{{Time: v.clock(j.Job.SubmittedAt), Title: v.T("Submitted"), Text: v.promised(j), Tone: ui.Neutral}}
	add := func(at pool.Instant, tone ui.Tone, title, text string) {
		if at != 0 {
			all = append(all, ui.Event{Time: v.clock(at), Title: title, Text: text, Tone: tone})
		}
	}
	for _, a := range j.Attempts {
		var on []string
		for _, p := range a.Placement {
			on = append(on, v.T("%d on %s", p.GPUs, named(j.Nodes, p.Node)))
		}
		add(a.AdmittedAt, ui.Info, v.T("Try %d admitted", a.ID.N), v.T("%s, charged as %s", strings.Join(on, ", "), v.split(a.Split)))
		add(a.StartedAt, ui.Info, v.T("Try %d runs", a.ID.N), "")
		add(a.NoticeAt, ui.Warn, v.T("Try %d under notice", a.ID.N), v.ended(a.StopReason, a.StopDetail))
		tone := ui.Warn
		if a.End == domain.EndFinished {
			tone = ui.Good
		}
		add(a.EndedAt, tone, v.T("Try %d ended", a.ID.N), v.ended(a.End, a.EndDetail))
	}
	if j.Job.StopAsked != 0 {
		add(j.Job.StopAsked, ui.Neutral, v.T("Stop asked for"), j.Job.StopBy)
	}
	if j.Job.State == domain.JobEnded {
		add(j.Job.EndedAt, ui.Neutral, v.T("Job ended"), v.ended(j.Job.End, j.Job.EndDetail))
	} else {
		all = append(all, ui.Event{Time: v.clock(j.Now), Title: v.word(string(j.Job.State)), Tone: ui.Info, Now: true})
	}
	return all
}

// promised is what the job was told of its start when it was submitted, and what came of it.
func (v *visit) promised(j domain.JobView) string {
	t := j.Told
	if t.Job == "" || !t.Likely.Known() && t.Latest == 0 {
		return ""
	}
	said := v.T("Told: %s", v.expected(quota.Start{Latest: t.Latest, Likely: t.Likely}))
	if t.Start == 0 {
		return said
	}
	switch kept, known := t.Kept(); {
	case t.Latest != 0 && t.Start > t.Latest:
		return said + " " + v.T("It started later than that.")
	case known && kept < 0:
		return said + " " + v.T("It started sooner.")
	case known && kept > 0:
		return said + " " + v.T("It started later than likely.")
	}
	return said + " " + v.T("It started in that time.")
}

// split is as what GPUs are charged: "4 own, 4 borrowed".
func (f format) split(s pool.Split) string {
	var parts []string
	for _, c := range pool.Covers {
		if n := s.Of(c); n > 0 {
			parts = append(parts, f.T("%d %s", n, f.word(string(c))))
		}
	}
	return strings.Join(parts, ", ")
}

func (v *visit) jobFacts(j domain.JobView, projects map[pool.ProjectID]string) []ui.Fact {
	facts := []ui.Fact{{Name: v.T("Job"), Text: string(j.Job.ID), Mono: true}, {Name: v.T("Project"), Text: named(projects, j.Job.Project), Href: v.orgPath("/jobs?project=" + string(j.Job.Project))},
		{Name: v.T("Person"), Text: j.UserName}, {Name: v.T("GPU type"), Text: v.typeNames(j.Job.Classes)}, {Name: v.T("Longest run"), Text: v.span(j.Job.MaxRun)},
		{Name: v.T("Image"), Text: j.Job.Spec.Image, Mono: true}}
	facts = append(facts, v.wishFacts(j)...)
	if j.Job.Spec.Command != "" {
		facts = append(facts, ui.Fact{Name: v.T("Command"), Text: strings.Join(append([]string{j.Job.Spec.Command}, j.Job.Spec.Args...), " "), Mono: true})
	}
	if n := len(j.Job.Spec.Env); n > 0 {
		facts = append(facts, ui.Fact{Name: v.T("Environment"), Text: v.T("%d variables", n)})
	}
	return facts
}

// wishFacts are what the job asked for beside its GPUs.
func (v *visit) wishFacts(j domain.JobView) []ui.Fact {
	var facts []ui.Fact
	if j.Job.Priority != 0 {
		facts = append(facts, ui.Fact{Name: v.T("Priority"), Text: v.T("%d, in its project", j.Job.Priority)})
	}
	if j.Job.NotBefore != 0 {
		facts = append(facts, ui.Fact{Name: v.T("Start no sooner than"), Text: v.at(j.Job.NotBefore)})
	}
	if d := j.Job.Deadline; d != 0 {
		by := v.at(d)
		if j.StartBy != 0 {
			by = v.T("%s; it must start by %s", by, v.at(j.StartBy))
		}
		facts = append(facts, ui.Fact{Name: v.T("Must have ended by"), Text: by})
	}
	if j.Job.DependsOn != "" {
		facts = append(facts, ui.Fact{Name: v.T("Start after"), Text: string(j.Job.DependsOn), Mono: true, Href: v.jobPath(j.Job.DependsOn, "")})
	}
	return facts
}

func (v *visit) attemptTable(j domain.JobView) ui.Table {
	t := ui.Table{ID: "attempts", Caption: v.T("Use by price"), Topics: "org", Compact: true,
		Columns: []ui.Column{{Label: v.T("GPU type")}, {Label: v.T("Charged as")}, {Label: v.T("GPU-hours"), Num: true}, {Label: v.T("Price per GPU-hour"), Num: true}, {Label: v.T("Cost (%s)", v.currency.Code), Num: true}},
		Empty:   ui.Empty{Title: v.T("Nothing was used yet."), Text: v.T("Charging begins when the program starts; waiting is free.")}}
	for _, u := range j.Use {
		t.Rows = append(t.Rows, ui.Row{Cells: []ui.Cell{{Head: true, Text: v.typeName(u.Class)}, {Badges: []ui.Badge{v.coverage(u.Cover)}}, {Num: true, Text: v.hours(u.Use)}, {Num: true, Text: v.price(u.Price)}, {Num: true, Text: v.figure(u.Cost)}}})
	}
	if len(t.Rows) > 0 {
		t.Foot = []ui.Row{{Total: true, Cells: []ui.Cell{{Head: true, Text: v.T("Total")}, {}, {}, {}, {Num: true, Text: v.figure(j.Charged)}}}}
	}
	return t
}

func (v *visit) segmentTable(j domain.JobView) ui.Table {
	t := ui.Table{ID: "segments", Caption: v.T("Usage records"), Topics: "org", Compact: true, Note: v.T("Records are written at midnight, at a change of cover and at the end; what runs since then is in the cost above."),
		Columns: []ui.Column{{Label: v.T("From")}, {Label: v.T("To")}, {Label: v.T("Try"), Num: true}, {Label: v.T("Node")}, {Label: v.T("GPUs"), Num: true}, {Label: v.T("Charged as")}, {Label: v.T("GPU-hours"), Num: true}},
		Empty:   ui.Empty{Title: v.T("No usage record yet."), Text: v.T("The first one is written at the next midnight or when the job ends.")}}
	if len(j.Segments) > 0 {
		t.CSV = v.jobPath(j.Job.ID, "/segments.csv")
	}
	for _, s := range j.Segments {
		t.Rows = append(t.Rows, ui.Row{Cells: []ui.Cell{{Head: true, Time: v.clock(s.Start)}, {Time: v.clock(s.End)}, {Num: true, Text: number(s.Attempt.N)}, {Text: named(j.Nodes, s.Node)},
			{Num: true, Text: number(s.GPUs)}, {Badges: []ui.Badge{v.coverage(s.Cover)}}, {Num: true, Text: v.hours(s.Use())}}})
	}
	return t
}

// jobSegmentsCSV is the usage records of a job as a file.
func (s *Server) jobSegmentsCSV(v *visit) error {
	j, err := s.service.Job(v.ctx, v.actor, v.org, pool.JobID(v.param("job")))
	if err != nil {
		return err
	}
	out := newSheet("segments-"+string(j.Job.ID)+".csv", "seq", "job_id", "attempt", "node", "node_id", "gpu_type", "charged_as", "gpus", "start", "end", "gpu_milliseconds", "price_row")
	for _, g := range j.Segments {
		out.add(strconv.FormatInt(g.Seq, 10), string(j.Job.ID), number(g.Attempt.N), named(j.Nodes, g.Node), string(g.Node), string(g.Class), string(g.Cover), number(g.GPUs),
			g.Start.String(), g.End.String(), strconv.FormatInt(int64(g.Use()), 10), string(g.PriceRow))
	}
	return v.sheet(out)
}

// cliOf is the command that submits the same job: the flags, then IMAGE, then what the container runs. Values of the
// environment may be secrets: the command takes them from the shell that it is pasted into.
func cliOf(org pool.OrgID, j domain.Job) string {
	all := []string{"gpupool job run"}
	flag := func(name, value string) { all = append(all, "--"+name+" "+value) }
	flag("org", quoted(string(org)))
	flag("project", quoted(string(j.Project)))
	flag("name", quoted(j.Name))
	for _, c := range j.Classes {
		flag("class", quoted(string(c)))
	}
	flag("nodes", number(j.Nodes))
	flag("gpus", number(j.GPUsPerNode))
	flag("tier", tierWord(j.Tier))
	flag("max-run", lengthText(j.MaxRun))
	if j.Priority != 0 {
		flag("priority", number(j.Priority))
	}
	if j.NotBefore != 0 {
		flag("not-before", j.NotBefore.String())
	}
	if j.Deadline != 0 {
		flag("deadline", j.Deadline.String())
	}
	if j.DependsOn != "" {
		flag("after", quoted(string(j.DependsOn)))
	}
	if j.Renewable {
		all = append(all, "--renewable")
	}
	for _, k := range slices.Sorted(maps.Keys(j.Spec.Env)) {
		flag("env", k+`="$`+k+`"`)
	}
	if s := j.Spec.Sim; s != nil && s.LengthMs > 0 {
		flag("simulate", lengthText(time.Duration(s.LengthMs)*time.Millisecond))
	}
	if s := j.Spec.Sim; s != nil && s.Exit != 0 {
		flag("simulate-exit", number(s.Exit))
	}
	all = append(all, quoted(j.Spec.Image))
	if j.Spec.Command != "" || len(j.Spec.Args) > 0 {
		all = append(all, quoted(j.Spec.Command))
	}
	for _, a := range j.Spec.Args {
		all = append(all, quoted(a))
	}
	return strings.Join(all, " \\\n  ")
}

// tierWord is a tier as the command line takes it.
func tierWord(t pool.Tier) string { return words[string(t)] }

// lengthText is a length without the units that are zero: "2h", "1h30m".
func lengthText(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// quoted is a word for a shell.
func quoted(s string) string {
	if s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:=@,") == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
