package store

import (
	"context"
	"database/sql"
	"errors"

	"gorm.io/driver/postgres"

	"gpupool/migrations"
)

// connections is how many a portal holds at most on PostgreSQL.
const connections = 16

func (s *Store) openPostgres(ctx context.Context, c Config) (err error) {
	if s.write, err = sql.Open("pgx", c.PostgresURL); err != nil {
		return errors.New("store: the PostgreSQL address is malformed") // the cause may show its password
	}
	s.read = s.write
	s.write.SetMaxOpenConns(connections)
	s.write.SetMaxIdleConns(connections)
	if err = migrations.Up(ctx, s.write, migrations.Postgres); err != nil {
		return err
	}
	return s.build(postgres.New(postgres.Config{Conn: s.write}))
}
