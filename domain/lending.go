package domain

import (
	"context"
	"time"

	"gpupool/domain/pool"
	"gpupool/domain/quota"
)

// integrateLending adds, for every member and class, its unused lendable
// quota from when it was integrated last up to now: the weights of the
// settlement. Capacity beyond all guarantees is the consortium's own. Between
// two decisions what runs stays as it is; quotas change at their own instants,
// and each counts for its time.
func integrateLending(tx Tx, v view) error {
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
	since := v.now
	for _, d := range last {
		since = min(since, d.Until)
	}
	from := since
	for _, at := range append(v.terms.changes("", pool.Interval{Start: since, End: v.now}), v.now) {
		unused := v.unusedLendable(from)
		for k := range last {
			unused[k] += 0 // a quota that is gone is none
		}
		for k, gpus := range unused {
			d, ok := last[k]
			if !ok {
				d = LendingDay{Org: k.org, Class: k.class, Day: lastMidnight(from, v.terms.Settings), Until: from}
			}
			if last[k], err = d.add(tx, gpus, at, v.terms.Zone); err != nil {
				return err
			}
		}
		from = at
	}
	for _, d := range last {
		if err := tx.SaveLendingDay(d); err != nil {
			return err
		}
	}
	return nil
}

// add counts so many GPUs from where the day has come to up to an instant. Days
// that are over are saved, the last one is returned.
func (d LendingDay) add(tx Tx, gpus int, to pool.Instant, zone *time.Location) (LendingDay, error) {
	for d.Until < to {
		end := min(to, pool.NextMidnight(d.Day, zone))
		d.Unused += pool.GPUMillis(int64(gpus) * int64(end-d.Until))
		d.Until = end
		if end == to {
			break
		}
		if err := tx.SaveLendingDay(d); err != nil {
			return d, err
		}
		d = LendingDay{Org: d.Org, Class: d.Class, Day: end, Until: end}
	}
	return d, nil
}

// unusedLendable is that of an instant, with what runs in the view.
func (v view) unusedLendable(at pool.Instant) map[lenderKey]int {
	s := quota.Snapshot{Running: v.snap.Running}
	for _, o := range v.terms.Orgs {
		q := quota.Org{ID: o.ID}
		for _, c := range v.terms.Quota(o.ID, at) {
			q.Quotas = append(q.Quotas, quota.Quota{Class: c.Class, Nominal: c.Nominal, LendLimit: &c.Lend})
		}
		s.Orgs = append(s.Orgs, q)
	}
	for _, n := range v.terms.Nodes {
		if n.Class != "" {
			s.Nodes = append(s.Nodes, v.terms.hardwareAt(n, at))
		}
	}
	return unusedLendable(s, at)
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
func unusedLendable(s quota.Snapshot, at pool.Instant) map[lenderKey]int {
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
		if n.State != quota.Ready || n.Maintenance.Contains(at) { // as the engine counts it: what runs there until it ends
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
