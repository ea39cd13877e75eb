package web

import (
	"net/http"

	"gpupool/domain"
	"gpupool/domain/pool"
	"gpupool/views"
	"gpupool/views/ui"
)

// opPolicies lists the rules that hold at some hours, and makes new ones.
func (s *Server) opPolicies(v *visit) error {
	return v.policiesPage(domain.TimePolicyInput{}, refusal{status: http.StatusOK})
}

func (v *visit) policiesPage(in domain.TimePolicyInput, r refusal) error {
	s := v.server.service
	all, err := s.TimePolicies(v.ctx, v.actor)
	if err != nil {
		return err
	}
	orgs, err := s.Organisations(v.ctx, v.actor)
	if err != nil {
		return err
	}
	classes, err := s.Classes(v.ctx)
	if err != nil {
		return err
	}
	names := memberNames(orgs)
	members := []ui.Option{}
	for _, o := range orgs {
		members = append(members, option(string(o.ID), o.Name))
	}
	typed := []ui.Option{}
	for _, c := range classes {
		typed = append(typed, option(string(c.ID), c.Name))
	}
	t := ui.Table{ID: "policies", Caption: v.T("Time policies"), Hidden: true, Topics: "pool", Columns: v.columns("Name", "For", "What", "When", "State", ""),
		Note:  v.T("Hours and days are those of %s. Where clocks skip a time it is the moment of the change; where they show it twice, the first of both.", v.settings.Zone),
		Empty: ui.Empty{Title: v.T("No time policy yet"), Text: v.T("A quota is the same at every hour until a rule below says otherwise.")}}
	for _, p := range all {
		who, what := v.T("every member"), v.T("every GPU type")
		if p.Org != "" {
			who = named(names, p.Org)
		}
		if p.Class != "" {
			what = v.typeName(p.Class)
		}
		end := ui.Cell{}
		if !p.Over {
			end.Body = ui.Confirm{ID: "end-" + p.ID, Label: v.T("End"), Title: v.T("End %s now?", p.Name), Do: v.T("End it"), Action: "/op/policies/" + p.ID + "/end", Nonce: newNonce(),
				Loses: []string{v.T("From now on the quota is as it is without it. What held so far stays in the books.")}}.Show()
		}
		t.Rows = append(t.Rows, row(head(p.Name, ""), sub(text(who), what), text(v.effects(p.TimePolicy)), text(v.hoursOf(p.TimePolicy)), v.holding(p), end))
	}
	page := views.Page{Title: v.T("Time policies"), Heading: v.T("Time policies"), Live: v.live(), Wide: true,
		Lead: v.T("Quotas and limits that differ by time of day, weekday or date, and hours that are closed to some work.")}
	return v.show(r.status, page, views.Arrange(t.Show(), v.quotaPolicyForm(in, r, members, typed).Show(), v.closedForm(in, r, members, typed).Show()))
}

// when are the questions of the calendar; id tells the two forms of the page apart.
func (v *visit) when(in domain.TimePolicyInput, at map[string]string, id string) []views.Input {
	one := func(name, label, value, kind, hint string) views.Input {
		return views.Input{Field: ui.Field{Name: name, ID: "f-" + name + id, Label: label, Value: value, Type: kind, Hint: hint, Error: at[name], Short: true, Autocomplete: "off"}}
	}
	return []views.Input{
		{Kind: "checks", Field: ui.Field{Name: "days", ID: "f-days" + id, Label: v.T("Weekdays"), Short: true, Options: v.dayOptions(in.Days), Error: at["days"], Hint: v.T("None chosen: every day. A night belongs to the day on which it begins.")}},
		one("from", v.T("From"), in.From, "", v.T("For example 08:00. Both empty: the whole day.")),
		one("to", v.T("To"), in.To, "", v.T("For example 18:00, or 06:00 for the next morning.")),
		one("first", v.T("First day"), in.First, "date", v.T("Empty: from now on.")),
		one("last", v.T("Last day"), in.Last, "date", v.T("Empty: until it is ended.")),
	}
}

