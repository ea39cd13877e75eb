package web

import (
	"net/http"

	"gpupool/domain"
	"gpupool/domain/money"
	"gpupool/domain/pool"
	"gpupool/views"
	"gpupool/views/ui"
)

// invoiceStates are those that the list can be narrowed to.
var invoiceStates = []string{"issued", "overdue", "paid", "void", "uncollectible"}

// opInvoices lists the invoices of all members, narrowed by state and member, as a page or CSV.
func (s *Server) opInvoices(v *visit) error {
	all, err := s.service.Invoices(v.ctx, v.actor, "")
	if err != nil {
		return err
	}
	state, org := v.query("state"), v.query("org")
	var rows []domain.InvoiceRow
	for _, r := range all {
		if (state == "" || r.State == state) && (org == "" || string(r.Invoice.Org) == org) {
			rows = append(rows, r)
		}
	}
	if v.query("format") == "csv" {
		return v.invoicesCSV(rows)
	}
	t := ui.Table{ID: "invoices", Caption: v.T("Invoices"), Topics: "pool", Columns: v.columns("Number", "Member", "Month", "State", "#Total", "#Received", "Due"),
		CSV: "/op/invoices?" + encode("format", "csv", "state", state, "org", org), Empty: ui.Empty{Title: v.T("No invoice"), Text: v.T("Invoices are made when a month is closed."), Link: ui.Link{Label: v.T("Closing"), Href: "/op/closing"}}}
	var total, paid money.Amount
	for _, r := range rows {
		i := r.Invoice
		total, paid = total+i.Total, paid+r.Paid
		t.Rows = append(t.Rows, row(head(i.Number, "/op/invoices/"+i.Number), text(string(i.Org)), text(v.month(i.Month)), badge(v.state(r.State)), num(v.money(i.Total)), num(v.money(r.Paid)), text(v.day(i.DueAt))))
	}
	if len(rows) > 0 {
		t.Foot = []ui.Row{{Total: true, Cells: []ui.Cell{{Text: v.T("Sum"), Head: true, Span: "4"}, num(v.money(total)), num(v.money(paid)), text("")}}}
	}
	states := []ui.Option{option("", v.T("all"))}
	for _, x := range invoiceStates {
		states = append(states, option(x, v.word(x)))
	}
	orgs, err := s.service.Organisations(v.ctx, v.actor)
	if err != nil {
		return err
	}
	members := []ui.Option{option("", v.T("all"))}
	for _, o := range orgs {
		members = append(members, option(string(o.ID), o.Name))
	}
	filter := views.Form{ID: "filter", Action: "/op/invoices", Filter: true, Submit: v.T("Show"), Fields: []views.Input{
		{Kind: "select", Field: ui.Field{Name: "state", Label: v.T("State"), Value: state, Options: states}},
		{Kind: "select", Field: ui.Field{Name: "org", Label: v.T("Member"), Value: org, Options: members}},
	}}
	return v.page(views.Page{Title: v.T("Invoices"), Heading: v.T("Invoices of all members"), Live: v.live()}, views.Arrange(filter.Show(), t.Show()))
}

func (v *visit) invoicesCSV(rows []domain.InvoiceRow) error {
	var out [][]string
	c := v.currency
	for _, r := range rows {
		i := r.Invoice
		out = append(out, []string{i.Number, string(i.Org), string(i.Account), i.Month.String(), i.Kind, r.State, c.Code, c.Format(i.Net), c.Format(i.Tax), c.Format(i.Total), c.Format(r.Paid), iso(i.IssuedAt), iso(i.DueAt)})
	}
	b, err := csvFile([]string{"number", "organisation", "billing_account", "month", "kind", "state", "currency", "net", "tax", "total", "received", "issued_at", "due_at"}, out)
	if err != nil {
		return err
	}
	return v.attach("invoices.csv", "text/csv; charset=utf-8", b)
}

type paymentForm struct{ Amount, Received, Reference, Note string }

// opInvoice shows an invoice to the operator with what was received, and the form for a payment.
func (s *Server) opInvoice(v *visit) error {
	return v.invoicePage(paymentForm{}, refusal{status: http.StatusOK})
}

