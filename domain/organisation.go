package domain

import (
	"context"
	"strings"

	"gpupool/domain/pool"
)

// CreateMemberInput is the operator's form for a new member organisation.
type CreateMemberInput struct {
	Slug       string // stands in paths, for ever
	Name       string
	NameZH     string
	OwnerEmail string
}

// CreateMember makes a member organisation and invites its owner. The token of
// the invitation's link is returned once.
func (s *Service) CreateMember(ctx context.Context, a Actor, in CreateMemberInput) (Organisation, Invitation, string, error) {
	fail := func(err error) (Organisation, Invitation, string, error) {
		return Organisation{}, Invitation{}, "", err
	}
	if err := a.NeedOperator(); err != nil {
		return fail(err)
	}
	var f Fields
	o := Organisation{ID: pool.OrgID(trimmed(in.Slug)), ShowAs: "name", NameZH: trimmed(in.NameZH)}
	if err := pool.CheckSlug(string(o.ID)); err != nil {
		f.Add("slug", "%s", sentence(err))
	} else if o.ID == pool.Consortium {
		f.Add("slug", "%q stands for the consortium itself.", string(o.ID))
	}
	o.Name = checkName(&f, "name", in.Name)
	checkLine(&f, "name_zh", o.NameZH, false, maxName)
	email := checkEmail(&f, "owner_email", in.OwnerEmail)
	if err := f.Err(); err != nil {
		return fail(err)
	}
	token, id := s.secret(20), s.newID("inv-")
	var i Invitation
	err := s.update(ctx, "", func(tx Tx) error {
		orgs, err := tx.Orgs()
		if err != nil {
			return err
		}
		var f Fields
		for _, x := range orgs {
			if x.ID == o.ID {
				f.Add("slug", "%s is a member already.", string(o.ID))
			} else if strings.EqualFold(x.Name, o.Name) {
				f.Add("name", "Another member has this name.")
			}
		}
		if err := f.Err(); err != nil {
			return err
		}
		o.CreatedAt = tx.Now()
		if err := tx.InsertOrg(o); err != nil {
			return err
		}
		if err := audit(tx, a, o.ID, "organisation.create", string(o.ID), nil, o); err != nil {
			return err
		}
		if err := tx.BumpVersion(); err != nil {
			return err
		}
		i, err = invite(tx, a, Invitation{ID: id, TokenHash: HashSecret(token), Org: o.ID, Email: email, Role: pool.RoleOwner})
		return err
	})
	if err != nil {
		return fail(err)
	}
	return o, i, token, nil
}

// Organisations: all for the operator, else those the actor belongs to, by name.
func (s *Service) Organisations(ctx context.Context, a Actor) ([]Organisation, error) {
	var out []Organisation
	err := s.store.View(ctx, func(tx Tx) error {
		all, err := tx.Orgs()
		out = nil
		for _, o := range all {
			if a.Knows(o.ID) {
				out = append(out, o)
			}
		}
		return err
	})
	return out, err
}

// Organisation is one that the actor may see.
func (s *Service) Organisation(ctx context.Context, a Actor, org pool.OrgID) (Organisation, error) {
	if err := a.Need(org, ActView); err != nil {
		return Organisation{}, err
	}
	var o Organisation
	err := s.store.View(ctx, func(tx Tx) (err error) { o, err = tx.Org(org); return err })
	return o, err
}

// OrganisationInput is the owner's form.
type OrganisationInput struct {
	Name, NameZH string
	ShowAs       string // what other members see: name, pseudonym, member
	Pseudonym    string
}

// UpdateOrganisation changes names and what other members see.
func (s *Service) UpdateOrganisation(ctx context.Context, a Actor, org pool.OrgID, in OrganisationInput) (Organisation, error) {
	if err := a.Need(org, ActTeam); err != nil {
		return Organisation{}, err
	}
	var f Fields
	name, zh, pseudonym := checkName(&f, "name", in.Name), trimmed(in.NameZH), trimmed(in.Pseudonym)
	checkLine(&f, "name_zh", zh, false, maxName)
	checkChoice(&f, "show_as", in.ShowAs, "name", "pseudonym", "member")
	checkLine(&f, "pseudonym", pseudonym, in.ShowAs == "pseudonym", maxName)
	if err := f.Err(); err != nil {
		return Organisation{}, err
	}
	return s.changeOrg(ctx, a, org, "organisation.update", func(tx Tx, o *Organisation) error {
		o.Name, o.NameZH, o.ShowAs, o.Pseudonym = name, zh, in.ShowAs, pseudonym
		all, err := tx.Orgs()
		if err != nil {
			return err
		}
		var f Fields
		for _, x := range all {
			if x.ID == org {
				continue
			}
			if strings.EqualFold(x.Name, name) {
				f.Add("name", "Another member has this name.")
			}
			if pseudonym != "" && (strings.EqualFold(x.Name, pseudonym) || strings.EqualFold(x.Pseudonym, pseudonym)) {
				f.Add("pseudonym", "This would be taken for another member.")
			}
		}
		return f.Err()
	})
}

// PauseOrganisation stops new jobs of a member for a reason; what runs goes on.
// Pauses are a set: the member runs again when the last reason is lifted.
func (s *Service) PauseOrganisation(ctx context.Context, a Actor, org pool.OrgID, reason string) (Organisation, error) {
	if err := a.NeedOperator(); err != nil {
		return Organisation{}, err
	}
	var f Fields
	if reason = checkName(&f, "reason", reason); len(f) > 0 {
		return Organisation{}, f.Err()
	}
	return s.changeOrg(ctx, a, org, "organisation.pause", func(_ Tx, o *Organisation) error {
		o.Pauses = with(o.Pauses, reason)
		return nil
	})
}

// ResumeOrganisation lifts one reason.
func (s *Service) ResumeOrganisation(ctx context.Context, a Actor, org pool.OrgID, reason string) (Organisation, error) {
	if err := a.NeedOperator(); err != nil {
		return Organisation{}, err
	}
	return s.changeOrg(ctx, a, org, "organisation.resume", func(_ Tx, o *Organisation) error {
		left := without(o.Pauses, trimmed(reason))
		if len(left) == len(o.Pauses) {
			return Errf(Conflict, "The member is not paused for this reason.")
		}
		o.Pauses = left
		return nil
	})
}

func (s *Service) changeOrg(ctx context.Context, a Actor, org pool.OrgID, action string, change func(tx Tx, o *Organisation) error) (Organisation, error) {
	var o Organisation
	err := s.update(ctx, org, func(tx Tx) error {
		old, err := tx.Org(org)
		if err != nil {
			return err
		}
		o = old
		if err := change(tx, &o); err != nil {
			return err
		}
		if err := tx.UpdateOrg(o); err != nil {
			return err
		}
		if err := tx.BumpVersion(); err != nil {
			return err
		}
		return audit(tx, a, org, action, string(org), old, o)
	})
	return o, err
}
