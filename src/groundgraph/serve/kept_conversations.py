"""Conversations over a turn graph, wherever it runs: the tree of their turns, and one run after the other."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any

from groundgraph.core.errors import ReviewImpossible
from groundgraph.serve.conversations import Asked, Event, KeptTurn, NotFound, Thread, User, answer_shown, said_by
from groundgraph.serve.kept_threads import KeptThreads

_UNDECIDED = "The answer before waits for a person. Decide about it first."
_WAITS = (
    "The answer has little support and waits for a person, whom nobody can ask here: decide with Command(resume=…)."
)


@dataclass(frozen=True)
class Run:
    """What a graph is to do.

    Attributes:
        user: who asks.
        thread: in which conversation.
        point: behind which checkpoint; empty for the first of a thread.
        messages: what is said; none where the turn goes on with a decision.
        decision: of a person whom the turn waits for.
        context: choices of this run.
        assistant: see `Asked`.
    """

    user: User
    thread: str
    point: str = ""
    messages: tuple[Mapping[str, str], ...] = ()
    decision: Mapping[str, Any] | None = None
    context: Mapping[str, Any] = field(default_factory=dict)
    assistant: str = ""


@dataclass
class Heard:
    """What comes out of a run, as whatever runs it tells it.

    Attributes:
        output: of the graph.
        waits: what a person is asked with whose decision it goes on.
        after: the checkpoint behind the run.
        before: the one in front of it, where a thread begins.
    """

    output: Mapping[str, Any] = field(default_factory=dict)
    waits: Mapping[str, Any] | None = None
    after: str = ""
    before: str = ""

    @property
    def points(self) -> dict[str, str]:
        """The checkpoints that are known."""
        return {name: point for name, point in (("after", self.after), ("before", self.before)) if point}

    def point(self, checkpoint: Mapping[str, Any]) -> None:
        """Take in a checkpoint, as the stream mode `checkpoints` tells it."""
        self.after = checkpoint["config"]["configurable"]["checkpoint_id"]
        if checkpoint["metadata"].get("source") == "input" and checkpoint["parent_config"] is None:
            self.before = self.after


class KeptConversations(ABC):
    """See `Conversations`; where the graph runs, and what keeps its threads, says who inherits."""

    @abstractmethod
    def kept(self, user: User) -> KeptThreads:
        """What is kept of the conversations of a user."""

    @abstractmethod
    def run(self, run: Run, heard: Heard) -> AsyncGenerator[Event]:
        """What a listener hears while the graph works; what it leaves goes into `heard`."""

    @abstractmethod
    async def has(self, user: User, thread: str, point: str) -> bool:
        """Whether a checkpoint is still there."""

    @abstractmethod
    async def start(self, user: User, title: str) -> Thread:
        """See `Conversations`."""

    @abstractmethod
    async def recorded(self, user: User, thread: str, node: Mapping[str, Any]) -> dict[str, Any]:
        """The record of a turn that has ended, `node` as `KeptThreads` gives it."""

    @abstractmethod
    async def delete(self, user: User, thread: str) -> None:
        """See `Conversations`."""

    @abstractmethod
    async def keep_record(self, user: User, thread: str, turn: str, record: Mapping[str, Any]) -> None:
        """Keep the record of a turn, so that `recorded` finds it."""

    async def assistants(self, user: User) -> Mapping[str, str]:  # noqa: ARG002 - of the contract
        """See `Conversations`."""
        return {}

    async def threads(self, user: User) -> list[Thread]:
        """See `Conversations`."""
        return await self.kept(user).threads(user)

    async def turns(self, user: User, thread: str) -> list[KeptTurn]:
        """See `Conversations`."""
        return await self.kept(user).turns(user, thread)

    async def find(self, user: User, said: str) -> tuple[str, str] | None:
        """See `Conversations`."""
        return await self.kept(user).find(user, said)

    async def mark(self, user: User, thread: str, turn: str, mark: Mapping[str, str]) -> None:
        """See `Conversations`."""
        await self.kept(user).change(user, thread, turn, mark=dict(mark))

    async def record(self, user: User, thread: str, turn: str) -> dict[str, Any]:
        """See `Conversations`."""
        node = await self.kept(user).node(user, thread, turn)
        if "record" not in node:
            raise NotFound("This turn was interrupted, so there is no answer.")
        return await self.recorded(user, thread, node)

    async def ask(self, user: User, thread: str, asked: Asked) -> AsyncGenerator[Event]:
        """See `Conversations`."""
        kept = self.kept(user)
        await kept.touch(user, thread)
        point, before = await self._place(user, thread, asked.parent)
        turn = await kept.begin(user, thread, asked.parent, asked.question)
        yield {"begun": turn}
        said = [*asked.history, ("user", asked.question)]
        messages = tuple({"role": role, "content": text} for role, text in said)
        heard = Heard()
        run = Run(user, thread, point, messages, None, asked.context, asked.assistant)
        async with aclosing(self.run(run, heard)) as events:
            async for event in events:
                yield event
        if heard.waits is not None and not asked.reviewed:
            raise ReviewImpossible(_WAITS)
        yield await self._ended(user, thread, turn, heard, before)

    async def decide(self, user: User, thread: str, turn: str, decision: Mapping[str, Any]) -> AsyncGenerator[Event]:
        """See `Conversations`."""
        node = await self.kept(user).node(user, thread, turn)
        if node.get("asked") is None:
            raise NotFound("Nobody has to decide about this answer.")
        _, before = await self._place(user, thread, node["parent"])
        point = await self._kept_point(user, thread, node["after"])
        heard = Heard()
        async with aclosing(self.run(Run(user, thread, point, decision=dict(decision)), heard)) as events:
            async for event in events:
                yield event
        yield await self._ended(user, thread, turn, heard, before)

    async def _ended(self, user: User, thread: str, turn: str, heard: Heard, before: str) -> Event:
        """Keeps how a run ended, and tells it."""
        kept = self.kept(user)
        if heard.waits is not None:
            await kept.change(user, thread, turn, **heard.points, asked=dict(heard.waits))
            return {"waits": turn, "asked": heard.waits}
        record = heard.output["provenance"]
        said = said_by(before, record["question"], answer_shown(record))
        await self.keep_record(user, thread, turn, record)
        told = {"record": record["turn_id"], "outcome": record["outcome"], "said": said, "asked": None}
        await kept.change(user, thread, turn, **heard.points, **told)
        return {"ended": turn, "record": record}

    async def _place(self, user: User, thread: str, parent: str) -> tuple[str, str]:
        """The checkpoint behind which a turn that follows `parent` begins, and what was said before."""
        kept = self.kept(user)
        if parent:
            node = await kept.node(user, thread, parent)
            if "said" not in node:
                waits = node.get("asked") is not None
                raise NotFound(_UNDECIDED if waits else "The turn before was interrupted. Ask its question again.")
            return await self._kept_point(user, thread, node["after"]), node["said"]
        begun = [node["before"] for node in await kept.nodes(user, thread) if node.get("before")]
        # A first question that was changed: the conversation begins anew where it began.
        return (await self._kept_point(user, thread, begun[0]) if begun else ""), ""

    async def _kept_point(self, user: User, thread: str, point: str) -> str:
        """A run from a checkpoint that is gone would begin with nothing, and tell nobody.

        Raises:
            NotFound: it is gone.
        """
        if not await self.has(user, thread, point):
            raise NotFound(
                "The steps up to this turn were pruned. Ask at the end of the conversation, or in a new one."
            )
        return point
