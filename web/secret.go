package web

import (
	"crypto/rand"
	"sync"
	"time"
)

// secrets keeps what is shown once (invitation links, new tokens) between the form and the page that shows it: in
// memory only, because nothing may be found at rest that lets somebody in.
type secrets struct {
	wall func() time.Time
	mu   sync.Mutex
	all  map[string]secret
}

type secret struct {
	value string
	until time.Time
}

func newSecrets(wall func() time.Time) *secrets {
	return &secrets{wall: wall, all: map[string]secret{}}
}

const secretLife = 5 * time.Minute

// keep returns the key under which value is taken once.
func (s *secrets) keep(value string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.wall()
	for k, x := range s.all {
		if x.until.Before(now) {
			delete(s.all, k)
		}
	}
	key := rand.Text()
	s.all[key] = secret{value, now.Add(secretLife)}
	return key
}

// take is empty when the value was taken already or is too old.
func (s *secrets) take(key string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	x, ok := s.all[key]
	delete(s.all, key)
	if !ok || x.until.Before(s.wall()) {
		return ""
	}
	return x.value
}

// reveal keeps a secret for the next page of this person.
func (v *visit) reveal(value string) {
	v.server.sessions.Put(v.ctx, sessionShown, v.server.once.keep(value))
}

// revealed is the secret that the form before this page made, once.
func (v *visit) revealed() string {
	key := v.server.sessions.PopString(v.ctx, sessionShown)
	if key == "" {
		return ""
	}
	return v.server.once.take(key)
}
