"""What was worked out lately and need not be again."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

V = TypeVar("V")

# Filters whose passages are remembered.
FILTERS = 32


class Recent(Generic[V]):
    """The values that were used last; may be asked by several threads.

    Args:
        most: how many are kept.
    """

    def __init__(self, most: int = FILTERS) -> None:
        self._most = most
        self._values: OrderedDict[Hashable, V] = OrderedDict()
        self._guard = threading.Lock()

    def value(self, key: Hashable, make: Callable[[], V], *, keep: Callable[[V], bool] = lambda _: True) -> V:
        """What is known under `key`, else what `make` gives, which is kept when `keep` says so.

        Two threads that ask at once may both make it.
        """
        with self._guard:
            if key in self._values:
                self._values.move_to_end(key)
                return self._values[key]
        made = make()
        if keep(made):
            with self._guard:
                self._values[key] = made
                while len(self._values) > self._most:
                    self._values.popitem(last=False)
        return made
