"""Values in a form that is the same for every run: no times, no ports, numbers to six decimals."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

# What a recording lists that could not run; every complete recording has it.
SKIPPED = "skipped.json"
DECIMALS = 6
# A server that was started for a recording has another port each time.
_SERVER = re.compile(r"127\.0\.0\.1:\d+")
_TIMES = frozenset({"started_at"})


def canonical(value: Any) -> Any:
    """`value` as plain JSON without times; of the times of steps it keeps which steps there were."""
    if isinstance(value, Mapping):
        kept: dict[str, Any] = {str(name): one for name, one in value.items() if name not in _TIMES}
        return {
            name: sorted(one) if name == "timings_ms" else canonical(one)
            for name, one in sorted(kept.items())
            if name == "timings_ms" or not name.endswith("_ms")
        }
    if isinstance(value, float):
        return round(value, DECIMALS)
    if isinstance(value, str):
        return _SERVER.sub("server", value)
    if isinstance(value, int | None):
        return value
    if isinstance(value, Iterable):
        items = [canonical(one) for one in value]
        return sorted(items, key=str) if isinstance(value, set | frozenset) else items
    return str(value)


def as_lines(rows: Iterable[Mapping[str, Any]]) -> str:
    """`rows` as JSON, one a line."""
    return "".join(json.dumps(canonical(row), ensure_ascii=False, sort_keys=True) + "\n" for row in rows)


def as_document(value: Any) -> str:
    """`value` as one JSON document."""
    return json.dumps(canonical(value), ensure_ascii=False, sort_keys=True, indent=1) + "\n"
