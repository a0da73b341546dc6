"""What is wrong with a value, in words, and without showing a secret."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from groundgraph.core.errors import Problem
from groundgraph.core.secret_values import masked
from groundgraph.core.settings_keys import Location


def message_of(error: Any, location: Location) -> str:
    """The message for one of pydantic's errors, with the value that was given where it may be shown."""
    message = str(error["msg"]).removeprefix("Value error, ")
    given = error["input"]
    if error["type"] in ("value_error", "missing") or isinstance(given, dict | list):
        return message
    key = next((part for part in reversed(location) if isinstance(part, str)), "")
    shown = masked(str(given), key)
    return f"{message} (given: {shown if shown != str(given) else repr(given)})"


def merged_problems(problems: list[Problem]) -> list[Problem]:
    """`problems` in the order of the file, those of one key as one: each member of a union complains for itself."""
    by_key: dict[tuple[str, str, int, int], Problem] = {}
    for problem in problems:
        place = (problem.key, problem.file, problem.line, problem.column)
        known = by_key.get(place)
        if known and problem.message not in known.message:
            by_key[place] = replace(known, message=f"{known.message}; or: {problem.message}")
        else:
            by_key.setdefault(place, problem)
    return sorted(by_key.values(), key=lambda problem: (problem.line, problem.column))
