package domain

import (
	"cmp"
	"context"
	"slices"

	"gpupool/domain/pool"
	"gpupool/domain/quota"
)

// MaxWeight is the most that an organisation can weigh in a class.
const MaxWeight = 1000

// weight of an organisation in a class at an instant; false when none was set.
func (t Terms) weight(org pool.OrgID, class pool.ClassID, at pool.Instant) (int, bool) {
	n, ok := 1, false
	for _, w := range t.Weights {
		if w.Org == org && w.Class == class && w.From <= at {
			n, ok = w.Weight, true
		}
	}
	return n, ok
}

// projectQuota is what was set for a project in a class at an instant.
func (t Terms) projectQuota(p pool.ProjectID, class pool.ClassID, at pool.Instant) (q ProjectQuota, ok bool) {
	for _, x := range t.ProjectQuotas {
		if x.Project == p && x.Class == class && x.From <= at {
			q, ok = x, true
		}
	}
	return q, ok
}

// divide splits the quotas of an organisation among its projects, as far as
// they have some of their own, and gives it its weights. The parts always add
// up to the whole: where the organisation has less than its projects were
// given, each has less, in proportion.
func (t Terms) divide(org pool.OrgID, quotas []quota.Quota, at pool.Instant) (own []quota.Quota, projects map[pool.ProjectID][]quota.Quota) {
	own, projects = slices.Clone(quotas), map[pool.ProjectID][]quota.Quota{}
	row := func(c pool.ClassID) *quota.Quota {
		i := slices.IndexFunc(own, func(q quota.Quota) bool { return q.Class == c })
		if i < 0 {
			own, i = append(own, quota.Quota{Class: c}), len(own)
		}
		return &own[i]
	}
	for _, c := range t.Classes {
		if w, ok := t.weight(org, c.ID, at); ok {
			row(c.ID).Weight = &w
		}
		var parts []ProjectQuota
		for _, p := range t.Projects {
			if q, ok := t.projectQuota(p.ID, c.ID, at); ok && p.Org == org && !p.Archived {
				parts = append(parts, q)
			}
		}
		if len(parts) == 0 {
			continue
		}
		whole := row(c.ID)
		now := slices.Clone(parts)
		shrink(now, whole.Nominal)
		rows := make([]quota.Quota, len(parts))
		for i, q := range now {
			whole.Nominal -= q.Guaranteed
			rows[i] = quota.Quota{Class: c.ID, Nominal: q.Guaranteed, BorrowLimit: q.Borrow}
		}
		whole.Ahead = slices.Clone(whole.Ahead)
		for k := range whole.Ahead { // each step divides anew
			step := &whole.Ahead[k]
			then := slices.Clone(parts)
			shrink(then, step.Nominal)
			for i, q := range then {
				step.Nominal -= q.Guaranteed
				rows[i].Ahead = append(rows[i].Ahead, quota.QuotaStep{From: step.From, Nominal: q.Guaranteed, BorrowLimit: orNoLimit(q.Borrow), LendLimit: quota.NoLimit})
			}
		}
		for i, q := range parts {
			projects[q.Project] = append(projects[q.Project], rows[i])
		}
	}
	return own, projects
}

func orNoLimit(n *int) int {
	if n == nil {
		return quota.NoLimit
	}
	return *n
}

// shrink cuts parts that are more than the whole in proportion, by largest
// remainder, then id.
func shrink(parts []ProjectQuota, whole int) {
	sum := 0
	for _, q := range parts {
		sum += q.Guaranteed
	}
	if sum <= whole {
		return
	}
	rest, left := make([]int, len(parts)), whole
	order := make([]int, len(parts))
	for i := range parts {
		order[i], rest[i] = i, parts[i].Guaranteed*whole%sum
		parts[i].Guaranteed = parts[i].Guaranteed * whole / sum
		left -= parts[i].Guaranteed
	}
	slices.SortFunc(order, func(i, k int) int {
		return cmp.Or(cmp.Compare(rest[k], rest[i]), cmp.Compare(parts[i].Project, parts[k].Project))
	})
	for _, i := range order[:left] {
		parts[i].Guaranteed++
	}
}

// ProjectShare is a project's part of its organisation's quota in a class.
type ProjectShare struct {
	Class      pool.ClassID
	Name       string
	Guaranteed int  // as it was set; 0 when nothing was
	Now        int  // less where the organisation has less than its projects were given
	Borrow     *int // most beyond it; nil: as many as the organisation
	Whole      int  // guaranteed GPUs of the organisation
	Others     int  // of them set for its other projects
}

// Free is the most that the project can be given.
func (s ProjectShare) Free() int { return max(0, s.Whole-s.Others) }

// ProjectShares are those of a project in each class in which its organisation
// or the project itself has quota, by class.
func (s *Service) ProjectShares(ctx context.Context, a Actor, org pool.OrgID, id pool.ProjectID) ([]ProjectShare, error) {
	if err := a.Need(org, ActView); err != nil {
		return nil, err
	}
	var out []ProjectShare
	err := s.store.View(ctx, func(tx Tx) error {
		if _, err := tx.Project(org, id); err != nil {
			return err
		} else if !a.SeesProject(org, id) {
			return Errf(NotFound, "There is no such project.")
		}
		t, err := LoadTerms(tx)
		if err != nil {
			return err
		}
		out = nil
		for _, c := range t.Classes {
			if x := t.share(org, id, c, tx.Now()); x.Whole > 0 || x.Guaranteed > 0 || x.Borrow != nil {
				out = append(out, x)
			}
		}
		return nil
	})
	return out, err
}

