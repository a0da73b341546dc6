"""The values of the keys that were used last."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Latest(Generic[K, V]):
    """At most `most` values, of which the one used longest ago gives way; any thread may use them at any time.

    No method waits: a value is made outside the lock, so two threads that ask at once may both make it.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._values: OrderedDict[K, V] = OrderedDict()
        self._lock = threading.Lock()

    def __contains__(self, key: K) -> bool:
        with self._lock:
            return key in self._values

    def get(self, key: K) -> V | None:
        """The value of `key`, None when it is not kept."""
        return self.get_all((key,)).get(key)

    def get_all(self, keys: Iterable[K]) -> dict[K, V]:
        """The values of those of `keys` that are kept."""
        found: dict[K, V] = {}
        with self._lock:
            held = self._values
            for key in keys:
                if key in held:
                    held.move_to_end(key)
                    found[key] = held[key]
        return found

    def put(self, key: K, value: V) -> None:
        """Keep `value`, in place of another of that key."""
        with self._lock:
            self._keep(key, value)

    def add(self, values: Mapping[K, V]) -> None:
        """Keep those of `values` whose key is not there yet."""
        with self._lock:
            for key, value in values.items():
                if key not in self._values:
                    self._keep(key, value)

    def get_or_make(self, key: K, make: Callable[[], V], *, keep: Callable[[V], bool] = lambda _: True) -> V:
        """The value of `key`, made when it is not kept; one for which `keep` is false is made again each time.

        Raises whatever `make` raises.
        """
        held = self.get_all((key,))
        if key in held:
            return held[key]
        made = make()
        if not keep(made):
            return made
        with self._lock:
            # What another thread made meanwhile stays.
            if key in self._values:
                return self._values[key]
            self._keep(key, made)
            return made

    def _keep(self, key: K, value: V) -> None:
        self._values[key] = value
        self._values.move_to_end(key)
        if len(self._values) > self._most:
            self._values.popitem(last=False)

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
