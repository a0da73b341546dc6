"""The cascade from Python: document 004's four methods, each plain and asynchronous, and a source as well."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypedDict, Unpack

from groundgraph.answers.strategy_chain import Judged, Rerank, first_available
from groundgraph.core.errors import ConfigurationError, Problem, refuse_any
from groundgraph.core.failure import degraded
from groundgraph.core.filters import check_filters
from groundgraph.graph.configured_models import configured_embedder
from groundgraph.graph.configured_sources import with_retriever_defaults
from groundgraph.graph.parts import Models, takes
from groundgraph.nodes.node import scope_problems, scope_values
from groundgraph.prompts import Prompts
from groundgraph.resilience.blocking import plain
from groundgraph.settings.load_settings import GivenSettings, settings_of
from groundgraph.settings.settings import Settings
from groundgraph.sources.cascade import CascadeSource, SearchResult
from groundgraph.sources.cascade.source import DEFAULT_VECTORS, cascade_from_options, search_settings
from groundgraph.sources.contract import DelegatingSource, SourceOptions
from groundgraph.text.lemmatizer import configured_lemmatizer

if TYPE_CHECKING:
    from langchain_core.documents import BaseDocumentCompressor
    from langchain_core.embeddings import Embeddings

    from groundgraph.core.chain import Reranker
    from groundgraph.core.embedder import Embedder


# Reranking what a cascade found when it is used alone; in a turn the work `rerank_results` does it.


@dataclass(frozen=True)
class Reranking:
    """Rerankers that stand in for each other.

    Attributes:
        rerankers: by name, the first choice first.
        threshold: results with a lower score are dropped.
        candidates_count: how many results are judged; the others are dropped.
        timeout: seconds for one reranker.
    """

    rerankers: Mapping[str, Rerank]
    threshold: float = 0.5
    candidates_count: int = 10
    timeout: float = 30.0

    async def apply(
        self, question: str, results: Sequence[SearchResult], source: str
    ) -> tuple[list[SearchResult], dict[str, Any]]:
        """The results that stay, the best first, and how it went; all of them as they were when no reranker works."""
        if not results:
            return [], {"judged": 0, "kept": 0, "reason": "nothing was found", "elapsed_ms": 0.0}
        started = time.perf_counter()
        judged = results[: self.candidates_count]
        candidates = [result.to_source_result(source) for result in judged]
        calls = [(name, partial(self._within, rerank, question, candidates)) for name, rerank in self.rerankers.items()]
        ran = await first_available(calls)
        if ran.value is None:
            degraded(source, "reranker", ran.reason, next(iter(ran.classes.values()), None))
            kept = list(results)
        else:
            kept = self._kept(judged, ran.value)
        elapsed = round((time.perf_counter() - started) * 1000, 3)
        report = {"method": ran.method, "judged": len(judged), "kept": len(kept), "reason": ran.reason}
        return kept, {**report, "elapsed_ms": elapsed}

    async def _within(self, rerank: Rerank, question: str, candidates: Sequence[Any]) -> list[Judged]:
        return await asyncio.wait_for(rerank(question, candidates), self.timeout)

    def _kept(self, results: Sequence[SearchResult], judged: Sequence[Judged]) -> list[SearchResult]:
        staying = [one for one in judged if one.score is None or one.score >= self.threshold]
        return [_rescored(results[one.place], one.score, rank) for rank, one in enumerate(staying, start=1)]


def _rescored(result: SearchResult, score: float | None, rank: int) -> SearchResult:
    """`result` at its new place; a score takes the place of its relevance and of what it was ordered by."""
    if score is None:
        return replace(result, rank=rank)
    return replace(result, rank=rank, relevance=score, order=score, scores={**result.scores, "rerank": score})


DEFAULT_NAME = "cascade"


class SearchOptions(TypedDict, total=False):
    """What a search may be told beside its question; see `CascadeRetriever.asearch_with_stats`."""

    categories: Sequence[str]
    top_k: int | None
    filters: Mapping[str, Any] | None


class CascadeRetriever(DelegatingSource):
    """Knowledge in YAML files by category (docs/cascade.md), searched from Python or as a source of a graph.

    ::

        retriever = CascadeRetriever("knowledge/")
        text, urls = retriever.retrieve_with_urls("what are the rates?", categories=["pricing"])

    Every method has an asynchronous twin with an `a` before its name. The plain ones work in threads and beside a
    running event loop as well, since they run on a loop of their own.

    Args:
        source: the source to ask, or the path of its files: a folder, a file, or several of both.
        name: the name of the source.
        embeddings: the embedding model of the semantic stage, which does not run without one.
        vectors: the file that keeps the vectors of sections.
        description: what the source holds, in a sentence.
        options: any other key of the section `retriever`, such as `thresholds`, `default_top_k` or `stages`.

    Raises:
        ConfigurationError: an option is unknown, has a bad value or lacks what it needs.
    """

    inner: CascadeSource

    def __init__(
        self,
        source: CascadeSource | str | Path | Sequence[str | Path],
        *,
        name: str = DEFAULT_NAME,
        embeddings: Embeddings | Embedder | None = None,
        vectors: str | Path = DEFAULT_VECTORS,
        description: str = "",
        **options: Any,
    ) -> None:
        if isinstance(source, CascadeSource):
            given = (name, Path(vectors), description) != (DEFAULT_NAME, DEFAULT_VECTORS, "")
            if options or given or embeddings is not None:
                told = "a source that is built already takes no name, no options and no embedding model"
                raise ConfigurationError([Problem("source", told)])
            super().__init__(source)
        else:
            if options.get("embedder_model") is not None:
                raise ConfigurationError([Problem("embedder_model", "pass the model itself as `embeddings`")])
            settings = search_settings({"use_embeddings": embeddings is not None, **options}, "")
            place: object = source
            if not isinstance(place, str | Path | Sequence):
                told = f"takes a file, a folder or a list of them, not a value of type {type(place).__name__}"
                raise ConfigurationError([Problem("source", told)])
            made = CascadeSource(
                source,
                name=name,
                embedder=_embedder(settings.use_embeddings, embeddings),
                settings=settings,
                lemmatizer=configured_lemmatizer(settings.lemmatizer, settings.languages, ""),
                vectors=vectors,
                description=description,
            )
            super().__init__(made)
        self._prompts = Prompts()
        self._reranking: Reranking | None = None

    @classmethod
    @takes(Models)
    def open(
        cls,
        settings: GivenSettings = None,
        *,
        source: str | None = None,
        reranker: Reranker | BaseDocumentCompressor | None = None,
        scope: Mapping[str, Any] | None = None,
        **models: Unpack[Models],
    ) -> Self:
        """The cascade source of a configuration, with its default and scope filters and its reranker.

        Args:
            settings: from `load_settings`, or what it takes.
            source: the name of the source, needed when there are several of type `cascade`.
            reranker: in place of that of the settings; one that needs a model takes the query model before the chat
                model.
            scope: the values of scope filters, as `Context.scope`.
            models: see `Models`.

        Raises:
            ConfigurationError: the settings cannot work, or name no such source.
            ScopeMissing: a scope filter has no value.
        """
        loaded = settings_of(settings)
        number = _entry(loaded, source)
        entry = loaded.sources[number]
        embeddings = models.get("embeddings")
        embedder = configured_embedder(loaded, embeddings)
        options = SourceOptions(entry.name, entry.options, loaded.base_dir, f"sources[{number}]", embedder)
        options = with_retriever_defaults(options, loaded, passed=embeddings is not None)
        retriever = cls(cascade_from_options(options))
        retriever._prompts = Prompts.of(loaded)
        retriever._reranking = _reranking(loaded, retriever._prompts, reranker, models)
        defaults, wanted = loaded.intent.default_filters, loaded.retrieval.scope_filters.get(entry.name, {})
        refuse_any(scope_problems({entry.name: wanted}, defaults, {entry.name: retriever.get_schema()}))
        scoped = scope_values({entry.name: wanted}, scope or {}, None)
        enforced = {**defaults.get(entry.name, {}), **scoped.get(entry.name, {})}
        retriever.inner.enforced = check_filters(retriever.get_schema(), enforced, source=entry.name)
        return retriever

    async def asearch_with_stats(
        self,
        query: str,
        *,
        categories: Sequence[str] = (),
        top_k: int | None = None,
        filters: Mapping[str, Any] | None = None,
    ) -> tuple[list[SearchResult], dict[str, Any]]:
        """The best sections for `query`, and how each stage went: time, candidates and hits, under the same filter.

        Args:
            query: the question.
            categories: to search in; all when empty or when none of them exists, which `unknown_categories` tells.
            top_k: most results; `default_top_k` when not given.
            filters: conditions on `category`, `key` and `priority`, beside those of the configuration.

        Returns:
            The results, the best first, and `SearchReport.to_dict()` with the number of `results`, and with `rerank`
            when they were reranked.

        Raises:
            SourceUnavailable: there are no knowledge files.
            KnowledgeFileInvalid: a file is wrong, and no earlier state of it is known.
            FilterInvalid: a filter names no declared field, or has a bad value.
        """
        checked = check_filters(self.get_schema(), filters or {}, source=self.name)
        results, report = await self.inner.run(query, categories, checked)
        stats = report.to_dict()
        if self._reranking is not None:
            results, stats["rerank"] = await self._reranking.apply(query, results, self.name)
        results = results[: max(0, self.inner.settings.default_top_k if top_k is None else top_k)]
        return results, {**stats, "results": len(results)}

    async def asearch(self, query: str, **options: Unpack[SearchOptions]) -> list[SearchResult]:
        """The best sections for `query`, the best first; see `asearch_with_stats`."""
        results, _ = await self.asearch_with_stats(query, **options)
        return results

    async def aretrieve_with_urls(
        self, query: str, **options: Unpack[SearchOptions]
    ) -> tuple[str, list[dict[str, str]]]:
        """The facts of the best sections as one text (the prompt `cascade_facts`), empty when there are none, and their
        addresses as `{title, url}`, each once; see `asearch_with_stats`."""
        sections = [result.section for result in await self.asearch(query, **options)]
        text = self._prompts.render("cascade_facts", sections=sections).strip()
        links: dict[str, dict[str, str]] = {}
        for link in (link for section in sections for link in section.urls):
            links.setdefault(link.url, link.to_dict())
        return text, list(links.values())

    async def aretrieve(self, query: str, **options: Unpack[SearchOptions]) -> str:
        """The facts of the best sections as one text; see `aretrieve_with_urls`."""
        text, _ = await self.aretrieve_with_urls(query, **options)
        return text

    search_with_stats = plain(asearch_with_stats)
    search = plain(asearch)
    retrieve_with_urls = plain(aretrieve_with_urls)
    retrieve = plain(aretrieve)

    async def categories(self, filters: Mapping[str, Any] | None = None) -> dict[str, str]:
        """See `CascadeSource.categories`; the filters of the configuration hold too."""
        return await self.inner.categories(filters)

    async def counts(self) -> dict[str, int]:
        """See `CascadeSource.counts`."""
        return await self.inner.counts()


def _embedder(wanted: bool, embeddings: Embeddings | Embedder | None) -> Embedder | None:
    if not wanted:
        return None
    if embeddings is None:
        raise ConfigurationError([Problem("use_embeddings", "needs an embedding model: pass `embeddings`")])
    return configured_embedder(Settings(), embeddings)


def _entry(settings: Settings, source: str | None) -> int:
    """The place of the entry of `sources:` that is meant."""
    named = {entry.name: number for number, entry in enumerate(settings.sources) if entry.type == "cascade"}
    known = ", ".join(named) or "none"
    if source is not None and source not in named:
        raise ConfigurationError([Problem("sources", f"there is no cascade source '{source}'; known: {known}")])
    if source is None and len(named) != 1:
        raise ConfigurationError([Problem("sources", f"name one of the sources of type 'cascade': {known}")])
    return named[source] if source is not None else next(iter(named.values()))


def _reranking(
    settings: Settings,
    prompts: Prompts,
    passed: Reranker | BaseDocumentCompressor | None,
    models: Models,
) -> Reranking | None:
    if passed is None and not settings.reranker.enabled:
        return None
    # Loaded by those who rerank only.
    from groundgraph.graph.configured_reranker import configured_rerankers
    from groundgraph.graph.resources import configured_models

    _, model = configured_models(settings, models) if passed is None else (None, None)
    rerankers = configured_rerankers(settings, prompts, model, passed)
    wanted = settings.reranker
    return Reranking(rerankers, wanted.threshold, wanted.candidates_count, settings.deadlines.model)
