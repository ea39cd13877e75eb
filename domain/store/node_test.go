package store_test

import (
	"testing"

	"gpupool/domain"
	"gpupool/domain/pool"
	"gpupool/domain/store"
	"gpupool/domain/store/storetest"
)

func TestNodesAreReplacedByTheInventory(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		inTx(t, s, func(tx domain.Tx) error {
			a, b := filled[domain.Node](10), filled[domain.Node](40)
			a.ID, a.Name, a.State = "n2", "alpha", domain.NodeReady
			b.ID, b.Name, b.State = "n1", "beta", domain.NodeDraining
			if err := firstError(tx.SaveNode(b), tx.SaveNode(a)); err != nil {
				return err
			}
			got, err := tx.Nodes()
			same(t, "by name", got, err, []domain.Node{a, b})
			a = domain.Node{ID: "n2", Name: "alpha", State: domain.NodeDown, Contributor: pool.Consortium}
			if err := tx.SaveNode(a); err != nil {
				return err
			}
			got, err = tx.Nodes()
			same(t, "one replaced by zero values", got, err, []domain.Node{a, b})
			wantCode(t, "no id", tx.SaveNode(domain.Node{State: domain.NodeReady}), domain.Invalid)
			return nil
		})
	})
}

func TestSitesAndContributions(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		twoMembers(t, s)
		twoClasses(t, s)
		inTx(t, s, func(tx domain.Tx) error {
			sites := []domain.Site{{ID: "b", Name: "Aachen"}, {ID: "a", Name: "Bonn"}}
			if err := firstError(tx.SaveSite(sites[1]), tx.SaveSite(domain.Site{ID: "b"}), tx.SaveSite(sites[0])); err != nil {
				return err
			}
			got, err := tx.Sites()
			same(t, "sites by name", got, err, sites)
			wantCode(t, "site without id", tx.SaveSite(domain.Site{}), domain.Invalid)

			early, late := filled[domain.Contribution](10), filled[domain.Contribution](30)
			early.Org, early.Class, late.Org, late.Class, late.To = uni, "a100-80g", clinic, "h100-80g", pool.Never
			if err := firstError(tx.InsertContribution(late), tx.InsertContribution(early)); err != nil {
				return err
			}
			cs, err := tx.Contributions()
			same(t, "by begin", cs, err, []domain.Contribution{early, late})
			wantCode(t, "twice", tx.InsertContribution(early), domain.Conflict)
			wantCode(t, "of nobody", tx.InsertContribution(domain.Contribution{ID: "x", Class: "a100-80g"}), domain.Invalid)
			return nil
		})
	})
}
