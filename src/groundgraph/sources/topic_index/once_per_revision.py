"""Keeping what was worked out of a store until the store changes."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

T = TypeVar("T")

_KEPT = 4


class OncePerRevision(Generic[T]):
    """Makes a value once for each key, also when several threads ask for it at the same time; keeps the last few."""

    def __init__(self) -> None:
        self._kept: OrderedDict[Hashable, T] = OrderedDict()
        self._making = threading.Lock()

    def known(self, key: Hashable) -> T | None:
        """The value that was made for `key`, if it is still kept."""
        return self._kept.get(key)

    def get(self, key: Hashable, make: Callable[[], T]) -> T:
        """The value for `key`, made by `make` when there is none. Blocks; raises whatever `make` raises."""
        with self._making:
            if key not in self._kept:
                self._kept[key] = make()
                while len(self._kept) > _KEPT:
                    self._kept.popitem(last=False)
            return self._kept[key]
