CREATE TABLE customers (
    customer_id TEXT NOT NULL PRIMARY KEY,
    name        TEXT NOT NULL
) STRICT;

CREATE TABLE tickets (
    id                INTEGER PRIMARY KEY AUTOINCREMENT,
    customer_id       TEXT NOT NULL REFERENCES customers (customer_id),
    subject           TEXT NOT NULL,
    body              TEXT NOT NULL,
    channel           TEXT NOT NULL,
    team              TEXT NOT NULL,
    priority          INTEGER NOT NULL CHECK (priority BETWEEN 1 AND 3),
    status            TEXT NOT NULL,
    created_at        TEXT NOT NULL,
    -- The three come from the AI provider together or, for seeded tickets, not at all.
    draft_reply       TEXT,
    embedding         BLOB,
    embedding_version TEXT,
    CHECK ((draft_reply IS NULL) = (embedding IS NULL)),
    CHECK ((draft_reply IS NULL) = (embedding_version IS NULL))
) STRICT;

CREATE INDEX tickets_customer_id ON tickets (customer_id);

CREATE TABLE ai_runs (
    ticket_id      INTEGER NOT NULL REFERENCES tickets (id),
    position       INTEGER NOT NULL,
    task           TEXT NOT NULL,
    model          TEXT NOT NULL,
    prompt_version TEXT NOT NULL,
    tokens_in      INTEGER NOT NULL,
    tokens_out     INTEGER NOT NULL,
    cost_usd       REAL NOT NULL,
    latency_ms     REAL NOT NULL,
    status         TEXT NOT NULL,
    PRIMARY KEY (ticket_id, position)
) STRICT, WITHOUT ROWID;

-- Seeded tickets have smaller numbers; the first new ticket is T-500001.
INSERT INTO sqlite_sequence (name, seq) VALUES ('tickets', 500000);
