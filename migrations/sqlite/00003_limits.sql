-- A spending cap may let work run on until what is used comes to it.
-- +goose Up
CREATE TABLE spending_caps_new (
    org_id     TEXT   NOT NULL REFERENCES organisations (id),
    valid_from BIGINT NOT NULL,
    amount     BIGINT,
    mode       TEXT   NOT NULL CHECK (mode IN ('stop', 'downgrade', 'bill', 'notify')),
    PRIMARY KEY (org_id, valid_from)
);
INSERT INTO spending_caps_new SELECT org_id, valid_from, amount, mode FROM spending_caps;
DROP TABLE spending_caps;
ALTER TABLE spending_caps_new RENAME TO spending_caps;
-- +goose StatementBegin
CREATE TRIGGER spending_caps_update BEFORE UPDATE ON spending_caps
BEGIN
    SELECT RAISE(ABORT, 'spending_caps is final and never changes');
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER spending_caps_delete BEFORE DELETE ON spending_caps
BEGIN
    SELECT RAISE(ABORT, 'spending_caps is final and never changes');
END;
-- +goose StatementEnd

-- +goose Down
CREATE TABLE spending_caps_old (
    org_id     TEXT   NOT NULL REFERENCES organisations (id),
    valid_from BIGINT NOT NULL,
    amount     BIGINT,
    mode       TEXT   NOT NULL CHECK (mode IN ('stop', 'downgrade', 'notify')),
    PRIMARY KEY (org_id, valid_from)
);
INSERT INTO spending_caps_old SELECT org_id, valid_from, amount, CASE mode WHEN 'bill' THEN 'stop' ELSE mode END FROM spending_caps;
DROP TABLE spending_caps;
ALTER TABLE spending_caps_old RENAME TO spending_caps;
-- +goose StatementBegin
CREATE TRIGGER spending_caps_update BEFORE UPDATE ON spending_caps
BEGIN
    SELECT RAISE(ABORT, 'spending_caps is final and never changes');
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER spending_caps_delete BEFORE DELETE ON spending_caps
BEGIN
    SELECT RAISE(ABORT, 'spending_caps is final and never changes');
END;
-- +goose StatementEnd
