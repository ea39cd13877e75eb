package domain

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"encoding/hex"
	"encoding/json"
	"io"
	"log/slog"
	mathrand "math/rand/v2"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"gpupool/domain/pool"
	"gpupool/domain/quota"
)

// PasswordHasher keeps passwords: argon2id lives outside.
type PasswordHasher interface {
	Hash(password string) (string, error)
	Matches(password, hash string) (bool, error)
}

// Config is what a Service is made of. Chance comes in as an io.Reader.
type Config struct {
	Store     Store
	Cluster   Cluster
	Issuers   map[string]Issuer
	Passwords PasswordHasher
	Clock     *BusinessClock // shared with the store; nil: nobody else reads it
	Rand      io.Reader      // nil: the system's
	Log       *slog.Logger
	// Holder names this process when it takes the engine's lease.
	Holder string
}

// Service has the use cases. Each is one method with an Actor.
type Service struct {
	store     Store
	cluster   Cluster
	issuers   map[string]Issuer
	passwords PasswordHasher
	clock     *BusinessClock
	rand      io.Reader
	log       *slog.Logger
	holder    string
	hub       *Hub

	turn sync.Mutex // held while a cycle runs

	deciding sync.Mutex
	state    *quota.State // of the engine; nil before the first decision and after one that wasn't carried out
	habits   habits

	mu     sync.Mutex
	last   *Decision                       // the engine's last plan, for all pages
	told   map[pool.JobID]bool             // waiting jobs that were told their start; of the turn
	next   pool.Instant                    // business time at which the decision could change by itself
	seen   map[pool.AllocID]seenRun        // what reconcile saw last
	listed pool.Instant                    // business time of the last complete list
	health ClusterHealth                   // what the last contact said
	graded map[pool.AttemptID]pool.Instant // when resubmission was tried last
}

// New makes the Service.
func New(c Config) *Service {
	if c.Rand == nil {
		c.Rand = rand.Reader
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Holder == "" {
		c.Holder = "portal"
	}
	return &Service{store: c.Store, cluster: c.Cluster, issuers: c.Issuers, passwords: c.Passwords, clock: c.Clock, rand: c.Rand,
		log: c.Log, holder: c.Holder, hub: NewHub(), seen: map[pool.AllocID]seenRun{}, graded: map[pool.AttemptID]pool.Instant{}}
}

// Hub tells listeners that something changed.
func (s *Service) Hub() *Hub { return s.hub }

// Issuer finds an issuer by name.
func (s *Service) Issuer(name string) (Issuer, bool) {
	i, ok := s.issuers[name]
	return i, ok
}

var ids = base32.NewEncoding("abcdefghijkmnpqrstuvwxyz23456789").WithPadding(base32.NoPadding)

// Secret is n random bytes as text, for callers that need an unguessable value.
func (s *Service) Secret(n int) string { return s.secret(n) }

// newID is prefix and 12 random characters (60 bits) that are hard to misread.
func (s *Service) newID(prefix string) string {
	return prefix + s.secret(8)[:12]
}

// secret is n random bytes as text.
func (s *Service) secret(n int) string {
	b := make([]byte, n)
	if _, err := io.ReadFull(s.rand, b); err != nil {
		panic("no randomness: " + err.Error()) // the system's source never fails
	}
	return ids.EncodeToString(b)
}

// HashSecret is how tokens and invitation links are stored.
func HashSecret(secret string) string {
	h := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(h[:])
}

// audit writes one change into the trail of the same transaction. before and
// after are any values that marshal to JSON, or nil.
func audit(tx Tx, a Actor, org pool.OrgID, action, subject string, before, after any) error {
	text := func(v any) string {
		if v == nil {
			return ""
		}
		b, err := json.Marshal(v)
		if err != nil {
			return ""
		}
		return string(b)
	}
	return tx.InsertAudit(AuditRow{At: tx.Now(), Wall: tx.Wall(), User: a.User, Name: a.Name, Via: a.Via, IP: a.IP,
		Org: org, Action: action, Subject: subject, Before: text(before), After: text(after)})
}

// trimmed is text as stored: without outer blanks.
func trimmed(s string) string { return strings.TrimSpace(s) }

// checkText adds a field error when s is empty (if required) or longer than
// limit characters or has control characters other than line breaks.
func checkText(f *Fields, field, s string, required bool, limit int) {
	switch n := len([]rune(s)); {
	case required && s == "":
		f.Add(field, "Please fill in this field.")
	case n > limit:
		f.Add(field, "At most %d characters; this has %d.", limit, n)
	case !utf8.ValidString(s):
		f.Add(field, "This is not text in UTF-8.")
	case strings.ContainsFunc(s, func(r rune) bool { return r < ' ' && r != '\n' && r != '\r' && r != '\t' || r == 0x7f }):
		f.Add(field, "Control characters are not allowed.")
	}
}

// Update runs a use case's transaction and wakes the listeners of org ("" for
// the pool's) after it has committed.
func (s *Service) update(ctx context.Context, org pool.OrgID, fn func(tx Tx) error) error {
	if err := s.store.Update(ctx, fn); err != nil {
		return err
	}
	s.hub.Publish(string(org))
	return nil
}

// BusinessNow is the business time.
func (s *Service) BusinessNow(ctx context.Context) (pool.Instant, error) {
	var now pool.Instant
	err := s.store.View(ctx, func(tx Tx) error { now = tx.Now(); return nil })
	return now, err
}

// Settings of the pool.
func (s *Service) Settings(ctx context.Context) (Settings, error) {
	var st Settings
	err := s.store.View(ctx, func(tx Tx) error {
		t, err := LoadTerms(tx)
		st = t.Settings
		return err
	})
	return st, err
}

// Hub passes on that something changed: topics are organisation ids, "" is
// the pool. Listeners are told, never waited for.
type Hub struct {
	mu    sync.Mutex
	subs  map[chan string]string
	wake  chan struct{} // the loops
	n     int64         // number of the newest message, counted from began, which is drawn, so that a process hardly takes up the count of another
	began int64
	last  map[string]int64 // topic: number of its newest message
}

// NewHub makes an empty Hub.
func NewHub() *Hub {
	began := mathrand.Int64N(1 << 52)
	return &Hub{subs: map[chan string]string{}, wake: make(chan struct{}, 1), began: began, n: began, last: map[string]int64{}}
}

// Mark is the number of the newest message. Whoever takes it before reading
// can ask later, with Moved, whether what it read may be old.
func (h *Hub) Mark() int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.n
}

