package store_test

import (
	"database/sql"
	"testing"

	"gpupool/domain"
	"gpupool/domain/pool"
	"gpupool/domain/store"
	"gpupool/domain/store/storetest"
)

func TestAProjectIsOfOneOrganisation(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		twoMembers(t, s)
		inTx(t, s, func(tx domain.Tx) error {
			p := filled[domain.Project](10)
			p.ID, p.Org, p.Name = "vision", uni, "A vision"
			if err := tx.InsertProject(p); err != nil {
				return err
			}
			got, err := tx.Project(uni, "vision")
			same(t, "its own", got, err, p)
			_, err = tx.Project(clinic, "vision")
			wantCode(t, "another member's", err, domain.NotFound)
			_, err = tx.Project("", "vision")
			wantCode(t, "of nobody", err, domain.Invalid)
			_, err = tx.Project(uni, "")
			wantCode(t, "no id", err, domain.Invalid)
			taken := p
			taken.Org = clinic
			wantCode(t, "the id is taken in the whole pool", tx.InsertProject(taken), domain.Conflict)
			wantCode(t, "change another member's", tx.UpdateProject(taken), domain.NotFound)

			p = domain.Project{ID: "vision", Org: uni, Name: "A view", CreatedAt: p.CreatedAt} // no budget any more
			if err := tx.UpdateProject(p); err != nil {
				return err
			}
			list, err := tx.Projects(uni)
			lab, err2 := tx.Project(uni, "lab-uni")
			same(t, "by name", list, firstError(err, err2), []domain.Project{p, lab})
			all, err := tx.AllProjects()
			if err != nil || len(all) != 3 || all[0].Org != clinic || all[2].ID != "lab-uni" {
				t.Errorf("all: %v %v", all, err)
			}
			_, err = tx.Projects("")
			wantCode(t, "of nobody", err, domain.Invalid)
			return nil
		})
	})
}

func TestABudgetOfZeroIsNotNone(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		twoMembers(t, s)
		inTx(t, s, func(tx domain.Tx) error {
			p, err := tx.Project(uni, "lab-uni")
			if err != nil || p.Budget != nil {
				t.Fatalf("budget %v, %v", p.Budget, err)
			}
			p.Budget = new(int64)
			if err := tx.UpdateProject(p); err != nil {
				return err
			}
			got, err := tx.Project(uni, "lab-uni")
			same(t, "budget of zero", got, err, p)
			return nil
		})
	})
}

func TestProjectMembers(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		twoMembers(t, s)
		inTx(t, s, func(tx domain.Tx) error {
			want := []domain.ProjectMember{{Project: "lab-uni", User: "ada-clinic"}, {Project: "lab-uni", User: "ada-uni", Lead: true}}
			if err := firstError(tx.SaveProjectMember(want[1]), tx.SaveProjectMember(want[0])); err != nil {
				return err
			}
			want[1].Lead = false
			if err := tx.SaveProjectMember(want[1]); err != nil {
				return err
			}
			got, err := tx.ProjectMembers("lab-uni")
			same(t, "members", got, err, want)
			if err := tx.DeleteProjectMember("lab-uni", "ada-uni"); err != nil {
				return err
			}
			wantCode(t, "taken out twice", tx.DeleteProjectMember("lab-uni", "ada-uni"), domain.NotFound)
			got, err = tx.ProjectMembers("lab-uni")
			same(t, "one left", got, err, want[:1])
			_, err = tx.ProjectMembers("")
			wantCode(t, "of no project", err, domain.Invalid)
			wantCode(t, "nobody", tx.SaveProjectMember(domain.ProjectMember{Project: "lab-uni"}), domain.Invalid)
			return nil
		})
	})
}

func TestTheAccountOfAProjectIsDated(t *testing.T) {
	t.Parallel()
	eachByHand(t, func(t *testing.T, s *store.Store, hand *sql.DB) {
		twoMembers(t, s)
		inTx(t, s, func(tx domain.Tx) error {
			want := []domain.AccountOfProject{
				{Project: "lab-uni", Account: "acc-uni", From: 1},
				{Project: "lab-clinic", Account: "acc-clinic", From: 2},
				{Project: "lab-uni", Account: "acc-clinic", From: 3},
			}
			for _, i := range []int{2, 0, 1} {
				if err := tx.InsertProjectAccount(want[i]); err != nil {
					return err
				}
			}
			wantCode(t, "two from one instant", tx.InsertProjectAccount(domain.AccountOfProject{Project: "lab-uni", Account: "acc-clinic", From: 1}), domain.Conflict)
			wantCode(t, "no account", tx.InsertProjectAccount(domain.AccountOfProject{Project: "lab-uni", From: 9}), domain.Invalid)
			got, err := tx.ProjectAccounts("")
			same(t, "of all", got, err, want)
			got, err = tx.ProjectAccounts("lab-uni")
			same(t, "of one", got, err, []domain.AccountOfProject{want[0], want[2]})
			return nil
		})
		refused(t, hand, "UPDATE project_accounts SET account_id = 'acc-clinic'", "DELETE FROM project_accounts")
	})
}

func TestWhatNamesNothingIsNotFound(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		twoMembers(t, s)
		for what, fn := range map[string]func(tx domain.Tx) error{
			"project of no organisation": func(tx domain.Tx) error { return tx.InsertProject(domain.Project{ID: "p", Org: "none"}) },
			"account of no organisation": func(tx domain.Tx) error { return tx.InsertAccount(domain.BillingAccount{ID: "a", Org: "none"}) },
			"order of no account": func(tx domain.Tx) error {
				return tx.InsertOrder(domain.PurchaseOrder{ID: "o", Account: "none", AtZero: "stop"})
			},
			"member of no project": func(tx domain.Tx) error {
				return tx.SaveProjectMember(domain.ProjectMember{Project: "none", User: "ada-uni"})
			},
			"version of no plan": func(tx domain.Tx) error { return tx.SavePlanVersion(domain.PlanVersion{ID: "v", Plan: "none"}) },
			"limit of no class":  func(tx domain.Tx) error { return tx.InsertLimit(domain.Limit{Org: uni, Class: "none"}) },
			"token of nobody": func(tx domain.Tx) error {
				return tx.InsertToken(domain.APIToken{ID: "t", Hash: "h", User: pool.UserID("none")})
			},
			"project account of no project": func(tx domain.Tx) error {
				return tx.InsertProjectAccount(domain.AccountOfProject{Project: "none", Account: "acc-uni"})
			},
		} {
			wantCode(t, what, s.Update(t.Context(), fn), domain.NotFound)
		}
	})
}
