"""The contract of a source: one small class, three members to write."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, cast

from typing_extensions import override

from groundgraph.core.chain import IDENTITY, QueryChains
from groundgraph.core.computation import Computing
from groundgraph.core.evidence import SourceResult
from groundgraph.core.intent import RetrievalIntent
from groundgraph.core.registry import Registry
from groundgraph.core.schema import SourceSchema
from groundgraph.resilience.blocking import run_blocking

if TYPE_CHECKING:
    from groundgraph.core.embedder import Embedder
    from groundgraph.search.topics import TopicStore


class GroundedSource(ABC):
    """Anything that can be searched.

    `query` may be a plain function too; it then runs in a worker thread, so that a blocking client never holds up
    the event loop. It must return the best results first, must not return more than `top_k` for one text query, nothing
    below `score_threshold`, and nothing that `intent.filters[self.name]` excludes.
    `groundgraph.sources.conformance.check_source` proves all that of any source.
    """

    if TYPE_CHECKING:
        # A type checker allows no plain attribute in place of a property, which is what most sources write.
        name: str
        source_type: str
    else:

        @property
        @abstractmethod
        def name(self) -> str:
            """The name under which results, filters and provenance refer to this source; an attribute will do."""

        @property
        @abstractmethod
        def source_type(self) -> str:
            """The kind of source, for example `knowledge_base`; an attribute will do."""

    @property
    def whole_topics(self) -> bool:
        """Whether a query gives whole topics.

        Such a source is asked once in a turn, with the question in place of the text queries. How much it gives is its
        own affair: neither `top_k` nor `score_threshold` cuts the results.
        """
        return False

    def get_schema(self) -> SourceSchema | None:
        """The fields that filters may name; none by default."""
        return None

    @abstractmethod
    def query(
        self, intent: RetrievalIntent, *, top_k: int = 5, score_threshold: float = 0.0
    ) -> Awaitable[list[SourceResult]] | list[SourceResult]:
        """At most `top_k` results per text query of `intent`, best first, each with relevance `score_threshold` or
        more.

        Raises:
            SourceError: the source cannot answer. Any other exception counts as a failure of the source as well.
        """

    async def metadata_fields(self) -> set[str]:
        """The names of the metadata fields that results carry; empty when the source cannot tell."""
        return set()

    async def categories(self, filters: Mapping[str, Any] | None = None) -> dict[str, str]:  # noqa: ARG002 - of the contract
        """The categories of what is searched, each with a description that may be empty; none by default.

        `filters` are those that hold for this source, checked: what they leave nothing of is not listed, so that
        nobody, a model that chooses categories included, reads of what is outside a run's scope.
        A source that has some searches in `intent.categories` alone, and gives an intent without text queries what
        belongs to them, the most important first.
        """
        return {}

    async def texts_between(self, pairs: Sequence[tuple[str, str]]) -> list[str | None]:
        """For each pair of ids (`source_id`) of neighbouring results what stands between the two in their original.

        Only a source that can tell has its neighbours joined (`retrieval.merge_adjacent`). None for a pair it knows
        nothing of; by default for all.
        """
        return [None] * len(pairs)

    async def recovered(self) -> bool:
        """Whether a source that failed repeatedly says that it can be asked again, before its pause is over.

        A source behind a server can tell by a quick look at that; no by default.
        """
        return False

    def topic_store(self) -> TopicStore | None:
        """What a topic index works with; None for a source that has neither headings nor vectors."""
        return None

    def topic_refusal(self, *, headings: bool, vectors: bool) -> str:  # noqa: ARG002 - of the contract
        """Why a topic index that needs `headings`, or `vectors`, cannot work with this source; empty when it can, or
        when there is no more to say than that there is no `topic_store`."""
        return ""

    def computing(self) -> Computing | None:
        """What computes over the rows of the source; None where nothing does."""
        return None

    async def advice(self) -> list[str]:
        """What the owner of what is searched should change, such as rights that are too wide, a sentence each."""
        return []

    async def check_filled(self) -> None:  # noqa: B027 - optional by contract
        """Refuse to find nothing where there is nothing to search, which would look as if the texts said nothing.

        Raises:
            NeverIngested: the source holds no document.
        """

    async def close(self) -> None:  # noqa: B027 - optional by contract
        """Release what the source holds; nothing by default."""


def joins(source: GroundedSource) -> bool:
    """Whether `source` can tell what stands between two neighbours."""
    return type(source).texts_between is not GroundedSource.texts_between


class NamedSource(GroundedSource):
    """A source that keeps what it is: its name, its type, which is that of its class unless it is given another, its
    schema, the model that its vectors are from, and the store of its topics, as far as it has them."""

    _name: str
    _source_type: str
    _schema: SourceSchema | None = None
    _embedder: Embedder | None = None
    _topics: TopicStore | None = None

    @property
    @override
    def name(self) -> str:  # type: ignore[override]
        return self._name

    @property
    @override
    def source_type(self) -> str:  # type: ignore[override]
        return self._source_type

    @property
    def embedder(self) -> Embedder | None:
        """The model that the vectors are from; None where there are none, or a server makes those of questions."""
        return self._embedder

    @override
    def get_schema(self) -> SourceSchema | None:
        return self._schema

    @override
    def topic_store(self) -> TopicStore | None:
        return self._topics


class DelegatingSource(GroundedSource):
    """`inner` in everything, also when its `query` is a plain function; a subclass changes what it wants to.

    `categories` and `texts_between` are left out: a graph has steps for them where the class of a source has its own.
    """

    def __init__(self, inner: GroundedSource) -> None:
        self.inner = inner

    @property
    @override
    def name(self) -> str:  # type: ignore[override]
        return self.inner.name

    @property
    @override
    def source_type(self) -> str:  # type: ignore[override]
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
    async def check_filled(self) -> None:
        await self.inner.check_filled()

    @override
    async def close(self) -> None:
        await self.inner.close()


@dataclass(frozen=True)
class SourceOptions:
    """One entry of `sources:` in a configuration, as a source type's factory receives it.

    Attributes:
        name: the name of the source.
        options: the keys beside `type`, `name` and `weight`.
        base_dir: the folder that relative paths in `options` start from.
        key: where the entry stands in the configuration, for messages.
        embedder: the embedding model of the configuration, if there is one.
        query_chains: what a query to a knowledge base goes through.
    """

    name: str
    options: Mapping[str, Any]
    base_dir: Path
    key: str
    embedder: Embedder | None = None
    query_chains: QueryChains = IDENTITY


class SourceFactory(Protocol):
    """Builds a source from its options without opening anything."""

    def __call__(self, entry: SourceOptions, /) -> GroundedSource:
        """The source that `entry` describes.

        Raises:
            ConfigurationError: an option is unknown or has a bad value.
        """


source_types: Registry[SourceFactory] = Registry("source type", "groundgraph.sources")
# A type is imported when a configuration names it: most need none of the others.
for _name, _place in {
    "memory": "in_memory:memory_from_options",
    "knowledge_base": "knowledge_base.source:knowledge_base_from_options",
    "vector_kb": "knowledge_base.source:knowledge_base_from_options",
    "sql": "sql.source:sql_from_options",
    "database": "sql.source:database_from_options",
    "langchain": "langchain_adapter:langchain_from_options",
    "weaviate": "weaviate.source:weaviate_from_options",
    "cascade": "cascade.source:cascade_from_options",
}.items():
    source_types.provide(_name, f"groundgraph.sources.{_place}")


# Asking a source whose `query` may be a coroutine function or a plain one.


async def ask(
    source: GroundedSource, intent: RetrievalIntent, *, top_k: int, score_threshold: float
) -> list[SourceResult]:
    """What `source` answers; a plain `query` runs in a thread, so that it never holds up the event loop.

    Raises whatever the source raises.
    """
    if inspect.iscoroutinefunction(source.query):
        answer: Any = source.query(intent, top_k=top_k, score_threshold=score_threshold)
    else:
        answer = await run_blocking(source.query, intent, top_k=top_k, score_threshold=score_threshold)
    # A decorated coroutine function looks plain; calling it only made the coroutine, which is awaited here.
    return cast("list[SourceResult]", await answer if isinstance(answer, Awaitable) else answer)
