"""Names for things that a configuration can ask for, open to third parties through entry points."""

from __future__ import annotations

import difflib
from importlib import import_module
from importlib.metadata import entry_points
from typing import Generic, TypeVar

from groundgraph.core.errors import ConfigurationError, Problem, UnknownName, refuse_any

T = TypeVar("T")

_RESERVED = "its name is reserved and cannot be registered again"


def nearest(name: str, known: list[str]) -> str:
    """A sentence that offers the most similar known name, or an empty string."""
    close = difflib.get_close_matches(name, known, n=1, cutoff=0.6)
    return f" Did you mean '{close[0]}'?" if close else ""


class Registry(Generic[T]):
    """Maps names to things of one kind; entry points of `group` are loaded when a name is first looked up.

    Args:
        kind: the word for one entry in messages, for example "source type".
        group: the entry-point group through which third parties register.
    """

    def __init__(self, kind: str, group: str) -> None:
        self.kind = kind
        self.group = group
        self._entries: dict[str, T] = {}
        self._reserved: set[str] = set()
        self._places: dict[str, str] = {}

    def provide(self, name: str, place: str) -> None:
        """Register what stands at `place`, `module:attribute`, under `name`; it is imported when first asked for."""
        self._places[name] = place

    def register(self, name: str, entry: T, *, reserved: bool = False) -> T:
        """Register `entry` under `name`; a `reserved` one is groundgraph's own, and entry points cannot claim its name.

        Raises:
            ConfigurationError: the name is taken.
        """
        if name in self._reserved:
            raise ConfigurationError([Problem(name, f"the {self.kind} '{name}' is groundgraph's own: {_RESERVED}")])
        if name in self._entries or name in self._places:
            raise ConfigurationError([Problem(name, f"the {self.kind} '{name}' is registered already")])
        self._entries[name] = entry
        if reserved:
            self._reserved.add(name)
        return entry

    def names(self) -> list[str]:
        """All known names, sorted, those of third parties among them.

        Raises:
            ConfigurationError: a third party claims a reserved name.
        """
        self._refuse_impostors()
        return sorted({*self._entries, *self._places, *(point.name for point in entry_points(group=self.group))})

    def get(self, name: str, *, key: str = "") -> T:
        """The entry called `name`.

        Raises:
            UnknownName: nobody registered it; the message lists what is known and offers the nearest name.
            ConfigurationError: a third party claims a reserved name. It never gets it; this is found out when a name
                is looked up that is not built in.
        """
        if name in self._entries:
            return self._entries[name]
        if name in self._places:
            module, _, attribute = self._places[name].partition(":")
            provided: T = getattr(import_module(module), attribute)
            return self._entries.setdefault(name, provided)
        self._refuse_impostors()
        for point in entry_points(group=self.group, name=name):
            entry: T = point.load()
            return self._entries.setdefault(name, entry)
        known = self.names()
        raise UnknownName(
            [
                Problem(
                    key,
                    f"there is no {self.kind} '{name}'.{nearest(name, known)} Known: {', '.join(known) or 'none'}.",
                )
            ]
        )

    def _refuse_impostors(self) -> None:
        points = entry_points(group=self.group) if self._reserved else ()
        problems = [
            Problem(self.group, f"the entry point {point.value} claims the {self.kind} '{point.name}': {_RESERVED}")
            for point in points
            if point.name in self._reserved
        ]
        refuse_any(problems)
