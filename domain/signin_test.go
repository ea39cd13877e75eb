package domain_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"gpupool/domain"
	"gpupool/domain/domaintest"
	"gpupool/domain/pool"
	"gpupool/domain/store/storetest"
)

// counting counts how often a password was worked on.
type counting struct {
	domaintest.Passwords
	mu sync.Mutex
	n  int
}

func (c *counting) work() { c.mu.Lock(); c.n++; c.mu.Unlock() }

func (c *counting) Hash(p string) (string, error) { c.work(); return c.Passwords.Hash(p) }

func (c *counting) Matches(p, h string) (bool, error) { c.work(); return c.Passwords.Matches(p, h) }

func TestSignInTellsNothingAndWorksTheSame(t *testing.T) {
	t.Parallel()
	work := &counting{}
	p := domaintest.New(t, func(c *domain.Config) { c.Passwords = work })
	for _, x := range []struct{ email, password string }{
		{"ming@rheinau.example", "wrong"}, {"nobody@rheinau.example", domaintest.Password}, {"", ""}, {"\x00", "x"}, {"中文", "x"},
		{strings.Repeat("x", 5000) + "@a.example", "x"}, {"' OR 1=1 --", "x"}} {
		before := work.n
		_, err := p.Service.SignIn(ctx, x.email, x.password, "198.51.100.7")
		wants(t, err, domain.Unauthenticated, "The e-mail or the password is wrong.")
		if work.n != before+1 {
			t.Errorf("%.20q cost %d hashes", x.email, work.n-before)
		}
	}
	u := ok[domain.User](t)(p.Service.SignIn(ctx, " Ming@Rheinau.example", domaintest.Password, "198.51.100.7"))
	if u.ID != p.Member.User {
		t.Errorf("%+v", u)
	}
}

func TestSignInIsLimitedByEmailAndByAddress(t *testing.T) {
	t.Parallel()
	p := domaintest.New(t)
	for i := range 10 {
		_, err := p.Service.SignIn(ctx, "ming@rheinau.example", "wrong", fmt.Sprintf("198.51.100.%d", i))
		wants(t, err, domain.Unauthenticated)
	}
	_, err := p.Service.SignIn(ctx, "ming@rheinau.example", domaintest.Password, "203.0.113.1")
	wants(t, err, domain.TooMany, "10 failed tries within 15 minutes. Try again after 09:15 UTC.")
	ok[domain.User](t)(p.Service.SignIn(ctx, "sara@rheinau.example", domaintest.Password, "198.51.100.1"))
	for i := range 50 {
		_, err := p.Service.SignIn(ctx, fmt.Sprintf("guess%d@rheinau.example", i), "wrong", "203.0.113.9")
		wants(t, err, domain.Unauthenticated)
	}
	_, err = p.Service.SignIn(ctx, "sara@rheinau.example", domaintest.Password, "203.0.113.9")
	wants(t, err, domain.TooMany, "50 failed tries")
	p.Clock.Add(15*time.Minute + time.Millisecond)
	ok[domain.User](t)(p.Service.SignIn(ctx, "ming@rheinau.example", domaintest.Password, "203.0.113.9"))
}

func TestAnActorIsGatheredInFourStatementsAndThenInOne(t *testing.T) {
	t.Parallel()
	p := domaintest.New(t)
	if err := p.Service.SaveProjectMember(ctx, p.Owner, p.Org, p.Project.ID, p.Member.User, false); err != nil {
		t.Fatal(err)
	}
	for _, x := range []domain.Actor{p.Operator, p.Owner, p.Member} {
		// The first look reads user, roles and projects; the next asks only
		// whether anything has changed.
		for _, most := range []int{4, 1} {
			c := storetest.Counting(ctx)
			if _, _, err := p.Service.ActorFor(c, x.User, domain.ViaWeb, ""); err != nil {
				t.Fatal(err)
			}
			if n := storetest.Count(c); n == 0 || int(n) > most {
				t.Errorf("%s: %d statements, at most %d", x.Name, n, most)
			}
		}
	}
	a := p.Actor(p.Member.User)
	other := ok[domain.Project](t)(p.Service.CreateProject(ctx, p.Owner, p.Org, domain.ProjectInput{Name: "Protein"}))
	if !a.SeesProject(p.Org, p.Project.ID) || a.SeesProject(p.Org, other.ID) {
		t.Errorf("narrowed to %v", a.Projects)
	}
	if list := ok[[]domain.ProjectView](t)(p.Service.Projects(ctx, a, p.Org)); len(list) != 1 || list[0].ID != p.Project.ID || list[0].Account != p.Account.ID {
		t.Errorf("sees %+v", list)
	}
	_, err := p.Service.ProjectMembers(ctx, a, p.Org, other.ID)
	wants(t, err, domain.NotFound)
	_, _, err = p.Service.ActorFor(ctx, "nobody", domain.ViaWeb, "")
	wants(t, err, domain.Unauthenticated)
}

