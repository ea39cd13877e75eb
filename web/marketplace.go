package web

import (
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/a-h/templ"

	"gpupool/domain"
	"gpupool/domain/money"
	"gpupool/domain/pool"
	"gpupool/views"
	"gpupool/views/ui"
)

// marketplace is for everybody: what there is, what is free, what it costs now and what was announced.
func (s *Server) marketplace(v *visit) error {
	m, err := s.service.Marketplace(v.ctx, v.actor)
	if err != nil {
		return err
	}
	blocks := []templ.Component{v.classesTable(m).Show(), v.plansTable(m).Show(), v.pricesTable(m).Show()}
	if m.InForce != nil {
		blocks = append(blocks, v.priceList(*m.InForce, v.T("%s, in force since %s", m.InForce.Name, v.at(m.InForce.From)), m))
	}
	for _, l := range m.Announced {
		blocks = append(blocks, v.priceList(l, v.T("Announced: %s, from %s on", l.Name, v.at(l.From)), m))
	}
	page := views.Page{Title: v.T("GPUs and prices"), Heading: v.T("GPUs and prices"), Live: v.live(), Lead: v.T("What is in the pool, what is free, and what an hour of it costs. All prices are net.")}
	return v.page(page, views.Arrange(blocks...))
}

func (v *visit) classesTable(m domain.Marketplace) ui.Table {
	t := ui.Table{ID: "classes", Caption: v.T("GPU types"), Topics: "pool", Columns: v.columns("GPU type", "Memory", "#In the pool", "#Free now", "#Allocated now", "Saving as own use"),
		Empty: ui.Empty{Title: v.T("No GPU type yet."), Text: v.T("The operator makes GPU types of the cluster's devices.")},
		Note:  v.T("Cloud list prices are without storage, traffic and tax; they are compared at the exchange rate of their date.")}
	for _, c := range m.Classes {
		memory := v.T("%d GiB", c.MemoryMiB/1024)
		if c.PerCard > 1 {
			memory += ", " + v.T("%d slices are one card", c.PerCard)
		}
		t.Rows = append(t.Rows, row(sub(head(c.Name, ""), string(c.ID)), text(memory), num(number(c.Total)), num(number(c.Free())), num(number(c.Used)), v.saving(c)))
	}
	return t
}

// saving compares the price of own use beyond the included hours with what clouds ask, as a range.
func (v *visit) saving(c domain.MarketClass) ui.Cell {
	for _, p := range c.Prices {
		if p.Cover != pool.Own || c.CloudLow <= 0 || c.CloudHigh <= 0 {
			continue
		}
		low, high := savedPercent(int64(p.Price), c.CloudLow), savedPercent(int64(p.Price), c.CloudHigh)
		return sub(text(v.T("%d to %d %%", low, high)), v.T("against %s to %s: %s", v.cloudPrice(c.CloudLow), v.cloudPrice(c.CloudHigh), c.CloudNote))
	}
	return text("–")
}

// savedPercent is how much less ours is, in whole per cent, rounded down; never below zero.
func savedPercent(ours, theirs int64) int64 { return max(0, (theirs-ours)*100/theirs) }

func (v *visit) cloudPrice(microMinor int64) string { return v.price(money.Price(microMinor)) }

// priceList is every row of a list: prices differ by time of day.
func (v *visit) priceList(l domain.PriceList, title string, m domain.Marketplace) templ.Component {
	t := ui.Table{ID: "list-" + string(l.ID), Caption: title, Compact: true, Columns: v.columns("GPU type", "Charged as", "Time of day", "#Price per GPU-hour", "#Lender's share"), Note: v.T("Times of %s.", m.Zone)}
	for _, r := range l.Rows {
		share := "–"
		if r.LenderShare > 0 {
			share = money.BasisPoints(r.LenderShare).String() + " %"
		}
		t.Rows = append(t.Rows, row(head(v.typeName(r.Class), ""), badge(v.coverage(r.Cover)), text(v.window(r)), num(v.price(r.Price)), num(share)))
	}
	return t.Show()
}

func (v *visit) window(r domain.PriceRow) string {
	if r.Daily().WholeDay() {
		return v.T("all day")
	}
	return v.T("%s to %s", clockText(r.FromMinute), clockText(r.ToMinute))
}

func clockText(minute int) string {
	two := func(n int) string {
		if n < 10 {
			return "0" + strconv.Itoa(n)
		}
		return strconv.Itoa(n)
	}
	return two(minute/60) + ":" + two(minute%60)
}

// seconds is a short length of time with its milliseconds.
func (f format) seconds(d time.Duration) string {
	ms := d.Milliseconds()
	frac := strconv.FormatInt(1000+ms%1000, 10)[1:]
	return f.T("%s s", f.count(ms/1000)+"."+frac)
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
