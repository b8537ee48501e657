"""The rows of the table: which fault, switched on for which call."""

from __future__ import annotations

from dataclasses import dataclass

WHOLE = "whole"
STREAMED = "streamed"
# Streamed, and put together again by what the client has for that.
COLLECTED = "collected"
# The streamed events of `/v1/responses`.
RESPONSES = "responses"
EMBEDDING = "embedding"

OPENAI = frozenset({"openai-python", "openai-node", "litellm"})
OPENAI_OWN = frozenset({"openai-python", "openai-node"})
ANTHROPIC = frozenset({"anthropic-python"})


@dataclass(frozen=True)
class Case:
    """One row."""

    # What the header `x-waitscope-fault` says; empty for the healthy twin.
    fault: str
    call: str = STREAMED
    # What the answer says about when to come back, in seconds, if it says so.
    told_s: float | None = None
    # Whether a stream is asked to end with its usage.
    asks_usage: bool = True
    # The clients whose protocol has this.
    clients: frozenset[str] = OPENAI | ANTHROPIC


@dataclass(frozen=True)
class Section:
    """One table."""

    title: str
    about: str
    cases: tuple[Case, ...]


SECTIONS = (
    Section(
        "Errors",
        "A whole call that is refused.",
        (
            Case("status=400", WHOLE),
            Case("status=429", WHOLE),
            Case("status=500", WHOLE),
            Case("status=503", WHOLE),
            Case("status=529", WHOLE),
            Case("status=503,should-retry=false", WHOLE),
            Case("status=400,should-retry=true", WHOLE),
            Case("retry-after=0", WHOLE, told_s=0),
            Case("retry-after=date:3s", WHOLE, told_s=3),
            Case("retry-after=90", WHOLE, told_s=90),
            Case("retry-after=300", WHOLE, told_s=300),
            Case("retry-after=malformed", WHOLE, told_s=0),
            Case("retry-after-ms=50", WHOLE, told_s=0.05),
            Case("retry-after-ms=50,retry-after=90", WHOLE, told_s=0.05),
        ),
    ),
    Section(
        "Whole answers",
        "The answer is one JSON document.",
        (
            Case("hang", WHOLE),
            Case("reset", WHOLE),
            Case("reset-after=5", WHOLE),
            Case("cut-after=5", WHOLE),
            Case("pause-after=5:30s", WHOLE),
            Case("bad-json-after=5", WHOLE),
            Case("truncated-json-after=5", WHOLE),
            Case("no-usage", WHOLE),
            Case("one-byte", WHOLE),
            Case("split-utf8", WHOLE),
            Case("floats", EMBEDDING, clients=OPENAI),
        ),
    ),
    Section(
        "Streams that break off or fall silent",
        "The text is read piece by piece; *collected* means through the client's own collector.",
        (
            Case("hang"),
            Case("reset"),
            Case("reset-after=5"),
            Case("cut-after=5"),
            Case("end-after=5"),
            Case("end-after=5", COLLECTED, clients=OPENAI),
            Case("pause-after=5:30s"),
            Case("no-done"),
            Case("stay-open"),
            Case("open-after-done"),
            Case("error-after=5"),
        ),
    ),
    Section(
        "Streams with unusual events",
        "Chunks without choices, or with a choice without delta, are passed over by the reader.",
        (
            Case("bad-json-after=5"),
            Case("truncated-json-after=5"),
            Case("delta-null", clients=OPENAI),
            Case("delta-null", COLLECTED, clients=OPENAI),
            Case("usage-unasked", asks_usage=False, clients=OPENAI),
            Case("usage-unasked", COLLECTED, asks_usage=False, clients=OPENAI),
            Case("no-usage"),
            Case("no-message-start"),
            Case("no-event-lines", clients=ANTHROPIC),
            Case("comments"),
            Case("id-ping"),
            Case("data-ping"),
        ),
    ),
    Section(
        "Streams of responses",
        "The same, where `/v1/responses` differs from chat.",
        (
            Case("reset-after=5", RESPONSES, clients=OPENAI_OWN),
            Case("end-after=5", RESPONSES, clients=OPENAI_OWN),
            Case("no-done", RESPONSES, clients=OPENAI_OWN),
            Case("open-after-done", RESPONSES, clients=OPENAI_OWN),
            Case("error-after=5", RESPONSES, clients=OPENAI_OWN),
            Case("bad-json-after=5", RESPONSES, clients=OPENAI_OWN),
            Case("no-message-start", RESPONSES, clients=OPENAI_OWN),
            Case("no-event-lines", RESPONSES, clients=OPENAI_OWN),
            Case("id-ping", RESPONSES, clients=OPENAI_OWN),
        ),
    ),
    Section(
        "Streams in unusual bytes",
        "What every client should take.",
        (
            Case("one-byte"),
            Case("split-utf8"),
            Case("crlf"),
            Case("no-space"),
            Case("no-blank-end"),
        ),
    ),
)
