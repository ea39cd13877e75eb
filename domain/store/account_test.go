package store_test

import (
	"database/sql"
	"testing"

	"gpupool/domain"
	"gpupool/domain/money"
	"gpupool/domain/pool"
	"gpupool/domain/store"
	"gpupool/domain/store/storetest"
)

func TestABillingAccountIsOfOneOrganisation(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		twoMembers(t, s)
		inTx(t, s, func(tx domain.Tx) error {
			a := filled[domain.BillingAccount](10)
			a.ID, a.Org, a.Name = "grants", uni, "Grants"
			if err := tx.InsertAccount(a); err != nil {
				return err
			}
			a.LastSeq = 0 // its ledger begins empty
			got, err := tx.Account(uni, "grants")
			same(t, "its own", got, err, a)
			_, err = tx.Account(clinic, "grants")
			wantCode(t, "another member's", err, domain.NotFound)
			_, err = tx.Account("", "grants")
			wantCode(t, "of nobody", err, domain.Invalid)
			foreign := a
			foreign.Org = clinic
			wantCode(t, "change another member's", tx.UpdateAccount(foreign), domain.NotFound)
			wantCode(t, "twice", tx.InsertAccount(foreign), domain.Conflict)
			wantCode(t, "no organisation", tx.InsertAccount(domain.BillingAccount{ID: "x"}), domain.Invalid)

			changed := domain.BillingAccount{ID: "grants", Org: uni, Name: "Grants", LastSeq: 99, CreatedAt: a.CreatedAt}
			if err := tx.UpdateAccount(changed); err != nil {
				return err
			}
			changed.LastSeq = 0 // counts the ledger, nobody sets it
			got, err = tx.Account(uni, "grants")
			same(t, "changed to zero values", got, err, changed)
			list, err := tx.Accounts(uni)
			if err != nil || len(list) != 2 || list[0].ID != "grants" || list[1].ID != "acc-uni" {
				t.Errorf("by name: %v %v", list, err)
			}
			list, err = tx.Accounts("")
			if err != nil || len(list) != 3 || list[0].Org != clinic {
				t.Errorf("of all: %v %v", list, err)
			}
			return nil
		})
	})
}

func TestPurchaseOrdersOfAnAccount(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		twoMembers(t, s)
		inTx(t, s, func(tx domain.Tx) error {
			early, late := filled[domain.PurchaseOrder](10), filled[domain.PurchaseOrder](30)
			early.Account, early.AtZero, late.Account, late.AtZero = "acc-uni", "next", "acc-uni", "without"
			late.To = pool.Never
			if err := firstError(tx.InsertOrder(late), tx.InsertOrder(early)); err != nil {
				return err
			}
			got, err := tx.Orders("acc-uni")
			same(t, "by validity", got, err, []domain.PurchaseOrder{early, late})
			got, err = tx.Orders("acc-clinic")
			same(t, "of the other", got, err, nil)
			other := late
			other.ID, other.Account = "o3", "acc-clinic" // the same number, at another buyer
			if err := tx.InsertOrder(other); err != nil {
				return err
			}
			got, err = tx.AllOrders()
			same(t, "of all", got, err, []domain.PurchaseOrder{other, early, late})
			late.ID = "o4"
			wantCode(t, "the number is there", tx.InsertOrder(late), domain.Conflict)
			_, err = tx.Orders("")
			wantCode(t, "of no account", err, domain.Invalid)
			return nil
		})
	})
}

func TestASubscriptionChangesOnlyItsFate(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		twoMembers(t, s)
		inTx(t, s, func(tx domain.Tx) error {
			err := firstError(tx.InsertPlan(domain.Plan{ID: "a"}),
				tx.SavePlanVersion(domain.PlanVersion{ID: "v1", Plan: "a", N: 1}), tx.SavePlanVersion(domain.PlanVersion{ID: "v2", Plan: "a", N: 2}),
				tx.InsertAccount(domain.BillingAccount{ID: "acc-2", Org: uni}))
			if err != nil {
				return err
			}
			of := func(id pool.SubscriptionID, org pool.OrgID, n int) domain.Subscription {
				b := filled[domain.Subscription](n)
				b.ID, b.Org, b.Account, b.Version, b.Payment, b.End = id, org, pool.AccountID("acc-"+org), "v1", "ok", pool.Never
				return b
			}
			first, second, foreign := of("z", uni, 10), of("y", uni, 30), of("x", clinic, 20)
			if err := firstError(tx.InsertSubscription(second), tx.InsertSubscription(foreign), tx.InsertSubscription(first)); err != nil {
				return err
			}
			got, err := tx.Subscriptions(uni)
			same(t, "by start", got, err, []domain.Subscription{first, second})
			got, err = tx.Subscriptions("")
			same(t, "of all", got, err, []domain.Subscription{first, foreign, second})
			wantCode(t, "twice", tx.InsertSubscription(first), domain.Conflict)
			wantCode(t, "no version", tx.InsertSubscription(domain.Subscription{ID: "w", Org: uni, Account: "acc-uni"}), domain.Invalid)

			changed := first
			changed.Version, changed.Start, changed.CreatedAt = "v2", 1, 1 // fixed
			changed.Account, changed.End, changed.Payment, changed.Pauses = "acc-2", first.Start+1, "overdue", nil
			if err := tx.UpdateSubscription(changed); err != nil {
				return err
			}
			first.Account, first.End, first.Payment, first.Pauses = "acc-2", first.Start+1, "overdue", nil
			got, err = tx.Subscriptions(uni)
			same(t, "changed", got, err, []domain.Subscription{first, second})
			changed.Org = clinic
			wantCode(t, "another member's", tx.UpdateSubscription(changed), domain.NotFound)
			return nil
		})
	})
}

