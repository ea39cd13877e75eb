package quota

import "gpupool/domain/pool"

// Standing is an account in one class at a moment, in GPUs: the words of the
// rules with their numbers. The consortium has neither organisation nor
// project, an organisation no project.
type Standing struct {
	Class       pool.ClassID
	Org         pool.OrgID
	Project     pool.ProjectID
	Nominal     int  // its own quota; of the consortium the capacity beyond all quotas
	Quota       int  // with what its children show it
	Kept        int  // of the quota: never lent
	Use         int  // everything below it, spot excluded
	Guaranteed  int  // of the use
	Over        int  // of the use: on loan
	Spot        int  // spot work below it
	Lendable    int  // quota that is unused and that others may use now
	Available   int  // what it may still take by quota, hardware not considered
	BorrowLimit *int // nil: none
	LendLimit   *int // nil: all
	Weight      int  // of an organisation, in the class
}

// Standings reads the accounts of a snapshot: by class, in each the consortium
// first and every organisation before its projects. Projects without quota and
// without work are left out.
func Standings(s Snapshot, now pool.Instant) []Standing {
	s.Brief, s.Pending, s.Promises = true, nil, nil
	e := build(&s, now)
	var out []Standing
	for c := range int32(len(e.classes)) {
		spot := make([]int, len(e.projects))
		for i := range e.runs {
			if r := &e.runs[i]; r.class == c && r.tier == pool.Spot && !r.gone {
				for a := r.account; a >= 0; a = e.ledger.parent[a] {
					spot[a] += r.units
				}
			}
		}
		out = append(out, e.standing(c, 0, spot))
		projects := make([][]int32, len(e.orgs))
		for a := 1 + 2*int32(len(e.orgs)); a < int32(e.ledger.width); a++ {
			if x := e.ledger.at(c, a); x.nominal > 0 || x.use > 0 || spot[a] > 0 {
				o := e.projects[a].org
				projects[o] = append(projects[o], a)
			}
		}
		for o := range e.orgs {
			out = append(out, e.standing(c, int32(o)+1, spot))
			for _, a := range projects[o] {
				out = append(out, e.standing(c, a, spot))
			}
		}
	}
	return out
}

func (e *engine) standing(c, a int32, spot []int) Standing {
	x := e.ledger.at(c, a)
	s := Standing{Class: e.classes[c].ID, Nominal: x.nominal, Quota: x.subtree, Kept: x.local, Use: x.use, Guaranteed: x.guaranteed, Over: x.over(), Spot: spot[a],
		Lendable: max(0, x.subtree-max(x.local, x.visible)), Available: max(0, e.ledger.avail(c, a))}
	if a > 0 {
		o := e.projects[a].org
		s.Org, s.Project = e.orgs[o].id, e.projects[a].id
		if s.Project == "" {
			s.Weight = int(e.weights[e.oc(c, o)])
		}
	}
	if x.borrow != unlimited {
		s.BorrowLimit = &x.borrow
	}
	if x.lend != unlimited {
		s.LendLimit = &x.lend
	}
	return s
}
