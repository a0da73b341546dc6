"""Conversations on a LangGraph Server, by its own client: its threads, its runs, its items as a
store, its rules about who may do what, and what it refuses as errors of ours."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Mapping
from contextlib import aclosing, contextmanager, suppress
from datetime import datetime
from typing import Any
from urllib.parse import quote

import httpx
from langchain_core.messages import AIMessage
from langgraph.store.base import BaseStore, GetOp, Item, Op, PutOp, Result, SearchItem, SearchOp
from langgraph_sdk.client import LangGraphClient
from langgraph_sdk.schema import Command, RunStatus, StreamMode
from typing_extensions import override

from groundgraph.core import errors
from groundgraph.core.errors import GroundGraphError, InputInvalid, ScopeMissing, StorageUnavailable, ThreadBusy
from groundgraph.serve.conversations import Event, NotFound, Thread, User
from groundgraph.serve.kept_conversations import FIRST, Heard, KeptConversations, KeptThreads, Run

_NO_THREAD = "There is no such conversation."
_STATUS: Mapping[int, GroundGraphError] = {
    401: ScopeMissing("The server does not know you any more. Sign in again."),
    403: ScopeMissing("The server does not let you do this."),
    404: NotFound(_NO_THREAD),
    409: ThreadBusy("Another turn is under way in this conversation. Wait until it has ended."),
}


@contextmanager
def told_as_ours() -> Iterator[None]:
    """Within it, what the server refuses is an error of ours.

    Raises:
        GroundGraphError: it refuses.
    """
    try:
        yield
    except httpx.HTTPStatusError as error:
        status = error.response.status_code
        if status in _STATUS:
            raise _STATUS[status] from error
        raise InputInvalid(f"The server refuses this ({status}).") if status < 500 else _down(error) from error
    except httpx.TransportError as error:
        raise _down(error) from error


def _down(error: Exception) -> StorageUnavailable:
    return StorageUnavailable(f"The server does not answer ({type(error).__name__}). Ask again later.")


class ServerStore(BaseStore):
    """What stands below `prefix` in the store of a server, by its own client.

    Args:
        client: signed in as the user.
        prefix: where the server lets the user write.
    """

    def __init__(self, client: LangGraphClient, prefix: tuple[str, ...]) -> None:
        self._client = client
        self._prefix = prefix

    @override
    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        return list(await asyncio.gather(*map(self._one, ops)))

    @override
    def batch(self, ops: Iterable[Op]) -> list[Result]:
        raise NotImplementedError("The server is asked asynchronously: use abatch.")

    async def _one(self, op: Op) -> Result:
        if isinstance(op, GetOp):
            return await self._get(op)
        if isinstance(op, SearchOp):
            return await self._search(op)
        if isinstance(op, PutOp):
            await self._put(op)
            return None
        raise NotImplementedError(f"{type(op).__name__} is asked of no server here.")

    async def _get(self, op: GetOp) -> Item | None:
        try:
            with told_as_ours():
                found: Any = await self._client.store.get_item([*self._prefix, *op.namespace], op.key)
        except NotFound:
            return None
        return Item(**self._kept(found)) if found else None

    async def _search(self, op: SearchOp) -> list[SearchItem]:
        space = [*self._prefix, *op.namespace_prefix]
        with told_as_ours():
            found = await self._client.store.search_items(space, filter=op.filter, limit=op.limit, offset=op.offset)
        return [SearchItem(**self._kept(item)) for item in found["items"]]

    async def _put(self, op: PutOp) -> None:
        space = [*self._prefix, *op.namespace]
        with told_as_ours():
            if op.value is None:
                await self._client.store.delete_item(space, op.key)
            else:
                await self._client.store.put_item(space, op.key, op.value, index=False)

    def _kept(self, item: Any) -> dict[str, Any]:
        times = {name: datetime.fromisoformat(str(item[name])) for name in ("created_at", "updated_at")}
        space = tuple(item["namespace"])[len(self._prefix) :]
        return {"value": item["value"], "key": item["key"], "namespace": space, **times}


_GRAPH = "turn"
_MODES: list[StreamMode] = ["custom", "messages-tuple", "values", "checkpoints"]
_EVERYBODY = "-"
_MOST_ASSISTANTS = 100
_MOST_RUNS = 100
_UNDER_WAY: tuple[RunStatus, ...] = ("pending", "running")


class ServerConversations(KeptConversations):
    """See `Conversations`. Threads and runs are those of the server; titles, branches, marks and records stand in its
    store, below (`users`, name).

    Args:
        connect: the client of a user, signed in as they are.
        settings: the `settings_hash` of the server's graph.
    """

    def __init__(self, connect: Callable[[User], LangGraphClient], settings: str = "") -> None:
        super().__init__()
        self._connect = connect
        self._settings = settings

    @override
    def kept(self, user: User) -> KeptThreads:
        # A label of a namespace must be there, and must not hold a full stop.
        own = quote(user.identity, safe="@+ ").replace(".", "%2E") or _EVERYBODY
        return KeptThreads(ServerStore(self._connect(user), ("users", own)), user, self._settings)

    @override
    async def assistants(self, user: User) -> Mapping[str, str]:
        with told_as_ours():
            found = await self._connect(user).assistants.search(graph_id=_GRAPH, limit=_MOST_ASSISTANTS)
        return {one["name"]: one["assistant_id"] for one in found if one["name"] != _GRAPH}

    @override
    async def start(self, user: User, title: str) -> Thread:
        with told_as_ours():
            thread = await self._connect(user).threads.create()
            return await self.kept(user).start(title, str(thread["thread_id"]))

    @override
    async def run(self, run: Run, heard: Heard) -> AsyncGenerator[Event]:
        client = self._connect(run.user)
        given: Any = {"messages": list(run.messages)} if run.decision is None else None
        command = None if run.decision is None else Command(resume=run.decision)
        with told_as_ours():
            parts = client.runs.stream(
                run.thread,
                run.assistant or _GRAPH,
                input=given,
                command=command,
                context=dict(run.context) or None,
                checkpoint=_place(run.point),
                stream_mode=_MODES,
                on_disconnect="cancel",
                durability="sync",
            )
            async with aclosing(parts) as items:  # type: ignore[type-var]
                async for item in items:
                    if event := _event(item.event, item.data, heard):
                        yield event

    @override
    async def has(self, user: User, thread: str, point: str) -> bool:
        try:
            with told_as_ours():
                state = await self._connect(user).threads.get_state(thread, checkpoint=_place(point))
        except NotFound:
            return False
        return bool(state.get("created_at"))

    @override
    async def beginning(self, user: User, thread: str) -> str:
        with told_as_ours():
            found = await self._connect(user).threads.get_history(thread, metadata=FIRST)
        return min((str(one["checkpoint"]["checkpoint_id"]) for one in found), default="")

    @override
    async def keep_record(self, user: User, thread: str, turn: str, record: Mapping[str, Any]) -> None:
        with told_as_ours():
            await self.kept(user).keep_record(thread, turn, record)

    @override
    async def recorded(self, user: User, thread: str, node: Mapping[str, Any]) -> dict[str, Any]:
        with told_as_ours():
            return await self.kept(user).record(thread, node["id"])

    @override
    async def forget(self, user: User, thread: str) -> None:
        client = self._connect(user)
        with told_as_ours():
            # What the server has lost is not kept here either.
            with suppress(NotFound), told_as_ours():
                await _end_runs(client, thread)
                await client.threads.delete(thread)
            await self.kept(user).forget(thread)


async def _end_runs(client: LangGraphClient, thread: str) -> None:
    """A run whose thread is deleted goes on to its end at the server, writes there, and can be cancelled no more."""
    for status in _UNDER_WAY:
        for run in await client.runs.list(thread, limit=_MOST_RUNS, status=status):
            # It may have ended by itself meanwhile.
            with suppress(NotFound), told_as_ours():
                await client.runs.cancel(thread, run["run_id"], wait=True)


def _place(point: str) -> Any:
    return {"checkpoint_id": point, "checkpoint_ns": ""} if point else None


def _event(name: str, data: Any, heard: Heard) -> Event | None:
    """What a listener hears of what the server streams.

    Raises:
        GroundGraphError: the run failed.
    """
    if name == "custom":
        return {"stage": data}
    if name == "messages":
        text = AIMessage(data[0]["content"]).text if data[0]["type"] in ("ai", "AIMessageChunk") else ""
        return {"text": text} if text else None
    if name == "checkpoints":
        heard.point(data)
    elif name == "values":
        heard.output = data
        waiting = data.get("__interrupt__")
        heard.waits = waiting[0]["value"] if waiting else None
    elif name == "error":
        raise run_failed(data)
    return None


def run_failed(data: Any) -> GroundGraphError:
    """The error of a run: one of ours is told as what it was, any other is the server's to log."""
    kind = getattr(errors, str(data.get("error")), None)
    if isinstance(kind, type) and issubclass(kind, InputInvalid | ScopeMissing):
        return kind(str(data.get("message")))
    ours = isinstance(kind, type) and issubclass(kind, GroundGraphError)
    return StorageUnavailable(str(data.get("message")) if ours else "The turn failed. The server's log says why.")
