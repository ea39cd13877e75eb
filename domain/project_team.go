package domain

import (
	"cmp"
	"context"
	"slices"

	"gpupool/domain/pool"
)

// ProjectPerson is a member of a project with name and e-mail, for lists.
type ProjectPerson struct {
	Member
	Lead bool
}

// ProjectMembers lists who is in a project, by name.
func (s *Service) ProjectMembers(ctx context.Context, a Actor, org pool.OrgID, id pool.ProjectID) ([]ProjectPerson, error) {
	if err := a.Need(org, ActView); err != nil {
		return nil, err
	}
	if !a.SeesProject(org, id) {
		return nil, Errf(NotFound, "There is no such project.")
	}
	var out []ProjectPerson
	err := s.store.View(ctx, func(tx Tx) error {
		if _, err := tx.Project(org, id); err != nil {
			return err
		}
		in, err := tx.ProjectMembers(id)
		if err != nil {
			return err
		}
		members, err := tx.Members(org)
		if err != nil {
			return err
		}
		out = nil
		for _, m := range members {
			for _, x := range in {
				if x.User == m.User {
					out = append(out, ProjectPerson{m, x.Lead})
				}
			}
		}
		slices.SortStableFunc(out, func(x, y ProjectPerson) int { return cmp.Compare(x.Name, y.Name) })
		return nil
	})
	return out, err
}

// SaveProjectMember puts a member of the organisation into a project, or
// changes whether they lead it. The owner and the project's leads may. It
// narrows people with role member or lead to their projects.
func (s *Service) SaveProjectMember(ctx context.Context, a Actor, org pool.OrgID, id pool.ProjectID, user pool.UserID, lead bool) error {
	if err := a.Need(org, ActView); err != nil {
		return err
	}
	return s.update(ctx, org, func(tx Tx) error {
		if _, err := tx.Project(org, id); err != nil {
			return err
		}
		if err := needLead(tx, a, org, id); err != nil {
			return err
		}
		if _, err := findMember(tx, org, user); err != nil {
			return err
		}
		m := ProjectMember{Project: id, User: user, Lead: lead}
		if err := tx.SaveProjectMember(m); err != nil {
			return err
		}
		return audit(tx, a, org, "project.member", string(id), nil, m)
	})
}

// RemoveProjectMember takes a person out of a project.
func (s *Service) RemoveProjectMember(ctx context.Context, a Actor, org pool.OrgID, id pool.ProjectID, user pool.UserID) error {
	if err := a.Need(org, ActView); err != nil {
		return err
	}
	return s.update(ctx, org, func(tx Tx) error {
		if _, err := tx.Project(org, id); err != nil {
			return err
		}
		if err := needLead(tx, a, org, id); err != nil {
			return err
		}
		if err := tx.DeleteProjectMember(id, user); err != nil {
			return err
		}
		return audit(tx, a, org, "project.member", string(id), ProjectMember{Project: id, User: user}, nil)
	})
}

// needLead is nil for the organisation's owner and for the leads of a project.
func needLead(tx Tx, a Actor, org pool.OrgID, id pool.ProjectID) error {
	if a.Can(org, ActProjects) {
		return nil
	}
	if a.TokenID == "" && a.SignedIn() {
		in, err := tx.ProjectMembers(id)
		if err != nil {
			return err
		}
		if _, member := a.Roles[org]; member && slices.Contains(in, ProjectMember{Project: id, User: a.User, Lead: true}) {
			return nil
		}
	}
	if !a.SeesProject(org, id) {
		return Errf(NotFound, "There is no such project.")
	}
	return Errf(Forbidden, "Your role does not allow this.")
}
