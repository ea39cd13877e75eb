package web

import (
	"math/big"

	"github.com/a-h/templ"

	"gpupool/domain"
	"gpupool/domain/pool"
	"gpupool/domain/quota"
	"gpupool/views"
	"gpupool/views/ui"
)

// classes counts the GPUs of each type as the decision leaves them.
func (e explained) classes(q domain.Queue) ui.Table {
	v := e.v
	t := ui.Table{ID: "classes", Caption: v.T("GPUs after this decision"), Topics: "pool", Columns: v.columns("GPU type", "#Usable", "#Own", "#Borrowed", "#Spot", "#Free", "#Scattered", "#Reserved", "#Promised", "#Being freed", "#Closed", "#Others'"),
		Empty: ui.Empty{Title: v.T("No GPU type yet")},
		Note:  v.T("Free: on nodes where nothing runs. Scattered: free on nodes that are partly in use. Reserved: free, but kept for a blocked job. Promised: idle until the rest is freed for the same job. Being freed: of what runs. Closed: idle on nodes that take no work. Others': held by what is not of the pool.")}
	for _, c := range q.Classes {
		widest := v.T("none free")
		if c.Widest > 0 {
			widest = v.T("at most %d free on one node", c.Widest)
		}
		name := sub(head(e.class(c.Class), withQuery("/op/queue", v.echo.QueryParams(), "class", string(c.Class))), widest)
		var cells []ui.Cell
		for _, n := range []int{c.Capacity, c.Own, c.Loan, c.Spot, c.Whole, c.Scattered, c.Reserved, c.Promised, c.Freeing, c.Closed, c.Foreign} {
			cells = append(cells, num(v.count(int64(n))))
		}
		t.Rows = append(t.Rows, row(append([]ui.Cell{name}, cells...)...))
	}
	return t
}

// order says in which order organisations are asked in a class, and who is stopped next.
func (e explained) order(q domain.Queue) templ.Component {
	if q.Class == nil {
		return nil
	}
	c, v := *q.Class, e.v
	name := e.class(c.Class)
	return views.Arrange(
		views.Block(ui.Panel{ID: "owners", Title: v.T("%s: inside quota", name), Topics: "pool", Flush: true, Hint: v.T("Asked first, by the part of the quota in use.")}, e.owners(c).Show()),
		views.Block(ui.Panel{ID: "borrowers", Title: v.T("%s: beyond quota", name), Topics: "pool", Flush: true,
			Hint: v.T("Asked next, by score: GPUs on loan with the next job, plus half of the decayed mean loan, divided by weight times %d lendable GPUs. The smallest is first.", c.Lendable)}, e.borrowers(c).Show()),
		views.Block(ui.Panel{ID: "victims", Title: v.T("%s: who is stopped next if owners claim", name), Topics: "pool", Flush: true,
			Hint: v.T("Spot work first, then the last covered work of whoever has most on loan by weight. Guaranteed and covered work is never stopped by others.")}, e.victims(c).Show()))
}

func (e explained) owners(c quota.ClassState) ui.Table {
	v := e.v
	t := ui.Table{ID: "owners-order", Caption: v.T("Order inside quota"), Hidden: true, Columns: v.columns("#Turn", "Member", "#In use", "#Quota", "#Part in use", "Next job"), Empty: ui.Empty{Title: v.T("No member has quota or work here")}}
	for i, x := range c.Owners {
		if i == domain.QueueRows {
			t.Note = v.T("The first %d of %d.", i, len(c.Owners))
			break
		}
		part := v.T("no quota")
		if x.Quota > 0 {
			part = v.percent(int64(x.Use), int64(x.Quota))
		}
		t.Rows = append(t.Rows, row(num(turnOf(v, i, x)), head(e.org(x.Org), memberPath(x.Org)), num(v.count(int64(x.Use))), num(v.count(int64(x.Quota))), num(part), e.next(x, true)))
	}
	return t
}

func (e explained) borrowers(c quota.ClassState) ui.Table {
	v := e.v
	t := ui.Table{ID: "borrowers-order", Caption: v.T("Order beyond quota"), Hidden: true, Columns: v.columns("#Turn", "Member", "#On loan", "#Mean loan", "#Weight", "#Score", "Next job"), Empty: ui.Empty{Title: v.T("No member has quota or work here")}}
	for i, x := range c.Borrowers {
		if i == domain.QueueRows {
			t.Note = v.T("The first %d of %d.", i, len(c.Borrowers))
			break
		}
		t.Rows = append(t.Rows, row(num(turnOf(v, i, x)), head(e.org(x.Org), memberPath(x.Org)), num(v.count(int64(x.Over))), num(thousandths(x.MeanLoan)), num(v.count(int64(x.Weight))), num(v.score(x)), e.next(x, false)))
	}
	return t
}

func memberPath(o pool.OrgID) string { return "/op/members/" + string(o) }

// turnOf is the place of a member that has something to ask; the others follow without one.
func turnOf(v *visit, i int, x quota.Turn) string {
	if x.Head == "" {
		return "–"
	}
	return v.count(int64(i) + 1)
}

// next is the job that is asked about at this turn.
func (e explained) next(x quota.Turn, quota bool) ui.Cell {
	if x.Head == "" {
		return text(e.v.T("nothing waits"))
	}
	c := e.cell(x.Head, x.Org)
	c.Head = false
	c.Sub = e.v.T("%d GPUs; %d wait", x.Units, x.Waiting)
	if quota && !x.Inside {
		c.Sub += ". " + e.v.T("Beyond its quota: asked again below.")
	}
	return c
}

// thousandths writes thousandths of a GPU with one digit.
func thousandths(n int64) string { return big.NewRat(n, 1000).FloatString(1) }

// score is the number by which borrowers are ordered: GPUs by weight and lendable GPU.
func (f format) score(x quota.Turn) string {
	if x.ScoreDen <= 0 {
		return f.T("last in line")
	}
	return big.NewRat(x.ScoreNum, x.ScoreDen*1000).FloatString(2)
}

// victims lists whom owners' claims would stop, in order, and who is safe for how long.
func (e explained) victims(c quota.ClassState) ui.Table {
	v := e.v
	t := ui.Table{ID: "victims-order", Caption: v.T("Order of stopping"), Hidden: true, Columns: v.columns("#Turn", "Job", "Member", "Tier", "#GPUs", "#On loan", "Protected"), Empty: ui.Empty{Title: v.T("Nobody can be stopped"), Text: v.T("Everything that runs is inside its member's quota.")}}
	add := func(turn string, x quota.Victim) {
		kept := text(v.T("no"))
		switch {
		case x.Until == pool.Never:
			kept = text(v.T("always: it asked not to be interrupted"))
		case x.Until > 0:
			kept = when(v.clock(x.Until))
			kept.Sub = v.T("minimum run time")
		}
		t.Rows = append(t.Rows, row(num(turn), e.cell(x.Attempt.Job, x.Org), text(e.org(x.Org)), badge(v.tier(x.Tier)), num(v.count(int64(x.GPUs))), num(v.count(int64(x.Loan))), kept))
	}
	for i, x := range c.Victims[:min(len(c.Victims), domain.QueueRows)] {
		add(v.count(int64(i)+1), x)
	}
	for _, x := range c.Protected[:min(len(c.Protected), domain.QueueRows)] {
		add("–", x)
	}
	if all := len(c.Victims) + len(c.Protected); all > len(t.Rows) {
		t.Note = v.T("The first %d of %d.", len(t.Rows), all)
	}
	return t
}
