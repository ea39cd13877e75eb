package web

import (
	"net/http"

	"github.com/a-h/templ"

	"gpupool/domain"
	"gpupool/domain/pool"
	"gpupool/views"
	"gpupool/views/ui"
)

// quotaShow shows who uses the quota now, and lets the owner set what is borrowed and lent at most.
func (s *Server) quotaShow(v *visit) error {
	return v.quotaPage("", domain.LimitInput{}, refusal{status: http.StatusOK})
}

func (v *visit) quotaPage(class pool.ClassID, in domain.LimitInput, r refusal) error {
	d, err := v.server.service.Dashboard(v.ctx, v.actor, v.org)
	if err != nil {
		return err
	}
	tree, err := v.server.service.QuotaTree(v.ctx, v.actor, v.org)
	if err != nil {
		return err
	}
	bars := views.Block(ui.Panel{ID: "quota", Title: v.T("Now"), Topics: "org", Hint: v.T("Guaranteed GPUs are used, lent or free. Lent ones come back when your own work needs them.")}, v.quotaBars(d)...)
	t := ui.Table{ID: "limits", Caption: v.T("Quota by GPU type"), Topics: "org", Columns: v.columns("GPU type", "#Guaranteed", "#Own use", "#Lent out", "#Free", "#Borrowed", "#Borrow limit", "#Lend limit", "#Spot"),
		Empty: ui.Empty{Title: v.T("No quota yet."), Text: v.T("Quota comes with a plan or with hardware that you put in."), Link: ui.Link{Label: v.T("Plans"), Href: "/marketplace"}},
		Note:  v.T("Limits of the plan stand after the slash.")}
	blocks := []templ.Component{bars, t.Show()}
	for _, q := range d.Quotas {
		t.Rows = append(t.Rows, row(head(q.Name, ""), num(number(q.Nominal)), num(number(q.OwnUsed)), num(number(q.Lent)), num(number(q.Free())), num(number(q.Borrowed)),
			num(number(q.Borrow)+" / "+number(q.MostBorrow)), num(number(q.Lend)+" / "+number(q.MostLend)), num(number(q.Spot))))
	}
	blocks[1] = t.Show()
	schedule, err := v.server.service.ScheduleOf(v.ctx, v.actor, v.org)
	if err != nil {
		return err
	}
	blocks = append(blocks, v.schedule(schedule, tree.Names.Classes)...)
	blocks = append(blocks, v.quotaTrees(tree)...)
	if v.actor.Can(v.org, domain.ActQuota) {
		for _, q := range d.Quotas {
			f, at := domain.LimitInput{Borrow: number(q.Borrow), Lend: number(q.Lend)}, refusal{}
			if q.Class == class {
				f, at = in, r
			}
			blocks = append(blocks, v.limitForm(q, f, at).Show())
		}
	}
	return v.show(r.status, views.Page{Title: v.T("Quota"), Heading: v.T("Quota"), Live: v.live(), Lead: v.T("What the plan guarantees, who uses it now, and how far you borrow and lend.")}, views.Arrange(blocks...))
}

// schedule is what time makes of the quota: the rules, and what changes next. Nothing where time changes nothing.
func (v *visit) schedule(s domain.Schedule, classes map[pool.ClassID]string) []templ.Component {
	if len(s.Policies) == 0 && len(s.Changes) == 0 {
		return nil
	}
	rules := ui.Table{ID: "policies", Caption: v.T("Rules by time"), Topics: "org pool", Columns: v.columns("Rule", "GPU type", "What", "When", "State"),
		Note: v.T("Hours and days are those of %s. Your own lower limits hold all the same.", v.settings.Zone), Empty: ui.Empty{Title: v.T("None")}}
	for _, p := range s.Policies {
		what := v.T("every GPU type")
		if p.Class != "" {
			what = named(classes, p.Class)
		}
		rules.Rows = append(rules.Rows, row(head(p.Name, ""), text(what), text(v.effects(p.TimePolicy)), text(v.hoursOf(p.TimePolicy)), v.holding(p)))
	}
	next := ui.Table{ID: "changes", Caption: v.T("What changes next"), Topics: "org pool", Columns: v.columns("From", "GPU type", "#Guaranteed", "#Borrow limit", "#Lend limit"),
		Note: v.T("The next four weeks, at most 20 rows. What runs isn't stopped by a lower quota: flexible work above it is borrowed from then on."), Empty: ui.Empty{Title: v.T("No quota changes in the next four weeks.")}}
	change := func(a, b int) ui.Cell {
		if a == b {
			return num(number(b))
		}
		return num(v.T("%d → %d", a, b))
	}
	for _, c := range s.Changes {
		next.Rows = append(next.Rows, row(when(v.business(c.From, v.settings.Location())), head(named(classes, c.After.Class), ""),
			change(c.Before.Nominal, c.After.Nominal), change(c.Before.Borrow, c.After.Borrow), change(c.Before.Lend, c.After.Lend)))
	}
	return []templ.Component{rules.Show(), next.Show()}
}

