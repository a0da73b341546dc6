"""What a query bot searches, as sources whose searches have spans of their own (Q1, Q3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from typing_extensions import override

from groundgraph.core.evidence import SourceResult
from groundgraph.core.intent import RetrievalIntent
from groundgraph.graph.tracing import on_run, span
from groundgraph.sources.contract import GroundedSource
from groundgraph.sources.delegating import DelegatingSource, joins

if TYPE_CHECKING:
    from groundgraph.graph.span import Attribute


@dataclass(frozen=True)
class Part:
    """One of the two stores of a bot.

    Attributes:
        name: of its source, where the store brings none.
        span: the name of the span around a search.
        count: the attribute that says on that span how many results there were.
        total: the same on the span of the whole turn.
    """

    name: str
    span: str
    count: str
    total: str


DOCSTORE = Part("docstore", "retrieval", "documents_found", "docstore_results")
MEMORY = Part("memory", "memory_retrieval", "memory_results", "memory_results")


class BotSource(DelegatingSource):
    """`inner` under `name`, each search in the span of `part`.

    Args:
        inner: what is searched.
        part: which of the bot's stores it is.
        name: of this source; that of the inner one when absent.
    """

    def __init__(self, inner: GroundedSource, part: Part, *, name: str | None = None) -> None:
        super().__init__(inner)
        self._part = part
        self._name = name or inner.name

    @property
    def name(self) -> str:
        """The name given at construction."""
        return self._name

    async def query(
        self, intent: RetrievalIntent, *, top_k: int = 5, score_threshold: float = 0.0
    ) -> list[SourceResult]:
        """What the inner source answers; its filters are those for this name."""
        own = intent.filters.get(self._name)
        inner = replace(intent, filters={self.inner.name: own} if own else {})
        asked: dict[str, Attribute] = {"n_results": top_k}
        with span(self._part.span, "RETRIEVER", asked) as opened:
            results = await super().query(inner, top_k=top_k, score_threshold=score_threshold)
            opened.set({self._part.count: len(results)})
            on_run({self._part.total: len(results)})
        return results


class JoiningBotSource(BotSource):
    """A `BotSource` over one that can tell what stands between two neighbours, as a knowledge base can."""

    @override
    async def texts_between(self, pairs: Sequence[tuple[str, str]]) -> list[str | None]:
        return await self.between_inner(pairs)


def bot_source(inner: GroundedSource, part: Part, *, name: str | None = None) -> BotSource:
    """The `BotSource` over `inner`."""
    return (JoiningBotSource if joins(inner) else BotSource)(inner, part, name=name)