func (t Terms) share(org pool.OrgID, id pool.ProjectID, c GPUClass, at pool.Instant) ProjectShare {
	x := ProjectShare{Class: c.ID, Name: c.Name}
	for _, q := range t.Quota(org, at) {
		if q.Class == c.ID {
			x.Whole = q.Nominal
		}
	}
	var parts []ProjectQuota
	for _, p := range t.ProjectsOf(org) {
		q, ok := t.projectQuota(p.ID, c.ID, pool.Never-1) // changes of one instant stand a little later
		switch {
		case p.ID == id:
			x.Guaranteed, x.Borrow = q.Guaranteed, q.Borrow
		case p.Archived:
			continue
		default:
			x.Others += q.Guaranteed
		}
		if ok && !p.Archived {
			parts = append(parts, q)
		}
	}
	shrink(parts, x.Whole)
	for _, q := range parts {
		if q.Project == id {
			x.Now = q.Guaranteed
		}
	}
	return x
}

// ProjectQuotaInput is what is set for a project in a class, as typed; an
// empty Borrow is no limit.
type ProjectQuotaInput struct {
	Class              pool.ClassID
	Guaranteed, Borrow string
}

// maxBeyond bounds what is typed; a pool has fewer GPUs.
const maxBeyond = 100_000

// SetProjectQuota gives a project a part of its organisation's guaranteed GPUs
// in a class from now on. The owner may, and the leads of the project; all
// projects together never have more than the organisation.
func (s *Service) SetProjectQuota(ctx context.Context, a Actor, org pool.OrgID, id pool.ProjectID, in ProjectQuotaInput) (ProjectQuota, error) {
	if err := a.Need(org, ActView); err != nil {
		return ProjectQuota{}, err
	}
	var q ProjectQuota
	err := s.update(ctx, org, func(tx Tx) error {
		if err := needLead(tx, a, org, id); err != nil {
			return err
		}
		p, err := tx.Project(org, id)
		if err != nil {
			return err
		}
		t, err := LoadTerms(tx)
		if err != nil {
			return err
		}
		i := slices.IndexFunc(t.Classes, func(c GPUClass) bool { return c.ID == in.Class })
		if i < 0 {
			return Fields{{Field: "class", Message: "There is no such GPU type."}}.Err()
		}
		if p.Archived {
			return Errf(Conflict, "The project is archived.")
		}
		x := t.share(org, id, t.Classes[i], tx.Now())
		var f Fields
		q = ProjectQuota{Project: id, Class: in.Class, From: tx.Now(), Guaranteed: int(checkCount(&f, "guaranteed", in.Guaranteed, 0, maxBeyond))}
		if q.Guaranteed > x.Free() {
			f.Add("guaranteed", "At most %d: of the %d guaranteed GPUs of the organisation, other projects have %d.", x.Free(), x.Whole, x.Others)
		}
		if trimmed(in.Borrow) != "" {
			n := int(checkCount(&f, "borrow", in.Borrow, 0, maxBeyond))
			q.Borrow = &n
		}
		if err := f.Err(); err != nil {
			return err
		}
		var before any
		for _, r := range t.ProjectQuotas {
			if r.Project == id && r.Class == in.Class {
				before, q.From = r, max(q.From, r.From+1)
			}
		}
		if err := tx.InsertProjectQuota(q); err != nil {
			return err
		}
		if err := tx.BumpVersion(); err != nil {
			return err
		}
		return audit(tx, a, org, "project.quota", string(id), before, q)
	})
	return q, err
}

// SetWeight changes from now on how much an organisation counts in the order
// of borrowers of a class. What is inside quota doesn't depend on it.
func (s *Service) SetWeight(ctx context.Context, a Actor, org pool.OrgID, class pool.ClassID, weight string) (Weight, error) {
	if err := a.NeedOperator(); err != nil {
		return Weight{}, err
	}
	var w Weight
	err := s.update(ctx, org, func(tx Tx) error {
		var f Fields
		if ok, err := known(second(tx.Org(org))); err != nil {
			return err
		} else if !ok {
			f.Add("org", "There is no such member.")
		}
		if ok, err := known(second(tx.Class(class))); err != nil {
			return err
		} else if !ok {
			f.Add("class", "There is no such GPU type.")
		}
		w = Weight{Org: org, Class: class, From: tx.Now(), Weight: int(checkCount(&f, "weight", weight, 0, MaxWeight))}
		if err := f.Err(); err != nil {
			return err
		}
		t, err := LoadTerms(tx)
		if err != nil {
			return err
		}
		var before any
		for _, x := range t.Weights {
			if x.Org == org && x.Class == class {
				before, w.From = x, max(w.From, x.From+1)
			}
		}
		if err := tx.InsertWeight(w); err != nil {
			return err
		}
		if err := tx.BumpVersion(); err != nil {
			return err
		}
		return audit(tx, a, org, "quota.weight", string(class), before, w)
	})
	return w, err
}
