package domain_test

import (
	"slices"
	"testing"

	"gpupool/domain"
	"gpupool/domain/domaintest"
	"gpupool/domain/pool"
)

// TestWhoMayDoWhat calls every use case as every role. Who is not named in may
// is refused, and the foreign and the unknown learn nothing.
func TestWhoMayDoWhat(t *testing.T) {
	t.Parallel()
	const owner, finance, lead, member, viewer, operator = "owner", "finance", "lead", "member", "viewer", "operator"
	team := []string{owner, finance, lead, member, viewer}
	see := append(slices.Clone(team), operator)
	money := []string{owner, finance, viewer, operator}
	node := domain.NodeInput{Site: "main"}
	project := domain.ProjectInput{Name: "Protein"}
	draft := func(p *domaintest.Pool) pool.PlanVersionID {
		v, err := p.Service.SavePlanDraft(ctx, p.Operator, "campus", domain.PlanVersionInput{Fee: "1", Classes: []domain.PlanClassInput{{Class: p.Class, Borrow: "1"}}})
		if err != nil {
			p.T.Fatal(err)
		}
		return v.ID
	}
	for _, c := range []struct {
		name string
		may  []string
		do   func(p *domaintest.Pool, a domain.Actor) error
	}{
		{"SaveSettings", []string{operator}, func(p *domaintest.Pool, a domain.Actor) error {
			return second(p.Service.SaveSettings(ctx, a, domaintest.Settings()))
		}},
		{"PauseAdmission", []string{operator}, func(p *domaintest.Pool, a domain.Actor) error { return p.Service.PauseAdmission(ctx, a, true) }},
		{"AuditTrail of the pool", []string{operator}, func(p *domaintest.Pool, a domain.Actor) error {
			return second(p.Service.AuditTrail(ctx, a, "", 0, 10))
		}},
		{"AuditTrail", []string{owner, viewer, operator}, func(p *domaintest.Pool, a domain.Actor) error {
			return second(p.Service.AuditTrail(ctx, a, p.Org, 0, 10))
		}},
		{"CreateMember", []string{operator}, func(p *domaintest.Pool, a domain.Actor) error {
			_, _, _, err := p.Service.CreateMember(ctx, a, domain.CreateMemberInput{Slug: "helixbay", Name: "Helixbay", OwnerEmail: "noor@helixbay.example"})
			return err
		}},
		{"Organisation", see, func(p *domaintest.Pool, a domain.Actor) error {
			return second(p.Service.Organisation(ctx, a, p.Org))
		}},
		{"UpdateOrganisation", []string{owner}, func(p *domaintest.Pool, a domain.Actor) error {
			return second(p.Service.UpdateOrganisation(ctx, a, p.Org, domain.OrganisationInput{Name: "TUR", ShowAs: "member"}))
		}},
		{"PauseOrganisation", []string{operator}, func(p *domaintest.Pool, a domain.Actor) error {
			return second(p.Service.PauseOrganisation(ctx, a, p.Org, "overdue"))
		}},
		{"Members", see, func(p *domaintest.Pool, a domain.Actor) error { return second(p.Service.Members(ctx, a, p.Org)) }},
		{"InviteMember", []string{owner}, func(p *domaintest.Pool, a domain.Actor) error {
			_, _, err := p.Service.InviteMember(ctx, a, p.Org, domain.InviteInput{Email: "new@rheinau.example", Role: pool.RoleMember})
			return err
		}},
		{"Invitations", []string{owner, operator}, func(p *domaintest.Pool, a domain.Actor) error {
			return second(p.Service.Invitations(ctx, a, p.Org))
		}},
		{"ChangeRole", []string{owner}, func(p *domaintest.Pool, a domain.Actor) error {
			return p.Service.ChangeRole(ctx, a, p.Org, p.Member.User, pool.RoleLead)
		}},
		{"RemoveMember", []string{owner}, func(p *domaintest.Pool, a domain.Actor) error {
			who := p.Viewer.User
			if a.User == who {
				who = p.Lead.User // everybody may leave
			}
			return second(p.Service.RemoveMember(ctx, a, p.Org, who))
		}},
		{"Projects", see, func(p *domaintest.Pool, a domain.Actor) error { return second(p.Service.Projects(ctx, a, p.Org)) }},
		{"CreateProject", []string{owner}, func(p *domaintest.Pool, a domain.Actor) error {
			return second(p.Service.CreateProject(ctx, a, p.Org, project))
		}},
		{"UpdateProject", []string{owner}, func(p *domaintest.Pool, a domain.Actor) error {
			return second(p.Service.UpdateProject(ctx, a, p.Org, p.Project.ID, project))
		}},
		{"ProjectShares", see, func(p *domaintest.Pool, a domain.Actor) error {
			return second(p.Service.ProjectShares(ctx, a, p.Org, p.Project.ID))
		}},
		{"SetProjectQuota", []string{owner}, func(p *domaintest.Pool, a domain.Actor) error {
			return second(p.Service.SetProjectQuota(ctx, a, p.Org, p.Project.ID, domain.ProjectQuotaInput{Class: p.Class, Guaranteed: "2"}))
		}},
		{"SetWeight", []string{operator}, func(p *domaintest.Pool, a domain.Actor) error {
			return second(p.Service.SetWeight(ctx, a, p.Org, p.Class, "3"))
		}},
		{"SetBudget", []string{owner}, func(p *domaintest.Pool, a domain.Actor) error {
			return second(p.Service.SetBudget(ctx, a, p.Org, p.Project.ID, "100", "month"))
		}},
		{"ArchiveProject", []string{owner}, func(p *domaintest.Pool, a domain.Actor) error {
			return second(p.Service.ArchiveProject(ctx, a, p.Org, p.Project.ID, true))
		}},
		{"SaveProjectMember", []string{owner}, func(p *domaintest.Pool, a domain.Actor) error {
			return p.Service.SaveProjectMember(ctx, a, p.Org, p.Project.ID, p.Finance.User, false)
		}},
		{"ProjectMembers", see, func(p *domaintest.Pool, a domain.Actor) error {
			return second(p.Service.ProjectMembers(ctx, a, p.Org, p.Project.ID))
		}},
		{"AssignAccount", []string{owner, finance}, func(p *domaintest.Pool, a domain.Actor) error {
			return p.Service.AssignAccount(ctx, a, p.Org, p.Project.ID, p.Account.ID)
		}},
		{"CreateClass", []string{operator}, func(p *domaintest.Pool, a domain.Actor) error {
			in := domaintest.Class()
			in.ID, in.Model = "h100-80g", "NVIDIA H100 80GB HBM3"
			return second(p.Service.CreateClass(ctx, a, in))
		}},
		{"UpdateClass", []string{operator}, func(p *domaintest.Pool, a domain.Actor) error {
			return second(p.Service.UpdateClass(ctx, a, p.Class, domaintest.Class()))
		}},
		{"Plans", []string{operator}, func(p *domaintest.Pool, a domain.Actor) error { return second(p.Service.Plans(ctx, a)) }},
		{"CreatePlan", []string{operator}, func(p *domaintest.Pool, a domain.Actor) error {
			return second(p.Service.CreatePlan(ctx, a, domain.PlanInput{ID: "lab", Name: "Lab"}))
		}},
		{"SavePlanDraft", []string{operator}, func(p *domaintest.Pool, a domain.Actor) error {
			return second(p.Service.SavePlanDraft(ctx, a, "campus", domain.PlanVersionInput{Fee: "1", Classes: []domain.PlanClassInput{{Class: p.Class, Borrow: "1"}}}))
		}},
		{"PublishPlan", []string{operator}, func(p *domaintest.Pool, a domain.Actor) error {
			_, _, err := p.Service.PublishPlan(ctx, a, draft(p))
			return err
		}},
		{"PriceLists", []string{operator}, func(p *domaintest.Pool, a domain.Actor) error { return second(p.Service.PriceLists(ctx, a)) }},
		{"SavePriceListDraft", []string{operator}, func(p *domaintest.Pool, a domain.Actor) error {
			return second(p.Service.SavePriceListDraft(ctx, a, domaintest.Prices(p.Class)))
		}},
		{"PublishPriceList", []string{operator}, func(p *domaintest.Pool, a domain.Actor) error {
			in := domaintest.Prices(p.Class)
			in.From = p.Clock.Now() + 1
			l, err := p.Service.SavePriceListDraft(ctx, p.Operator, in)
			if err != nil {
				p.T.Fatal(err)
			}
			_, _, err = p.Service.PublishPriceList(ctx, a, l.ID, "")
			return err
		}},
		{"Accounts", money, func(p *domaintest.Pool, a domain.Actor) error { return second(p.Service.Accounts(ctx, a, p.Org)) }},
		{"CreateAccount", []string{owner, finance}, func(p *domaintest.Pool, a domain.Actor) error {
			in := domaintest.Account()
			in.Name = "Second"
			return second(p.Service.CreateAccount(ctx, a, p.Org, in))
		}},
		{"UpdateAccount", []string{owner, finance}, func(p *domaintest.Pool, a domain.Actor) error {
			return second(p.Service.UpdateAccount(ctx, a, p.Org, p.Account.ID, domaintest.Account()))
		}},
		{"Orders", money, func(p *domaintest.Pool, a domain.Actor) error { return second(p.Service.Orders(ctx, a, p.Org)) }},
		{"AddOrder", []string{owner, finance}, func(p *domaintest.Pool, a domain.Actor) error {
			return second(p.Service.AddOrder(ctx, a, p.Org, p.Account.ID, domain.OrderInput{Number: "4500-17/B", Amount: "12000", AtZero: "next"}))
		}},
		{"Cap", money, func(p *domaintest.Pool, a domain.Actor) error { return second(p.Service.Cap(ctx, a, p.Org)) }},
		{"SetCap", []string{owner, finance}, func(p *domaintest.Pool, a domain.Actor) error {
			return second(p.Service.SetCap(ctx, a, p.Org, domain.CapInput{Amount: "400", Mode: domain.CapStop}))
		}},
		{"QuotaOf", see, func(p *domaintest.Pool, a domain.Actor) error { return second(p.Service.QuotaOf(ctx, a, p.Org)) }},
		{"SetLimit", []string{owner}, func(p *domaintest.Pool, a domain.Actor) error {
			return second(p.Service.SetLimit(ctx, a, p.Org, p.Class, domain.LimitInput{Borrow: "1", Lend: "1"}))
		}},
		{"Subscription", money, func(p *domaintest.Pool, a domain.Actor) error {
			return second(p.Service.Subscription(ctx, a, p.Org))
		}},
		{"PreviewSubscription", money, func(p *domaintest.Pool, a domain.Actor) error {
			return second(p.Service.PreviewSubscription(ctx, a, p.Org, domain.SubscribeInput{Version: p.Starter.ID}))
		}},
		{"ChangePlan", []string{owner}, func(p *domaintest.Pool, a domain.Actor) error {
			return second(p.Service.ChangePlan(ctx, a, p.Org, domain.SubscribeInput{Version: p.Starter.ID}))
		}},
		{"CancelSubscription", []string{owner}, func(p *domaintest.Pool, a domain.Actor) error {
			return second(p.Service.CancelSubscription(ctx, a, p.Org))
		}},
		{"SaveSite", []string{operator}, func(p *domaintest.Pool, a domain.Actor) error {
			return second(p.Service.SaveSite(ctx, a, "lindenholm", "Lindenholm"))
		}},
		{"AddTimePolicy", []string{operator}, func(p *domaintest.Pool, a domain.Actor) error {
			_, _, err := p.Service.AddTimePolicy(ctx, a, domain.TimePolicyInput{Name: "Closed", Closed: true, From: "08:00", To: "18:00"})
			return err
		}},
		{"TimePolicies", []string{operator}, func(p *domaintest.Pool, a domain.Actor) error { return second(p.Service.TimePolicies(ctx, a)) }},
		{"ScheduleOf", see, func(p *domaintest.Pool, a domain.Actor) error { return second(p.Service.ScheduleOf(ctx, a, p.Org)) }},
		{"Announce", []string{operator}, func(p *domaintest.Pool, a domain.Actor) error {
			return second(p.Service.Announce(ctx, a, domain.AnnouncementInput{Text: "Hello", End: "2026-12-24 00:00"}))
		}},
		{"AnnouncementsPast", []string{operator}, func(p *domaintest.Pool, a domain.Actor) error { return second(p.Service.AnnouncementsPast(ctx, a)) }},
		{"Maintenance", []string{operator}, func(p *domaintest.Pool, a domain.Actor) error { return second(p.Service.Maintenance(ctx, a)) }},
		{"Nodes", []string{operator}, func(p *domaintest.Pool, a domain.Actor) error { return second(p.Service.Nodes(ctx, a)) }},
		{"AssignNode", []string{operator}, func(p *domaintest.Pool, a domain.Actor) error {
			return second(p.Service.AssignNode(ctx, a, p.Node, node))
		}},
		{"AddContribution", []string{operator}, func(p *domaintest.Pool, a domain.Actor) error {
			return second(p.Service.AddContribution(ctx, a, domain.ContributionInput{Org: p.Org, Node: p.Node, GPUs: "8", Quota: "2"}))
		}},
		{"Contributions", []string{owner, finance, operator}, func(p *domaintest.Pool, a domain.Actor) error {
			return second(p.Service.Contributions(ctx, a, p.Org))
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := domaintest.New(t)
			people := []struct {
				role    string
				actor   domain.Actor
				foreign bool
			}{{"stranger", domain.Actor{Via: domain.ViaWeb}, true}, {"another member's owner", p.OtherOwner, true},
				{owner, p.Owner, false}, {finance, p.Finance, false}, {lead, p.Lead, false}, {member, p.Member, false},
				{viewer, p.Viewer, false}, {operator, p.Operator, false}}
			trail := rows(p)
			for _, x := range people {
				if slices.Contains(c.may, x.role) {
					continue
				}
				switch got := code(t, c.do(p, x.actor)); {
				case got != domain.NotFound && got != domain.Forbidden:
					t.Errorf("%s is answered %q", x.role, got)
				case x.foreign && got != domain.NotFound:
					t.Errorf("%s learns that it exists: %q", x.role, got)
				}
			}
			if more := rows(p); c.name != "PublishPlan" && c.name != "PublishPriceList" && more != trail {
				t.Errorf("refused calls left %d audit rows", more-trail)
			}
			first := true
			for _, x := range people {
				if !slices.Contains(c.may, x.role) {
					continue
				}
				got := code(t, c.do(p, x.actor))
				if first && got != "" || got != "" && got != domain.Conflict && got != domain.Invalid && got != domain.NotFound {
					t.Errorf("%s may, and is answered %q", x.role, got)
				}
				first = false
			}
		})
	}
}

