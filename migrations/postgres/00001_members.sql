-- Who takes part and on what terms: the pool, its people, organisations,
-- projects, catalogue, billing accounts, subscriptions and nodes.
-- Instants and durations are milliseconds, money is minor units; 0 means "not
-- yet", the largest integer means "never".

-- +goose Up
CREATE TABLE settings (
    id              BIGINT  NOT NULL PRIMARY KEY CHECK (id = 1),
    name            TEXT COLLATE "C" NOT NULL,
    name_zh         TEXT COLLATE "C" NOT NULL,
    currency        TEXT COLLATE "C" NOT NULL,
    exponent        BIGINT  NOT NULL,
    zone            TEXT COLLATE "C" NOT NULL,
    grace_ms        BIGINT  NOT NULL,
    setup_grace_ms  BIGINT  NOT NULL,
    notice_ms       BIGINT  NOT NULL,
    signal          TEXT COLLATE "C" NOT NULL,
    default_run_ms  BIGINT  NOT NULL,
    longest_run_ms  BIGINT  NOT NULL,
    invoice_prefix  TEXT COLLATE "C" NOT NULL,
    seller_name     TEXT COLLATE "C" NOT NULL,
    seller_address  TEXT COLLATE "C" NOT NULL,
    seller_country  TEXT COLLATE "C" NOT NULL,
    seller_tax_id   TEXT COLLATE "C" NOT NULL,
    bank            TEXT COLLATE "C" NOT NULL,
    paused          BOOLEAN NOT NULL,
    demo            BOOLEAN NOT NULL,
    test_pool       BOOLEAN NOT NULL,
    fair            BOOLEAN NOT NULL,
    configured      BOOLEAN NOT NULL,
    created_at      BIGINT  NOT NULL
);

-- The version that an admission is compared with.
CREATE TABLE pool (
    id            BIGINT NOT NULL PRIMARY KEY CHECK (id = 1),
    version       BIGINT NOT NULL,
    terms_version BIGINT NOT NULL -- of everything that changes seldom: see store.settled
);
INSERT INTO pool (id, version, terms_version) VALUES (1, 1, 1);

CREATE TABLE business_clock (
    id       BIGINT NOT NULL PRIMARY KEY CHECK (id = 1),
    wall     BIGINT NOT NULL,
    business BIGINT NOT NULL,
    speed    BIGINT NOT NULL CHECK (speed >= 0)
);

CREATE TABLE leases (
    name   TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    holder TEXT COLLATE "C" NOT NULL,
    until  BIGINT NOT NULL
);

CREATE TABLE flags (
    name  TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    value TEXT COLLATE "C" NOT NULL
);

CREATE TABLE users (
    id            TEXT COLLATE "C" NOT NULL PRIMARY KEY CHECK (id <> ''),
    email         TEXT COLLATE "C" NOT NULL UNIQUE CHECK (email <> ''),
    name          TEXT COLLATE "C" NOT NULL,
    password_hash TEXT COLLATE "C" NOT NULL,
    operator      BOOLEAN NOT NULL,
    lang          TEXT COLLATE "C" NOT NULL,
    time_zone     TEXT COLLATE "C" NOT NULL,
    created_at    BIGINT  NOT NULL,
    disabled      BOOLEAN NOT NULL
);

CREATE TABLE api_tokens (
    id         TEXT COLLATE "C" NOT NULL PRIMARY KEY CHECK (id <> ''),
    user_id    TEXT COLLATE "C" NOT NULL REFERENCES users (id),
    name       TEXT COLLATE "C" NOT NULL,
    hash       TEXT COLLATE "C" NOT NULL UNIQUE CHECK (hash <> ''),
    prefix     TEXT COLLATE "C" NOT NULL,
    scopes     TEXT COLLATE "C" NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    last_used  BIGINT NOT NULL,
    revoked_at BIGINT NOT NULL
);
CREATE INDEX api_tokens_user ON api_tokens (user_id);

-- user_id is empty before sign-in.
CREATE TABLE sessions (
    token      TEXT COLLATE "C" NOT NULL PRIMARY KEY CHECK (token <> ''),
    user_id    TEXT COLLATE "C" NOT NULL,
    data       BYTEA  NOT NULL,
    expires_at BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    ip         TEXT COLLATE "C" NOT NULL,
    agent      TEXT COLLATE "C" NOT NULL
);
CREATE INDEX sessions_user ON sessions (user_id);
CREATE INDEX sessions_expiry ON sessions (expires_at);

