package web

import (
	"strings"

	"gpupool/domain"
	"gpupool/domain/invoice"
	"gpupool/domain/money"
	"gpupool/domain/pool"
	"gpupool/domain/rating"
	"gpupool/views"
	"gpupool/views/ui"
)

// invoiceShow is an issued invoice as a page; with .pdf or .csv at the end of its number, as a file.
func (s *Server) invoiceShow(v *visit) error {
	number := v.param("number")
	kind := ""
	for _, k := range []string{".pdf", ".csv"} {
		if n, ok := strings.CutSuffix(number, k); ok {
			number, kind = n, k
		}
	}
	x, err := s.service.Invoice(v.ctx, v.actor, v.org, number)
	if err != nil {
		return err
	}
	names, err := v.invoiceNames(x)
	if err != nil {
		return err
	}
	switch kind {
	case ".pdf":
		return v.invoicePDF(x, names)
	case ".csv":
		return v.invoiceCSV(x, names)
	}
	return v.invoiceHTML(x, names)
}

func (v *visit) invoiceHTML(x domain.InvoiceView, names map[string]string, notices ...ui.Notice) error {
	d := x.Frozen.Document
	p := views.Invoice{Notices: notices, Seller: v.partyText("Seller", d.Seller), Buyer: v.partyText("Buyer", d.Buyer), Lines: v.linesTable(d, names), Paid: v.paymentsTable(x), Behind: v.behind(d, x, names),
		Facts: v.invoiceFacts(x), Hash: []ui.Fact{{Name: v.T("Hash"), Text: d.Hash, Mono: true}, {Name: v.T("Document before"), Text: d.Previous, Mono: true}, {Name: v.T("Usage records"), Text: v.T("%d to %d of the account's ledger", d.Range.From+1, d.Range.To)}}}
	if d.Previous == "" {
		p.Hash[1].Text = v.T("none: this is the first")
	}
	if d.Range.To == d.Range.From {
		p.Hash[2].Text = v.T("none")
	}
	p.Taxes = v.totals(d)
	if x.Balance.Due > 0 && x.Bank != "" {
		p.Bank = append(strings.Split(x.Bank, "\n"), v.T("Please name %s and pay %s until %s.", d.Number, v.money(x.Balance.Due), v.day(d.Due)))
	} else if x.Balance.Due > 0 && d.Seller.Bank != "" {
		p.Bank = append(strings.Split(d.Seller.Bank, "\n"), v.T("Please name %s and pay %s until %s.", d.Number, v.money(x.Balance.Due), v.day(d.Due)))
	}
	if x.URL != "" {
		p.Notices = append(p.Notices, ui.Notice{Tone: ui.Info, Text: v.T("It can be paid online."), Link: ui.Link{Label: v.T("Pay now"), Href: x.URL}})
	}
	for _, st := range x.States {
		p.States = append(p.States, ui.Event{Time: v.clock(st.At), Title: v.word(st.State), Text: st.Note, Tone: ui.Info})
	}
	page := views.Page{Title: d.Number, Heading: v.T("Invoice %s", d.Number), Badges: []ui.Badge{v.state(x.State)}, Crumbs: crumbs(v.T("Invoices"), v.orgPath("/invoices"), d.Number, ""), Live: v.live(),
		Actions: views.Row(ui.LinkButton("PDF", v.invoicePath(d.Number, ".pdf"), "primary", "download"), ui.LinkButton("CSV", v.invoicePath(d.Number, ".csv"), "", "download"))}
	return v.page(page, p.Show())
}

func (v *visit) invoiceFacts(x domain.InvoiceView) []ui.Fact {
	d := x.Frozen.Document
	facts := []ui.Fact{{Name: v.T("Number"), Text: d.Number, Mono: true}, {Name: v.T("Month"), Text: v.T("%s, %s", v.month(d.Period), d.Zone)}, {Name: v.T("Issued"), Time: v.clock(d.Issued)}, {Name: v.T("Due"), Text: v.day(d.Due)},
		{Name: v.T("Paid"), Text: v.money(x.Balance.Paid)}, {Name: v.T("Still to pay"), Text: v.money(x.Balance.Due)}}
	if x.Balance.Over > 0 {
		facts = append(facts, ui.Fact{Name: v.T("Paid too much"), Text: v.money(x.Balance.Over)})
	}
	return facts
}

