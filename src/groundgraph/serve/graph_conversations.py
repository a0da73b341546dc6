"""Conversations over a turn graph with its checkpointer and store."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from typing import Any

from langchain_core.messages import AIMessage
from langgraph.types import Command

from groundgraph.core.errors import ConfigurationError, Problem, ReviewImpossible
from groundgraph.graph.forget_thread import forget_thread
from groundgraph.graph.resume import load_provenance
from groundgraph.graph.turn_runner import TurnRunner
from groundgraph.serve.conversations import Asked, Event, KeptTurn, NotFound, Thread, User, answer_shown, said_by
from groundgraph.serve.kept_threads import KeptThreads, own_name
from groundgraph.settings.context import Context
from groundgraph.settings.settings_hash import settings_hash

_MODES = ["custom", "messages", "values", "checkpoints"]
_UNDECIDED = "The answer before waits for a person. Decide about it first."
_WAITS = (
    "The answer has little support and waits for a person, whom nobody can ask here: decide with Command(resume=…)."
)


class GraphConversations:
    """See `Conversations`; the graph is open, and closed by whoever opened it."""

    def __init__(self, graph: TurnRunner) -> None:
        """
        Raises:
            ConfigurationError: no records are kept, from which answers are shown again.
        """
        if graph.store is None or not graph.resources.settings.store_provenance:
            raise ConfigurationError([Problem("store_provenance", "a page shows turns from their records: set it")])
        self.graph = graph
        self._kept = KeptThreads(graph.store, settings_hash(graph.resources.settings))

    async def threads(self, user: User) -> list[Thread]:
        """See `Conversations`."""
        return await self._kept.threads(user)

    async def start(self, user: User, title: str) -> Thread:
        """See `Conversations`."""
        return await self._kept.start(user, title)

    async def turns(self, user: User, thread: str) -> list[KeptTurn]:
        """See `Conversations`."""
        return await self._kept.turns(user, thread)

    async def find(self, user: User, said: str) -> tuple[str, str] | None:
        """See `Conversations`."""
        return await self._kept.find(user, said)

    async def mark(self, user: User, thread: str, turn: str, mark: Mapping[str, str]) -> None:
        """See `Conversations`."""
        await self._kept.change(user, thread, turn, mark=dict(mark))

    async def delete(self, user: User, thread: str) -> None:
        """See `Conversations`."""
        await self._kept.turns(user, thread)
        await forget_thread(self.graph, own_name(user, thread))

    async def record(self, user: User, thread: str, turn: str) -> dict[str, Any]:
        """See `Conversations`."""
        node = await self._kept.node(user, thread, turn)
        if "record" not in node:
            raise NotFound("This turn was interrupted, so there is no answer.")
        return {**await load_provenance(self.graph, own_name(user, thread), node["record"])}

    async def ask(self, user: User, thread: str, asked: Asked) -> AsyncGenerator[Event]:
        """See `Conversations`."""
        await self._kept.touch(user, thread)
        place, before = await self._place(user, thread, asked.parent)
        turn = await self._kept.begin(user, thread, asked.parent, asked.question)
        yield {"begun": turn}
        given = {"messages": [*asked.history, ("user", asked.question)]}
        context = Context.model_validate(asked.context)
        run = _Run(self.graph, self._config(user, thread, place))
        async with aclosing(run.events(given, context)) as events:
            async for event in events:
                yield event
        if run.waits is not None and not asked.reviewed:
            raise ReviewImpossible(_WAITS)
        yield await self._ended(user, thread, turn, run, before)

    async def decide(self, user: User, thread: str, turn: str, decision: Mapping[str, Any]) -> AsyncGenerator[Event]:
        """See `Conversations`."""
        node = await self._kept.node(user, thread, turn)
        if node.get("asked") is None:
            raise NotFound("Nobody has to decide about this answer.")
        _, before = await self._place(user, thread, node["parent"])
        place = await self._kept_place(user, thread, node["after"])
        run = _Run(self.graph, self._config(user, thread, place))
        async with aclosing(run.events(Command(resume=dict(decision)), Context())) as events:
            async for event in events:
                yield event
        yield await self._ended(user, thread, turn, run, before)

    def _config(self, user: User, thread: str, place: Mapping[str, str]) -> Any:
        signed_in = {"langgraph_auth_user": user} if user.identity else {}
        return {"configurable": {"thread_id": own_name(user, thread), **place, **signed_in}}

    async def _ended(self, user: User, thread: str, turn: str, run: _Run, before: str) -> Event:
        """Keeps how a run ended, and tells it."""
        if run.waits is not None:
            await self._kept.change(user, thread, turn, **run.points, asked=run.waits)
            return {"waits": turn, "asked": run.waits}
        record = run.output["provenance"]
        said = said_by(before, record["question"], answer_shown(record))
        kept = {"record": record["turn_id"], "outcome": record["outcome"], "said": said, "asked": None}
        await self._kept.change(user, thread, turn, **run.points, **kept)
        return {"ended": turn, "record": record}

    async def _place(self, user: User, thread: str, parent: str) -> tuple[dict[str, str], str]:
        """Where a turn behind `parent` begins, as a configuration of the graph says it, and what was said before."""
        if parent:
            node = await self._kept.node(user, thread, parent)
            if "said" not in node:
                waits = node.get("asked") is not None
                raise NotFound(_UNDECIDED if waits else "The turn before was interrupted. Ask its question again.")
            return await self._kept_place(user, thread, node["after"]), node["said"]
        begun = [node["before"] for node in await self._kept.nodes(user, thread) if node.get("before")]
        # A first question that was changed: the conversation begins anew where it began.
        return (await self._kept_place(user, thread, begun[0]) if begun else {}), ""

    async def _kept_place(self, user: User, thread: str, point: str) -> dict[str, str]:
        """A run from a checkpoint that is gone would begin with nothing, and tell nobody.

        Raises:
            NotFound: it is gone.
        """
        saver: Any = self.graph.checkpointer
        place = {"thread_id": own_name(user, thread), "checkpoint_ns": "", "checkpoint_id": point}
        if await saver.aget_tuple({"configurable": place}) is None:
            raise NotFound(
                "The steps up to this turn were pruned. Ask at the end of the conversation, or in a new one."
            )
        return {"checkpoint_id": point}


class _Run:
    """One run of the graph.

    Attributes:
        output: what came out of it.
        points: the checkpoint behind it, and the one before it where a conversation begins.
        waits: what a person is asked with whose decision it goes on.
    """

    def __init__(self, graph: TurnRunner, config: Any) -> None:
        self._graph = graph
        self._config = config
        self.output: dict[str, Any] = {}
        self.points: dict[str, str] = {}

    @property
    def waits(self) -> dict[str, Any] | None:
        """See the class."""
        waiting = self.output.get("__interrupt__")
        return dict(waiting[0].value) if waiting else None

    async def events(self, given: Any, context: Context) -> AsyncGenerator[Event]:
        """What a listener hears while the graph works on `given`."""
        items: Any = self._graph.astream(given, self._config, context=context, stream_mode=_MODES, durability="sync")
        async with aclosing(items):
            async for mode, item in items:
                if event := self._event(mode, item):
                    yield event

    def _event(self, mode: str, item: Any) -> Event | None:
        if mode == "custom":
            return {"stage": item}
        if mode == "messages":
            return {"text": item[0].text} if isinstance(item[0], AIMessage) and item[0].text else None
        if mode == "values":
            self.output = item
        else:
            here = item["config"]["configurable"]["checkpoint_id"]
            first = item["metadata"].get("source") == "input" and item["parent_config"] is None
            self.points |= {"after": here, **({"before": here} if first else {})}
        return None
