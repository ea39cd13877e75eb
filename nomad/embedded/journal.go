package embedded

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"

	_ "modernc.org/sqlite" // the database driver "sqlite"
)

// journal keeps every object of the cluster as one row. A change is one
// transaction of all rows that it touches, so the file always holds a state
// that the cluster had.
type journal struct{ db *sql.DB }

// private makes the file when there is none, for its owner only: SQLite would
// ask the umask, and gives what it puts beside the file the file's own rights.
func private(path string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("embedded cluster: %w", err)
	}
	return f.Close()
}

// openJournal holds the file alone, so that no two processes continue the same
// cluster. The lock ends with the process, however it ends.
func openJournal(path string) (*journal, error) {
	if err := private(path); err != nil {
		return nil, err
	}
	q := url.Values{"_pragma": {"busy_timeout(2000)", "locking_mode(EXCLUSIVE)", "journal_mode(WAL)", "synchronous(FULL)"}, "_txlock": {"immediate"}}
	db, err := sql.Open("sqlite", "file:"+filepath.ToSlash(path)+"?"+q.Encode())
	if err != nil {
		return nil, fmt.Errorf("embedded cluster: %s: %w", path, err)
	}
	db.SetMaxOpenConns(1)
	// A write takes the lock at once, also where the table is there already.
	_, err = db.Exec(`BEGIN IMMEDIATE; COMMIT`)
	if err != nil {
		db.Close()
		return nil, fmt.Errorf("embedded cluster: %w", held(path, err))
	}
	_, err = db.Exec(`CREATE TABLE IF NOT EXISTS item (
		kind TEXT NOT NULL, id TEXT NOT NULL, body BLOB NOT NULL, PRIMARY KEY (kind, id)) WITHOUT ROWID`)
	if err != nil {
		db.Close()
		return nil, fmt.Errorf("embedded cluster: %s: %w", path, err)
	}
	return &journal{db}, nil
}

func (j *journal) close() error { return j.db.Close() }

// write stores the rows of keys; a key whose object is gone is deleted.
func (j *journal) write(s *state, keys map[itemKey]bool) error {
	tx, err := j.db.Begin()
	if err != nil {
		return err
	}
	defer tx.Rollback() //nolint:errcheck // does nothing after a commit
	for k := range keys {
		v := s.item(k)
		if v == nil {
			if _, err := tx.Exec(`DELETE FROM item WHERE kind = ? AND id = ?`, k.kind, k.id); err != nil {
				return err
			}
			continue
		}
		body, err := json.Marshal(v)
		if err != nil {
			return fmt.Errorf("%s %q: %w", k.kind, k.id, err)
		}
		if _, err := tx.Exec(`INSERT INTO item (kind, id, body) VALUES (?, ?, ?)
			ON CONFLICT (kind, id) DO UPDATE SET body = excluded.body`, k.kind, k.id, body); err != nil {
			return err
		}
	}
	return tx.Commit()
}

func (j *journal) load(s *state) error {
	rows, err := j.db.Query(`SELECT kind, id, body FROM item`)
	if err != nil {
		return fmt.Errorf("embedded cluster: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var k itemKey
		var body []byte
		if err := rows.Scan(&k.kind, &k.id, &body); err != nil {
			return err
		}
		if err := s.put(k, body); err != nil {
			return fmt.Errorf("embedded cluster: row %s %q: %w", k.kind, k.id, err)
		}
	}
	if err := rows.Err(); err != nil {
		return err
	}
	s.order()
	return nil
}

// item is the object that a row holds, nil when it is gone.
func (s *state) item(k itemKey) any {
	switch k.kind {
	case "meta":
		return s
	case "job":
		return present(s.jobs, k.id)
	case "text":
		return present(s.texts, k.id)
	case "run":
		if v, ok := s.runs[k.id]; ok {
			return v
		}
		return nil
	case "alloc":
		return present(s.allocs, k.id)
	case "eval":
		return present(s.evals, k.id)
	case "node":
		return present(s.nodes, k.id)
	case "ns":
		return present(s.namespaces, k.id)
	case "pool":
		return present(s.pools, k.id)
	case "var":
		return present(s.vars, k.id)
	}
	panic("embedded: no such kind of row: " + k.kind)
}

func present[T any](m map[string]*T, id string) any {
	if v := m[id]; v != nil {
		return v
	}
	return nil
}

func (s *state) put(k itemKey, body []byte) error {
	switch k.kind {
	case "meta":
		return json.Unmarshal(body, s)
	case "job":
		return decodeInto(s.jobs, k.id, body)
	case "text":
		return decodeInto(s.texts, k.id, body)
	case "run":
		var v uint64
		err := json.Unmarshal(body, &v)
		s.runs[k.id] = v
		return err
	case "alloc":
		return decodeInto(s.allocs, k.id, body)
	case "eval":
		return decodeInto(s.evals, k.id, body)
	case "node":
		return decodeInto(s.nodes, k.id, body)
	case "ns":
		return decodeInto(s.namespaces, k.id, body)
	case "pool":
		return decodeInto(s.pools, k.id, body)
	case "var":
		return decodeInto(s.vars, k.id, body)
	}
	return fmt.Errorf("written by a newer version: kind %q is unknown", k.kind)
}

func decodeInto[T any](m map[string]*T, id string, body []byte) error {
	v := new(T)
	if err := json.Unmarshal(body, v); err != nil {
		return err
	}
	m[id] = v
	return nil
}
