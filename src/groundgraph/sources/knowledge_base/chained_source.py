"""A source over a knowledge base, whatever that is stored in, and what searches it: the query chains run inside."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol, TypedDict

from typing_extensions import override

from groundgraph.core.chain import IDENTITY, Match, MatchFilter, QueryChains, QueryTransformer, Reranker
from groundgraph.core.errors import ConfigurationError, NeverIngested, Problem
from groundgraph.core.evidence import SourceResult
from groundgraph.core.failure import degraded, degraded_by
from groundgraph.core.filters import check_filters
from groundgraph.core.intent import RetrievalIntent
from groundgraph.core.knowledge_store import BaseIdentity
from groundgraph.core.schema import SourceSchema
from groundgraph.resilience.blocking import call_chain
from groundgraph.search.rank import query_vector, take_turns, wants_vector
from groundgraph.sources.contract import NamedSource
from groundgraph.sources.knowledge_base.ledger import check_model
from groundgraph.text.original import FILE_LINE, FILE_ROW, FILE_SHEET, FILE_TEXT

if TYPE_CHECKING:
    from groundgraph.core.embedder import Embedder


@dataclass(frozen=True)
class Search:
    """One text to search for.

    Attributes:
        text: its words.
        vector: its unit vector, None to search by words alone.
        model: the embedding model that the vector is from.
        vector_weight: the share of the vectors in the order.
        filters: checked conditions.
        top_k: most results.
        score_threshold: least relevance.
    """

    text: str
    vector: Any
    model: str
    vector_weight: float
    filters: Mapping[str, Any]
    top_k: int
    score_threshold: float


class BaseSearcher(Protocol):
    """All methods are coroutines, and none blocks the event loop.

    Each raises `SourceError` when the base is not there or cannot answer.
    """

    @property
    def place(self) -> str:
        """Where the base is, for messages."""

    async def vector_identity(self) -> BaseIdentity | None:
        """The embedding model and dimension of the base's vectors; None when it has none."""

    async def run(self, searches: Sequence[Search]) -> list[list[Match]]:
        """What each of `searches` finds, all in one state of the base, the best first.

        Raises:
            EmbeddingModelChanged: a vector is not of the base's model or dimension.
        """

    async def metadata_fields(self) -> set[str]:
        """The names that results carry."""

    async def counts(self) -> dict[str, int]:
        """How many `documents` and `chunks` there are."""

    async def texts_between(self, pairs: Sequence[tuple[str, str]]) -> list[str | None]:
        """See `GroundedSource.texts_between`."""

    async def close(self) -> None:
        """Release what is held; the next search opens it again."""


SOURCE_TYPE = "knowledge_base"
# What every result carries; fields of documents and of their parts stand beside these.
OWN_METADATA = ("document", "title", "section", "headings", "heading_levels", "position", "start", "end")
SOMETIMES = ("derived", "qualifying_text", FILE_TEXT, FILE_LINE, FILE_ROW, FILE_SHEET)


# The query chains around a search: a chain that fails is left out and told, so that the others still serve.


async def transformed(transformer: QueryTransformer | None, query: str, source: str) -> str:
    """`query` in the form of the matching texts; as it is when there is no transformer, or it fails."""
    if transformer is None or not query.strip():
        return query
    try:
        text = await call_chain(transformer, query)
        if not isinstance(text, str):
            raise TypeError(f"it gave {type(text).__name__} instead of a text")
    except Exception as error:
        degraded_by(source, "transformer", error)
        return query
    return text if text.strip() else query


async def reranked(reranker: Reranker | None, query: str, matches: Sequence[Match], source: str) -> list[Match]:
    """`matches` by what the reranker says, which then is their relevance; as they are when it fails."""
    if reranker is None or not matches:
        return list(matches)
    try:
        scores = _scores(await call_chain(reranker, query, [match.result for match in matches]), len(matches))
    except Exception as error:
        degraded_by(source, "reranker", error)
        return list(matches)
    judged = [_judged(match, score) for match, score in zip(matches, scores, strict=True)]
    # Python's sort is stable: what is judged the same stays in the order of the search.
    return sorted(judged, key=lambda match: -match.result.relevance)


async def filtered(match_filter: MatchFilter | None, query: str, matches: Sequence[Match], source: str) -> list[Match]:
    """`matches`, each marked with whether the filter keeps it; all are kept when it fails."""
    if match_filter is None or not matches:
        return list(matches)
    try:
        kept = list(await call_chain(match_filter, query, matches))
        if len(kept) != len(matches):
            raise ValueError(f"it gave {len(kept)} verdicts for {len(matches)} matches")
    except Exception as error:
        degraded_by(source, "filter", error)
        return list(matches)
    return [replace(match, kept=bool(verdict)) for match, verdict in zip(matches, kept, strict=True)]


