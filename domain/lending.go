package domain

import (
	"context"

	"gpupool/domain/pool"
	"gpupool/domain/quota"
)

// integrateLending adds, for every member and class, its unused lendable
// quota from when it was integrated last up to now: the weights of the
// settlement. Capacity beyond all guarantees is the consortium's own. Between
// two decisions nothing changes, so the state of now stands for that time.
func integrateLending(tx Tx, v view) error {
	unused := unusedLendable(v.snap)
	loc := v.terms.Zone
	today := lastMidnight(v.now, v.terms.Settings)
	days, err := tx.LendingDays(today.Add(-48*hour), v.now+1)
	if err != nil {
		return err
	}
	last := map[lenderKey]LendingDay{}
	for _, d := range days {
		k := lenderKey{d.Org, d.Class}
		if d.Day >= last[k].Day {
			last[k] = d
		}
	}
	for k, gpus := range unused {
		d, ok := last[k]
		if !ok {
			d = LendingDay{Org: k.org, Class: k.class, Day: today, Until: v.now}
		}
		for d.Until < v.now {
			end := min(v.now, pool.NextMidnight(d.Day, loc))
			d.Unused += pool.GPUMillis(int64(gpus) * int64(end-d.Until))
			d.Until = end
			if end == v.now {
				break
			}
			if err := tx.SaveLendingDay(d); err != nil {
				return err
			}
			d = LendingDay{Org: k.org, Class: k.class, Day: end, Until: end}
		}
		if err := tx.SaveLendingDay(d); err != nil {
			return err
		}
	}
	return nil
}

type lenderKey struct {
	org   pool.OrgID
	class pool.ClassID
}

type nodeKey struct {
	node  pool.NodeID
	class pool.ClassID
}

// unusedLendable is, per member and class, how many GPUs of its quota it does
// not use and lends; and the consortium's capacity beyond all guarantees.
func unusedLendable(s quota.Snapshot) map[lenderKey]int {
	own := map[lenderKey]int{}
	held := map[nodeKey]int{}
	for _, a := range s.Running {
		own[lenderKey{a.Org, a.Class}] += a.Split.Own
		for _, p := range a.Placement {
			held[nodeKey{p.Node, a.Class}] += p.GPUs
		}
	}
	out := map[lenderKey]int{}
	sold := map[pool.ClassID]int{}
	for _, o := range s.Orgs {
		for _, q := range o.Quotas {
			k := lenderKey{o.ID, q.Class}
			sold[q.Class] += q.Nominal
			free := max(0, q.Nominal-own[k])
			if q.LendLimit != nil {
				free = min(free, *q.LendLimit)
			}
			out[k] = free
		}
	}
	capacity := map[pool.ClassID]int{}
	for _, n := range s.Nodes {
		usable := max(0, n.GPUs-n.Foreign)
		if n.State != quota.Ready { // as the engine counts it: what runs there until it ends
			usable = min(usable, held[nodeKey{n.ID, n.Class}])
		}
		capacity[n.Class] += usable
	}
	for c, n := range capacity {
		out[lenderKey{pool.Consortium, c}] = max(0, n-sold[c])
	}
	return out
}

// IntegrateLending brings the integrals up to now; loops call it each minute
// and the engine before each change.
func (s *Service) IntegrateLending(ctx context.Context) error {
	return s.store.Update(ctx, func(tx Tx) error {
		v, err := snapshot(tx)
		if err != nil {
			return err
		}
		return integrateLending(tx, v)
	})
}
