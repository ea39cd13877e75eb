-- Who takes part and on what terms: the pool, its people, organisations,
-- projects, catalogue, billing accounts, subscriptions and nodes.
-- Instants and durations are milliseconds, money is minor units; 0 means "not
-- yet", the largest integer means "never".

-- +goose Up
CREATE TABLE settings (
    id              BIGINT  NOT NULL PRIMARY KEY CHECK (id = 1),
    name            TEXT    NOT NULL,
    name_zh         TEXT    NOT NULL,
    currency        TEXT    NOT NULL,
    exponent        BIGINT  NOT NULL,
    zone            TEXT    NOT NULL,
    grace_ms        BIGINT  NOT NULL,
    setup_grace_ms  BIGINT  NOT NULL,
    notice_ms       BIGINT  NOT NULL,
    signal          TEXT    NOT NULL,
    default_run_ms  BIGINT  NOT NULL,
    longest_run_ms  BIGINT  NOT NULL,
    invoice_prefix  TEXT    NOT NULL,
    seller_name     TEXT    NOT NULL,
    seller_address  TEXT    NOT NULL,
    seller_country  TEXT    NOT NULL,
    seller_tax_id   TEXT    NOT NULL,
    bank            TEXT    NOT NULL,
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
    name   TEXT   NOT NULL PRIMARY KEY,
    holder TEXT   NOT NULL,
    until  BIGINT NOT NULL
);

CREATE TABLE flags (
    name  TEXT NOT NULL PRIMARY KEY,
    value TEXT NOT NULL
);

CREATE TABLE users (
    id            TEXT    NOT NULL PRIMARY KEY CHECK (id <> ''),
    email         TEXT    NOT NULL UNIQUE CHECK (email <> ''),
    name          TEXT    NOT NULL,
    password_hash TEXT    NOT NULL,
    operator      BOOLEAN NOT NULL,
    lang          TEXT    NOT NULL,
    time_zone     TEXT    NOT NULL,
    created_at    BIGINT  NOT NULL,
    disabled      BOOLEAN NOT NULL
);

CREATE TABLE api_tokens (
    id         TEXT   NOT NULL PRIMARY KEY CHECK (id <> ''),
    user_id    TEXT   NOT NULL REFERENCES users (id),
    name       TEXT   NOT NULL,
    hash       TEXT   NOT NULL UNIQUE CHECK (hash <> ''),
    prefix     TEXT   NOT NULL,
    scopes     TEXT   NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    last_used  BIGINT NOT NULL,
    revoked_at BIGINT NOT NULL
);
CREATE INDEX api_tokens_user ON api_tokens (user_id);

-- user_id is empty before sign-in.
CREATE TABLE sessions (
    token      TEXT   NOT NULL PRIMARY KEY CHECK (token <> ''),
    user_id    TEXT   NOT NULL,
    data       BLOB   NOT NULL,
    expires_at BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    ip         TEXT   NOT NULL,
    agent      TEXT   NOT NULL
);
CREATE INDEX sessions_user ON sessions (user_id);
CREATE INDEX sessions_expiry ON sessions (expires_at);

CREATE TABLE sign_in_tries (
    try_key TEXT   NOT NULL CHECK (try_key <> ''),
    at      BIGINT NOT NULL,
    tries   BIGINT NOT NULL,
    PRIMARY KEY (try_key, at)
);
CREATE INDEX sign_in_tries_at ON sign_in_tries (at);

CREATE TABLE organisations (
    id         TEXT   NOT NULL PRIMARY KEY CHECK (id <> ''),
    name       TEXT   NOT NULL,
    name_zh    TEXT   NOT NULL,
    show_as    TEXT   NOT NULL,
    pseudonym  TEXT   NOT NULL,
    created_at BIGINT NOT NULL,
    pauses     TEXT   NOT NULL
);

CREATE TABLE memberships (
    user_id TEXT   NOT NULL REFERENCES users (id),
    org_id  TEXT   NOT NULL REFERENCES organisations (id),
    role    TEXT   NOT NULL CHECK (role IN ('member', 'lead', 'finance', 'owner', 'viewer')),
    since   BIGINT NOT NULL,
    PRIMARY KEY (user_id, org_id)
);
CREATE INDEX memberships_org ON memberships (org_id);

