-- Jobs, their attempts, the ledger of use, invoices, and the trails of what was done.
-- Instants are milliseconds since 1970 UTC; money is minor units; JSON is text.
-- +goose Up

CREATE TABLE jobs (
    id            TEXT COLLATE "C" NOT NULL PRIMARY KEY CHECK (id <> ''),
    org_id        TEXT COLLATE "C" NOT NULL REFERENCES organisations (id),
    project_id    TEXT COLLATE "C" NOT NULL REFERENCES projects (id),
    user_id       TEXT COLLATE "C" NOT NULL REFERENCES users (id),
    name          TEXT COLLATE "C" NOT NULL,
    search        TEXT COLLATE "C" NOT NULL, -- name and id in small letters
    classes       TEXT COLLATE "C" NOT NULL, -- JSON list, in order of preference
    nodes         BIGINT  NOT NULL CHECK (nodes > 0),
    gpus_per_node BIGINT  NOT NULL CHECK (gpus_per_node > 0),
    tier          TEXT COLLATE "C" NOT NULL CHECK (tier IN ('guaranteed', 'burst', 'spot')),
    priority      BIGINT  NOT NULL,
    max_run_ms    BIGINT  NOT NULL,
    renewable     BOOLEAN NOT NULL,
    not_before    BIGINT  NOT NULL,
    depends_on    TEXT COLLATE "C" NOT NULL,
    spec          TEXT COLLATE "C" NOT NULL, -- JSON
    state         TEXT COLLATE "C" NOT NULL CHECK (state IN ('waiting', 'starting', 'running', 'stopping', 'ended')),
    reasons       TEXT COLLATE "C" NOT NULL, -- JSON
    position      BIGINT  NOT NULL,
    starts_by     BIGINT  NOT NULL,
    up_to         BIGINT  NOT NULL,
    attempts      BIGINT  NOT NULL,
    submitted_at  BIGINT  NOT NULL,
    ended_at      BIGINT  NOT NULL,
    end_reason    TEXT COLLATE "C" NOT NULL,
    end_detail    TEXT COLLATE "C" NOT NULL,
    stop_by       TEXT COLLATE "C" NOT NULL,
    stop_asked    BIGINT  NOT NULL
);
-- Pages walk these backwards from a cursor.
CREATE INDEX jobs_newest ON jobs (submitted_at, id);
CREATE INDEX jobs_org ON jobs (org_id, submitted_at, id);
CREATE INDEX jobs_org_project ON jobs (org_id, project_id, submitted_at, id);
CREATE INDEX jobs_org_user ON jobs (org_id, user_id, submitted_at, id);
CREATE INDEX jobs_org_state ON jobs (org_id, state, submitted_at, id);
CREATE INDEX jobs_live ON jobs (submitted_at, id) WHERE state <> 'ended';
CREATE INDEX jobs_org_live ON jobs (org_id, submitted_at, id) WHERE state <> 'ended';

-- The last of what a job wrote; apart, so that a list of jobs reads little.
CREATE TABLE job_logs (
    job_id TEXT COLLATE "C" NOT NULL PRIMARY KEY REFERENCES jobs (id),
    tail   BYTEA  NOT NULL
);

CREATE TABLE attempts (
    job_id      TEXT COLLATE "C" NOT NULL REFERENCES jobs (id),
    n           BIGINT NOT NULL CHECK (n > 0),
    org_id      TEXT COLLATE "C" NOT NULL,
    project_id  TEXT COLLATE "C" NOT NULL,
    user_id     TEXT COLLATE "C" NOT NULL,
    class_id    TEXT COLLATE "C" NOT NULL,
    placement   TEXT COLLATE "C" NOT NULL, -- JSON
    tier        TEXT COLLATE "C" NOT NULL CHECK (tier IN ('guaranteed', 'burst', 'spot')),
    priority    BIGINT NOT NULL,
    own_gpus    BIGINT NOT NULL CHECK (own_gpus >= 0),
    loan_gpus   BIGINT NOT NULL CHECK (loan_gpus >= 0),
    spot_gpus   BIGINT NOT NULL CHECK (spot_gpus >= 0),
    state       TEXT COLLATE "C" NOT NULL CHECK (state IN ('placed', 'running', 'stopping', 'ended')),
    admitted_at BIGINT NOT NULL,
    started_at  BIGINT NOT NULL,
    max_end     BIGINT NOT NULL,
    notice_at   BIGINT NOT NULL,
    stop_at     BIGINT NOT NULL,
    stop_reason TEXT COLLATE "C" NOT NULL,
    stop_detail TEXT COLLATE "C" NOT NULL,
    stop_sent   BIGINT NOT NULL,
    ended_at    BIGINT NOT NULL,
    end_reason  TEXT COLLATE "C" NOT NULL,
    exit_code   BIGINT NOT NULL,
    end_detail  TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (job_id, n)
);
CREATE INDEX attempts_live ON attempts (org_id, admitted_at, job_id, n) WHERE state <> 'ended';

