"""Ending on the server what nobody waits for any more."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from groundgraph.core.errors import SourceUnavailable

_CANCEL_SECONDS = 2.0


class Running:
    """The statements of one query of a source. `cancel` may be called from any thread."""

    def __init__(self) -> None:
        self._connections: set[Any] = set()
        self._cancelled = False
        self._guard = threading.Lock()

    @contextmanager
    def using(self, connection: Any) -> Iterator[None]:
        """Makes the statements of a psycopg connection end when the query is cancelled.

        Raises:
            SourceUnavailable: the query was cancelled before.
        """
        with self._guard:
            if self._cancelled:
                raise SourceUnavailable("The query was cancelled.")
            self._connections.add(connection)
        try:
            yield
        finally:
            with self._guard:
                self._connections.discard(connection)

    def cancel(self) -> None:
        """Ask the server to end every statement that runs now; blocks for two seconds at most for each."""
        # Held until the server was told: a connection that went back to its pool meanwhile may serve another query,
        # whose statement would be ended.
        with self._guard:
            self._cancelled = True
            for connection in self._connections:
                with contextlib.suppress(Exception):
                    connection.cancel_safe(timeout=_CANCEL_SECONDS)


current: ContextVar[Running | None] = ContextVar("groundgraph_running_statements", default=None)
