package invoice

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"gpupool/domain/money"
	"gpupool/domain/pool"
	"gpupool/domain/rating"
)

// Order is what a document is built from. Lines are those of the one account.
type Order struct {
	ID       pool.InvoiceID
	Kind     Kind
	Account  pool.AccountID
	Org      pool.OrgID
	Period   pool.Month
	Zone     string
	Language string
	Currency money.Currency
	Seller   Party
	Buyer    Party
	Tax      TaxProfile
	Lines    []rating.Line
	Range    Range
	Names    map[string]string // of the ids on the lines
}

// ErrForeignLine says that a line belongs to another billing account.
var ErrForeignLine = errors.New("the line belongs to another billing account")

// steps are the invoice, in order.
var steps = []func(*Document, Order) error{head, positions, net, taxes, total}

// Build makes a draft: the positions in printing order, the net, tax per rate
// rounded once, the total. Errors: a line of another account, a tax profile
// that is not complete, a total that overflows.
func Build(o Order) (Document, error) {
	var d Document
	for _, step := range steps {
		if err := step(&d, o); err != nil {
			return Document{}, fmt.Errorf("invoice of account %s for %s: %w", o.Account, o.Period, err)
		}
	}
	return d, nil
}

func head(d *Document, o Order) error {
	*d = Document{Form: form, ID: o.ID, Kind: o.Kind, Account: o.Account, Org: o.Org, Period: o.Period, Zone: o.Zone,
		Language: o.Language, Currency: o.Currency, Seller: o.Seller, Buyer: o.Buyer, Range: o.Range, Names: maps.Clone(o.Names)}
	return o.Tax.check()
}

func positions(d *Document, o Order) error {
	for i, l := range o.Lines {
		if l.Account != o.Account {
			return fmt.Errorf("line %d of %s: %w", i+1, l.Account, ErrForeignLine)
		}
		l.Parts = slices.Clone(l.Parts) // the document is nobody else's
		d.Lines = append(d.Lines, Line{No: i + 1, Line: l, Tax: Tax{Treatment: o.Tax.Treatment, Rate: o.Tax.rate()}})
	}
	return nil
}

func net(d *Document, o Order) (err error) {
	d.Net, err = rating.Net(o.Lines)
	return err
}

// taxes rounds each rate's tax once on its subtotal and gives every line its
// share, so that lines and subtotals print to the same sum.
func taxes(d *Document, o Order) error {
	if len(d.Lines) == 0 {
		return nil
	}
	amounts := make([]money.Amount, len(d.Lines))
	for i, l := range d.Lines {
		amounts[i] = l.Amount
	}
	tax, shares := o.Tax.rate().Spread(amounts)
	for i := range d.Lines {
		d.Lines[i].Tax.Amount = shares[i]
	}
	d.Taxes, d.Tax = []TaxTotal{{Treatment: o.Tax.Treatment, Rate: o.Tax.rate(), Reason: o.Tax.Reason, Net: d.Net, Tax: tax}}, tax
	return nil
}

func total(d *Document, _ Order) (err error) {
	d.Total, err = d.Net.Add(d.Tax)
	return err
}

func (p TaxProfile) rate() money.BasisPoints {
	if p.Treatment == Standard {
		return p.Rate
	}
	return 0
}

func (p TaxProfile) check() error {
	switch p.Treatment {
	case Standard:
		if p.Rate < 0 || p.Rate > money.FullRate {
			return fmt.Errorf("a tax rate of %s %% is not between 0 and 100", p.Rate)
		}
		return nil
	case Exempt, ReverseCharge, OutsideScope:
		if p.Reason == "" {
			return fmt.Errorf("tax treatment %s needs the reason that is printed", p.Treatment)
		}
		return nil
	}
	return fmt.Errorf("tax treatment %q is not known", p.Treatment)
}
