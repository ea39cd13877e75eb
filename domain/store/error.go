package store

import (
	"context"
	"errors"
	"fmt"

	"gorm.io/gorm"

	"gpupool/domain"
)

// notFound says the same for a row that is not there and one of another
// organisation.
func notFound(r row) error {
	e := domain.Errf(domain.NotFound, "There is no such page.")
	e.Err = fmt.Errorf("store: no such row in %s", r.TableName())
	return e
}

func conflict(r row) error {
	e := domain.Errf(domain.Conflict, "This exists already.")
	e.Err = fmt.Errorf("store: row exists in %s", r.TableName())
	return e
}

// fail gives an error of the database its code. What names a row that is not
// there (a foreign key) is NotFound, what a trigger protects is Conflict; what
// has no meaning for a person stays a plain error, which web shows as ours.
func fail(err error) error {
	var own *domain.Error
	switch {
	case err == nil, errors.As(err, &own):
		return err
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	case errors.Is(err, gorm.ErrForeignKeyViolated):
		return &domain.Error{Code: domain.NotFound, Message: "There is no such page.", Err: err}
	case errors.Is(err, gorm.ErrDuplicatedKey):
		return &domain.Error{Code: domain.Conflict, Message: "This exists already.", Err: err}
	case protected(err):
		return &domain.Error{Code: domain.Conflict, Message: "This is final and never changes.", Err: err}
	}
	return fmt.Errorf("store: %w", err)
}

const (
	sqliteTrigger     = 1811 // SQLITE_CONSTRAINT_TRIGGER
	raised            = "P0001"
	serialization     = "40001"
	deadlock          = "40P01"
	transactionFailed = "25P02"
)

// sqlState is PostgreSQL's code of err, empty for another error.
func sqlState(err error) string {
	var e interface{ SQLState() string }
	if errors.As(err, &e) {
		return e.SQLState()
	}
	return ""
}

// protected tells whether one of our triggers refused a change.
func protected(err error) bool {
	var e interface{ Code() int }
	return sqlState(err) == raised || errors.As(err, &e) && e.Code() == sqliteTrigger
}

// retryable tells whether the same transaction may succeed when run again.
func retryable(err error) bool {
	c := sqlState(err)
	return c == serialization || c == deadlock
}