CREATE TABLE invitations (
    id          TEXT   NOT NULL PRIMARY KEY CHECK (id <> ''),
    token_hash  TEXT   NOT NULL UNIQUE CHECK (token_hash <> ''),
    org_id      TEXT   NOT NULL REFERENCES organisations (id),
    email       TEXT   NOT NULL,
    role        TEXT   NOT NULL CHECK (role IN ('member', 'lead', 'finance', 'owner', 'viewer')),
    project_id  TEXT   NOT NULL,
    invited_by  TEXT   NOT NULL,
    created_at  BIGINT NOT NULL,
    expires_at  BIGINT NOT NULL,
    accepted_at BIGINT NOT NULL,
    revoked_at  BIGINT NOT NULL
);
CREATE INDEX invitations_org ON invitations (org_id, created_at);

CREATE TABLE projects (
    id            TEXT    NOT NULL PRIMARY KEY CHECK (id <> ''),
    org_id        TEXT    NOT NULL REFERENCES organisations (id),
    name          TEXT    NOT NULL,
    budget        BIGINT,
    budget_period TEXT    NOT NULL,
    sites         TEXT    NOT NULL,
    nodes         TEXT    NOT NULL,
    created_at    BIGINT  NOT NULL,
    pauses        TEXT    NOT NULL,
    archived      BOOLEAN NOT NULL
);
CREATE INDEX projects_org ON projects (org_id);

CREATE TABLE project_members (
    project_id TEXT    NOT NULL REFERENCES projects (id),
    user_id    TEXT    NOT NULL REFERENCES users (id),
    lead       BOOLEAN NOT NULL,
    PRIMARY KEY (project_id, user_id)
);
CREATE INDEX project_members_user ON project_members (user_id);

CREATE TABLE gpu_classes (
    id              TEXT   NOT NULL PRIMARY KEY CHECK (id <> ''),
    name            TEXT   NOT NULL,
    vendor          TEXT   NOT NULL,
    type            TEXT   NOT NULL,
    model           TEXT   NOT NULL,
    memory_mib      BIGINT NOT NULL,
    per_card        BIGINT NOT NULL,
    cpu_per_gpu     BIGINT NOT NULL,
    mem_per_gpu     BIGINT NOT NULL,
    default_run_ms  BIGINT NOT NULL,
    longest_run_ms  BIGINT NOT NULL,
    cloud_low       BIGINT NOT NULL,
    cloud_high      BIGINT NOT NULL,
    cloud_note      TEXT   NOT NULL,
    created_at      BIGINT NOT NULL
);

CREATE TABLE plans (
    id      TEXT    NOT NULL PRIMARY KEY CHECK (id <> ''),
    name    TEXT    NOT NULL,
    name_zh TEXT    NOT NULL,
    hidden  BOOLEAN NOT NULL
);

CREATE TABLE plan_versions (
    id           TEXT    NOT NULL PRIMARY KEY CHECK (id <> ''),
    plan_id      TEXT    NOT NULL REFERENCES plans (id),
    n            BIGINT  NOT NULL,
    fee          BIGINT  NOT NULL,
    carry_over   BOOLEAN NOT NULL,
    annual_pool  BOOLEAN NOT NULL,
    published_at BIGINT  NOT NULL,
    created_at   BIGINT  NOT NULL,
    UNIQUE (plan_id, n)
);

CREATE TABLE plan_classes (
    version_id   TEXT   NOT NULL REFERENCES plan_versions (id),
    class_id     TEXT   NOT NULL REFERENCES gpu_classes (id),
    guaranteed   BIGINT NOT NULL,
    included_ms  BIGINT NOT NULL,
    borrow_limit BIGINT NOT NULL,
    lend_limit   BIGINT NOT NULL,
    PRIMARY KEY (version_id, class_id)
);

CREATE TABLE price_lists (
    id           TEXT   NOT NULL PRIMARY KEY CHECK (id <> ''),
    name         TEXT   NOT NULL,
    valid_from   BIGINT NOT NULL,
    published_at BIGINT NOT NULL,
    proposed_by  TEXT   NOT NULL,
    approved_by  TEXT   NOT NULL,
    created_at   BIGINT NOT NULL
);

CREATE TABLE price_rows (
    id           TEXT   NOT NULL PRIMARY KEY CHECK (id <> ''),
    list_id      TEXT   NOT NULL REFERENCES price_lists (id),
    class_id     TEXT   NOT NULL REFERENCES gpu_classes (id),
    cover        TEXT   NOT NULL CHECK (cover IN ('own', 'loan', 'spot')),
    price        BIGINT NOT NULL,
    lender_share BIGINT NOT NULL CHECK (lender_share BETWEEN 0 AND 10000),
    from_minute  BIGINT NOT NULL CHECK (from_minute BETWEEN 0 AND 1439),
    to_minute    BIGINT NOT NULL CHECK (to_minute BETWEEN 1 AND 1440),
    UNIQUE (list_id, class_id, cover, from_minute)
);

