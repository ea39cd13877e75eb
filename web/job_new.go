package web

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"gpupool/domain"
	"gpupool/domain/money"
	"gpupool/domain/pool"
	"gpupool/domain/quota"
	"gpupool/views"
	"gpupool/views/ui"
)

// jobNew shows the form: from a template, or filled in as another job was.
func (s *Server) jobNew(v *visit) error {
	f := newJobForm(v.query("template"))
	if from := v.query("from"); from != "" {
		j, err := s.service.Job(v.ctx, v.actor, v.org, pool.JobID(from))
		if err != nil {
			return err
		}
		f = v.formOf(j.Job)
		if f.DependsOn != "" {
			if d, err := s.service.Job(v.ctx, v.actor, v.org, pool.JobID(f.DependsOn)); err != nil || !d.Job.Live() {
				f.DependsOn = "" // nothing to wait for any more
			}
		}
	}
	if tier := pool.Tier(v.query("tier")); tier.Valid() {
		f.Tier, f.Interruptible = string(tier), tier != pool.Guaranteed
	}
	p, err := v.jobPage(f, nil)
	if err != nil {
		return err
	}
	p.Quote.NotYet = v.T("The price and the start show here as soon as the form is complete.")
	return v.jobFormPage(http.StatusOK, p)
}

// jobQuote answers the form with its price. It changes nothing, so it needs no mark of the page.
func (s *Server) jobQuote(v *visit) error {
	f := v.sentJobForm()
	q, refused, err := v.quote(f)
	if err != nil {
		return err
	}
	p, err := v.jobPage(f, refused)
	if err != nil {
		return err
	}
	v.fillQuote(&p, q, refused)
	if refused != nil && len(refused.Fields) > 0 {
		return v.jobFormPage(http.StatusUnprocessableEntity, p)
	}
	return v.jobFormPage(http.StatusOK, p)
}

// jobSubmit sends the job for at most the price that the button carried. A price that was not seen or has risen is
// shown first.
func (s *Server) jobSubmit(v *visit) error {
	f := v.sentJobForm()
	q, refused, err := v.quote(f)
	if err != nil {
		return err
	}
	seen := v.text("up_to")
	if refused != nil || seen == "" || seen != v.currency.Format(q.UpTo) && !cheaper(v.currency, q.UpTo, seen) {
		p, err := v.jobPage(f, refused)
		if err != nil {
			return err
		}
		status := http.StatusUnprocessableEntity
		v.fillQuote(&p, q, refused)
		if refused == nil {
			p.Form.Problem = v.T("Nothing was sent yet. Please check the price, then submit.")
			status = http.StatusConflict
		}
		return v.jobFormPage(status, p)
	}
	in, _ := f.parse(v.settings.Demo, v.zoneOrUTC())
	j, err := s.service.SubmitJob(v.ctx, v.actor, v.org, in)
	if err != nil {
		return err
	}
	return v.done(v.jobPath(j.ID, ""), "%s was submitted. It costs at most %s.", j.Name, v.money(j.UpTo))
}

func cheaper(c money.Currency, now money.Amount, seen string) bool {
	was, err := c.Parse(seen)
	return err == nil && now <= was
}

// quote asks for the price of the form; refused is what the person can put right.
func (v *visit) quote(f jobForm) (domain.JobQuote, *domain.Error, error) {
	in, bad := f.parse(v.settings.Demo, v.zoneOrUTC())
	q, err := v.server.service.QuoteJob(v.ctx, v.actor, v.org, in)
	var e *domain.Error
	if errors.As(err, &e) && (e.Code == domain.Invalid || e.Code == domain.Conflict) {
		e = &domain.Error{Code: e.Code, Message: e.Message, Args: e.Args, Fields: append(bad, e.Fields...)}
		return q, e, nil
	}
	if err == nil && len(bad) > 0 {
		errors.As(bad.Err(), &e)
		return q, e, nil
	}
	return q, nil, err
}

