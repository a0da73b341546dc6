"""One turn of a query bot from question to memory: its messages, what is logged, and the reply."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler, BaseCallbackManager
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.runnables.config import ensure_config
from pydantic import Field
from typing_extensions import override

from groundgraph.answers.gated_model import GATED
from groundgraph.answers.provenance import turn_of_thread
from groundgraph.answers.write_answer import AnswerPrompt
from groundgraph.bot.log import QueryLog
from groundgraph.bot.sources import DOCSTORE, MEMORY, BotStore
from groundgraph.core.characters import clean_text
from groundgraph.core.evidence import SourceResult, from_row
from groundgraph.core.failure import described, tell_failure
from groundgraph.core.turn_values import EMPTY_TURN, Turn
from groundgraph.graph.resources import Resources
from groundgraph.prompts import fence_of
from groundgraph.resilience.bounds import within
from groundgraph.settings.context import Context, options_in_force
from groundgraph.text.words import detect_language

# The messages of a bot's turn: as the model was shown them, or as it would be.

# The steps in which a model writes an answer.
_WRITERS = ("answer_conversational", "answer_hybrid", "repair_answer")


class ShownMessages(BaseCallbackHandler):
    """Remembers what the model that wrote the answer was shown, each part still a message of its own.

    Attributes:
        messages: of its last call; None as long as there was none.
    """

    run_inline = True
    ignore_chain = True
    ignore_agent = True
    ignore_retriever = True

    def __init__(self) -> None:
        self.messages: list[BaseMessage] | None = None

    @override
    def on_chat_model_start(
        self,
        serialized: dict[str, Any],
        messages: list[list[BaseMessage]],
        *,
        run_id: UUID,
        metadata: dict[str, Any] | None = None,
        **rest: Any,
    ) -> None:
        gated = (rest.get("invocation_params") or {}).get("_type") == GATED
        if messages and gated and (metadata or {}).get("langgraph_node") in _WRITERS:
            self.messages = list(messages[0])

    def with_callers(self) -> Any:
        """The callbacks of whoever calls, this one among them: a bot may be called within another graph's step."""
        callers = ensure_config().get("callbacks")
        if isinstance(callers, BaseCallbackManager):
            together = callers.copy()
            together.add_handler(self)
            return together
        return [*(callers or []), self]


def composed_messages(resources: Resources, record: Mapping[str, Any], context: Context) -> list[BaseMessage]:
    """What a model is shown in the turn or retrieval of `record`: system prompt, evidence of the document store,
    evidence of the memory, question."""
    settings = resources.settings
    turn_id = turn_of_thread(record)
    turn: Turn = {**EMPTY_TURN, "id": turn_id, "fence": fence_of(turn_id), "question": record["question"]}
    options = options_in_force(settings, {}, context)
    prompt = AnswerPrompt(resources.prompts, options, turn, per_source=settings.synthesis.evidence_per_source)

    def composed(evidence: Sequence[SourceResult], token_limit: int) -> list[BaseMessage] | None:
        shown = prompt.messages(evidence, (), token_limit)
        return shown[0] if shown else None

    # A single piece that is too long is left out, as it would be in the turn.
    found = composed([from_row(row) for row in record["results"]], settings.limits.tokens)
    return found or composed((), sys.maxsize) or []


def as_logged(messages: Sequence[BaseMessage]) -> list[dict[str, str]]:
    """`messages` as the log has them; the roles are those of the wire."""
    roles = {"human": "user", "ai": "assistant"}
    return [
        {
            "role": roles.get(message.type, message.type),
            "name": message.name or "",
            "content": clean_text(str(message.text)),
        }
        for message in messages
    ]


# What a query bot answers.


class BotReply(AIMessage):
    """The assistant's message, and the whole output of its turn.

    Attributes:
        output: the output of the turn graph: `answer`, `outcome`, `notes`, `citations`, `support`, `provenance`. Not
            part of the message when that is serialised.
    """

    output: dict[str, Any] = Field(default_factory=dict, exclude=True, repr=False)

    @property
    def message(self) -> AIMessage:
        """The message alone: what belongs into the messages of another graph, whose checkpoints know LangChain's types
        only."""
        return AIMessage(content=self.content, id=self.id, response_metadata=self.response_metadata)

    @property
    def outcome(self) -> str:
        """`answered`, `insufficient`, `unavailable` or `chat`."""
        return str(self.output["outcome"])

    @property
    def notes(self) -> list[str]:
        """Sentences for the reader: what failed, was skipped or cut."""
        return list(self.output["notes"])

    @property
    def citations(self) -> list[dict[str, Any]]:
        """What the labels of the text refer to."""
        return list(self.output["citations"])

    @property
    def provenance(self) -> dict[str, Any]:
        """The record of the turn."""
        return dict(self.output["provenance"])


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
            await within(self.resources.settings.deadlines.source, self.memory.append(turn.response))
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


# What is not so: as evidence it would bear out itself.
_FALSE = frozenset({"number_unsupported", "name_unsupported", "quote_not_found", "not_entailed"})


def _worth_remembering(turn: BotTurn, status: str) -> bool:
    """Whether the response is one that may come back as evidence: an answer that says nothing which the check found to
    stand otherwise, or nowhere, in its evidence."""
    if status != "completed" or not turn.response.strip():
        return False
    record = turn.output["provenance"]
    is_false = not _FALSE.isdisjoint(flag["kind"] for flag in turn.output["support"]["flags"])
    return record["finish"] in ("stop", "length") and record["outcome"] == "answered" and not is_false


async def _whole(work: Any) -> None:
    """Wait for `work`, which goes on to its end even when the caller is cancelled meanwhile."""
    task = asyncio.ensure_future(work)
    _ending.add(task)
    task.add_done_callback(_ending.discard)
    await asyncio.shield(task)
