package domain

import (
	"context"
	"strings"
	"time"
	"unicode/utf8"

	"gpupool/domain/pool"
)

// Failed tries that sign-in allows in its window of wall time. An address may
// stand for a whole university, so it has more.
const (
	signInWindow   = 15 * time.Minute
	triesByEmail   = 10
	triesByAddress = 50
)

// SignIn checks e-mail and password. It works as long for an e-mail that
// nobody has as for a wrong password. After 10 failed tries for an e-mail or
// 50 from an address within 15 minutes it refuses, the right password too.
func (s *Service) SignIn(ctx context.Context, email, password, ip string) (User, error) {
	var f Fields
	email = checkEmail(&f, "email", email)
	keys := signInKeys{"mail:" + HashSecret(email), "ip:" + HashSecret(ip)}
	var u User
	var found bool
	err := s.store.View(ctx, func(tx Tx) error {
		if err := keys.allowed(tx); err != nil {
			return err
		}
		if len(f) > 0 {
			return nil // nobody has it
		}
		var err error
		u, err = tx.UserByEmail(email)
		found, err = known(err)
		return err
	})
	if err != nil {
		return User{}, err
	}
	ok := false
	switch {
	case len(password) > maxPassword: // never spend work on it
	case found && u.PasswordHash != "" && !u.Disabled:
		if ok, err = s.passwords.Matches(password, u.PasswordHash); err != nil {
			return User{}, err
		}
	default:
		if _, err := s.passwords.Hash(password); err != nil { // the same work
			return User{}, err
		}
	}
	err = s.store.Update(ctx, func(tx Tx) error {
		if !ok {
			return keys.count(tx)
		}
		if err := keys.allowed(tx); err != nil { // many guesses at once are still at most the limit
			return err
		}
		return audit(tx, Actor{User: u.ID, Name: u.Name, Via: ViaWeb, IP: ip}, "", "user.sign_in", string(u.ID), nil, nil)
	})
	if err != nil {
		return User{}, err
	}
	if !ok {
		return User{}, Errf(Unauthenticated, "The e-mail or the password is wrong.")
	}
	return u, nil
}

type signInKeys struct{ email, address string }

func (k signInKeys) allowed(tx Tx) error {
	from := tx.Wall().Add(-signInWindow)
	for _, x := range []struct {
		key   string
		limit int64
	}{{k.email, triesByEmail}, {k.address, triesByAddress}} {
		n, err := tx.SignInTries(x.key, from)
		if err != nil {
			return err
		}
		if n >= x.limit {
			return Errf(TooMany, "%d failed tries within %d minutes. Try again after %s UTC.", n, int(signInWindow/time.Minute),
				tx.Wall().Add(signInWindow).Time().Format("15:04"))
		}
	}
	return nil
}

func (k signInKeys) count(tx Tx) error {
	at := tx.Wall()
	for _, key := range []string{k.email, k.address} {
		if _, err := tx.CountSignIn(key, at, at.Add(-signInWindow)); err != nil {
			return err
		}
	}
	return nil
}

// Limits of a password; the upper one only bounds the work.
const (
	minPassword = 12
	maxPassword = 512 // bytes
)

// checkPassword adds a field error to a password that is too short, too long,
// the e-mail, or one character repeated.
func checkPassword(f *Fields, field, password, email string) {
	n := utf8.RuneCountInString(password)
	switch {
	case password == "":
		f.Add(field, "Please fill in this field.")
	case n < minPassword:
		f.Add(field, "At least %d characters; this has %d.", minPassword, n)
	case len(password) > maxPassword:
		f.Add(field, "At most %d bytes; this has %d.", maxPassword, len(password))
	case email != "" && strings.Contains(strings.ToLower(password), strings.ToLower(email)):
		f.Add(field, "The password must not contain the e-mail address.")
	case strings.Count(password, password[:utf8.RuneLen([]rune(password)[0])])*utf8.RuneLen([]rune(password)[0]) == len(password):
		f.Add(field, "The password must not be one character repeated.")
	}
}

// ActorFor gathers a signed-in person's rights, and the person, in at most
// three statements. Somebody unknown or disabled is Unauthenticated.
func (s *Service) ActorFor(ctx context.Context, id pool.UserID, via Via, ip string) (Actor, User, error) {
	var a Actor
	var u User
	err := s.store.View(ctx, func(tx Tx) error {
		v, err := tx.Memo("actor:"+string(id), func() (any, error) {
			a, u, err := loadActor(tx, id)
			return knownActor{a, u}, err
		})
		if err == nil {
			a, u = v.(knownActor).actor, v.(knownActor).user
		}
		return err
	})
	a.Via, a.IP = via, ip
	if err != nil {
		return Actor{Via: via, IP: ip}, User{}, err
	}
	return a, u, nil
}

type knownActor struct {
	actor Actor
	user  User
}

func loadActor(tx Tx, id pool.UserID) (Actor, User, error) {
	u, err := tx.User(id)
	if CodeOf(err) == NotFound && err != nil || u.Disabled {
		return Actor{}, User{}, Errf(Unauthenticated, "Please sign in.")
	}
	if err != nil {
		return Actor{}, User{}, err
	}
	a := Actor{User: u.ID, Name: u.Name, Email: u.Email, Operator: u.Operator, Roles: map[pool.OrgID]pool.Role{}}
	memberships, err := tx.Memberships(id)
	if err != nil {
		return Actor{}, User{}, err
	}
	narrow := false
	for _, m := range memberships {
		a.Roles[m.Org] = m.Role
		narrow = narrow || narrowed(m.Role)
	}
	if !narrow {
		return a, u, nil
	}
	own, err := tx.ProjectsOf(id)
	if err != nil || len(own) == 0 {
		return a, u, err
	}
	a.Projects = map[pool.OrgID][]pool.ProjectID{}
	for _, p := range own {
		if narrowed(a.Roles[p.Org]) {
			a.Projects[p.Org] = append(a.Projects[p.Org], p.ID)
		}
	}
	return a, u, nil
}

// narrowed tells whether being in projects narrows a role to them: who keeps
// the money or the organisation sees all of it.
func narrowed(r pool.Role) bool { return r == pool.RoleMember || r == pool.RoleLead }
