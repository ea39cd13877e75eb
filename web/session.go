package web

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/alexedwards/scs/v2"

	"gpupool/domain"
	"gpupool/domain/pool"
	"gpupool/views/ui"
)

// What a session keeps.
const (
	sessionUser  = "user"
	sessionIP    = "ip"
	sessionAgent = "agent"
	sessionBegan = "began" // int64, wall milliseconds
	sessionFlash = "flash"
	sessionWarn  = "warn"
	sessionShown = "shown" // key of a secret that is shown once
)

// sessionLife is how long a session lasts, in wall time from the sign-in.
const sessionLife = 14 * 24 * time.Hour

// newSessions keeps sessions in the store, under the hash of the cookie: who reads the database can't sign in.
func newSessions(store domain.Store, https bool, log *slog.Logger) *scs.SessionManager {
	name := "gpupool_session"
	if https {
		name = "__Host-" + name
	}
	m := scs.New()
	m.Lifetime = sessionLife
	m.Store = sessionStore{store}
	m.HashTokenInStore = true
	m.Cookie = scs.SessionCookie{Name: name, HttpOnly: true, Path: "/", Persist: true, SameSite: http.SameSiteLaxMode, Secure: https}
	m.ErrorFunc = func(w http.ResponseWriter, r *http.Request, err error) {
		if !errors.Is(err, context.Canceled) {
			log.Error("session", "error", err)
		}
		http.Error(w, "The portal can't reach its database. Please try again in a moment.", http.StatusServiceUnavailable)
	}
	return m
}

// storedToken is what the store has of a session's token; scs hashes it the same way.
func storedToken(token string) string {
	sum := sha256.Sum256([]byte(token))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// sessionStore keeps sessions of people; strangers have none.
type sessionStore struct{ store domain.Store }

// FindCtx finds a session that has not expired.
func (s sessionStore) FindCtx(ctx context.Context, token string) ([]byte, bool, error) {
	var data []byte
	err := s.store.View(ctx, func(tx domain.Tx) error {
		data = nil
		x, err := tx.Session(token)
		if err == nil && x.ExpiresAt > tx.Wall() {
			data = x.Data
		}
		if domain.CodeOf(err) == domain.NotFound {
			return nil
		}
		return err
	})
	return data, data != nil, err
}

// CommitCtx stores a session. It ends a fixed time after the sign-in, however often it is stored again.
func (s sessionStore) CommitCtx(ctx context.Context, token string, data []byte, _ time.Time) error {
	_, values, err := scs.GobCodec{}.Decode(data)
	if err != nil {
		return err
	}
	text := func(key string) string { x, _ := values[key].(string); return x }
	began, _ := values[sessionBegan].(int64)
	if text(sessionUser) == "" {
		return nil
	}
	x := domain.Session{Token: token, User: pool.UserID(text(sessionUser)), Data: data, CreatedAt: pool.Instant(began),
		ExpiresAt: pool.Instant(began).Add(sessionLife), IP: text(sessionIP), Agent: text(sessionAgent)}
	return s.store.Update(ctx, func(tx domain.Tx) error { return tx.SaveSession(x) })
}

// DeleteCtx ends a session.
func (s sessionStore) DeleteCtx(ctx context.Context, token string) error {
	return s.store.Update(ctx, func(tx domain.Tx) error { return tx.DeleteSession(token) })
}

// Find, Commit and Delete complete scs.Store; scs calls the forms with a context.
func (s sessionStore) Find(token string) ([]byte, bool, error) {
	return s.FindCtx(context.Background(), token)
}
func (s sessionStore) Commit(token string, data []byte, expiry time.Time) error {
	return s.CommitCtx(context.Background(), token, data, expiry)
}
func (s sessionStore) Delete(token string) error { return s.DeleteCtx(context.Background(), token) }

// enter signs a person in: the session gets a new token, so that one known before is worth nothing.
func (v *visit) enter(u domain.User) error {
	m := v.server.sessions
	if err := m.RenewToken(v.ctx); err != nil {
		return err
	}
	agent := v.echo.Request().UserAgent()
	if len(agent) > 200 {
		agent = agent[:200]
	}
	m.Put(v.ctx, sessionUser, string(u.ID))
	m.Put(v.ctx, sessionIP, v.echo.RealIP())
	m.Put(v.ctx, sessionAgent, agent)
	m.Put(v.ctx, sessionBegan, int64(v.server.now()))
	return nil
}

// flash keeps a sentence for the next page.
func (v *visit) flash(sentence string) {
	if v.server.sessions.GetString(v.ctx, sessionUser) != "" {
		v.server.sessions.Put(v.ctx, sessionFlash, sentence)
	}
}

// warn keeps one more sentence for the next page, of something to look at.
func (v *visit) warn(sentence string) {
	m := v.server.sessions
	if m.GetString(v.ctx, sessionUser) == "" {
		return
	}
	if before := m.GetString(v.ctx, sessionWarn); before != "" {
		sentence = before + "\n" + sentence
	}
	m.Put(v.ctx, sessionWarn, sentence)
}

// said are the sentences that the form before this page left, once. A page that
// is fetched for a part of it shows none: they wait for the page that the form
// leads to.
func (v *visit) said() []ui.Notice {
	if v.echo.Request().Header.Get("X-Part") != "" {
		return nil
	}
	var out []ui.Notice
	m := v.server.sessions
	if s := m.PopString(v.ctx, sessionFlash); s != "" {
		out = append(out, ui.Notice{Tone: ui.Good, Text: s})
	}
	if s := m.PopString(v.ctx, sessionWarn); s != "" {
		for _, line := range strings.Split(s, "\n") {
			out = append(out, ui.Notice{Tone: ui.Warn, Text: line})
		}
	}
	return out
}
