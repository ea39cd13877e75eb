package domain_test

import (
	"testing"
	"time"

	"gpupool/domain"
	"gpupool/domain/domaintest"
	"gpupool/domain/pool"
)

func TestAnInvitationIsAcceptedOnceByTheInvited(t *testing.T) {
	t.Parallel()
	p := domaintest.New(t)
	s := p.Service
	stranger := domain.Actor{Via: domain.ViaWeb}
	invite := func(email string, role pool.Role, project pool.ProjectID) string {
		_, token, err := s.InviteMember(ctx, p.Owner, p.Org, domain.InviteInput{Email: email, Role: role, Project: project})
		if err != nil {
			t.Fatal(err)
		}
		return token
	}
	replaced := invite("wei@rheinau.example", pool.RoleMember, "")
	token := invite("wei@rheinau.example", pool.RoleLead, p.Project.ID)
	_, err := s.Invitation(ctx, replaced)
	wants(t, err, domain.Conflict, "replaced")
	v := ok[domain.OpenInvitation](t)(s.Invitation(ctx, token))
	if v.Organisation.ID != p.Org || v.Project != "LLM" || v.InvitedBy != "anna" || v.Known {
		t.Errorf("%+v", v)
	}
	_, err = s.AcceptInvitation(ctx, p.Viewer, token, domain.AcceptInput{})
	wants(t, err, domain.Conflict, "is for wei@rheinau.example; you are signed in as jonas@rheinau.example")
	_, err = s.AcceptInvitation(ctx, stranger, token, domain.AcceptInput{Name: "", Password: "short"})
	wants(t, err, domain.Invalid, "name: ", "password: At least 12 characters; this has 5.")
	u := ok[domain.User](t)(s.AcceptInvitation(ctx, stranger, token, domain.AcceptInput{Name: "王伟 🚀", Password: domaintest.Password, Lang: "zh"}))
	if a := p.Actor(u.ID); a.Roles[p.Org] != pool.RoleLead || a.Name != "王伟 🚀" || a.Projects[p.Org][0] != p.Project.ID || u.Lang != "zh" {
		t.Errorf("%+v", a)
	}
	_, err = s.AcceptInvitation(ctx, stranger, token, domain.AcceptInput{Name: "X", Password: domaintest.Password})
	wants(t, err, domain.Conflict, "accepted already")
	_, err = s.Invitation(ctx, "no such token")
	wants(t, err, domain.NotFound)
	known := invite(p.OtherOwner.Email, pool.RoleViewer, "")
	_, err = s.AcceptInvitation(ctx, stranger, known, domain.AcceptInput{Name: "X", Password: domaintest.Password})
	wants(t, err, domain.Conflict, "has an account. Sign in")
	ok[domain.User](t)(s.AcceptInvitation(ctx, p.OtherOwner, known, domain.AcceptInput{}))
	late := invite("late@rheinau.example", pool.RoleMember, "")
	p.Clock.Add(14 * 24 * time.Hour)
	_, err = s.AcceptInvitation(ctx, stranger, late, domain.AcceptInput{Name: "X", Password: domaintest.Password})
	wants(t, err, domain.Conflict, "expired on 2026-11-16")
}

func TestTheOperatorInvitesAnOwnerOnlyWhereThereIsNone(t *testing.T) {
	t.Parallel()
	p := domaintest.New(t)
	in := domain.InviteInput{Email: "second@x.example", Role: pool.RoleOwner}
	_, _, err := p.Service.InviteMember(ctx, p.Operator, p.Org, in)
	wants(t, err, domain.Forbidden)
	o, _, _, err := p.Service.CreateMember(ctx, p.Operator, domain.CreateMemberInput{Slug: "lanwan", Name: "澜湾智能工作室", OwnerEmail: "lost@x.example"})
	if err != nil {
		t.Fatal(err)
	}
	_, _, err = p.Service.InviteMember(ctx, p.Operator, o.ID, in)
	if err != nil {
		t.Error(err)
	}
	in.Role = pool.RoleMember
	_, _, err = p.Service.InviteMember(ctx, p.Operator, o.ID, in)
	wants(t, err, domain.Forbidden)
}

