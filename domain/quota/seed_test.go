package quota

import (
	"flag"
	"fmt"
	"os"
	"strconv"
	"testing"
)

// TestMain fixes the seed of the random histories, so that a run says the same
// everywhere. GPUPOOL_TEST_SEED hunts with another one. GPUPOOL_TEST_HISTORIES
// is the number of histories of TestDecisionsKeepTheLaws; the other properties
// are tried a hundred times, or by -rapid.checks.
func TestMain(m *testing.M) {
	flag.Parse()
	for _, f := range []struct{ flag, env, value string }{
		{"rapid.seed", "GPUPOOL_TEST_SEED", "20261201"},
		{"rapid.checks", "", "100"},
		{"rapid.nofailfile", "", "true"},
	} {
		given := false
		flag.Visit(func(x *flag.Flag) { given = given || x.Name == f.flag })
		if v := os.Getenv(f.env); f.env != "" && v != "" {
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
	if v := os.Getenv("GPUPOOL_TEST_HISTORIES"); v != "" {
		n, err := strconv.Atoi(v)
		if err != nil || n < 1 {
			fmt.Fprintf(os.Stderr, "GPUPOOL_TEST_HISTORIES is %q, want a number from 1\n", v)
			os.Exit(2)
		}
		histories = n
	}
	os.Exit(m.Run())
}

// histories is how many of them test the laws.
var histories = 2000

// each is how many histories one check of a kind plays, so that all checks
// together play at least that many.
func each() int {
	checks, _ := strconv.Atoi(flag.Lookup("rapid.checks").Value.String())
	return max(1, (histories+len(kinds)*checks-1)/(len(kinds)*max(1, checks)))
}