func (v *visit) quotaPolicyForm(in domain.TimePolicyInput, r refusal, members, types []ui.Option) views.Form {
	if in.Closed {
		in, r = domain.TimePolicyInput{}, refusal{}
	}
	number := func(name, label, value, hint string) views.Input {
		return views.Input{Field: ui.Field{Name: name, Label: label, Value: value, Unit: v.T("GPUs"), Error: r.at[name], Hint: hint, Short: true, Autocomplete: "off"}}
	}
	f := views.Form{ID: "policy", Title: v.T("Change a quota by time"), Action: "/op/policies", Nonce: newNonce(), Problem: r.whole, Submit: v.T("Add the time policy"),
		Lead: v.T("What is left empty stays as plan, contributions and the member's own choice have it."), Fields: []views.Input{
			{Field: ui.Field{Name: "name", Label: v.T("Name"), Value: in.Name, Error: r.at["name"], Required: true, Autocomplete: "off", Hint: v.T("Members see it, for example “Lends nothing by day”.")}},
			{Kind: "select", Field: ui.Field{Name: "org", Label: v.T("Member"), Value: string(in.Org), Options: members, Error: r.at["org"], Required: true}},
			{Kind: "select", Field: ui.Field{Name: "class", Label: v.T("GPU type"), Value: string(in.Class), Options: types, Error: r.at["class"], Required: true}},
			number("guaranteed", v.T("Guaranteed"), in.Guaranteed, v.T("24 sets it, +8 or -4 changes it. A lower number stops nothing: guaranteed work that would run into it isn't started.")),
			number("borrow", v.T("Borrow limit"), in.Borrow, ""),
			number("lend", v.T("Lend limit"), in.Lend, v.T("0: nothing is lent then. What is lent already is taken back when it is needed.")),
		}}
	f.Fields = append(f.Fields, v.when(in, r.at, "")...)
	return f
}

func (v *visit) closedForm(in domain.TimePolicyInput, r refusal, members, types []ui.Option) views.Form {
	if !in.Closed {
		in, r = domain.TimePolicyInput{Tier: pool.Spot}, refusal{}
	}
	any := func(label string, of []ui.Option) []ui.Option { return append([]ui.Option{option("", label)}, of...) }
	tiers := any(v.T("all work"), nil)
	for _, t := range pool.Tiers {
		tiers = append(tiers, option(string(t), v.word(string(t))))
	}
	choose := func(name, label, value string, options []ui.Option) views.Input {
		return views.Input{Kind: "select", Field: ui.Field{Name: name, ID: "f-" + name + "-closed", Label: label, Value: value, Options: options, Error: r.at[name]}}
	}
	f := views.Form{ID: "closed", Title: v.T("Close hours"), Action: "/op/policies", Nonce: newNonce(), Problem: r.whole, Submit: v.T("Close these hours"), Hidden: []ui.Value{hidden("closed", "on")},
		Lead: v.T("Flexible and spot jobs get notice before closed hours begin, and go on after them. Guaranteed jobs aren't started where they could still run then; what runs already goes on."), Fields: []views.Input{
			{Field: ui.Field{Name: "name", ID: "f-name-closed", Label: v.T("Name"), Value: in.Name, Error: r.at["name"], Required: true, Autocomplete: "off"}},
			choose("tier", v.T("Closed to"), string(in.Tier), tiers),
			choose("class", v.T("GPU type"), string(in.Class), any(v.T("every GPU type"), types)),
			choose("org", v.T("Member"), string(in.Org), any(v.T("every member"), members)),
		}}
	f.Fields = append(f.Fields, v.when(in, r.at, "-closed")...)
	return f
}

func (s *Server) opPolicyAdd(v *visit) error {
	in := domain.TimePolicyInput{Name: v.text("name"), Org: pool.OrgID(v.text("org")), Class: pool.ClassID(v.text("class")), Closed: v.text("closed") != "", Tier: pool.Tier(v.text("tier")),
		Guaranteed: v.text("guaranteed"), Borrow: v.text("borrow"), Lend: v.text("lend"), First: v.text("first"), Last: v.text("last"), Days: v.texts("days"), From: v.text("from"), To: v.text("to")}
	p, warnings, err := s.service.AddTimePolicy(v.ctx, v.actor, in)
	if err != nil {
		if r, ok := v.refused(err); ok {
			return v.policiesPage(in, r)
		}
		return err
	}
	for _, w := range warnings {
		v.warn(v.warning(w))
	}
	return v.done("/op/policies", "%s was added. It holds from now on, at its hours.", p.Name)
}

func (s *Server) opPolicyEnd(v *visit) error {
	p, err := s.service.EndTimePolicy(v.ctx, v.actor, v.param("policy"))
	if err != nil {
		if r, ok := v.refused(err); ok {
			return v.policiesPage(domain.TimePolicyInput{}, r)
		}
		return err
	}
	return v.done("/op/policies", "%s has ended.", p.Name)
}
