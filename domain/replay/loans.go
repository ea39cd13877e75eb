package replay

import (
	"gpupool/domain/pool"
	"gpupool/domain/quota"
)

// loans is what members borrow and borrowed, with a half-life, as the portal's
// loop keeps it: a row of a member and class is brought up to date when a
// decision finds another number of GPUs on loan than the row says.
type loans struct {
	at    map[loanKey]int // of a row, in the order of rates
	rates []int           // GPUs on loan now
	moved []int           // rows whose rate may differ
}

type loanKey struct {
	org   pool.OrgID
	class pool.ClassID
}

// lend changes what a member has on loan.
func (s *sim) lend(org pool.OrgID, class pool.ClassID, gpus int) {
	if gpus == 0 {
		return
	}
	k := loanKey{org, class}
	i, ok := s.loans.at[k]
	if !ok {
		i = len(s.loans.rates)
		s.loans.at[k] = i
		s.loans.rates = append(s.loans.rates, 0)
		s.snap.Decayed = append(s.snap.Decayed, quota.DecayedUse{Org: org, Class: class})
	}
	s.loans.rates[i] += gpus
	s.loans.moved = append(s.loans.moved, i)
}

// settleLoans tells the engine what changed, once its plan is carried out.
func (s *sim) settleLoans(now pool.Instant) {
	for _, i := range s.loans.moved {
		d := &s.snap.Decayed[i]
		if d.Rate == s.loans.rates[i] {
			continue
		}
		*d = d.Advance(now, s.snap.Policy.HalfLife)
		d.Rate = s.loans.rates[i]
		s.state.PutLoanUse(*d)
	}
	s.loans.moved = s.loans.moved[:0]
}