func TestProjectsNarrowOnlyTheirOwnOrganisation(t *testing.T) {
	t.Parallel()
	p := domaintest.New(t)
	_, token, err := p.Service.InviteMember(ctx, p.OtherOwner, p.Other, domain.InviteInput{Email: p.Member.Email, Role: pool.RoleMember})
	if err != nil {
		t.Fatal(err)
	}
	ok[domain.User](t)(p.Service.AcceptInvitation(ctx, p.Member, token, domain.AcceptInput{}))
	if err := p.Service.SaveProjectMember(ctx, p.Owner, p.Org, p.Project.ID, p.Member.User, false); err != nil {
		t.Fatal(err)
	}
	c := storetest.Counting(ctx)
	a, _, err := p.Service.ActorFor(c, p.Member.User, domain.ViaWeb, "")
	if n := storetest.Count(c); err != nil || n > 4 {
		t.Errorf("%d statements, %v", n, err)
	}
	if len(a.Roles) != 2 || len(a.Projects) != 1 || len(a.Projects[p.Org]) != 1 {
		t.Errorf("%+v", a)
	}
}

func TestATokenIsShownOnceAndActsWithinItsScopes(t *testing.T) {
	t.Parallel()
	p := domaintest.New(t)
	s := p.Service
	tok, secret, err := s.CreateToken(ctx, p.Owner, domain.TokenInput{Name: "ci 机器", Scopes: []string{domain.ScopeJobs}, Days: "365"})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(secret, "gpupool_pat_") || strings.Contains(fmt.Sprintf("%+v", tok), secret) {
		t.Errorf("token %q stored as %+v", secret, tok)
	}
	a := ok[domain.Actor](t)(s.ActorByToken(ctx, secret, "203.0.113.5"))
	for act, want := range map[domain.Act]bool{domain.ActSubmit: true, domain.ActView: true, domain.ActTeam: false, domain.ActBilling: false, domain.ActSubscribe: false} {
		if a.Can(p.Org, act) != want {
			t.Errorf("a jobs token of an owner may %s: %v", act, !want)
		}
	}
	_, _, err = s.CreateToken(ctx, a, domain.TokenInput{Name: "child", Scopes: []string{domain.ScopeJobs}, Days: "1"})
	wants(t, err, domain.Forbidden)
	wants(t, s.ChangePassword(ctx, a, domain.PasswordInput{}), domain.Forbidden)
	_, _, err = s.CreateToken(ctx, p.Owner, domain.TokenInput{Name: "long", Scopes: []string{"admin"}, Days: "366"})
	wants(t, err, domain.Invalid, "days: Write a whole number from 1 to 365.", "scopes: Choose one of: read jobs.")
	last := secret[:len(secret)-1] + "x"
	for _, bad := range []string{"", "x", last, "gpupool_pat_", "gpupool_pat_\x00", strings.Repeat("y", 1000), secret + "0"} {
		_, err := s.ActorByToken(ctx, bad, "")
		wants(t, err, domain.Unauthenticated, "not valid")
	}
	if err := s.RevokeToken(ctx, p.Member, tok.ID); code(t, err) != domain.NotFound {
		t.Errorf("another person revokes it: %v", err)
	}
	if list := ok[[]domain.APIToken](t)(s.Tokens(ctx, p.Owner)); len(list) != 1 || list[0].LastUsed != p.Clock.Now() {
		t.Errorf("%+v", list)
	}
	p.Clock.Add(365 * 24 * time.Hour)
	_, err = s.ActorByToken(ctx, secret, "")
	wants(t, err, domain.Unauthenticated, "expired on 2027-11-02")
	if err := s.RevokeToken(ctx, p.Owner, tok.ID); err != nil {
		t.Fatal(err)
	}
	_, err = s.ActorByToken(ctx, secret, "")
	wants(t, err, domain.Unauthenticated, "revoked")
}

func TestANewPasswordEndsTheOtherSessions(t *testing.T) {
	t.Parallel()
	p := domaintest.New(t)
	p.Update(func(tx domain.Tx) error {
		for _, x := range []domain.Session{{Token: "here", User: p.Member.User}, {Token: "there", User: p.Member.User}, {Token: "else", User: p.Lead.User}} {
			x.ExpiresAt = tx.Wall().Add(time.Hour)
			if err := tx.SaveSession(x); err != nil {
				return err
			}
		}
		return nil
	})
	for want, in := range map[string]domain.PasswordInput{
		"current: This is not your current":     {Current: "wrong", New: "a quite long password"},
		"new: At least 12 characters; this has": {Current: domaintest.Password, New: "短密码"},
		"new: The password must not contain":    {Current: domaintest.Password, New: "MING@rheinau.example"},
		"new: The password must not be one":     {Current: domaintest.Password, New: strings.Repeat("好", 14)},
		"new: At most 512 bytes; this has 600.": {Current: domaintest.Password, New: strings.Repeat("xy", 300)},
		"new: The new password must differ":     {Current: domaintest.Password, New: domaintest.Password},
	} {
		wants(t, p.Service.ChangePassword(ctx, p.Member, in), domain.Invalid, want)
	}
	in := domain.PasswordInput{Current: domaintest.Password, New: "正确的马电池订书钉很长的口令", Keep: "here"}
	if err := p.Service.ChangePassword(ctx, p.Member, in); err != nil {
		t.Fatal(err)
	}
	if left := ok[[]domain.Session](t)(p.Service.Sessions(ctx, p.Member)); len(left) != 1 || left[0].Token != "here" {
		t.Errorf("%+v", left)
	}
	if code(t, p.Service.EndSession(ctx, p.Member, "else")) != domain.NotFound {
		t.Error("ended another person's session")
	}
	ok[domain.User](t)(p.Service.SignIn(ctx, p.Member.Email, in.New, ""))
}
