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
		f = formOf(j.Job)
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
	in, _ := f.parse(v.settings.Demo)
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
	in, bad := f.parse(v.settings.Demo)
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
	if q.CapLeft != nil {
		b.Facts = append(b.Facts, ui.Fact{Name: v.T("Left of the spending cap"), Text: v.money(*q.CapLeft)})
	}
	b.Starts = v.expected(q.Answer)
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
func (v *visit) expected(a quota.Answer) string {
	if a.Admitted {
		return v.T("starts at once")
	}
	var says []string
	if l := a.Likely; l.Known() {
		middle := l.Middle.Add(time.Minute / 2)
		early, likely, late := v.near(l.Early, middle), v.zoned(middle), v.near(l.Late.Add(time.Minute-1), middle)
		if v.near(middle, middle) == early && early == late {
			says = append(says, v.T("Likely %s.", likely))
		} else {
			says = append(says, v.T("Likely %s (%s to %s).", likely, early, late))
		}
	}
	if a.Start != pool.Never && a.Start != 0 {
		says = append(says, v.T("At the latest %s unless an owner claims or new work goes first.", v.zoned(a.Start.Add(time.Minute-1))))
	}
	if len(says) == 0 {
		return v.T("start not known yet")
	}
	return strings.Join(says, " ")
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
	for _, t := range jobTemplates {
		p.Templates = append(p.Templates, ui.Tab{Label: v.T(t.label), Href: v.orgPath("/jobs/new?template=" + t.name), Current: t.name == f.Template})
	}
	return p, nil
}

func (v *visit) jobFields(f jobForm, at map[string]string, classes []domain.GPUClass, projects map[pool.ProjectID]string) []views.Input {
	class := ui.Field{Name: "class", Label: v.T("GPU type"), Error: at["class"], Required: true, Hint: v.T("With several, it takes the first that is free, in this order; the price is of the dearest.")}
	for i, c := range classes {
		hint := v.T("%d GiB of memory", c.MemoryMiB/1024)
		if c.PerCard > 1 {
			hint += ", " + v.T("%d slices are one card", c.PerCard)
		}
		checked := slices.Contains(f.Classes, string(c.ID)) || len(f.Classes) == 0 && i == 0 && at["class"] == ""
		class.Options = append(class.Options, ui.Option{Value: string(c.ID), Label: c.Name, Hint: hint, Checked: checked})
	}
	all := []views.Input{
		{Kind: "select", Field: ui.Field{Name: "project", Label: v.T("Project"), Value: f.Project, Error: at["project"], Required: true, Options: append([]ui.Option{{Label: v.T("Choose…")}}, options(projects)...)}},
		{Field: ui.Field{Name: "name", Label: v.T("Name"), Value: f.Name, Error: at["name"], Required: true, Autocomplete: "off"}},
		{Kind: "checks", Field: class},
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

func checked(on bool) string {
	if on {
		return "on"
	}
	return ""
}