// fillQuote puts the price, or why there is none, beside the form.
func (v *visit) fillQuote(p *views.JobNew, q domain.JobQuote, refused *domain.Error) {
	switch {
	case refused != nil && len(refused.Fields) > 0:
		p.Quote.NotYet = v.T("The price and the start show here as soon as the form is complete.")
	case refused != nil:
		p.Quote.Refused = v.say(refused)
	default:
		p.Quote = v.quoteBox(q)
		p.Submit = ui.Button{Label: v.T("Submit: up to %s", v.money(q.UpTo)), Kind: "primary", Form: "job", Name: "up_to", Value: v.currency.Format(q.UpTo), Icon: "send"}
	}
}

// quoteBox says the price first, then the start, then what is cheaper.
func (v *visit) quoteBox(q domain.JobQuote) ui.Quote {
	b := ui.Quote{AtMost: v.money(q.UpTo), Facts: []ui.Fact{
		{Name: v.T("Price per GPU-hour, at most"), Text: v.price(q.Price)},
		{Name: v.T("GPUs × longest run"), Text: v.T("%d × %s", q.GPUs, v.span(q.MaxRun))},
		{Name: v.T("Reserved while it runs"), Text: v.money(q.UpTo)},
	}}
	if q.AtOwn < q.UpTo {
		b.Facts = append(b.Facts, ui.Fact{Name: v.T("Wholly inside own quota"), Text: v.money(q.AtOwn)})
	}
	if p := q.Payer; p.Order != "" {
		b.Facts = append(b.Facts, ui.Fact{Name: v.T("Paid by"), Text: v.T("%s, purchase order %s with %s left", p.Account, p.Order, v.money(p.Left))})
	} else if p.Account != "" {
		b.Facts = append(b.Facts, ui.Fact{Name: v.T("Paid by"), Text: p.Account})
	}
	if q.CapLeft != nil {
		b.Facts = append(b.Facts, ui.Fact{Name: v.T("Left of the spending cap"), Text: v.money(*q.CapLeft)})
	}
	b.Starts = v.expected(quota.Start{Latest: q.Answer.Start, Likely: q.Answer.Likely})
	if q.Answer.Admitted {
		b.Starts = v.T("starts at once")
	}
	if never(q.Answer.Reasons) {
		b.Starts = v.T("never starts like this")
	}
	if len(q.Answer.Reasons) > 0 {
		r := q.Answer.Reasons[0]
		b.Why = v.reason(r) + " " + v.outlook(r.Code)
	}
	for _, a := range q.Alternatives {
		b.Cheaper = append(b.Cheaper, ui.Alternative{Price: v.money(a.UpTo), Starts: v.starts(a.Admitted, a.Start),
			Button: ui.Button{Label: v.word(string(a.Tier)), Kind: "small", Form: "job", Name: "as", Value: string(a.Tier), Action: v.orgPath("/jobs/quote"), NoCheck: true}})
	}
	return b
}

// never tells whether the pool could not run it even when empty.
func never(all []pool.Reason) bool {
	return slices.ContainsFunc(all, func(r pool.Reason) bool { return r.Code == pool.NeverFits })
}

// starts says in a word or two when a job starts at the latest.
func (v *visit) starts(admitted bool, at pool.Instant) string {
	switch {
	case admitted:
		return v.T("starts at once")
	case at == pool.Never || at == 0:
		return v.T("start not known yet")
	}
	return v.T("starts by %s", v.at(at))
}

// expected says when a job starts, likely and at the latest, as far as it can be told.
func (v *visit) expected(x quota.Start) string {
	var says []string
	if l := x.Likely; l.Known() {
		says = append(says, v.T("Likely %s.", v.interval(l)))
	}
	if x.Latest != pool.Never && x.Latest != 0 {
		says = append(says, v.T("At the latest %s unless an owner claims or new work goes first.", v.zoned(roundedUp(x.Latest))))
	}
	if len(says) == 0 {
		return v.T("start not known yet")
	}
	return strings.Join(says, " ")
}

// roundedUp keeps a bound true when it is shown in whole minutes.
func roundedUp(t pool.Instant) pool.Instant {
	if t == 0 || t == pool.Never {
		return t
	}
	return t.Add(time.Minute - 1)
}

