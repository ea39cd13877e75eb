package embedded_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"gpupool/domain/pool"
	"gpupool/nomad/embedded"
)

func TestAFileIsHeldByOneAndFreeWhenGivenBack(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "lock")
	for range 2 {
		first, err := embedded.Hold(path)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := embedded.Hold(path); !errors.Is(err, embedded.ErrHeld) {
			t.Errorf("held by two: %v", err)
		}
		if err := first.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := embedded.Hold(filepath.Join(path, "below")); err == nil || errors.Is(err, embedded.ErrHeld) {
		t.Errorf("a folder that is none: %v", err)
	}
}

func TestTheClustersFilesAreTheirOwnersOnly(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c, err := embedded.Open(embedded.Options{Path: filepath.Join(dir, "cluster.db"), Now: func() pool.Instant { return 1 }})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) < 2 {
		t.Fatalf("%d files, want the journal and its WAL: %v", len(entries), err)
	}
	for _, e := range entries {
		if i, err := e.Info(); err != nil || i.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v %v", e.Name(), i.Mode(), err)
		}
	}
}