// Moved tells whether a topic, "*" for all, had a message after the mark, or
// the mark is another process's.
func (h *Hub) Moved(topic string, mark int64) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	newest := max(h.last[topic], h.last[""])
	if topic == "*" {
		newest = h.n
	}
	return newest > mark || mark < h.began || mark > h.n
}

// Publish tells those who listen to topic, and those who listen to all, and
// wakes the loops.
func (h *Hub) Publish(topic string) {
	h.mu.Lock()
	h.n++
	h.last[topic] = h.n
	for c, t := range h.subs {
		if t == topic || t == "*" || topic == "" {
			select {
			case c <- topic:
			default: // it has a message that it has not read yet
			}
		}
	}
	h.mu.Unlock()
	h.Wake()
}

// Wake makes the loops run now.
func (h *Hub) Wake() {
	select {
	case h.wake <- struct{}{}:
	default:
	}
}

// Woken is readable when the loops have work.
func (h *Hub) Woken() <-chan struct{} { return h.wake }

// Subscribe listens to a topic, "*" for all, until cancel is called.
func (h *Hub) Subscribe(topic string) (changes <-chan string, cancel func()) {
	c := make(chan string, 1)
	h.mu.Lock()
	h.subs[c] = topic
	h.mu.Unlock()
	return c, func() {
		h.mu.Lock()
		delete(h.subs, c)
		h.mu.Unlock()
	}
}

// ClusterHealth is what the last contact with the cluster said.
type ClusterHealth struct {
	OK    bool
	Since pool.Instant // wall time of the last change
	Err   string
	Info  ClusterInfo
}

// Cluster tells how the cluster is.
func (s *Service) ClusterHealth() ClusterHealth {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.health
}

// seenRun is what reconcile remembers of an allocation between two lists.
type seenRun struct {
	index uint64
	at    pool.Instant
}

const maxRunFloor = time.Minute // no attempt is admitted for less
