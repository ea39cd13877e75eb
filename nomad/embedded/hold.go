package embedded

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net/url"
	"path/filepath"

	"modernc.org/sqlite"
)

// ErrHeld says that another process has the file.
var ErrHeld = errors.New("is in use by another gpupool process")

// held puts the reason why a file can't be locked into words.
func held(path string, err error) error {
	var e *sqlite.Error
	if errors.As(err, &e) && e.Code()&0xff == busy {
		return fmt.Errorf("%s %w", path, ErrHeld)
	}
	return fmt.Errorf("%s can't be opened: %w", path, err)
}

const busy = 5 // SQLITE_BUSY, the low byte of all its kinds

// Hold takes the file at path, which it makes when there is none, for one
// process at a time, and returns what gives it back. A process that ends,
// however it ends, gives it back as well. The file is to be used for nothing
// else and never deleted: who made it again would hold another one.
// Errors: ErrHeld when another process, or this one, has it; the file can't be made.
func Hold(path string) (io.Closer, error) {
	if err := private(path); err != nil {
		return nil, err
	}
	q := url.Values{"_pragma": {"busy_timeout(1000)"}}
	db, err := sql.Open("sqlite", "file:"+filepath.ToSlash(path)+"?"+q.Encode())
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	db.SetMaxOpenConns(1)
	// A transaction without end, on every platform that SQLite knows locks of.
	if _, err := db.ExecContext(context.Background(), `BEGIN EXCLUSIVE`); err != nil {
		return nil, errors.Join(held(path, err), db.Close())
	}
	return db, nil
}