CREATE TABLE billing_accounts (
    id             TEXT    NOT NULL PRIMARY KEY CHECK (id <> ''),
    org_id         TEXT    NOT NULL REFERENCES organisations (id),
    name           TEXT    NOT NULL,
    buyer_name     TEXT    NOT NULL,
    buyer_address  TEXT    NOT NULL,
    buyer_country  TEXT    NOT NULL,
    buyer_tax_id   TEXT    NOT NULL,
    buyer_ref      TEXT    NOT NULL,
    emails         TEXT    NOT NULL,
    tax_kind       TEXT    NOT NULL,
    tax_rate       BIGINT  NOT NULL CHECK (tax_rate BETWEEN 0 AND 10000),
    tax_reason     TEXT    NOT NULL,
    terms_days     BIGINT  NOT NULL,
    language       TEXT    NOT NULL,
    issuer         TEXT    NOT NULL,
    advance        BOOLEAN NOT NULL,
    last_seq       BIGINT  NOT NULL,
    created_at     BIGINT  NOT NULL
);
CREATE INDEX billing_accounts_org ON billing_accounts (org_id);

CREATE TABLE project_accounts (
    project_id TEXT   NOT NULL REFERENCES projects (id),
    valid_from BIGINT NOT NULL,
    account_id TEXT   NOT NULL REFERENCES billing_accounts (id),
    PRIMARY KEY (project_id, valid_from)
);

CREATE TABLE purchase_orders (
    id         TEXT   NOT NULL PRIMARY KEY CHECK (id <> ''),
    account_id TEXT   NOT NULL REFERENCES billing_accounts (id),
    number     TEXT   NOT NULL,
    amount     BIGINT NOT NULL,
    valid_from BIGINT NOT NULL,
    valid_to   BIGINT NOT NULL,
    at_zero    TEXT   NOT NULL CHECK (at_zero IN ('stop', 'next', 'without')),
    created_at BIGINT NOT NULL,
    UNIQUE (account_id, number)
);

CREATE TABLE subscriptions (
    id         TEXT   NOT NULL PRIMARY KEY CHECK (id <> ''),
    org_id     TEXT   NOT NULL REFERENCES organisations (id),
    account_id TEXT   NOT NULL REFERENCES billing_accounts (id),
    version_id TEXT   NOT NULL REFERENCES plan_versions (id),
    start_at   BIGINT NOT NULL,
    end_at     BIGINT NOT NULL,
    payment    TEXT   NOT NULL CHECK (payment IN ('ok', 'overdue', 'failed')),
    pauses     TEXT   NOT NULL,
    created_at BIGINT NOT NULL,
    CHECK (end_at >= start_at)
);
CREATE INDEX subscriptions_org ON subscriptions (org_id, start_at);

CREATE TABLE quota_limits (
    org_id     TEXT   NOT NULL REFERENCES organisations (id),
    class_id   TEXT   NOT NULL REFERENCES gpu_classes (id),
    valid_from BIGINT NOT NULL,
    borrow     BIGINT,
    lend       BIGINT,
    PRIMARY KEY (org_id, class_id, valid_from)
);

CREATE TABLE spending_caps (
    org_id     TEXT   NOT NULL REFERENCES organisations (id),
    valid_from BIGINT NOT NULL,
    amount     BIGINT,
    mode       TEXT   NOT NULL CHECK (mode IN ('stop', 'downgrade', 'notify')),
    PRIMARY KEY (org_id, valid_from)
);

CREATE TABLE sites (
    id   TEXT NOT NULL PRIMARY KEY CHECK (id <> ''),
    name TEXT NOT NULL
);

-- Class and site may be empty and the contributor may be the consortium, so
-- they refer to no table.
CREATE TABLE nodes (
    id           TEXT    NOT NULL PRIMARY KEY CHECK (id <> ''),
    name         TEXT    NOT NULL,
    class_id     TEXT    NOT NULL,
    site_id      TEXT    NOT NULL,
    contributor  TEXT    NOT NULL,
    gpus         BIGINT  NOT NULL CHECK (gpus >= 0),
    devices      TEXT    NOT NULL,
    unhealthy    TEXT    NOT NULL,
    foreign_gpus BIGINT  NOT NULL CHECK (foreign_gpus >= 0),
    state        TEXT    NOT NULL CHECK (state IN ('ready', 'draining', 'down')),
    cordoned     BOOLEAN NOT NULL,
    seen_at      BIGINT  NOT NULL
);