// rows counts the audit trail.
func rows(p *domaintest.Pool) int64 {
	p.T.Helper()
	all, err := p.Service.AuditTrail(ctx, p.Operator, "", 0, 1)
	if err != nil {
		p.T.Fatal(err)
	}
	return all[0].Seq
}

func second[T any](_ T, err error) error { return err }

func TestAnotherMembersIdsAreNotFound(t *testing.T) {
	t.Parallel()
	p := domaintest.New(t)
	s, a, org := p.Service, p.OtherOwner, p.Other
	account := ok[domain.BillingAccount](t)(s.CreateAccount(ctx, a, org, domaintest.Account()))
	project := ok[domain.Project](t)(s.CreateProject(ctx, a, org, domain.ProjectInput{Name: "Drive"}))
	inv, _, err := s.InviteMember(ctx, p.Owner, p.Org, domain.InviteInput{Email: "x@rheinau.example", Role: pool.RoleMember})
	if err != nil {
		t.Fatal(err)
	}
	for name, err := range map[string]error{
		"project":           second(s.UpdateProject(ctx, a, org, p.Project.ID, domain.ProjectInput{Name: "Mine"})),
		"project view":      second(s.Project(ctx, a, org, p.Project.ID)),
		"archive":           second(s.ArchiveProject(ctx, a, org, p.Project.ID, true)),
		"budget":            second(s.SetBudget(ctx, a, org, p.Project.ID, "1", "month")),
		"project members":   second(s.ProjectMembers(ctx, a, org, p.Project.ID)),
		"project member":    s.SaveProjectMember(ctx, a, org, p.Project.ID, a.User, true),
		"person to project": s.SaveProjectMember(ctx, a, org, project.ID, p.Member.User, true),
		"project's account": s.AssignAccount(ctx, a, org, p.Project.ID, account.ID),
		"account":           second(s.UpdateAccount(ctx, a, org, p.Account.ID, domaintest.Account())),
		"account view":      second(s.Account(ctx, a, org, p.Account.ID)),
		"order":             second(s.AddOrder(ctx, a, org, p.Account.ID, domain.OrderInput{Number: "1", Amount: "1", AtZero: "stop"})),
		"role":              s.ChangeRole(ctx, a, org, p.Member.User, pool.RoleOwner),
		"removal":           second(s.RemoveMember(ctx, a, org, p.Member.User)),
		"invitation":        s.RevokeInvitation(ctx, a, org, inv.ID),
	} {
		if got := code(t, err); got != domain.NotFound {
			t.Errorf("%s of another member: %v", name, err)
		}
	}
	for name, err := range map[string]error{
		"account to project": s.AssignAccount(ctx, a, org, project.ID, p.Account.ID),
		"account at start":   second(s.CreateProject(ctx, a, org, domain.ProjectInput{Name: "X", Account: p.Account.ID})),
		"account to pay":     second(s.Subscribe(ctx, a, org, domain.SubscribeInput{Version: p.Starter.ID, Account: p.Account.ID})),
		"invited to project": func() error {
			_, _, err := s.InviteMember(ctx, a, org, domain.InviteInput{Email: "y@k.example", Role: pool.RoleMember, Project: p.Project.ID})
			return err
		}(),
	} {
		if got := code(t, err); got != domain.Invalid {
			t.Errorf("%s of another member: %v", name, err)
		}
	}
}
