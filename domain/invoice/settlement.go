package invoice

import (
	"cmp"
	"slices"

	"gpupool/domain/money"
	"gpupool/domain/pool"
)

// Earning is what issued invoices charged one borrower for loan or spot use of
// a class at one price row: its lines, waivers and adjustments included. It may
// be negative when more was taken back than charged. Days tell when the use was.
type Earning struct {
	Borrower pool.OrgID
	Class    pool.ClassID
	Cover    pool.Cover
	Share    money.BasisPoints // the lenders' part, from the price list
	Amount   money.Amount
	Days     []DayUse
}

// DayUse is use on one day of the billing zone, named by its first instant.
type DayUse struct {
	Day pool.Instant
	Use pool.GPUMillis
}

// Unused is the lendable quota that a lender left unused on a day, integrated.
// The consortium's own capacity is a lender like the others.
type Unused struct {
	Lender pool.OrgID
	Class  pool.ClassID
	Day    pool.Instant
	Quota  pool.GPUMillis
}

// Cell is what a borrower's use of a class came to at one lender, before the share.
type Cell struct {
	Borrower, Lender pool.OrgID
	Class            pool.ClassID
	Cover            pool.Cover
	Share            money.BasisPoints
	Use              pool.GPUMillis
	Amount           money.Amount
}

// StatementLine is a lender's part of what one class and cover earned: Amount
// is Share of Gross, rounded once.
type StatementLine struct {
	Class  pool.ClassID
	Cover  pool.Cover
	Share  money.BasisPoints
	Use    pool.GPUMillis
	Gross  money.Amount
	Amount money.Amount
}

// Statement is what a lender is due for a month, tax not yet added.
type Statement struct {
	Lender pool.OrgID
	Lines  []StatementLine
	Gross  money.Amount
	Amount money.Amount
}

// Settlement is the proof on one page: the cells of a borrower sum to its
// invoices' lines, those of a lender to its statement before the share, both
// exactly. The consortium keeps what is left.
type Settlement struct {
	Cells      []Cell
	Statements []Statement
}

// Settle divides earnings among the lenders: each day's use by their unused
// lendable quota of that day, the month's money by largest remainder on the
// sum of the days. A day on which nobody had any is the consortium's.
func Settle(earnings []Earning, unused []Unused) Settlement {
	quotas := lenders(unused)
	var cells []Cell
	for _, e := range earnings {
		cells = append(cells, e.divide(quotas)...)
	}
	cells = sumCells(cells)
	return Settlement{cells, statements(cells)}
}

type classDay struct {
	class pool.ClassID
	day   pool.Instant
}

// lenders are the quotas by class and day, ordered by lender.
func lenders(unused []Unused) map[classDay][]Unused {
	out := map[classDay][]Unused{}
	sorted := slices.Clone(unused)
	slices.SortStableFunc(sorted, func(a, b Unused) int { return cmp.Compare(a.Lender, b.Lender) })
	for _, u := range sorted {
		if u.Quota > 0 {
			k := classDay{u.Class, u.Day}
			out[k] = append(out[k], u)
		}
	}
	return out
}

// micro keeps the days' fractions of a minor unit until the month is rounded.
const micro = money.MicroPerMinor

func (e Earning) divide(quotas map[classDay][]Unused) []Cell {
	days := slices.Clone(e.Days)
	slices.SortFunc(days, func(a, b DayUse) int { return cmp.Compare(a.Day, b.Day) })
	if len(days) == 0 {
		days = []DayUse{{}} // money without use, such as a kept promise of another month
	}
	uses := make([]int64, len(days))
	for i, d := range days {
		uses[i] = int64(d.Use)
	}
	// Weights are positive, whatever the sign of the money.
	weights := money.Split(int64(max(e.Amount, -e.Amount, 1))*micro, uses)
	part, use := map[pool.OrgID]int64{}, map[pool.OrgID]pool.GPUMillis{}
	for i, d := range days {
		of := quotas[classDay{e.Class, d.Day}]
		if len(of) == 0 {
			of = []Unused{{Lender: pool.Consortium, Quota: 1}}
		}
		quota := make([]int64, len(of))
		for k, u := range of {
			quota[k] = int64(u.Quota)
		}
		parts, uses := money.Split(weights[i], quota), money.Split(d.Use, quota)
		for k, u := range of {
			part[u.Lender] += parts[k]
			use[u.Lender] += uses[k]
		}
	}
	return e.cells(part, use)
}

func (e Earning) cells(part map[pool.OrgID]int64, use map[pool.OrgID]pool.GPUMillis) []Cell {
	var names []pool.OrgID
	for l := range part {
		names = append(names, l)
	}
	slices.Sort(names)
	weights := make([]int64, len(names))
	for i, l := range names {
		weights[i] = part[l]
	}
	var out []Cell
	for i, a := range money.Split(e.Amount, weights) {
		out = append(out, Cell{e.Borrower, names[i], e.Class, e.Cover, e.Share, use[names[i]], a})
	}
	return out
}

// sumCells makes one cell of each borrower, lender, class, cover and share.
func sumCells(in []Cell) []Cell {
	order := func(a, b Cell) int {
		return cmp.Or(cmp.Compare(a.Borrower, b.Borrower), cmp.Compare(a.Lender, b.Lender), cmp.Compare(a.Class, b.Class),
			cmp.Compare(a.Cover, b.Cover), cmp.Compare(a.Share, b.Share))
	}
	slices.SortFunc(in, order)
	var out []Cell
	for _, c := range in {
		if n := len(out); n > 0 && order(out[n-1], c) == 0 {
			out[n-1].Use += c.Use
			out[n-1].Amount += c.Amount
			continue
		}
		out = append(out, c)
	}
	return out
}

// statements are the columns of the matrix, a lender each.
func statements(cells []Cell) []Statement {
	type key struct {
		lender pool.OrgID
		class  pool.ClassID
		cover  pool.Cover
		share  money.BasisPoints
	}
	sums := map[key]StatementLine{}
	var keys []key
	for _, c := range cells {
		k := key{c.Lender, c.Class, c.Cover, c.Share}
		l, ok := sums[k]
		if !ok {
			keys = append(keys, k)
		}
		sums[k] = StatementLine{c.Class, c.Cover, c.Share, l.Use + c.Use, l.Gross + c.Amount, 0}
	}
	slices.SortFunc(keys, func(a, b key) int {
		return cmp.Or(cmp.Compare(a.lender, b.lender), cmp.Compare(a.class, b.class), cmp.Compare(a.cover, b.cover), cmp.Compare(a.share, b.share))
	})
	var out []Statement
	for _, k := range keys {
		if n := len(out); n == 0 || out[n-1].Lender != k.lender {
			out = append(out, Statement{Lender: k.lender})
		}
		s, l := &out[len(out)-1], sums[k]
		l.Amount = l.Share.Of(l.Gross)
		s.Lines = append(s.Lines, l)
		s.Gross += l.Gross
		s.Amount += l.Amount
	}
	return out
}
