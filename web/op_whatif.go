package web

import (
	"strings"

	"github.com/a-h/templ"

	"gpupool/domain"
	"gpupool/domain/money"
	"gpupool/domain/pool"
	"gpupool/domain/quota"
	"gpupool/views"
	"gpupool/views/ui"
)

// whatIfInput reads the question of the address.
func whatIfInput(query func(string) string) domain.WhatIfInput {
	return domain.WhatIfInput{Ask: query("ask"), Node: pool.NodeID(query("node")), Move: query("move") != "", Org: pool.OrgID(query("org")), Class: pool.ClassID(query("class")),
		GPUs: query("gpus"), Nodes: query("nodes"), NoLending: query("no_lending") != "", Fair: query("fair") != ""}
}

// opWhatIf answers a question about a changed pool. It is a GET: nothing is stored, and the address is the question.
func (s *Server) opWhatIf(v *visit) error {
	in := whatIfInput(v.query)
	page := views.Page{Title: v.T("What if"), Heading: v.T("What if"), Wide: true, Crumbs: crumbs(v.T("Queue"), "/op/queue", v.T("What if"), "")}
	w, err := s.service.WhatIf(v.ctx, v.actor, in)
	if err != nil {
		r, ok := v.refused(err)
		if !ok {
			return err
		}
		q, err := s.service.Queue(v.ctx, v.actor, domain.QueueFilter{})
		if err != nil {
			return err
		}
		return v.show(r.status, page, v.askPanel(q.Names, in, r))
	}
	a := answered{explained{v, w.Names, w.Asked}, w}
	page.Heading = a.question(in)
	page.Lead = v.T("Asked on %s. Nothing was changed: this is what the next decision would do differently.", v.at(w.Now))
	if len(w.Jobs)+len(w.Starts) == 0 {
		page.Notices = append(page.Notices, ui.Notice{Tone: ui.Neutral, Text: v.T("It would change nothing now.")})
		return v.page(page, views.Arrange(a.drained(in), v.askPanel(w.Names, in, refusal{})))
	}
	return v.page(page, views.Arrange(ui.Stats("counts", "", a.counts()), a.drained(in), a.jobs().Show(), a.covers(), a.costs(), a.starts(), v.askPanel(w.Names, in, refusal{})))
}

// askPanel has the questions, with the one that was asked filled in.
func (v *visit) askPanel(names domain.PoolNames, in domain.WhatIfInput, r refusal) templ.Component {
	form := func(ask, title, lead string, fields ...views.Input) templ.Component {
		f := views.Form{ID: "ask-" + ask, Title: v.T(title), Lead: v.T(lead), Action: "/op/queue/whatif", Get: true, Hidden: []ui.Value{hidden("ask", ask)}, Submit: v.T("Show what would change"), Fields: fields}
		if in.Ask == ask {
			f.Problem = r.whole
		}
		return f.Show()
	}
	field := func(ask, name, label, value string) ui.Field {
		f := ui.Field{Name: name, ID: "f-" + ask + "-" + name, Label: v.T(label), Value: value, Required: true}
		if in.Ask == ask {
			f.Error = r.at[name]
		}
		return f
	}
	chosen := func(ask, name, label, value string, all []ui.Option) views.Input {
		f := field(ask, name, label, value)
		f.Options = all
		return views.Input{Kind: "select", Field: f}
	}
	count := func(ask, name, label, value, usual string) views.Input {
		if in.Ask != ask {
			value = usual
		}
		f := field(ask, name, label, value)
		f.InputMode = "numeric"
		return views.Input{Kind: "number", Field: f}
	}
	yes := func(ask, name, label string, on bool) views.Input {
		return views.Input{Kind: "check", Field: ui.Field{Name: name, ID: "f-" + ask + "-" + name, Label: v.T(label), Value: onIf(on && in.Ask == ask)}}
	}
	classes, orgs := options(names.Classes), options(names.Orgs)
	return views.Block(ui.Panel{ID: "ask", Title: v.T("What if …"), Hint: v.T("The engine answers for the pool of this moment. Nothing is changed.")}, views.Columns(
		form(domain.AskDrain, "… a node is drained", "It takes no new job; what runs there goes on to its end, unless it is stopped now.",
			chosen(domain.AskDrain, "node", "Node", string(in.Node), options(names.Nodes)), yes(domain.AskDrain, "move", "Stop what runs there now and queue it again", in.Move)),
		form(domain.AskGrant, "… a member has more", "More guaranteed GPUs, which it may lend.",
			chosen(domain.AskGrant, "org", "Member", string(in.Org), orgs), chosen(domain.AskGrant, "class", "GPU type", string(in.Class), classes), count(domain.AskGrant, "gpus", "More guaranteed GPUs", in.GPUs, "2")),
		form(domain.AskAdd, "… nodes are added", "They belong to the consortium.",
			chosen(domain.AskAdd, "class", "GPU type", string(in.Class), classes), count(domain.AskAdd, "nodes", "Nodes", in.Nodes, "1"), count(domain.AskAdd, "gpus", "GPUs on each", in.GPUs, "8")),
		form(domain.AskRules, "… the rules are others", "Both are asked as checked; fair reclaim is now as the settings say.",
			yes(domain.AskRules, "no_lending", "No member lends what it does not use", in.NoLending), yes(domain.AskRules, "fair", "A borrower may take from a richer one (fair reclaim)", in.Fair || in.Ask != domain.AskRules && v.settings.Fair))))
}

