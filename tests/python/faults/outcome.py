"""What was seen, in few words."""

from __future__ import annotations

from dataclasses import dataclass

from . import cases
from .probes import Seen

# The longer one of the clients' own two pauses is between 0.75 s and 1 s.
SHORTER_THAN_OWN_PAUSES_S = 0.5
LONGER_THAN_OWN_PAUSES_S = 1.4


@dataclass(frozen=True)
class Asked:
    """What the provider saw of a client."""

    times: int
    # Between an answer and the next call, where that says something.
    pauses_s: list[float]


def describe(case: cases.Case, seen: Seen, healthy: Seen, asked: Asked) -> str:
    """One cell. `healthy` is the same call without the fault."""
    what = got(case, seen, healthy)
    if not seen.ended:
        if case.told_s and asked.times == 1:
            return "waits as told"
        return f"{what}, then hangs" if what else "hangs"
    if seen.error is None:
        return ", ".join([what or "nothing", *missing(seen, healthy), *retried(case, asked)])
    failure = ", ".join([f"`{seen.error}`", *retried(case, asked)])
    return f"{what}, then {failure}" if what else failure


def got(case: cases.Case, seen: Seen, healthy: Seen) -> str:
    """How much of the text, or of the vector, arrived."""
    noun = "vector" if case.call == cases.EMBEDDING else "text"
    if not seen.text:
        return ""
    if seen.text == healthy.text:
        return f"whole {noun}"
    if case.call == cases.EMBEDDING:
        return f"**wrong vector** ({len(seen.text.split())} of {len(healthy.text.split())} numbers)"
    return "part of the text" if healthy.text.startswith(seen.text) else "**corrupt text**"


def missing(seen: Seen, healthy: Seen) -> list[str]:
    """What the healthy twin has besides, or has not."""
    words = []
    if healthy.finish and not seen.finish:
        words.append("no finish reason")
    elif seen.finish != healthy.finish:
        words.append(f"finish reason `{seen.finish}`")
    if healthy.has_usage and not seen.has_usage:
        words.append("no usage")
    return words


def retried(case: cases.Case, asked: Asked) -> list[str]:
    """How often the provider was asked and, when it had said when to come back, how soon."""
    if asked.times == 1:
        return ["not retried"] if case.told_s is not None or "status" in case.fault else []
    words = f"asked {asked.times} times"
    if case.told_s is None:
        return [words]
    return [f"{words}, {manner(case, max(asked.pauses_s))}"]


def manner(case: cases.Case, longest_pause_s: float) -> str:
    """How a client chose its pauses."""
    if longest_pause_s < SHORTER_THAN_OWN_PAUSES_S:
        obeys = case.told_s < SHORTER_THAN_OWN_PAUSES_S and "malformed" not in case.fault
        return "as told" if obeys else "at once"
    return "as told" if longest_pause_s > LONGER_THAN_OWN_PAUSES_S else "own pauses"