-- What each GPU of an attempt is charged as, from an instant on: decided, never derived.
CREATE TABLE covers (
    job_id    TEXT COLLATE "C" NOT NULL,
    n         BIGINT NOT NULL,
    from_at   BIGINT NOT NULL,
    own_gpus  BIGINT NOT NULL CHECK (own_gpus >= 0),
    loan_gpus BIGINT NOT NULL CHECK (loan_gpus >= 0),
    spot_gpus BIGINT NOT NULL CHECK (spot_gpus >= 0),
    PRIMARY KEY (job_id, n, from_at),
    FOREIGN KEY (job_id, n) REFERENCES attempts (job_id, n)
);

CREATE TABLE promises (
    id        TEXT COLLATE "C" NOT NULL PRIMARY KEY CHECK (id <> ''),
    job_id    TEXT COLLATE "C" NOT NULL REFERENCES jobs (id),
    class_id  TEXT COLLATE "C" NOT NULL,
    placement TEXT COLLATE "C" NOT NULL, -- JSON
    victims   TEXT COLLATE "C" NOT NULL, -- JSON
    rule      TEXT COLLATE "C" NOT NULL,
    made_at   BIGINT NOT NULL,
    stop_at   BIGINT NOT NULL,
    state     TEXT COLLATE "C" NOT NULL CHECK (state IN ('open', 'kept', 'withdrawn', 'lapsed'))
);
CREATE INDEX promises_job ON promises (job_id);
CREATE INDEX promises_open ON promises (made_at, id) WHERE state = 'open';

-- What the cluster said of an allocation, once per modify index.
CREATE TABLE observations (
    alloc_id     TEXT COLLATE "C" NOT NULL,
    modify_index BIGINT NOT NULL,
    job_id       TEXT COLLATE "C" NOT NULL,
    n            BIGINT NOT NULL,
    run          TEXT COLLATE "C" NOT NULL, -- JSON
    received_at  BIGINT NOT NULL,
    PRIMARY KEY (alloc_id, modify_index)
);
CREATE INDEX observations_attempt ON observations (job_id, n, alloc_id, modify_index);

-- How far the use of an allocation is in the ledger: [metered_from, metered_until).
CREATE TABLE meters (
    alloc_id      TEXT COLLATE "C" NOT NULL PRIMARY KEY CHECK (alloc_id <> ''),
    job_id        TEXT COLLATE "C" NOT NULL,
    n             BIGINT  NOT NULL,
    org_id        TEXT COLLATE "C" NOT NULL,
    node_id       TEXT COLLATE "C" NOT NULL,
    gpus          BIGINT  NOT NULL CHECK (gpus >= 0),
    devices       TEXT COLLATE "C" NOT NULL, -- JSON
    metered_from  BIGINT  NOT NULL,
    metered_until BIGINT  NOT NULL CHECK (metered_until >= metered_from),
    end_at        BIGINT  NOT NULL,
    quality       TEXT COLLATE "C" NOT NULL,
    closed        BOOLEAN NOT NULL,
    FOREIGN KEY (job_id, n) REFERENCES attempts (job_id, n)
);
CREATE INDEX meters_attempt ON meters (job_id, n, alloc_id);
CREATE INDEX meters_open ON meters (alloc_id) WHERE NOT closed;
CREATE INDEX meters_org_open ON meters (org_id, alloc_id) WHERE NOT closed;