CREATE TABLE sign_in_tries (
    try_key TEXT COLLATE "C" NOT NULL CHECK (try_key <> ''),
    at      BIGINT NOT NULL,
    tries   BIGINT NOT NULL,
    PRIMARY KEY (try_key, at)
);
CREATE INDEX sign_in_tries_at ON sign_in_tries (at);

CREATE TABLE organisations (
    id         TEXT COLLATE "C" NOT NULL PRIMARY KEY CHECK (id <> ''),
    name       TEXT COLLATE "C" NOT NULL,
    name_zh    TEXT COLLATE "C" NOT NULL,
    show_as    TEXT COLLATE "C" NOT NULL,
    pseudonym  TEXT COLLATE "C" NOT NULL,
    created_at BIGINT NOT NULL,
    pauses     TEXT COLLATE "C" NOT NULL
);

CREATE TABLE memberships (
    user_id TEXT COLLATE "C" NOT NULL REFERENCES users (id),
    org_id  TEXT COLLATE "C" NOT NULL REFERENCES organisations (id),
    role    TEXT COLLATE "C" NOT NULL CHECK (role IN ('member', 'lead', 'finance', 'owner', 'viewer')),
    since   BIGINT NOT NULL,
    PRIMARY KEY (user_id, org_id)
);
CREATE INDEX memberships_org ON memberships (org_id);

CREATE TABLE invitations (
    id          TEXT COLLATE "C" NOT NULL PRIMARY KEY CHECK (id <> ''),
    token_hash  TEXT COLLATE "C" NOT NULL UNIQUE CHECK (token_hash <> ''),
    org_id      TEXT COLLATE "C" NOT NULL REFERENCES organisations (id),
    email       TEXT COLLATE "C" NOT NULL,
    role        TEXT COLLATE "C" NOT NULL CHECK (role IN ('member', 'lead', 'finance', 'owner', 'viewer')),
    project_id  TEXT COLLATE "C" NOT NULL,
    invited_by  TEXT COLLATE "C" NOT NULL,
    created_at  BIGINT NOT NULL,
    expires_at  BIGINT NOT NULL,
    accepted_at BIGINT NOT NULL,
    revoked_at  BIGINT NOT NULL
);
CREATE INDEX invitations_org ON invitations (org_id, created_at);

CREATE TABLE projects (
    id            TEXT COLLATE "C" NOT NULL PRIMARY KEY CHECK (id <> ''),
    org_id        TEXT COLLATE "C" NOT NULL REFERENCES organisations (id),
    name          TEXT COLLATE "C" NOT NULL,
    budget        BIGINT,
    budget_period TEXT COLLATE "C" NOT NULL,
    sites         TEXT COLLATE "C" NOT NULL,
    nodes         TEXT COLLATE "C" NOT NULL,
    created_at    BIGINT  NOT NULL,
    pauses        TEXT COLLATE "C" NOT NULL,
    archived      BOOLEAN NOT NULL
);
CREATE INDEX projects_org ON projects (org_id);

CREATE TABLE project_members (
    project_id TEXT COLLATE "C" NOT NULL REFERENCES projects (id),
    user_id    TEXT COLLATE "C" NOT NULL REFERENCES users (id),
    lead       BOOLEAN NOT NULL,
    PRIMARY KEY (project_id, user_id)
);
CREATE INDEX project_members_user ON project_members (user_id);

CREATE TABLE gpu_classes (
    id              TEXT COLLATE "C" NOT NULL PRIMARY KEY CHECK (id <> ''),
    name            TEXT COLLATE "C" NOT NULL,
    vendor          TEXT COLLATE "C" NOT NULL,
    type            TEXT COLLATE "C" NOT NULL,
    model           TEXT COLLATE "C" NOT NULL,
    memory_mib      BIGINT NOT NULL,
    per_card        BIGINT NOT NULL,
    cpu_per_gpu     BIGINT NOT NULL,
    mem_per_gpu     BIGINT NOT NULL,
    default_run_ms  BIGINT NOT NULL,
    longest_run_ms  BIGINT NOT NULL,
    cloud_low       BIGINT NOT NULL,
    cloud_high      BIGINT NOT NULL,
    cloud_note      TEXT COLLATE "C" NOT NULL,
    created_at      BIGINT NOT NULL
);

