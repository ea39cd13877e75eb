package main

import (
	"fmt"
	"net"
	"os"
	"reflect"
	"slices"
	"strings"

	"github.com/caarlos0/env/v11"
)

// config is read from the environment. A variable NAME can be given as
// NAME_FILE instead: the path of a file that holds it.
type config struct {
	Addr        string   `env:"GPUPOOL_ADDR" envDefault:"localhost:8080"`
	Data        string   `env:"GPUPOOL_DATA" envDefault:"./data"`
	DatabaseURL string   `env:"GPUPOOL_DATABASE_URL"`
	PublicURL   string   `env:"GPUPOOL_URL"` // as people reach it, for links in invitations
	LogFormat   string   `env:"GPUPOOL_LOG" envDefault:"text"`
	TestPool    bool     `env:"GPUPOOL_TEST_POOL"`
	TrustProxy  bool     `env:"GPUPOOL_TRUST_PROXY"` // take the client's address from X-Forwarded-For
	MetricsKey  string   `env:"GPUPOOL_METRICS_TOKEN"`
	NomadAddr   string   `env:"NOMAD_ADDR"`
	NomadToken  string   `env:"NOMAD_TOKEN"`
	NomadRegion string   `env:"NOMAD_REGION"`
	NomadCA     string   `env:"NOMAD_CACERT"`
	NomadCert   string   `env:"NOMAD_CLIENT_CERT"`
	NomadKey    string   `env:"NOMAD_CLIENT_KEY"`
	NomadName   string   `env:"NOMAD_TLS_SERVER_NAME"`
	NomadSpaces string   `env:"GPUPOOL_NOMAD_NAMESPACE_TOKEN"`
	NomadDriver string   `env:"GPUPOOL_NOMAD_DRIVER" envDefault:"docker"`
	NomadPrefix string   `env:"GPUPOOL_NOMAD_PREFIX" envDefault:"gpupool"`
	Registries  []string `env:"GPUPOOL_REGISTRIES"`
	StripeKey   string   `env:"STRIPE_API_KEY"`
	StripeURL   string   `env:"GPUPOOL_STRIPE_URL"` // only for tests against a mock
}

var secrets = []string{"GPUPOOL_DATABASE_URL", "NOMAD_TOKEN", "GPUPOOL_NOMAD_NAMESPACE_TOKEN", "STRIPE_API_KEY", "GPUPOOL_METRICS_TOKEN"}

// readConfig reads the variables of serve.
func readConfig() (config, error) {
	vars := map[string]string{}
	for _, kv := range os.Environ() {
		k, v, _ := strings.Cut(kv, "=")
		vars[k] = v
	}
	for _, name := range secrets {
		path := vars[name+"_FILE"]
		if path == "" || vars[name] != "" {
			continue
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return config{}, fmt.Errorf("%s_FILE: %w", name, err)
		}
		vars[name] = strings.TrimSpace(string(b))
	}
	c, err := env.ParseAsWithOptions[config](env.Options{Environment: vars})
	if err != nil {
		return c, fmt.Errorf("configuration: %w", err)
	}
	return c, c.check()
}

// demoConfig reads only what the demo may look at: where to listen and where
// to keep its data. Ambient services are never touched.
func demoConfig() (config, error) {
	if os.Getenv("GPUPOOL_DATABASE_URL") != "" {
		return config{}, fmt.Errorf("GPUPOOL_DATABASE_URL is set: the demo keeps its data in its own folder and touches no database. Start `gpupool serve`, or unset it")
	}
	vars := map[string]string{}
	for _, name := range []string{"GPUPOOL_ADDR", "GPUPOOL_DATA", "GPUPOOL_LOG"} {
		if v := os.Getenv(name); v != "" {
			vars[name] = v
		}
	}
	c, err := env.ParseAsWithOptions[config](env.Options{Environment: vars})
	if err != nil {
		return c, fmt.Errorf("configuration: %w", err)
	}
	return c, c.check()
}

// check refuses values that a program would misunderstand later, by variable.
func (c config) check() error {
	if c.LogFormat != "text" && c.LogFormat != "json" {
		return fmt.Errorf("GPUPOOL_LOG: %q is neither text nor json", c.LogFormat)
	}
	_, port, err := net.SplitHostPort(c.Addr)
	if err == nil {
		_, err = net.LookupPort("tcp", port)
	}
	if err != nil {
		return fmt.Errorf("GPUPOOL_ADDR: %q is no host:port such as localhost:8080 or :8080", c.Addr)
	}
	return nil
}

// String is the effective configuration, one NAME=value on a line, secrets
// hidden. However a configuration is printed, it is printed so.
func (c config) String() string {
	var b strings.Builder
	v := reflect.ValueOf(c)
	for i := range v.NumField() {
		name, value := v.Type().Field(i).Tag.Get("env"), ""
		switch x := v.Field(i).Interface().(type) {
		case []string:
			value = strings.Join(x, ",")
		default:
			value = fmt.Sprint(x)
		}
		if value != "" && slices.Contains(secrets, name) {
			value = "(set)"
		}
		fmt.Fprintf(&b, "%s=%s\n", name, value)
	}
	return b.String()
}
