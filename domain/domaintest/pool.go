package domaintest

import (
	"context"
	"fmt"
	"testing"

	"gpupool/domain"
	"gpupool/domain/pool"
	"gpupool/domain/store"
	"gpupool/domain/store/storetest"
)

// Password of every person of a test pool.
const Password = "correct horse battery"

// Pool is a service on a store of its own. The fields after Operator are set
// by New only.
type Pool struct {
	T        testing.TB
	Service  *domain.Service
	Store    *store.Store
	Config   store.Config // where the store is
	Clock    *Clock
	Business *domain.BusinessClock
	Operator domain.Actor

	// The member rheinau, with a person of each role, a billing account, a
	// project and a subscription to Campus.
	Org                                  pool.OrgID
	Owner, Finance, Lead, Member, Viewer domain.Actor
	Account                              domain.BillingAccount
	Project                              domain.Project
	Subscription                         domain.Subscription
	// The owner of another member, kestrelis, without a subscription.
	Other      pool.OrgID
	OtherOwner domain.Actor

	Class           pool.ClassID // a100-80g: 8 GPUs on node gpu-01 at site main
	Node            pool.NodeID
	Site            pool.SiteID
	Starter, Campus domain.PlanVersion
	Prices          domain.PriceList // own 1.25, loan 1.00, spot 0.45; lender share 60 %
}

// Option changes how a pool's service is made.
type Option func(c *domain.Config)

// Each runs fn on SQLite and on PostgreSQL with a full pool of its own.
func Each(t *testing.T, fn func(t *testing.T, p *Pool), options ...Option) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		fn(t, New(t, options...))
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		fn(t, fill(open(t, storetest.Postgres(t), options)))
	})
}

// Empty is a pool as its operator finds it after the first sign-in, on SQLite.
func Empty(t testing.TB, options ...Option) *Pool {
	t.Helper()
	return withOperator(open(t, storetest.SQLite(t), options))
}

// Bare is a store and a service that nobody has visited yet, on SQLite.
func Bare(t testing.TB, options ...Option) *Pool {
	t.Helper()
	return open(t, storetest.SQLite(t), options)
}

// New is a full pool on SQLite.
func New(t testing.TB, options ...Option) *Pool {
	t.Helper()
	return fill(open(t, storetest.SQLite(t), options))
}

func open(t testing.TB, c store.Config, options []Option) *Pool {
	t.Helper()
	p := &Pool{T: t, Config: c, Clock: NewClock(storetest.Start), Business: &domain.BusinessClock{}}
	p.Store = storetest.Open(t, func(c *store.Config) { c.Wall, c.Business = p.Clock.Now, p.Business.Business }, c)
	config := domain.Config{Store: p.Store, Issuers: map[string]domain.Issuer{"local": Issuer("local")}, Passwords: Passwords{}, Clock: p.Business}
	for _, o := range options {
		o(&config)
	}
	p.Service = domain.New(config)
	return p
}

// must ends the test on an error.
func must[T any](p *Pool) func(T, error) T {
	return func(v T, err error) T {
		p.T.Helper()
		if err != nil {
			p.T.Fatal(err)
		}
		return v
	}
}

// Update runs fn in a transaction of its own.
func (p *Pool) Update(fn func(tx domain.Tx) error) {
	p.T.Helper()
	if err := p.Store.Update(context.Background(), fn); err != nil {
		p.T.Fatal(err)
	}
}

// Actor is the person with all rights of now, from a browser.
func (p *Pool) Actor(id pool.UserID) domain.Actor {
	p.T.Helper()
	a, _, err := p.Service.ActorFor(context.Background(), id, domain.ViaWeb, "192.0.2.1")
	if err != nil {
		p.T.Fatal(err)
	}
	return a
}

// Join invites a person as inviter and lets them accept.
func (p *Pool) Join(inviter domain.Actor, org pool.OrgID, name string, role pool.Role) domain.Actor {
	p.T.Helper()
	in := domain.InviteInput{Email: fmt.Sprintf("%s@%s.example", name, org), Role: role}
	_, token, err := p.Service.InviteMember(context.Background(), inviter, org, in)
	if err != nil {
		p.T.Fatal(err)
	}
	return p.accept(token, name)
}

func (p *Pool) accept(token, name string) domain.Actor {
	p.T.Helper()
	u := must[domain.User](p)(p.Service.AcceptInvitation(context.Background(), domain.Actor{Via: domain.ViaWeb}, token,
		domain.AcceptInput{Name: name, Password: Password}))
	return p.Actor(u.ID)
}

// NewMember makes a member organisation and its owner.
func (p *Pool) NewMember(slug, name, owner string) domain.Actor {
	p.T.Helper()
	_, _, token, err := p.Service.CreateMember(context.Background(), p.Operator,
		domain.CreateMemberInput{Slug: slug, Name: name, OwnerEmail: fmt.Sprintf("%s@%s.example", owner, slug)})
	if err != nil {
		p.T.Fatal(err)
	}
	return p.accept(token, owner)
}
