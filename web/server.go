package web

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/alexedwards/scs/v2"
	"github.com/labstack/echo/v4"

	"gpupool/domain"
	"gpupool/domain/pool"
	"gpupool/static"
)

// Options is what a Server is made of.
type Options struct {
	Service *domain.Service
	Store   domain.Store
	Log     *slog.Logger
	Wall    func() time.Time // the wall clock: sessions, durations of requests
	Demo    *DemoOptions     // nil: a real pool
	// PublicURL is the address under which people reach the portal, for links in invitations and the Secure flag of
	// cookies, e.g. https://pool.example.org. Empty: the address of the request, plain http.
	PublicURL    string
	TrustProxy   bool // X-Forwarded-For of loopback and private addresses tells who asks
	Version      string
	Font         string // file of the TrueType font of PDF documents; empty: the first of well-known ones that has the letters
	MetricsToken string // bearer token of /metrics; empty: only Server.Metrics on a listener of its own
}

// DemoOptions makes a demo: a clock to turn and people to sign in as with one click.
type DemoOptions struct {
	Sentence string // what is simulated; an English sentence, the key of its translation
	People   []DemoPerson
}

// DemoPerson is somebody that a visitor on this machine may sign in as.
type DemoPerson struct {
	Email string
	Name  string
	Role  string // an English word
}

// Server is the portal as an http.Handler.
type Server struct {
	service  *domain.Service
	store    domain.Store
	log      *slog.Logger
	wall     func() time.Time
	demo     *DemoOptions
	opts     Options
	echo     *echo.Echo
	sessions *scs.SessionManager
	routes   map[string]route // by method and path
	meters   *meters
	once     *secrets
	limits   *limits
	handler  http.Handler
	closing  chan struct{}
	close    sync.Once
}

// New makes the portal.
func New(o Options) (*Server, error) {
	if o.Service == nil || o.Store == nil || o.Wall == nil {
		return nil, errors.New("web: service, store and wall clock are needed")
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	o.PublicURL = strings.TrimSuffix(o.PublicURL, "/")
	s := &Server{service: o.Service, store: o.Store, log: o.Log, wall: o.Wall, demo: o.Demo, opts: o, echo: echo.New(),
		routes: map[string]route{}, once: newSecrets(o.Wall), limits: newLimits(o.Wall), closing: make(chan struct{})}
	s.sessions = newSessions(o.Store, strings.HasPrefix(o.PublicURL, "https://"), s.log)
	s.meters = newMeters(o.Service, o.Store)
	s.echo.HTTPErrorHandler = s.fail
	s.echo.IPExtractor = echo.ExtractIPDirect()
	if o.TrustProxy {
		s.echo.IPExtractor = echo.ExtractIPFromXFFHeader()
	}
	for _, r := range s.table() {
		s.routes[r.method+" "+r.path] = r
		s.echo.Add(r.method, r.path, s.adapt(r))
		if r.method == http.MethodGet && r.stream == "" {
			s.echo.Add(http.MethodHead, r.path, s.adapt(r))
		}
	}
	pages, err := s.protect(s.echo)
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.Handle(static.Prefix, static.Handler())
	mux.Handle("/api/", s.api())
	mux.Handle("/", s.sessions.LoadAndSave(pages))
	s.handler = s.observe(secure(mux))
	return s, nil
}

func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.handler.ServeHTTP(w, r) }

// Close ends the open streams, so that http.Server.Shutdown need not wait for them. Register it with
// http.Server.RegisterOnShutdown.
func (s *Server) Close() { s.close.Do(func() { close(s.closing) }) }

// now is the wall clock as the store keeps it.
func (s *Server) now() pool.Instant { return pool.At(s.wall()) }

// base is the address of the portal for links that leave it.
func (s *Server) base(r *http.Request) string {
	if s.opts.PublicURL != "" {
		return s.opts.PublicURL
	}
	return "http://" + r.Host
}

// loopback tells whether the request came from this machine to this machine. The host is compared too: a foreign
// name that resolves to a loopback address must not open what only stands open here.
func loopback(r *http.Request) bool {
	return isLoopback(r.RemoteAddr) && isLoopback(r.Host)
}

func isLoopback(address string) bool {
	host := address
	if h, _, err := net.SplitHostPort(address); err == nil {
		host = h
	}
	host = strings.Trim(host, "[]")
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// ready asks the store for one row.
func (s *Server) ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	return s.store.View(ctx, func(tx domain.Tx) error { _, err := tx.Version(); return err })
}
