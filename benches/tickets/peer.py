"""The FastAPI example as it is, for `cargo xtask bench tickets`; with `DATABASE_URL=postgres://...`
its `POST /v1/tickets` keeps them in PostgreSQL instead of SQLite.

    DATABASE_URL=sqlite:tickets.db uvicorn --app-dir benches/tickets peer:app

With `PROVIDER_POOL=unbounded` its HTTP client opens a connection for each call, where the example
keeps to httpx's 100.
"""

import os
import sys
from pathlib import Path
from typing import Any

import httpx
from psycopg import Connection
from psycopg_pool import ConnectionPool

URL = os.environ["DATABASE_URL"]
ROOT = Path(__file__).parents[2]
if URL.startswith("sqlite:"):
    os.environ["INTAKE_DATABASE"] = URL.removeprefix("sqlite:")
sys.path.insert(0, str(ROOT / "examples" / "python"))

import intake  # noqa: E402
from intake import app as app  # noqa: E402

# As many as FastAPI has threads, each of which takes one.
CONNECTIONS = 40
SCHEMA = """
    CREATE TABLE customers (id TEXT PRIMARY KEY);
    CREATE TABLE tickets (
        number BIGINT PRIMARY KEY, document TEXT NOT NULL, embedding BYTEA NOT NULL);
    CREATE SEQUENCE ticket_numbers START 500001;
    INSERT INTO customers SELECT 'C-' || to_char(n, 'FM0000') FROM generate_series(1, 50) n;
"""


def prepare(db: Connection) -> None:
    """Makes the tables and 50 customers."""
    db.execute(SCHEMA)


def check_customer(db: Connection, new: intake.NewTicket) -> None:
    """Ends the request with 404 when there is no such customer."""
    query = "SELECT 1 FROM customers WHERE id = %s"
    if not db.execute(query, [new.customer_id]).fetchone():
        raise intake.HTTPException(404, f"there is no customer {new.customer_id}")


def save(db: Connection, new: intake.NewTicket, answers: dict[str, Any]) -> intake.Ticket:
    """Stores a ticket under the next number."""
    (number,) = db.execute("SELECT nextval('ticket_numbers')").fetchone()
    ticket = intake.complete(number, new, answers)
    row = (number, ticket.model_dump_json(), answers["embed"].tobytes())
    db.execute("INSERT INTO tickets VALUES (%s, %s, %s)", row)
    return ticket


if not URL.startswith("sqlite:"):
    # Like the example's own, its connections commit at the end, or roll back after an error.
    pool = ConnectionPool(URL, min_size=CONNECTIONS, max_size=CONNECTIONS, open=True)
    intake.connection = pool.connection
    intake.prepare, intake.check_customer, intake.save = prepare, check_customer, save

if os.environ.get("PROVIDER_POOL") == "unbounded":
    settings = intake.client_settings() | {"limits": httpx.Limits(max_connections=None)}
    intake.client_settings = lambda: settings
