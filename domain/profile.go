package domain

import (
	"context"
	"time"

	"gpupool/domain/pool"
)

// Languages of the portal.
var Languages = []string{"en", "zh"}

// language falls back to English for what the portal doesn't speak.
func language(s string) string {
	for _, l := range Languages {
		if l == s {
			return s
		}
	}
	return Languages[0]
}

// Profile is the signed-in person.
func (s *Service) Profile(ctx context.Context, a Actor) (User, error) {
	if err := needPerson(a); err != nil {
		return User{}, err
	}
	var u User
	err := s.store.View(ctx, func(tx Tx) (err error) { u, err = tx.User(a.User); return err })
	return u, err
}

// ProfileInput is what people say about themselves. An empty time zone is the pool's.
type ProfileInput struct{ Name, Lang, TimeZone string }

// UpdateProfile changes the signed-in person's name, language and time zone.
func (s *Service) UpdateProfile(ctx context.Context, a Actor, in ProfileInput) (User, error) {
	if err := needPerson(a); err != nil {
		return User{}, err
	}
	var f Fields
	name, zone := checkName(&f, "name", in.Name), trimmed(in.TimeZone)
	checkChoice(&f, "lang", in.Lang, Languages...)
	if _, err := time.LoadLocation(zone); err != nil || zone == "Local" {
		f.Add("time_zone", "Write an IANA time zone such as Europe/Berlin.")
	}
	if err := f.Err(); err != nil {
		return User{}, err
	}
	var u User
	err := s.store.Update(ctx, func(tx Tx) error {
		old, err := tx.User(a.User)
		if err != nil {
			return err
		}
		u = old
		u.Name, u.Lang, u.TimeZone = name, in.Lang, zone
		if err := tx.UpdateUser(u); err != nil {
			return err
		}
		return audit(tx, a, "", "user.profile", string(u.ID), auditUser(old), auditUser(u))
	})
	return u, err
}

// PasswordInput is the form that changes a password. Keep is the stored token
// of the session that goes on; all others of the person end.
type PasswordInput struct{ Current, New, Keep string }

// ChangePassword needs the current password and ends every other session.
// Failed tries count as failed sign-ins.
func (s *Service) ChangePassword(ctx context.Context, a Actor, in PasswordInput) error {
	if err := needPerson(a); err != nil {
		return err
	}
	var f Fields
	checkPassword(&f, "new", in.New, a.Email)
	if in.Current == "" {
		f.Add("current", "Please fill in this field.")
	} else if in.Current == in.New {
		f.Add("new", "The new password must differ from the current one.")
	}
	if err := f.Err(); err != nil {
		return err
	}
	keys := signInKeys{"mail:" + HashSecret(a.Email), "ip:" + HashSecret(a.IP)}
	var u User
	err := s.store.View(ctx, func(tx Tx) (err error) {
		if err := keys.allowed(tx); err != nil {
			return err
		}
		u, err = tx.User(a.User)
		return err
	})
	if err != nil {
		return err
	}
	ok := false
	if u.PasswordHash != "" && len(in.Current) <= maxPassword {
		if ok, err = s.passwords.Matches(in.Current, u.PasswordHash); err != nil {
			return err
		}
	}
	if !ok {
		if err := s.store.Update(ctx, keys.count); err != nil {
			return err
		}
		return Fields{{Field: "current", Message: "This is not your current password."}}.Err()
	}
	hash, err := s.passwords.Hash(in.New)
	if err != nil {
		return err
	}
	return s.store.Update(ctx, func(tx Tx) error {
		now, err := tx.User(a.User)
		if err != nil {
			return err
		}
		if now.PasswordHash != u.PasswordHash {
			return Errf(Conflict, "The password was changed a moment ago elsewhere.")
		}
		now.PasswordHash = hash
		if err := tx.UpdateUser(now); err != nil {
			return err
		}
		if err := endSessions(tx, a.User, in.Keep); err != nil {
			return err
		}
		return audit(tx, a, "", "user.password", string(u.ID), nil, nil)
	})
}

func endSessions(tx Tx, u pool.UserID, keep string) error {
	sessions, err := tx.SessionsOf(u)
	if err != nil {
		return err
	}
	for _, x := range sessions {
		if x.Token == keep {
			continue
		}
		if err := tx.DeleteSession(x.Token); err != nil {
			return err
		}
	}
	return nil
}

// Sessions of the signed-in person that have not expired, newest first.
func (s *Service) Sessions(ctx context.Context, a Actor) ([]Session, error) {
	if err := needPerson(a); err != nil {
		return nil, err
	}
	var out []Session
	err := s.store.View(ctx, func(tx Tx) error {
		all, err := tx.SessionsOf(a.User)
		out = nil
		for _, x := range all {
			if x.ExpiresAt > tx.Wall() {
				out = append(out, x)
			}
		}
		return err
	})
	return out, err
}

// EndSession signs the person out of one of their sessions, by its stored
// token; another person's is NotFound.
func (s *Service) EndSession(ctx context.Context, a Actor, token string) error {
	if err := needPerson(a); err != nil {
		return err
	}
	return s.store.Update(ctx, func(tx Tx) error {
		all, err := tx.SessionsOf(a.User)
		if err != nil {
			return err
		}
		for _, x := range all {
			if x.Token == token {
				if err := tx.DeleteSession(token); err != nil {
					return err
				}
				return audit(tx, a, "", "session.end", x.IP, nil, nil)
			}
		}
		return Errf(NotFound, "This session has ended already.")
	})
}
