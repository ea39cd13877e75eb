package store

import (
	"context"
	"database/sql"
	"reflect"
	"strings"
	"sync/atomic"
	"unicode/utf8"

	"gpupool/domain"
)

// conn stands between gorm and one transaction: it counts statements,
// remembers a failure that the caller may swallow, and refuses text that only
// one of the engines would take.
type conn struct {
	tx     *sql.Tx
	count  *atomic.Int64 // nil: nobody counts
	failed error         // first failed statement
	retry  bool          // the failure asks to run the transaction again
}

func (c *conn) before(args []any) error {
	if c.count != nil {
		c.count.Add(1)
	}
	for _, a := range args {
		v := reflect.ValueOf(a)
		if v.Kind() != reflect.String {
			continue
		}
		if s := v.String(); strings.IndexByte(s, 0) >= 0 || !utf8.ValidString(s) {
			return domain.Errf(domain.Invalid, "The text has characters that cannot be stored.")
		}
	}
	return nil
}

func (c *conn) after(err error) error {
	if err != nil && err != sql.ErrNoRows {
		if c.failed == nil {
			c.failed = err
		}
		c.retry = c.retry || retryable(err)
	}
	return err
}

func (c *conn) PrepareContext(ctx context.Context, query string) (*sql.Stmt, error) {
	return c.tx.PrepareContext(ctx, query)
}

func (c *conn) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	if err := c.before(args); err != nil {
		return nil, err
	}
	res, err := c.tx.ExecContext(ctx, query, args...)
	return res, c.after(err)
}

func (c *conn) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	if err := c.before(args); err != nil {
		return nil, err
	}
	rows, err := c.tx.QueryContext(ctx, query, args...)
	return rows, c.after(err)
}

func (c *conn) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	_ = c.before(args) // a row carries its own error; refused text fails in the engine
	return c.tx.QueryRowContext(ctx, query, args...)
}

type counterKey struct{}

// Counting returns a context under which View and Update count their
// statements; BEGIN and COMMIT are not counted.
func Counting(ctx context.Context) context.Context {
	return context.WithValue(ctx, counterKey{}, new(atomic.Int64))
}

// Count is the number of statements run so far under a context of Counting, 0
// under any other.
func Count(ctx context.Context) int64 {
	if n := counterOf(ctx); n != nil {
		return n.Load()
	}
	return 0
}

func counterOf(ctx context.Context) *atomic.Int64 {
	n, _ := ctx.Value(counterKey{}).(*atomic.Int64)
	return n
}