def _judged(match: Match, score: float) -> Match:
    result = replace(match.result, relevance=score, score=score, scores={**match.result.scores, "rerank": score})
    return replace(match, result=result, rerank_score=score)


def _scores(answer: Any, expected: int) -> list[float]:
    scores = [float(score) for score in answer]
    if len(scores) != expected or not all(math.isfinite(score) for score in scores):
        raise ValueError(f"it gave {len(scores)} scores for {expected} candidates, or a score that is no number")
    return [min(1.0, max(0.0, score)) for score in scores]


OWN_FIELDS: dict[str, dict[str, Any]] = {
    "document": {"type": "string", "description": "The name of the document, for example its path."}
}


@dataclass(frozen=True)
class _Call:
    """What holds for all texts of one call."""

    chains: QueryChains
    filters: Mapping[str, Any]
    top_k: int
    score_threshold: float
    vector_weight: float

    @property
    def searched(self) -> int:
        """How many matches the search has to give: those that are judged, and no fewer than are asked for."""
        if self.chains.reranker:
            return self.chains.candidates_count
        return max(self.top_k, self.chains.candidates_count) if self.chains.filter else self.top_k


DEFAULT_NAME = "knowledge_base"


class ChainedOptions(TypedDict, total=False):
    """What a source over any base takes; see `ChainedSource`."""

    name: str
    fields: Mapping[str, dict[str, Any]] | None
    description: str
    embedder: Embedder | None
    query_chains: QueryChains
    vector_weight: float