-- The ledger: append-only. A row is counted once because its key is unique and
-- billed once because its number lies in the range of one invoice.
CREATE TABLE segments (
    account_id      TEXT COLLATE "C" NOT NULL REFERENCES billing_accounts (id),
    seq             BIGINT NOT NULL CHECK (seq > 0),
    alloc_id        TEXT COLLATE "C" NOT NULL,
    job_id          TEXT COLLATE "C" NOT NULL,
    n               BIGINT NOT NULL,
    start_at        BIGINT NOT NULL,
    end_at          BIGINT NOT NULL,
    class_id        TEXT COLLATE "C" NOT NULL,
    gpus            BIGINT NOT NULL CHECK (gpus > 0),
    cover           TEXT COLLATE "C" NOT NULL CHECK (cover IN ('own', 'loan', 'spot')),
    price_row_id    TEXT COLLATE "C" NOT NULL,
    plan_version_id TEXT COLLATE "C" NOT NULL,
    org_id          TEXT COLLATE "C" NOT NULL,
    project_id      TEXT COLLATE "C" NOT NULL,
    user_id         TEXT COLLATE "C" NOT NULL,
    node_id         TEXT COLLATE "C" NOT NULL,
    source          TEXT COLLATE "C" NOT NULL,
    quality         TEXT COLLATE "C" NOT NULL,
    sign            BIGINT NOT NULL CHECK (sign IN (-1, 1)),
    revision        BIGINT NOT NULL CHECK (revision >= 0),
    day_at          BIGINT NOT NULL, -- first instant of the billing zone's day in which it starts
    use_gpums       BIGINT NOT NULL, -- what it counts for: signed GPU-milliseconds
    PRIMARY KEY (account_id, seq),
    CHECK (end_at > start_at),
    CHECK (use_gpums = sign * gpus * (end_at - start_at))
);
CREATE UNIQUE INDEX segments_once ON segments (alloc_id, start_at, cover, revision, sign);
CREATE INDEX segments_job ON segments (job_id, start_at);
-- Cover every sum of an organisation's pages, and of the whole pool's month.
CREATE INDEX segments_org_use ON segments (org_id, start_at, class_id, cover, price_row_id, plan_version_id, project_id, user_id, account_id, day_at, job_id, use_gpums);
CREATE INDEX segments_pool_use ON segments (start_at, org_id, class_id, cover, price_row_id, plan_version_id, project_id, user_id, account_id, day_at, job_id, use_gpums);

CREATE TABLE lending_days (
    day_at       BIGINT NOT NULL,
    org_id       TEXT COLLATE "C" NOT NULL,
    class_id     TEXT COLLATE "C" NOT NULL,
    unused_gpums BIGINT NOT NULL,
    until_at     BIGINT NOT NULL,
    PRIMARY KEY (day_at, org_id, class_id)
);

-- The last number given per series and year; it grows in the transaction that
-- uses the number, so there are no gaps.
CREATE TABLE invoice_counters (
    series TEXT COLLATE "C" NOT NULL,
    year   BIGINT NOT NULL,
    last   BIGINT NOT NULL,
    PRIMARY KEY (series, year)
);

CREATE TABLE invoices (
    id         TEXT COLLATE "C" NOT NULL PRIMARY KEY CHECK (id <> ''),
    number     TEXT COLLATE "C" NOT NULL UNIQUE,
    account_id TEXT COLLATE "C" NOT NULL REFERENCES billing_accounts (id),
    org_id     TEXT COLLATE "C" NOT NULL,
    month      TEXT COLLATE "C" NOT NULL, -- 2026-11
    kind       TEXT COLLATE "C" NOT NULL,
    from_seq   BIGINT  NOT NULL,
    to_seq     BIGINT  NOT NULL,
    net        BIGINT  NOT NULL,
    tax        BIGINT  NOT NULL,
    total      BIGINT  NOT NULL,
    issued_at  BIGINT  NOT NULL,
    due_at     BIGINT  NOT NULL,
    hash       TEXT COLLATE "C" NOT NULL,
    prev_hash  TEXT COLLATE "C" NOT NULL,
    issuer     TEXT COLLATE "C" NOT NULL,
    doc        TEXT COLLATE "C" NOT NULL, -- JSON, byte for byte what was issued
    live       BOOLEAN NOT NULL, -- false when void: its month and range are free again
    CHECK (to_seq >= from_seq)
);
CREATE UNIQUE INDEX invoices_month ON invoices (account_id, month, kind) WHERE live;
CREATE INDEX invoices_range ON invoices (account_id, to_seq) WHERE live;
CREATE INDEX invoices_org ON invoices (org_id, issued_at, id);

CREATE TABLE invoice_states (
    invoice_id TEXT COLLATE "C" NOT NULL REFERENCES invoices (id),
    n          BIGINT NOT NULL, -- from 1, the last one holds
    at         BIGINT NOT NULL,
    state      TEXT COLLATE "C" NOT NULL CHECK (state IN ('issued', 'paid', 'void', 'uncollectible')),
    by_user_id TEXT COLLATE "C" NOT NULL,
    note       TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (invoice_id, n)
);

CREATE TABLE payments (
    id          TEXT COLLATE "C" NOT NULL PRIMARY KEY CHECK (id <> ''),
    invoice_id  TEXT COLLATE "C" NOT NULL REFERENCES invoices (id),
    issuer      TEXT COLLATE "C" NOT NULL,
    amount      BIGINT NOT NULL,
    received_at BIGINT NOT NULL,
    reference   TEXT COLLATE "C" NOT NULL,
    note        TEXT COLLATE "C" NOT NULL,
    recorded_by TEXT COLLATE "C" NOT NULL,
    recorded_at BIGINT NOT NULL
);
CREATE UNIQUE INDEX payments_reference ON payments (issuer, reference) WHERE reference <> '';
CREATE INDEX payments_invoice ON payments (invoice_id, received_at, id);

