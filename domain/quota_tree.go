package domain

import (
	"context"
	"slices"

	"gpupool/domain/pool"
	"gpupool/domain/quota"
)

// QuotaTree is the accounts of the pool as the engine counts them now.
type QuotaTree struct {
	Rows  []QuotaRow // by class; the consortium, then each organisation before its projects
	Names PoolNames
	// Projects are the names of those in the rows.
	Projects map[pool.ProjectID]string
}

// QuotaRow is an account in a class.
type QuotaRow struct {
	quota.Standing
	Sold int // of the consortium: quota of all its members
	Lent int // of an organisation, or of the consortium's own pool: its part of the loans and spot work of others
	Own  int // charged as own
	Loan int // charged as borrowed
}

// QuotaTree of the whole pool with an empty org, for the operator; else of one
// organisation, below the consortium's own line.
func (s *Service) QuotaTree(ctx context.Context, a Actor, org pool.OrgID) (QuotaTree, error) {
	err := a.NeedOperatorView()
	if org != "" {
		err = a.Need(org, ActView)
	}
	if err != nil {
		return QuotaTree{}, err
	}
	t := QuotaTree{Projects: map[pool.ProjectID]string{}}
	err = s.store.View(ctx, func(tx Tx) error {
		v := view{now: tx.Now()}
		var err error
		if v.terms, err = LoadTerms(tx); err != nil {
			return err
		}
		attempts, err := tx.LiveAttempts()
		if err != nil {
			return err
		}
		for _, step := range []func(Tx) error{v.hardware, v.members} {
			if err := step(tx); err != nil {
				return err
			}
		}
		for _, x := range attempts {
			v.snap.Running = append(v.snap.Running, running(x))
		}
		t.fill(v, attempts, a, org)
		t.Names, err = poolNames(tx, nil)
		return err
	})
	return t, err
}

func (t *QuotaTree) fill(v view, attempts []Attempt, a Actor, org pool.OrgID) {
	type account struct {
		org     pool.OrgID
		project pool.ProjectID
		class   pool.ClassID
	}
	charged := map[account]pool.Split{}
	for _, x := range attempts {
		for _, k := range []account{{"", "", x.Class}, {x.Org, "", x.Class}, {x.Org, x.Project, x.Class}} {
			c := charged[k]
			charged[k] = pool.Split{Own: c.Own + x.Split.Own, Loan: c.Loan + x.Split.Loan, Spot: c.Spot + x.Split.Spot}
		}
	}
	for _, p := range v.terms.Projects {
		t.Projects[p.ID] = p.Name
	}
	lent := lentNow(v.terms, v.terms.Nodes, attempts, v.now)
	t.Rows = nil
	mine, sold := map[pool.ClassID]bool{}, map[pool.ClassID]int{}
	all := quota.Standings(v.snap, v.now)
	for _, x := range all {
		if x.Org != "" && x.Project == "" {
			sold[x.Class] += x.Quota
		}
		mine[x.Class] = mine[x.Class] || org == "" || x.Org == org && (x.Quota > 0 || x.Use > 0 || x.Spot > 0)
	}
	for _, x := range all {
		switch {
		case !mine[x.Class], org != "" && x.Org != "" && x.Org != org:
			continue
		case x.Project != "" && !a.SeesProject(x.Org, x.Project):
			continue
		case org == "" && x.Org != "" && x.Quota == 0 && x.Use == 0 && x.Spot == 0:
			continue
		}
		c := charged[account{x.Org, x.Project, x.Class}]
		r := QuotaRow{Standing: x, Own: c.Own, Loan: c.Loan}
		switch {
		case x.Project != "":
		case x.Org != "":
			r.Lent = lent[lenderKey{x.Org, x.Class}]
		default:
			r.Lent, r.Sold = lent[lenderKey{pool.Consortium, x.Class}], sold[x.Class]
		}
		t.Rows = append(t.Rows, r)
	}
}

// ClassesOf are the classes of the rows, in their order.
func (t QuotaTree) ClassesOf() []pool.ClassID {
	var out []pool.ClassID
	for _, r := range t.Rows {
		if !slices.Contains(out, r.Class) {
			out = append(out, r.Class)
		}
	}
	return out
}
