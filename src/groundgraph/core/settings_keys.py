"""Which keys there are in a configuration."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, get_args

from pydantic import BaseModel

from groundgraph.core.registry import nearest
from groundgraph.core.settings import INTERNAL, Settings

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
