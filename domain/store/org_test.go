package store_test

import (
	"testing"

	"gpupool/domain"
	"gpupool/domain/pool"
	"gpupool/domain/store"
	"gpupool/domain/store/storetest"
)

func TestOrganisationsAreListedByName(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		inTx(t, s, func(tx domain.Tx) error {
			var want []domain.Organisation
			for i, name := range []string{"Zeta", "alpha", "Älter", "大学"} { // by bytes, on both engines
				o := filled[domain.Organisation](10 * i)
				o.ID, o.Name = pool.OrgID([]string{"d", "c", "b", "a"}[i]), name
				want = append(want, o)
			}
			for _, i := range []int{2, 0, 3, 1} {
				if err := tx.InsertOrg(want[i]); err != nil {
					return err
				}
			}
			got, err := tx.Orgs()
			same(t, "by name", got, err, want)

			o := domain.Organisation{ID: "a", Name: "Zz", CreatedAt: want[3].CreatedAt}
			if err := tx.UpdateOrg(o); err != nil {
				return err
			}
			one, err := tx.Org("a")
			same(t, "changed to zero values", one, err, o)
			one, err = tx.Org("b")
			same(t, "another", one, err, want[2])
			wantCode(t, "the consortium's own name", tx.InsertOrg(domain.Organisation{ID: pool.Consortium}), domain.Conflict)
			wantCode(t, "no id", tx.InsertOrg(domain.Organisation{}), domain.Invalid)
			wantCode(t, "unknown", tx.UpdateOrg(domain.Organisation{ID: "x"}), domain.NotFound)
			_, err = tx.Org("")
			wantCode(t, "no id", err, domain.Invalid)
			return nil
		})
	})
}

func TestMembersAreOfOneOrganisation(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		twoMembers(t, s)
		inTx(t, s, func(tx domain.Tx) error {
			var want []domain.Member
			for i, name := range []string{"Ann", "Bob", "bob"} {
				u := person(pool.UserID("p"+string(rune('0'+i))), 10*i)
				u.Name = name
				m := domain.Membership{User: u.ID, Org: uni, Role: pool.Roles[i], Since: pool.Instant(i)}
				want = append(want, domain.Member{Membership: m, Name: name, Email: u.Email})
				if err := firstError(tx.InsertUser(u), tx.SaveMembership(m)); err != nil {
					return err
				}
			}
			got, err := tx.Members(uni)
			same(t, "by name", got, err, want)
			got, err = tx.Members(clinic)
			same(t, "of the other", got, err, nil)
			_, err = tx.Members("")
			wantCode(t, "of nobody", err, domain.Invalid)
			return nil
		})
	})
}

func TestInvitationsAreFoundByTheirHash(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		twoMembers(t, s)
		inTx(t, s, func(tx domain.Tx) error {
			older, newer := filled[domain.Invitation](10), filled[domain.Invitation](30)
			for _, i := range []*domain.Invitation{&older, &newer} {
				i.Org, i.Role = uni, pool.RoleFinance
				if err := tx.InsertInvitation(*i); err != nil {
					return err
				}
			}
			got, err := tx.InvitationByHash(older.TokenHash)
			same(t, "by hash", got, err, older)
			_, err = tx.InvitationByHash("")
			wantCode(t, "no hash", err, domain.NotFound)
			list, err := tx.Invitations(uni)
			same(t, "newest first", list, err, []domain.Invitation{newer, older})
			list, err = tx.Invitations(clinic)
			same(t, "of the other", list, err, nil)

			older.AcceptedAt, older.RevokedAt, older.ExpiresAt = 0, 77, 78
			changed := older
			changed.Email, changed.Role, changed.TokenHash = "eve@example.org", pool.RoleOwner, "stolen" // fixed once sent
			if err := tx.UpdateInvitation(changed); err != nil {
				return err
			}
			got, err = tx.InvitationByHash(older.TokenHash)
			same(t, "revoked", got, err, older)
			changed.Org = clinic
			wantCode(t, "another member's", tx.UpdateInvitation(changed), domain.NotFound)
			newer.ID = "other"
			wantCode(t, "same hash", tx.InsertInvitation(newer), domain.Conflict)
			wantCode(t, "no hash", tx.InsertInvitation(domain.Invitation{ID: "x", Org: uni, Role: pool.RoleOwner}), domain.Invalid)
			_, err = tx.Invitations("")
			wantCode(t, "of nobody", err, domain.Invalid)
			return nil
		})
	})
}
