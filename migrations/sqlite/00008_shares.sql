-- What a member weighs in a class, and what a project has of its organisation's quota. Dated rows: a change is a new one.
-- +goose Up
CREATE TABLE quota_weights (
    org_id     TEXT NOT NULL REFERENCES organisations (id),
    class_id   TEXT NOT NULL REFERENCES gpu_classes (id),
    valid_from BIGINT NOT NULL,
    weight     BIGINT NOT NULL CHECK (weight >= 0),
    PRIMARY KEY (org_id, class_id, valid_from)
);

CREATE TABLE project_quotas (
    project_id TEXT NOT NULL REFERENCES projects (id),
    class_id   TEXT NOT NULL REFERENCES gpu_classes (id),
    valid_from BIGINT NOT NULL,
    guaranteed BIGINT NOT NULL CHECK (guaranteed >= 0),
    borrow     BIGINT CHECK (borrow >= 0),
    PRIMARY KEY (project_id, class_id, valid_from)
);
-- +goose StatementBegin
CREATE TRIGGER quota_weights_update BEFORE UPDATE ON quota_weights
BEGIN
    SELECT RAISE(ABORT, 'quota_weights is final and never changes');
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER quota_weights_delete BEFORE DELETE ON quota_weights
BEGIN
    SELECT RAISE(ABORT, 'quota_weights is final and never changes');
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER project_quotas_update BEFORE UPDATE ON project_quotas
BEGIN
    SELECT RAISE(ABORT, 'project_quotas is final and never changes');
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER project_quotas_delete BEFORE DELETE ON project_quotas
BEGIN
    SELECT RAISE(ABORT, 'project_quotas is final and never changes');
END;
-- +goose StatementEnd

-- +goose Down
DROP TABLE project_quotas;
DROP TABLE quota_weights;