CREATE TABLE plans (
    id      TEXT COLLATE "C" NOT NULL PRIMARY KEY CHECK (id <> ''),
    name    TEXT COLLATE "C" NOT NULL,
    name_zh TEXT COLLATE "C" NOT NULL,
    hidden  BOOLEAN NOT NULL
);

CREATE TABLE plan_versions (
    id           TEXT COLLATE "C" NOT NULL PRIMARY KEY CHECK (id <> ''),
    plan_id      TEXT COLLATE "C" NOT NULL REFERENCES plans (id),
    n            BIGINT  NOT NULL,
    fee          BIGINT  NOT NULL,
    carry_over   BOOLEAN NOT NULL,
    annual_pool  BOOLEAN NOT NULL,
    published_at BIGINT  NOT NULL,
    created_at   BIGINT  NOT NULL,
    UNIQUE (plan_id, n)
);

CREATE TABLE plan_classes (
    version_id   TEXT COLLATE "C" NOT NULL REFERENCES plan_versions (id),
    class_id     TEXT COLLATE "C" NOT NULL REFERENCES gpu_classes (id),
    guaranteed   BIGINT NOT NULL,
    included_ms  BIGINT NOT NULL,
    borrow_limit BIGINT NOT NULL,
    lend_limit   BIGINT NOT NULL,
    PRIMARY KEY (version_id, class_id)
);

CREATE TABLE price_lists (
    id           TEXT COLLATE "C" NOT NULL PRIMARY KEY CHECK (id <> ''),
    name         TEXT COLLATE "C" NOT NULL,
    valid_from   BIGINT NOT NULL,
    published_at BIGINT NOT NULL,
    proposed_by  TEXT COLLATE "C" NOT NULL,
    approved_by  TEXT COLLATE "C" NOT NULL,
    created_at   BIGINT NOT NULL
);

CREATE TABLE price_rows (
    id           TEXT COLLATE "C" NOT NULL PRIMARY KEY CHECK (id <> ''),
    list_id      TEXT COLLATE "C" NOT NULL REFERENCES price_lists (id),
    class_id     TEXT COLLATE "C" NOT NULL REFERENCES gpu_classes (id),
    cover        TEXT COLLATE "C" NOT NULL CHECK (cover IN ('own', 'loan', 'spot')),
    price        BIGINT NOT NULL,
    lender_share BIGINT NOT NULL CHECK (lender_share BETWEEN 0 AND 10000),
    from_minute  BIGINT NOT NULL CHECK (from_minute BETWEEN 0 AND 1439),
    to_minute    BIGINT NOT NULL CHECK (to_minute BETWEEN 1 AND 1440),
    UNIQUE (list_id, class_id, cover, from_minute)
);

CREATE TABLE billing_accounts (
    id             TEXT COLLATE "C" NOT NULL PRIMARY KEY CHECK (id <> ''),
    org_id         TEXT COLLATE "C" NOT NULL REFERENCES organisations (id),
    name           TEXT COLLATE "C" NOT NULL,
    buyer_name     TEXT COLLATE "C" NOT NULL,
    buyer_address  TEXT COLLATE "C" NOT NULL,
    buyer_country  TEXT COLLATE "C" NOT NULL,
    buyer_tax_id   TEXT COLLATE "C" NOT NULL,
    buyer_ref      TEXT COLLATE "C" NOT NULL,
    emails         TEXT COLLATE "C" NOT NULL,
    tax_kind       TEXT COLLATE "C" NOT NULL,
    tax_rate       BIGINT  NOT NULL CHECK (tax_rate BETWEEN 0 AND 10000),
    tax_reason     TEXT COLLATE "C" NOT NULL,
    terms_days     BIGINT  NOT NULL,
    language       TEXT COLLATE "C" NOT NULL,
    issuer         TEXT COLLATE "C" NOT NULL,
    advance        BOOLEAN NOT NULL,
    last_seq       BIGINT  NOT NULL,
    created_at     BIGINT  NOT NULL
);
CREATE INDEX billing_accounts_org ON billing_accounts (org_id);

CREATE TABLE project_accounts (
    project_id TEXT COLLATE "C" NOT NULL REFERENCES projects (id),
    valid_from BIGINT NOT NULL,
    account_id TEXT COLLATE "C" NOT NULL REFERENCES billing_accounts (id),
    PRIMARY KEY (project_id, valid_from)
);

