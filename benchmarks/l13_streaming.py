"""L13: what is added on the way to the model's call, and on the way of its first token to the client."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from statistics import median
from typing import Any

from langchain_core.messages import BaseMessage
from langchain_core.outputs import ChatGenerationChunk
from pydantic import PrivateAttr

from benchmarks.bare_graph import bare_graph
from benchmarks.corpus import question
from benchmarks.effort import Effort
from benchmarks.long_conversation import answer
from benchmarks.prepared_source import PreparedSource
from benchmarks.report import Row
from benchmarks.setting import SOURCES, TOPICS, asked, turn_settings
from benchmarks.turn_shape import shape_of
from groundgraph import RetrievalIntent, SourceResult, turn_graph
from groundgraph.testing import Reply, ScriptedChatModel

ALLOWED_MS = 10.0


@dataclass
class Moments:
    """When the latest turn reached its points, in seconds."""

    evidence: float = 0.0
    called: float = 0.0
    first_token: float = 0.0
    at_client: float = 0.0

    @property
    def to_call_ms(self) -> float:
        return (self.called - self.evidence) * 1000

    @property
    def to_client_ms(self) -> float:
        return (self.at_client - self.first_token) * 1000


class TimedModel(ScriptedChatModel):
    """Notes when it is called and when it gives its first token."""

    _moments: Moments = PrivateAttr()

    def __init__(self, reply: Reply, moments: Moments) -> None:
        super().__init__(reply)
        self._moments = moments

    async def _astream(
        self, messages: list[BaseMessage], stop: list[str] | None = None, run_manager: Any = None, **kwargs: Any
    ) -> AsyncIterator[ChatGenerationChunk]:
        self._moments.called, self._moments.first_token = time.perf_counter(), 0.0
        async for chunk in super()._astream(messages, stop, run_manager, **kwargs):
            self._moments.first_token = self._moments.first_token or time.perf_counter()
            yield chunk


class TimedSource(PreparedSource):
    """Notes when it gave its evidence; the latest source counts."""

    moments: Moments

    async def query(
        self, intent: RetrievalIntent, *, top_k: int = 5, score_threshold: float = 0.0
    ) -> list[SourceResult]:
        found = await super().query(intent, top_k=top_k, score_threshold=score_threshold)
        self.moments.evidence = time.perf_counter()
        return found


def run(effort: Effort) -> list[Row]:
    return asyncio.run(_run(effort))


async def _run(effort: Effort) -> list[Row]:
    moments, bare_moments = Moments(), Moments()
    graph = _graph(moments)
    bare = await _bare(graph, bare_moments)
    figures: list[tuple[float, float, float, float]] = []
    for number in range(effort.rounds * 5 + 3):
        await _first_token(graph, asked(question(number, TOPICS)), moments)
        await _first_token(bare, {"value": 0}, bare_moments)
        figures.append((moments.to_call_ms, bare_moments.to_call_ms, moments.to_client_ms, bare_moments.to_client_ms))
    to_call, bare_call, to_client, bare_client = (median(column) for column in zip(*figures[3:], strict=True))
    return [
        _row("from the last evidence to the model's call", to_call, bare_call),
        _row("from the model's first token to the client's", to_client, bare_client),
    ]


def _graph(moments: Moments) -> Any:
    sources = [TimedSource(name, TOPICS) for name in SOURCES]
    for source in sources:
        source.moments = moments
    settings = turn_settings(synthesis={"style": "conversational"})
    return turn_graph(settings, sources=sources, chat_model=_model(moments))


def _model(moments: Moments) -> TimedModel:
    return TimedModel(Reply(answer(), delay=0.02, token_delay=0.001), moments)


async def _bare(graph: Any, moments: Moments) -> Any:
    """The same steps; one of them calls the model and nothing else."""
    shape = await shape_of(graph, question(0, TOPICS))
    model = _model(moments)

    async def retrieve(_: Any) -> None:
        moments.evidence = time.perf_counter()

    async def write(_: Any) -> dict[str, Any]:
        return {"messages": [await model.ainvoke("Write.")]}

    return bare_graph(shape, work={"retrieve_source": retrieve, "answer_conversational": write})


async def _first_token(graph: Any, given: Any, moments: Moments) -> None:
    moments.at_client = 0.0
    async for chunk, _ in graph.astream(given, stream_mode="messages"):
        if chunk.text and not moments.at_client:
            moments.at_client = time.perf_counter()


def _row(what: str, measured: float, baseline: float) -> Row:
    return Row(
        "L13",
        what,
        f"{measured:.2f} ms",
        f"{baseline:.2f} ms",
        f"{measured - baseline:+.2f} ms",
        f"{ALLOWED_MS:g} ms",
        measured <= ALLOWED_MS,
        {"ms": measured, "bare_ms": baseline},
    )
