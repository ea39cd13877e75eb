package rating

import (
	"cmp"
	"slices"

	"gpupool/domain/money"
	"gpupool/domain/pool"
)

// Adjust gives the lines that turn what was billed for a month into what is
// right for it now: the difference position by position, none where nothing
// changed. before are all lines billed for the month so far, adjustments
// included. So whatever the order in which late use and corrections came, the
// sum of everything billed is the rating of everything known.
func Adjust(month pool.Month, before, after []Line) []Line {
	sums, order := map[Key]*Line{}, []Key{}
	for _, l := range before {
		merge(sums, &order, l, -1)
	}
	for _, l := range after {
		merge(sums, &order, l, 1)
	}
	var out []Line
	for _, k := range order {
		l := *sums[k]
		l.Parts = mergeParts(l.Parts)
		if l.Quantity == 0 && l.Amount == 0 && len(l.Parts) == 0 {
			continue
		}
		l.Adjusts = month.String()
		out = append(out, l)
	}
	slices.SortStableFunc(out, Line.Compare)
	return out
}

func merge(sums map[Key]*Line, order *[]Key, l Line, sign int64) {
	k := l.Key()
	have, ok := sums[k]
	if !ok {
		c := l
		c.Quantity, c.Amount, c.Parts = 0, 0, nil
		have = &c
		sums[k] = have
		*order = append(*order, k)
	}
	have.Service = l.Service
	have.Quantity += l.Quantity * pool.GPUMillis(sign)
	have.Amount += l.Amount * money.Amount(sign)
	for _, p := range l.Parts {
		p.Quantity *= pool.GPUMillis(sign)
		p.Amount *= money.Amount(sign)
		have.Parts = append(have.Parts, p)
	}
}

// mergeParts sums the parts of each project, user and job and leaves out those
// that come to nothing, ordered by these ids.
func mergeParts(in []Part) []Part {
	slices.SortFunc(in, Part.compare)
	var out []Part
	for _, p := range in {
		if n := len(out); n > 0 && out[n-1].compare(p) == 0 {
			out[n-1].Quantity += p.Quantity
			out[n-1].Amount += p.Amount
			continue
		}
		out = append(out, p)
	}
	return slices.DeleteFunc(out, func(p Part) bool { return p.Quantity == 0 && p.Amount == 0 })
}

func (p Part) compare(q Part) int {
	return cmp.Or(cmp.Compare(p.Project, q.Project), cmp.Compare(p.User, q.User), cmp.Compare(p.Job, q.Job))
}
