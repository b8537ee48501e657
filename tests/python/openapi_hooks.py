"""What a document cannot say: loaded by `schemathesis`, see schemathesis.toml."""

from __future__ import annotations

import re
from itertools import count

import schemathesis

KEY = "Idempotency-Key"
# One that the service refuses must stay as it is.
VALID = re.compile(r"[!-~]([ -~]{0,253}[!-~])?")

used: set[str] = set()
fresh = (f"fresh-{number}" for number in count())


@schemathesis.hook
def before_call(
    context: schemathesis.HookContext, case: schemathesis.Case, kwargs: dict[str, object]
) -> None:
    """Under a key that has opened a ticket the service rightly refuses every other one."""
    key = case.headers.get(KEY)
    if not isinstance(key, str) or not VALID.fullmatch(key):
        return
    if key in used:
        case.headers[KEY] = next(fresh)
    used.add(key)