CREATE TABLE purchase_orders (
    id         TEXT COLLATE "C" NOT NULL PRIMARY KEY CHECK (id <> ''),
    account_id TEXT COLLATE "C" NOT NULL REFERENCES billing_accounts (id),
    number     TEXT COLLATE "C" NOT NULL,
    amount     BIGINT NOT NULL,
    valid_from BIGINT NOT NULL,
    valid_to   BIGINT NOT NULL,
    at_zero    TEXT COLLATE "C" NOT NULL CHECK (at_zero IN ('stop', 'next', 'without')),
    created_at BIGINT NOT NULL,
    UNIQUE (account_id, number)
);

CREATE TABLE subscriptions (
    id         TEXT COLLATE "C" NOT NULL PRIMARY KEY CHECK (id <> ''),
    org_id     TEXT COLLATE "C" NOT NULL REFERENCES organisations (id),
    account_id TEXT COLLATE "C" NOT NULL REFERENCES billing_accounts (id),
    version_id TEXT COLLATE "C" NOT NULL REFERENCES plan_versions (id),
    start_at   BIGINT NOT NULL,
    end_at     BIGINT NOT NULL,
    payment    TEXT COLLATE "C" NOT NULL CHECK (payment IN ('ok', 'overdue', 'failed')),
    pauses     TEXT COLLATE "C" NOT NULL,
    created_at BIGINT NOT NULL,
    CHECK (end_at >= start_at)
);
CREATE INDEX subscriptions_org ON subscriptions (org_id, start_at);

CREATE TABLE quota_limits (
    org_id     TEXT COLLATE "C" NOT NULL REFERENCES organisations (id),
    class_id   TEXT COLLATE "C" NOT NULL REFERENCES gpu_classes (id),
    valid_from BIGINT NOT NULL,
    borrow     BIGINT,
    lend       BIGINT,
    PRIMARY KEY (org_id, class_id, valid_from)
);

CREATE TABLE spending_caps (
    org_id     TEXT COLLATE "C" NOT NULL REFERENCES organisations (id),
    valid_from BIGINT NOT NULL,
    amount     BIGINT,
    mode       TEXT COLLATE "C" NOT NULL CHECK (mode IN ('stop', 'downgrade', 'notify')),
    PRIMARY KEY (org_id, valid_from)
);

CREATE TABLE sites (
    id   TEXT COLLATE "C" NOT NULL PRIMARY KEY CHECK (id <> ''),
    name TEXT COLLATE "C" NOT NULL
);

-- Class and site may be empty and the contributor may be the consortium, so
-- they refer to no table.
CREATE TABLE nodes (
    id           TEXT COLLATE "C" NOT NULL PRIMARY KEY CHECK (id <> ''),
    name         TEXT COLLATE "C" NOT NULL,
    class_id     TEXT COLLATE "C" NOT NULL,
    site_id      TEXT COLLATE "C" NOT NULL,
    contributor  TEXT COLLATE "C" NOT NULL,
    gpus         BIGINT  NOT NULL CHECK (gpus >= 0),
    devices      TEXT COLLATE "C" NOT NULL,
    unhealthy    TEXT COLLATE "C" NOT NULL,
    foreign_gpus BIGINT  NOT NULL CHECK (foreign_gpus >= 0),
    state        TEXT COLLATE "C" NOT NULL CHECK (state IN ('ready', 'draining', 'down')),
    cordoned     BOOLEAN NOT NULL,
    seen_at      BIGINT  NOT NULL
);

CREATE TABLE contributions (
    id         TEXT COLLATE "C" NOT NULL PRIMARY KEY CHECK (id <> ''),
    org_id     TEXT COLLATE "C" NOT NULL REFERENCES organisations (id),
    node_id    TEXT COLLATE "C" NOT NULL,
    class_id   TEXT COLLATE "C" NOT NULL REFERENCES gpu_classes (id),
    gpus       BIGINT NOT NULL CHECK (gpus >= 0),
    quota      BIGINT NOT NULL CHECK (quota >= 0),
    valid_from BIGINT NOT NULL,
    valid_to   BIGINT NOT NULL
);
CREATE INDEX contributions_org ON contributions (org_id, valid_from);