// quotaTrees show, for each GPU type, the consortium, its organisations and their projects.
func (v *visit) quotaTrees(tree domain.QuotaTree) []templ.Component {
	var all []templ.Component
	for _, class := range tree.ClassesOf() {
		t := ui.Table{ID: "tree-" + string(class), Caption: v.T("%s: who has what", named(tree.Names.Classes, class)), Topics: "org pool",
			Columns: v.columns("Account", "#Guaranteed", "#Own", "#Borrowed", "#Spot", "#Lent out", "#May be lent", "#Kept back", "#May still take", "#Borrow / lend limit", "#Weight"),
			Note:    v.T("Own and borrowed is what runs inside and beyond the quota. May still take: by quota; whether GPUs are free is another question.")}
		for _, r := range tree.Rows {
			if r.Class == class {
				t.Rows = append(t.Rows, v.quotaRows(tree, r)...)
			}
		}
		all = append(all, t.Show())
	}
	return all
}

// quotaRows are the lines of an account: the consortium's are its whole and its own pool.
func (v *visit) quotaRows(tree domain.QuotaTree, r domain.QuotaRow) []ui.Row {
	n := func(k int) ui.Cell { return num(number(k)) }
	none := num("")
	if r.Org == "" {
		whole := row(head(v.T("The whole consortium"), ""), n(r.Sold+r.Nominal), n(r.Own), n(r.Loan), n(r.Spot), n(r.Loan+r.Spot), n(r.Lendable), n(r.Sold+r.Nominal-r.Quota), n(r.Available), none, none)
		whole.Total = true
		own := sub(head(v.T("Its own pool"), ""), v.T("beyond all guarantees"))
		return []ui.Row{whole, row(own, n(r.Nominal), none, none, none, n(r.Lent), none, none, none, none, none)}
	}
	limit := func(k *int, word string) string {
		if k == nil {
			return v.T(word)
		}
		return number(*k)
	}
	limits := limit(r.BorrowLimit, "none") + " / " + limit(r.LendLimit, "all")
	if r.Project != "" {
		if r.BorrowLimit == nil && r.LendLimit == nil {
			limits = ""
		}
		return []ui.Row{row(sub(head("— "+named(tree.Projects, r.Project), "/o/"+string(r.Org)+"/projects/"+string(r.Project)), v.T("project")), n(r.Quota), n(r.Own), n(r.Loan), n(r.Spot), none, none, n(r.Kept), n(r.Available), num(limits), none)}
	}
	return []ui.Row{row(head(named(tree.Names.Orgs, r.Org), ""), n(r.Quota), n(r.Own), n(r.Loan), n(r.Spot), n(r.Lent), n(r.Lendable), n(r.Kept), n(r.Available), num(limits), n(r.Weight))}
}

// opQuota is the hierarchy of the whole pool.
func (s *Server) opQuota(v *visit) error {
	return v.opQuotaPage("", "", "", refusal{status: http.StatusOK})
}

