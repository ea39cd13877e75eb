package invoice

import (
	"errors"
	"fmt"
	"reflect"

	"gpupool/domain/money"
	"gpupool/domain/pool"
	"gpupool/domain/rating"
)

// Evidence is what an issued document can be recomputed from.
type Evidence struct {
	Segments []rating.Segment // the account's, of the document's range
	Lines    []rating.Line    // what rating says now, e.g. rating.Bill
	Previous string           // hash of the issuer's document before
}

// Verify recomputes an issued document. It returns nil, or every difference
// joined into one error, each a sentence that names both values.
func Verify(d Document, e Evidence) error {
	errs := CheckSums(d)
	differ := func(what string, printed, computed any) {
		if !reflect.DeepEqual(printed, computed) {
			errs = append(errs, fmt.Errorf("invoice %s: %s: printed %v, computed %v", d.Number, what, printed, computed))
		}
	}
	differ("hash of the usage records", d.Segments, rating.Digest(e.Segments))
	differ("hash of the document before", d.Previous, e.Previous)
	differ("hash of the document", d.Hash, d.digest())
	if d.Kind == CreditNote {
		return errors.Join(errs...)
	}
	differ("number of lines", len(d.Lines), len(e.Lines))
	for i := range min(len(d.Lines), len(e.Lines)) {
		differ(fmt.Sprintf("line %d", i+1), d.Lines[i].Line, e.Lines[i])
	}
	return errors.Join(errs...)
}

// CheckSums tells where a document does not add up in itself: parts to lines,
// lines to net, tax per rate to tax, net and tax to the total.
func CheckSums(d Document) (errs []error) {
	check := func(what string, printed, computed int64) {
		if printed != computed {
			errs = append(errs, fmt.Errorf("invoice %s: %s: printed %d, computed %d", d.Number, what, printed, computed))
		}
	}
	var net, lineTax, tax money.Amount
	for i, l := range d.Lines {
		check("line number", int64(l.No), int64(i+1))
		net += l.Amount
		lineTax += l.Tax.Amount
		if len(l.Parts) == 0 {
			continue
		}
		var amount money.Amount
		var quantity pool.GPUMillis
		for _, p := range l.Parts {
			amount += p.Amount
			quantity += p.Quantity
		}
		check(fmt.Sprintf("amounts of line %d", l.No), int64(l.Amount), int64(amount))
		check(fmt.Sprintf("quantities of line %d", l.No), int64(l.Quantity), int64(quantity))
	}
	for _, t := range d.Taxes {
		tax += t.Tax
		if d.Kind != CreditNote { // a note's tax is cumulative over the notes before it
			check(fmt.Sprintf("tax at %s %%", t.Rate), int64(t.Tax), int64(t.Rate.Of(t.Net)))
		}
	}
	check("net", int64(d.Net), int64(net))
	check("tax", int64(d.Tax), int64(tax))
	check("tax of the lines", int64(d.Tax), int64(lineTax))
	check("total", int64(d.Total), int64(d.Net+d.Tax))
	return errs
}
