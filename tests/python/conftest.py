"""Starts the real servers that the tests talk to, and surely ends them."""

from __future__ import annotations

import os
import select
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

ROOT = Path(__file__).resolve().parents[2]
START_TIMEOUT_S = 30
STOP_TIMEOUT_S = 15
ANNOUNCEMENT = "listening on "

# Everything here is on this machine: a proxy in the environment must not get in between.
for name in [name for name in os.environ if name.lower().endswith("_proxy")]:
    del os.environ[name]
# Without this, litellm asks the internet for prices when it is imported.
os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"

Environment = Mapping[str, str]
StartProvider = Callable[..., str]
StartIntake = Callable[..., str]
StartTickets = Callable[..., str]
MakeDatabase = Callable[[str], str]


def waitscope_binary() -> Path:
    """The binary under test. It is never skipped: without it the whole run fails."""
    path = os.environ.get("WAITSCOPE_BIN")
    if not path:
        raise pytest.UsageError("set WAITSCOPE_BIN to the built binary, or run `cargo xtask test`")
    binary = Path(path)
    if not binary.is_file():
        raise pytest.UsageError(f"WAITSCOPE_BIN={path} does not exist; run `cargo build` first")
    return binary


def pytest_sessionstart() -> None:
    """Says at once what is missing, and not once for each test."""
    waitscope_binary()


@contextmanager
def running(command: list[str], environment: Environment | None = None) -> Iterator[str]:
    """Runs a server of ours, gives its URL, and checks that SIGTERM ends it with 0."""
    server = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, **(environment or {})},
    )
    try:
        yield announced_url(server)
        server.terminate()
        assert server.wait(STOP_TIMEOUT_S) == 0, f"{command} ended with {server.returncode}"
    finally:
        server.kill()
        server.communicate()


def announced_url(server: subprocess.Popen[str]) -> str:
    """Reads the URL from the first line that a server prints."""
    assert server.stdout is not None
    ready, _, _ = select.select([server.stdout], [], [], START_TIMEOUT_S)
    assert ready, f"{server.args} printed nothing for {START_TIMEOUT_S} s"
    line = server.stdout.readline().strip()
    assert line.startswith(ANNOUNCEMENT + "http://127.0.0.1:"), f"first line: {line!r}"
    return line.removeprefix(ANNOUNCEMENT)


@pytest.fixture
def start_provider() -> Iterator[StartProvider]:
    """Starts `waitscope provider` with these flags; it ends with the test."""
    with ExitStack() as servers:

        def start(*flags: str) -> str:
            # A run that is killed closes the pipe, and that ends the provider as well.
            command = [str(waitscope_binary()), "provider", "--port", "0", "--exit-with-stdin"]
            return servers.enter_context(running([*command, *flags]))

        yield start


@pytest.fixture
def start_intake() -> Iterator[StartIntake]:
    """Starts the FastAPI example in this mode, in front of this provider."""
    with ExitStack() as servers:

        def start(mode: str, provider_url: str) -> str:
            command = [sys.executable, str(ROOT / "examples/python/intake.py"), "--port", "0"]
            environment = {"INTAKE_MODE": mode, "PROVIDER_URL": provider_url}
            return servers.enter_context(running(command, environment))

        yield start


@pytest.fixture
def start_tickets() -> Iterator[StartTickets]:
    """Starts `waitscope tickets` in front of this provider, with these settings."""
    with ExitStack() as servers:

        def start(provider_url: str, **settings: str) -> str:
            command = [str(waitscope_binary()), "tickets", "--port", "0", "--exit-with-stdin"]
            environment = {**settings, "PROVIDER_URL": provider_url, "RUST_LOG": "warn"}
            return servers.enter_context(running(command, environment))

        yield start


@pytest.fixture
def make_database(tmp_path: Path) -> Iterator[MakeDatabase]:
    """Makes a new, empty database of this kind, `sqlite` or `postgres`, and gives its URL. It ends
    with the test."""
    with ExitStack() as databases:

        def make(kind: str) -> str:
            if kind == "sqlite":
                return f"sqlite:{tmp_path / 'tickets.db'}"
            return databases.enter_context(scratch_database())

        yield make


@contextmanager
def scratch_database() -> Iterator[str]:
    """A database on the PostgreSQL server that the environment names."""
    server = os.environ.get("WAITSCOPE_TEST_POSTGRES")
    assert server, (
        "WAITSCOPE_TEST_POSTGRES must name a PostgreSQL server; run the tests with "
        "`cargo xtask test`, or behind `cargo xtask with-postgres --`"
    )
    name = f"scratch_{uuid.uuid4().hex}"
    psql(server, f"CREATE DATABASE {name} TEMPLATE template0")
    try:
        yield urlsplit(server)._replace(path=f"/{name}").geturl()
    finally:
        psql(server, f"DROP DATABASE {name} WITH (FORCE)")


def psql(server: str, sql: str) -> None:
    """Does something on a server. Its password is not shown to everybody on the machine."""
    url = urlsplit(server)
    password = url.password or ""
    without = url._replace(netloc=url.netloc.replace(f":{password}@", "@")).geturl()
    command = ["psql", "--no-psqlrc", "--quiet", "--dbname", without, "--command", sql]
    environment = {**os.environ, "PGPASSWORD": unquote(password)}
    subprocess.run(command, check=True, env=environment, timeout=START_TIMEOUT_S)
