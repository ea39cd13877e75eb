package nomad

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/nomad/api"

	"gpupool/domain"
)

// Config says where the cluster is and how attempts are rendered. Nothing is
// read from the environment.
type Config struct {
	Addr   string // http://host:4646 or https://…
	Token  string // ACL secret; empty only where ACL is off
	Region string // empty: the agent's own

	// NamespaceToken makes namespaces, which needs more rights than anything
	// else here. Empty: Token.
	NamespaceToken string

	// Driver runs the tasks: docker, podman or exec; raw_exec and mock_driver
	// only with TestPool.
	Driver   string
	TestPool bool

	// Sim passes domain.Sim on as job meta. Set for the embedded cluster only.
	Sim bool

	// Prefix names this pool on the cluster: namespaces are prefix-org. Default
	// gpupool. Two pools on one cluster need two prefixes.
	Prefix string

	// Registries that images may come from, e.g. ghcr.io/acme; empty: any.
	Registries []string

	// GangNetwork is the network mode of jobs on several nodes: bridge or host.
	// Default bridge for docker and podman, host for the others.
	GangNetwork string

	KillTimeout time.Duration // between the signal and the end of a stopped task; default 30 s
	LostAfter   time.Duration // a silent node's runs count as lost after this; default 10 min

	Timeout   time.Duration // of one call that isn't a stream; default 15 s
	PollEvery time.Duration // Watch calls changed at least this often; default 1 min

	// TLS: files in PEM. Ignored when HTTPClient is set.
	CACert, ClientCert, ClientKey, TLSServerName string

	// HTTPClient replaces the whole transport; it must have no overall timeout,
	// because streams last.
	HTTPClient *http.Client
}

var prefixPattern = regexp.MustCompile(`^[a-z][a-z0-9-]{0,30}$`)

func (c Config) filled() Config {
	if c.Prefix == "" {
		c.Prefix = "gpupool"
	}
	if c.GangNetwork == "" {
		c.GangNetwork = "host"
		if c.Driver == "docker" || c.Driver == "podman" {
			c.GangNetwork = "bridge"
		}
	}
	set := func(d *time.Duration, to time.Duration) {
		if *d == 0 {
			*d = to
		}
	}
	set(&c.KillTimeout, 30*time.Second)
	set(&c.LostAfter, 10*time.Minute)
	set(&c.Timeout, 15*time.Second)
	set(&c.PollEvery, time.Minute)
	return c
}

func (c Config) check() error {
	u, err := url.Parse(c.Addr)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return domain.Errf(domain.Invalid, "The cluster's address must look like http://host:4646 or https://host:4646.")
	case u.User != nil:
		// It would stand in every error that names the address.
		return domain.Errf(domain.Invalid, "The cluster's address must not contain a user name or password.")
	case !prefixPattern.MatchString(c.Prefix):
		return domain.Errf(domain.Invalid, "The cluster prefix must be at most 31 small letters, digits and hyphens, beginning with a letter.")
	}
	switch {
	case slices.Contains([]string{"docker", "podman", "exec"}, c.Driver):
	case c.TestPool && slices.Contains([]string{"raw_exec", "mock_driver"}, c.Driver):
	case slices.Contains([]string{"raw_exec", "mock_driver"}, c.Driver):
		return domain.Errf(domain.Invalid, "The driver %s runs without any isolation and is for test pools only.", c.Driver)
	default:
		return domain.Errf(domain.Invalid, "The driver must be docker, podman or exec.")
	}
	if c.GangNetwork != "bridge" && c.GangNetwork != "host" {
		return domain.Errf(domain.Invalid, "The network of jobs on several nodes must be bridge or host.")
	}
	return nil
}

// transport has no overall timeout, because streams last; every other call
// carries a deadline in its context. No proxy is taken from the environment.
func (c Config) transport() (*http.Client, error) {
	t := &http.Transport{
		DialContext:         (&net.Dialer{Timeout: 5 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
		TLSHandshakeTimeout: 10 * time.Second,
		MaxIdleConnsPerHost: 8,
		IdleConnTimeout:     90 * time.Second,
		TLSClientConfig:     &tls.Config{MinVersion: tls.VersionTLS12, ServerName: c.TLSServerName},
	}
	if c.CACert != "" {
		pem, err := os.ReadFile(c.CACert)
		if err != nil {
			return nil, wrap(domain.Invalid, err, "The certificate authority file of the cluster can't be read.")
		}
		pool := x509.NewCertPool()
		if !pool.AppendCertsFromPEM(pem) {
			return nil, domain.Errf(domain.Invalid, "The certificate authority file of the cluster holds no certificate.")
		}
		t.TLSClientConfig.RootCAs = pool
	}
	if c.ClientCert != "" || c.ClientKey != "" {
		pair, err := tls.LoadX509KeyPair(c.ClientCert, c.ClientKey)
		if err != nil {
			return nil, wrap(domain.Invalid, err, "The client certificate of the cluster can't be loaded.")
		}
		t.TLSClientConfig.Certificates = []tls.Certificate{pair}
	}
	return &http.Client{Transport: t}, nil
}

// Client is a domain.Cluster on a Nomad agent. It is safe for concurrent use.
type Client struct {
	cfg Config
	api *api.Client

	denied  atomic.Bool // the event stream refuses our token
	version atomic.Value

	mu    sync.Mutex
	nodes map[string]nodeDetail // by node id, valid for one modify index
}

var _ domain.Cluster = (*Client)(nil)

// New checks the configuration and makes a client; it does not call the
// cluster (Ping does). Errors are *domain.Error with code Invalid.
func New(cfg Config) (*Client, error) {
	cfg = cfg.filled()
	if err := cfg.check(); err != nil {
		return nil, err
	}
	hc := cfg.HTTPClient
	if hc == nil {
		var err error
		if hc, err = cfg.transport(); err != nil {
			return nil, err
		}
	}
	a, err := api.NewClient(&api.Config{Address: cfg.Addr, Region: cfg.Region, SecretID: cfg.Token, HttpClient: hc})
	if err != nil {
		return nil, wrap(domain.Invalid, err, "The cluster's address can't be used.")
	}
	return &Client{cfg: cfg, api: a, nodes: map[string]nodeDetail{}}, nil
}

// Close drops idle connections.
func (c *Client) Close() { c.api.Close() }
