package store_test

import (
	"database/sql"
	"testing"

	"gpupool/domain"
	"gpupool/domain/pool"
	"gpupool/domain/store"
	"gpupool/domain/store/storetest"
)

// twoClasses stores the classes a100 and h100 and gives them by id.
func twoClasses(t testing.TB, s *store.Store) []domain.GPUClass {
	t.Helper()
	cs := []domain.GPUClass{filled[domain.GPUClass](10), filled[domain.GPUClass](40)}
	cs[0].ID, cs[1].ID = "a100-80g", "h100-80g"
	inTx(t, s, func(tx domain.Tx) error { return firstError(tx.InsertClass(cs[1]), tx.InsertClass(cs[0])) })
	return cs
}

func TestClassesAreListedByID(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		want := twoClasses(t, s)
		inTx(t, s, func(tx domain.Tx) error {
			got, err := tx.Classes()
			same(t, "by id", got, err, want)
			one, err := tx.Class("h100-80g")
			same(t, "one", one, err, want[1])
			wantCode(t, "twice", tx.InsertClass(want[0]), domain.Conflict)
			wantCode(t, "no id", tx.InsertClass(domain.GPUClass{}), domain.Invalid)
			_, err = tx.Class("none")
			wantCode(t, "unknown", err, domain.NotFound)
			_, err = tx.Class("")
			wantCode(t, "no id", err, domain.Invalid)
			c := domain.GPUClass{ID: "h100-80g", CreatedAt: want[1].CreatedAt}
			if err := tx.UpdateClass(c); err != nil {
				return err
			}
			got, err = tx.Classes()
			same(t, "one changed", got, err, []domain.GPUClass{want[0], c})
			wantCode(t, "unknown", tx.UpdateClass(domain.GPUClass{ID: "none"}), domain.NotFound)
			return nil
		})
	})
}

// version is a draft of the plan with every field set.
func version(id pool.PlanVersionID, plan pool.PlanID, n int) domain.PlanVersion {
	v := filled[domain.PlanVersion](100 * n)
	v.ID, v.Plan, v.N, v.PublishedAt = id, plan, n, 0
	v.Classes[0].Class, v.Classes[1].Class = "a100-80g", "h100-80g"
	return v
}

func TestPlansAndTheirVersions(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		twoClasses(t, s)
		inTx(t, s, func(tx domain.Tx) error {
			plans := []domain.Plan{{ID: "b", Name: "Large", NameZH: "大", Hidden: true}, {ID: "a", Name: "Small"}}
			if err := firstError(tx.InsertPlan(plans[1]), tx.InsertPlan(plans[0])); err != nil {
				return err
			}
			wantCode(t, "plan twice", tx.InsertPlan(plans[0]), domain.Conflict)
			wantCode(t, "plan without id", tx.InsertPlan(domain.Plan{}), domain.Invalid)
			got, err := tx.Plans()
			same(t, "by name", got, err, plans)

			want := []domain.PlanVersion{version("z", "a", 1), version("y", "a", 2), version("x", "b", 1)}
			want[2].Classes = nil
			for _, i := range []int{2, 1, 0} {
				if err := tx.SavePlanVersion(want[i]); err != nil {
					return err
				}
			}
			vs, err := tx.PlanVersions()
			same(t, "by plan and number", vs, err, want)
			one, err := tx.PlanVersion("y")
			same(t, "one", one, err, want[1])
			_, err = tx.PlanVersion("none")
			wantCode(t, "unknown", err, domain.NotFound)
			_, err = tx.PlanVersion("")
			wantCode(t, "no id", err, domain.Invalid)
			other := version("w", "a", 2)
			wantCode(t, "the number is taken", tx.SavePlanVersion(other), domain.Conflict)
			wantCode(t, "no plan", tx.SavePlanVersion(domain.PlanVersion{ID: "v"}), domain.Invalid)
			return nil
		})
	})
}

func TestAPublishedPlanVersionNeverChanges(t *testing.T) {
	t.Parallel()
	eachByHand(t, func(t *testing.T, s *store.Store, hand *sql.DB) {
		twoClasses(t, s)
		v := version("v1", "a", 1)
		draft := version("v2", "a", 2)
		inTx(t, s, func(tx domain.Tx) error {
			if err := firstError(tx.InsertPlan(domain.Plan{ID: "a"}), tx.SavePlanVersion(v), tx.SavePlanVersion(draft)); err != nil {
				return err
			}
			v.Fee, v.CarryOver, v.Classes, v.PublishedAt = 0, false, v.Classes[1:], 5 // a draft may change, and be published with it
			if err := tx.SavePlanVersion(v); err != nil {
				return err
			}
			got, err := tx.PlanVersion("v1")
			same(t, "published", got, err, v)
			changed := v
			changed.Fee = 1
			wantCode(t, "changed", tx.SavePlanVersion(changed), domain.Conflict)
			changed.PublishedAt = 0
			wantCode(t, "taken back", tx.SavePlanVersion(changed), domain.Conflict)
			return nil
		})
		refused(t, hand,
			"UPDATE plan_versions SET fee = 1 WHERE id = 'v1'",
			"UPDATE plan_versions SET published_at = 0 WHERE id = 'v1'",
			"UPDATE plan_classes SET guaranteed = 99 WHERE version_id = 'v1'",
			"UPDATE plan_classes SET version_id = 'v1' WHERE version_id = 'v2' AND class_id = 'a100-80g'",
			"DELETE FROM plan_classes WHERE version_id = 'v1'",
			"INSERT INTO plan_classes VALUES ('v1', 'a100-80g', 1, 1, 1, 1)",
			"DELETE FROM plan_versions WHERE id = 'v1'")
		taken(t, hand, "UPDATE plan_versions SET fee = 1 WHERE id = 'v2'", "UPDATE plan_classes SET guaranteed = 99 WHERE version_id = 'v2'")
	})
}

