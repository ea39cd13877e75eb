package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"gpupool/domain"
	"gpupool/domain/pool"
)

// Config says where the data is and what time it is. Exactly one of SQLitePath
// and PostgresURL is set.
type Config struct {
	SQLitePath  string // a file; its folder exists
	PostgresURL string // postgres://user@host/database?…
	// Wall is the system's time, Business the pool's time at a wall instant;
	// without Business both are the same.
	Wall     func() pool.Instant
	Business func(wall pool.Instant) pool.Instant
	// Relaxed lets SQLite commit without waiting for the disk: a killed process
	// loses nothing, a power cut may lose the last commits. For demos and tests.
	Relaxed bool
}

// Store is one open database. It is safe for concurrent use.
type Store struct {
	read, write *sql.DB // the same pool on PostgreSQL
	base        *gorm.DB
	wall        func() pool.Instant
	business    func(pool.Instant) pool.Instant
	postgres    bool
	memo        memo
}

var _ domain.Store = (*Store)(nil)

// Open connects, brings the schema up to date and returns the store. A schema
// that is newer than this program is refused in one sentence.
func Open(ctx context.Context, c Config) (*Store, error) {
	if (c.SQLitePath == "") == (c.PostgresURL == "") {
		return nil, errors.New("store: set either a SQLite file or a PostgreSQL address")
	}
	if c.Wall == nil {
		return nil, errors.New("store: a wall clock is needed")
	}
	if c.Business == nil {
		c.Business = func(wall pool.Instant) pool.Instant { return wall }
	}
	s := &Store{wall: c.Wall, business: c.Business, postgres: c.PostgresURL != ""}
	open := s.openSQLite
	if s.postgres {
		open = s.openPostgres
	}
	if err := open(ctx, c); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// gorm only builds statements here: connections and transactions are ours.
func (s *Store) build(d gorm.Dialector) (err error) {
	s.base, err = gorm.Open(d, &gorm.Config{
		SkipDefaultTransaction:   true,
		DisableNestedTransaction: true,
		DisableAutomaticPing:     true,
		TranslateError:           true,
		Logger:                   logger.Discard,
		NowFunc:                  func() time.Time { return s.wall().Time() },
	})
	return err
}

// Close ends every connection.
func (s *Store) Close() error {
	var errs []error
	if s.read != nil {
		errs = append(errs, s.read.Close())
	}
	if s.write != nil && s.write != s.read {
		errs = append(errs, s.write.Close())
	}
	return errors.Join(errs...)
}

// Ping tells whether the database answers.
func (s *Store) Ping(ctx context.Context) error {
	return errors.Join(s.read.PingContext(ctx), s.write.PingContext(ctx))
}

// Engine is "sqlite" or "postgres".
func (s *Store) Engine() string {
	if s.postgres {
		return "postgres"
	}
	return "sqlite"
}

// View runs fn on one consistent state. A change inside it is an error.
func (s *Store) View(ctx context.Context, fn func(tx domain.Tx) error) error {
	var opts *sql.TxOptions
	if s.postgres {
		opts = &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true}
	}
	_, err := s.once(ctx, s.read, opts, false, fn)
	return err
}

// tries bounds how often Update runs fn before it gives up as Unavailable.
const tries = 30

// Update runs fn and commits all it did or nothing. On PostgreSQL it is
// SERIALIZABLE and runs fn again when another transaction was in the way.
func (s *Store) Update(ctx context.Context, fn func(tx domain.Tx) error) error {
	var opts *sql.TxOptions
	if s.postgres {
		opts = &sql.TxOptions{Isolation: sql.LevelSerializable}
	}
	for n := 1; ; n++ {
		again, err := s.once(ctx, s.write, opts, true, fn)
		if !again {
			return err
		}
		if n == tries {
			e := domain.Errf(domain.Unavailable, "The pool is very busy. Please try again.")
			e.Err = err
			return e
		}
		pause := time.Duration(rand.Int64N(int64(min(n, 10)) * int64(4*time.Millisecond)))
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
		}
	}
}

// once runs fn in one transaction; again says that the database asked to
// repeat it. The clocks are read once the transaction is open, so that on
// SQLite, where writers queue, the order of times is the order of commits.
func (s *Store) once(ctx context.Context, db *sql.DB, opts *sql.TxOptions, writes bool, fn func(tx domain.Tx) error) (again bool, err error) {
	sqlTx, err := db.BeginTx(ctx, opts)
	if err != nil {
		return retryable(err), fail(err)
	}
	defer sqlTx.Rollback() // after a commit it does nothing
	c := &conn{tx: sqlTx, count: counterOf(ctx)}
	g := s.base.Session(&gorm.Session{NewDB: true, Context: ctx})
	g.Statement.ConnPool = c
	t := &tx{db: g, conn: c, wall: s.wall(), writes: writes, memo: &s.memo}
	t.now = s.business(t.wall)
	err = fn(t)
	if err == nil {
		err = t.commitTerms()
	}
	if err != nil {
		return c.retry || retryable(err), err
	}
	if c.failed != nil { // fn swallowed it; PostgreSQL would turn COMMIT into ROLLBACK
		return c.retry, fmt.Errorf("store: a failed statement was ignored: %w", c.failed)
	}
	if err := sqlTx.Commit(); err != nil {
		return retryable(err), fail(err)
	}
	return false, nil
}
