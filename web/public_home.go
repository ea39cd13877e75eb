package web

import (
	"slices"
	"strings"

	"github.com/a-h/templ"

	"gpupool/domain"
	"gpupool/domain/pool"
	"gpupool/views"
	"gpupool/views/ui"
)

// publicHome is the first screen for people who are not signed in.
func (s *Server) publicHome(v *visit) error {
	now, err := s.service.PoolNow(v.ctx)
	if err != nil {
		return err
	}
	m, err := s.service.Marketplace(v.ctx, v.actor)
	if err != nil {
		return err
	}
	p := views.Home{Sentence: v.T("One GPU cluster. %d organisations. One bill that everyone can check.", now.Members),
		Lead:    v.T("%s shares its GPUs: each member has a guaranteed part, lends what it does not need, borrows what others leave idle, and pays for what it used.", now.Settings.Name),
		Actions: []ui.Link{{Label: v.T("Sign in"), Href: "/signin"}, {Label: v.T("GPUs and prices"), Href: "/marketplace"}},
		Now:     []templ.Component{ui.Stats("figures", "", v.publicFigures(now)), v.publicHeat(now)},
		People:  v.demoPeople(""), Plans: v.plansTable(m).Show(), Prices: v.pricesTable(m).Show(), Verify: "/verify"}
	month, err := v.monthFigures()
	if err != nil {
		return err
	}
	if len(month) > 0 {
		p.Now = slices.Insert(p.Now, 1, templ.Component(ui.Stats("month", "", month)))
	}
	if p.Stories, err = v.demoStories(); err != nil {
		return err
	}
	p.Tour = v.tour()
	if now.Members == 1 {
		p.Sentence = v.T("One GPU cluster. One organisation so far. One bill that everyone can check.")
	}
	if now.Waiting > 0 {
		p.Now = append(p.Now, v.publicWaits(now).Show())
	}
	return v.page(views.Page{Title: now.Settings.Name, Live: v.live()}, p.Show())
}

func (v *visit) publicFigures(now domain.PoolNow) []ui.Stat {
	stats := []ui.Stat{{Label: v.T("Jobs running"), Value: v.count(int64(now.Running))}, {Label: v.T("Jobs waiting"), Value: v.count(int64(now.Waiting))}}
	for _, c := range now.Classes {
		stats = append(stats, ui.Stat{Label: v.T("%s free", c.Class.Name), Value: v.count(int64(c.Free)), Note: v.T("of %d healthy; allocated: %d own, %d lent, %d spot", c.Total, c.Own, c.Loan, c.Spot)})
	}
	return stats
}

// publicHeat groups the squares by GPU type: whose node it is, is not everybody's business.
func (v *visit) publicHeat(now domain.PoolNow) templ.Component {
	h := ui.Heat{ID: "heat", Caption: v.T("GPUs now: one square each, by who has it"), Open: true}
	for _, c := range now.Classes {
		g := ui.HeatGroup{Label: c.Class.Name, Href: "/marketplace#class-" + string(c.Class.ID), PerRow: 16}
		if c.Class.PerCard > 1 {
			g.Sub, g.PerRow = v.T("%d slices are one card", c.Class.PerCard), 2*c.Class.PerCard
		}
		for _, x := range []struct {
			use string
			n   int
		}{{"own", c.Own}, {"loan", c.Loan}, {"spot", c.Spot}, {"free", c.Free}, {"out", c.Out}} {
			for range x.n {
				g.Squares = append(g.Squares, ui.Square{Use: x.use})
			}
		}
		if len(g.Squares) > 0 {
			h.Groups = append(h.Groups, g)
		}
	}
	if len(h.Groups) == 0 {
		return ui.Empty{Title: v.T("No GPU in the pool yet"), Text: v.T("They show here as soon as the operator has connected the cluster.")}.Show()
	}
	return h.Show()
}

func (v *visit) publicWaits(now domain.PoolNow) ui.Table {
	t := ui.Table{ID: "waiting", Caption: v.T("Waiting jobs by their first reason"), Compact: true, Columns: v.columns("Reason", "What lifts it", "#Jobs")}
	for _, r := range now.Reasons {
		t.Rows = append(t.Rows, row(head(v.reasonName(r.Code), ""), text(v.lifts(r.Code)), num(v.count(int64(r.Jobs)))))
	}
	return t
}