CREATE TABLE contributions (
    id         TEXT   NOT NULL PRIMARY KEY CHECK (id <> ''),
    org_id     TEXT   NOT NULL REFERENCES organisations (id),
    node_id    TEXT   NOT NULL,
    class_id   TEXT   NOT NULL REFERENCES gpu_classes (id),
    gpus       BIGINT NOT NULL CHECK (gpus >= 0),
    quota      BIGINT NOT NULL CHECK (quota >= 0),
    valid_from BIGINT NOT NULL,
    valid_to   BIGINT NOT NULL
);
CREATE INDEX contributions_org ON contributions (org_id, valid_from);

-- What was published never changes.
-- +goose StatementBegin
CREATE TRIGGER plan_versions_update BEFORE UPDATE ON plan_versions WHEN OLD.published_at <> 0
BEGIN
    SELECT RAISE(ABORT, 'plan_versions is final and never changes');
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER plan_versions_delete BEFORE DELETE ON plan_versions WHEN OLD.published_at <> 0
BEGIN
    SELECT RAISE(ABORT, 'plan_versions is final and never changes');
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER plan_classes_insert BEFORE INSERT ON plan_classes WHEN EXISTS (SELECT 1 FROM plan_versions WHERE id = NEW.version_id AND published_at <> 0)
BEGIN
    SELECT RAISE(ABORT, 'plan_classes is final and never changes');
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER plan_classes_update BEFORE UPDATE ON plan_classes WHEN EXISTS (SELECT 1 FROM plan_versions WHERE id = OLD.version_id AND published_at <> 0)
    OR EXISTS (SELECT 1 FROM plan_versions WHERE id = NEW.version_id AND published_at <> 0)
BEGIN
    SELECT RAISE(ABORT, 'plan_classes is final and never changes');
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER plan_classes_delete BEFORE DELETE ON plan_classes WHEN EXISTS (SELECT 1 FROM plan_versions WHERE id = OLD.version_id AND published_at <> 0)
BEGIN
    SELECT RAISE(ABORT, 'plan_classes is final and never changes');
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER price_lists_update BEFORE UPDATE ON price_lists WHEN OLD.published_at <> 0
BEGIN
    SELECT RAISE(ABORT, 'price_lists is final and never changes');
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER price_lists_delete BEFORE DELETE ON price_lists WHEN OLD.published_at <> 0
BEGIN
    SELECT RAISE(ABORT, 'price_lists is final and never changes');
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER price_rows_insert BEFORE INSERT ON price_rows WHEN EXISTS (SELECT 1 FROM price_lists WHERE id = NEW.list_id AND published_at <> 0)
BEGIN
    SELECT RAISE(ABORT, 'price_rows is final and never changes');
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER price_rows_update BEFORE UPDATE ON price_rows WHEN EXISTS (SELECT 1 FROM price_lists WHERE id = OLD.list_id AND published_at <> 0)
    OR EXISTS (SELECT 1 FROM price_lists WHERE id = NEW.list_id AND published_at <> 0)
BEGIN
    SELECT RAISE(ABORT, 'price_rows is final and never changes');
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER price_rows_delete BEFORE DELETE ON price_rows WHEN EXISTS (SELECT 1 FROM price_lists WHERE id = OLD.list_id AND published_at <> 0)
BEGIN
    SELECT RAISE(ABORT, 'price_rows is final and never changes');
END;
-- +goose StatementEnd

-- Dated rows decide money: a change is a new row.
-- +goose StatementBegin
CREATE TRIGGER project_accounts_update BEFORE UPDATE ON project_accounts
BEGIN
    SELECT RAISE(ABORT, 'project_accounts is final and never changes');
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER project_accounts_delete BEFORE DELETE ON project_accounts
BEGIN
    SELECT RAISE(ABORT, 'project_accounts is final and never changes');
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER quota_limits_update BEFORE UPDATE ON quota_limits
BEGIN
    SELECT RAISE(ABORT, 'quota_limits is final and never changes');
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER quota_limits_delete BEFORE DELETE ON quota_limits
BEGIN
    SELECT RAISE(ABORT, 'quota_limits is final and never changes');
END;
-- +goose StatementEnd
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