// interval is a likely start with its interval: "13:20 CET (12:55 to 14:00)".
func (v *visit) interval(l quota.Likely) string {
	middle := l.Middle.Add(time.Minute / 2)
	early, likely, late := v.near(l.Early, middle), v.zoned(middle), v.near(l.Late.Add(time.Minute-1), middle)
	if v.near(middle, middle) == early && early == late {
		return likely
	}
	return v.T("%s (%s to %s)", likely, early, late)
}

// soon says in a word or two when a job starts that waits; empty when it can't be told.
func (v *visit) soon(x quota.Start) string {
	switch {
	case x.Likely.Known():
		return v.T("likely %s", v.zoned(x.Likely.Middle.Add(time.Minute/2)))
	case x.Latest != 0 && x.Latest != pool.Never:
		return v.T("starts by %s", v.at(roundedUp(x.Latest)))
	}
	return ""
}

// near is the minute of an instant, with the date when that isn't the other's.
func (v *visit) near(i, other pool.Instant) string {
	t := i.In(v.zoneOrUTC())
	if v.date(t) == v.date(other.In(v.zoneOrUTC())) {
		return t.Format("15:04")
	}
	return v.date(t) + ", " + t.Format("15:04")
}

// zoned is the minute of an instant with its zone, and the date when that isn't today.
func (v *visit) zoned(i pool.Instant) string {
	return v.near(i, v.now) + " " + i.In(v.zoneOrUTC()).Format("MST")
}

func (v *visit) jobFormPage(status int, p views.JobNew) error {
	return v.show(status, views.Page{Title: v.T("New job"), Heading: v.T("New job"), Wide: true,
		Lead:   v.T("The price is a promise: the charge never exceeds it, over all tries."),
		Crumbs: []ui.Link{{Label: v.T("Jobs"), Href: v.orgPath("/jobs")}, {Label: v.T("New job")}}}, p.Show())
}

// jobPage is the form with what was typed.
func (v *visit) jobPage(f jobForm, refused *domain.Error) (views.JobNew, error) {
	classes, projects, err := v.jobChoices()
	if err != nil {
		return views.JobNew{}, err
	}
	earlier, err := v.jobOptions(projects)
	if err != nil {
		return views.JobNew{}, err
	}
	at, whole := map[string]string{}, ""
	if refused != nil {
		for _, x := range refused.Fields {
			if at[x.Field] == "" {
				at[x.Field] = v.T(x.Message, x.Args...)
			}
		}
		if len(refused.Fields) == 0 {
			whole = v.say(refused)
		}
	}
	if f.Project == "" && len(projects) == 1 {
		for id := range projects {
			f.Project = string(id)
		}
	}
	p := views.JobNew{QuoteTo: v.orgPath("/jobs/quote"), Form: views.Form{ID: "job", Action: v.orgPath("/jobs"), Nonce: newNonce(), Problem: whole,
		Hidden: []ui.Value{{Name: "template", Value: f.Template}}, Cancel: ui.Link{Label: v.T("All jobs"), Href: v.orgPath("/jobs")},
		Fields: v.jobFields(f, at, classes, projects)}}
	p.More = v.moreFields(f, at, classes, earlier)
	p.MoreOpen = slices.ContainsFunc(p.More, func(x views.Input) bool { return x.Value != "" || x.Error != "" })
	for _, t := range jobTemplates {
		p.Templates = append(p.Templates, ui.Tab{Label: v.T(t.label), Href: v.orgPath("/jobs/new?template=" + t.name), Current: t.name == f.Template})
	}
	return p, nil
}