// plansTable has the plans side by side: one column each.
func (v *visit) plansTable(m domain.Marketplace) ui.Table {
	t := ui.Table{ID: "plans", Caption: v.T("Plans: net, a month"), Columns: []ui.Column{{Label: v.T("GPU type")}},
		Empty: ui.Empty{Title: v.T("No plan is offered yet."), Text: v.T("Plans show here as soon as the operator has published one.")}}
	if len(m.Plans) == 0 {
		return t
	}
	fee := row(head(v.T("Monthly fee"), ""))
	for _, p := range m.Plans {
		t.Columns = append(t.Columns, ui.Column{Label: p.Name, Num: true})
		fee.Cells = append(fee.Cells, num(v.money(p.Version.Fee)))
	}
	t.Rows = append(t.Rows, fee)
	for _, c := range m.Classes {
		r, any := row(head(c.Name, "")), false
		for _, p := range m.Plans {
			cell := num(v.T("none"))
			for _, x := range p.Version.Classes {
				if x.Class == c.ID {
					any = true
					cell = sub(num(v.T("%d guaranteed", x.Guaranteed)), v.T("%s h included; borrow up to %d, lend up to %d", v.hours(x.Included), x.BorrowLimit, x.LendLimit))
				}
			}
			r.Cells = append(r.Cells, cell)
		}
		if any {
			t.Rows = append(t.Rows, r)
		}
	}
	return t
}

// pricesTable is what a GPU-hour costs now, by GPU type and cover.
func (v *visit) pricesTable(m domain.Marketplace) ui.Table {
	t := ui.Table{ID: "prices", Caption: v.T("Prices per GPU-hour now, net"), Columns: v.columns("GPU type", "#Own beyond included", "#Borrowed", "#Spot", "Cloud list prices"),
		Empty: ui.Empty{Title: v.T("No price yet."), Text: v.T("Prices show here as soon as the operator has published a list.")}, Note: v.T("Prices at this time of day in %s. Set-up of a run is free for the first %s.", m.Zone, v.span(v.settings.SetupGrace))}
	if m.InForce == nil {
		return t
	}
	for _, c := range m.Classes {
		r := row(head(c.Name, ""))
		for _, cover := range pool.Covers {
			cell := num("–")
			for _, p := range c.Prices {
				if p.Cover == cover {
					cell = num(v.price(p.Price))
				}
			}
			r.Cells = append(r.Cells, cell)
		}
		r.Cells = append(r.Cells, v.cloud(c.GPUClass))
		t.Rows = append(t.Rows, r)
	}
	return t
}

// cloud is the range of list prices of clouds with its date and source.
func (v *visit) cloud(c domain.GPUClass) ui.Cell {
	if c.CloudLow == 0 && c.CloudHigh == 0 {
		return text("–")
	}
	return sub(text(v.T("%s to %s", v.cloudPrice(c.CloudLow), v.cloudPrice(c.CloudHigh))), c.CloudNote)
}

// verify computes every issued invoice again, for anybody who asks. It shows numbers of documents, never content.
func (s *Server) verify(v *visit) error {
	began := s.wall()
	r, err := s.service.Verify(v.ctx)
	if err != nil {
		return err
	}
	n := ui.Notice{Tone: ui.Good, Title: v.T("Every invoice is right."), Text: v.T("%d invoices were computed again from the ledger in %s. None differs.", r.Invoices, v.seconds(s.wall().Sub(began)))}
	if r.Invoices == 0 {
		n = ui.Notice{Tone: ui.Info, Text: v.T("No invoice was issued yet. The first one is made when a month is closed.")}
	}
	if len(r.Differences) > 0 {
		n = ui.Notice{Tone: ui.Bad, Title: v.T("%d of %d invoices differ.", len(r.Differences), r.Invoices), Text: v.T("The operator was shown which.")}
		s.log.Error("invoices differ", "differences", strings.Join(r.Differences, "; "))
	}
	facts := []ui.Fact{{Name: v.T("Invoices"), Text: v.count(int64(r.Invoices))}, {Name: v.T("Differences"), Text: v.count(int64(len(r.Differences)))}}
	for _, issuer := range sortedKeys(r.Head) {
		facts = append(facts, ui.Fact{Name: v.T("Hash of the newest, %s", issuer), Text: r.Head[issuer], Mono: true})
	}
	return v.page(views.Page{Title: v.T("Verify"), Heading: v.T("All invoices, computed again"), Lead: v.T("Lines, taxes and sums from the ledger and the price lists of that time, and the chain of hashes.")},
		views.Arrange(n.Show(), views.Block(ui.Panel{ID: "result", Title: v.T("Result")}, ui.Facts(facts)), views.Row(ui.LinkButton(v.T("Verify again"), "/verify", "", "undo"))))
}
