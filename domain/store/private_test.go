package store_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"gpupool/domain/pool"
	"gpupool/domain/store"
)

func TestTheDatabasesFilesAreTheirOwnersOnly(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, err := store.Open(context.Background(), store.Config{SQLitePath: filepath.Join(dir, "gpupool.db"), Wall: func() pool.Instant { return 1 }})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 3 {
		t.Fatalf("%d files, want the database, its WAL and shared memory: %v", len(entries), err)
	}
	for _, e := range entries {
		if i, err := e.Info(); err != nil || i.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v %v", e.Name(), i.Mode(), err)
		}
	}
}
