package web

import (
	"bytes"
	"strings"

	"codeberg.org/go-pdf/fpdf"

	"gpupool/domain"
	"gpupool/domain/invoice"
	"gpupool/views/ui"
)

// invoicePDF is the invoice as a file to print. The same invoice gives the same bytes. Where no font of this machine
// has every letter of it, the page itself is the copy to print, and says why.
func (v *visit) invoicePDF(x domain.InvoiceView, names map[string]string) error {
	d := x.Frozen.Document
	doc := v.invoiceText(d, names)
	font, missing := fontFor(v.server.opts.Font, doc.text())
	if font == nil {
		why := v.T("No PDF: this server has no font. The operator installs DejaVu or names one; until then please print this page.")
		if missing != "" {
			why = v.T("No PDF: no font of this server has the letters %s. Please print this page instead.", missing)
		}
		return v.invoiceHTML(x, names, ui.Notice{Tone: ui.Warn, Text: why})
	}
	b, err := doc.pdf(font)
	if err != nil {
		return err
	}
	return v.attach(d.Number+".pdf", "application/pdf", b)
}

// printed is an invoice as lines of text, the same figures as on its page.
type printed struct {
	title         string
	seller, buyer []string
	facts         [][2]string
	columns       []string
	rows          [][]string
	totals        [][2]string
	foot          []string
	created       invoice.Document
	page          string // "Page" in the document's language
}

func (v *visit) invoiceText(d invoice.Document, names map[string]string) printed {
	p := printed{title: v.T("Invoice %s", d.Number), seller: v.partyText("Seller", d.Seller).Lines, buyer: v.partyText("Buyer", d.Buyer).Lines, created: d, page: v.T("Page"),
		facts:   [][2]string{{v.T("Number"), d.Number}, {v.T("Month"), v.T("%s, %s", v.month(d.Period), d.Zone)}, {v.T("Issued"), v.date(d.Issued.In(v.settings.Location()))}, {v.T("Due"), v.date(d.Due.In(v.settings.Location()))}},
		columns: []string{v.T("No."), v.T("Position"), v.T("GPU-hours"), v.T("Price"), v.T("Amount")}}
	for _, l := range d.Lines {
		quantity, price := "", ""
		if l.Quantity != 0 {
			quantity, price = v.hours(l.Quantity), v.price(l.Price)
		}
		p.rows = append(p.rows, []string{number(l.No), v.position(l.Line, names) + "\n" + v.servicePeriod(d, l.Line), quantity, price, v.money(l.Amount)})
	}
	for _, f := range v.totals(d) {
		p.totals = append(p.totals, [2]string{f.Name, f.Text})
	}
	p.foot = append(strings.Split(d.Seller.Bank, "\n"), v.T("All periods are in %s.", d.Zone), v.T("Hash %s", d.Hash))
	return p
}

// text is every letter of it.
func (p printed) text() string {
	var b strings.Builder
	b.WriteString(p.title + p.page + "0123456789/")
	for _, part := range [][]string{p.seller, p.buyer, p.columns, p.foot} {
		b.WriteString(strings.Join(part, ""))
	}
	for _, part := range [][][2]string{p.facts, p.totals} {
		for _, f := range part {
			b.WriteString(f[0] + f[1])
		}
	}
	for _, r := range p.rows {
		b.WriteString(strings.Join(r, ""))
	}
	return b.String()
}

// Widths of the columns of an A4 page with margins of 18 mm.
var pdfWidths = []float64{10, 84, 24, 26, 30}

func (p printed) pdf(font []byte) ([]byte, error) {
	d := p.created
	f := fpdf.New("P", "mm", "A4", "")
	f.SetCreationDate(d.Issued.Time())
	f.SetModificationDate(d.Issued.Time())
	f.SetCatalogSort(true)
	f.SetTitle(p.title, true)
	f.SetAuthor(d.Seller.Name, true)
	f.AddUTF8FontFromBytes("text", "", font)
	f.SetMargins(18, 18, 18)
	f.SetAutoPageBreak(true, 22)
	f.AliasNbPages("{pages}")
	f.SetFooterFunc(func() {
		f.SetY(-15)
		f.SetFont("text", "", 8)
		f.CellFormat(0, 5, d.Number+"  ·  "+p.page+" "+number(f.PageNo())+"/{pages}", "", 0, "R", false, 0, "")
	})
	f.AddPage()
	p.top(f)
	p.positions(f)
	for _, t := range p.totals {
		f.CellFormat(144, 6, t[0], "", 0, "R", false, 0, "")
		f.CellFormat(30, 6, t[1], "", 1, "R", false, 0, "")
	}
	f.Ln(6)
	f.SetFont("text", "", 8)
	for _, l := range p.foot {
		f.MultiCell(0, 4, l, "", "L", false)
	}
	var b bytes.Buffer
	err := f.Output(&b)
	return b.Bytes(), err
}

// top is seller, buyer and what the document is.
func (p printed) top(f *fpdf.Fpdf) {
	f.SetFont("text", "", 9)
	for _, l := range p.seller {
		f.CellFormat(0, 4.5, l, "", 1, "R", false, 0, "")
	}
	f.Ln(4)
	f.SetFont("text", "", 10)
	for _, l := range p.buyer {
		f.CellFormat(0, 5, l, "", 1, "L", false, 0, "")
	}
	f.Ln(8)
	f.SetFont("text", "", 16)
	f.CellFormat(0, 9, p.title, "", 1, "L", false, 0, "")
	f.SetFont("text", "", 9)
	for _, x := range p.facts {
		f.CellFormat(30, 5, x[0], "", 0, "L", false, 0, "")
		f.CellFormat(0, 5, x[1], "", 1, "L", false, 0, "")
	}
	f.Ln(5)
}

func (p printed) positions(f *fpdf.Fpdf) {
	align := []string{"R", "L", "R", "R", "R"}
	for i, c := range p.columns {
		f.CellFormat(pdfWidths[i], 6, c, "B", 0, align[i], false, 0, "")
	}
	f.Ln(7)
	for _, r := range p.rows {
		name, period, _ := strings.Cut(r[1], "\n")
		lines := f.SplitText(name, pdfWidths[1]-2)
		if f.GetY()+float64(len(lines)+1)*4.5+3 > 275 {
			f.AddPage()
		}
		for i, c := range r {
			if i == 1 {
				c = lines[0]
			}
			f.CellFormat(pdfWidths[i], 4.5, c, "", 0, align[i], false, 0, "")
		}
		f.Ln(4.5)
		for _, more := range append(lines[1:], period) {
			f.CellFormat(pdfWidths[0], 4.5, "", "", 0, "L", false, 0, "")
			f.CellFormat(pdfWidths[1], 4.5, more, "", 1, "L", false, 0, "")
		}
		f.Ln(1.5)
	}
	f.CellFormat(174, 1, "", "T", 1, "L", false, 0, "")
}
