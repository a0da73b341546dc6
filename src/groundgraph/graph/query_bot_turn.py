"""One turn of a query bot from question to memory: what is logged, and what is remembered (Q4)."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage

from groundgraph.core.clean_text import clean_text
from groundgraph.core.context import Context
from groundgraph.core.deadline import within
from groundgraph.core.failure import described, tell_failure
from groundgraph.core.text import detect_language
from groundgraph.graph.query_bot_log import QueryLog
from groundgraph.graph.query_bot_messages import ShownMessages, as_logged, composed_messages
from groundgraph.graph.query_bot_reply import BotReply
from groundgraph.graph.query_bot_source import DOCSTORE, MEMORY
from groundgraph.graph.query_bot_store import BotStore
from groundgraph.graph.resources import Resources

# Ends of turns that go on although whoever asked was cancelled. Held here, so that they are not collected.
_ending: set[asyncio.Task[None]] = set()


@dataclass
class BotTurn:
    """What is known of a turn while it runs.

    Attributes:
        query: what is asked.
        n_results: how many results are asked for in each store.
        shown: what the model was shown.
        text: the response as far as it was streamed.
        output: the output of the turn graph, once there is one.
        notes: sentences for the reader about the end of the turn.
    """

    query: str
    n_results: int
    shown: ShownMessages = field(default_factory=ShownMessages)
    text: str = ""
    output: dict[str, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    started_at: datetime = field(default_factory=lambda: datetime.now(UTC))
    started: float = field(default_factory=time.perf_counter)

    @property
    def context(self) -> Context:
        """The choices of the run."""
        return Context(top_k=self.n_results)

    @property
    def finished(self) -> bool:
        """Whether the graph came to its end."""
        return "provenance" in self.output

    @property
    def response(self) -> str:
        """The response, or what was streamed of it."""
        return str(self.output["answer"]) if self.finished else self.text

    @property
    def reply(self) -> BotReply:
        """The assistant's message of a turn that came to its end."""
        message = self.output["messages"][-1]
        output = {**self.output, "notes": [*self.output["notes"], *self.notes]}
        return BotReply(
            content=message.content, id=message.id, response_metadata=message.response_metadata, output=output
        )


@dataclass(frozen=True)
class TurnEnd:
    """Ends turns: the log first, then the memory.

    Attributes:
        resources: of the graph.
        log: None when nothing is logged.
        memory: None without one.
        names: of the sources of document store and memory.
    """

    resources: Resources
    log: QueryLog | None
    memory: BotStore | None
    names: dict[str, str]

    @asynccontextmanager
    async def of(self, turn: BotTurn) -> AsyncIterator[None]:
        """Whatever ends the block ends the turn, a stream that nobody reads any further among it."""
        try:
            yield
        except BaseException as error:
            await _whole(self._end(turn, error))
            raise
        await _whole(self._end(turn, None))

    async def _end(self, turn: BotTurn, error: BaseException | None) -> None:
        status, reason = _status(turn, error)
        row = await self.log.write(self._row(turn, status, reason)) if self.log else None
        if self.memory is None or not _worth_remembering(turn, status):
            return
        failure = await self._remember(turn)
        if self.log and row is not None:
            await self.log.remembered(row, failure)

    async def _remember(self, turn: BotTurn) -> str:
        """Why the response could not be added to the memory; empty when it was."""
        if self.memory is None or self.memory.append is None:
            raise ValueError("this bot has no memory to add to")
        try:
            await within(self.resources.settings.deadlines.source, _awaited(self.memory.append(turn.response)))
        except Exception as error:
            # The answer is there; that it was not remembered must not take it away.
            told = tell_failure(error, "step", "memory.append")
            failure = described(error)
            language = detect_language(turn.query)
            turn.notes.append(self.resources.prompts.note("not_remembered", language, reason=told.failure))
            return failure
        return ""

    def _row(self, turn: BotTurn, status: str, reason: str) -> dict[str, Any]:
        provenance = turn.output.get("provenance", {})
        found = provenance.get("results_by_source", {})
        return {
            "turn_id": provenance.get("turn_id"),
            "started_at": turn.started_at.isoformat(timespec="milliseconds"),
            "seconds": round(time.perf_counter() - turn.started, 3),
            "status": status,
            "outcome": turn.output.get("outcome"),
            "query": self._query(turn),
            "n_results": turn.n_results,
            "docstore_results": len(found.get(self.names[DOCSTORE.name], [])),
            "memory_results": len(found.get(self.names.get(MEMORY.name, ""), [])),
            "messages": as_logged([*self._processed(turn), *([AIMessage(turn.response)] if turn.response else [])]),
            "response": turn.response,
            "error": reason,
        }

    def _processed(self, turn: BotTurn) -> list[BaseMessage]:
        """What the model was shown; where none was asked, what it would have been shown, as far as that is known."""
        if turn.shown.messages is not None:
            return turn.shown.messages
        if turn.finished:
            return composed_messages(self.resources, turn.output["provenance"], turn.context)
        unknown = {"turn_id": "", "question": self._query(turn), "results": []}
        composed = composed_messages(self.resources, unknown, turn.context)
        return [message for message in composed if message.name != "evidence"]

    def _query(self, turn: BotTurn) -> str:
        """The query as a turn takes it in: without characters that no text may contain, and not endless."""
        return clean_text(turn.query[: self.resources.settings.limits.message_chars])


def _status(turn: BotTurn, error: BaseException | None) -> tuple[str, str]:
    """The status of a turn, and why it failed."""
    if isinstance(error, Exception):
        return "failed", described(error)
    if error is not None:
        return "cancelled", ""
    if turn.output["provenance"]["finish"] == "error":
        # The model broke off in the middle: the notes of the turn say why.
        return "failed", " ".join(turn.output["notes"])
    return "completed", ""


def _worth_remembering(turn: BotTurn, status: str) -> bool:
    """Whether the response is one that may come back as evidence: a fixed text that nothing was found is none, nor is
    what a model said instead of answering."""
    if status != "completed" or not turn.response.strip():
        return False
    record = turn.output["provenance"]
    return record["finish"] in ("stop", "length") and (record["outcome"] == "answered" or record["written"] > 0)


async def _awaited(work: Any) -> Any:
    return await work


async def _whole(work: Any) -> None:
    """Wait for `work`, which goes on to its end even when the caller is cancelled meanwhile."""
    task = asyncio.ensure_future(work)
    _ending.add(task)
    task.add_done_callback(_ending.discard)
    await asyncio.shield(task)