-- What was published never changes.
-- +goose StatementBegin
CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '% is final and never changes', TG_TABLE_NAME;
END $$;
-- +goose StatementEnd
CREATE TRIGGER plan_versions_update BEFORE UPDATE ON plan_versions FOR EACH ROW
    WHEN (OLD.published_at <> 0) EXECUTE FUNCTION refuse_change();
CREATE TRIGGER plan_versions_delete BEFORE DELETE ON plan_versions FOR EACH ROW
    WHEN (OLD.published_at <> 0) EXECUTE FUNCTION refuse_change();
-- +goose StatementBegin
CREATE FUNCTION refuse_published_plan_classes() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP <> 'INSERT' AND EXISTS (SELECT 1 FROM plan_versions WHERE id = OLD.version_id AND published_at <> 0)
        OR TG_OP <> 'DELETE' AND EXISTS (SELECT 1 FROM plan_versions WHERE id = NEW.version_id AND published_at <> 0) THEN
        RAISE EXCEPTION '% is final and never changes', TG_TABLE_NAME;
    END IF;
    RETURN CASE TG_OP WHEN 'DELETE' THEN OLD ELSE NEW END;
END $$;
-- +goose StatementEnd
CREATE TRIGGER plan_classes_insert BEFORE INSERT ON plan_classes FOR EACH ROW EXECUTE FUNCTION refuse_published_plan_classes();
CREATE TRIGGER plan_classes_update BEFORE UPDATE ON plan_classes FOR EACH ROW EXECUTE FUNCTION refuse_published_plan_classes();
CREATE TRIGGER plan_classes_delete BEFORE DELETE ON plan_classes FOR EACH ROW EXECUTE FUNCTION refuse_published_plan_classes();
CREATE TRIGGER price_lists_update BEFORE UPDATE ON price_lists FOR EACH ROW
    WHEN (OLD.published_at <> 0) EXECUTE FUNCTION refuse_change();
CREATE TRIGGER price_lists_delete BEFORE DELETE ON price_lists FOR EACH ROW
    WHEN (OLD.published_at <> 0) EXECUTE FUNCTION refuse_change();
-- +goose StatementBegin
CREATE FUNCTION refuse_published_price_rows() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP <> 'INSERT' AND EXISTS (SELECT 1 FROM price_lists WHERE id = OLD.list_id AND published_at <> 0)
        OR TG_OP <> 'DELETE' AND EXISTS (SELECT 1 FROM price_lists WHERE id = NEW.list_id AND published_at <> 0) THEN
        RAISE EXCEPTION '% is final and never changes', TG_TABLE_NAME;
    END IF;
    RETURN CASE TG_OP WHEN 'DELETE' THEN OLD ELSE NEW END;
END $$;
-- +goose StatementEnd
CREATE TRIGGER price_rows_insert BEFORE INSERT ON price_rows FOR EACH ROW EXECUTE FUNCTION refuse_published_price_rows();
CREATE TRIGGER price_rows_update BEFORE UPDATE ON price_rows FOR EACH ROW EXECUTE FUNCTION refuse_published_price_rows();
CREATE TRIGGER price_rows_delete BEFORE DELETE ON price_rows FOR EACH ROW EXECUTE FUNCTION refuse_published_price_rows();

-- Dated rows decide money: a change is a new row.
CREATE TRIGGER project_accounts_update BEFORE UPDATE ON project_accounts FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER project_accounts_delete BEFORE DELETE ON project_accounts FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER quota_limits_update BEFORE UPDATE ON quota_limits FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER quota_limits_delete BEFORE DELETE ON quota_limits FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER spending_caps_update BEFORE UPDATE ON spending_caps FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER spending_caps_delete BEFORE DELETE ON spending_caps FOR EACH ROW EXECUTE FUNCTION refuse_change();

-- A row trigger never sees TRUNCATE.
CREATE TRIGGER plan_versions_truncate BEFORE TRUNCATE ON plan_versions FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER plan_classes_truncate BEFORE TRUNCATE ON plan_classes FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER price_lists_truncate BEFORE TRUNCATE ON price_lists FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER price_rows_truncate BEFORE TRUNCATE ON price_rows FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER project_accounts_truncate BEFORE TRUNCATE ON project_accounts FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER quota_limits_truncate BEFORE TRUNCATE ON quota_limits FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER spending_caps_truncate BEFORE TRUNCATE ON spending_caps FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
