"""The values of the keys that were used last."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from typing import Generic, TypeVar

from cachetools import LRUCache

K = TypeVar("K")
V = TypeVar("V")


class Latest(Generic[K, V]):
    """At most `most` values, of which the one used longest ago gives way; any thread may use them at any time.

    No method waits: a value is made outside the lock, so two threads that ask at once may both make it.
    """

    def __init__(self, most: int) -> None:
        self._values: LRUCache[K, V] = LRUCache(most)
        self._lock = threading.Lock()

    def __contains__(self, key: K) -> bool:
        with self._lock:
            return key in self._values

    def get(self, key: K) -> V | None:
        """The value of `key`, None when it is not kept."""
        with self._lock:
            # Its own `get` looks for the key twice.
            try:
                return self._values[key]
            except KeyError:
                return None

    def get_all(self, keys: Iterable[K]) -> dict[K, V]:
        """The values of those of `keys` that are kept."""
        found: dict[K, V] = {}
        with self._lock:
            held = self._values
            for key in keys:
                try:
                    found[key] = held[key]
                except KeyError:
                    continue
        return found

    def put(self, key: K, value: V) -> None:
        """Keep `value`, in place of another of that key."""
        with self._lock:
            self._values[key] = value

    def add(self, values: Mapping[K, V]) -> None:
        """Keep those of `values` whose key is not there yet."""
        with self._lock:
            held = self._values
            for key, value in values.items():
                if key not in held:
                    held[key] = value

    def get_or_make(self, key: K, make: Callable[[], V], *, keep: Callable[[V], bool] = lambda _: True) -> V:
        """The value of `key`, made when it is not kept; one for which `keep` is false is made again each time.

        Raises whatever `make` raises.
        """
        with self._lock:
            if key in self._values:
                return self._values[key]
        made = make()
        if not keep(made):
            return made
        with self._lock:
            return self._values.setdefault(key, made)

    def values(self) -> list[V]:
        """All values that are kept."""
        with self._lock:
            return list(self._values.values())

    def drop(self, key: K) -> None:
        """Keep nothing for `key`."""
        with self._lock:
            self._values.pop(key, None)

    def clear(self) -> None:
        """Keep nothing."""
        with self._lock:
            self._values.clear()