// answered is an answer with the words for it.
type answered struct {
	explained
	w domain.WhatIf
}

// question says what was asked.
func (a answered) question(in domain.WhatIfInput) string {
	v := a.v
	switch in.Ask {
	case domain.AskDrain:
		if in.Move {
			return v.T("What if %s is drained and its jobs are stopped now", named(a.names.Nodes, in.Node))
		}
		return v.T("What if %s is drained", named(a.names.Nodes, in.Node))
	case domain.AskGrant:
		return v.T("What if %s has %d more guaranteed %s", a.org(in.Org), a.w.Change.Grants[0].GPUs, a.class(in.Class))
	case domain.AskAdd:
		return v.T("What if %d nodes with %d %s each are added", a.w.Change.Add[0].Nodes, a.w.Change.Add[0].GPUs, a.class(in.Class))
	}
	lending, fair := v.T("lending on"), v.T("fair reclaim off")
	if in.NoLending {
		lending = v.T("lending off")
	}
	if in.Fair {
		fair = v.T("fair reclaim on")
	}
	return v.T("What if: %s, %s", lending, fair)
}

func (a answered) counts() []ui.Stat {
	var more, fewer, stopped, spared, waits int64
	for _, j := range a.w.Fates {
		starts := func(f quota.Fate) bool { return f.Admitted || f.Promised }
		switch {
		case starts(j.After) && !starts(j.Before) && !j.Before.Runs:
			more++
		case starts(j.Before) && !starts(j.After):
			fewer++
		}
		if j.After.Stopped && !j.Before.Stopped {
			stopped++
		}
		if j.Before.Stopped && !j.After.Stopped {
			spared++
		}
	}
	waits = int64(len(a.w.After.Wait) - len(a.w.Before.Wait))
	v := a.v
	return []ui.Stat{{Label: v.T("Start that would wait"), Value: v.count(more)}, {Label: v.T("Wait that would start"), Value: v.count(fewer)},
		{Label: v.T("Stopped that would run on"), Value: v.count(stopped), Tone: ui.Warn}, {Label: v.T("Run on that would be stopped"), Value: v.count(spared)},
		{Label: v.T("Jobs waiting after it"), Value: v.count(int64(len(a.w.After.Wait))), Note: v.T("%d now, %s", len(a.w.Before.Wait), signed(v, waits))}}
}

func signed(v *visit, n int64) string {
	if n > 0 {
		return "+" + v.count(n)
	}
	return v.count(n)
}

// drained lists what runs on the drained node.
func (a answered) drained(in domain.WhatIfInput) templ.Component {
	if in.Ask != domain.AskDrain {
		return nil
	}
	v := a.v
	t := ui.Table{ID: "drained", Caption: v.T("Runs on the node now"), Columns: v.columns("Job", "Member", "#GPUs", "Ends at the latest"), Empty: ui.Empty{Title: v.T("Nothing runs on it"), Text: v.T("It can be taken away at once.")}}
	free := pool.Instant(0)
	for i, d := range a.w.Drained {
		end := text(v.T("no declared end"))
		if d.Ends != pool.Never {
			end = when(v.clock(d.Ends))
		}
		free = max(free, d.Ends)
		if i < domain.WhatIfRows {
			t.Rows = append(t.Rows, row(a.cell(d.Attempt.Job, d.Org), text(a.org(d.Org)), num(v.count(int64(d.GPUs))), end))
		}
	}
	if !in.Move && free > 0 && free != pool.Never {
		t.Note = v.T("The node is empty by %s at the latest.", v.at(free))
	}
	return t.Show()
}

// jobs lists every job to which something else happens.
func (a answered) jobs() ui.Table {
	v := a.v
	t := ui.Table{ID: "differences", Caption: v.T("What happens to jobs"), Columns: v.columns("Job", "Member", "As the pool is", "As it would be"), Empty: ui.Empty{Title: v.T("No job is treated differently")}}
	for i, j := range a.w.Fates {
		if i == domain.WhatIfRows {
			t.Note = v.T("The first %d of %d.", i, len(a.w.Fates))
			break
		}
		before, after := a.fate(j.Before), a.fate(j.After)
		if at, ok := a.w.Until[j.Job]; ok && (j.After.Waits() || j.After.Stopped && len(j.After.Reasons) > 0) {
			after = append(after, v.T("Expected start: %s.", v.at(at)))
		}
		t.Rows = append(t.Rows, row(a.cell(j.Job, j.Org), text(a.org(j.Org)), ui.Cell{Body: views.Said(before)}, ui.Cell{Body: views.Said(after)}))
	}
	return t
}