func (v *visit) partyText(title string, p invoice.Party) views.Address {
	a := views.Address{Title: v.T(title), Lines: append([]string{p.Name}, p.Address...)}
	if p.TaxID != "" {
		a.Lines = append(a.Lines, v.T("Tax id %s", p.TaxID))
	}
	if p.Reference != "" {
		a.Lines = append(a.Lines, v.T("Your reference %s", p.Reference))
	}
	return a
}

// totals are net, the tax of each rate, and the sum.
func (v *visit) totals(d invoice.Document) []ui.Fact {
	facts := []ui.Fact{{Name: v.T("Net"), Text: v.money(d.Net)}}
	for _, t := range d.Taxes {
		facts = append(facts, ui.Fact{Name: v.taxName(t), Text: v.money(t.Tax)})
	}
	return append(facts, ui.Fact{Name: v.T("Total"), Text: v.money(d.Total)})
}

func (v *visit) taxName(t invoice.TaxTotal) string {
	if t.Treatment == invoice.Standard {
		return v.T("Tax of %s %%", t.Rate.String())
	}
	return v.T("No tax: %s", t.Reason)
}

// linesTable are the positions of a document; the foot is its net sum.
func (v *visit) linesTable(d invoice.Document, names map[string]string) ui.Table {
	t := ui.Table{ID: "lines", Caption: v.T("Positions, net"), Columns: v.columns("#No.", "Position", "#Quantity", "#Price", "#Amount")}
	for _, l := range d.Lines {
		quantity, price := "", ""
		if l.Quantity != 0 {
			quantity, price = v.T("%s GPU-hours", v.hours(l.Quantity)), v.price(l.Price)
		}
		t.Rows = append(t.Rows, row(num(number(l.No)), sub(head(v.position(l.Line, names), ""), v.servicePeriod(d, l.Line)), num(quantity), num(price), num(v.money(l.Amount))))
	}
	if len(d.Lines) > 0 {
		t.Foot = []ui.Row{{Total: true, Cells: []ui.Cell{{Text: v.T("Net"), Head: true, Span: "4"}, num(v.money(d.Net))}}}
	}
	return t
}

// position says what a line is for.
func (f format) position(l rating.Line, names map[string]string) string {
	s := f.kind(l.Kind)
	switch {
	case l.Kind == rating.Fee:
		s += ", " + named(names, string(l.Plan))
	case l.Class != "":
		s += ", " + named(names, string(l.Class))
	}
	if l.Kind == rating.Waiver && l.Cause != "" {
		s += ": " + f.T(string(l.Cause))
	}
	if l.Adjusts != "" {
		s += ", " + f.T("correction of %s", l.Adjusts)
	}
	return s
}

// servicePeriod is the time that a line is for, in days of the billing zone; the last one is inside.
func (v *visit) servicePeriod(d invoice.Document, l rating.Line) string {
	if l.Service.Empty() {
		return v.month(d.Period)
	}
	zone := v.settings.Location()
	return v.T("%s to %s", v.date(l.Service.Start.In(zone)), v.date((l.Service.End - 1).In(zone)))
}

