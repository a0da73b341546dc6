"""Keeping what was worked out of a store until the store changes."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from groundgraph.core.latest import Latest

T = TypeVar("T")

_KEPT = 4


class OncePerRevision(Generic[T]):
    """Makes a value once for each key, also when several threads ask for it at the same time; keeps the last few."""

    def __init__(self) -> None:
        self._kept: Latest[Hashable, T] = Latest(_KEPT)
        self._making = threading.Lock()

    def known(self, key: Hashable) -> T | None:
        """The value that was made for `key`, if it is still kept."""
        return self._kept.get(key)

    def get(self, key: Hashable, make: Callable[[], T]) -> T:
        """The value for `key`, made by `make` when there is none. Blocks; raises whatever `make` raises."""
        with self._making:
            return self._kept.get_or_make(key, make)
