"""Conversations that a store keeps: whose they are, the tree of their turns, and one run after the other."""

from __future__ import annotations

import asyncio
import hashlib
import re
import secrets
import time
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing, asynccontextmanager, nullcontext
from dataclasses import dataclass, field, replace
from typing import Any
from weakref import WeakValueDictionary

from langgraph.store.base import BaseStore, PutOp

from groundgraph.answers.provenance import conversation_namespace
from groundgraph.core.characters import clean_text
from groundgraph.core.errors import EvidenceMissing, ReviewImpossible, ThreadBusy
from groundgraph.core.evidence import preview
from groundgraph.core.evidence_store import run_batch, unbroken
from groundgraph.serve.conversations import (
    TITLE_CHARS,
    Asked,
    Event,
    KeptTurn,
    NotFound,
    Thread,
    User,
    answer_shown,
    said_by,
)
from groundgraph.storage.records import items_below

_ALL = conversation_namespace("-")[:-1]
_HEAD = "head"
_LAST = "last"
_PAGE = 1000
_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")


def own_name(user: User, thread: str) -> str:
    """What the graph calls the thread of a user: nobody can name one that is somebody else's.

    Raises:
        NotFound: no thread has such an id.
    """
    if not _ID.fullmatch(thread):
        raise NotFound("There is no such conversation.")
    if not user.identity:
        return thread
    return f"{hashlib.blake2b(user.identity.encode(), digest_size=12).hexdigest()}:{thread}"


