package web

import (
	"strconv"

	"github.com/a-h/templ"

	"gpupool/domain"
	"gpupool/domain/pool"
	"gpupool/views"
	"gpupool/views/ui"
)

// opPool is the pool now: every GPU, what waits and why.
func (s *Server) opPool(v *visit) error {
	now, err := s.service.PoolNow(v.ctx)
	if err != nil {
		return err
	}
	page := views.Page{Title: v.T("Pool"), Heading: v.T("The pool now"), Live: v.live(), Wide: true}
	if now.Settings.Paused {
		page.Notices = append(page.Notices, ui.Notice{Tone: ui.Warn, Text: v.T("Admission is paused: no new job starts."), Link: ui.Link{Label: v.T("To the queue"), Href: "/op/queue"}})
	}
	if !s.service.ClusterHealth().OK {
		page.Notices = append(page.Notices, ui.Notice{Tone: ui.Warn, Text: v.T("The cluster does not answer. Jobs run on; none starts or ends for us until it does.")})
	}
	return v.page(page, views.Arrange(ui.Stats("figures", "pool", v.poolFigures(now)), heatOf(v, now), views.Columns(
		views.Block(ui.Panel{ID: "by-reason", Title: v.T("Waiting, by reason"), Topics: "pool", Flush: true}, v.reasonTable(now).Show()),
		views.Block(ui.Panel{ID: "by-class", Title: v.T("By GPU type"), Topics: "pool", Flush: true}, v.classNowTable(now).Show()))))
}

func (v *visit) poolFigures(now domain.PoolNow) []ui.Stat {
	var held, healthy int64
	for _, c := range now.Classes {
		cards := func(n int) int64 { return int64(n) * 840 / int64(max(1, c.Class.PerCard)) } // slices count as their part of a card
		held, healthy = held+cards(c.Own+c.Loan+c.Spot), healthy+cards(c.Total)
	}
	allocated := ui.Stat{Label: v.T("Allocated, of all healthy cards"), Value: v.T("none"), Note: v.T("Allocated: somebody has it. Slices count as their part of a card.")}
	if healthy > 0 {
		allocated.Value = v.percent(held, healthy)
		allocated.Meter = &ui.Meter{Value: held, Max: healthy, Label: v.T("%s allocated", allocated.Value), Tone: ui.Info}
	}
	return []ui.Stat{allocated,
		{Label: v.T("Jobs running"), Value: v.count(int64(now.Running))},
		{Label: v.T("Jobs waiting"), Value: v.count(int64(now.Waiting)), Href: "/op/queue"},
		{Label: v.T("Members"), Value: v.count(int64(now.Members)), Href: "/op/members"}}
}

// heatOf shows one square for each GPU, grouped by node.
func heatOf(v *visit, now domain.PoolNow) templ.Component {
	h := ui.Heat{ID: "heat", Caption: v.T("GPUs now: one square each"), Topics: "pool"}
	names := map[pool.ClassID]domain.GPUClass{}
	for _, c := range now.Classes {
		names[c.Class.ID] = c.Class
	}
	for _, n := range now.Nodes {
		g := ui.HeatGroup{Label: n.Node.Name, Sub: names[n.Node.Class].Name + ", " + string(n.Node.Site), Href: "/op/nodes/" + string(n.Node.ID)}
		if k := names[n.Node.Class].PerCard; k > 1 {
			g.PerRow = 2 * k
		}
		for _, use := range n.Squares {
			if use == "foreign" {
				use = "out"
			}
			g.Squares = append(g.Squares, ui.Square{Use: use})
		}
		h.Groups = append(h.Groups, g)
	}
	if len(h.Groups) == 0 {
		return ui.Empty{Title: v.T("No GPU in the pool yet"), Text: v.T("Connect the cluster, then create a GPU type for its devices."), Link: ui.Link{Label: v.T("GPU types"), Href: "/op/classes"}}.Show()
	}
	return h.Show()
}

func (v *visit) reasonTable(now domain.PoolNow) ui.Table {
	t := ui.Table{ID: "reasons", Caption: v.T("Waiting jobs by their first reason"), Hidden: true, Columns: v.columns("Reason", "What lifts it", "#Jobs"), Empty: ui.Empty{Title: v.T("Nothing waits")}}
	for _, r := range now.Reasons {
		t.Rows = append(t.Rows, row(head(v.reasonName(r.Code), ""), text(v.lifts(r.Code)), num(v.count(int64(r.Jobs)))))
	}
	return t
}

func (v *visit) classNowTable(now domain.PoolNow) ui.Table {
	t := ui.Table{ID: "class-now", Caption: v.T("GPUs now by type"), Hidden: true, Columns: v.columns("GPU type", "#Own", "#Borrowed", "#Spot", "#Free", "#Out of service", "#Healthy"), Empty: ui.Empty{Title: v.T("No GPU type yet")}}
	for _, c := range now.Classes {
		t.Rows = append(t.Rows, row(head(c.Class.Name, ""), num(strconv.Itoa(c.Own)), num(strconv.Itoa(c.Loan)), num(strconv.Itoa(c.Spot)), num(strconv.Itoa(c.Free)), num(strconv.Itoa(c.Out)), num(strconv.Itoa(c.Total))))
	}
	return t
}
