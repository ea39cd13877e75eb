package domain

import (
	"context"
	"time"

	"gpupool/domain/pool"
)

// invitationFor is how long an invitation is open, in wall time.
const invitationFor = 14 * 24 * time.Hour

// InviteInput is the owner's form. Project is optional: the person joins it too.
type InviteInput struct {
	Email   string
	Role    pool.Role
	Project pool.ProjectID
}

// InviteMember invites a person and returns the token of the link, once. A new
// invitation of the same address replaces the open one. The operator may
// invite an owner, as long as the organisation has none.
func (s *Service) InviteMember(ctx context.Context, a Actor, org pool.OrgID, in InviteInput) (Invitation, string, error) {
	needsNoOwner := false
	if err := a.Need(org, ActTeam); err != nil {
		if a.NeedOperator() != nil || in.Role != pool.RoleOwner {
			return Invitation{}, "", err
		}
		needsNoOwner = true
	}
	var f Fields
	email := checkEmail(&f, "email", in.Email)
	checkChoice(&f, "role", in.Role, pool.Roles...)
	if err := f.Err(); err != nil {
		return Invitation{}, "", err
	}
	token, id := s.secret(20), s.newID("inv-")
	var i Invitation
	err := s.update(ctx, org, func(tx Tx) error {
		if _, err := tx.Org(org); err != nil {
			return err
		}
		members, err := tx.Members(org)
		if err != nil {
			return err
		}
		for _, m := range members {
			if m.Email == email {
				return Fields{{Field: "email", Message: "%s is a member already, as %s.", Args: []any{email, string(m.Role)}}}.Err()
			}
			if needsNoOwner && m.Role == pool.RoleOwner {
				return Errf(Forbidden, "The organisation has an owner, who invites people.")
			}
		}
		if in.Project != "" {
			p, err := tx.Project(org, in.Project)
			if ok, err := known(err); err != nil {
				return err
			} else if !ok || p.Archived {
				return Fields{{Field: "project", Message: "There is no such project."}}.Err()
			}
		}
		i, err = invite(tx, a, Invitation{ID: id, TokenHash: HashSecret(token), Org: org, Email: email, Role: in.Role, Project: in.Project})
		return err
	})
	if err != nil {
		return Invitation{}, "", err
	}
	return i, token, nil
}

// invite stores an invitation and takes back the open ones of the same address.
func invite(tx Tx, a Actor, i Invitation) (Invitation, error) {
	i.InvitedBy, i.CreatedAt = a.User, tx.Wall()
	i.ExpiresAt = i.CreatedAt.Add(invitationFor)
	all, err := tx.Invitations(i.Org)
	if err != nil {
		return i, err
	}
	for _, x := range all {
		if x.Email == i.Email && x.open(tx.Wall()) {
			x.RevokedAt = tx.Wall()
			if err := tx.UpdateInvitation(x); err != nil {
				return i, err
			}
		}
	}
	if err := tx.InsertInvitation(i); err != nil {
		return i, err
	}
	return i, audit(tx, a, i.Org, "invitation.create", i.ID, nil, map[string]any{"email": i.Email, "role": i.Role, "project": i.Project})
}

func (i Invitation) open(wall pool.Instant) bool {
	return i.AcceptedAt == 0 && i.RevokedAt == 0 && i.ExpiresAt > wall
}

// refusal says why an invitation can't be accepted any more; nil when it can.
func (i Invitation) refusal(wall pool.Instant) error {
	switch {
	case i.AcceptedAt != 0:
		return Errf(Conflict, "This invitation was accepted already. Please sign in.")
	case i.RevokedAt != 0:
		return Errf(Conflict, "This invitation was taken back or replaced by a newer one.")
	case i.ExpiresAt <= wall:
		return Errf(Conflict, "This invitation expired on %s. Ask for a new one.", i.ExpiresAt.Time().Format(time.DateOnly))
	}
	return nil
}

// Invitations of an organisation, newest first, closed ones too.
func (s *Service) Invitations(ctx context.Context, a Actor, org pool.OrgID) ([]Invitation, error) {
	if err := a.Need(org, ActTeam); err != nil && a.NeedOperator() != nil {
		return nil, err
	}
	var out []Invitation
	err := s.store.View(ctx, func(tx Tx) (err error) { out, err = tx.Invitations(org); return err })
	return out, err
}

// RevokeInvitation takes an open invitation back.
func (s *Service) RevokeInvitation(ctx context.Context, a Actor, org pool.OrgID, id string) error {
	if err := a.Need(org, ActTeam); err != nil && a.NeedOperator() != nil {
		return err
	}
	return s.update(ctx, org, func(tx Tx) error {
		all, err := tx.Invitations(org)
		if err != nil {
			return err
		}
		for _, i := range all {
			if i.ID != id {
				continue
			}
			if err := i.refusal(tx.Wall()); err != nil {
				return err
			}
			i.RevokedAt = tx.Wall()
			if err := tx.UpdateInvitation(i); err != nil {
				return err
			}
			return audit(tx, a, org, "invitation.revoke", id, map[string]any{"email": i.Email, "role": i.Role}, nil)
		}
		return Errf(NotFound, "There is no such invitation.")
	})
}

