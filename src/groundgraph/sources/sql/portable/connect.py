"""Connections through any dialect of SQLAlchemy, with a driver that blocks or one that is asynchronous.

Nothing is ever committed: each piece of work runs in a transaction that is rolled back.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager, suppress
from contextvars import Context
from typing import Any, Protocol, TypeVar, TypeVarTuple, Unpack

from sqlalchemy import Connection, create_engine, make_url

from groundgraph.core.errors import FilterInvalid, SourceTimeout, SourceUnavailable

T = TypeVar("T")
Ts = TypeVarTuple("Ts")
# An asynchronous driver is told to stop after so many seconds; one that blocks cannot be.
STATEMENT_SECONDS = 60.0
_CLOSE_SECONDS = 5.0


class Connections(Protocol):
    """Runs work on a connection. Its methods block."""

    def run(self, work: Callable[[Connection], T]) -> T:
        """What `work` returns for a connection whose transaction is then rolled back."""

    def close(self) -> None:
        """Close all connections."""


def open_connections(url: str) -> Connections:
    """The connections to the database at `url`; none is opened yet."""
    is_async = make_url(url).get_dialect().is_async
    return _Asynchronous(url) if is_async else _Blocking(url)


class _Blocking:
    def __init__(self, url: str) -> None:
        self._engine = create_engine(url, pool_pre_ping=True)

    def run(self, work: Callable[[Connection], T]) -> T:
        with self._engine.connect() as connection:
            return work(connection)

    def close(self) -> None:
        self._engine.dispose()


class _Loop(asyncio.SelectorEventLoop):
    """Drops what is reported behind its end: a driver whose connecting was cancelled goes on in a thread of its own."""

    def call_soon_threadsafe(
        self, callback: Callable[[Unpack[Ts]], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.Handle:
        try:
            return super().call_soon_threadsafe(callback, *args, context=context)
        except RuntimeError:
            if not self.is_closed():
                raise
            return asyncio.Handle(callback, args, self, context)


class _Asynchronous:
    """The connections belong to an event loop in a thread of its own, whichever loop asks."""

    def __init__(self, url: str) -> None:
        from sqlalchemy.ext.asyncio import create_async_engine

        self._engine = create_async_engine(url, pool_pre_ping=True)
        self._closed = False
        self._guard = threading.Lock()
        self._loop = _Loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="groundgraph-sql", daemon=True)
        self._thread.start()

    def run(self, work: Callable[[Connection], T]) -> T:
        async def once() -> T:
            async with asyncio.timeout(STATEMENT_SECONDS), self._engine.connect() as connection:
                return await connection.run_sync(work)

        with self._guard:
            # Behind the end of the loop nothing would ever run it, and whoever waits would wait for ever.
            if self._closed:
                raise CancelledError
            running = asyncio.run_coroutine_threadsafe(once(), self._loop)
        return running.result()

    def close(self) -> None:
        with self._guard:
            self._closed = True

        async def ended() -> None:
            # Whoever waits for one of these would wait for ever.
            running = asyncio.all_tasks() - {asyncio.current_task()}
            for task in running:
                task.cancel()
            await asyncio.gather(*running, return_exceptions=True)
            await self._engine.dispose()

        with suppress(TimeoutError):
            asyncio.run_coroutine_threadsafe(ended(), self._loop).result(_CLOSE_SECONDS)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(_CLOSE_SECONDS)
        if not self._thread.is_alive():
            self._loop.close()


@contextmanager
def typed_errors(source: str, where: str) -> Iterator[None]:
    """Raises what goes wrong as an error of ours.

    Raises:
        SourceUnavailable: the database does not answer, or refuses.
        SourceTimeout: it took longer than `STATEMENT_SECONDS`.
        FilterInvalid: a value holds no valid text.
    """
    from sqlalchemy.exc import DBAPIError, SQLAlchemyError

    try:
        yield
    except UnicodeEncodeError as error:
        raise FilterInvalid(f"The source '{source}': a value holds no valid text: {error}.") from error
    except CancelledError as error:
        raise SourceUnavailable(f"The source '{source}' was closed while {where} was read.") from error
    except TimeoutError as error:
        told = f"The source '{source}': {where} did not answer within {STATEMENT_SECONDS:g} seconds."
        raise SourceTimeout(told) from error
    except (SQLAlchemyError, OSError) as error:
        reason: Any = error.orig if isinstance(error, DBAPIError) else error
        told = f"The source '{source}': the database {where} cannot be read: {' '.join(str(reason).split())}."
        raise SourceUnavailable(told) from error
