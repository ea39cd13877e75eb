-- How long a run may be pending, and when what has ended is removed from the cluster.
-- +goose Up
ALTER TABLE settings ADD COLUMN setup_limit_ms BIGINT NOT NULL DEFAULT 1800000;
ALTER TABLE settings ADD COLUMN forget_after_ms BIGINT NOT NULL DEFAULT 604800000;

-- +goose Down
ALTER TABLE settings DROP COLUMN forget_after_ms;
ALTER TABLE settings DROP COLUMN setup_limit_ms;
