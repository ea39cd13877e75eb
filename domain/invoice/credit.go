package invoice

import (
	"errors"
	"fmt"

	"gpupool/domain/money"
	"gpupool/domain/pool"
)

// Credit takes back an amount, net and positive, of one line of an invoice.
type Credit struct {
	Line     int // No
	Net      money.Amount
	Quantity pool.GPUMillis // for the print, positive; 0 when only money is given back
}

// ErrTooMuch says that credit notes would exceed what they credit.
var ErrTooMuch = errors.New("more would be credited than was billed")

// CreditFor makes the draft of a credit note for lines of an issued invoice.
// before are the credit notes of that invoice so far. Tax is that of all that
// is credited together minus what the notes before already gave back, so notes
// never exceed the invoice by a cent. All amounts of the note are negative.
func CreditFor(inv Document, before []Document, id pool.InvoiceID, reason string, credits []Credit) (Document, error) {
	if inv.Draft() || inv.Kind == CreditNote {
		return Document{}, errors.New("only an issued invoice can be credited")
	}
	d := Document{Form: form, ID: id, Kind: CreditNote, Account: inv.Account, Org: inv.Org, Period: inv.Period, Zone: inv.Zone,
		Language: inv.Language, Names: inv.Names, Currency: inv.Currency, Seller: inv.Seller, Buyer: inv.Buyer, Corrects: inv.Number, Reason: reason}
	left := open(inv, before)
	for i, c := range credits {
		if c.Line < 1 || c.Line > len(inv.Lines) {
			return Document{}, fmt.Errorf("invoice %s has no line %d", inv.Number, c.Line)
		}
		if c.Net <= 0 || c.Net > left[c.Line] {
			return Document{}, fmt.Errorf("line %d of invoice %s: credit %d of %d left: %w", c.Line, inv.Number, c.Net, left[c.Line], ErrTooMuch)
		}
		left[c.Line] -= c.Net
		d.Lines = append(d.Lines, creditLine(inv.Lines[c.Line-1], i+1, c))
		d.Net -= c.Net
	}
	if credited := credited(before) - d.Net; credited > inv.Net {
		return Document{}, fmt.Errorf("invoice %s: credit %d of %d net, waivers deducted: %w", inv.Number, credited, inv.Net, ErrTooMuch)
	}
	creditTax(&d, inv, before)
	d.Total = d.Net + d.Tax
	return d, nil
}

// open is what each line of the invoice still has to credit, by number.
func open(inv Document, before []Document) map[int]money.Amount {
	left := map[int]money.Amount{}
	for _, l := range inv.Lines {
		left[l.No] = l.Amount
	}
	for _, note := range before {
		for _, l := range note.Lines {
			left[l.Credits] += l.Amount
		}
	}
	return left
}

// credited is the net that notes gave back so far, positive.
func credited(notes []Document) (sum money.Amount) {
	for _, n := range notes {
		sum -= n.Net
	}
	return sum
}

func creditLine(l Line, no int, c Credit) Line {
	l.No, l.Credits, l.Amount, l.Quantity, l.Tax.Amount = no, c.Line, -c.Net, -c.Quantity, 0
	if len(l.Parts) > 0 {
		weights := make([]int64, len(l.Parts))
		for i, p := range l.Parts {
			weights[i] = max(0, int64(p.Amount))
		}
		l.Parts = append(l.Parts[:0:0], l.Parts...)
		amounts, quantities := money.Split(l.Amount, weights), money.Split(l.Quantity, weights)
		for i := range l.Parts {
			l.Parts[i].Amount, l.Parts[i].Quantity = amounts[i], quantities[i]
		}
	}
	return l
}

func creditTax(d *Document, inv Document, before []Document) {
	if len(inv.Taxes) == 0 {
		return
	}
	t := inv.Taxes[0]
	net, tax := -credited(before), money.Amount(0)
	for _, note := range before {
		tax += note.Tax
	}
	t.Net, t.Tax = d.Net, t.Rate.Of(net+d.Net)-tax
	d.Taxes, d.Tax = []TaxTotal{t}, t.Tax
	running := money.Amount(0)
	for i := range d.Lines {
		was := t.Rate.Of(net + running)
		running += d.Lines[i].Amount
		d.Lines[i].Tax.Amount = t.Rate.Of(net+running) - was
	}
}
