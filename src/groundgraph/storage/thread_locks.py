"""One turn at a time on one thread, whichever event loop or process it runs on."""

from __future__ import annotations

import asyncio
import sys
import threading
import time
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from concurrent.futures import Future, InvalidStateError
from contextlib import asynccontextmanager, contextmanager, nullcontext, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeVar
from weakref import WeakKeyDictionary

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver

from groundgraph.core.errors import ThreadBusy, ThreadConflict
from groundgraph.core.evidence_store import unbroken

if TYPE_CHECKING:
    from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver


# Waiting for a thread that another process may hold.

_FIRST_PAUSE, _LONGEST_PAUSE = 0.02, 0.25
T = TypeVar("T")


async def claimed(name: str, wait: float, claim: Callable[[], Awaitable[T | None]]) -> T:
    """What `claim` gives of the thread `name`, asked again as long as that is None.

    Raises:
        ThreadBusy: it is None for all of `wait` seconds.
    """
    until, pause = time.monotonic() + wait, _FIRST_PAUSE
    while (given := await claim()) is None:
        if time.monotonic() >= until:
            raise ThreadBusy(
                f"The thread '{name}' was busy with a turn of another process for {round(wait, 2):g} seconds. "
                "Nothing was written to it; try again, or use another thread."
            )
        await asyncio.sleep(pause)
        pause = min(2 * pause, _LONGEST_PAUSE)
    return given


# What a turn writes to its thread, so that it can be told from what another process writes, and is over with the turn.


class TurnWrites:
    """The writes of one turn to a thread.

    LangGraph writes in tasks of its own. A turn that is cancelled while it waits for the last of them waits no longer,
    and they would go on in a thread that is another turn's by then.
    """

    def __init__(self, thread_id: str) -> None:
        self.thread_id = thread_id
        self.checkpoints = set[str]()
        """Those that it has written so far, without those of inner graphs."""
        self._under_way = 0
        self._none_under_way = asyncio.Event()
        self._over = False

    @contextmanager
    def one(self, config: RunnableConfig) -> Iterator[None]:
        """Around a write to the place in `config`.

        Raises:
            CancelledError: the turn is over.
        """
        if str(config["configurable"]["thread_id"]) != self.thread_id:
            yield
            return
        if self._over:
            raise asyncio.CancelledError
        self._under_way += 1
        try:
            yield
        finally:
            self._under_way -= 1
            if not self._under_way:
                self._none_under_way.set()

    def wrote(self, config: RunnableConfig, checkpoint: Mapping[str, Any]) -> None:
        """`checkpoint` stands at the place in `config`."""
        if not config["configurable"].get("checkpoint_ns"):
            self.checkpoints.add(checkpoint["id"])

    async def end(self) -> None:
        """The turn is over: returns when what is under way is written, and nothing more is."""
        self._over = True
        if self._under_way:
            self._none_under_way.clear()
            await unbroken(self._none_under_way.wait())


turn_writes: ContextVar[TurnWrites | None] = ContextVar("groundgraph_turn_writes", default=None)


# Telling whether another process wrote to a thread during a turn.


@dataclass
class ForeignWrites:
    """What a thread looked like before a turn, for a saver that several processes can write to.

    Two processes that run a turn on one thread at once each build on the same checkpoint; both branches are kept, but
    only the newest is the thread's head, so the messages of the other are not seen again.
    """

    look: Look
    head: str | None
    version: int
    own: TurnWrites
    """What the turn writes itself."""

    @classmethod
    async def watch(cls, saver: BaseCheckpointSaver[Any], thread_id: str) -> ForeignWrites | None:
        """The state of the thread now; None for a saver that belongs to one process, or has rules of its own."""
        look = _look_for(saver, thread_id)
        if look is None:
            return None
        head, version = await look.head_and_version()
        return cls(look, head, version, TurnWrites(thread_id))

    async def check(self) -> None:
        """
        Raises:
            ThreadConflict: a checkpoint that is no ancestor of the head was written since `watch`.
        """
        if self.look.tells_versions and (await self.look.head_and_version())[1] == self.version:
            return
        parents = await self.look.written_since(self.head or "")
        newest = max(parents, default=None)
        chain = set()
        while newest in parents:
            chain.add(newest)
            newest = parents[newest]
        if set(parents) - chain:
            own = self.own.checkpoints
            kept = bool(own) and max(own) in chain
            which = _KEPT if kept else _LOST if own else _UNKNOWN
            raise ThreadConflict(
                f"Another process wrote to the thread '{self.look.thread_id}' during this turn, and the thread goes on "
                f"from only one of the two. {which} Let one process own a thread, or serve the "
                "graph with LangGraph Server, or keep the threads with `open_graph`, where processes take turns.",
                kept=kept,
            )


_KEPT = "It goes on from this one: this turn was kept, so do not ask again."
_LOST = "It goes on from the other one: this turn was not kept, so ask again."
_UNKNOWN = "Which one, this checkpointer does not tell: look whether the question is in the thread before asking again."


class Look(Protocol):
    """Looks at the checkpoints of one thread."""

    thread_id: str
    tells_versions: bool
    """Whether an equal version means that no other process wrote."""

    async def head_and_version(self) -> tuple[str | None, int]:
        """The newest checkpoint of the thread, and a number that changes when another connection writes."""

    async def written_since(self, head: str) -> dict[str, str]:
        """By id, the parents of the checkpoints after `head`."""


