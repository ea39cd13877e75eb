package store_test

import (
	"database/sql"
	"testing"

	"gpupool/domain"
	"gpupool/domain/store"
	"gpupool/domain/store/storetest"
)

// eachByHand is storetest.Each with a bare connection to the same database, as
// somebody with the password would have it.
func eachByHand(t *testing.T, fn func(t *testing.T, s *store.Store, hand *sql.DB)) {
	t.Helper()
	open := func(t *testing.T, driver, name string) *sql.DB {
		db, err := sql.Open(driver, name)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { db.Close() })
		return db
	}
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		c := storetest.SQLite(t)
		s := storetest.Open(t, nil, c)
		fn(t, s, open(t, "sqlite", "file:"+c.SQLitePath+"?_pragma=busy_timeout(10000)"))
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		c := storetest.Postgres(t)
		s := storetest.Open(t, nil, c)
		fn(t, s, open(t, "pgx", c.PostgresURL))
	})
}

func TestWhatWasDoneIsNeverChangedByHand(t *testing.T) {
	t.Parallel()
	eachByHand(t, func(t *testing.T, s *store.Store, hand *sql.DB) {
		inTx(t, s, func(tx domain.Tx) error { return tx.InsertAudit(domain.AuditRow{Action: "job.submit"}) })
		refused(t, hand, "UPDATE audit SET name = 'nobody'", "DELETE FROM audit")
	})
}

// refused fails the test when the database takes one of the statements.
func refused(t *testing.T, hand *sql.DB, statements ...string) {
	t.Helper()
	for _, q := range statements {
		if _, err := hand.Exec(q); err == nil {
			t.Errorf("the database took: %s", q)
		}
	}
}
