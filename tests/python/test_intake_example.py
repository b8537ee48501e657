"""The FastAPI example: what it answers, and who waits in each mode."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest
from conftest import StartIntake, StartProvider

MODES = ["async", "thread", "blocking"]
TICKET = {
    "customer_id": "C-0007",
    "subject": "Charged twice",
    "body": "My card was charged twice for one order.",
    "channel": "email",
}


def post(url: str, **changes: object) -> httpx.Response:
    return httpx.post(f"{url}/v1/tickets", json={**TICKET, **changes}, timeout=60)


@pytest.mark.parametrize("mode", MODES)
def test_a_ticket_is_answered_and_kept(
    mode: str, start_provider: StartProvider, start_intake: StartIntake
) -> None:
    url = start_intake(mode, start_provider("--speed", "0"))
    answer = post(url)
    assert answer.status_code == 201, answer.text
    ticket = answer.json()
    assert ticket["ticket_id"] == "T-500001"
    assert ticket["team"] == "billing"
    assert ticket["draft_reply"]
    parts = re.findall(r"(\w+);dur=[0-9.]+", answer.headers["server-timing"])
    assert parts == ["db", "classify", "draft_reply", "embed"]
    assert httpx.get(f"{url}/v1/tickets/T-500001").json() == ticket
    assert httpx.get(f"{url}/v1/tickets/T-500002").status_code == 404
    assert post(url).json()["ticket_id"] == "T-500002"


@pytest.mark.parametrize("mode", MODES)
def test_what_is_wrong_is_refused(
    mode: str, start_provider: StartProvider, start_intake: StartIntake
) -> None:
    provider = start_provider("--speed", "0")
    url = start_intake(mode, provider)
    assert post(url, customer_id="C-0051").status_code == 404
    for changes in (
        {"customer_id": "0007"},
        {"subject": ""},
        {"body": "x" * 5001},
        {"channel": "fax"},
        {"more": 1},
    ):
        assert post(url, **changes).status_code == 422, changes
    httpx.post(f"{provider}/admin/mode", json={"mode": "outage"}).raise_for_status()
    assert post(url).status_code == 503
    httpx.post(f"{provider}/admin/mode", json={"mode": "normal"}).raise_for_status()
    assert post(url).json()["ticket_id"] == "T-500001", "a failed ticket is not kept"


@pytest.mark.parametrize(("mode", "overlapping"), [("async", 4), ("thread", 4), ("blocking", 1)])
def test_four_tickets_at_once(
    mode: str, overlapping: int, start_provider: StartProvider, start_intake: StartIntake
) -> None:
    provider = start_provider("--latency", "fixed:500ms")
    url = start_intake(mode, provider)
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda number: post(url, subject=f"No. {number}"), range(4)))
    assert [answer.status_code for answer in answers] == [201] * 4
    most = httpx.get(f"{provider}/admin/stats").json()["max_in_flight"]
    assert most == overlapping, f"provider calls at once in mode {mode}"
