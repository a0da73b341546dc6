"""Which keys there are: those of the settings and those of `planned_keys.yaml`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, get_args

from pydantic import BaseModel

from groundgraph.core.planned_keys import Location, PlannedKey, planned_below, planned_keys, planned_values
from groundgraph.core.registry import nearest
from groundgraph.core.settings import INTERNAL, Settings


def known_keys(section: Sequence[str | int]) -> list[str]:
    """The keys below `section`, a location such as `("sources", 0)`; `()` for the top level."""
    model: Any = Settings
    for part in section:
        if isinstance(part, str):
            found = getattr(model, "model_fields", {}).get(part)
            model = _model_in(found.annotation) if found else None
    own = [name for name in getattr(model, "model_fields", {}) if name not in INTERNAL]
    pattern = tuple("[]" if isinstance(part, int) else part for part in section)
    return [*own, *(name for name in planned_below(pattern) if name not in own)]


def unknown_key(location: Location) -> str:
    """The message for a key that nobody knows."""
    return f"is not a known key.{nearest(str(location[-1]), known_keys(location[:-1]))}"


def is_setting(key: PlannedKey) -> bool:
    """Whether `key` is planned although the settings have it."""
    *section, last = key.parts
    model: Any = Settings
    for part in section:
        if part != "[]":
            found = getattr(model, "model_fields", {}).get(part)
            model = _model_in(found.annotation) if found else None
    return last in getattr(model, "model_fields", {})


def unknown_planned_keys(given: Mapping[str, Any]) -> tuple[dict[str, Any], list[tuple[Location, str]]]:
    """`given` without planned keys, and (location, message) of what stands in their sections and is unknown."""
    rest: dict[str, Any] = _without(given, {found.location for found in planned_values(given)})
    problems: list[tuple[Location, str]] = []
    for section in _planned_sections() & set(rest):
        left = rest.pop(section)
        if isinstance(left, Mapping):
            problems += [((section, key), unknown_key((section, key))) for key in left]
        elif left is not None:
            problems.append(((section,), "must be a mapping"))
    return rest, problems


def _planned_sections() -> set[str]:
    """The sections at the top level that have planned keys only."""
    return {key.parts[0] for key in planned_keys() if len(key.parts) > 1} - set(Settings.model_fields)


def _without(node: Any, locations: set[Location], here: Location = ()) -> Any:
    if isinstance(node, Mapping):
        kept = {key: value for key, value in node.items() if (*here, key) not in locations}
        return {key: _without(value, locations, (*here, key)) for key, value in kept.items()}
    if isinstance(node, list):
        return [_without(value, locations, (*here, number)) for number, value in enumerate(node)]
    return node


def _model_in(annotation: Any) -> type[BaseModel] | None:
    return next(_models(annotation), None)


def _models(annotation: Any) -> Iterator[type[BaseModel]]:
    """The model in an annotation such as `list[SourceEntry]` or `ModelSettings | None`."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for inner in get_args(annotation):
        yield from _models(inner)
