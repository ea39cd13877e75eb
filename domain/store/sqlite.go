package store

import (
	"context"
	"database/sql"
	"net/url"

	"github.com/libtnb/sqlite"

	"gpupool/migrations"
)

// readers is how many SQLite transactions may read at once, beside one writer.
const readers = 8

// openSQLite opens one writing connection, whose transactions begin IMMEDIATE
// so that they never fail half-way for want of the lock, and a pool of readers,
// which WAL lets read while the writer writes.
func (s *Store) openSQLite(ctx context.Context, c Config) (err error) {
	sync := "FULL"
	if c.Relaxed {
		sync = "NORMAL"
	}
	if s.write, err = sql.Open("sqlite", sqliteName(c.SQLitePath, "immediate", "synchronous("+sync+")")); err != nil {
		return err
	}
	s.write.SetMaxOpenConns(1)
	if err = migrations.Up(ctx, s.write, migrations.SQLite); err != nil {
		return err
	}
	if s.read, err = sql.Open("sqlite", sqliteName(c.SQLitePath, "deferred", "query_only(1)")); err != nil {
		return err
	}
	s.read.SetMaxOpenConns(readers)
	s.read.SetMaxIdleConns(readers)
	return s.build(sqlite.New(sqlite.Config{Conn: s.write}))
}

func sqliteName(path, lock string, pragmas ...string) string {
	q := url.Values{"_txlock": {lock}}
	for _, p := range append([]string{"busy_timeout(10000)", "journal_mode(WAL)", "foreign_keys(1)"}, pragmas...) {
		q.Add("_pragma", p)
	}
	u := url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath(), RawQuery: q.Encode()}
	return u.String()
}
