"""Keys that the documents know and this version does not have: refused by name, never taken and ignored."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from groundgraph.core.data_file import read_data

Location = tuple[str | int, ...]


@dataclass(frozen=True)
class PlannedKey:
    """One entry of `planned_keys.yaml`, which explains the fields."""

    key: str
    feature: str
    off: tuple[Any, ...] = ()
    tolerated: str = ""

    @property
    def parts(self) -> tuple[str, ...]:
        """The names of the key from the outermost section; `[]` stands for each entry of a list."""
        return tuple(self.key.replace("[]", ".[]").split("."))

    @property
    def refusal(self) -> str:
        """The message for a value that asks for the feature."""
        advice = f"Leave it out or set it to {_as_yaml(self.off[0])}." if self.off else "Leave it out."
        return f"is not available in this version: {self.feature}. {advice}"

    def is_off(self, value: Any) -> bool:
        """Whether nothing would be different with `value`."""
        return any(_same(value, off) for off in self.off)


@dataclass(frozen=True)
class PlannedValue:
    """A planned key that a configuration sets, with the place where it stands."""

    planned: PlannedKey
    location: Location
    value: Any


@cache
def planned_keys() -> tuple[PlannedKey, ...]:
    """All planned keys."""
    text = files("groundgraph.core").joinpath("planned_keys.yaml").read_text("utf-8")
    entries: dict[str, dict[str, Any]] = read_data(text)
    return tuple(
        PlannedKey(key, entry["feature"], tuple(entry.get("neutral", ())), entry.get("tolerated", ""))
        for key, entry in entries.items()
    )


def planned_below(section: tuple[str, ...]) -> list[str]:
    """The names of planned keys and sections directly below `section`, `()` for the top level."""
    depth = len(section)
    found = (key.parts for key in planned_keys() if key.parts[:depth] == section and len(key.parts) > depth)
    return list(dict.fromkeys(parts[depth] for parts in found))


def planned_values(given: Mapping[str, Any]) -> list[PlannedValue]:
    """The planned keys that `given` sets."""
    return [
        PlannedValue(planned, location, value)
        for planned in planned_keys()
        for location, value in _found(given, planned.parts, ())
    ]


def _found(node: Any, parts: tuple[str, ...], location: Location) -> Iterator[tuple[Location, Any]]:
    if not parts:
        yield location, node
    elif parts[0] == "[]" and isinstance(node, list):
        for number, item in enumerate(node):
            yield from _found(item, parts[1:], (*location, number))
    elif isinstance(node, Mapping) and parts[0] in node:
        yield from _found(node[parts[0]], parts[1:], (*location, parts[0]))


def _same(one: Any, other: Any) -> bool:
    # Python takes True for 1 and False for 0; a reader of a configuration does not.
    return bool(one == other) and isinstance(one, bool) == isinstance(other, bool)


def _as_yaml(value: Any) -> str:
    return {None: "null", False: "false"}.get(value, str(value)) if not isinstance(value, dict | list) else str(value)
