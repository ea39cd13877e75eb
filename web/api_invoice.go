package web

import (
	"net/http"

	"gpupool/domain"
	"gpupool/domain/invoice"
	"gpupool/domain/money"
)

// apiInvoiceRow is an invoice in a list.
type apiInvoiceRow struct {
	Number   string   `json:"number"`
	Kind     string   `json:"kind"`
	Month    string   `json:"month"`
	Account  string   `json:"billing_account"`
	State    string   `json:"state"`
	Net      apiMoney `json:"net"`
	Tax      apiMoney `json:"tax"`
	Total    apiMoney `json:"total"`
	Paid     apiMoney `json:"paid"`
	IssuedAt apiTime  `json:"issued_at"`
	DueAt    apiTime  `json:"due_at"`
	Hash     string   `json:"hash"`
}

type apiInvoiceJSON struct {
	apiInvoiceRow
	Previous string           `json:"previous_hash"`
	Zone     string           `json:"zone"`
	Seller   apiParty         `json:"seller"`
	Buyer    apiParty         `json:"buyer"`
	Lines    []apiInvoiceLine `json:"lines"`
	Taxes    []apiTax         `json:"taxes"`
	Due      apiMoney         `json:"due"`
	PayAt    string           `json:"pay_at,omitempty"`
	Payments []apiPayment     `json:"payments"`
}

type apiParty struct {
	Name      string   `json:"name"`
	Address   []string `json:"address"`
	TaxID     string   `json:"tax_id"`
	Reference string   `json:"reference,omitempty"`
	Bank      string   `json:"bank,omitempty"`
}

// apiInvoiceLine is a position with the jobs behind it: they add up to it exactly.
type apiInvoiceLine struct {
	No       int              `json:"no"`
	Kind     string           `json:"kind"`
	Class    string           `json:"class,omitempty"`
	Cover    string           `json:"cover,omitempty"`
	Plan     string           `json:"plan,omitempty"`
	Cause    string           `json:"cause,omitempty"`
	Adjusts  string           `json:"adjusts,omitempty"`
	From     apiTime          `json:"service_from"`
	To       apiTime          `json:"service_to"`
	Quantity int64            `json:"gpu_milliseconds"`
	Price    apiPrice         `json:"price"`
	Amount   apiMoney         `json:"amount"`
	TaxRate  int64            `json:"tax_basis_points"`
	Jobs     []apiInvoicePart `json:"jobs"`
}

type apiInvoicePart struct {
	Job     string   `json:"job"`
	Project string   `json:"project"`
	User    apiName  `json:"user"`
	Use     int64    `json:"gpu_milliseconds"`
	Amount  apiMoney `json:"amount"`
}

type apiTax struct {
	Treatment string   `json:"treatment"`
	Rate      int64    `json:"basis_points"`
	Reason    string   `json:"reason,omitempty"`
	Net       apiMoney `json:"net"`
	Tax       apiMoney `json:"tax"`
}

type apiPayment struct {
	Amount     apiMoney `json:"amount"`
	ReceivedAt apiTime  `json:"received_at"`
	Reference  string   `json:"reference"`
}

func (q *call) invoiceRow(r domain.InvoiceRow) apiInvoiceRow {
	i := r.Invoice
	return apiInvoiceRow{i.Number, i.Kind, i.Month.String(), string(i.Account), r.State, q.amount(i.Net), q.amount(i.Tax), q.amount(i.Total), q.amount(r.Paid),
		apiTime(i.IssuedAt), apiTime(i.DueAt), i.Hash}
}

// apiInvoices is a page of invoices, newest first.
func (s *Server) apiInvoices(q *call) error {
	all, err := s.service.Invoices(q.ctx, q.actor, q.org)
	if err != nil {
		return err
	}
	var rows []apiInvoiceRow
	for _, r := range all {
		rows = append(rows, q.invoiceRow(r))
	}
	p, err := paged(q, rows, func(r apiInvoiceRow) string { return r.Number })
	if err != nil {
		return err
	}
	return q.answer(http.StatusOK, p)
}

// apiInvoice is an invoice as it was issued, with what was paid since.
func (s *Server) apiInvoice(q *call) error {
	v, err := s.service.Invoice(q.ctx, q.actor, q.org, q.param("number"))
	if err != nil {
		return err
	}
	d := v.Frozen.Document
	out := apiInvoiceJSON{apiInvoiceRow: q.invoiceRow(v.InvoiceRow), Previous: v.InvoiceRow.Invoice.PrevHash, Zone: d.Zone, Seller: party(d.Seller), Buyer: party(d.Buyer),
		Lines: []apiInvoiceLine{}, Taxes: []apiTax{}, Due: q.amount(v.Balance.Due), PayAt: v.URL, Payments: []apiPayment{}}
	for _, l := range d.Lines {
		out.Lines = append(out.Lines, q.invoiceLine(v, l, d.Currency))
	}
	for _, t := range d.Taxes {
		out.Taxes = append(out.Taxes, apiTax{string(t.Treatment), int64(t.Rate), t.Reason, q.amount(t.Net), q.amount(t.Tax)})
	}
	for _, p := range v.Payments {
		out.Payments = append(out.Payments, apiPayment{q.amount(p.Amount), apiTime(p.ReceivedAt), p.Reference})
	}
	return q.answer(http.StatusOK, out)
}

func (q *call) invoiceLine(v domain.InvoiceView, l invoice.Line, cur money.Currency) apiInvoiceLine {
	x := apiInvoiceLine{No: l.No, Kind: string(l.Kind), Class: string(l.Class), Cover: string(l.Cover), Plan: string(l.Plan), Cause: string(l.Cause), Adjusts: l.Adjusts,
		From: apiTime(l.Service.Start), To: apiTime(l.Service.End), Quantity: int64(l.Quantity), Price: apiPrice{int64(l.Price), cur.Code},
		Amount: q.amount(l.Amount), TaxRate: int64(l.Tax.Rate), Jobs: []apiInvoicePart{}}
	for _, p := range l.Parts {
		x.Jobs = append(x.Jobs, apiInvoicePart{string(p.Job), string(p.Project), apiName{string(p.User), v.Frozen.Document.Names[string(p.User)]}, int64(p.Quantity), q.amount(p.Amount)})
	}
	return x
}

func party(p invoice.Party) apiParty {
	return apiParty{p.Name, append([]string{}, p.Address...), p.TaxID, p.Reference, p.Bank}
}
