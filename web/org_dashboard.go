package web

import (
	"cmp"
	"slices"

	"github.com/a-h/templ"

	"gpupool/domain"
	"gpupool/domain/money"
	"gpupool/domain/pool"
	"gpupool/views"
	"gpupool/views/ui"
)

// orgDashboard answers what is left of the quota, what is spent an hour, what the month costs so far and at most, and
// what happens next.
func (s *Server) orgDashboard(v *visit) error {
	d, err := s.service.Dashboard(v.ctx, v.actor, v.org)
	if err != nil {
		return err
	}
	projects := map[pool.ProjectID]string{}
	for _, p := range d.Projects {
		projects[p.ID] = p.Name
	}
	page := views.Page{Title: d.Org.Name, Heading: d.Org.Name, Lead: v.T("%s so far. Every figure is provisional until the month is closed.", v.month(d.Month)), Live: v.live(), Wide: true, Notices: v.dashboardNotices(d)}
	if v.actor.Can(v.org, domain.ActSubmit) {
		page.Actions = ui.LinkButton(v.T("New job"), v.orgPath("/jobs/new"), "primary", "plus")
	}
	var start templ.Component
	if len(d.Counts) == 0 {
		start = views.Block(ui.Panel{ID: "start", Title: v.T("First steps"), Topics: "org"}, ui.Checklist(v.firstSteps(d)))
	}
	return v.page(page, views.Arrange(start, ui.Stats("figures", "org clock", v.dashboardFigures(d)), views.Columns(
		views.Block(ui.Panel{ID: "quota", Title: v.T("Quota"), Topics: "org", Hint: v.T("GPUs at once. Unused ones are lent to others and come back when you need them.")}, v.quotaBars(d)...),
		views.Block(ui.Panel{ID: "next", Title: v.T("What happens next"), Topics: "org"}, v.whatNext(d))),
		v.recentJobs(d, projects).Show()))
}

func (v *visit) dashboardNotices(d domain.Dashboard) []ui.Notice {
	var all []ui.Notice
	for _, reason := range d.Org.Pauses {
		all = append(all, ui.Notice{Tone: ui.Warn, Text: v.T("The organisation is paused: %s. What runs goes on; no new job starts.", reason)})
	}
	if d.Settings.Paused {
		all = append(all, ui.Notice{Tone: ui.Warn, Text: v.T("The operator has paused the start of new jobs.")})
	}
	if d.Subscription == nil {
		n := ui.Notice{Tone: ui.Info, Text: v.T("The organisation has no subscription: jobs wait until the owner chooses a plan.")}
		if v.actor.Can(v.org, domain.ActSubscribe) {
			n.Link = ui.Link{Label: v.T("Choose a plan"), Href: v.orgPath("/billing")}
		}
		all = append(all, n)
	}
	return all
}

// firstSteps lead to the first job.
func (v *visit) firstSteps(d domain.Dashboard) []ui.Step {
	owner := v.actor.Can(v.org, domain.ActSubscribe)
	link := func(may bool, label, path string) ui.Link {
		if !may {
			return ui.Link{}
		}
		return ui.Link{Label: v.T(label), Href: v.orgPath(path)}
	}
	return []ui.Step{
		{Title: v.T("Choose a plan"), Text: v.T("It says how many GPUs are guaranteed and how many hours are included. It needs a billing account."), Done: d.Subscription != nil, Link: link(owner, "Plans", "/billing")},
		{Title: v.T("Make a project"), Text: v.T("A project is a cost centre with its budget and its people."), Done: len(d.Projects) > 0, Link: link(owner, "Projects", "/projects")},
		{Title: v.T("Submit the first job"), Text: v.T("The form shows the price before anything is sent."), Link: link(v.actor.Can(v.org, domain.ActSubmit), "New job", "/jobs/new")},
	}
}

// dashboardFigures are in money: GPU-hours of different types are never added.
func (v *visit) dashboardFigures(d domain.Dashboard) []ui.Stat {
	month := v.month(d.Month)
	charges := ui.Stat{Label: v.T("Beyond the fee, %s", month), Value: v.figure(d.Charges), Unit: v.currency.Code, Href: v.orgPath("/usage"), Note: v.T("net, included hours deducted")}
	if d.Cap != nil && d.Cap.Amount != nil {
		charges.Note = v.T("%s of the cap of %s", v.percent(int64(d.Charges), int64(*d.Cap.Amount)), v.money(*d.Cap.Amount))
		charges.Meter = &ui.Meter{Value: int64(d.Charges), Max: int64(*d.Cap.Amount), Label: charges.Note, Tone: capTone(d.Charges, *d.Cap.Amount)}
	}
	plan := v.T("no plan")
	if d.Subscription != nil {
		plan = v.T("fee of %s, a full month: %s", d.PlanName, v.money(d.Fee))
	}
	return []ui.Stat{
		{Label: v.T("Spent an hour now"), Value: v.figure(d.PerHour), Unit: v.currency.Code, Note: v.T("at list price, of what runs")},
		charges,
		{Label: v.T("Reserved by what runs"), Value: v.figure(d.Committed), Unit: v.currency.Code, Note: v.T("at most, until the month ends")},
		{Label: v.T("Invoice of %s, at most", month), Value: v.figure(d.Fee + d.Charges + d.Committed), Unit: v.currency.Code, Note: plan},
	}
}

