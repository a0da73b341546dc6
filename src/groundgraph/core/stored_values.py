"""Values from the rows of a store, of which one that is damaged must not keep others from being read."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

UNREADABLE: dict[str, Any] = {}
"""In place of a value that is no mapping: it holds nothing that a reader looks for."""


def readable_value(content: Any) -> dict[str, Any]:
    """The mapping that a row holds as JSON; `UNREADABLE` when it is none."""
    try:
        value = json.loads(content)
    except (TypeError, ValueError, RecursionError):
        return dict(UNREADABLE)
    return value if isinstance(value, dict) else dict(UNREADABLE)


def lacks(value: Any, parts: Iterable[tuple[str, type | tuple[type, ...]]]) -> str:
    """The name of the first of `parts` that a stored value has not, or not of its type; empty when it has all."""
    held = value if isinstance(value, Mapping) else {}
    return next((name for name, kind in parts if not isinstance(held.get(name), kind)), "")
