"""Conversations on a LangGraph Server, by its own client: its threads, its runs, its rules about who may do what."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing
from typing import Any
from urllib.parse import quote

from langchain_core.messages import AIMessage
from langgraph_sdk.client import LangGraphClient
from langgraph_sdk.schema import Command, StreamMode
from typing_extensions import override

from groundgraph.core import errors
from groundgraph.core.errors import GroundGraphError, InputInvalid, ScopeMissing, StorageUnavailable
from groundgraph.serve.conversations import Event, NotFound, Thread, User
from groundgraph.serve.kept_conversations import Heard, KeptConversations, Run
from groundgraph.serve.kept_threads import KeptThreads
from groundgraph.serve.server_errors import told_as_ours
from groundgraph.serve.server_store import ServerStore

_GRAPH = "turn"
_MODES: list[StreamMode] = ["custom", "messages-tuple", "values", "checkpoints"]
_EVERYBODY = "-"
_MOST_ASSISTANTS = 100


class ServerConversations(KeptConversations):
    """See `Conversations`. Threads and runs are those of the server; titles, branches, marks and records stand in its
    store, below (`users`, name).

    Args:
        connect: the client of a user, signed in as they are.
        settings: the `settings_hash` of the server's graph.
    """

    def __init__(self, connect: Callable[[User], LangGraphClient], settings: str = "") -> None:
        self._connect = connect
        self._settings = settings

    @override
    def kept(self, user: User) -> KeptThreads:
        # A label of a namespace must be there, and must not hold a full stop.
        own = quote(user.identity, safe="@+ ").replace(".", "%2E") or _EVERYBODY
        return KeptThreads(ServerStore(self._connect(user), ("users", own)), self._settings)

    @override
    async def assistants(self, user: User) -> Mapping[str, str]:
        with told_as_ours():
            found = await self._connect(user).assistants.search(graph_id=_GRAPH, limit=_MOST_ASSISTANTS)
        return {one["name"]: one["assistant_id"] for one in found if one["name"] != _GRAPH}

    @override
    async def start(self, user: User, title: str) -> Thread:
        with told_as_ours():
            thread = await self._connect(user).threads.create()
            return await self.kept(user).start(user, title, str(thread["thread_id"]))

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
    async def keep_record(self, user: User, thread: str, turn: str, record: Mapping[str, Any]) -> None:
        with told_as_ours():
            await self.kept(user).keep_record(user, thread, turn, record)

    @override
    async def recorded(self, user: User, thread: str, node: Mapping[str, Any]) -> dict[str, Any]:
        with told_as_ours():
            return await self.kept(user).record(user, thread, node["id"])

    @override
    async def delete(self, user: User, thread: str) -> None:
        kept = self.kept(user)
        await kept.turns(user, thread)
        with told_as_ours():
            await self._connect(user).threads.delete(thread)
            await kept.forget(user, thread)


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