func capTone(used, limit money.Amount) ui.Tone {
	if used >= limit {
		return ui.Bad
	}
	if used >= limit/5*4 {
		return ui.Warn
	}
	return ui.Info
}

// quotaBars show each GPU type of the plan, or what to do where there is none.
func (v *visit) quotaBars(d domain.Dashboard) []templ.Component {
	if len(d.Quotas) == 0 {
		return []templ.Component{ui.Empty{Title: v.T("No quota yet."), Text: v.T("Quota comes with a plan or with hardware that you put in.")}.Show()}
	}
	var all []templ.Component
	for _, q := range d.Quotas {
		all = append(all, v.quotaBar(q).Show())
	}
	return all
}

// quotaBar is one GPU type: guaranteed GPUs that are used, lent or free, and what is borrowed beyond them.
func (v *visit) quotaBar(q domain.QuotaNow) ui.QuotaBar {
	name := cmp.Or(q.Name, string(q.Class))
	b := ui.QuotaBar{ID: "quota-" + string(q.Class), Label: name, Own: int64(q.OwnUsed), Lent: int64(q.Lent), Free: int64(q.Free()), Borrowed: int64(q.Borrowed), BorrowLimit: int64(q.Borrow),
		Summary: v.T("%d of %d guaranteed in use, %d borrowed of at most %d", q.OwnUsed, q.Nominal, q.Borrowed, q.Borrow)}
	if q.Spot > 0 {
		b.Summary += ", " + v.T("%d spot", q.Spot)
	}
	if q.Included > 0 {
		b.Note = v.T("%s of %s included GPU-hours used this month (%s).", v.hours(q.IncludedUsed), v.hours(q.Included), v.percent(int64(q.IncludedUsed), int64(q.Included)))
	}
	return b
}

// whatNext are the dated events to come, nearest first.
func (v *visit) whatNext(d domain.Dashboard) templ.Component {
	type event struct {
		at pool.Instant
		ui.Event
	}
	var all []event
	add := func(at pool.Instant, title, text string, link ui.Link) {
		if at > d.Now && at != pool.Never {
			all = append(all, event{at, ui.Event{Time: v.clock(at), Title: title, Text: text, Tone: ui.Info, Link: link}})
		}
	}
	for _, r := range d.Recent {
		if r.Job.State == domain.JobWaiting {
			link := ui.Link{Label: v.T("Job"), Href: v.jobPath(r.Job.ID, "")}
			if x := r.Expected; x.Likely.Known() {
				add(x.Likely.Middle, v.T("%s likely starts", r.Job.Name), v.shape(r.Job), link)
			} else {
				add(x.Latest, v.T("%s starts at the latest", r.Job.Name), v.shape(r.Job), link)
			}
		}
	}
	zone := d.Settings.Location()
	end := d.Month.Bounds(zone).End
	add(end, v.T("%s ends", v.month(d.Month)), v.T("Included hours begin anew."), ui.Link{})
	add(end.Add(d.Settings.Grace), v.T("%s is closed", v.month(d.Month)), v.T("The invoice is made after %s for late records.", v.span(d.Settings.Grace)), ui.Link{})
	if d.Subscription != nil {
		add(d.Subscription.End, v.T("%s ends", d.PlanName), "", ui.Link{})
	}
	slices.SortStableFunc(all, func(a, b event) int { return cmp.Compare(a.at, b.at) })
	events := make([]ui.Event, len(all))
	for i, e := range all {
		events[i] = e.Event
	}
	return ui.Timeline(v.T("What happens next"), events)
}

func (v *visit) recentJobs(d domain.Dashboard, projects map[pool.ProjectID]string) ui.Table {
	t := ui.Table{ID: "recent", Caption: v.T("Newest jobs"), Topics: "org", Columns: v.columns("Job", "State", "GPUs", "Submitted", "#Cost so far", "#At most"), CSV: v.orgPath("/jobs.csv"),
		Note: v.T("Amounts in %s, net, at list price.", v.currency.Code), Empty: v.noJobs(domain.JobFilter{})}
	for _, r := range d.Recent {
		t.Rows = append(t.Rows, v.jobRow(r, projects))
	}
	return t
}
