package store_test

import (
	"testing"

	"gpupool/domain"
	"gpupool/domain/pool"
	"gpupool/domain/store"
	"gpupool/domain/store/storetest"
)

// person is a user with every field set.
func person(id pool.UserID, n int) domain.User {
	u := filled[domain.User](n)
	u.ID, u.Email = id, string(id)+"@example.org"
	return u
}

func TestUsersAreFoundByIDAndEmail(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		inTx(t, s, func(tx domain.Tx) error {
			_, err := tx.User("ada")
			wantCode(t, "unknown id", err, domain.NotFound)
			_, err = tx.UserByEmail("ada@example.org")
			wantCode(t, "unknown e-mail", err, domain.NotFound)
			_, err = tx.UserByEmail("")
			wantCode(t, "no e-mail", err, domain.NotFound)
			ada, bob := person("ada", 10), person("bob", 40)
			shout := ada
			shout.Email = "Ada@Example.ORG"
			if err := firstError(tx.InsertUser(bob), tx.InsertUser(shout)); err != nil {
				return err
			}
			got, err := tx.User("ada")
			same(t, "by id, e-mail in small letters", got, err, ada)
			got, err = tx.UserByEmail("ADA@example.org")
			same(t, "by e-mail, in any letters", got, err, ada)
			all, err := tx.Users()
			same(t, "by e-mail", all, err, []domain.User{ada, bob})
			n, err := tx.CountUsers()
			same(t, "number", n, err, 2)
			return nil
		})
	})
}

func TestAnEmailIsOnePersons(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		inTx(t, s, func(tx domain.Tx) error {
			ada, bob := person("ada", 10), person("bob", 40)
			if err := firstError(tx.InsertUser(ada), tx.InsertUser(bob)); err != nil {
				return err
			}
			wantCode(t, "same id", tx.InsertUser(domain.User{ID: "ada", Email: "new@example.org"}), domain.Conflict)
			wantCode(t, "same e-mail", tx.InsertUser(domain.User{ID: "new", Email: "ADA@example.org"}), domain.Conflict)
			wantCode(t, "no id", tx.InsertUser(domain.User{Email: "x@example.org"}), domain.Invalid)
			wantCode(t, "no e-mail", tx.InsertUser(domain.User{ID: "x"}), domain.Invalid)
			bob.Email = "Ada@example.org"
			wantCode(t, "changed to hers", tx.UpdateUser(bob), domain.Conflict)
			wantCode(t, "changed, unknown", tx.UpdateUser(person("eve", 1)), domain.NotFound)

			ada = domain.User{ID: "ada", Email: "ada@example.org", CreatedAt: ada.CreatedAt} // zero values are values
			if err := tx.UpdateUser(ada); err != nil {
				return err
			}
			got, err := tx.User("ada")
			same(t, "changed to zero", got, err, ada)
			got, err = tx.User("bob")
			same(t, "the other person", got, err, person("bob", 40))
			return nil
		})
	})
}

func TestTokensAreOfOnePerson(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		inTx(t, s, func(tx domain.Tx) error {
			older, newer := filled[domain.APIToken](10), filled[domain.APIToken](30)
			older.User, newer.User = "ada", "ada"
			older.RevokedAt, newer.RevokedAt, newer.Scopes = 0, 0, nil
			wantCode(t, "of nobody", tx.InsertToken(domain.APIToken{ID: "x", Hash: "x"}), domain.Invalid)
			if err := firstError(tx.InsertUser(person("ada", 1)), tx.InsertUser(person("bob", 2)), tx.InsertToken(older), tx.InsertToken(newer)); err != nil {
				return err
			}
			copied := filled[domain.APIToken](60)
			copied.User, copied.Hash = "bob", older.Hash
			wantCode(t, "same hash", tx.InsertToken(copied), domain.Conflict)
			got, err := tx.TokenByHash(older.Hash)
			same(t, "by hash", got, err, older)
			_, err = tx.TokenByHash("")
			wantCode(t, "no hash", err, domain.NotFound)

			if err := firstError(tx.TouchToken(older.ID, 500), tx.RevokeToken("ada", older.ID, 600), tx.RevokeToken("ada", older.ID, 700)); err != nil {
				return err
			}
			older.LastUsed, older.RevokedAt = 500, 600
			list, err := tx.Tokens("ada")
			same(t, "newest first", list, err, []domain.APIToken{newer, older})
			list, err = tx.Tokens("bob")
			same(t, "of the other", list, err, nil)
			wantCode(t, "another's token", tx.RevokeToken("bob", newer.ID, 1), domain.NotFound)
			wantCode(t, "unknown token", tx.TouchToken("none", 1), domain.NotFound)
			_, err = tx.Tokens("")
			wantCode(t, "of nobody", err, domain.Invalid)
			return nil
		})
	})
}

func TestMembershipsTellRolesAndProjects(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		twoMembers(t, s)
		inTx(t, s, func(tx domain.Tx) error {
			owner := domain.Membership{User: "ada-uni", Org: clinic, Role: pool.RoleOwner, Since: 7}
			lead := domain.Membership{User: "ada-uni", Org: uni, Role: pool.RoleLead, Since: 8}
			if err := firstError(tx.SaveMembership(lead), tx.SaveMembership(owner)); err != nil {
				return err
			}
			got, err := tx.Memberships("ada-uni")
			same(t, "by organisation", got, err, []domain.Membership{owner, lead})
			lead.Role = pool.RoleViewer
			if err := tx.SaveMembership(domain.Membership{User: lead.User, Org: lead.Org, Role: lead.Role, Since: 99}); err != nil {
				return err
			}
			got, err = tx.Memberships("ada-uni")
			same(t, "a new role since the first day", got, err, []domain.Membership{owner, lead})

			in := []domain.ProjectMember{{Project: "lab-clinic", User: "ada-uni"}, {Project: "lab-uni", User: "ada-uni", Lead: true}}
			if err := firstError(tx.SaveProjectMember(in[1]), tx.SaveProjectMember(in[0])); err != nil {
				return err
			}
			clinic, err := tx.Project("clinic", "lab-clinic")
			if err != nil {
				return err
			}
			lab, err := tx.Project(uni, "lab-uni")
			if err != nil {
				return err
			}
			ps, err := tx.ProjectsOf("ada-uni")
			same(t, "projects", ps, err, []domain.Project{clinic, lab})
			if err := tx.DeleteMembership("ada-uni", uni); err != nil {
				return err
			}
			ps, err = tx.ProjectsOf("ada-uni")
			same(t, "projects of the organisation left", ps, err, []domain.Project{clinic})
			wantCode(t, "left twice", tx.DeleteMembership("ada-uni", uni), domain.NotFound)
			wantCode(t, "of nobody", tx.SaveMembership(domain.Membership{Org: uni, Role: pool.RoleOwner}), domain.Invalid)
			_, err = tx.Memberships("")
			wantCode(t, "of nobody", err, domain.Invalid)
			return nil
		})
	})
}