// invoiceOf finds the invoice of the path among all members.
func (v *visit) invoiceOf() (domain.InvoiceView, error) {
	var org pool.OrgID
	err := v.server.store.View(v.ctx, func(tx domain.Tx) error {
		i, err := tx.InvoiceByNumber(v.param("number"))
		org = i.Org
		return err
	})
	if domain.CodeOf(err) == domain.NotFound && err != nil {
		return domain.InvoiceView{}, domain.Errf(domain.NotFound, "There is no such invoice.")
	}
	if err != nil {
		return domain.InvoiceView{}, err
	}
	return v.server.service.Invoice(v.ctx, v.actor, org, v.param("number"))
}

func (v *visit) invoicePage(f paymentForm, r refusal) error {
	x, err := v.invoiceOf()
	if err != nil {
		return err
	}
	i := x.Invoice
	if f == (paymentForm{}) && r.status == http.StatusOK && x.Balance.Due > 0 {
		f.Amount = v.currency.Format(x.Balance.Due)
	}
	facts := []ui.Fact{{Name: v.T("Member"), Text: string(i.Org), Href: "/op/members/" + string(i.Org)}, {Name: v.T("Month"), Text: v.month(i.Month)}, {Name: v.T("Net"), Text: v.money(i.Net)}, {Name: v.T("Tax"), Text: v.money(i.Tax)},
		{Name: v.T("Total"), Text: v.money(i.Total)}, {Name: v.T("Received"), Text: v.money(x.Balance.Paid)}, {Name: v.T("Still to pay"), Text: v.money(x.Balance.Due)}, {Name: v.T("Due"), Text: v.day(i.DueAt)}}
	if v.server.has("/o/:org/invoices/:number") {
		facts = append(facts, ui.Fact{Name: v.T("Lines and jobs"), Text: v.T("The invoice as the member sees it"), Href: "/o/" + string(i.Org) + "/invoices/" + i.Number})
	}
	t := ui.Table{ID: "payments", Caption: v.T("Payments"), Hidden: true, Columns: v.columns("Received", "Reference", "Note", "#Amount"), Empty: ui.Empty{Title: v.T("Nothing received yet")}}
	for _, p := range x.Payments {
		t.Rows = append(t.Rows, row(when(v.clock(p.ReceivedAt)), mono(p.Reference), text(p.Note), num(v.money(p.Amount))))
	}
	form := views.Form{ID: "payment", Title: v.T("Record a payment"), Action: "/op/invoices/" + i.Number + "/payment", Nonce: newNonce(), Submit: v.T("Record the payment"), Problem: r.whole, Fields: []views.Input{
		{Kind: "number", Field: ui.Field{Name: "amount", Label: v.T("Amount"), Unit: v.currency.Code, Value: f.Amount, Error: r.at["amount"], Required: true, Hint: v.T("Negative for money that was sent back.")}},
		{Field: ui.Field{Name: "received_at", Label: v.T("Received on"), Type: "date", Value: f.Received, Error: r.at["received_at"], Hint: v.T("Empty: now."), Short: true}},
		{Field: ui.Field{Name: "reference", Label: v.T("Reference of the bank"), Value: f.Reference, Error: r.at["reference"], Required: true, Mono: true}},
		{Field: ui.Field{Name: "note", Label: v.T("Note"), Value: f.Note, Error: r.at["note"]}},
	}}
	page := views.Page{Title: i.Number, Heading: v.T("Invoice %s", i.Number), Badges: []ui.Badge{v.state(x.State)}, Crumbs: crumbs(v.T("Invoices"), "/op/invoices", i.Number, "")}
	return v.show(r.status, page, views.Arrange(ui.Facts(facts), views.Block(ui.Panel{ID: "received", Title: v.T("Payments")}, t.Show(), form.Show())))
}

// opPayment records money received. Sent twice it is recorded once; the same bank reference is taken once anyway.
func (s *Server) opPayment(v *visit) error {
	f := paymentForm{v.text("amount"), v.text("received_at"), v.text("reference"), v.text("note")}
	at, err := v.dateOf("received_at", f.Received)
	if err == nil {
		err = s.service.RecordPayment(v.ctx, v.actor, v.param("number"), domain.PaymentInput{Amount: f.Amount, ReceivedAt: at, Reference: f.Reference, Note: f.Note})
	}
	if err != nil {
		if r, ok := v.refused(err); ok {
			return v.invoicePage(f, r)
		}
		return err
	}
	return v.done("/op/invoices/"+v.param("number"), "The payment was recorded.")
}
