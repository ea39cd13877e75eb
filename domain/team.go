package domain

import (
	"context"

	"gpupool/domain/pool"
)

// Members of an organisation, by name.
func (s *Service) Members(ctx context.Context, a Actor, org pool.OrgID) ([]Member, error) {
	if err := a.Need(org, ActView); err != nil {
		return nil, err
	}
	var out []Member
	err := s.store.View(ctx, func(tx Tx) (err error) { out, err = tx.Members(org); return err })
	return out, err
}

// ChangeRole gives a member another role. The last owner stays one.
func (s *Service) ChangeRole(ctx context.Context, a Actor, org pool.OrgID, user pool.UserID, role pool.Role) error {
	if err := a.Need(org, ActTeam); err != nil {
		return err
	}
	var f Fields
	if checkChoice(&f, "role", role, pool.Roles...); len(f) > 0 {
		return f.Err()
	}
	return s.update(ctx, org, func(tx Tx) error {
		m, err := findMember(tx, org, user)
		if err != nil || m.Role == role {
			return err
		}
		if err := keepsOwner(tx, m, role); err != nil {
			return err
		}
		before := m.Role
		m.Role = role
		if err := tx.SaveMembership(m.Membership); err != nil {
			return err
		}
		return audit(tx, a, org, "member.role", string(user), map[string]any{"role": before}, map[string]any{"role": role})
	})
}

// RemoveMember takes a person out of the organisation; people may leave
// themselves. Their jobs keep running and are returned, so that the page can
// name them. The last owner can't go.
func (s *Service) RemoveMember(ctx context.Context, a Actor, org pool.OrgID, user pool.UserID) ([]Job, error) {
	if err := a.Need(org, ActView); err != nil {
		return nil, err
	}
	if err := a.Need(org, ActTeam); err != nil && (a.User != user || a.TokenID != "") {
		return nil, err
	}
	var jobs []Job
	err := s.update(ctx, org, func(tx Tx) error {
		m, err := findMember(tx, org, user)
		if err != nil {
			return err
		}
		if err := keepsOwner(tx, m, ""); err != nil {
			return err
		}
		jobs, err = tx.Jobs(JobFilter{Org: org, User: user, States: []JobState{JobWaiting, JobStarting, JobRunning, JobStopping}, Limit: 200})
		if err != nil {
			return err
		}
		if err := tx.DeleteMembership(user, org); err != nil {
			return err
		}
		return audit(tx, a, org, "member.remove", string(user), map[string]any{"email": m.Email, "role": m.Role, "jobs": len(jobs)}, nil)
	})
	return jobs, err
}

func findMember(tx Tx, org pool.OrgID, user pool.UserID) (Member, error) {
	all, err := tx.Members(org)
	if err != nil {
		return Member{}, err
	}
	for _, m := range all {
		if m.User == user {
			return m, nil
		}
	}
	return Member{}, Errf(NotFound, "There is no such member.")
}

// keepsOwner refuses to change the last owner into something else.
func keepsOwner(tx Tx, m Member, role pool.Role) error {
	if m.Role != pool.RoleOwner || role == pool.RoleOwner {
		return nil
	}
	all, err := tx.Members(m.Org)
	if err != nil {
		return err
	}
	for _, x := range all {
		if x.User != m.User && x.Role == pool.RoleOwner {
			return nil
		}
	}
	return Errf(Conflict, "%s is the only owner. Make somebody else an owner first.", m.Name)
}
