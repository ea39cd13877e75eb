package web

import (
	"cmp"
	"slices"

	"gpupool/domain"
	"gpupool/domain/money"
	"gpupool/domain/pool"
	"gpupool/domain/rating"
	"gpupool/views"
	"gpupool/views/ui"
)

// usageBy are the ways in which a month is divided.
var usageBy = []struct{ value, label string }{{"project", "Project"}, {"person", "Person"}, {"class", "GPU type"}}

// usageShow reports a month. Chart and table have the same figures, and parts add up to the whole.
func (s *Server) usageShow(v *visit) error {
	m, err := v.monthOf()
	if err != nil {
		return err
	}
	r, err := s.service.Usage(v.ctx, v.actor, v.org, m)
	if err != nil {
		return err
	}
	by := "project"
	for _, x := range usageBy {
		if x.value == v.query("by") {
			by = x.value
		}
	}
	page := views.Page{Title: v.T("Usage"), Heading: v.T("Usage of %s", v.month(m)), Live: v.live(), Wide: true, Lead: v.T("Periods and days are in %s.", r.Settings.Zone), TabsName: v.T("Divided by")}
	if r.Provisional {
		page.Badges = []ui.Badge{ui.ToneBadge(ui.Warn, v.T("provisional"))}
	}
	for _, x := range usageBy {
		page.Tabs = append(page.Tabs, ui.Tab{Label: v.T(x.label), Href: v.orgPath("/usage?" + encode("month", m.String(), "by", x.value)), Current: x.value == by})
	}
	months := ui.Field{Name: "month", Label: v.T("Month"), Value: m.String()}
	now := pool.MonthOf(r.Now, r.Settings.Location())
	first := pool.MonthOf(min(r.Settings.CreatedAt, r.Now), r.Settings.Location())
	for x := now; !x.Before(first); x = x.Prev() {
		months.Options = append(months.Options, option(x.String(), v.month(x)))
	}
	filter := views.Form{ID: "filters", Action: v.orgPath("/usage"), Filter: true, Submit: v.T("Show"), Hidden: []ui.Value{hidden("by", by)}, Fields: []views.Input{{Kind: "select", Field: months}}}
	if len(r.Lines) == 0 {
		e := ui.Empty{Title: v.T("Nothing was used in %s.", v.month(m)), Text: v.T("Use shows here from the moment a job runs.")}
		if v.actor.Can(v.org, domain.ActSubmit) {
			e.Link = ui.Link{Label: v.T("New job"), Href: v.orgPath("/jobs/new")}
		}
		return v.page(page, views.Arrange(filter.Show(), e.Show()))
	}
	return v.page(page, views.Arrange(filter.Show(), v.usageCosts(r, by).Show(), v.usageTable(r, by).Show(), v.usageDays(r).Show()))
}

// monthOf is the month of the address, or the one of now.
func (v *visit) monthOf() (pool.Month, error) {
	if s := v.query("month"); s != "" {
		m, err := pool.ParseMonth(s)
		if err != nil || m.Year < 2000 || m.Year > 2200 {
			return m, domain.Errf(domain.NotFound, "There is no such month.")
		}
		return m, nil
	}
	return pool.MonthOf(v.now, v.settings.Location()), nil
}

// usageKey is the row of a line, and its name.
func usageKey(r domain.UsageReport, l domain.UsageLine, by string) (key, name string) {
	switch by {
	case "person":
		return string(l.User), named(r.Users, l.User)
	case "class":
		return string(l.Class), string(l.Class)
	}
	return string(l.Project), named(r.Projects, l.Project)
}

// usageCosts draws the cost of each row by what it is charged as.
func (v *visit) usageCosts(r domain.UsageReport, by string) ui.Chart {
	c := ui.Chart{ID: "costs", Caption: v.T("Charged, beyond the fee"), Unit: v.T("%s, net", v.currency.Code), Kind: ui.Stacked, Axis: v.T(labelOf(by)), Total: v.T("Total"), Topics: "org", Format: func(n int64) string { return v.figure(money.Amount(n)) }}
	kinds := []struct {
		kind rating.Kind
		name string
		use  string
	}{{rating.Overage, v.T("own beyond included"), "own"}, {rating.Loan, v.T("borrowed"), "loan"}, {rating.Spot, v.T("spot"), "spot"}}
	at := map[string]int{}
	for _, k := range kinds {
		c.Series = append(c.Series, ui.Series{Name: k.name, Use: k.use})
	}
	for _, l := range r.Lines {
		key, name := usageKey(r, l, by)
		i, ok := at[key]
		if !ok {
			i = len(c.X)
			at[key] = i
			c.X = append(c.X, name)
			for s := range c.Series {
				c.Series[s].Values = append(c.Series[s].Values, 0)
			}
		}
		for s, k := range kinds {
			if k.kind == l.Kind {
				c.Series[s].Values[i] += int64(l.Amount)
			}
		}
	}
	return c
}