class ChainedSource(NamedSource):
    """The chunks that an ingest wrote, found by their matching texts: by the stems of text, headings and title, and
    with an embedding model by their vectors too. The query chains run inside.

    By words alone, BM25 orders, and the relevance is the idf-weighted share of the question's stems that a chunk, its
    heading path or its document's title holds, so a threshold means the same for every question. With vectors, both
    scores are fused, and the relevance is that share or the cosine, whichever is larger. With a reranker, what it says
    is order and relevance. Nothing is opened before the first query.

    Args:
        searcher: searches the base.
        name: the name of the source.
        fields: fields that filters may name beside `document`, typed as in `SourceSchema.fields`; their
            values are those of the documents' metadata (front matter) and of their pages or records.
        description: what the base holds, in a sentence.
        embedder: the model that the base's vectors are from; None searches by words alone.
        query_chains: what a query goes through; identity when not given.
        vector_weight: the share of the vectors where words and vectors are fused, 0 to 1.

    Raises:
        ConfigurationError: a field has an unknown type, or a name that the source itself uses.
    """

    _source_type = SOURCE_TYPE

    def __init__(
        self,
        searcher: BaseSearcher,
        *,
        name: str = DEFAULT_NAME,
        fields: Mapping[str, dict[str, Any]] | None = None,
        description: str = "",
        embedder: Embedder | None = None,
        query_chains: QueryChains = IDENTITY,
        vector_weight: float = 0.5,
    ) -> None:
        taken = [field for field in fields or () if field in (*OWN_METADATA, *SOMETIMES)]
        if taken:
            raise ConfigurationError(
                [Problem(f"{name}.fields.{field}", "the source itself uses this name") for field in taken]
            )
        if not 0 <= vector_weight <= 1:
            raise ConfigurationError([Problem(f"{name}.vector_weight", f"must be from 0 to 1, not {vector_weight}")])
        self._name = name
        self._schema = SourceSchema(name, {**OWN_FIELDS, **(fields or {})}, description=description)
        self._searcher = searcher
        self._embedder = embedder
        self._chains = query_chains
        self._vector_weight = vector_weight

    async def metadata_fields(self) -> set[str]:
        """The names that the source itself gives and those of the metadata of documents, pages and records."""
        return await self._searcher.metadata_fields()

    async def counts(self) -> dict[str, int]:
        """How many `documents` and `chunks` the base holds.

        Raises:
            SourceUnavailable: see `query`, as for its other errors.
        """
        return await self._searcher.counts()

    async def query(
        self, intent: RetrievalIntent, *, top_k: int = 5, score_threshold: float = 0.0
    ) -> list[SourceResult]:
        """See `GroundedSource.query`; several text queries take turns, and what two of them find comes once.

        With `intent.raw_data["chains"] == "identity"` the query chains are left out. A chain or an embedding
        model that fails is left out too and told through `groundgraph.core.failure`.

        Raises:
            SourceUnavailable: the base does not exist, holds no document or is damaged.
            FilterInvalid: a filter names a field that is not declared.
            EmbeddingModelChanged: the base holds vectors of another model than the embedder's.
            SchemaVersionUnsupported: a newer groundgraph wrote the file.
            StorageLocked: a writer kept readers out for too long.
        """
        chains = IDENTITY if intent.raw_data.get("chains") == "identity" else self._chains
        given = intent.filters.get(self._name)
        filters = check_filters(self._schema, given, source=self._name) if given else {}
        if top_k < 1:
            return []
        call = _Call(chains, filters, top_k, score_threshold, self._vector_weight)
        found = await self._matches(intent.text_queries, call)
        most = top_k if chains.keep is None else min(top_k, chains.keep)
        lists = [
            [match.result for match in matches if match.kept and match.result.relevance >= score_threshold][:most]
            for matches in found
        ]
        return take_turns(lists)

    async def matches(
        self,
        query: str,
        *,
        top_k: int,
        chains: QueryChains | None = None,
        filters: Mapping[str, Any] | None = None,
        vector_weight: float | None = None,
    ) -> list[Match]:
        """The best `top_k` matches for `query` with their scores; what the filter would drop is marked, not dropped.

        Args:
            query: the text.
            top_k: most matches.
            chains: used in place of those of the source; `IDENTITY` for none.
            filters: conditions on the declared fields.
            vector_weight: used in place of that of the source.

        Raises:
            SourceError: as for `query`, with its other errors.
        """
        checked = check_filters(self._schema, filters or {}, source=self._name)
        weight = self._vector_weight if vector_weight is None else vector_weight
        call = _Call(self._chains if chains is None else chains, checked, top_k, 0.0, weight)
        [found] = await self._matches([query], call)
        return found[:top_k]

    @override
    async def texts_between(self, pairs: Sequence[tuple[str, str]]) -> list[str | None]:
        return await self._searcher.texts_between(pairs)

    async def close(self) -> None:
        """Release what the search holds."""
        await self._searcher.close()

    async def _matches(self, queries: Sequence[str], call: _Call) -> list[list[Match]]:
        """For each of `queries` what was found and how it was judged, nothing dropped but what is below the threshold
        of a search without a reranker."""
        texts = await asyncio.gather(*(transformed(call.chains.transformer, query, self._name) for query in queries))
        vectors = await self._vectors_of(texts, call.vector_weight)
        # With a reranker the threshold is about what that says.
        threshold = 0.0 if call.chains.reranker else call.score_threshold
        model = self._embedder.name if self._embedder else ""
        searches = [
            Search(text, vector, model, call.vector_weight, call.filters, call.searched, threshold)
            for text, vector in zip(texts, vectors, strict=True)
        ]
        found = await self._searcher.run(searches)
        if not any(found):
            await self.check_filled()
        return list(
            await asyncio.gather(*(self._judged(*pair, call.chains) for pair in zip(queries, found, strict=True)))
        )

    @override
    async def check_filled(self) -> None:
        if not (await self._searcher.counts())["chunks"]:
            raise NeverIngested(
                f"The knowledge base {self._searcher.place} holds no document. Fill it with `groundgraph ingest PATH`."
            )

    async def _judged(self, query: str, matches: Sequence[Match], chains: QueryChains) -> list[Match]:
        judged = await reranked(chains.reranker, query, matches, self._name)
        return await filtered(chains.filter, query, judged, self._name)

    async def _vectors_of(self, texts: Sequence[str], weight: float) -> list[Any]:
        """The vector of each of `texts`; None for one that is searched by words alone."""
        embedder = self._embedder
        if embedder is None or weight == 0:
            return [None] * len(texts)
        wanted = [wants_vector(embedder, text) for text in texts]
        if not any(wanted):
            return [None] * len(texts)
        identity = await self._searcher.vector_identity()
        if identity is None:
            degraded(self._name, "vectors", "the base holds none yet; run `groundgraph ingest` to make them")
            return [None] * len(texts)
        check_model(self._searcher.place, identity, embedder.name, None)
        asked = (query_vector(embedder, text, self._name) for text, use in zip(texts, wanted, strict=True) if use)
        made = iter(await asyncio.gather(*asked))
        return [next(made) if use else None for use in wanted]