// taken fails the test when the database refuses one of the statements or it
// hits no row: a refusal of its neighbour then means what the test says.
func taken(t *testing.T, hand *sql.DB, statements ...string) {
	t.Helper()
	for _, q := range statements {
		res, err := hand.Exec(q)
		if err != nil {
			t.Errorf("%s: %v", q, err)
			continue
		}
		if n, err := res.RowsAffected(); n == 0 || err != nil {
			t.Errorf("%s: %d rows, %v", q, n, err)
		}
	}
}

// prices is a draft with one row per class and cover and every field set.
func prices(id pool.PriceListID, n int) domain.PriceList {
	l := filled[domain.PriceList](100 * n)
	l.ID, l.From, l.PublishedAt = id, pool.Instant(n), 0
	for i := range l.Rows {
		r := &l.Rows[i]
		r.List, r.Cover = id, pool.Covers[i]
		r.Class = "a100-80g"
		r.LenderShare, r.FromMinute, r.ToMinute = 10_000, 1439, 1440
	}
	l.Rows[0], l.Rows[1] = l.Rows[1], l.Rows[0] // loan before own, by name
	return l
}

func TestPriceListsAreDated(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		twoClasses(t, s)
		inTx(t, s, func(tx domain.Tx) error {
			want := []domain.PriceList{prices("z", 1), prices("y", 2)}
			if err := firstError(tx.SavePriceList(want[1]), tx.SavePriceList(want[0])); err != nil {
				return err
			}
			got, err := tx.PriceLists()
			same(t, "by begin", got, err, want)
			one, err := tx.PriceList("y")
			same(t, "one", one, err, want[1])
			_, err = tx.PriceList("none")
			wantCode(t, "unknown", err, domain.NotFound)
			stolen := prices("x", 3)
			stolen.Rows[0].ID = want[0].Rows[0].ID
			wantCode(t, "a row of another list", tx.SavePriceList(stolen), domain.Conflict)
			nameless := prices("w", 4)
			nameless.Rows[0].ID = ""
			wantCode(t, "a row without id", tx.SavePriceList(nameless), domain.Invalid)
			wantCode(t, "no id", tx.SavePriceList(domain.PriceList{}), domain.Invalid)
			return nil
		})
	})
}

func TestAPublishedPriceListNeverChanges(t *testing.T) {
	t.Parallel()
	eachByHand(t, func(t *testing.T, s *store.Store, hand *sql.DB) {
		twoClasses(t, s)
		l, draft := prices("p1", 1), prices("p2", 2)
		inTx(t, s, func(tx domain.Tx) error {
			if err := firstError(tx.SavePriceList(l), tx.SavePriceList(draft)); err != nil {
				return err
			}
			l.Name, l.From, l.Rows, l.PublishedAt = "", 0, l.Rows[1:], 5
			if err := tx.SavePriceList(l); err != nil {
				return err
			}
			got, err := tx.PriceList("p1")
			same(t, "published", got, err, l)
			l.Name = "changed"
			wantCode(t, "changed", tx.SavePriceList(l), domain.Conflict)
			return nil
		})
		refused(t, hand,
			"UPDATE price_lists SET valid_from = 1 WHERE id = 'p1'",
			"UPDATE price_lists SET published_at = 0 WHERE id = 'p1'",
			"DELETE FROM price_lists WHERE id = 'p1'",
			"UPDATE price_rows SET price = 1 WHERE list_id = 'p1'",
			"UPDATE price_rows SET list_id = 'p1' WHERE list_id = 'p2' AND cover = 'loan'",
			"DELETE FROM price_rows WHERE list_id = 'p1'",
			"INSERT INTO price_rows VALUES ('new', 'p1', 'h100-80g', 'own', 1, 0, 0, 1440)")
		taken(t, hand, "UPDATE price_lists SET valid_from = 1 WHERE id = 'p2'", "UPDATE price_rows SET price = 1 WHERE list_id = 'p2'")
	})
}
