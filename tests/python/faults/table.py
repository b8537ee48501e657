"""The table as a page of the docs."""

from __future__ import annotations

import json
from importlib.metadata import version

from .cases import SECTIONS, Case
from .probes import LIMIT_S, NODE_TESTS, PROBES, TIMEOUT_S

Cell = tuple[Case, str]

ABOUT = """\
# What real clients make of each fault

Each fault of the [simulated provider](provider.md#faults) is switched on for one call, with the
header `x-waitscope-fault`, and the call is made through
{clients}.
The timeout is {timeout_s:g} s, everything else is the client's default, such as two retries.

`Name` is the class that is raised. *Asked 3 times*: the client retried by itself; *as told* when it
came back at the time that the answer named, with its *own pauses* when it did not care (0.5 s and
1 s, less up to a quarter), *at once* when it did not pause. *Hangs*: still waiting after {limit_s:g} s.

`cargo xtask test --only fault-table` measures all of this anew and fails when a cell has changed;
with `UPDATE_DOCS=1` it writes this page.
"""


def cells() -> list[Cell]:
    """All cells that have a meaning."""
    rows = [case for section in SECTIONS for case in section.cases]
    return [(case, client) for case in rows for client in PROBES if client in case.clients]


def page(found: dict[Cell, str]) -> str:
    """Markdown."""
    names = [f"{client} {version_of(client)}" for client in PROBES]
    clients = ", ".join(names[:-1]) + f" and {names[-1]}"
    lines = [ABOUT.format(clients=clients, timeout_s=TIMEOUT_S, limit_s=LIMIT_S)]
    for section in SECTIONS:
        lines += [f"## {section.title}\n", f"{section.about}\n"]
        lines.append("| fault | call | " + " | ".join(PROBES) + " |")
        lines.append("|---|---|" + "---|" * len(PROBES))
        for case in section.cases:
            words = [found.get((case, client), "") for client in PROBES]
            lines.append(row_start(case) + " | ".join(words) + " |")
        lines.append("")
    return "\n".join(lines[:-1]) + "\n"


def row_start(case: Case) -> str:
    """What tells a row from all others."""
    return f"| `{case.fault}` | {case.call} | "


def version_of(client: str) -> str:
    """The pinned version."""
    if client == "openai-node":
        package = NODE_TESTS / "node_modules" / "openai" / "package.json"
        return json.loads(package.read_text())["version"]
    return version(client.removesuffix("-python"))
