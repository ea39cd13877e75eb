package quota

import (
	"flag"
	"fmt"
	"os"
	"strconv"
	"testing"
)

// TestMain fixes the seed of the random histories, so that a run says the same
// everywhere. GPUPOOL_TEST_SEED hunts with another one, GPUPOOL_TEST_HISTORIES
// with another number of histories of TestDecisionsKeepTheLaws.
func TestMain(m *testing.M) {
	flag.Parse()
	for _, f := range []struct{ flag, env, value string }{
		{"rapid.seed", "GPUPOOL_TEST_SEED", "20261201"},
		{"rapid.checks", "GPUPOOL_TEST_HISTORIES", "2000"},
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
		if f.flag == "rapid.checks" {
			n, err := strconv.Atoi(f.value)
			if err != nil || n < 1 {
				fmt.Fprintf(os.Stderr, "%s is %q, want a number of histories from 1\n", f.env, f.value)
				os.Exit(2)
			}
			f.value = strconv.Itoa((n + len(kinds) - 1) / len(kinds))
		}
		if err := flag.Set(f.flag, f.value); err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", f.env, err)
			os.Exit(2)
		}
	}
	os.Exit(m.Run())
}
