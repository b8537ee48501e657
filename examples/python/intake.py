"""A help desk's intake with FastAPI: three ways to wait for an AI provider, one of them wrong.

Each new ticket asks the provider three things in turn (classify, draft a reply, embed), is
stored, and is answered. `INTAKE_MODE` says who waits: `async`, `thread` or `blocking`.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import socket
import sqlite3
import sys
import tempfile
import time
from array import array
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, TypeVar

import httpx
import uvicorn
from fastapi import FastAPI, HTTPException, Request, Response
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field

# --- Who waits -----------------------------------------------------------------------------------


async def create_async(new: NewTicket, response: Response) -> Ticket:
    """The event loop goes on with something else at every `await`."""
    timings = Timings()
    with timings.measure("db"):
        await asyncio.to_thread(with_connection, check_customer, new)
    answers = {}
    for task, path, body in provider_calls(new):  # No connection is held during these waits.
        with timings.measure(task):
            answers[task] = read_answer(task, await app.state.async_client.post(path, json=body))
    with timings.measure("db"):
        ticket = await asyncio.to_thread(with_connection, save, new, answers)
    response.headers["Server-Timing"] = timings.header()
    return ticket


def create_in_thread(new: NewTicket, response: Response) -> Ticket:
    """A plain `def`: FastAPI runs it in its pool of 40 threads, so the event loop stays free."""
    return create_and_wait(new, response)


async def create_blocking(new: NewTicket, response: Response) -> Ticket:
    """The mistake is the word `async`: now the event loop itself waits, and nothing else runs."""
    return create_and_wait(new, response)


def create_and_wait(new: NewTicket, response: Response) -> Ticket:
    """The same steps as `create_async`, each of which holds the thread that it runs on."""
    timings = Timings()
    with connection() as db:  # Held for the whole request, the waits included.
        with timings.measure("db"):
            check_customer(db, new)
        answers = {}
        for task, path, body in provider_calls(new):
            with timings.measure(task):
                answers[task] = read_answer(task, app.state.client.post(path, json=body))
        with timings.measure("db"):
            ticket = save(db, new, answers)
    response.headers["Server-Timing"] = timings.header()
    return ticket


ENDPOINTS = {"async": create_async, "thread": create_in_thread, "blocking": create_blocking}


# --- What comes in and goes out ------------------------------------------------------------------


class NewTicket(BaseModel):
    """A ticket that a customer wants to open."""

    model_config = ConfigDict(extra="forbid")

    customer_id: str = Field(pattern=r"^C-[0-9]{4,5}$")
    subject: str = Field(min_length=1, max_length=120)
    body: str = Field(max_length=5000)
    channel: Literal["email", "web_form", "chat", "phone"]


class Classification(BaseModel):
    """Who should work on a ticket, and how soon."""

    team: Literal["billing", "account", "technical", "shipping", "general"]
    priority: int = Field(ge=1, le=3)


class Ticket(BaseModel):
    """A stored ticket."""

    ticket_id: str
    customer_id: str
    subject: str
    team: str
    priority: int
    status: str
    created_at: datetime
    draft_reply: str
    embedding_version: str


class Timings:
    """How long each part of one request took."""

    def __init__(self) -> None:
        self._ms: dict[str, float] = {}

    @contextmanager
    def measure(self, part: str) -> Iterator[None]:
        """Adds the time inside the `with` block to `part`."""
        start = time.perf_counter()
        yield
        self._ms[part] = self._ms.get(part, 0.0) + (time.perf_counter() - start) * 1000

    def header(self) -> str:
        """The value of a `Server-Timing` header."""
        return ", ".join(f"{part};dur={ms:.1f}" for part, ms in self._ms.items())


# --- The provider: any OpenAI-compatible API -----------------------------------------------------

CHAT_MODEL = os.environ.get("PROVIDER_CHAT_MODEL", "gpt-4o-mini")
EMBED_MODEL = os.environ.get("PROVIDER_EMBED_MODEL", "text-embedding-3-small")
CLASSIFY = (
    "Classify the ticket. Answer in JSON with a team (billing, account, technical, shipping or "
    "general) and a priority from 1 (urgent) to 3."
)
DRAFT_REPLY = "Draft a short and kind reply to the ticket."


def provider_calls(new: NewTicket) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """The task, path and body of each call, in the order of the calls."""
    text = f"{new.subject}\n\n{new.body}"

    def chat(instruction: str, **options: Any) -> dict[str, Any]:
        messages = [{"role": "system", "content": instruction}, {"role": "user", "content": text}]
        return {"model": CHAT_MODEL, "messages": messages, **options}

    json_only = {"type": "json_object"}
    yield "classify", "chat/completions", chat(CLASSIFY, response_format=json_only, max_tokens=50)
    yield "draft_reply", "chat/completions", chat(DRAFT_REPLY, max_tokens=300)
    yield "embed", "embeddings", {"model": EMBED_MODEL, "input": text}


def read_answer(task: str, response: httpx.Response) -> Any:
    """What the provider said: a classification, a text or a vector."""
    response.raise_for_status()
    try:
        answer = response.json()
        if task == "embed":
            return array("f", answer["data"][0]["embedding"])
        text = answer["choices"][0]["message"]["content"]
        return Classification.model_validate_json(text) if task == "classify" else str(text)
    except (LookupError, TypeError, ValueError) as error:
        raise HTTPException(502, f"the AI provider's answer to {task} is unreadable") from error


def client_settings() -> dict[str, Any]:
    """What both kinds of client are made with."""
    url = os.environ.get("PROVIDER_URL", "http://127.0.0.1:8300/v1").rstrip("/")
    key = os.environ.get("PROVIDER_API_KEY")
    return {
        "base_url": url if url.endswith("/v1") else f"{url}/v1",
        "headers": {"Authorization": f"Bearer {key}"} if key else {},
        "timeout": 30.0,
    }


# --- The store: one SQLite file ------------------------------------------------------------------

SCHEMA = """
    PRAGMA journal_mode = WAL;
    CREATE TABLE IF NOT EXISTS customers (id TEXT PRIMARY KEY);
    CREATE TABLE IF NOT EXISTS tickets (
        number INTEGER PRIMARY KEY, document TEXT NOT NULL, embedding BLOB NOT NULL);
