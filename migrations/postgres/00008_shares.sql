-- What a member weighs in a class, and what a project has of its organisation's quota. Dated rows: a change is a new one.
-- +goose Up
CREATE TABLE quota_weights (
    org_id     TEXT COLLATE "C" NOT NULL REFERENCES organisations (id),
    class_id   TEXT COLLATE "C" NOT NULL REFERENCES gpu_classes (id),
    valid_from BIGINT NOT NULL,
    weight     BIGINT NOT NULL CHECK (weight >= 0),
    PRIMARY KEY (org_id, class_id, valid_from)
);

CREATE TABLE project_quotas (
    project_id TEXT COLLATE "C" NOT NULL REFERENCES projects (id),
    class_id   TEXT COLLATE "C" NOT NULL REFERENCES gpu_classes (id),
    valid_from BIGINT NOT NULL,
    guaranteed BIGINT NOT NULL CHECK (guaranteed >= 0),
    borrow     BIGINT CHECK (borrow >= 0),
    PRIMARY KEY (project_id, class_id, valid_from)
);
CREATE TRIGGER quota_weights_update BEFORE UPDATE ON quota_weights FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER quota_weights_delete BEFORE DELETE ON quota_weights FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER quota_weights_truncate BEFORE TRUNCATE ON quota_weights FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER project_quotas_update BEFORE UPDATE ON project_quotas FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER project_quotas_delete BEFORE DELETE ON project_quotas FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER project_quotas_truncate BEFORE TRUNCATE ON project_quotas FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- +goose Down
DROP TABLE project_quotas;
DROP TABLE quota_weights;
