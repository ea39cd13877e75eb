package rating

import (
	"cmp"
	"fmt"
	"slices"

	"gpupool/domain/pool"
)

// Cause of a waiver.
type Cause string

const (
	TakenBackEarly  Cause = "taken_back_early"
	PlatformFault   Cause = "platform_fault"
	Maintenance     Cause = "maintenance"
	GuaranteeMissed Cause = "guarantee_missed"
	GangIncomplete  Cause = "gang_incomplete"
	PromiseKept     Cause = "promise_kept" // more than the "up to" shown at submit
	DisputeAccepted Cause = "dispute_accepted"
)

// Waived is use that is metered and not charged. Overlapping outages are
// united before they become Waived; no millisecond is waived twice.
type Waived struct {
	Cause Cause
	Bucket
	Use pool.GPUMillis
}

// waive adds negative lines, cause by cause. Loan and spot use is given back
// at its price. Own use is given back as if it had not been: money where it
// was overage, hours (a line of 0) where it was included.
func (r *rating) waive() error {
	rest := slices.Clone(r.Totals)
	r.Waivers = slices.Clone(r.Waivers)
	slices.SortStableFunc(r.Waivers, func(a, b Waived) int { return cmp.Compare(a.Cause, b.Cause) })
	for start := 0; start < len(r.Waivers); {
		end := start
		for end < len(r.Waivers) && r.Waivers[end].Cause == r.Waivers[start].Cause {
			end++
		}
		after, err := without(rest, r.Waivers[start:end])
		if err != nil {
			return err
		}
		if err := r.giveBack(r.Waivers[start].Cause, rest, after); err != nil {
			return err
		}
		rest, start = after, end
	}
	return nil
}

func without(totals []Total, waived []Waived) ([]Total, error) {
	out := slices.Clone(totals)
	at := make(map[Bucket]int, len(out))
	for i, t := range out {
		at[t.Bucket] = i
	}
	for _, w := range waived {
		i, ok := at[w.Bucket]
		if !ok || w.Use < 0 || out[i].Use < w.Use {
			return nil, fmt.Errorf("job %s, %s as %s: more is waived than was used: %w", w.Job, w.Class, w.Cover, ErrNegativeUse)
		}
		out[i].Use -= w.Use
	}
	return out, nil
}

// giveBack adds the difference of two ratings as lines of the waiver's kind.
func (r *rating) giveBack(c Cause, before, after []Total) error {
	was, err := r.usage(before)
	if err != nil {
		return err
	}
	is, err := r.usage(after)
	if err != nil {
		return err
	}
	for _, l := range Adjust(pool.Month{}, was, is) {
		l.Kind, l.Cause, l.Adjusts = Waiver, c, ""
		r.lines = append(r.lines, l)
	}
	return nil
}

// usage rates use alone: what the lines of own, loan and spot would be.
func (r *rating) usage(totals []Total) ([]Line, error) {
	u := rating{Input: r.Input, rows: r.rows}
	u.Totals = totals
	if err := u.ownUse(); err != nil {
		return nil, err
	}
	u.use(pool.Loan, Loan)
	u.use(pool.SpotCover, Spot)
	return u.lines, nil
}
