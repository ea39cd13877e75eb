package main

import (
	"os"
	"os/exec"
	"testing"

	"gpupool/domain/store/storetest"
)

// What a machine lacks leaves tests out; this one names them under -v. In CI
// nothing may be left out but what needs hardware or a cluster of one's own.
func TestWhatThisMachineLeavesOut(t *testing.T) {
	t.Parallel()
	out := func(what, why string, required bool) {
		t.Logf("left out: %s: %s", what, why)
		if required && os.Getenv("CI") == "true" {
			t.Errorf("CI leaves nothing out, but %s: %s", what, why)
		}
	}
	if why := storetest.WithoutPostgres(); why != "" {
		out("every test on PostgreSQL", why, true)
	}
	if _, err := exec.LookPath("chromium"); err != nil {
		out("the tests in a real browser", "there is no chromium", true)
	}
	if path := os.Getenv("GPUPOOL_TEST_AXE"); path == "" {
		out("the accessibility test", "GPUPOOL_TEST_AXE names no axe.min.js", true)
	}
	if _, err := exec.LookPath("stripe-mock"); err != nil {
		out("the contract test with Stripe's mock", "there is no stripe-mock", true)
	}
	if addr := os.Getenv("GPUPOOL_TEST_NOMAD_ADDR"); addr == "" {
		out("the contract suite on a real Nomad agent", "GPUPOOL_TEST_NOMAD_ADDR is not set", false)
	}
	if _, err := os.Stat("/dev/nvidiactl"); err != nil {
		out("reading a real GPU", "there is no NVIDIA driver", false)
	}
}