@dataclass
class _SqliteLook:
    """SQLite tells cheaply whether any other connection wrote to the file (`PRAGMA data_version`)."""

    saver: AsyncSqliteSaver
    thread_id: str
    tells_versions: bool = True

    async def head_and_version(self) -> tuple[str | None, int]:
        query = (
            "SELECT (SELECT max(checkpoint_id) FROM checkpoints WHERE thread_id = ? AND checkpoint_ns = ''), "
            "data_version FROM pragma_data_version"
        )
        await self.saver.setup()
        async with self.saver.lock:
            # One way to the connection's thread and back; a cursor takes three.
            rows = list(await self.saver.conn.execute_fetchall(query, (self.thread_id,)))
        return (rows[0][0], int(rows[0][1])) if rows else (None, 0)

    async def written_since(self, head: str) -> dict[str, str]:
        query = (
            "SELECT checkpoint_id, parent_checkpoint_id FROM checkpoints "
            "WHERE thread_id = ? AND checkpoint_ns = '' AND checkpoint_id > ?"
        )
        async with self.saver.lock, self.saver.conn.execute(query, (self.thread_id, head)) as cursor:
            return {str(row[0]): str(row[1] or "") async for row in cursor}


@dataclass
class _PostgresLook:
    """PostgreSQL has no such number for a thread; reading the few new checkpoints costs as little."""

    saver: Any
    thread_id: str
    tells_versions: bool = False

    async def head_and_version(self) -> tuple[str | None, int]:
        rows = await self._rows(
            "SELECT max(checkpoint_id) AS head FROM checkpoints WHERE thread_id = %s AND checkpoint_ns = ''",
            self.thread_id,
        )
        return rows[0]["head"], 0

    async def written_since(self, head: str) -> dict[str, str]:
        rows = await self._rows(
            "SELECT checkpoint_id, parent_checkpoint_id FROM checkpoints "
            "WHERE thread_id = %s AND checkpoint_ns = '' AND checkpoint_id > %s",
            self.thread_id,
            head,
        )
        return {row["checkpoint_id"]: row["parent_checkpoint_id"] or "" for row in rows}

    async def _rows(self, query: str, *values: str) -> list[Any]:
        async with self.saver._cursor() as cursor:
            await cursor.execute(query, values)
            found: list[Any] = await cursor.fetchall()
            return found


def _look_for(saver: BaseCheckpointSaver[Any], thread_id: str) -> Look | None:
    # Not imported for this: whoever has such a saver has loaded its package.
    sqlite = sys.modules.get("langgraph.checkpoint.sqlite.aio")
    if sqlite is not None and isinstance(saver, sqlite.AsyncSqliteSaver):
        return _SqliteLook(saver, thread_id)
    postgres = sys.modules.get("langgraph.checkpoint.postgres.aio")
    if postgres is not None and isinstance(saver, postgres.AsyncPostgresSaver):
        return _PostgresLook(saver, thread_id)
    return None


_guard = threading.Lock()
_queues: WeakKeyDictionary[Any, dict[str, deque[Future[None]]]] = WeakKeyDictionary()


@asynccontextmanager
async def thread_lock(saver: Any, thread_id: str, wait: float) -> AsyncIterator[None]:
    """Holds the thread `thread_id` of `saver`; first come, first served.

    Raises:
        ThreadBusy: another turn held the thread for all of `wait` seconds.
    """
    ticket = _enter(saver, thread_id)
    try:
        await asyncio.wait_for(asyncio.wrap_future(ticket), wait)
    except TimeoutError:
        _leave(saver, thread_id, ticket)
        raise ThreadBusy(
            f"The thread '{thread_id}' was busy with another turn for {round(wait, 2):g} seconds. Nothing was written "
            "to it; try again, close a stream of that turn which is not read on, or use another thread."
        ) from None
    except BaseException:
        _leave(saver, thread_id, ticket)
        raise
    try:
        yield
    finally:
        _leave(saver, thread_id, ticket)


@asynccontextmanager
async def held_thread(saver: Any, thread_id: str, wait: float) -> AsyncIterator[None]:
    """Holds the thread against other turns of this process and, where `saver` can claim it, of other processes.

    Args:
        saver: of the graph; None holds nothing.
        thread_id: the thread.
        wait: seconds, for both together.

    Raises:
        ThreadBusy: another turn held the thread for all of `wait` seconds.
    """
    if not saver:
        yield
        return
    until = time.monotonic() + wait
    # Several savers may share a connection; whoever shares it shares the thread.
    async with thread_lock(getattr(saver, "conn", saver), thread_id, wait):
        claims = getattr(saver, "claims", None)
        async with claims.hold(thread_id, max(0.0, until - time.monotonic())) if claims else nullcontext():
            yield


async def turns_ended(saver: Any, wait: float) -> None:
    """Returns when every turn that is under way on `saver` now has ended.

    Raises:
        ThreadBusy: one of them did not within `wait` seconds.
    """
    with _guard:
        threads = list(_queues.get(saver, ()))
    for thread in threads:
        async with thread_lock(saver, thread, wait):
            pass


def _enter(saver: Any, thread_id: str) -> Future[None]:
    ticket: Future[None] = Future()
    with _guard:
        queue = _queues.setdefault(saver, {}).setdefault(thread_id, deque())
        queue.append(ticket)
        first = queue[0] is ticket
    if first:
        ticket.set_result(None)
    return ticket


def _leave(saver: Any, thread_id: str, ticket: Future[None]) -> None:
    with _guard:
        threads = _queues.get(saver, {})
        queue = threads.get(thread_id)
        if queue is None or ticket not in queue:
            return
        was_first = queue[0] is ticket
        queue.remove(ticket)
        following = queue[0] if queue and was_first else None
        if not queue:
            del threads[thread_id]
    if following is not None:
        # It may have been given up in another thread meanwhile; then its own `_leave` lets the next one in.
        with suppress(InvalidStateError):
            following.set_result(None)
