package web

import (
	"net/url"

	"gpupool/domain"
	"gpupool/domain/pool"
	"gpupool/views"
	"gpupool/views/ui"
)

// jobStates are the choices of the filter and the states that each stands for.
var jobStates = []struct {
	value, label string
	states       []domain.JobState
}{
	{"", "All states", nil},
	{"waiting", "Waiting", []domain.JobState{domain.JobWaiting}},
	{"running", "Running", []domain.JobState{domain.JobStarting, domain.JobRunning, domain.JobStopping}},
	{"ended", "Ended", []domain.JobState{domain.JobEnded}},
}

const jobsPerPage = 50

// jobList shows the organisation's jobs, newest first. Its filters stand in the address.
func (s *Server) jobList(v *visit) error {
	f := v.jobFilter()
	rows, more, err := s.service.Jobs(v.ctx, v.actor, f)
	if err != nil {
		return err
	}
	classes, projects, err := v.jobChoices()
	if err != nil {
		return err
	}
	base := v.orgPath("/jobs")
	table := ui.Table{ID: "jobs", Caption: v.T("Jobs"), Hidden: true, Topics: "org", CSV: withQuery(v.orgPath("/jobs.csv"), v.echo.QueryParams(), "before", ""),
		Columns: []ui.Column{{Label: v.T("Job")}, {Label: v.T("State")}, {Label: v.T("GPUs")}, {Label: v.T("Submitted")},
			{Label: v.T("Cost so far (%s, list price)", v.currency.Code), Num: true}, {Label: v.T("At most (%s)", v.currency.Code), Num: true}},
		Empty: v.noJobs(f), Note: v.T("Waiting jobs cost nothing. Running and stopping jobs are charged; included hours are settled on the invoice.")}
	for _, r := range rows {
		table.Rows = append(table.Rows, v.jobRow(r, projects))
	}
	table.Pager.Summary = v.T("%d jobs on this page", len(rows))
	if more {
		table.Pager.Next = withQuery(base, v.echo.QueryParams(), "before", string(rows[len(rows)-1].Job.ID))
	}
	page := views.Page{Title: v.T("Jobs"), Heading: v.T("Jobs"), Live: v.live(), Search: &views.Search{Action: base, Label: v.T("Search jobs"), Value: f.Search}}
	if v.actor.Can(v.org, domain.ActSubmit) {
		page.Actions = ui.LinkButton(v.T("New job"), v.orgPath("/jobs/new"), "primary", "plus")
	}
	if f.Before != "" {
		page.Badges = []ui.Badge{ui.ToneBadge(ui.Neutral, v.T("older jobs"))}
	}
	return v.page(page, views.Arrange(v.jobFilters(f, classes, projects).Show(), table.Show()))
}

// jobFilter reads the filters from the address; what it does not know selects nothing, never everything.
func (v *visit) jobFilter() domain.JobFilter {
	f := domain.JobFilter{Org: v.org, Project: pool.ProjectID(v.query("project")), Class: pool.ClassID(v.query("class")),
		User: pool.UserID(v.query("user")), Search: v.query("q"), Before: v.query("before"), Limit: jobsPerPage}
	state := v.query("state")
	f.States = []domain.JobState{domain.JobState(state)}
	for _, x := range jobStates {
		if x.value == state {
			f.States = x.states
		}
	}
	return f
}

// jobFilters is the form above the list: a GET, so that the address is the list.
func (v *visit) jobFilters(f domain.JobFilter, classes []domain.GPUClass, projects map[pool.ProjectID]string) views.Form {
	state := ui.Field{Name: "state", Label: v.T("State"), Value: v.query("state")}
	for _, x := range jobStates {
		state.Options = append(state.Options, ui.Option{Value: x.value, Label: v.T(x.label)})
	}
	project := ui.Field{Name: "project", Label: v.T("Project"), Value: string(f.Project), Options: append([]ui.Option{{Label: v.T("All projects")}}, options(projects)...)}
	class := ui.Field{Name: "class", Label: v.T("GPU type"), Value: string(f.Class), Options: []ui.Option{{Label: v.T("All GPU types")}}}
	for _, c := range classes {
		class.Options = append(class.Options, ui.Option{Value: string(c.ID), Label: c.Name})
	}
	return views.Form{ID: "filters", Action: v.orgPath("/jobs"), Filter: true, Submit: v.T("Filter"), Fields: []views.Input{
		{Field: ui.Field{Name: "q", ID: "f-search", Label: v.T("Name or id"), Type: "search", Value: f.Search}},
		{Kind: "select", Field: state}, {Kind: "select", Field: project}, {Kind: "select", Field: class}}}
}

