"""`schemathesis` reads the ticket service's document and tries to break what it says."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from conftest import MakeDatabase, StartProvider, StartTickets

HERE = Path(__file__).resolve().parent
TIMEOUT_S = 300
INSTANT = ("--quota", "off", "--speed", "0")
OPERATIONS = 6

Document = dict[str, Any]


@dataclass
class Run:
    """What came out."""

    exit_code: int
    output: str
    report: dict[str, Any]

    def failures(self) -> set[str]:
        return {failure["type"] for failure in self.report["failures"]}


def schemathesis(document: str, folder: Path, *flags: str, settings: str = "") -> Run:
    """Tries to break the API that this file or URL describes. Most settings are beside this test."""
    report = folder / "report.json"
    all_settings = folder / "schemathesis.toml"
    all_settings.write_text((HERE / "schemathesis.toml").read_text() + settings)
    program = Path(sys.executable).with_name("schemathesis")
    command = [str(program), "--config-file", str(all_settings), "run", document, "--no-color"]
    command += ["--report-json-path", str(report), *flags]
    # It finds the hooks here and writes nothing beside the sources.
    environment = {"PYTHONPATH": str(HERE), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
    )
    output = done.stdout + done.stderr
    assert report.is_file(), output
    return Run(done.returncode, output, json.loads(report.read_text()))


def answers(url: str, status: int) -> int:
    """How many requests for tickets were answered with this status."""
    lines = httpx.get(f"{url}/metrics").text.splitlines()
    counts = (
        int(line.rsplit(" ", 1)[1])
        for line in lines
        if line.startswith("tickets_http_requests_total{")
        and 'route="/v1/tickets' in line
        and f'status="{status}"' in line
    )
    return sum(counts)


def check_clean(run: Run, url: str) -> None:
    """Nothing was found, and that is not because little was tried."""
    assert run.exit_code == 0, run.output
    assert run.report["complete"], run.output
    assert run.report["operations"]["tested"] == OPERATIONS, run.output
    outcomes = {name: phase["status"] for name, phase in run.report["phases"].items()}
    phases = ["examples", "coverage", "fuzzing", "stateful"]
    assert outcomes == dict.fromkeys(phases, "success"), run.output
    assert run.report["test_cases"]["generated"] > 700, run.output
    taken_in = httpx.get(f"{url}/metrics").text
    for status, at_least in ((201, 100), (200, 100), (404, 3), (415, 1), (422, 50)):
        assert answers(url, status) >= at_least, f"{status}: {taken_in}"


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_nothing_breaks_what_the_document_says(
    kind: str,
    make_database: MakeDatabase,
    start_provider: StartProvider,
    start_tickets: StartTickets,
    tmp_path: Path,
) -> None:
    provider = start_provider(*INSTANT)
    url = start_tickets(provider, DATABASE_URL=make_database(kind))
    check_clean(schemathesis(f"{url}/openapi.json", tmp_path), url)
    assert answers(url, 401) == 0


def test_nothing_gets_past_the_key(
    make_database: MakeDatabase,
    start_provider: StartProvider,
    start_tickets: StartTickets,
    tmp_path: Path,
) -> None:
    url = start_tickets(
        start_provider(*INSTANT),
        DATABASE_URL=make_database("sqlite"),
        INTAKE_MODE="thread",
        API_KEY="s3cret",
    )
    knows_the_key = '[auth.openapi.ApiKey]\napi_key = "s3cret"\n'
    run = schemathesis(f"{url}/openapi.json", tmp_path, settings=knows_the_key)
    check_clean(run, url)
    assert answers(url, 401) >= 3, "the check for ignored authentication did not run"


def an_answer_without_null(document: Document) -> None:
    document["components"]["schemas"]["Ticket"]["properties"]["draft_reply"]["type"] = "string"


def a_status_too_few(document: Document) -> None:
    del document["paths"]["/v1/tickets/{id}"]["get"]["responses"]["404"]


def a_header_of_another_form(document: Document) -> None:
    document["components"]["headers"]["RequestId"]["schema"]["pattern"] = "^[0-9]{3}$"


def a_subject_that_is_too_long(document: Document) -> None:
    document["components"]["schemas"]["NewTicket"]["properties"]["subject"]["maxLength"] += 1


def a_subject_that_is_short_enough(document: Document) -> None:
    document["components"]["schemas"]["NewTicket"]["properties"]["subject"]["maxLength"] -= 1


def a_key_that_nobody_asks_for(document: Document) -> None:
    scheme = {"type": "apiKey", "in": "header", "name": "X-API-Key"}
    document["components"]["securitySchemes"] = {"ApiKey": scheme}
    document["paths"]["/v1/tickets/{id}"]["get"]["security"] = [{"ApiKey": []}]


@pytest.mark.parametrize(
    ("lie", "operation", "failure"),
    [
        (an_answer_without_null, "showTicket", "JsonSchemaError"),
        (a_status_too_few, "showTicket", "UndefinedStatusCode"),
        (a_header_of_another_form, "showTicket", "JsonSchemaError"),
        (a_subject_that_is_too_long, "createTicket", "RejectedPositiveData"),
        (a_subject_that_is_short_enough, "createTicket", "AcceptedNegativeData"),
        (a_key_that_nobody_asks_for, "showTicket", "IgnoredAuth"),
    ],
)
def test_a_lie_is_found(
    lie: Callable[[Document], None],
    operation: str,
    failure: str,
    make_database: MakeDatabase,
    start_provider: StartProvider,
    start_tickets: StartTickets,
    tmp_path: Path,
) -> None:
    url = start_tickets(start_provider(*INSTANT), DATABASE_URL=make_database("sqlite"))
    document = httpx.get(f"{url}/openapi.json").json()
    lie(document)
    changed = tmp_path / "changed.json"
    changed.write_text(json.dumps(document))
    flags = ("--url", url, "--include-operation-id", operation, "--phases", "examples,coverage")
    run = schemathesis(str(changed), tmp_path, *flags)
    assert run.exit_code == 1, run.output
    assert failure in run.failures(), run.output
