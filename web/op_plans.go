package web

import (
	"net/http"
	"strconv"
	"strings"

	"gpupool/domain"
	"gpupool/domain/pool"
	"gpupool/views"
	"gpupool/views/ui"
)

// opPlans lists the plans with what the newest version gives.
func (s *Server) opPlans(v *visit) error {
	return v.plansPage(domain.PlanInput{}, refusal{status: http.StatusOK})
}

func (v *visit) plansPage(in domain.PlanInput, r refusal) error {
	plans, err := v.server.service.Plans(v.ctx, v.actor)
	if err != nil {
		return err
	}
	t := ui.Table{ID: "plans", Caption: v.T("Plans"), Columns: v.columns("Plan", "State", "#Fee a month, net", "Gives"),
		Empty: ui.Empty{Title: v.T("No plan yet"), Text: v.T("A plan is what a member subscribes to: a monthly fee, guaranteed GPUs and included hours.")}}
	for _, p := range plans {
		cells := []ui.Cell{sub(head(p.Name, "/op/plans/"+string(p.ID)), p.NameZH), badge(v.planStates(p)...)}
		if shown, ok := p.Published(); ok {
			cells = append(cells, num(v.money(shown.Fee)), text(v.gives(shown)))
		} else {
			cells = append(cells, num(""), text(v.T("Nothing published yet")))
		}
		t.Rows = append(t.Rows, row(cells...))
	}
	form := views.Form{ID: "plan", Action: "/op/plans", Nonce: newNonce(), Submit: v.T("Create the plan"), Problem: r.whole, Fields: []views.Input{
		{Field: ui.Field{Name: "name", Label: v.T("Name"), Value: in.Name, Error: r.at["name"], Required: true}},
		{Field: ui.Field{Name: "name_zh", Label: v.T("Name in Chinese"), Value: in.NameZH, Error: r.at["name_zh"]}},
		{Field: ui.Field{Name: "id", Label: v.T("Short name"), Hint: v.T("Small letters, digits and hyphens; it never changes."), Value: in.ID, Error: r.at["id"], Required: true, Mono: true}},
		{Kind: "check", Field: ui.Field{Name: "hidden", Label: v.T("Not on the marketplace: only for whom the operator offers it"), Value: onIf(in.Hidden)}},
	}}
	return v.show(r.status, views.Page{Title: v.T("Plans"), Heading: v.T("Plans")},
		views.Arrange(t.Show(), views.Block(ui.Panel{ID: "new", Title: v.T("New plan")}, form.Show())))
}

// onIf is the value of a checkbox.
func onIf(yes bool) string {
	if yes {
		return "on"
	}
	return ""
}

func (v *visit) planStates(p domain.PlanView) []ui.Badge {
	var out []ui.Badge
	if x, ok := p.Published(); ok {
		out = append(out, ui.ToneBadge(ui.Good, v.T("Version %d published", x.N)))
	}
	if x, ok := p.Draft(); ok {
		out = append(out, ui.StateBadge("draft", v.T("Version %d is a draft", x.N)))
	}
	if p.Hidden {
		out = append(out, ui.ToneBadge(ui.Neutral, v.T("hidden")))
	}
	return out
}

// gives says a version's classes in one line.
func (v *visit) gives(x domain.PlanVersion) string {
	var parts []string
	for _, c := range x.Classes {
		parts = append(parts, v.T("%s: %d guaranteed, %s h included, borrow %d, lend %d", v.typeName(c.Class), c.Guaranteed, v.hours(c.Included), c.BorrowLimit, c.LendLimit))
	}
	return strings.Join(parts, "; ")
}

func (s *Server) opPlanCreate(v *visit) error {
	in := domain.PlanInput{ID: v.text("id"), Name: v.text("name"), NameZH: v.text("name_zh"), Hidden: v.text("hidden") != ""}
	p, err := s.service.CreatePlan(v.ctx, v.actor, in)
	if err != nil {
		if r, ok := v.refused(err); ok {
			return v.plansPage(in, r)
		}
		return err
	}
	return v.done("/op/plans/"+string(p.ID), "The plan %s was created. Now say what it gives.", p.Name)
}

// plan is the one of the path.
func (v *visit) plan() (domain.PlanView, error) {
	plans, err := v.server.service.Plans(v.ctx, v.actor)
	for _, p := range plans {
		if string(p.ID) == v.param("plan") {
			return p, nil
		}
	}
	if err == nil {
		err = domain.Errf(domain.NotFound, "There is no such plan.")
	}
	return domain.PlanView{}, err
}

// opPlan shows the versions of a plan and the form of its draft.
func (s *Server) opPlan(v *visit) error {
	p, err := v.plan()
	if err != nil {
		return err
	}
	in := domain.PlanVersionInput{}
	from, ok := p.Draft()
	if !ok {
		from, ok = p.Published()
	}
	if ok {
		in.Fee, in.CarryOver, in.AnnualPool = v.currency.Format(from.Fee), from.CarryOver, from.AnnualPool
	}
	for _, c := range from.Classes {
		in.Classes = append(in.Classes, domain.PlanClassInput{Class: c.Class, Guaranteed: strconv.Itoa(c.Guaranteed),
			IncludedHours: strconv.FormatInt(int64(c.Included)/pool.MillisPerHour, 10), Borrow: strconv.Itoa(c.BorrowLimit), Lend: strconv.Itoa(c.LendLimit)})
	}
	return v.planPage(p, in, refusal{status: http.StatusOK})
}