func labelOf(by string) string {
	for _, x := range usageBy {
		if x.value == by {
			return x.label
		}
	}
	return by
}

// usageTable is the same month line by line; hours are only added within one GPU type.
func (v *visit) usageTable(r domain.UsageReport, by string) ui.Table {
	first := labelOf(by)
	t := ui.Table{ID: "usage", Caption: v.T("Use and charges"), Topics: "org", CSV: v.orgPath("/usage.csv?" + encode("month", r.Month.String())),
		Columns: v.columns(first, "GPU type", "Charged as", "#GPU-hours", "#Amount")}
	if r.Provisional {
		t.Note = v.T("Provisional: the month is closed %s after its end.", v.span(r.Settings.Grace))
	}
	for _, l := range groupedUsage(r, by) {
		_, name := usageKey(r, l, by)
		t.Rows = append(t.Rows, row(head(name, ""), text(v.typeName(l.Class)), text(v.kind(l.Kind)), num(v.hours(l.Use)), num(v.money(l.Amount))))
	}
	t.Foot = []ui.Row{{Total: true, Cells: []ui.Cell{{Text: v.T("Total"), Head: true, Span: "4"}, num(v.money(r.Total))}}}
	return t
}

// groupedUsage sums the lines of a row, GPU type and kind.
func groupedUsage(r domain.UsageReport, by string) []domain.UsageLine {
	type key struct {
		row   string
		class pool.ClassID
		kind  rating.Kind
	}
	at := map[key]int{}
	var out []domain.UsageLine
	for _, l := range r.Lines {
		id, _ := usageKey(r, l, by)
		k := key{id, l.Class, l.Kind}
		i, ok := at[k]
		if !ok {
			at[k] = len(out)
			out = append(out, l)
			continue
		}
		out[i].Use += l.Use
		out[i].Amount += l.Amount
	}
	slices.SortStableFunc(out, func(a, b domain.UsageLine) int {
		_, x := usageKey(r, a, by)
		_, y := usageKey(r, b, by)
		return cmp.Or(cmp.Compare(x, y), cmp.Compare(a.Class, b.Class), cmp.Compare(slices.Index(rating.Kinds, a.Kind), slices.Index(rating.Kinds, b.Kind)))
	})
	return out
}

// kindWords are the words of invoice and usage lines.
var kindWords = map[rating.Kind]string{rating.Fee: "Monthly fee", rating.Included: "Included hours", rating.Overage: "Own use beyond included", rating.Loan: "Borrowed",
	rating.Spot: "Spot", rating.Minimum: "Minimum charge", rating.Waiver: "Waived"}

func (f format) kind(k rating.Kind) string {
	if w, ok := kindWords[k]; ok {
		return f.T(w)
	}
	return string(k)
}

// usageDays are the allocated hours of each day, in the ledger so far.
func (v *visit) usageDays(r domain.UsageReport) ui.Table {
	t := ui.Table{ID: "days", Caption: v.T("Allocated by day"), Topics: "org", Compact: true, Columns: v.columns("Day", "GPU type", "Charged as", "#GPU-hours"),
		Note:  v.T("Days of %s. Running jobs reach the ledger at midnight and at their end.", r.Settings.Zone),
		Empty: ui.Empty{Title: v.T("No usage record yet."), Text: v.T("The first one is written at the next midnight or when a job ends.")}}
	zone := r.Settings.Location()
	for _, d := range r.Days {
		t.Rows = append(t.Rows, row(head(v.date(d.Day.In(zone)), ""), text(v.typeName(d.Class)), badge(v.coverage(d.Cover)), num(v.hours(d.Use))))
	}
	return t
}

// usageCSV is the month by project, person, GPU type and kind as a file.
func (s *Server) usageCSV(v *visit) error {
	m, err := v.monthOf()
	if err != nil {
		return err
	}
	r, err := s.service.Usage(v.ctx, v.actor, v.org, m)
	if err != nil {
		return err
	}
	out := newSheet("usage-"+string(v.org)+"-"+m.String()+".csv", "month", "zone", "project_id", "project", "person_id", "person", "gpu_type", "kind", "gpu_hours", "amount_"+v.currency.Code, "provisional")
	state := map[bool]string{true: "yes", false: "no"}[r.Provisional]
	for _, l := range r.Lines {
		out.add(m.String(), r.Settings.Zone, string(l.Project), named(r.Projects, l.Project), string(l.User), named(r.Users, l.User), string(l.Class), string(l.Kind), l.Use.Hours(), v.currency.Format(l.Amount), state)
	}
	return v.sheet(out)
}
