-- The key that the client gave its request, if any: a key opens one ticket.
ALTER TABLE tickets ADD COLUMN idempotency_key TEXT;

CREATE UNIQUE INDEX tickets_idempotency_key ON tickets (idempotency_key);

-- What a team looks at is its own open tickets.
CREATE INDEX tickets_team_status ON tickets (team, status, id);
