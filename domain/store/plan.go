package store

import (
	"gpupool/domain"
	"gpupool/domain/money"
	"gpupool/domain/pool"
)

type planRow struct {
	ID     pool.PlanID `gorm:"column:id;primaryKey"`
	Name   string      `gorm:"column:name"`
	NameZH string      `gorm:"column:name_zh"`
	Hidden bool        `gorm:"column:hidden"`
}

func (planRow) TableName() string { return "plans" }

func planOf(r planRow) (domain.Plan, error) { return domain.Plan(r), nil }

type planVersionRow struct {
	ID         pool.PlanVersionID `gorm:"column:id;primaryKey"`
	Plan       pool.PlanID        `gorm:"column:plan_id"`
	N          int                `gorm:"column:n"`
	Fee        money.Amount       `gorm:"column:fee"`
	CarryOver  bool               `gorm:"column:carry_over"`
	AnnualPool bool               `gorm:"column:annual_pool"`
	Published  pool.Instant       `gorm:"column:published_at"`
	Created    pool.Instant       `gorm:"column:created_at"`
}

func (planVersionRow) TableName() string { return "plan_versions" }

func planVersionOf(r planVersionRow) (domain.PlanVersion, error) {
	return domain.PlanVersion{ID: r.ID, Plan: r.Plan, N: r.N, Fee: r.Fee, CarryOver: r.CarryOver, AnnualPool: r.AnnualPool,
		PublishedAt: r.Published, CreatedAt: r.Created}, nil
}

type planClassRow struct {
	Version     pool.PlanVersionID `gorm:"column:version_id;primaryKey"`
	Class       pool.ClassID       `gorm:"column:class_id;primaryKey"`
	Guaranteed  int                `gorm:"column:guaranteed"`
	Included    pool.GPUMillis     `gorm:"column:included_ms"`
	BorrowLimit int                `gorm:"column:borrow_limit"`
	LendLimit   int                `gorm:"column:lend_limit"`
}

func (planClassRow) TableName() string { return "plan_classes" }

// Plans by name.
func (t *tx) Plans() ([]domain.Plan, error) { return all(t, planOf, "name, id", "") }

func (t *tx) InsertPlan(p domain.Plan) error {
	if err := needed(p.ID); err != nil {
		return err
	}
	return insert(t, planRow(p))
}

func (t *tx) PlanVersion(id pool.PlanVersionID) (domain.PlanVersion, error) {
	if err := needed(id); err != nil {
		return domain.PlanVersion{}, err
	}
	v, err := one(t, planVersionOf, "id = ?", id)
	if err != nil {
		return v, err
	}
	vs := []domain.PlanVersion{v}
	err = t.addPlanClasses(vs, "version_id = ?", id)
	return vs[0], err
}

func (t *tx) PlanVersions() ([]domain.PlanVersion, error) {
	vs, err := all(t, planVersionOf, "plan_id, n", "")
	if err != nil {
		return nil, err
	}
	return vs, t.addPlanClasses(vs, "")
}

// addPlanClasses reads the classes of all versions in one statement, by class.
func (t *tx) addPlanClasses(vs []domain.PlanVersion, where string, args ...any) error {
	rs, err := list[planClassRow](t, "version_id, class_id", where, args...)
	at := make(map[pool.PlanVersionID]int, len(vs))
	for i, v := range vs {
		at[v.ID] = i
	}
	for _, r := range rs {
		v := &vs[at[r.Version]]
		v.Classes = append(v.Classes, domain.PlanClass{Class: r.Class, Guaranteed: r.Guaranteed, Included: r.Included,
			BorrowLimit: r.BorrowLimit, LendLimit: r.LendLimit})
	}
	return err
}

// SavePlanVersion writes a draft first and publishes it last: from then on the
// triggers of the schema refuse every change.
func (t *tx) SavePlanVersion(v domain.PlanVersion) error {
	if err := needed(v.ID, v.Plan); err != nil {
		return err
	}
	r := planVersionRow{v.ID, v.Plan, v.N, v.Fee, v.CarryOver, v.AnnualPool, 0, v.CreatedAt}
	isNew, err := insertNew(t, r)
	if err != nil {
		return err
	}
	if !isNew {
		old, err := find[planVersionRow](t, "id = ?", v.ID)
		if domain.CodeOf(err) == domain.NotFound || err == nil && (old.Published != 0 || old.Plan != v.Plan || old.N != v.N) {
			return conflict(r) // published, or another version has this number
		}
		if err != nil {
			return err
		}
		if err := change(t, r, []string{"fee", "carry_over", "annual_pool"}, "id = ?", v.ID); err != nil {
			return err
		}
		if _, err := drop[planClassRow](t, "version_id = ?", v.ID); err != nil {
			return err
		}
	}
	for _, c := range v.Classes {
		if err := insert(t, planClassRow{v.ID, c.Class, c.Guaranteed, c.Included, c.BorrowLimit, c.LendLimit}); err != nil {
			return err
		}
	}
	if v.PublishedAt == 0 {
		return nil
	}
	return change(t, planVersionRow{Published: v.PublishedAt}, []string{"published_at"}, "id = ?", v.ID)
}
