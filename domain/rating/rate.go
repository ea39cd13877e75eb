package rating

import (
	"fmt"
	"slices"

	"gpupool/domain/money"
	"gpupool/domain/pool"
)

// Input is everything that decides what one organisation's use in a period
// costs. Totals hold the whole period, over all its billing accounts, because
// they share the included hours. Order does not matter.
type Input struct {
	Period  pool.Interval
	Totals  []Total
	Plans   []PlanWindow
	Prices  []PriceRow
	Short   []Shortfall // minimum charges, if any price row has them
	Waivers []Waived    // a line or two for each cause
}

// Rate prices the period's use: included hours burn first, then overage, loan
// and spot, minimum charges, waivers. One line per billing account, kind,
// class, cover and price row, ordered. Fees are no use: see FeeLines.
//
// Errors: a total names a price row that is not there or has another class or
// cover, a price outside its limits, a negative quantity, money that overflows.
func Rate(in Input) ([]Line, error) {
	r := rating{Input: in, rows: map[pool.PriceRowID]PriceRow{}}
	for _, step := range []func(*rating) error{
		(*rating).checkPrices,
		(*rating).checkTotals,
		(*rating).ownUse,
		(*rating).loanUse,
		(*rating).spotUse,
		(*rating).minimumCharges,
		(*rating).waive,
	} {
		if err := step(&r); err != nil {
			return nil, err
		}
	}
	slices.SortStableFunc(r.lines, Line.Compare)
	return r.lines, nil
}

// rating is the work in progress of one Rate.
type rating struct {
	Input
	rows  map[pool.PriceRowID]PriceRow
	lines []Line
}

func (r *rating) checkPrices() error {
	for _, p := range r.Prices {
		if err := money.CheckPrice(p.Price); err != nil {
			return fmt.Errorf("price row %s: %w", p.ID, err)
		}
		if _, twice := r.rows[p.ID]; twice {
			return fmt.Errorf("price row %s is given twice", p.ID)
		}
		r.rows[p.ID] = p
	}
	return nil
}

func (r *rating) checkTotals() error {
	r.Totals = slices.Clone(r.Totals)
	slices.SortStableFunc(r.Totals, func(a, b Total) int { return compareBuckets(a.Bucket, b.Bucket) })
	var sum pool.GPUMillis
	for _, t := range r.Totals {
		if t.Use < 0 || sum+t.Use < sum {
			return fmt.Errorf("job %s, %s as %s: %d GPU-ms: %w", t.Job, t.Class, t.Cover, t.Use, ErrNegativeUse)
		}
		sum += t.Use
		if err := r.checkRow(t.PriceRow, t.Class, t.Cover); err != nil {
			return fmt.Errorf("job %s: %w", t.Job, err)
		}
	}
	return nil
}

func (r *rating) checkRow(id pool.PriceRowID, class pool.ClassID, cover pool.Cover) error {
	if p, ok := r.rows[id]; !ok || p.Class != class || p.Cover != cover {
		return fmt.Errorf("price row %q prices no %s as %s", id, class, cover)
	}
	return nil
}

func (r *rating) loanUse() error { r.use(pool.Loan, Loan); return nil }
func (r *rating) spotUse() error { r.use(pool.SpotCover, Spot); return nil }

// use charges every total of a cover from its first millisecond.
func (r *rating) use(c pool.Cover, k Kind) {
	var charged []Total
	for _, t := range r.Totals {
		if t.Cover == c {
			charged = append(charged, t)
		}
	}
	r.add(k, charged, true)
}

// add makes the lines of one kind from totals: one per account, class and row.
// Use that is not priced (included hours) costs nothing.
func (r *rating) add(k Kind, totals []Total, priced bool) {
	type position struct {
		account pool.AccountID
		row     pool.PriceRowID
	}
	at, order := map[position][]Total{}, []position{}
	for _, t := range totals {
		p := position{t.Account, t.PriceRow}
		if at[p] == nil {
			order = append(order, p)
		}
		at[p] = append(at[p], t)
	}
	for _, p := range order {
		row := r.rows[p.row]
		l := Line{Kind: k, Account: p.account, Class: row.Class, Cover: row.Cover, PriceRow: p.row,
			Service: r.Period.Intersect(row.Valid), Parts: parts(at[p])}
		if priced {
			l.Price = row.Price
		}
		if l.price(); l.Quantity != 0 {
			r.lines = append(r.lines, l)
		}
	}
}

// price is the one place where a line of use is rounded.
func (l *Line) price() {
	quantities := make([]pool.GPUMillis, len(l.Parts))
	l.Quantity = 0
	for i, p := range l.Parts {
		quantities[i] = p.Quantity
		l.Quantity += p.Quantity
	}
	var amounts []money.Amount
	l.Amount, amounts = money.Spread(quantities, l.Price)
	for i := range l.Parts {
		l.Parts[i].Amount = amounts[i]
	}
}

// parts sums totals by project, user and job, ordered by these ids.
func parts(totals []Total) []Part {
	out := make([]Part, len(totals))
	for i, t := range totals {
		out[i] = Part{Project: t.Project, User: t.User, Job: t.Job, Quantity: t.Use}
	}
	return mergeParts(out)
}