class KeptThreads:
    """What the store holds of the conversations of a user, beside the records of their turns.

    Args:
        store: of the graph.
        user: whose conversations these are.
        settings: the `settings_hash` of the graph, which is kept with each turn; empty for none.
    """

    def __init__(self, store: BaseStore, user: User, settings: str = "") -> None:
        self._store = store
        self._user = user
        self._settings = settings

    async def threads(self) -> list[Thread]:
        """See `Conversations.threads`."""
        known, lasts = [await self._found(_ALL, kind=kind) for kind in (_HEAD, _LAST)]
        asked = {last["thread"]: last["at"] for last in lasts}
        listed = [Thread(head["id"], head["title"], asked.get(head["id"], head["at"])) for head in known]
        return sorted(listed, key=lambda thread: thread.at, reverse=True)

    async def start(self, title: str, thread_id: str = "") -> Thread:
        """See `Conversations.start`; under an id that is there already, where one is given."""
        shown = preview(" ".join(clean_text(title).split()), TITLE_CHARS)
        thread = Thread(thread_id or secrets.token_hex(8), shown, time.time())
        await self._write(thread.id, _HEAD, {"kind": _HEAD, **vars(thread)})
        return thread

    async def head(self, thread: str) -> dict[str, Any]:
        """What is kept of a thread itself.

        Raises:
            NotFound: there is none.
        """
        return await self._read(thread, _HEAD)

    async def turns(self, thread: str) -> list[KeptTurn]:
        """See `Conversations.turns`."""
        await self.head(thread)
        return [_turn(value) for value in await self.nodes(thread)]

    async def nodes(self, thread: str) -> list[dict[str, Any]]:
        """The turns of a thread as they are kept, the oldest first."""
        found = await self._found(self._space(thread), kind="turn", thread=thread)
        return sorted(found, key=lambda value: value["at"])

    async def begin(self, thread: str, parent: str, question: str) -> str:
        """A turn that begins; its id."""
        turn, at = secrets.token_hex(6), time.time()
        value = {"kind": "turn", "thread": thread, "id": turn, "parent": parent}
        kept = {"question": clean_text(question), "at": at, "settings": self._settings}
        # The head stays as it is: written anew, it would bring back a thread that was deleted meanwhile.
        await self._write(thread, _LAST, {"kind": _LAST, "thread": thread, "at": at})
        await self._write(thread, turn, {**value, **kept})
        return turn

    async def change(self, thread: str, turn: str, **values: Any) -> None:
        """Keep more about a turn."""
        await self._write(thread, turn, {**await self.node(thread, turn), **values})

    async def node(self, thread: str, turn: str) -> dict[str, Any]:
        """A turn as it is kept.

        Raises:
            NotFound: there is none.
        """
        value = await self._read(thread, turn)
        if value["kind"] != "turn":
            raise NotFound("There is no such turn.")
        return value

    async def find(self, said: str) -> tuple[str, str] | None:
        """See `Conversations.find`."""
        found = await self._found(_ALL, kind="turn", said=said)
        # The same may have been said in several conversations.
        last = max(found, key=lambda value: value["at"], default=None)
        return (last["thread"], last["id"]) if last else None

    async def keep_record(self, thread: str, turn: str, record: Mapping[str, Any]) -> None:
        """Keep the record of a turn beside it."""
        await self._write(thread, f"{turn}-record", {"kind": "record", "record": record})

    async def record(self, thread: str, turn: str) -> dict[str, Any]:
        """What `keep_record` kept.

        Raises:
            NotFound: there is none.
        """
        found: dict[str, Any] = (await self._read(thread, f"{turn}-record"))["record"]
        return found

    async def forget(self, thread: str) -> None:
        """Remove everything that is kept of a thread."""
        space = self._space(thread)
        keys = [item.key async for item in items_below(self._store, space) if item.namespace == space]
        await run_batch(self._store, [PutOp(space, key, None) for key in keys])

    async def _found(self, space: tuple[str, ...], **wanted: str) -> list[dict[str, Any]]:
        """What is kept of the user below a namespace and holds these values. A store gives so many at once; what was
        written meanwhile moves the others, and one may come twice."""
        found: dict[Any, dict[str, Any]] = {}
        own, offset = {**wanted, "owner": self._user.identity}, 0
        while page := await self._store.asearch(space, filter=own, limit=_PAGE, offset=offset):
            # Some stores take a prefix by its characters.
            below = [item for item in page if item.namespace[: len(space)] == space]
            found |= {(item.namespace, item.key): item.value for item in below}
            if len(page) < _PAGE:
                break
            offset += len(page)
        return list(found.values())

    async def _read(self, thread: str, key: str) -> dict[str, Any]:
        item = await self._store.aget(self._space(thread), key) if _ID.fullmatch(key) else None
        if item is None or item.value.get("owner") != self._user.identity:
            raise NotFound("There is no such conversation, or no such turn in it.")
        return item.value

    async def _write(self, thread: str, key: str, value: Mapping[str, Any]) -> None:
        kept = {**value, "owner": self._user.identity}
        await run_batch(self._store, [PutOp(self._space(thread), key, kept, index=False)])

    def _space(self, thread: str) -> tuple[str, ...]:
        return conversation_namespace(own_name(self._user, thread))


async def marked_turns(store: BaseStore) -> list[list[dict[str, Any]]]:
    """Every turn of anybody that was marked, the oldest first, each behind the turns that it follows; with
    `graph_thread`, what the graph calls its thread."""
    kept = [item.value async for item in items_below(store, _ALL) if item.value["kind"] == "turn"]
    by_id = {(value["owner"], value["thread"], value["id"]): value for value in kept}
    marked = sorted((value for value in kept if value.get("mark") and "record" in value), key=lambda v: v["at"])
    return [_path(by_id, value) for value in marked]


def _path(by_id: Mapping[Any, Mapping[str, Any]], value: Mapping[str, Any]) -> list[dict[str, Any]]:
    named = {"graph_thread": own_name(User(value["owner"]), value["thread"])}
    path, last = [{**value, **named}], value
    # What a turn follows began before it, so this ends.
    while last["parent"]:
        last = by_id[last["owner"], last["thread"], last["parent"]]
        path.insert(0, {**last, **named})
    return path


def _turn(value: Mapping[str, Any]) -> KeptTurn:
    kept = {name: value[name] for name in ("outcome", "mark", "asked") if name in value}
    return KeptTurn(value["id"], value["parent"], value["question"], value["at"], **kept)