func (v *visit) jobFields(f jobForm, at map[string]string, classes []domain.GPUClass, projects map[pool.ProjectID]string) []views.Input {
	class := ui.Field{Name: "class", Label: v.T("GPU type"), Value: f.class(0), Error: at["class"], Required: true}
	for i, c := range classes {
		hint := v.T("%d GiB of memory", c.MemoryMiB/1024)
		if c.PerCard > 1 {
			hint += ", " + v.T("%d slices are one card", c.PerCard)
		}
		if i == 0 && len(f.Classes) == 0 && at["class"] == "" {
			class.Value = string(c.ID)
		}
		class.Options = append(class.Options, ui.Option{Value: string(c.ID), Label: c.Name, Hint: hint})
	}
	all := []views.Input{
		{Kind: "select", Field: ui.Field{Name: "project", Label: v.T("Project"), Value: f.Project, Error: at["project"], Required: true, Options: append([]ui.Option{{Label: v.T("Choose…")}}, options(projects)...)}},
		{Field: ui.Field{Name: "name", Label: v.T("Name"), Value: f.Name, Error: at["name"], Required: true, Autocomplete: "off"}},
		{Kind: "radio", Field: class},
		{Kind: "number", Field: ui.Field{Name: "nodes", Label: v.T("Nodes"), Value: f.Nodes, Error: at["nodes"], Required: true, InputMode: "numeric", Hint: v.T("All start together or not at all.")}},
		{Kind: "number", Field: ui.Field{Name: "gpus", Label: v.T("GPUs on each node"), Value: f.GPUs, Error: at["gpus"], Required: true, InputMode: "numeric"}},
		{Kind: "radio", Field: ui.Field{Name: "tier", Label: v.T("What may happen to it"), Value: f.Tier, Error: at["tier"], Required: true, Options: []ui.Option{
			{Value: "guaranteed", Label: v.T("Guaranteed"), Hint: v.T("Inside your own quota. Nobody else can stop it.")},
			{Value: "burst", Label: v.T("Flexible"), Hint: v.T("Own quota first, beyond it borrows. Borrowed GPUs can be taken back with notice.")},
			{Value: "spot", Label: v.T("Spot"), Hint: v.T("Whatever is idle: cheapest, and stopped when somebody else needs it.")}}}},
		{Kind: "check", Field: ui.Field{Name: "interruptible", Label: v.T("It may be interrupted: it is queued again by itself and goes on from its last checkpoint"), Value: checked(f.Interruptible), Error: at["interruptible"]}},
		{Kind: "number", Field: ui.Field{Name: "max_run", Label: v.T("Longest run"), Unit: v.T("hours"), Value: f.MaxRun, Error: at["max_run"], Hint: v.T("It is stopped then. Empty: the default of the GPU type.")}},
		{Field: ui.Field{Name: "image", Label: v.T("Container image"), Value: f.Image, Error: at["image"], Required: true, Mono: true, Autocomplete: "off"}},
		{Field: ui.Field{Name: "command", Label: v.T("Command"), Value: f.Command, Error: at["command"], Mono: true, Autocomplete: "off", Hint: v.T("Empty: what the image starts by itself.")}},
		{Kind: "area", Field: ui.Field{Name: "args", Label: v.T("Arguments"), Value: f.Args, Error: at["args"], Mono: true, Rows: "3", Hint: v.T("One on each line.")}},
		{Kind: "area", Field: ui.Field{Name: "env", Label: v.T("Environment"), Value: f.Env, Error: at["env"], Mono: true, Rows: "3", Hint: v.T("NAME=value, one on each line.")}},
	}
	if !v.settings.Demo {
		return all
	}
	return append(all, views.Input{Kind: "select", Field: ui.Field{Name: "sim", Label: v.T("Simulated behaviour"), Value: f.Sim, Error: at["sim"], Hint: v.T("Only in a demo: no GPU is used."), Options: []ui.Option{
		{Label: v.T("As the demo likes")}, {Value: "finish", Label: v.T("Finishes")}, {Value: "exit", Label: v.T("Ends with an error")},
		{Value: "oom", Label: v.T("Runs out of GPU memory")}, {Value: "idle", Label: v.T("Holds its GPUs idle")}}}},
		views.Input{Kind: "number", Field: ui.Field{Name: "sim_minutes", Label: v.T("Simulated length"), Unit: v.T("minutes"), Value: f.SimMinutes, Error: at["sim_minutes"], InputMode: "numeric", Hint: v.T("Empty: as the demo likes.")}})
}

