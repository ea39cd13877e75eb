package rating

import (
	"slices"

	"gpupool/domain/money"
	"gpupool/domain/pool"
)

// Promise is the "up to" that a job was submitted under, and what earlier
// periods already charged it.
type Promise struct {
	Job    pool.JobID
	UpTo   money.Amount
	Before money.Amount
}

// Keep adds a waiver for every job whose parts of the lines come to more than
// was promised: a fraction of a minor unit where a job stands on many lines,
// or the difference that a new price list made. lines are those of one rating;
// the result holds them all.
func Keep(lines []Line, promises []Promise) []Line {
	charged := map[pool.JobID]money.Amount{}
	for _, l := range lines {
		for _, p := range l.Parts {
			charged[p.Job] += p.Amount
		}
	}
	out := slices.Clone(lines)
	for _, p := range promises {
		if over := charged[p.Job] - max(0, p.UpTo-p.Before); over > 0 {
			out = append(out, waivers(lines, p.Job, over)...)
		}
	}
	return joinWaivers(out)
}

// waivers takes over from the job's parts, dearest line first, never more from
// a part than it was charged.
func waivers(lines []Line, job pool.JobID, over money.Amount) []Line {
	byPrice := slices.Clone(lines)
	slices.SortStableFunc(byPrice, func(a, b Line) int {
		if a.Price != b.Price && a.Price > b.Price {
			return -1
		}
		if a.Price < b.Price {
			return 1
		}
		return a.Compare(b)
	})
	var out []Line
	for _, l := range byPrice {
		for _, p := range l.Parts {
			take := min(over, p.Amount)
			if p.Job != job || take <= 0 {
				continue
			}
			over -= take
			p.Quantity, p.Amount = 0, -take
			l.Kind, l.Cause, l.Quantity, l.Amount, l.Parts = Waiver, PromiseKept, 0, -take, []Part{p}
			out = append(out, l)
		}
	}
	return out
}

// joinWaivers makes one line of waivers of the same position and orders all.
func joinWaivers(lines []Line) []Line {
	var out []Line
	at := map[Key]int{}
	for _, l := range lines {
		if l.Kind != Waiver || l.Cause != PromiseKept {
			out = append(out, l)
			continue
		}
		i, ok := at[l.Key()]
		if !ok {
			at[l.Key()] = len(out)
			out = append(out, l)
			continue
		}
		out[i].Amount += l.Amount
		out[i].Parts = mergeParts(append(slices.Clone(out[i].Parts), l.Parts...))
	}
	slices.SortStableFunc(out, Line.Compare)
	return out
}
