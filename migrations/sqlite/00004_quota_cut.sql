-- Guaranteed work above a quota that was cut stays guaranteed until then; 0: it is not above it.
-- +goose Up
ALTER TABLE attempts ADD COLUMN guaranteed_until BIGINT NOT NULL DEFAULT 0;

-- +goose Down
ALTER TABLE attempts DROP COLUMN guaranteed_until;
