-- What a job was told of its start when it was submitted and had to wait. What came of it
-- is its first attempt: told starts are what later ones are widened by.
-- +goose Up
CREATE TABLE told_starts (
    job_id        TEXT NOT NULL PRIMARY KEY REFERENCES jobs (id),
    at_ms         BIGINT NOT NULL,
    latest        BIGINT NOT NULL,
    early         BIGINT NOT NULL,
    middle        BIGINT NOT NULL,
    late          BIGINT NOT NULL,
    played_early  BIGINT NOT NULL,
    played_middle BIGINT NOT NULL,
    played_late   BIGINT NOT NULL
);
CREATE INDEX told_starts_at ON told_starts (at_ms, job_id);

-- +goose Down
DROP TABLE told_starts;
