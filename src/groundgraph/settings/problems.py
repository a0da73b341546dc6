"""What is wrong with a value, in words, and without showing a secret."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, get_args

from pydantic import BaseModel

from groundgraph.core.errors import Problem
from groundgraph.core.registry import nearest
from groundgraph.core.secret_mask import masked
from groundgraph.settings.settings import INTERNAL, Settings

# Which keys there are in a configuration.

# Where a key stands: names of sections and numbers of entries, from the outermost on.
Location = tuple[str | int, ...]


def known_keys(section: Sequence[str | int]) -> list[str]:
    """The keys below `section`, a location such as `("sources", 0)`; `()` for the top level."""
    model: Any = Settings
    for part in section:
        if isinstance(part, str):
            found = getattr(model, "model_fields", {}).get(part)
            model = _model_in(found.annotation) if found else None
    return [name for name in getattr(model, "model_fields", {}) if name not in INTERNAL]


def unknown_key(location: Location) -> str:
    """The message for a key that nobody knows."""
    return f"is not a known key.{nearest(str(location[-1]), known_keys(location[:-1]))}"


def _model_in(annotation: Any) -> type[BaseModel] | None:
    return next(_models(annotation), None)


def _models(annotation: Any) -> Iterator[type[BaseModel]]:
    """The model in an annotation such as `list[SourceEntry]` or `ModelSettings | None`."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for inner in get_args(annotation):
        yield from _models(inner)


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
