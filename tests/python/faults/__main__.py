"""Measures what clients make of each fault and compares the page with it, or writes the page when
UPDATE_DOCS is set.

The Node packages must be installed (`cargo xtask test --only setup-node`) and WAITSCOPE_BIN must
name the binary.
"""

from __future__ import annotations

import argparse
import difflib
import os
import re
import sys
from pathlib import Path

import httpx
from conftest import ROOT

from . import table
from .cases import SECTIONS
from .lanes import Cell, measure, provider
from .probes import CHAT_MODEL, MESSAGES

WRITE = "UPDATE_DOCS"
PAGE = ROOT / "docs" / "provider-faults.md"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m faults", description=__doc__)
    parser.add_argument("--only", metavar="TEXT", help="print the rows with this in their fault")
    arguments = parser.parse_args()
    if arguments.only:
        cells = [cell for cell in table.cells() if arguments.only in cell[0].fault]
        for (case, client), words in measure(cells).items():
            print(f"{case.fault} ({case.call}), {client}: {words}")
        return 0
    if missing := faults_without_row():
        print(f"no row for: {', '.join(missing)}", file=sys.stderr)
        return 1
    found = measure(table.cells())
    if os.environ.get(WRITE):
        PAGE.write_text(table.page(found))
        print(f"wrote {PAGE.relative_to(ROOT)}")
        return 0
    return compare(found)


def faults_without_row() -> list[str]:
    """The provider names all its faults when it is asked for one that it does not have."""
    with provider() as url:
        body = {"model": CHAT_MODEL, "messages": MESSAGES}
        unknown = {"x-waitscope-fault": "none-such"}
        answer = httpx.post(f"{url}/v1/chat/completions", json=body, headers=unknown)
    assert answer.status_code == 400, answer.text
    known = re.search(r": use ([\w, -]+)", answer.json()["error"]["message"])
    assert known, answer.text
    tried = ",".join(case.fault for section in SECTIONS for case in section.cases).split(",")
    names = {fault.partition("=")[0] for fault in tried}
    return [name for name in known[1].split(", ") if name not in names]


def compare(found: dict[Cell, str]) -> int:
    """0 when the page says what was seen. What differs is measured a second time before it counts:
    a busy machine can make a pause longer."""
    written = PAGE.read_text() if PAGE.exists() else ""
    rows = set(written.splitlines())
    new = [line for line in table.page(found).splitlines() if line not in rows]
    starts = {cell: table.row_start(cell[0]) for cell in found}
    doubtful = [cell for cell in found if any(line.startswith(starts[cell]) for line in new)]
    if doubtful:
        found = {**found, **measure(doubtful)}
    page = table.page(found)
    if page == written:
        print(f"{PAGE.relative_to(ROOT)} is true: {len(found)} cells")
        return 0
    both = (written.splitlines(), page.splitlines(), str(PAGE.relative_to(ROOT)), "seen now")
    difference = difflib.unified_diff(*both, n=0, lineterm="")
    print("\n".join(difference), file=sys.stderr)
    print(f"if this is as it should be, write it with {WRITE}=1", file=sys.stderr)
    return 1


if __name__ == "__main__":
    # Not `sys.exit`: a client that hangs in a thread must not be waited for.
    status = main()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)
