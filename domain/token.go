package domain

import (
	"context"
	"fmt"
	"hash/crc32"
	"slices"
	"strings"
	"time"
)

// TokenPrefix begins every API token, so that a leaked one is recognised.
const TokenPrefix = "gpupool_pat_"

// MaxTokenDays is how long an API token may be valid.
const MaxTokenDays = 365

// newToken is the prefix, 160 random bits and a checksum that tells a typing
// error from a wrong token without asking the store.
func (s *Service) newToken() string {
	body := s.secret(20)
	return TokenPrefix + body + checksum(body)
}

func checksum(body string) string { return fmt.Sprintf("%08x", crc32.ChecksumIEEE([]byte(body))) }

// wellFormed tells whether token can be one of ours.
func wellFormed(token string) bool {
	body, ok := strings.CutPrefix(token, TokenPrefix)
	return ok && len(body) > 8 && len(body) < 100 && checksum(body[:len(body)-8]) == body[len(body)-8:]
}

// TokenInput is the form of a new API token. Days of validity as typed, 1 to 365.
type TokenInput struct {
	Name   string
	Scopes []string // ScopeRead, ScopeJobs
	Days   string
}

// CreateToken makes an API token for the signed-in person and returns its
// secret, once. A token can't make another.
func (s *Service) CreateToken(ctx context.Context, a Actor, in TokenInput) (APIToken, string, error) {
	if err := needPerson(a); err != nil {
		return APIToken{}, "", err
	}
	var f Fields
	t := APIToken{ID: s.newID("tok-"), User: a.User, Name: checkName(&f, "name", in.Name), Scopes: slices.Compact(slices.Sorted(slices.Values(in.Scopes)))}
	if len(t.Scopes) == 0 {
		f.Add("scopes", "Choose at least one.")
	}
	for _, x := range t.Scopes {
		checkChoice(&f, "scopes", x, ScopeRead, ScopeJobs)
	}
	days := checkCount(&f, "days", in.Days, 1, MaxTokenDays)
	if err := f.Err(); err != nil {
		return APIToken{}, "", err
	}
	secret := s.newToken()
	t.Hash, t.Prefix = HashSecret(secret), secret[:len(TokenPrefix)+4]
	err := s.store.Update(ctx, func(tx Tx) error {
		t.CreatedAt = tx.Wall()
		t.ExpiresAt = t.CreatedAt.Add(time.Duration(days) * 24 * time.Hour)
		if err := tx.InsertToken(t); err != nil {
			return err
		}
		return audit(tx, a, "", "token.create", t.ID, nil, map[string]any{"name": t.Name, "scopes": t.Scopes, "expires": t.ExpiresAt.String()})
	})
	if err != nil {
		return APIToken{}, "", err
	}
	return t, secret, nil
}

// needPerson is nil for somebody who came with a password, not with a token.
func needPerson(a Actor) error {
	switch {
	case !a.SignedIn():
		return Errf(Unauthenticated, "Please sign in.")
	case a.TokenID != "":
		return Errf(Forbidden, "An API token can't do this. Please sign in.")
	}
	return nil
}

// Tokens of the signed-in person, newest first, revoked and expired ones too.
func (s *Service) Tokens(ctx context.Context, a Actor) ([]APIToken, error) {
	if err := needPerson(a); err != nil {
		return nil, err
	}
	var ts []APIToken
	err := s.store.View(ctx, func(tx Tx) (err error) { ts, err = tx.Tokens(a.User); return err })
	return ts, err
}

// RevokeToken ends a token of the signed-in person; another person's is NotFound.
func (s *Service) RevokeToken(ctx context.Context, a Actor, id string) error {
	if err := needPerson(a); err != nil {
		return err
	}
	return s.store.Update(ctx, func(tx Tx) error {
		if err := tx.RevokeToken(a.User, id, tx.Wall()); err != nil {
			return err
		}
		return audit(tx, a, "", "token.revoke", id, nil, nil)
	})
}

// touchEvery is how exact the last use of a token is kept.
const touchEvery = time.Minute

// ActorByToken is the actor that an API token stands for: its owner's rights
// of now, within its scopes. Anything but a valid token is Unauthenticated.
func (s *Service) ActorByToken(ctx context.Context, token, ip string) (Actor, error) {
	refused := Errf(Unauthenticated, "This API token is not valid.")
	token = trimmed(token)
	if !wellFormed(token) {
		return Actor{}, refused
	}
	var a Actor
	var t APIToken
	touch := false
	err := s.store.View(ctx, func(tx Tx) (err error) {
		if t, err = tx.TokenByHash(HashSecret(token)); err != nil {
			if CodeOf(err) == NotFound {
				return refused
			}
			return err
		}
		switch wall := tx.Wall(); {
		case t.RevokedAt != 0:
			return Errf(Unauthenticated, "This API token was revoked.")
		case t.ExpiresAt <= wall:
			return Errf(Unauthenticated, "This API token expired on %s.", t.ExpiresAt.Time().Format(time.DateOnly))
		default:
			touch = t.LastUsed.Add(touchEvery) <= wall
		}
		a, _, err = loadActor(tx, t.User)
		return err
	})
	if err != nil {
		return Actor{}, err
	}
	if touch {
		if err := s.store.Update(ctx, func(tx Tx) error { return tx.TouchToken(t.ID, tx.Wall()) }); err != nil {
			return Actor{}, err
		}
	}
	a.Via, a.IP, a.TokenID, a.Scopes = ViaAPI, ip, t.ID, t.Scopes
	return a, nil
}