func (v *visit) opQuotaPage(org, class, weight string, r refusal) error {
	tree, err := v.server.service.QuotaTree(v.ctx, v.actor, "")
	if err != nil {
		return err
	}
	blocks := v.quotaTrees(tree)
	if len(blocks) == 0 {
		blocks = append(blocks, ui.Empty{Title: v.T("No GPU type yet"), Link: ui.Link{Label: v.T("GPU types"), Href: "/op/classes"}}.Show())
	}
	if len(tree.Names.Orgs) > 0 && len(tree.Names.Classes) > 0 {
		blocks = append(blocks, v.weightForm(tree.Names, org, class, weight, r))
	}
	return v.show(r.status, views.Page{Title: v.T("Quota"), Heading: v.T("Quota"), Live: v.live(), Wide: true, Lead: v.T("What is guaranteed to whom, who uses it, and what is lent and borrowed now.")}, views.Arrange(blocks...))
}

// weightForm sets what a member counts among the borrowers of a GPU type.
func (v *visit) weightForm(names domain.PoolNames, org, class, weight string, r refusal) templ.Component {
	chosen := func(name, label, value string, all []ui.Option) views.Input {
		return views.Input{Kind: "select", Field: ui.Field{Name: name, Label: v.T(label), Value: value, Error: r.at[name], Required: true, Options: append([]ui.Option{option("", v.T("Choose…"))}, all...)}}
	}
	f := views.Form{ID: "weight", Action: "/op/quota/weight", Nonce: newNonce(), Problem: r.whole, Submit: v.T("Set the weight"), Fields: []views.Input{
		chosen("org", "Member", org, options(names.Orgs)), chosen("class", "GPU type", class, options(names.Classes)),
		{Kind: "number", Field: ui.Field{Name: "weight", Label: v.T("Weight"), Value: weight, Error: r.at["weight"], Required: true, InputMode: "numeric", Hint: v.T("0 to %d; 1 where none was set. 0 is last in line.", domain.MaxWeight)}}}}
	return views.Block(ui.Panel{ID: "weights", Title: v.T("Weight of a member"), Hint: v.T("Who borrows next is decided by GPUs on loan divided by weight: with twice the weight a member borrows twice as much. What is inside quota does not depend on it.")}, f.Show())
}

// opWeight sets a weight from now on.
func (s *Server) opWeight(v *visit) error {
	org, class, weight := v.text("org"), v.text("class"), v.text("weight")
	if _, err := s.service.SetWeight(v.ctx, v.actor, pool.OrgID(org), pool.ClassID(class), weight); err != nil {
		if r, ok := v.refused(err); ok {
			return v.opQuotaPage(org, class, weight, r)
		}
		return err
	}
	return v.done("/op/quota", "The weight was set. It counts from the next decision on.")
}

func (v *visit) limitForm(q domain.QuotaNow, in domain.LimitInput, r refusal) views.Form {
	id := string(q.Class)
	return views.Form{ID: "limit-" + id, Title: v.T("Limits of %s", q.Name), Action: v.orgPath("/quota/" + id), Nonce: newNonce(), Problem: r.whole, Submit: v.T("Set the limits"), Fields: []views.Input{
		{Kind: "number", Field: ui.Field{Name: "borrow", ID: "f-borrow-" + id, Label: v.T("Borrow at most"), Unit: v.T("GPUs"), Value: in.Borrow, Error: r.at["borrow"], InputMode: "numeric", Hint: v.T("0 to %d; empty is the plan's.", q.MostBorrow)}},
		{Kind: "number", Field: ui.Field{Name: "lend", ID: "f-lend-" + id, Label: v.T("Lend at most"), Unit: v.T("GPUs"), Value: in.Lend, Error: r.at["lend"], InputMode: "numeric", Hint: v.T("0 to %d; empty is the plan's. Lending earns the lender's share of the price.", q.MostLend)}},
	}}
}

// quotaLimit sets both limits of a GPU type from now on.
func (s *Server) quotaLimit(v *visit) error {
	class := pool.ClassID(v.param("class"))
	in := domain.LimitInput{Borrow: v.text("borrow"), Lend: v.text("lend")}
	if _, err := s.service.SetLimit(v.ctx, v.actor, v.org, class, in); err != nil {
		if r, ok := v.refused(err); ok {
			return v.quotaPage(class, in, r)
		}
		return err
	}
	return v.done(v.orgPath("/quota"), "The limits were set. They count from now on.")
}
