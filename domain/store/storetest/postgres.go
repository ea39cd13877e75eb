package storetest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"sync"
	"sync/atomic"
	"testing"

	"gpupool/domain/pool"
	"gpupool/domain/store"
)

// DatabaseEnv names a PostgreSQL server on which tests may create and drop
// databases. Without it a cluster of our own is started where the machine has
// the programs.
const DatabaseEnv = "GPUPOOL_TEST_DATABASE_URL"

// errNoServer says that this machine has no PostgreSQL, which is no fault of
// the code under test.
var errNoServer = errors.New("no PostgreSQL")

// Postgres is a migrated database of this test's own. Without a server the
// test is skipped, and fails where CI is set.
func Postgres(t testing.TB) store.Config {
	t.Helper()
	sv, err := postgresServer()
	switch {
	case errors.Is(err, errNoServer) && os.Getenv("CI") == "":
		t.Skipf("left out: %v", err)
	case err != nil:
		t.Fatalf("PostgreSQL: %v", err)
	}
	name := fmt.Sprintf("%s_%d", sv.empty, sv.made.Add(1))
	sv.mu.Lock() // a template can be copied by one session at a time
	_, err = sv.db.Exec(fmt.Sprintf("CREATE DATABASE %s TEMPLATE %s%s", name, sv.empty, sv.strategy))
	sv.mu.Unlock()
	if err != nil {
		t.Fatal(err)
	}
	if sv.ours { // goes away as a whole
		return store.Config{PostgresURL: sv.url(name)}
	}
	t.Cleanup(func() {
		if _, err := sv.db.Exec("DROP DATABASE " + name + " WITH (FORCE)"); err != nil {
			t.Error(err)
		}
	})
	return store.Config{PostgresURL: sv.url(name)}
}

// WithoutPostgres says why this machine can't run tests on PostgreSQL; empty:
// it can.
func WithoutPostgres() string {
	if _, err := postgresServer(); err != nil {
		return err.Error()
	}
	return ""
}

// server is one PostgreSQL with an empty migrated database to copy.
type server struct {
	db    *sql.DB
	base  *url.URL
	empty string // name of the template database
	ours  bool   // a cluster that ends with the test binary
	// strategy copies files instead of logging pages: a third of the work. Before
	// version 15 that was the only way and had no name.
	strategy string
	made     atomic.Int64
	mu       sync.Mutex
}

func (s *server) url(database string) string {
	u := *s.base
	u.Path = "/" + database
	return u.String()
}

// postgresServer is found or started once per test binary.
var postgresServer = sync.OnceValues(func() (*server, error) {
	address := os.Getenv(DatabaseEnv)
	if address == "" {
		var err error
		if address, err = startCluster(); err != nil {
			return nil, err
		}
	}
	base, err := url.Parse(address)
	if err != nil {
		return nil, fmt.Errorf("%s is no address", DatabaseEnv)
	}
	db, err := sql.Open("pgx", address)
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(4)
	s := &server{db: db, base: base, empty: fmt.Sprintf("gpupool_test_%d", os.Getpid()), ours: os.Getenv(DatabaseEnv) == ""}
	ctx := context.Background()
	var version int
	if err := db.QueryRowContext(ctx, "SELECT current_setting('server_version_num')::int").Scan(&version); err != nil {
		return nil, err
	}
	if version >= 15_00_00 {
		s.strategy = " STRATEGY FILE_COPY"
	}
	for _, q := range []string{
		"DROP DATABASE IF EXISTS " + s.empty + " WITH (FORCE)",
		"CREATE DATABASE " + s.empty + " TEMPLATE template0 ENCODING 'UTF8'",
	} {
		if _, err := db.ExecContext(ctx, q); err != nil {
			return nil, err
		}
	}
	st, err := store.Open(ctx, store.Config{PostgresURL: s.url(s.empty), Wall: func() pool.Instant { return Start }})
	if err != nil {
		return nil, err
	}
	return s, st.Close()
})
