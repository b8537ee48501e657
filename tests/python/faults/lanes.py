"""Runs the probes, several at a time, each against a provider that nobody else talks to."""

from __future__ import annotations

import json
import queue
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import httpx
from conftest import running, waitscope_binary

from . import cases, outcome
from .outcome import Asked
from .probes import LIMIT_S, PROBES, Seen, run

# Some wait for each other, none computes much.
LANES = 8
# A client that has left is noticed at once, or when the next piece is written.
SETTLE_S = 5.0
NS_PER_S = 1e9
US_PER_S = 1e6

Cell = tuple[cases.Case, str]


def provider(*flags: str) -> AbstractContextManager[str]:
    """A provider of its own; gives its URL."""
    command = [str(waitscope_binary()), "provider", "--port", "0", "--exit-with-stdin"]
    return running([*command, "--latency", "fixed:150ms", "--quota", "off", *flags])


def measure(cells: list[Cell]) -> dict[Cell, str]:
    """What comes of each."""
    todo: queue.SimpleQueue[Cell] = queue.SimpleQueue()
    # Those that wait long first, so that none is left over at the end.
    for cell in sorted(cells, key=lambda cell: not cell[0].told_s):
        todo.put(cell)
    with ThreadPoolExecutor(LANES) as pool:
        lanes = [pool.submit(lane, todo) for _ in range(LANES)]
        return {cell: words for done in lanes for cell, words in done.result().items()}


def lane(todo: queue.SimpleQueue[Cell]) -> dict[Cell, str]:
    """Takes one cell after the other until there is none left."""
    found: dict[Cell, str] = {}
    with ExitStack() as stack, suppress(queue.Empty):
        place = None
        while True:
            case, client = todo.get_nowait()
            place = place or Place.open(stack)
            healthy = twin(client, case.call, case.asks_usage)
            seen, asked = place.observe(client, case)
            found[case, client] = outcome.describe(case, seen, healthy, asked)
            if not seen.ended:
                # Its thread may call again some time: not among the next one's calls.
                place = None
    return found


@cache
def twin(client: str, call: str, asks_usage: bool) -> Seen:
    """What the client sees of the same call without a fault."""
    with ExitStack() as stack:
        case = cases.Case("", call, asks_usage=asks_usage)
        seen, asked = Place.open(stack).observe(client, case)
    assert seen.ended and not seen.error and seen.text, f"{client} fails without a fault: {seen}"
    assert asked.times == 1
    return seen


@dataclass
class Place:
    """A provider, its log, and how many calls it has got before."""

    url: str
    log: Path
    calls: int = 0

    @classmethod
    def open(cls, stack: ExitStack) -> Place:
        """Starts a provider that ends with the stack."""
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        log = Path(folder) / "log.jsonl"
        return cls(stack.enter_context(provider("--log", str(log))), log)

    def observe(self, client: str, case: cases.Case) -> tuple[Seen, Asked]:
        """What the client saw, and what the provider saw of it."""
        httpx.post(f"{self.url}/admin/reset").raise_for_status()
        seen = Seen()
        call = (client, PROBES[client], self.url, case, seen)
        thread = threading.Thread(target=run, args=call, daemon=True)
        thread.start()
        thread.join(LIMIT_S + 1)
        # A probe that hangs goes on in its thread: what it has seen so far is what counts.
        seen = Seen(**vars(seen))
        times = self.times() if seen.ended else self.stats()[0]
        pauses_s = self.pauses_s(times) if seen.ended and case.told_s is not None else []
        self.calls += times
        return seen, Asked(times, pauses_s)

    def times(self) -> int:
        """How often the provider was asked, once no call is in flight any more."""
        deadline = time.monotonic() + SETTLE_S
        while True:
            times, in_flight = self.stats()
            if in_flight == 0 or time.monotonic() > deadline:
                return times
            time.sleep(0.02)

    def stats(self) -> tuple[int, int]:
        """All calls so far, and those of them that are in flight."""
        stats = httpx.get(f"{self.url}/admin/stats").raise_for_status().json()
        ended = sum(sum(by_status.values()) for by_status in stats["calls"].values())
        return ended + stats["in_flight"], stats["in_flight"]

    def pauses_s(self, times: int) -> list[float]:
        """How long the client waited after each answer before it asked again."""
        deadline = time.monotonic() + SETTLE_S
        calls: list[dict] = []
        while len(calls) < times and time.monotonic() < deadline:
            time.sleep(0.02)
            logged = map(json.loads, self.log.read_text().splitlines())
            calls = [call for call in logged if call["call"] > self.calls and "status" in call]
        return [
            (after["arrived_ns"] - before["arrived_ns"]) / NS_PER_S - before["ended_us"] / US_PER_S
            for before, after in zip(calls, calls[1:], strict=False)
        ]
