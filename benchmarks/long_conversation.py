"""Conversations with 20 pieces of evidence of 2 kB and answers of 800 characters, kept in SQLite files."""

from __future__ import annotations

from collections import deque
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from benchmarks.bare_graph import bare_graph
from benchmarks.corpus import question
from benchmarks.prepared_source import PreparedSource
from benchmarks.setting import TOPICS, asked, thread, turn_settings
from benchmarks.shape import TurnShape
from benchmarks.turn_shape import shape_of
from groundgraph import open_graph
from groundgraph.graph.turn_runner import TurnRunner
from groundgraph.testing import ScriptedChatModel

ANSWER_CHARS = 800
_SENTENCE = "The log says that the part was replaced after the second inspection of the year [{label}]. "


def answer() -> str:
    """An answer of `ANSWER_CHARS` characters with a label behind each sentence."""
    text = "".join(_SENTENCE.format(label=label) for label in range(1, 12))
    return text[: ANSWER_CHARS - 1].rstrip("[ ").ljust(ANSWER_CHARS - 1, ".") + "."


def evidence_sources(topics: range) -> list[PreparedSource]:
    """Two sources that give 10 records of 2 kB each, about one topic after the other."""
    return [PreparedSource(name, topics, low=1900, high=2100) for name in ("handbook", "tickets")]


async def open_conversation(stack: AsyncExitStack, folder: Path, topics: range) -> TurnRunner:
    """The turn graph over SQLite files in `folder`, with a model that writes `answer`."""
    settings = turn_settings(
        synthesis={"style": "conversational"},
        checkpointer={"type": "sqlite", "path": str(folder / "threads.sqlite")},
        store={"type": "sqlite", "path": str(folder / "evidence.sqlite")},
    )
    model = ScriptedChatModel(answer())
    # Else it keeps every prompt, for tests.
    model._calls = deque(maxlen=1)  # type: ignore[assignment]
    sources = evidence_sources(topics)
    graph = await stack.enter_async_context(open_graph(settings, sources=sources, chat_model=model))
    await graph.checkpointer.setup()  # type: ignore[union-attr]
    return graph


async def open_bare(stack: AsyncExitStack, file: Path, graph: TurnRunner, **options: Any) -> Any:
    """The bare graph of the same shape under a saver of its own."""
    saver = await stack.enter_async_context(AsyncSqliteSaver.from_conn_string(str(file)))
    await saver.setup()
    return bare_graph(await conversation_shape(graph), checkpointer=saver, **options)


async def conversation_shape(graph: TurnRunner) -> TurnShape:
    """The shape of a turn, found out without leaving anything in the saver."""
    return await shape_of(graph.copy({"checkpointer": None}), question(0, TOPICS))


async def converse(graph: TurnRunner, name: str, number: int, **options: Any) -> Any:
    """Turn `number` of the thread `name`."""
    output = await graph.ainvoke(asked(question(number, TOPICS)), thread(name), **options)
    if len(output["answer"]) != ANSWER_CHARS or len(output["provenance"]["results"]) != 20:
        raise AssertionError("a turn must answer in 800 characters from 20 pieces of evidence")
    return output
