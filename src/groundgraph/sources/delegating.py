"""A source around another one, for what is done about its searches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from typing_extensions import override

from groundgraph.core.evidence import SourceResult
from groundgraph.core.intent import RetrievalIntent
from groundgraph.core.schema import SourceSchema
from groundgraph.core.topic_store import TopicStore
from groundgraph.sources.ask import ask
from groundgraph.sources.contract import GroundedSource


class DelegatingSource(GroundedSource):
    """`inner` in everything, also when its `query` is a plain function; a subclass changes what it wants to.

    `texts_between` is left out: a graph has a step that joins neighbours only where a source can tell of them.
    """

    def __init__(self, inner: GroundedSource) -> None:
        self.inner = inner

    @property
    def name(self) -> str:
        """The name of the inner source."""
        return self.inner.name

    @property
    def source_type(self) -> str:
        """The type of the inner source."""
        return self.inner.source_type

    @property
    @override
    def whole_topics(self) -> bool:
        return self.inner.whole_topics

    @override
    def get_schema(self) -> SourceSchema | None:
        return self.inner.get_schema()

    @override
    async def query(
        self, intent: RetrievalIntent, *, top_k: int = 5, score_threshold: float = 0.0
    ) -> list[SourceResult]:
        return await ask(self.inner, intent, top_k=top_k, score_threshold=score_threshold)

    @override
    async def metadata_fields(self) -> set[str]:
        return await self.inner.metadata_fields()

    @override
    async def categories(self, filters: Mapping[str, Any] | None = None) -> dict[str, str]:
        return await self.inner.categories(filters)

    @override
    async def recovered(self) -> bool:
        return await self.inner.recovered()

    @override
    def topic_store(self) -> TopicStore | None:
        return self.inner.topic_store()

    @override
    def topic_refusal(self, *, headings: bool, vectors: bool) -> str:
        return self.inner.topic_refusal(headings=headings, vectors=vectors)

    @override
    async def advice(self) -> list[str]:
        return await self.inner.advice()

    @override
    async def close(self) -> None:
        await self.inner.close()

    async def between_inner(self, pairs: Sequence[tuple[str, str]]) -> list[str | None]:
        """The `texts_between` of the inner source, for the subclass that has one."""
        return await self.inner.texts_between(pairs)


def joins(source: GroundedSource) -> bool:
    """Whether `source` can tell what stands between two neighbours."""
    return type(source).texts_between is not GroundedSource.texts_between
