package ui

import "strconv"

// QuotaBar shows the guaranteed GPUs of a class: used by the organisation, lent out, free; and beyond them what is
// borrowed and what it may still borrow. All figures are GPUs; Guaranteed = Own + Lent + Free is the caller's promise.
type QuotaBar struct {
	ID          string
	Label       string // GPU type
	Summary     string // one sentence: "4 of 4 guaranteed in use, 4 borrowed of at most 8"
	Own         int64
	Lent        int64
	Free        int64
	Borrowed    int64
	BorrowLimit int64
	Note        string
}

// slot is a piece of the bar in its own units: 1000 to the whole width.
type slot struct {
	class string
	x, w  string
}

// slots places the pieces: one per GPU while they can be told apart, else one per kind.
func (q QuotaBar) slots() []slot {
	type run struct {
		class string
		n     int64
	}
	runs := []run{{"own", q.Own}, {"lent", q.Lent}, {"free", q.Free}, {"loan", q.Borrowed}, {"limit", max(0, q.BorrowLimit-q.Borrowed)}}
	var total int64
	for _, r := range runs {
		total += max(0, r.n)
	}
	if total == 0 {
		return []slot{{"free", "0", "1000"}}
	}
	const gap = 4.0
	split := 14.0 // between own and borrowed
	if q.Own+q.Lent+q.Free == 0 || q.Borrowed <= 0 && q.BorrowLimit <= 0 {
		split = 0
	}
	single := total <= 48
	unit := (1000 - split) / float64(total)
	var all []slot
	x := 0.0
	for i, r := range runs {
		if i == 3 && x > 0 {
			x += split
		}
		for n := max(0, r.n); n > 0; {
			step := n
			if single {
				step = 1
			}
			w := unit * float64(step)
			all = append(all, slot{r.class, px(x), px(max(1, w-gap))})
			x += w
			n -= step
		}
	}
	return all
}

// figures is the text beside the bar, one per kind that can occur.
func (q QuotaBar) figures() []quotaFigure {
	all := []quotaFigure{{"own", "O", "own use", q.Own}, {"lent", "L", "lent out", q.Lent}, {"free", "F", "free", q.Free}}
	if q.BorrowLimit > 0 || q.Borrowed > 0 {
		all = append(all, quotaFigure{"loan", "B", "borrowed", q.Borrowed})
	}
	return all
}

type quotaFigure struct {
	class, mark, word string
	n                 int64
}

func (f quotaFigure) text() string { return strconv.FormatInt(f.n, 10) }
