package quota

import (
	"flag"
	"fmt"
	"os"
	"testing"
)

// TestMain fixes the seed of the random histories, so that a run says the same
// everywhere. GPUPOOL_TEST_SEED hunts with another one, GPUPOOL_TEST_HISTORIES
// with another number of histories.
func TestMain(m *testing.M) {
	flag.Parse()
	for _, f := range []struct{ flag, env, value string }{
		{"rapid.seed", "GPUPOOL_TEST_SEED", "20261201"},
		{"rapid.checks", "GPUPOOL_TEST_HISTORIES", "100"},
		{"rapid.nofailfile", "", "true"},
	} {
		given := false
		flag.Visit(func(x *flag.Flag) { given = given || x.Name == f.flag })
		if v := os.Getenv(f.env); v != "" {
			f.value = v
		}
		if given {
			continue
		}
		if err := flag.Set(f.flag, f.value); err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", f.env, err)
			os.Exit(2)
		}
	}
	os.Exit(m.Run())
}