# Conversations over a turn graph, wherever it runs: the tree of their turns, and one run after the other.

_GONE = "What was kept of this answer is not there any more."
_UNDER_WAY = "The answer before is still being written. Ask when it is there."
_UNDECIDED = "The answer before waits for a person. Decide about it first."
_WAITS = (
    "The answer has little support and waits for a person, whom nobody can ask here. Ask on the page of `groundgraph "
    "serve`, where whoever asks decides, or without `human_review.support_below`."
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
        before: where the thread begins, if the run begins there.
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


FIRST: Mapping[str, Any] = {"source": "input", "step": -1}
"""The metadata of the checkpoint with which a thread begins, before a step has run."""


class KeptConversations(ABC):
    """See `Conversations`; where the graph runs, and what keeps its threads, says who inherits."""

    def __init__(self) -> None:
        self._firsts: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._running: set[str] = set()

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
    async def beginning(self, user: User, thread: str) -> str:
        """The checkpoint with which a thread begins; empty where nothing was written, or not any more."""

    @abstractmethod
    async def start(self, user: User, title: str) -> Thread:
        """See `Conversations`."""

    @abstractmethod
    async def recorded(self, user: User, thread: str, node: Mapping[str, Any]) -> dict[str, Any]:
        """The record of a turn that has ended, `node` as `KeptThreads` gives it."""

    @abstractmethod
    async def forget(self, user: User, thread: str) -> None:
        """Remove everything that is kept of a thread, and what the graph wrote to it, whether or not it is there."""

    @abstractmethod
    async def keep_record(self, user: User, thread: str, turn: str, record: Mapping[str, Any]) -> None:
        """Keep the record of a turn, so that `recorded` finds it."""

    async def assistants(self, user: User) -> Mapping[str, str]:  # noqa: ARG002 - of the contract
        """See `Conversations`."""
        return {}

    async def threads(self, user: User) -> list[Thread]:
        """See `Conversations`."""
        return await self.kept(user).threads()

    async def turns(self, user: User, thread: str) -> list[KeptTurn]:
        """See `Conversations`."""
        # One that ends while they are read is in them without its outcome: it was under way.
        before = frozenset(self._running)
        found = await self.kept(user).turns(thread)
        return [replace(turn, running=turn.id in before | self._running) for turn in found]

    async def find(self, user: User, said: str) -> tuple[str, str] | None:
        """See `Conversations`."""
        return await self.kept(user).find(said)

    async def delete(self, user: User, thread: str) -> None:
        """See `Conversations`."""
        await self.kept(user).head(thread)
        await self.forget(user, thread)

    async def mark(self, user: User, thread: str, turn: str, mark: Mapping[str, str]) -> None:
        """See `Conversations`."""
        kept = self.kept(user)
        await kept.node(thread, turn)
        async with self._undeleted(user, thread):
            await kept.change(thread, turn, mark=dict(mark))

    async def record(self, user: User, thread: str, turn: str) -> dict[str, Any]:
        """See `Conversations`."""
        node = await self.kept(user).node(thread, turn)
        if "record" not in node:
            raise NotFound("This turn was interrupted, so there is no answer.")
        try:
            return await self.recorded(user, thread, node)
        except (EvidenceMissing, NotFound):
            raise NotFound(_GONE) from None

    async def ask(self, user: User, thread: str, asked: Asked) -> AsyncGenerator[Event]:
        """See `Conversations`."""
        kept = self.kept(user)
        await kept.head(thread)
        async with self._placed(user, thread, asked.parent) as (point, before), self._undeleted(user, thread):
            turn = await kept.begin(thread, asked.parent, asked.question)
            said = [*asked.history, ("user", asked.question)]
            messages = tuple({"role": role, "content": text} for role, text in said)
            # Where a first question begins anew, so does the next.
            heard = Heard(before="" if asked.parent else point)
            run = Run(user, thread, point, messages, None, asked.context, asked.assistant)
            async with aclosing(self._taken(turn, run, heard, before, reviewed=asked.reviewed)) as events:
                async for event in events:
                    yield event

    async def decide(self, user: User, thread: str, turn: str, decision: Mapping[str, Any]) -> AsyncGenerator[Event]:
        """See `Conversations`."""
        node = await self.kept(user).node(thread, turn)
        if node.get("asked") is None:
            raise NotFound("Nobody has to decide about this answer.")
        _, before = await self._place(user, thread, node["parent"])
        point = await self._kept_point(user, thread, node["after"])
        run = Run(user, thread, point, decision=dict(decision))
        taken = self._taken(turn, run, Heard(), before, reviewed=True)
        async with self._undeleted(user, thread), aclosing(taken) as events:
            async for event in events:
                yield event

    async def _taken(self, turn: str, run: Run, heard: Heard, before: str, *, reviewed: bool) -> AsyncGenerator[Event]:
        """What is told of a turn while it is taken, and how it ended."""
        self._running.add(turn)
        try:
            if run.decision is None:
                yield {"begun": turn}
            async with aclosing(self.run(run, heard)) as events:
                async for event in events:
                    yield event
            if heard.waits is not None and not reviewed:
                raise ReviewImpossible(_WAITS)
            yield await self._ended(run.user, run.thread, turn, heard, before)
        finally:
            self._running.discard(turn)

    @asynccontextmanager
    async def _placed(self, user: User, thread: str, parent: str) -> AsyncIterator[tuple[str, str]]:
        """See `_place`. First questions come one after the other: where the conversation begins, only the run of the
        very first tells, and another that did not know would go on behind it."""
        first = self._firsts.setdefault(own_name(user, thread), asyncio.Lock())
        async with nullcontext() if parent else first:
            yield await self._place(user, thread, parent)

    @asynccontextmanager
    async def _undeleted(self, user: User, thread: str) -> AsyncIterator[None]:
        """Within it, something is written to a thread, and forgotten where that was deleted: nobody would see it any
        more. A thread is deleted before a run has it, or after; while it runs, whoever deletes waits."""
        try:
            yield
        finally:
            await unbroken(self._forget_deleted(user, thread))

    async def _forget_deleted(self, user: User, thread: str) -> None:
        try:
            await self.kept(user).head(thread)
        except NotFound:
            await self.forget(user, thread)

    async def _ended(self, user: User, thread: str, turn: str, heard: Heard, before: str) -> Event:
        """Keeps how a run ended, and tells it."""
        kept = self.kept(user)
        if heard.waits is not None:
            await kept.change(thread, turn, **heard.points, asked=dict(heard.waits))
            return {"waits": turn, "asked": heard.waits}
        record = heard.output["provenance"]
        said = said_by(before, record["question"], answer_shown(record))
        await self.keep_record(user, thread, turn, record)
        told = {"record": record["turn_id"], "outcome": record["outcome"], "said": said, "asked": None}
        await kept.change(thread, turn, **heard.points, **told)
        return {"ended": turn, "record": record}

    async def _place(self, user: User, thread: str, parent: str) -> tuple[str, str]:
        """The checkpoint behind which a turn that follows `parent` begins, and what was said before."""
        kept = self.kept(user)
        if parent:
            # It may end while it is read, and not stand there as ended yet.
            running = parent in self._running
            node = await kept.node(thread, parent)
            if "said" not in node:
                if running or parent in self._running:
                    raise ThreadBusy(_UNDER_WAY)
                waits = node.get("asked") is not None
                raise NotFound(_UNDECIDED if waits else "The turn before was interrupted. Ask its question again.")
            return await self._kept_point(user, thread, node["after"]), node["said"]
        nodes = await kept.nodes(thread)
        begun = [node["before"] for node in nodes if node.get("before")]
        # A first question that was changed: the conversation begins anew where it began.
        if begun:
            return await self._kept_point(user, thread, begun[0]), ""
        # One that was cut has told nobody where that is.
        return (await self.beginning(user, thread) if nodes else ""), ""

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
