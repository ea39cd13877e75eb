package meter

import (
	"cmp"
	"fmt"
	"slices"

	"gpupool/domain/pool"
)

// Live are the segments that no reversal has taken back, in ledger order.
func Live(ledger []Segment) []Segment {
	reversed := map[Key]bool{}
	for _, s := range ledger {
		if s.Sign < 0 {
			k := s.Key()
			k.Sign = 1
			reversed[k] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(ledger), func(s Segment) bool { return s.Sign < 0 || reversed[s.Key()] })
}

// Replace gives the rows to append so that the ledger of one allocation then
// counts exactly right: a reversal of every live segment that is not among the
// right ones, and the missing right ones at the next revision. Correcting what
// is right already appends nothing.
func Replace(ledger, right []Segment) ([]Segment, error) {
	next := 0
	for _, s := range ledger {
		next = max(next, s.Revision+1)
	}
	missing := map[Segment]bool{}
	for _, s := range right {
		if len(ledger) > 0 && s.Alloc != ledger[0].Alloc {
			return nil, fmt.Errorf("%s can't replace %s: %w", s.Alloc, ledger[0].Alloc, ErrNotYours)
		}
		missing[s.bare()] = true
	}
	var out []Segment
	for _, s := range Live(ledger) {
		if missing[s.bare()] {
			delete(missing, s.bare())
			continue
		}
		s.Seq, s.Sign = 0, -1
		out = append(out, s)
	}
	for _, s := range right {
		if missing[s.bare()] {
			delete(missing, s.bare())
			s.Seq, s.Sign, s.Revision = 0, 1, next
			out = append(out, s)
		}
	}
	return out, nil
}

// bare is the segment without its place in the ledger.
func (s Segment) bare() Segment {
	s.Seq, s.Sign, s.Revision = 0, 1, 0
	return s
}

// Sort puts segments in the canonical order of the ledger: number, then
// allocation, start, cover, revision, reversals last.
func Sort(segments []Segment) {
	slices.SortFunc(segments, func(a, b Segment) int {
		return cmp.Or(cmp.Compare(a.Seq, b.Seq), cmp.Compare(a.Alloc, b.Alloc), cmp.Compare(a.Start, b.Start),
			cmp.Compare(slices.Index(pool.Covers, a.Cover), slices.Index(pool.Covers, b.Cover)),
			cmp.Compare(a.Revision, b.Revision), cmp.Compare(b.Sign, a.Sign))
	})
}
