package storetest

import (
	"database/sql"
	"fmt"
	"time"
)

// awaitReady waits until the server behind the address answers: its socket
// exists a moment before it does.
func awaitReady(address string) error {
	db, err := sql.Open("pgx", address)
	if err != nil {
		return err
	}
	defer db.Close()
	for range 200 {
		if err = db.Ping(); err == nil {
			return nil
		}
		time.Sleep(25 * time.Millisecond)
	}
	return fmt.Errorf("the server does not answer: %w", err)
}
