package rating

import (
	"fmt"

	"gpupool/domain/pool"
)

// Shortfall is what one attempt lacks to the minimum charge of its price row:
// a quantity of its own, once per attempt, so late use can shrink it exactly.
type Shortfall struct {
	Bucket
	Use pool.GPUMillis
}

// Short is the shortfall of an attempt with gpus GPUs that used actual, on the
// price row of its last cover: max(0, minimum - actual).
func Short(row PriceRow, b Bucket, gpus int, actual pool.GPUMillis) (Shortfall, bool) {
	missing := pool.GPUMillis(row.MinimumRun*int64(gpus)) - actual
	return Shortfall{b, max(0, missing)}, missing > 0
}

// minimumCharges prices shortfalls like use, on lines of their own.
func (r *rating) minimumCharges() error {
	totals := make([]Total, len(r.Short))
	for i, s := range r.Short {
		if s.Use < 0 {
			return fmt.Errorf("job %s: minimum charge: %w", s.Job, ErrNegativeUse)
		}
		if err := r.checkRow(s.PriceRow, s.Class, s.Cover); err != nil {
			return fmt.Errorf("job %s: minimum charge: %w", s.Job, err)
		}
		totals[i] = Total(s)
	}
	r.add(Minimum, totals, true)
	return nil
}
