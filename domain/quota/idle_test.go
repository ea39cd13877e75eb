package quota

import (
	"slices"

	"gpupool/domain/pool"
)

// I4, where nothing is left to decide: no job inside its quota waits while it
// would fit beside what is promised, or in the place of victims that it may
// stop. All legal sets are tried where there are few, whatever the order in
// which the engine takes them.
func (l laws) owners() {
	for _, w := range l.plan.Wait {
		j := l.pendingJob(w.Job)
		if w.Promised || j.Tier == pool.Spot || slices.ContainsFunc(w.Reasons, func(r pool.Reason) bool {
			return slices.Contains(barred, r.Code) && r.Code != pool.Reserved
		}) {
			continue
		}
		for _, id := range j.Classes {
			c := l.was.classes[id]
			reserved := slices.ContainsFunc(l.plan.Reserved, func(r Reservation) bool { return r.Class == id && r.Job != j.ID })
			if !l.was.entitled(&j, c) || reserved || l.was.closed(&j, c) {
				continue
			}
			l.met.owners++
			s := sets{m: l.was, j: &j, c: c, most: 128}
			if set, ok := s.smallest(); ok {
				l.t.Fatalf("I4: %+v is inside its quota, may stop %v in %s, and waits: %+v", j, set, id, w.Reasons)
			}
			l.met.sets += s.tried
		}
	}
}

// sets enumerates the legal sets of victims of a claim on quota: every victim
// may be stopped when the ones before it are gone.
type sets struct {
	m     *model
	j     *Job
	c     int
	most  int // sets to look at
	tried int
}

// smallest is a legal set with the fewest victims with which the job fits;
// false when there is none among those looked at.
func (s *sets) smallest() ([]pool.AttemptID, bool) {
	type set struct{ victims []int }
	seen := map[uint64]bool{0: true}
	queue := []set{{}}
	m := s.m
	m.tally()
	was := m.uses(s.j, s.c)
	defer m.tally()
	for ; len(queue) > 0 && s.tried < s.most; queue = queue[1:] {
		s.tried++
		x := queue[0]
		var mask uint64
		for _, i := range x.victims {
			m.held[i].gone = true
			mask |= 1 << i
		}
		m.tally()
		found := m.fitsFor(s.j, s.c, was)
		if !found {
			for i, h := range m.held {
				if next := mask | 1<<i; i < 64 && !seen[next] && m.mayStop(s.j, s.c, h) {
					seen[next] = true
					queue = append(queue, set{append(slices.Clone(x.victims), i)})
				}
			}
		}
		var ids []pool.AttemptID
		for _, i := range x.victims {
			m.held[i].gone = false
			ids = append(ids, m.held[i].id)
		}
		if found {
			return ids, true
		}
	}
	return nil, false
}
