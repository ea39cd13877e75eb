package web

import (
	"gpupool/domain"
	"gpupool/domain/money"
	"gpupool/views"
	"gpupool/views/ui"
)

// invoiceList is the organisation's invoices, newest first, narrowed by state, as a page or CSV.
func (s *Server) invoiceList(v *visit) error {
	all, err := s.service.Invoices(v.ctx, v.actor, v.org)
	if err != nil {
		return err
	}
	state := v.query("state")
	var rows []domain.InvoiceRow
	for _, r := range all {
		if state == "" || r.State == state {
			rows = append(rows, r)
		}
	}
	if v.query("format") == "csv" {
		return v.invoicesCSV(rows)
	}
	path := v.orgPath("/invoices")
	t := ui.Table{ID: "invoices", Caption: v.T("Invoices"), Hidden: true, Topics: "org", Columns: v.columns("Number", "Month", "Kind", "State", "#Net", "#Tax", "#Total", "#Paid", "Due", ""), CSV: path + "?" + encode("format", "csv", "state", state),
		Empty: ui.Empty{Title: v.T("No invoice yet."), Text: v.T("The first one is made when the month is closed. What it would be now stands under billing."), Link: ui.Link{Label: v.T("Billing"), Href: v.orgPath("/billing")}}}
	if state != "" {
		t.Empty = ui.Empty{Title: v.T("No invoice in this state."), Link: ui.Link{Label: v.T("All invoices"), Href: path}}
	}
	var net, tax, total, paid money.Amount
	for _, r := range rows {
		i := r.Invoice
		net, tax, total, paid = net+i.Net, tax+i.Tax, total+i.Total, paid+r.Paid
		t.Rows = append(t.Rows, row(head(i.Number, v.invoicePath(i.Number, "")), text(v.month(i.Month)), text(v.document(i.Kind)), badge(v.state(r.State)), num(v.figure(i.Net)), num(v.figure(i.Tax)), num(v.figure(i.Total)), num(v.figure(r.Paid)), text(v.day(i.DueAt)),
			ui.Cell{Text: v.T("PDF of %s", i.Number), Href: v.invoicePath(i.Number, ".pdf")}))
	}
	if len(rows) > 0 {
		t.Foot = []ui.Row{{Total: true, Cells: []ui.Cell{{Text: v.T("Sum"), Head: true, Span: "4"}, num(v.figure(net)), num(v.figure(tax)), num(v.figure(total)), num(v.figure(paid)), text(""), text("")}}}
		t.Note = v.T("Amounts in %s.", v.currency.Code)
	}
	states := []ui.Option{option("", v.T("all"))}
	for _, x := range invoiceStates {
		states = append(states, option(x, v.word(x)))
	}
	filter := views.Form{ID: "filters", Action: path, Filter: true, Submit: v.T("Show"), Fields: []views.Input{{Kind: "select", Field: ui.Field{Name: "state", Label: v.T("State"), Value: state, Options: states}}}}
	return v.page(views.Page{Title: v.T("Invoices"), Heading: v.T("Invoices"), Live: v.live()}, views.Arrange(filter.Show(), t.Show()))
}

func (v *visit) invoicePath(number, rest string) string {
	return v.orgPath("/invoices/" + number + rest)
}

// documents are the kinds of documents in words.
var documents = map[string]string{"start": "first fee", "regular": "invoice", "adjustment": "adjustment", "credit": "credit note"}

func (f format) document(kind string) string {
	if w, ok := documents[kind]; ok {
		return f.T(w)
	}
	return kind
}