"""
LAST_OLD_NUMBER = 500_000

Result = TypeVar("Result")


@contextmanager
def connection() -> Iterator[sqlite3.Connection]:
    """A connection that commits at the end, or rolls back when something failed."""
    db = sqlite3.connect(app.state.database)
    try:
        with db:
            yield db
    finally:
        db.close()


def with_connection(work: Callable[..., Result], *args: Any) -> Result:
    """Does some work on a connection of its own."""
    with connection() as db:
        return work(db, *args)


def prepare(db: sqlite3.Connection) -> None:
    """Makes the tables and 50 customers."""
    db.executescript(SCHEMA)
    customers = [(f"C-{number:04}",) for number in range(1, 51)]
    db.executemany("INSERT OR IGNORE INTO customers VALUES (?)", customers)


def check_customer(db: sqlite3.Connection, new: NewTicket) -> None:
    """Ends the request with 404 when there is no such customer."""
    if not db.execute("SELECT 1 FROM customers WHERE id = ?", [new.customer_id]).fetchone():
        raise HTTPException(404, f"there is no customer {new.customer_id}")


def complete(number: int, new: NewTicket, answers: dict[str, Any]) -> Ticket:
    """A ticket with everything that the provider said about it."""
    return Ticket(
        ticket_id=f"T-{number}",
        customer_id=new.customer_id,
        subject=new.subject,
        team=answers["classify"].team,
        priority=answers["classify"].priority,
        status="open",
        created_at=datetime.now(UTC),
        draft_reply=answers["draft_reply"],
        embedding_version=EMBED_MODEL,
    )


def save(db: sqlite3.Connection, new: NewTicket, answers: dict[str, Any]) -> Ticket:
    """Stores a ticket under the next number."""
    db.execute("BEGIN IMMEDIATE")  # No other writer takes the same number.
    (number,) = db.execute(
        "SELECT coalesce(max(number), ?) + 1 FROM tickets", [LAST_OLD_NUMBER]
    ).fetchone()
    ticket = complete(number, new, answers)
    row = (number, ticket.model_dump_json(), answers["embed"].tobytes())
    db.execute("INSERT INTO tickets VALUES (?, ?, ?)", row)
    return ticket


def load(db: sqlite3.Connection, ticket_id: str) -> Ticket:
    """Reads a ticket, or ends the request with 404."""
    query = "SELECT document FROM tickets WHERE 'T-' || number = ?"
    row = db.execute(query, [ticket_id]).fetchone()
    if row is None:
        raise HTTPException(404, f"there is no ticket {ticket_id}")
    return Ticket.model_validate_json(row[0])


# --- The application -----------------------------------------------------------------------------


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    """Holds the clients and the database file for as long as the application runs."""
    settings = client_settings()
    with tempfile.TemporaryDirectory(prefix="intake-") as folder:
        app.state.database = os.environ.get("INTAKE_DATABASE", Path(folder) / "intake.db")
        with_connection(prepare)
        with httpx.Client(**settings) as app.state.client:
            async with httpx.AsyncClient(**settings) as app.state.async_client:
                yield


app = FastAPI(title="Ticket intake", lifespan=lifespan)


@app.get("/health")
async def health() -> dict[str, str]:
    """No work at all: it answers at once, unless the event loop is held."""
    return {"status": "ok"}


@app.get("/v1/tickets/{ticket_id}")
def read_ticket(ticket_id: str) -> Ticket:
    """One stored ticket."""
    return with_connection(load, ticket_id)


MODE = os.environ.get("INTAKE_MODE", "async")
if MODE not in ENDPOINTS:
    sys.exit(f"INTAKE_MODE={MODE} is unknown; use one of {', '.join(ENDPOINTS)}")
app.post("/v1/tickets", status_code=201)(ENDPOINTS[MODE])


@app.exception_handler(httpx.HTTPError)
async def provider_failed(_request: Request, error: httpx.HTTPError) -> JSONResponse:
    """The provider was not reached, or refused the call."""
    if isinstance(error, httpx.HTTPStatusError) and error.response.status_code == 429:
        busy = {"detail": "the AI provider's quota is used up"}
        return JSONResponse(busy, 503, headers={"Retry-After": "30"})
    return JSONResponse({"detail": f"the AI provider failed: {error!r}"}, 503)


# --- The command line ----------------------------------------------------------------------------


def main() -> None:
    """Serves on 127.0.0.1 until SIGINT or SIGTERM."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=8000, help="0 takes any free one")
    port = parser.parse_args().port
    try:
        listener = socket.create_server(("127.0.0.1", port), backlog=2048)
    except OSError as error:
        print(f"cannot listen on port {port}: {error.strerror}", file=sys.stderr)
        sys.exit(3)
    print(f"listening on http://127.0.0.1:{listener.getsockname()[1]}", flush=True)
    # uvicorn drains and then raises the signal again: that is the end, and not a failure.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: sys.exit(0))
    config = uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=10)
    uvicorn.Server(config).run(sockets=[listener])


if __name__ == "__main__":
    main()