func (v *visit) planPage(p domain.PlanView, in domain.PlanVersionInput, r refusal) error {
	classes, err := v.server.service.Classes(v.ctx)
	if err != nil {
		return err
	}
	t := ui.Table{ID: "versions", Caption: v.T("Versions"), Columns: v.columns("Version", "State", "#Fee a month, net", "Gives"),
		Empty: ui.Empty{Title: v.T("No version yet"), Text: v.T("Fill in the form and save a draft; then publish it.")}}
	publish := views.Prose()
	for _, x := range p.Versions {
		state := sub(badge(ui.StateBadge("draft", v.T("Draft"))), "")
		if x.PublishedAt != 0 {
			state = sub(badge(ui.ToneBadge(ui.Good, v.T("Published"))), v.at(x.PublishedAt))
		} else {
			publish = ui.Confirm{ID: "publish", Label: v.T("Publish version %d", x.N), Title: v.T("Publish version %d of %s?", x.N, p.Name), Plain: true,
				Loses:  []string{v.T("A published version never changes."), v.T("Members who have an older version keep it until they change.")},
				Action: "/op/plans/" + string(p.ID) + "/publish", Nonce: newNonce(), Fields: []ui.Value{hidden("version", string(x.ID))}, Do: v.T("Publish")}.Show()
		}
		t.Rows = append(t.Rows, row(head(strconv.Itoa(x.N), ""), state, num(v.money(x.Fee)), text(v.gives(x))))
	}
	form := v.planForm(p, in, classes, r)
	page := views.Page{Title: p.Name, Heading: p.Name, Lead: p.NameZH, Badges: v.planStates(p), Crumbs: crumbs(v.T("Plans"), "/op/plans", p.Name, "")}
	return v.show(r.status, page, views.Arrange(t.Show(), publish, views.Block(ui.Panel{ID: "draft", Title: v.T("Draft"),
		Hint: v.T("It begins as a copy of what is published. Nothing of it counts until it is published.")}, form.Show())))
}

func (v *visit) planForm(p domain.PlanView, in domain.PlanVersionInput, classes []domain.GPUClass, r refusal) views.Form {
	whole := r.whole
	if x := r.at["classes"]; x != "" {
		whole = strings.TrimSpace(whole + " " + x)
	}
	f := views.Form{ID: "version", Action: "/op/plans/" + string(p.ID) + "/draft", Nonce: newNonce(), Submit: v.T("Save the draft"), Problem: whole,
		Fields: []views.Input{{Kind: "number", Field: ui.Field{Name: "fee", Label: v.T("Fee a month, net"), Unit: v.currency.Code, Value: in.Fee, Error: r.at["fee"], Required: true}}}}
	typed := map[pool.ClassID]domain.PlanClassInput{}
	for _, c := range in.Classes {
		typed[c.Class] = c
	}
	for _, c := range classes {
		x := typed[c.ID]
		one := func(name, label, unit, value, hint string) views.Input {
			field := name + "." + string(c.ID)
			return views.Input{Kind: "number", Field: ui.Field{Name: field, Label: label, Unit: unit, Value: value, Hint: hint, Error: r.at[field]}}
		}
		f.Fields = append(f.Fields, views.Input{Kind: "heading", Field: ui.Field{Label: c.Name}},
			one("guaranteed", v.T("Guaranteed at once"), v.T("GPUs"), x.Guaranteed, ""),
			one("included", v.T("Included in the fee, a month"), v.T("GPU-hours"), x.IncludedHours, ""),
			one("borrow", v.T("May borrow up to"), v.T("GPUs"), x.Borrow, ""),
			one("lend", v.T("Lends when idle up to"), v.T("GPUs"), x.Lend, v.T("At most the guaranteed ones.")))
	}
	return f
}

func (s *Server) opPlanDraft(v *visit) error {
	p, err := v.plan()
	if err != nil {
		return err
	}
	classes, err := s.service.Classes(v.ctx)
	if err != nil {
		return err
	}
	in := domain.PlanVersionInput{Fee: v.text("fee")}
	for _, c := range classes {
		id := "." + string(c.ID)
		in.Classes = append(in.Classes, domain.PlanClassInput{Class: c.ID, Guaranteed: v.text("guaranteed" + id), IncludedHours: v.text("included" + id),
			Borrow: v.text("borrow" + id), Lend: v.text("lend" + id)})
	}
	x, err := s.service.SavePlanDraft(v.ctx, v.actor, p.ID, in)
	if err != nil {
		if r, ok := v.refused(err); ok {
			return v.planPage(p, in, r)
		}
		return err
	}
	return v.done("/op/plans/"+string(p.ID), "The draft of version %d was saved.", x.N)
}

func (s *Server) opPlanPublish(v *visit) error {
	p, err := v.plan()
	if err != nil {
		return err
	}
	draft, ok := p.Draft()
	if !ok || string(draft.ID) != v.text("version") {
		return domain.Errf(domain.Conflict, "There is no such draft any more. It may have been published a moment ago.")
	}
	x, warnings, err := s.service.PublishPlan(v.ctx, v.actor, draft.ID)
	if err != nil {
		return err
	}
	for _, w := range warnings {
		v.warn(v.warning(w))
	}
	return v.done("/op/plans/"+string(p.ID), "Version %d of %s is published.", x.N, p.Name)
}