func (v *visit) noJobs(f domain.JobFilter) ui.Empty {
	if f.Search != "" || f.Project != "" || f.Class != "" || f.User != "" || f.States != nil || f.Before != "" {
		return ui.Empty{Title: v.T("No job matches."), Text: v.T("Widen the filters, or look at all jobs."), Link: ui.Link{Label: v.T("All jobs"), Href: v.orgPath("/jobs")}}
	}
	e := ui.Empty{Title: v.T("No job yet."), Text: v.T("The form tells what a job will cost at most and when it probably starts before anything is sent.")}
	if v.actor.Can(v.org, domain.ActSubmit) {
		e.Link = ui.Link{Label: v.T("Submit the first job"), Href: v.orgPath("/jobs/new")}
	}
	return e
}

// jobRow is a job as a line of a table.
func (v *visit) jobRow(r domain.JobRow, projects map[pool.ProjectID]string) ui.Row {
	j := r.Job
	state := ui.Cell{Badges: []ui.Badge{v.state(v.jobState(j))}}
	switch {
	case j.State == domain.JobWaiting && v.soon(r.Expected) != "":
		state.Sub = v.soon(r.Expected)
	case j.State == domain.JobWaiting && len(j.Reasons) > 0:
		state.Sub = v.reason(j.Reasons[0])
	case j.State == domain.JobEnded:
		state.Sub = v.ended(j.End, j.EndDetail)
	}
	about := named(projects, j.Project) + " · " + r.UserName
	if j.Priority != 0 {
		about += " · " + v.T("priority %d", j.Priority)
	}
	if j.Live() && j.Deadline != 0 {
		about += " · " + v.T("ends by %s", v.at(j.Deadline))
	}
	return ui.Row{Cells: []ui.Cell{
		{Head: true, Text: j.Name, Href: v.jobPath(j.ID, ""), Sub: about},
		state,
		{Text: v.shape(j), Badges: []ui.Badge{v.tier(j.Tier)}},
		{Time: v.clock(j.SubmittedAt)},
		{Num: true, Text: v.figure(r.Charged)},
		{Num: true, Text: v.figure(j.UpTo)},
	}}
}

// jobListCSV is the same list as a file, up to 10 000 rows of the filters.
func (s *Server) jobListCSV(v *visit) error {
	f := v.jobFilter()
	f.Before, f.Limit = "", 200
	_, projects, err := v.jobChoices()
	if err != nil {
		return err
	}
	out := newSheet("jobs-"+string(v.org)+".csv", "job_id", "name", "project", "person", "state", "end_reason", "gpu_type", "nodes", "gpus_per_node", "tier", "priority",
		"not_before", "deadline", "depends_on", "submitted_at", "ended_at", "charged_"+v.currency.Code, "at_most_"+v.currency.Code)
	for range 50 {
		rows, more, err := s.service.Jobs(v.ctx, v.actor, f)
		if err != nil {
			return err
		}
		for _, r := range rows {
			j := r.Job
			out.add(string(j.ID), j.Name, named(projects, j.Project), r.UserName, string(j.State), string(j.End), classText(j.Classes), number(j.Nodes), number(j.GPUsPerNode),
				string(j.Tier), number(j.Priority), isoOrEmpty(j.NotBefore), isoOrEmpty(j.Deadline), string(j.DependsOn), isoOrEmpty(j.SubmittedAt), isoOrEmpty(j.EndedAt), v.currency.Format(r.Charged), v.currency.Format(j.UpTo))
		}
		if !more {
			break
		}
		f.Before = string(rows[len(rows)-1].Job.ID)
	}
	return v.sheet(out)
}

// withQuery is an address with the query of now and one value changed; empty takes it out.
func withQuery(path string, now url.Values, key, value string) string {
	q := url.Values{}
	for k, all := range now {
		if k != key && len(all) > 0 && all[0] != "" {
			q[k] = all
		}
	}
	if value != "" {
		q.Set(key, value)
	}
	if len(q) == 0 {
		return path
	}
	return path + "?" + q.Encode()
}
