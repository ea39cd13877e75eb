package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"gpupool/billing"
	"gpupool/domain"
	"gpupool/domain/money"
	"gpupool/domain/pool"
	"gpupool/domain/store"
	"gpupool/nomad"
	"gpupool/nomad/embedded"
	"gpupool/web"
)

// version is set at release time by -ldflags.
var version = "dev"

// wall is the only place where the system clock is read.
func wall() time.Time { return time.Now() }

func wallInstant() pool.Instant { return pool.At(wall()) }

// portal is the program's parts, wired once by hand.
type portal struct {
	config  config
	log     *slog.Logger
	clock   *domain.BusinessClock
	store   *store.Store
	cluster *embedded.Cluster // nil with a real Nomad
	client  *nomad.Client
	service *domain.Service
	web     *web.Server
	pace    pace
	held    io.Closer // the data folder; nil for a command beside a portal
}

func newLog(c config, w io.Writer) *slog.Logger {
	if c.LogFormat == "json" {
		return slog.New(slog.NewJSONHandler(w, nil))
	}
	return slog.New(slog.NewTextHandler(w, nil))
}

// openStore opens the database and the business clock.
func (p *portal) openStore(ctx context.Context, relaxed bool) error {
	p.clock = &domain.BusinessClock{}
	c := store.Config{PostgresURL: p.config.DatabaseURL, Wall: wallInstant, Business: p.clock.Business, Relaxed: relaxed}
	if c.PostgresURL == "" {
		if err := writable(p.config.Data); err != nil {
			return err
		}
		c.SQLitePath = filepath.Join(p.config.Data, "gpupool.db")
	}
	var err error
	if p.store, err = store.Open(ctx, c); err != nil {
		return err
	}
	return p.clock.Load(ctx, p.store)
}

// hold takes the data folder for this process, so that no two portals share its
// SQLite files and nobody deletes them from under one.
func (p *portal) hold() (err error) {
	if err := writable(p.config.Data); err != nil {
		return err
	}
	p.held, err = embedded.Hold(filepath.Join(p.config.Data, "gpupool.lock"))
	if errors.Is(err, embedded.ErrHeld) {
		return fmt.Errorf("%s is in use by another gpupool process: stop that one, or choose another folder with GPUPOOL_DATA", p.config.Data)
	}
	return err
}

// writable makes the data folder and tries to write into it.
func writable(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("the data folder %s can't be made: %w", dir, err)
	}
	f, err := os.CreateTemp(dir, ".try-*")
	if err != nil {
		return fmt.Errorf("the data folder %s can't be written: %w", dir, err)
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// retain is how long the embedded cluster keeps what has ended (business
// time): longer than anybody looks at a log.
const retain = 14 * 24 * time.Hour

// openEmbedded starts the embedded cluster on a loopback port of its own.
func (p *portal) openEmbedded(nodes []embedded.NodeSpec) error {
	c, err := embedded.Open(embedded.Options{Path: filepath.Join(p.config.Data, "cluster.db"), Nodes: nodes, Retain: retain,
		Now: func() pool.Instant { return p.clock.Business(wallInstant()) }})
	if err != nil {
		return err
	}
	p.cluster = c
	addr, err := c.Serve("127.0.0.1:0")
	if err != nil {
		return err
	}
	p.client, err = nomad.New(nomad.Config{Addr: addr, Driver: "docker", Sim: true, PollEvery: 5 * time.Second})
	return err
}

// openNomad connects to a real cluster.
func (p *portal) openNomad() error {
	c := p.config
	var err error
	p.client, err = nomad.New(nomad.Config{Addr: c.NomadAddr, Token: c.NomadToken, NamespaceToken: c.NomadSpaces, Region: c.NomadRegion,
		Driver: c.NomadDriver, TestPool: c.TestPool, Prefix: c.NomadPrefix, Registries: c.Registries,
		CACert: c.NomadCA, ClientCert: c.NomadCert, ClientKey: c.NomadKey, TLSServerName: c.NomadName})
	return err
}

// openService wires the core.
func (p *portal) openService(currency money.Currency) error {
	issuers := map[string]domain.Issuer{"local": billing.NewLocal()}
	if p.config.StripeKey != "" {
		s, err := billing.NewStripe(billing.StripeConfig{Key: p.config.StripeKey, URL: p.config.StripeURL, Currency: currency})
		if err != nil {
			return err
		}
		issuers["stripe"] = s
	}
	host, _ := os.Hostname()
	holder := fmt.Sprintf("%s-%d", host, os.Getpid())
	if p.cluster != nil && p.config.DatabaseURL == "" {
		// Its file is held by one process at a time, so whoever had the lease
		// before is gone, however it ended.
		holder = "embedded"
	}
	var cluster domain.Cluster // nil for commands that work on the store alone
	if p.client != nil {
		cluster = p.client
	}
	p.service = domain.New(domain.Config{Store: p.store, Cluster: cluster, Issuers: issuers, Passwords: web.Argon2id{}, Log: p.log,
		Clock: p.clock, Holder: holder})
	return nil
}

func (p *portal) openWeb(demo *web.DemoOptions) error {
	var err error
	p.web, err = web.New(web.Options{Service: p.service, Store: p.store, Log: p.log, Wall: wall, Demo: demo, PublicURL: p.config.PublicURL,
		TrustProxy: p.config.TrustProxy, Version: version, MetricsToken: p.config.MetricsKey})
	return err
}

// listen takes the address before anything is changed, so that a taken port is
// one clear line.
func listen(addr string) (net.Listener, error) {
	l, err := net.Listen("tcp", addr)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("%s is taken by another program: stop it, or choose another address with GPUPOOL_ADDR (127.0.0.1:0 takes a free port)", addr)
	}
	if err != nil {
		return nil, fmt.Errorf("can't listen on %s: %w", addr, err)
	}
	return l, nil
}

// serve runs loops and web until ctx ends, then closes both.
func (p *portal) serve(ctx context.Context, l net.Listener) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	loops := make(chan struct{})
	go func() {
		defer close(loops)
		runLoops(ctx, p.service, p.pace, p.clock, p.store, p.log)
	}()
	srv := &http.Server{Handler: p.web, ReadHeaderTimeout: 10 * time.Second, BaseContext: func(net.Listener) context.Context { return ctx }}
	srv.RegisterOnShutdown(p.web.Close)
	failed := make(chan error, 1)
	go func() { failed <- srv.Serve(l) }()
	var err error
	select {
	case <-ctx.Done():
		down, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		err = srv.Shutdown(down)
	case err = <-failed:
	}
	stop()
	<-loops
	return err
}

func (p *portal) close() {
	if p.client != nil {
		p.client.Close()
	}
	if p.cluster != nil {
		if err := p.cluster.Close(); err != nil {
			p.log.Error("closing the embedded cluster", "error", err)
		}
	}
	if p.store != nil {
		if err := p.store.Close(); err != nil {
			p.log.Error("closing the store", "error", err)
		}
	}
	if p.held != nil {
		if err := p.held.Close(); err != nil {
			p.log.Error("giving back the data folder", "error", err)
		}
	}
}
