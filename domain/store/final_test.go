package store_test

import (
	"database/sql"
	"strings"
	"testing"

	"gpupool/domain"
	"gpupool/domain/store"
	"gpupool/domain/store/storetest"
)

// eachByHand is storetest.Each with a bare connection to the same database, as
// somebody with the password would have it.
func eachByHand(t *testing.T, fn func(t *testing.T, s *store.Store, hand *sql.DB)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		c := storetest.SQLite(t)
		fn(t, storetest.Open(t, nil, c), byHand(t, "sqlite", c.SQLitePath))
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		c := storetest.Postgres(t)
		fn(t, storetest.Open(t, nil, c), byHand(t, "pgx", c.PostgresURL))
	})
}

func byHand(t *testing.T, driver, address string) *sql.DB {
	t.Helper()
	db, err := sql.Open(driver, address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

func TestWhatWasDoneIsNeverChangedByHand(t *testing.T) {
	t.Parallel()
	eachByHand(t, func(t *testing.T, s *store.Store, hand *sql.DB) {
		inTx(t, s, func(tx domain.Tx) error { return tx.InsertAudit(domain.AuditRow{Action: "job.submit"}) })
		refused(t, hand, "UPDATE audit SET name = 'nobody'", "DELETE FROM audit")
	})
}

// refused fails the test unless a trigger of ours refuses each statement.
func refused(t *testing.T, hand *sql.DB, statements ...string) {
	t.Helper()
	for _, q := range statements {
		if _, err := hand.Exec(q); err == nil || !strings.Contains(err.Error(), "never changes") {
			t.Errorf("%s: %v", q, err)
		}
	}
}

type plan struct {
	indexes []string
	sorts   bool
	text    []string
}

// explain asks SQLite how it would run the query.
func explain(t *testing.T, hand *sql.DB, query string) plan {
	t.Helper()
	rows, err := hand.Query("EXPLAIN QUERY PLAN " + query)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var p plan
	for rows.Next() {
		var id, parent, unused int
		var detail string
		if err := rows.Scan(&id, &parent, &unused, &detail); err != nil {
			t.Fatal(err)
		}
		p.text = append(p.text, detail)
		if _, after, ok := strings.Cut(detail, "INDEX "); ok {
			p.indexes = append(p.indexes, strings.Fields(after)[0])
		}
		p.sorts = p.sorts || strings.Contains(detail, "TEMP B-TREE")
	}
	return p
}