// moreFields are what few jobs need.
func (v *visit) moreFields(f jobForm, at map[string]string, classes []domain.GPUClass, earlier []ui.Option) []views.Input {
	var all []views.Input
	for i := 1; i < min(choices, len(classes)); i++ {
		c := ui.Field{Name: "class", ID: "f-class-" + number(i+1), Label: v.T("If that is not free: choice %d", i+1), Value: f.class(i), Options: []ui.Option{{Label: v.T("no other GPU type")}}}
		if i == 1 {
			c.Hint = v.T("It takes the first of its GPU types that is free, in your order. The price is of the dearest.")
		}
		for _, x := range classes {
			c.Options = append(c.Options, ui.Option{Value: string(x.ID), Label: x.Name})
		}
		all = append(all, views.Input{Kind: "select", Field: c})
	}
	after := ui.Field{Name: "depends_on", Label: v.T("Start after"), Value: f.DependsOn, Error: at["depends_on"], Hint: v.T("It waits until that job has ended, however it ends."), Options: append([]ui.Option{{Label: v.T("no other job")}}, earlier...)}
	if f.DependsOn != "" && !slices.ContainsFunc(earlier, func(o ui.Option) bool { return o.Value == f.DependsOn }) {
		after.Options = append(after.Options, ui.Option{Value: f.DependsOn, Label: short(f.DependsOn, 40)})
	}
	return slices.Concat(all, v.wishFields(f.jobWishes, at), []views.Input{{Kind: "select", Field: after}})
}

// wishFields are those that may also be changed while the job waits.
func (v *visit) wishFields(w jobWishes, at map[string]string) []views.Input {
	zone := v.now.In(v.zoneOrUTC()).Format("MST")
	return []views.Input{
		{Kind: "number", Field: ui.Field{Name: "priority", Label: v.T("Priority"), Value: w.Priority, Error: at["priority"], InputMode: "text", Hint: v.T("−100 to 100, 0 when empty. Higher goes first among the jobs of your project and tier; it changes nothing for other members.")}},
		{Field: ui.Field{Name: "not_before", Type: "datetime-local", Label: v.T("Start no sooner than"), Unit: zone, Value: w.NotBefore, Error: at["not_before"]}},
		{Field: ui.Field{Name: "deadline", Type: "datetime-local", Label: v.T("Must have ended by"), Unit: zone, Value: w.Deadline, Error: at["deadline"], Hint: v.T("It starts only while its longest run still ends by then. When that can't be kept any more it ends without having started, and costs nothing.")}},
	}
}

// class is the choice with that number, from 0; empty when there is none.
func (f jobForm) class(i int) string {
	if i < len(f.Classes) {
		return f.Classes[i]
	}
	return ""
}

// jobOptions are the person's jobs that have not ended. Where the organisation has several billing accounts, the
// names of the projects say which of them pays.
func (v *visit) jobOptions(projects map[pool.ProjectID]string) ([]ui.Option, error) {
	var out []ui.Option
	err := v.server.store.View(v.ctx, func(tx domain.Tx) error {
		jobs, err := tx.Jobs(domain.JobFilter{Org: v.org, User: v.actor.User, Limit: 200,
			States: []domain.JobState{domain.JobWaiting, domain.JobStarting, domain.JobRunning, domain.JobStopping}})
		if err != nil {
			return err
		}
		out = nil
		for _, j := range jobs {
			if v.actor.SeesProject(v.org, j.Project) {
				out = append(out, ui.Option{Value: string(j.ID), Label: v.T("%s, submitted %s", j.Name, v.at(j.SubmittedAt))})
			}
		}
		accounts, err := tx.Accounts(v.org)
		if err != nil || len(accounts) < 2 {
			return err
		}
		terms, err := domain.LoadTerms(tx)
		if err != nil {
			return err
		}
		for id := range projects {
			pays := terms.AccountOf(id, v.now)
			for _, a := range accounts {
				if a.ID == pays {
					projects[id] = v.T("%s, paid by %s", projects[id], a.Name)
				}
			}
		}
		return nil
	})
	return out, err
}

func checked(on bool) string {
	if on {
		return "on"
	}
	return ""
}
