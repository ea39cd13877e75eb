// Package storetest gives tests a fresh migrated database on both engines.
package storetest

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"gpupool/domain/pool"
	"gpupool/domain/store"
)

// Start is the instant at which the clocks of a test's store stand:
// 2026-11-02T09:00:00Z, a Monday.
const Start pool.Instant = 1_793_610_000_000

// Each runs fn as a subtest on SQLite and on PostgreSQL, each time with an
// empty store of its own. Both run in parallel with other tests.
func Each(t *testing.T, fn func(t *testing.T, s *store.Store)) {
	t.Helper()
	EachWith(t, nil, fn)
}

// EachWith is Each with a chance to set the clocks before the store opens. It
// runs once per engine.
func EachWith(t *testing.T, set func(c *store.Config), fn func(t *testing.T, s *store.Store)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		fn(t, Open(t, set, SQLite(t)))
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		fn(t, Open(t, set, Postgres(t)))
	})
}

// Open opens a store on the database that c names and closes it with the test.
func Open(t testing.TB, set func(c *store.Config), c store.Config) *store.Store {
	t.Helper()
	c.Relaxed = true
	c.Wall = func() pool.Instant { return Start }
	if set != nil {
		set(&c)
	}
	s, err := store.Open(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// SQLite is a migrated database of this test's own.
func SQLite(t testing.TB) store.Config {
	t.Helper()
	empty, err := emptySQLite()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "pool.db")
	if err := os.WriteFile(path, empty, 0o600); err != nil {
		t.Fatal(err)
	}
	return store.Config{SQLitePath: path}
}

// emptySQLite migrates once per test binary; every test gets a copy.
var emptySQLite = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "gpupool-sqlite-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "empty.db")
	s, err := store.Open(context.Background(), store.Config{SQLitePath: path, Relaxed: true, Wall: func() pool.Instant { return Start }})
	if err != nil {
		return nil, err
	}
	if err := s.Close(); err != nil { // folds the write-ahead log into the file
		return nil, err
	}
	return os.ReadFile(path)
})

// Counting and Count are those of package store, for tests that may not import it.
func Counting(ctx context.Context) context.Context { return store.Counting(ctx) }
func Count(ctx context.Context) int64              { return store.Count(ctx) }