// fate says what a decision makes of a job.
func (a answered) fate(f quota.Fate) []string {
	v := a.v
	var out []string
	switch {
	case f.Admitted:
		out = append(out, v.T("Starts now: %s, charged as %s.", a.placed(f.Placement), v.split(f.Split)))
	case f.Stopped && f.For != "":
		out = append(out, v.T("Is stopped at %s for %s: %s.", v.at(f.At), a.job(f.For), v.T(rules[f.By])))
	case f.Why.Code != "":
		out = append(out, v.T("Is stopped at %s: the money for it ran out.", v.at(f.At)), a.reason(f.Why))
	case f.Stopped && f.At > a.w.Now:
		out = append(out, v.T("Is under notice and stopped at %s.", v.at(f.At)))
	case f.Stopped:
		out = append(out, v.T("Is stopped now and waits again."))
	case f.Promised:
		out = append(out, v.T("GPUs are freed for it by %s: %s.", v.at(f.At), a.placed(f.Placement)))
	case f.Runs:
		out = append(out, v.T("Runs on: %s, charged as %s.", a.placed(f.Placement), v.split(f.Split)))
	case f.Position > 0:
		out = append(out, v.T("Waits, place %d.", f.Position))
	}
	if !f.Promised {
		for _, r := range f.Reasons {
			out = append(out, a.reason(r))
		}
	}
	return out
}

// covers lists running jobs that are charged as something else.
func (a answered) covers() templ.Component {
	if len(a.w.Covers) == 0 {
		return nil
	}
	v := a.v
	t := ui.Table{ID: "covers", Caption: v.T("Charged as something else"), Columns: v.columns("Job", "Member", "Now", "As it would be")}
	for i, j := range a.w.Covers {
		if i == domain.WhatIfRows {
			t.Note = v.T("The first %d of %d.", i, len(a.w.Covers))
			break
		}
		t.Rows = append(t.Rows, row(a.cell(j.Job, j.Org), text(a.org(j.Org)), text(v.split(j.Before.Split)), text(v.split(j.After.Split))))
	}
	return t.Show()
}

// costs says what the changed covers come to.
func (a answered) costs() templ.Component {
	if len(a.w.Costs) == 0 {
		return nil
	}
	v := a.v
	t := ui.Table{ID: "costs", Caption: v.T("What that costs an hour, at list price"), Columns: []ui.Column{{Label: v.T("Member")}, {Label: v.T("Now (%s)", v.currency.Code), Num: true}, {Label: v.T("As it would be (%s)", v.currency.Code), Num: true}, {Label: v.T("Difference (%s)", v.currency.Code), Num: true}},
		Note: v.T("Of the jobs above only. Included hours pay for own use first.")}
	for _, c := range a.w.Costs {
		t.Rows = append(t.Rows, row(head(a.org(c.Org), memberPath(c.Org)), num(v.figure(c.Before)), num(v.figure(c.After)), num(v.change(c.After-c.Before))))
	}
	return t.Show()
}

// change is a difference of money with its sign.
func (f format) change(m money.Amount) string {
	if m > 0 {
		return "+" + f.figure(m)
	}
	return f.figure(m)
}

// starts lists waiting jobs that are expected to start at another time.
func (a answered) starts() templ.Component {
	if len(a.w.Starts) == 0 {
		return nil
	}
	v := a.v
	t := ui.Table{ID: "starts", Caption: v.T("Waits longer or shorter"), Columns: v.columns("Job", "Member", "Expected start now", "As it would be", "Difference"),
		Note: v.T("If all that runs lasts to its declared end and nothing new is submitted.")}
	clock := func(t pool.Instant) ui.Cell {
		if t == pool.Never {
			return text(v.T("not known"))
		}
		return when(v.clock(t))
	}
	for i, x := range a.w.Starts {
		if i == domain.WhatIfRows {
			t.Note = strings.Join([]string{v.T("The first %d of %d.", i, len(a.w.Starts)), t.Note}, " ")
			break
		}
		by := ""
		switch {
		case x.Before == pool.Never || x.After == pool.Never:
		case x.After > x.Before:
			by = v.T("%s later", v.span(x.After.Sub(x.Before)))
		default:
			by = v.T("%s sooner", v.span(x.Before.Sub(x.After)))
		}
		t.Rows = append(t.Rows, row(a.cell(x.Job, x.Org), text(a.org(x.Org)), clock(x.Before), clock(x.After), text(by)))
	}
	return t.Show()
}