CREATE TABLE audit (
    seq         BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at          BIGINT NOT NULL,
    wall        BIGINT NOT NULL,
    user_id     TEXT COLLATE "C" NOT NULL,
    name        TEXT COLLATE "C" NOT NULL,
    via         TEXT COLLATE "C" NOT NULL,
    ip          TEXT COLLATE "C" NOT NULL,
    org_id      TEXT COLLATE "C" NOT NULL,
    action      TEXT COLLATE "C" NOT NULL,
    subject     TEXT COLLATE "C" NOT NULL,
    before_json TEXT COLLATE "C" NOT NULL,
    after_json  TEXT COLLATE "C" NOT NULL
);
CREATE INDEX audit_org ON audit (org_id, seq);

CREATE TABLE outbox (
    id         BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    kind       TEXT COLLATE "C" NOT NULL,
    idem_key   TEXT COLLATE "C" NOT NULL UNIQUE,
    payload    TEXT COLLATE "C" NOT NULL, -- JSON
    created_at BIGINT NOT NULL,
    next_at    BIGINT NOT NULL,
    tries      BIGINT NOT NULL,
    last_error TEXT COLLATE "C" NOT NULL,
    done_at    BIGINT NOT NULL
);
CREATE INDEX outbox_open ON outbox (id) WHERE done_at = 0;

CREATE TABLE nonces (
    nonce   TEXT COLLATE "C" NOT NULL PRIMARY KEY CHECK (nonce <> ''),
    user_id TEXT COLLATE "C" NOT NULL,
    at      BIGINT NOT NULL,
    result  TEXT COLLATE "C" NOT NULL
);
CREATE INDEX nonces_at ON nonces (at);

-- Nothing final is ever edited, not even by hand.
CREATE TRIGGER segments_update BEFORE UPDATE ON segments FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER segments_delete BEFORE DELETE ON segments FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER segments_truncate BEFORE TRUNCATE ON segments FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER covers_update BEFORE UPDATE ON covers FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER covers_delete BEFORE DELETE ON covers FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER covers_truncate BEFORE TRUNCATE ON covers FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER audit_update BEFORE UPDATE ON audit FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER audit_delete BEFORE DELETE ON audit FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER audit_truncate BEFORE TRUNCATE ON audit FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER invoice_states_update BEFORE UPDATE ON invoice_states FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER invoice_states_delete BEFORE DELETE ON invoice_states FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER invoice_states_truncate BEFORE TRUNCATE ON invoice_states FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER payments_update BEFORE UPDATE ON payments FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER payments_delete BEFORE DELETE ON payments FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER payments_truncate BEFORE TRUNCATE ON payments FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER invoices_delete BEFORE DELETE ON invoices FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER invoices_truncate BEFORE TRUNCATE ON invoices FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
-- An invoice may only become void, once.
CREATE TRIGGER invoices_update BEFORE UPDATE ON invoices FOR EACH ROW
WHEN (NOT (OLD.live AND NOT NEW.live)
    OR (OLD.id, OLD.number, OLD.account_id, OLD.org_id, OLD.month, OLD.kind, OLD.from_seq, OLD.to_seq, OLD.net, OLD.tax, OLD.total,
        OLD.issued_at, OLD.due_at, OLD.hash, OLD.prev_hash, OLD.issuer, OLD.doc)
    IS DISTINCT FROM (NEW.id, NEW.number, NEW.account_id, NEW.org_id, NEW.month, NEW.kind, NEW.from_seq, NEW.to_seq, NEW.net, NEW.tax, NEW.total,
        NEW.issued_at, NEW.due_at, NEW.hash, NEW.prev_hash, NEW.issuer, NEW.doc))
EXECUTE FUNCTION refuse_change();

-- +goose Down
DROP TABLE nonces;
DROP TABLE outbox;
DROP TABLE audit;
DROP TABLE payments;
DROP TABLE invoice_states;
DROP TABLE invoices;
DROP TABLE invoice_counters;
DROP TABLE lending_days;
DROP TABLE segments;
DROP TABLE meters;
DROP TABLE observations;
DROP TABLE promises;
DROP TABLE covers;
DROP TABLE attempts;
DROP TABLE job_logs;
DROP TABLE jobs;
