"""A source that is searched by the topics of its documents."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from typing_extensions import override

from groundgraph.core.errors import ConfigurationError, Problem
from groundgraph.core.evidence import SourceResult
from groundgraph.core.failure import degraded
from groundgraph.core.filters import check_filters
from groundgraph.core.intent import RetrievalIntent
from groundgraph.core.latest import Latest
from groundgraph.search.topics import PartedTopicStore, TopicStore
from groundgraph.settings.topics import HEADING_TREE, TopicIndexOptions, TopicIndexSettings
from groundgraph.sources.contract import DelegatingSource, GroundedSource
from groundgraph.sources.topic_index.asked import Asked, Topic, TopicIndex
from groundgraph.sources.topic_index.cluster import ClusterIndex
from groundgraph.sources.topic_index.heading_tree import ChooseHeadings, HeadingTreeIndex

# In the metadata of a result: what its topic is about. Not `topic`, which may well be a field of the documents.
FOUND_UNDER = "found_under"
_ATTEMPTS = 3
_NO_MODEL = "works with vectors, and there is no embedding model; set `embeddings`"
# Tenants whose index is kept.
_KEPT_PARTS = 16


class TopicIndexSource(DelegatingSource):
    """A source around another one, which it asks for whole topics in place of single passages.

    How much a query gives is what the index says, not `top_k`; `score_threshold` is about what the index begins with,
    and what it leads to may have less. Passages of one topic stand together; below a heading they are in the order of
    the document. Their metadata name the topic under `found_under`.

    Args:
        inner: the source; it must have a `topic_store`.
        settings: which index, and its options.
        choose: asks a model which headings fit, for `resolution_prompt`.
        key: where the index stands in the configuration, for messages.

    Raises:
        ConfigurationError: the source has no topic store, or the index needs a model that is not there.
    """

    def __init__(
        self,
        inner: GroundedSource,
        settings: TopicIndexSettings,
        *,
        choose: ChooseHeadings | None = None,
        key: str = "topic_index",
    ) -> None:
        store = inner.topic_store()
        embeds = store is not None and store.embeds
        problems = index_problems(inner, settings, key, embeds=embeds, chooses=choose is not None)
        if problems or store is None:
            raise ConfigurationError(problems)
        super().__init__(inner)
        self._store = store
        self._settings = settings
        self._choose = choose
        self._index = self._index_over(store)
        self._parts: Latest[TopicStore, TopicIndex] = Latest(_KEPT_PARTS)

    @property
    @override
    def whole_topics(self) -> bool:
        return True

    async def query(
        self,
        intent: RetrievalIntent,
        *,
        top_k: int = 5,  # noqa: ARG002 - the index has limits of its own
        score_threshold: float = 0.0,
    ) -> list[SourceResult]:
        """The passages of the topics that the text queries are about, those of the first query first.

        `intent.raw_data["topic_index"]` goes over the profile of the intent's scope, and that over the configuration.

        Raises:
            SourceUnavailable: the source has not what the index works with, holds nothing, or is not there.
            FilterInvalid: a filter names a field that is not declared.
        """
        filters = check_filters(self.get_schema(), intent.filters.get(self.name, {}), source=self.name)
        options, wrong = self._settings.in_force(intent.scope, intent.raw_data.get("topic_index"))
        for reason in (*wrong, *self._lacking(options)):
            degraded(self.name, "topic_options", reason)
        found: dict[tuple[str, str], SourceResult] = {}
        for question in intent.text_queries:
            for result in await self._answer(Asked(question, options, score_threshold, filters)):
                found.setdefault(result.passage, result)
        if not found:
            await self.inner.check_filled()
        return list(found.values())

    async def metadata_fields(self) -> set[str]:
        """Those of the source inside, and `found_under`."""
        return {*await self.inner.metadata_fields(), FOUND_UNDER}

    @override
    async def texts_between(self, pairs: Sequence[tuple[str, str]]) -> list[str | None]:
        return await self.inner.texts_between(pairs)

    def _lacking(self, options: TopicIndexOptions) -> Iterator[str]:
        """What `options` ask for and is not there. Only an intent can: a configuration that does is refused."""
        if options.entry_strategy == "vector" and not self._store.embeds:
            yield "entry_strategy 'vector' needs an embedding model; words were searched for"
        if options.resolution_prompt and self._choose is None:
            yield "resolution_prompt needs a model, and there is none"

    async def _answer(self, asked: Asked) -> list[SourceResult]:
        store, index = self._part(asked.filters)
        topics: list[Topic] = []
        passages: Mapping[str, SourceResult] = {}
        for _ in range(_ATTEMPTS):
            topics = await index.resolve(asked)
            ids = [found.id for topic in topics for found in topic.passages]
            passages = await store.passages(ids, asked.filters)
            # Otherwise somebody wrote to the store in between.
            if len(passages) == len(ids):
                break
        return self._results(topics, passages, asked)

    def _index_over(self, store: TopicStore) -> TopicIndex:
        if self._settings.type == HEADING_TREE:
            return HeadingTreeIndex(store, self.name, self._choose)
        return ClusterIndex(store, self.name)

    def _part(self, filters: Mapping[str, Any]) -> tuple[TopicStore, TopicIndex]:
        """What `filters` are about: where tenants are kept apart, the store and the index of one."""
        if not isinstance(self._store, PartedTopicStore):
            return self._store, self._index
        store = self._store.part(filters)
        return store, self._parts.get_or_make(store, lambda: self._index_over(store))

    def _results(
        self, topics: Sequence[Topic], passages: Mapping[str, SourceResult], asked: Asked
    ) -> list[SourceResult]:
        there = [
            (topic, [(found, passages[found.id]) for found in topic.passages if found.id in passages])
            for topic in topics
        ]
        texts = [[passage.content for _, passage in shown] for _, shown in there]
        titles = self._index.titles(topics, texts, asked.options)
        return [
            replace(
                passage,
                relevance=found.relevance,
                score=topic.score,
                scores=dict(found.scores),
                metadata={**passage.metadata, FOUND_UNDER: title} if title else passage.metadata,
            )
            for (topic, shown), title in zip(there, titles, strict=True)
            for found, passage in shown
        ]


def index_problems(
    inner: GroundedSource, settings: TopicIndexSettings, key: str, *, embeds: bool, chooses: bool
) -> list[Problem]:
    """Why a topic index with `settings` cannot work around `inner`.

    Args:
        inner: the source.
        settings: of the index.
        key: where they stand in the configuration.
        embeds: whether there is an embedding model.
        chooses: whether there is a model that chooses among headings.
    """
    if inner.topic_store() is None:
        refusal = inner.topic_refusal(headings=settings.type == HEADING_TREE, vectors=settings.needs_vectors)
        told = f"sources of the type '{inner.source_type}' have neither headings nor vectors to make a topic index of"
        return [Problem(key, refusal or told)]
    return [*_type_problems(inner, settings, key, embeds), *_layer_problems(inner, settings, key, embeds, chooses)]


def _type_problems(inner: GroundedSource, settings: TopicIndexSettings, key: str, embeds: bool) -> Iterator[Problem]:
    refusal = inner.topic_refusal(headings=settings.type == HEADING_TREE, vectors=settings.needs_vectors)
    if settings.needs_vectors and (refusal or not embeds):
        option = "type" if settings.type != HEADING_TREE else "entry_strategy"
        yield Problem(f"{key}.{option}", f"'{getattr(settings, option)}' {refusal or _NO_MODEL}")
    elif refusal:
        yield Problem(f"{key}.type", f"'{settings.type}' {refusal}")


def _layer_problems(
    inner: GroundedSource, settings: TopicIndexSettings, key: str, embeds: bool, chooses: bool
) -> Iterator[Problem]:
    """What a profile asks for and is not there; and a model that chooses, wherever that is asked for."""
    profiles = {f"{key}.scope_profiles.{scope}": profile for scope, profile in settings.scope_profiles.items()}
    without = inner.topic_refusal(headings=False, vectors=True) or ("" if embeds else _NO_MODEL)
    for where, profile in profiles.items():
        if profile.entry_strategy == "vector" and without:
            yield Problem(f"{where}.entry_strategy", f"'vector' {without}")
    for where, layer in {key: settings, **profiles}.items():
        if layer.resolution_prompt and not chooses:
            told = "asks a model to choose among headings, and there is none; set `llm` or `query_llm`"
            yield Problem(f"{where}.resolution_prompt", told)