// behind are the jobs of each line: their parts add up to the line.
func (v *visit) behind(d invoice.Document, x domain.InvoiceView, names map[string]string) []views.Unfold {
	var out []views.Unfold
	for _, l := range d.Lines {
		if len(l.Parts) == 0 {
			continue
		}
		t := ui.Table{ID: "line-" + number(l.No) + "-jobs", Caption: v.T("Jobs of line %d", l.No), Hidden: true, Compact: true, Columns: v.columns("Job", "Project", "Person", "#GPU-hours", "#Amount")}
		var use pool.GPUMillis
		var amount money.Amount
		for _, p := range l.Parts {
			use, amount = use+p.Quantity, amount+p.Amount
			t.Rows = append(t.Rows, row(head(named(names, string(p.Job)), v.jobPath(p.Job, "")), text(named(names, string(p.Project))), text(named(names, string(p.User))), num(v.hours(p.Quantity)), num(v.money(p.Amount))))
		}
		t.Foot = []ui.Row{{Total: true, Cells: []ui.Cell{{Text: v.T("Line %d", l.No), Head: true, Span: "3"}, num(v.hours(use)), num(v.money(amount))}}}
		out = append(out, views.Unfold{ID: "line-" + number(l.No), Title: v.T("%d. %s: %s", l.No, v.position(l.Line, names), v.money(l.Amount)), Body: t.Show()})
	}
	return out
}

func (v *visit) paymentsTable(x domain.InvoiceView) ui.Table {
	t := ui.Table{ID: "payments", Caption: v.T("Payments"), Hidden: true, Compact: true, Columns: v.columns("Received", "Reference", "#Amount"), Empty: ui.Empty{Title: v.T("Nothing was received yet.")}}
	for _, p := range x.Payments {
		t.Rows = append(t.Rows, row(when(v.clock(p.ReceivedAt)), mono(p.Reference), num(v.money(p.Amount))))
	}
	if len(x.Payments) > 0 {
		t.Foot = []ui.Row{{Total: true, Cells: []ui.Cell{{Text: v.T("Sum"), Head: true, Span: "2"}, num(v.money(x.Balance.Paid))}}}
	}
	return t
}

// invoiceNames are the names of the ids on the lines: as they were at issue, else as they are now.
func (v *visit) invoiceNames(x domain.InvoiceView) (map[string]string, error) {
	names := map[string]string{}
	err := v.server.store.View(v.ctx, func(tx domain.Tx) error {
		classes, err := tx.Classes()
		if err != nil {
			return err
		}
		for _, c := range classes {
			names[string(c.ID)] = c.Name
		}
		projects, err := tx.Projects(v.org)
		if err != nil {
			return err
		}
		for _, p := range projects {
			names[string(p.ID)] = p.Name
		}
		plans, err := tx.Plans()
		if err != nil {
			return err
		}
		versions, err := tx.PlanVersions()
		for _, n := range versions {
			for _, p := range plans {
				if p.ID == n.Plan {
					names[string(n.ID)] = p.Name
				}
			}
		}
		return err
	})
	for id, name := range x.Frozen.Document.Names {
		names[id] = name
	}
	return names, err
}

// invoiceCSV has a row for each job behind each line; the rows of a line add up to it.
func (v *visit) invoiceCSV(x domain.InvoiceView, names map[string]string) error {
	d := x.Frozen.Document
	c := d.Currency
	out := newSheet(d.Number+".csv", "invoice", "line", "kind", "position", "gpu_type", "charged_as", "service_start", "service_end", "project_id", "project", "person_id", "person", "job_id", "gpu_hours", "price_per_gpu_hour_"+c.Code, "amount_net_"+c.Code, "tax_rate_percent")
	for _, l := range d.Lines {
		parts := l.Parts
		if len(parts) == 0 {
			parts = []rating.Part{{Quantity: l.Quantity, Amount: l.Amount}}
		}
		for _, p := range parts {
			price := ""
			if l.Kind != rating.Fee {
				price = c.FormatPrice(l.Price)
			}
			out.add(d.Number, number(l.No), string(l.Kind), v.position(l.Line, names), string(l.Class), string(l.Cover), isoOrEmpty(l.Service.Start), isoOrEmpty(l.Service.End), string(p.Project), named(names, string(p.Project)),
				string(p.User), named(names, string(p.User)), string(p.Job), p.Quantity.Hours(), price, c.Format(p.Amount), l.Tax.Rate.String())
		}
	}
	return v.sheet(out)
}
