"""Conversations over a turn graph of this process, with its checkpointer and store."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from typing import Any

from langchain_core.messages import AIMessage
from langgraph.types import Command
from typing_extensions import override

from groundgraph.core.errors import ConfigurationError, Problem
from groundgraph.graph.forget_thread import forget_thread
from groundgraph.graph.resume import load_provenance
from groundgraph.graph.turn_runner import TurnRunner
from groundgraph.serve.conversations import Event, Thread, User
from groundgraph.serve.kept_conversations import FIRST, Heard, KeptConversations, KeptThreads, Run, own_name
from groundgraph.settings.context import Context
from groundgraph.settings.settings import settings_hash

_MODES = ["custom", "messages", "values", "checkpoints"]


class GraphConversations(KeptConversations):
    """See `Conversations`; the graph is open, and closed by whoever opened it."""

    def __init__(self, graph: TurnRunner) -> None:
        """
        Raises:
            ConfigurationError: no records are kept, from which answers are shown again.
        """
        if graph.store is None or not graph.resources.settings.store_provenance:
            raise ConfigurationError([Problem("store_provenance", "a page shows turns from their records: set it")])
        super().__init__()
        self.graph, self._store = graph, graph.store
        self._settings = settings_hash(graph.resources.settings)

    @override
    def kept(self, user: User) -> KeptThreads:
        return KeptThreads(self._store, user, self._settings)

    @override
    async def start(self, user: User, title: str) -> Thread:
        return await self.kept(user).start(title)

    @override
    async def run(self, run: Run, heard: Heard) -> AsyncGenerator[Event]:
        signed_in = {"langgraph_auth_user": run.user} if run.user.identity else {}
        place = {"checkpoint_id": run.point} if run.point else {}
        config: Any = {"configurable": {"thread_id": own_name(run.user, run.thread), **place, **signed_in}}
        given: Any = {"messages": list(run.messages)} if run.decision is None else Command(resume=run.decision)
        context = Context.model_validate(run.context)
        items: Any = self.graph.astream(given, config, context=context, stream_mode=_MODES, durability="sync")
        async with aclosing(items):
            async for mode, item in items:
                if event := _event(mode, item, heard):
                    yield event

    @override
    async def has(self, user: User, thread: str, point: str) -> bool:
        saver: Any = self.graph.checkpointer
        place = {"thread_id": own_name(user, thread), "checkpoint_ns": "", "checkpoint_id": point}
        return await saver.aget_tuple({"configurable": place}) is not None

    @override
    async def beginning(self, user: User, thread: str) -> str:
        saver: Any = self.graph.checkpointer
        place = {"configurable": {"thread_id": own_name(user, thread), "checkpoint_ns": ""}}
        found = [one.checkpoint["id"] async for one in saver.alist(place, filter=dict(FIRST))]
        return min(found, default="")

    @override
    async def keep_record(self, user: User, thread: str, turn: str, record: Mapping[str, Any]) -> None:
        """The graph has kept it."""

    @override
    async def recorded(self, user: User, thread: str, node: Mapping[str, Any]) -> dict[str, Any]:
        return {**await load_provenance(self.graph, own_name(user, thread), node["record"])}

    @override
    async def forget(self, user: User, thread: str) -> None:
        await forget_thread(self.graph, own_name(user, thread))


def _event(mode: str, item: Any, heard: Heard) -> Event | None:
    """What a listener hears of what the graph streams."""
    if mode == "custom":
        return {"stage": item}
    if mode == "messages":
        return {"text": item[0].text} if isinstance(item[0], AIMessage) and item[0].text else None
    if mode == "checkpoints":
        heard.point(item)
    else:
        heard.output = item
        waiting = item.get("__interrupt__")
        heard.waits = waiting[0].value if waiting else None
    return None
