-- What the operator arranges by time: quotas and closed hours, announcements and maintenance.
-- +goose Up
CREATE TABLE time_policies (
    id          TEXT    NOT NULL PRIMARY KEY CHECK (id <> ''),
    name        TEXT    NOT NULL,
    org_id      TEXT    NOT NULL, -- empty: every member
    class_id    TEXT    NOT NULL, -- empty: every GPU type
    closed      BOOLEAN NOT NULL,
    tier        TEXT    NOT NULL, -- empty: every tier
    guaranteed  BIGINT CHECK (guaranteed >= 0),
    more        BIGINT NOT NULL,
    borrow      BIGINT CHECK (borrow >= 0),
    lend        BIGINT CHECK (lend >= 0),
    first_day   TEXT   NOT NULL, -- 2026-03-01, empty: open
    last_day    TEXT   NOT NULL,
    weekdays    BIGINT NOT NULL CHECK (weekdays BETWEEN 1 AND 127), -- bit 0 is Monday
    from_minute BIGINT NOT NULL CHECK (from_minute BETWEEN 0 AND 1439),
    to_minute   BIGINT NOT NULL CHECK (to_minute BETWEEN 0 AND 1440),
    created_at  BIGINT NOT NULL,
    ended_at    BIGINT NOT NULL,
    CHECK (closed OR org_id <> '' AND class_id <> '')
);
CREATE TABLE announcements (
    id          TEXT    NOT NULL PRIMARY KEY CHECK (id <> ''),
    text        TEXT    NOT NULL,
    start_at    BIGINT  NOT NULL,
    end_at      BIGINT  NOT NULL,
    maintenance BOOLEAN NOT NULL,
    node_id     TEXT    NOT NULL, -- empty: any
    site_id     TEXT    NOT NULL,
    class_id    TEXT    NOT NULL,
    created_at  BIGINT  NOT NULL,
    ended_at    BIGINT  NOT NULL,
    CHECK (end_at > start_at)
);
ALTER TABLE settings ADD COLUMN own_priority BOOLEAN NOT NULL DEFAULT FALSE;
ALTER TABLE projects ADD COLUMN node_owners TEXT NOT NULL DEFAULT '[]'; -- JSON

-- +goose Down
ALTER TABLE projects DROP COLUMN node_owners;
ALTER TABLE settings DROP COLUMN own_priority;
DROP TABLE announcements;
DROP TABLE time_policies;