func TestTheLastOwnerStays(t *testing.T) {
	t.Parallel()
	p := domaintest.New(t)
	s := p.Service
	wants(t, s.ChangeRole(ctx, p.Owner, p.Org, p.Owner.User, pool.RoleMember), domain.Conflict, "anna is the only owner")
	_, err := s.RemoveMember(ctx, p.Owner, p.Org, p.Owner.User)
	wants(t, err, domain.Conflict, "anna is the only owner")
	if err := s.ChangeRole(ctx, p.Owner, p.Org, p.Finance.User, pool.RoleOwner); err != nil {
		t.Fatal(err)
	}
	ok[[]domain.Job](t)(s.RemoveMember(ctx, p.Owner, p.Org, p.Owner.User))
	if a := p.Actor(p.Owner.User); a.Knows(p.Org) {
		t.Errorf("still knows %+v", a.Roles)
	}
}

func TestAPersonWhoLeavesIsNarrowedNoMoreAndTheirJobsAreNamed(t *testing.T) {
	t.Parallel()
	p := domaintest.New(t)
	s := p.Service
	if err := s.SaveProjectMember(ctx, p.Owner, p.Org, p.Project.ID, p.Member.User, true); err != nil {
		t.Fatal(err)
	}
	lead := p.Actor(p.Member.User)
	ok[domain.Project](t)(s.SetBudget(ctx, lead, p.Org, p.Project.ID, "250.50", "total"))
	v := ok[domain.ProjectView](t)(s.Project(ctx, lead, p.Org, p.Project.ID))
	if v.Budget == nil || *v.Budget != 25050 || v.BudgetPeriod != "total" {
		t.Errorf("%+v", v)
	}
	p.Update(func(tx domain.Tx) error {
		return tx.InsertJob(domain.Job{ID: "j-1", Org: p.Org, Project: p.Project.ID, User: p.Member.User, Name: "md", Classes: []pool.ClassID{p.Class},
			Nodes: 1, GPUsPerNode: 1, Tier: pool.Burst, MaxRun: time.Hour, State: domain.JobRunning, SubmittedAt: tx.Now()})
	})
	_, err := s.ArchiveProject(ctx, p.Owner, p.Org, p.Project.ID, true)
	wants(t, err, domain.Conflict, "1 jobs of the project are not done")
	jobs := ok[[]domain.Job](t)(s.RemoveMember(ctx, lead, p.Org, lead.User))
	if len(jobs) != 1 || jobs[0].ID != "j-1" || jobs[0].State != domain.JobRunning {
		t.Errorf("%+v", jobs)
	}
	if left := ok[[]domain.ProjectPerson](t)(s.ProjectMembers(ctx, p.Owner, p.Org, p.Project.ID)); len(left) != 0 {
		t.Errorf("%+v", left)
	}
}

func TestPausesAreASet(t *testing.T) {
	t.Parallel()
	p := domaintest.New(t)
	s := p.Service
	for _, reason := range []string{"overdue", "audit", "overdue"} {
		ok[domain.Organisation](t)(s.PauseOrganisation(ctx, p.Operator, p.Org, reason))
	}
	o := ok[domain.Organisation](t)(s.ResumeOrganisation(ctx, p.Operator, p.Org, "overdue"))
	if len(o.Pauses) != 1 || o.Pauses[0] != "audit" {
		t.Errorf("%v", o.Pauses)
	}
	_, err := s.ResumeOrganisation(ctx, p.Operator, p.Org, "overdue")
	wants(t, err, domain.Conflict)
	_, err = s.PauseOrganisation(ctx, p.Operator, p.Org, " ")
	wants(t, err, domain.Invalid, "reason: ")
}
