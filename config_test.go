package main

import (
	"strings"
	"testing"
)

// Not parallel: it sets the environment.
func TestAWrongVariableIsRefusedByItsName(t *testing.T) {
	for _, tt := range []struct{ name, value, says string }{
		{"GPUPOOL_LOG", "xml", `GPUPOOL_LOG: "xml" is neither text nor json`},
		{"GPUPOOL_ADDR", "nonsense", `GPUPOOL_ADDR: "nonsense" is no host:port`},
		{"GPUPOOL_ADDR", "localhost:99999", `GPUPOOL_ADDR: "localhost:99999" is no host:port`},
	} {
		t.Run(tt.name+"="+tt.value, func(t *testing.T) {
			t.Setenv(tt.name, tt.value)
			for who, read := range map[string]func() (config, error){"serve": readConfig, "demo": demoConfig} {
				if _, err := read(); err == nil || !strings.Contains(err.Error(), tt.says) {
					t.Errorf("%s: %v", who, err)
				}
			}
		})
	}
}

func TestShowConfigPrintsVariablesAndNoSecret(t *testing.T) {
	for _, name := range secrets {
		t.Setenv(name, "s3cret")
	}
	t.Setenv("GPUPOOL_REGISTRIES", "ghcr.io,quay.io")
	out, errs, code := typed(t, "serve", "--show-config")
	if code != 0 || errs != "" || strings.Contains(out, "s3cret") {
		t.Errorf("exit code %d: %s%s", code, out, errs)
	}
	for _, line := range []string{"GPUPOOL_ADDR=localhost:8080", "GPUPOOL_LOG=text", "GPUPOOL_REGISTRIES=ghcr.io,quay.io", "GPUPOOL_DATABASE_URL=(set)",
		"STRIPE_API_KEY=(set)", "NOMAD_TOKEN=(set)", "NOMAD_ADDR="} {
		if !strings.Contains("\n"+out, "\n"+line+"\n") {
			t.Errorf("no line %s in\n%s", line, out)
		}
	}
}
