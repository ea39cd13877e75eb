-- What a member borrowed, decayed, and what it borrows since: the order of borrowers.
-- +goose Up
CREATE TABLE loan_use (
    org_id    TEXT COLLATE "C" NOT NULL,
    class_id  TEXT COLLATE "C" NOT NULL,
    use_gpums BIGINT NOT NULL CHECK (use_gpums >= 0),
    at_ms     BIGINT NOT NULL,
    rate      BIGINT NOT NULL CHECK (rate >= 0),
    PRIMARY KEY (org_id, class_id)
);

-- +goose Down
DROP TABLE loan_use;
