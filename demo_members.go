package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"gpupool/domain"
	"gpupool/domain/pool"
	"gpupool/domain/replay"
)

// members makes organisations, people, accounts, projects and subscriptions.
func (b *demoBuilder) members(ctx context.Context) error {
	for _, o := range b.pool.Orgs {
		if err := b.member(ctx, o); err != nil {
			return fmt.Errorf("member %s: %w", o.ID, err)
		}
	}
	for _, n := range b.pool.Nodes {
		if n.Contributor == "" {
			continue
		}
		if _, err := b.p.service.AssignNode(ctx, b.operator, b.node[pool.NodeID(n.Name)], domain.NodeInput{Site: n.Site, Contributor: n.Contributor}); err != nil {
			return err
		}
		_, err := b.p.service.AddContribution(ctx, b.operator, domain.ContributionInput{Org: n.Contributor, Node: b.node[pool.NodeID(n.Name)], GPUs: strconv.Itoa(n.GPUs), Quota: "0"})
		if err != nil {
			return err
		}
	}
	return nil
}

func (b *demoBuilder) member(ctx context.Context, o replay.Org) error {
	s := b.p.service
	i := slices.IndexFunc(b.story.People, func(p storyPerson) bool { return p.Org == o.ID && p.Role == pool.RoleOwner })
	if i < 0 {
		return fmt.Errorf("story.json has no owner")
	}
	boss := b.story.People[i]
	_, _, token, err := s.CreateMember(ctx, b.operator, domain.CreateMemberInput{Slug: string(o.ID), Name: o.Name, NameZH: o.NameZH, OwnerEmail: boss.Email})
	if err != nil {
		return err
	}
	owner, err := b.join(ctx, token, boss)
	if err != nil {
		return err
	}
	for _, a := range b.story.Accounts {
		if a.Org != o.ID {
			continue
		}
		acc, err := s.CreateAccount(ctx, owner, o.ID, domain.AccountInput{Name: a.Name, Buyer: domain.Party{Name: a.Buyer, Address: a.Address, Country: a.Country, TaxID: a.VAT},
			Emails: "invoices@" + string(o.ID) + ".example", TaxKind: a.Tax, TaxRate: a.Rate, TaxReason: a.Reason, TermsDays: a.Terms, Language: "en", Issuer: "local", Advance: a.Advance})
		if err != nil {
			return err
		}
		b.accounts[a.Name] = acc
	}
	for _, p := range o.Projects {
		if err := b.project(ctx, owner, o, p); err != nil {
			return err
		}
	}
	for _, w := range b.story.People {
		if w.Org != o.ID || w.Role == pool.RoleOwner {
			continue
		}
		_, token, err := s.InviteMember(ctx, owner, o.ID, domain.InviteInput{Email: w.Email, Role: w.Role})
		if err != nil {
			return err
		}
		if _, err := b.join(ctx, token, w); err != nil {
			return err
		}
	}
	for _, c := range b.story.Caps {
		if c.Org == o.ID {
			if _, err := s.SetCap(ctx, owner, o.ID, domain.CapInput{Amount: c.First, Mode: c.Mode}); err != nil {
				return err
			}
		}
	}
	plans, err := s.Plans(ctx, b.operator)
	if err != nil {
		return err
	}
	for _, p := range plans {
		if p.ID != o.Plan {
			continue
		}
		v, _ := p.Published()
		if _, err := s.Subscribe(ctx, owner, o.ID, domain.SubscribeInput{Version: v.ID, Account: b.firstAccount(o.ID)}); err != nil {
			return err
		}
	}
	return nil
}

// firstAccount pays the fee.
func (b *demoBuilder) firstAccount(org pool.OrgID) pool.AccountID {
	for _, a := range b.story.Accounts {
		if a.Org == org {
			return b.accounts[a.Name].ID
		}
	}
	return ""
}

func (b *demoBuilder) project(ctx context.Context, owner domain.Actor, o replay.Org, p replay.Project) error {
	account := b.firstAccount(o.ID)
	for _, a := range b.story.Accounts {
		if a.Org == o.ID && slices.Contains(a.Projects, string(p.ID)) {
			account = b.accounts[a.Name].ID
		}
	}
	made, err := b.p.service.CreateProject(ctx, owner, o.ID, domain.ProjectInput{Name: p.Name, Sites: p.Sites, Nodes: "any", Account: account})
	if err != nil {
		return fmt.Errorf("project %s: %w", p.ID, err)
	}
	b.projects[string(p.ID)] = made.ID
	return nil
}

func (b *demoBuilder) join(ctx context.Context, token string, w storyPerson) (domain.Actor, error) {
	u, err := b.p.service.AcceptInvitation(ctx, domain.Actor{Via: domain.ViaSystem}, token, domain.AcceptInput{Name: w.Name, Lang: "en"})
	if err != nil {
		return domain.Actor{}, fmt.Errorf("%s: %w", w.Email, err)
	}
	b.users[w.Email] = u
	return b.actor(ctx, w.Email)
}

func (b *demoBuilder) actor(ctx context.Context, email string) (domain.Actor, error) {
	a, _, err := b.p.service.ActorFor(ctx, b.users[email].ID, domain.ViaWeb, "127.0.0.1")
	return a, err
}

func (b *demoBuilder) owner(ctx context.Context, org pool.OrgID) (domain.Actor, error) {
	for _, w := range b.story.People {
		if w.Org == org && w.Role == pool.RoleOwner {
			return b.actor(ctx, w.Email)
		}
	}
	return domain.Actor{}, fmt.Errorf("%s has no owner", org)
}