// OpenInvitation is what the page behind an invitation's link shows.
type OpenInvitation struct {
	Invitation
	Organisation Organisation
	InvitedBy    string // the person's name
	Project      string // its name; empty: none
	Known        bool   // the address has an account: sign in to accept
}

// Invitation finds an open invitation by the token of its link.
func (s *Service) Invitation(ctx context.Context, token string) (OpenInvitation, error) {
	var v OpenInvitation
	err := s.store.View(ctx, func(tx Tx) (err error) { v, err = openInvitation(tx, token); return err })
	return v, err
}

func openInvitation(tx Tx, token string) (OpenInvitation, error) {
	var v OpenInvitation
	if len(token) > 200 {
		return v, Errf(NotFound, "This invitation link is not valid.")
	}
	i, err := tx.InvitationByHash(HashSecret(trimmed(token)))
	if ok, err := known(err); err != nil {
		return v, err
	} else if !ok {
		return v, Errf(NotFound, "This invitation link is not valid.")
	}
	if err := i.refusal(tx.Wall()); err != nil {
		return v, err
	}
	v.Invitation = i
	if v.Organisation, err = tx.Org(i.Org); err != nil {
		return v, err
	}
	if i.InvitedBy != "" {
		u, err := tx.User(i.InvitedBy)
		if _, err := known(err); err != nil {
			return v, err
		}
		v.InvitedBy = u.Name
	}
	if i.Project != "" {
		p, err := tx.Project(i.Org, i.Project)
		if _, err := known(err); err != nil {
			return v, err
		}
		v.Project = p.Name
	}
	v.Known, err = known(second(tx.UserByEmail(i.Email)))
	return v, err
}

// AcceptInput is the form of a person who has no account yet; somebody signed
// in leaves it empty.
type AcceptInput struct{ Name, Password, Lang string }

// AcceptInvitation makes the person behind the link a member: a new one with a
// name and password, or the signed-in actor, whose e-mail must be the invited
// one. Only a loop (ViaSystem) may leave the password out; such a person can't
// sign in with one.
func (s *Service) AcceptInvitation(ctx context.Context, a Actor, token string, in AcceptInput) (User, error) {
	v, err := s.Invitation(ctx, token) // before any work is spent on a password
	if err != nil {
		return User{}, err
	}
	newcomer := !a.SignedIn()
	u := User{ID: a.User}
	if newcomer {
		if v.Known {
			return User{}, Errf(Conflict, "%s has an account. Sign in, then open this link again.", v.Email)
		}
		if u, err = s.newcomer(a, v.Email, in); err != nil {
			return User{}, err
		}
	}
	err = s.update(ctx, v.Org, func(tx Tx) error {
		v, err := openInvitation(tx, token)
		if err != nil {
			return err
		}
		if newcomer {
			u.CreatedAt = tx.Now()
			if err := tx.InsertUser(u); err != nil {
				return err
			}
		} else if u, err = tx.User(a.User); err != nil {
			return err
		} else if u.Email != v.Email {
			return Errf(Conflict, "This invitation is for %s; you are signed in as %s.", v.Email, u.Email)
		}
		by := a
		by.User, by.Name = u.ID, u.Name
		return join(tx, by, v.Invitation)
	})
	return u, err
}

func (s *Service) newcomer(a Actor, email string, in AcceptInput) (User, error) {
	var f Fields
	u := User{ID: pool.UserID(s.newID("u-")), Email: email, Name: checkName(&f, "name", in.Name), Lang: language(in.Lang)}
	if in.Password != "" || a.Via != ViaSystem {
		checkPassword(&f, "password", in.Password, email)
	}
	if err := f.Err(); err != nil || in.Password == "" {
		return u, err
	}
	var err error
	u.PasswordHash, err = s.passwords.Hash(in.Password)
	return u, err
}

// join makes the actor a member as the invitation says, and closes it.
func join(tx Tx, a Actor, i Invitation) error {
	memberships, err := tx.Memberships(a.User)
	if err != nil {
		return err
	}
	for _, m := range memberships {
		if m.Org == i.Org {
			return Errf(Conflict, "You are a member already, as %s.", string(m.Role))
		}
	}
	if err := tx.SaveMembership(Membership{User: a.User, Org: i.Org, Role: i.Role, Since: tx.Now()}); err != nil {
		return err
	}
	if i.Project != "" {
		p, err := tx.Project(i.Org, i.Project)
		if ok, err := known(err); err != nil {
			return err
		} else if ok && !p.Archived {
			m := ProjectMember{Project: p.ID, User: a.User, Lead: i.Role == pool.RoleLead}
			if err := tx.SaveProjectMember(m); err != nil {
				return err
			}
		}
	}
	i.AcceptedAt = tx.Wall()
	if err := tx.UpdateInvitation(i); err != nil {
		return err
	}
	return audit(tx, a, i.Org, "member.join", string(a.User), nil, map[string]any{"email": i.Email, "role": i.Role, "project": i.Project})
}
