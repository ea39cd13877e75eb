-- A job may name the instant by which it must have ended; 0: none.
-- +goose Up
ALTER TABLE jobs ADD COLUMN deadline BIGINT NOT NULL DEFAULT 0;

-- +goose Down
ALTER TABLE jobs DROP COLUMN deadline;
