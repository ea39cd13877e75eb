// Package migrations carries the schema: numbered SQL files, a folder per
// engine with one meaning. A released file never changes.
package migrations

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"io/fs"

	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"
)

//go:embed sqlite/*.sql postgres/*.sql
var files embed.FS

// Engine is a database that the schema is written for.
type Engine string

const (
	SQLite   Engine = "sqlite"
	Postgres Engine = "postgres"
)

// NewerError says that the database was migrated by a newer program.
type NewerError struct{ Database, Program int64 }

func (e *NewerError) Error() string {
	return fmt.Sprintf("the database has schema %d and this program knows only %d: start a newer version of the program", e.Database, e.Program)
}

// Up brings the schema to the version this program knows. Portals that start
// together on one PostgreSQL wait for each other. A newer schema is a *NewerError.
func Up(ctx context.Context, db *sql.DB, e Engine) error {
	p, err := provider(db, e)
	if err != nil {
		return fmt.Errorf("migrations: %w", err)
	}
	// Versions first: asking for them creates goose's own table where there is none.
	have, want, err := p.GetVersions(ctx)
	if err != nil {
		return fmt.Errorf("migrations: %w", err)
	}
	if have > want {
		return &NewerError{have, want}
	}
	if have == want {
		return nil
	}
	if _, err := p.Up(ctx); err != nil {
		return fmt.Errorf("migrations: %w", err)
	}
	return nil
}

func provider(db *sql.DB, e Engine) (*goose.Provider, error) {
	folder, err := fs.Sub(files, string(e))
	if err != nil {
		return nil, err
	}
	opts := []goose.ProviderOption{goose.WithDisableGlobalRegistry(true)}
	dialect := goose.DialectSQLite3
	if e == Postgres {
		dialect = goose.DialectPostgres
		l, err := lock.NewPostgresSessionLocker()
		if err != nil {
			return nil, err
		}
		opts = append(opts, goose.WithSessionLocker(l))
	}
	return goose.NewProvider(dialect, db, folder, opts...)
}
