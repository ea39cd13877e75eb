package store

import (
	"errors"
	"fmt"
	"reflect"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"gpupool/domain"
	"gpupool/domain/pool"
)

// tx is one transaction; it has every method of domain.Tx.
type tx struct {
	db        *gorm.DB // a new session: every use starts an empty statement
	conn      *conn
	now, wall pool.Instant
	writes    bool
	memo      *memo
	pool      *poolRow // of a View, once it was read
	touched   bool     // a settled table was written
}

func (t *tx) Now() pool.Instant  { return t.now }
func (t *tx) Wall() pool.Instant { return t.wall }

// row is a row struct: it names its table itself, gorm never guesses.
type row interface{ TableName() string }

// find reads the one row that where selects; NotFound when there is none.
func find[R row](t *tx, where string, args ...any) (R, error) {
	var r R
	err := t.db.Where(where, args...).Take(&r).Error
	if errors.Is(err, gorm.ErrRecordNotFound) {
		return r, notFound(r)
	}
	return r, fail(err)
}

// list reads the rows that where selects, in the order given; an empty where
// selects all.
func list[R row](t *tx, order, where string, args ...any) ([]R, error) {
	var rs []R
	q := t.db.Order(order)
	if where != "" {
		q = q.Where(where, args...)
	}
	return rs, fail(q.Find(&rs).Error)
}

// one is find as a noun.
func one[R row, D any](t *tx, noun func(R) (D, error), where string, args ...any) (D, error) {
	r, err := find[R](t, where, args...)
	if err != nil {
		var none D
		return none, err
	}
	return noun(r)
}

// all is list as nouns.
func all[R row, D any](t *tx, noun func(R) (D, error), order, where string, args ...any) ([]D, error) {
	rs, err := list[R](t, order, where, args...)
	return mapped(rs, err, noun)
}

// mapped converts rows to nouns; never nil, so that an empty list is written
// as [].
func mapped[R, D any](rs []R, err error, noun func(R) (D, error)) ([]D, error) {
	if err != nil {
		return nil, err
	}
	ds := make([]D, len(rs))
	for i, r := range rs {
		if ds[i], err = noun(r); err != nil {
			return nil, err
		}
	}
	return ds, nil
}

// insert adds one row; Conflict when a unique key has it already. The database
// raises no error for that, so the transaction can go on.
func insert[R row](t *tx, r R) error {
	ok, err := insertNew(t, r)
	if err == nil && !ok {
		return conflict(r)
	}
	return err
}

// insertNew adds one row unless a unique key has it already, and tells which.
func insertNew[R row](t *tx, r R) (bool, error) {
	t.touch(r.TableName())
	res := t.db.Clauses(clause.OnConflict{DoNothing: true}).Create(&r)
	return res.RowsAffected == 1, fail(res.Error)
}

// put inserts a row or replaces the columns named of the one with its key.
func put[R row](t *tx, r R, key, columns []string) error {
	t.touch(r.TableName())
	cols := make([]clause.Column, len(key))
	for i, k := range key {
		cols[i] = clause.Column{Name: k}
	}
	return fail(t.db.Clauses(clause.OnConflict{Columns: cols, DoUpdates: clause.AssignmentColumns(columns)}).Create(&r).Error)
}

// change sets the columns named, zero values too, of the rows that where
// selects; NotFound when it selects none.
func change[R row](t *tx, r R, columns []string, where string, args ...any) error {
	t.touch(r.TableName())
	res := t.db.Model(new(R)).Select(columns).Where(where, args...).Updates(&r)
	if res.Error == nil && res.RowsAffected == 0 {
		return notFound(r)
	}
	return fail(res.Error)
}

// drop deletes the rows that where selects and tells how many there were.
func drop[R row](t *tx, where string, args ...any) (int64, error) {
	t.touch((*new(R)).TableName())
	res := t.db.Where(where, args...).Delete(new(R))
	return res.RowsAffected, fail(res.Error)
}

// exec runs one written statement and tells how many rows it hit.
func (t *tx) exec(sql string, args ...any) (int64, error) {
	res := t.db.Exec(sql, args...)
	return res.RowsAffected, fail(res.Error)
}

// needed refuses zero identifiers before they reach a statement.
func needed(ids ...any) error {
	for _, id := range ids {
		if reflect.ValueOf(id).IsZero() {
			e := domain.Errf(domain.Invalid, "An identifier is missing.")
			e.Err = fmt.Errorf("store: zero %T", id)
			return e
		}
	}
	return nil
}
