package store

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"net/url"
	"os"

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
	if err = private(c.SQLitePath); err != nil {
		return err
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

// private makes the file when there is none, for its owner only: SQLite would
// ask the umask, and gives WAL and shared memory the rights of the file.
func private(path string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return f.Close()
}

func sqliteName(path, lock string, pragmas ...string) string {
	q := url.Values{"_txlock": {lock}}
	for _, p := range append([]string{"busy_timeout(10000)", "journal_mode(WAL)", "foreign_keys(1)"}, pragmas...) {
		q.Add("_pragma", p)
	}
	u := url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath(), RawQuery: q.Encode()}
	return u.String()
}