func TestLimitsAndCapsAreDatedAndNeverChange(t *testing.T) {
	t.Parallel()
	eachByHand(t, func(t *testing.T, s *store.Store, hand *sql.DB) {
		twoMembers(t, s)
		twoClasses(t, s)
		zero, ten, cap := 0, 10, money.Amount(0)
		limits := []domain.Limit{
			{Org: clinic, Class: "a100-80g", From: 1, Borrow: &ten},
			{Org: uni, Class: "a100-80g", From: 1, Borrow: &zero, Lend: &ten}, // zero is a choice
			{Org: uni, Class: "h100-80g", From: 1, Lend: &zero},
			{Org: uni, Class: "a100-80g", From: 2}, // the plan's again
		}
		caps := []domain.SpendingCap{{Org: uni, From: 1, Amount: &cap, Mode: domain.CapStop}, {Org: clinic, From: 2, Mode: domain.CapNotify}, {Org: uni, From: 3, Mode: domain.CapDowngrade}}
		inTx(t, s, func(tx domain.Tx) error {
			for i := len(limits) - 1; i >= 0; i-- {
				if err := tx.InsertLimit(limits[i]); err != nil {
					return err
				}
			}
			for i := len(caps) - 1; i >= 0; i-- {
				if err := tx.InsertCap(caps[i]); err != nil {
					return err
				}
			}
			got, err := tx.Limits("")
			same(t, "limits of all", got, err, limits)
			got, err = tx.Limits(uni)
			same(t, "limits of one", got, err, limits[1:])
			wantCode(t, "two limits from one instant", tx.InsertLimit(limits[0]), domain.Conflict)
			wantCode(t, "limit of nobody", tx.InsertLimit(domain.Limit{Class: "a100-80g"}), domain.Invalid)
			cs, err := tx.Caps("")
			same(t, "caps of all", cs, err, caps)
			cs, err = tx.Caps(uni)
			same(t, "caps of one", cs, err, []domain.SpendingCap{caps[0], caps[2]})
			wantCode(t, "two caps from one instant", tx.InsertCap(caps[0]), domain.Conflict)
			wantCode(t, "cap of nobody", tx.InsertCap(domain.SpendingCap{Mode: domain.CapStop}), domain.Invalid)
			return nil
		})
		low, few := 0, 2
		weights := []domain.Weight{{Org: clinic, Class: "a100-80g", From: 1, Weight: 3}, {Org: uni, Class: "a100-80g", From: 1, Weight: 0}, {Org: uni, Class: "a100-80g", From: 2, Weight: 1}}
		inTx(t, s, func(tx domain.Tx) error {
			p := domain.Project{ID: "prj-x", Org: uni, Name: "X", BudgetPeriod: "month", Nodes: "any"}
			if err := tx.InsertProject(p); err != nil {
				return err
			}
			quotas := []domain.ProjectQuota{{Project: p.ID, Class: "a100-80g", From: 1, Guaranteed: 4}, {Project: p.ID, Class: "h100-80g", From: 1, Borrow: &low}, {Project: p.ID, Class: "a100-80g", From: 2, Guaranteed: 1, Borrow: &few}}
			for i := 2; i >= 0; i-- {
				if err := tx.InsertWeight(weights[i]); err != nil {
					return err
				}
				if err := tx.InsertProjectQuota(quotas[i]); err != nil {
					return err
				}
			}
			ws, err := tx.Weights()
			same(t, "weights", ws, err, weights)
			qs, err := tx.ProjectQuotas()
			same(t, "quotas of projects", qs, err, quotas)
			wantCode(t, "two weights from one instant", tx.InsertWeight(weights[0]), domain.Conflict)
			wantCode(t, "weight of nobody", tx.InsertWeight(domain.Weight{Class: "a100-80g"}), domain.Invalid)
			wantCode(t, "two quotas from one instant", tx.InsertProjectQuota(quotas[0]), domain.Conflict)
			wantCode(t, "quota of no project", tx.InsertProjectQuota(domain.ProjectQuota{Class: "a100-80g"}), domain.Invalid)
			return nil
		})
		refused(t, hand, "UPDATE quota_weights SET weight = 1", "DELETE FROM quota_weights", "UPDATE project_quotas SET guaranteed = 1", "DELETE FROM project_quotas")
		refused(t, hand, "UPDATE quota_limits SET borrow = 1", "DELETE FROM quota_limits", "UPDATE spending_caps SET amount = 1", "DELETE FROM spending_caps")
	})
}
