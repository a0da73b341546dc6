"""Asks a LangChain vector store or retriever: documents with a relevance, the best first."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, Protocol

from groundgraph.core.errors import ConfigurationError, Problem

if TYPE_CHECKING:
    from langchain_core.documents import Document
    from langchain_core.retrievers import BaseRetriever
    from langchain_core.vectorstores import VectorStore

# What the scores of a vector store are. `store`: it makes them a relevance itself.
Scores = Literal["store", "similarity", "distance", "none"]
_SCALES: Mapping[str, Callable[[float], float]] = {
    "similarity": lambda score: score,
    "distance": lambda score: 1 / (1 + max(score, 0.0)),
}


@dataclass(frozen=True)
class Hit:
    """A document that was found.

    Attributes:
        document: it.
        relevance: 0 to 1.
        measured: whether the relevance is how near a vector store measured it.
    """

    document: Document
    relevance: float = 1.0
    measured: bool = False


class Search(Protocol):
    """One way to ask. `can_grow` tells whether asking for more gives more."""

    can_grow: bool

    async def __call__(self, text: str, k: int, native: Mapping[str, Any]) -> list[Hit]:
        """At most `k` documents for `text`, the best first; `native` are further arguments of the search."""


def as_relevance(score: Any) -> float:
    """`score` as a relevance: cut to 0 to 1; what is no number counts as 0."""
    try:
        value = float(score)
    except (TypeError, ValueError):
        return 0.0
    # max(0.0, nan) is 0.0.
    return min(1.0, max(0.0, value))


class VectorStoreSearch:
    """Asks a vector store.

    Args:
        store: it.
        scores: what its scores are, or a function that makes a relevance of one.
        source: the name of the source, for messages.
    """

    can_grow = True

    def __init__(self, store: VectorStore, scores: Scores | Callable[[float], float], source: str) -> None:
        self._store = store
        self._scores: str | Callable[[float], float] = scores
        self._source = source
        # Cosines below 0 are no mistake, and are cut to 0 here.
        warnings.filterwarnings("ignore", message="Relevance scores must be between", category=UserWarning)

    async def __call__(self, text: str, k: int, native: Mapping[str, Any]) -> list[Hit]:
        """See `Search`.

        Raises:
            ConfigurationError: the store makes no relevance of its scores, and `scores` does not tell what they are.
        """
        if self._scores == "none":
            return [Hit(document) for document in await self._store.asimilarity_search(text, k=k, **native)]
        scored = await self._scored(text, k, native)
        hits = [Hit(document, as_relevance(score), measured=True) for document, score in scored]
        return sorted(hits, key=lambda hit: -hit.relevance)

    async def _scored(self, text: str, k: int, native: Mapping[str, Any]) -> list[tuple[Document, float]]:
        scale = _SCALES.get(self._scores) if isinstance(self._scores, str) else self._scores
        if scale is None:
            try:
                return await self._store.asimilarity_search_with_relevance_scores(text, k=k, **native)
            except NotImplementedError:
                scale = self._known_scale()
        found = await self._store.asimilarity_search_with_score(text, k=k, **native)
        return [(document, scale(float(score))) for document, score in found]

    def _known_scale(self) -> Callable[[float], float]:
        from langchain_core.vectorstores import InMemoryVectorStore

        if isinstance(self._store, InMemoryVectorStore):
            return _SCALES["similarity"]
        kind = type(self._store).__name__
        raise ConfigurationError(
            [
                Problem(
                    f"{self._source}.scores",
                    f"a {kind} does not tell what its scores mean. Say `similarity` when more is nearer, `distance` "
                    "when less is nearer, or `none` to take every result as relevant.",
                )
            ]
        )


class RetrieverSearch:
    """Asks a retriever, which gives no scores: every result counts as relevant unless its metadata hold a score.

    What `as_retriever()` makes of a vector store has the scores of that store behind it, which are used where the store
    tells what they mean.

    Args:
        retriever: it.
        score_field: the metadata field with the score, 0 to 1; a result without one counts as 0.
    """

    def __init__(self, retriever: BaseRetriever, score_field: str | None = None) -> None:
        from langchain_core.vectorstores import VectorStoreRetriever

        self._retriever = retriever
        self._score_field = score_field
        self._takes_k = isinstance(retriever, VectorStoreRetriever)
        self._has_k = "k" in type(retriever).model_fields
        self.can_grow = self._takes_k or self._has_k
        self._store: VectorStoreSearch | None = None
        if type(retriever) is VectorStoreRetriever and retriever.search_type == "similarity" and score_field is None:
            self._store = VectorStoreSearch(retriever.vectorstore, "store", "")
            self._fixed = {name: value for name, value in retriever.search_kwargs.items() if name != "k"}

    async def __call__(self, text: str, k: int, native: Mapping[str, Any]) -> list[Hit]:
        """See `Search`."""
        if self._store is not None:
            try:
                return await self._store(text, k, {**self._fixed, **native})
            except ConfigurationError:
                self._store = None
        # A copy, since other questions are asked at the same time.
        retriever = self._retriever.model_copy(update={"k": k}) if self._has_k else self._retriever
        arguments: dict[str, Any] = {**({"k": k} if self._takes_k else {}), **native}
        found = await retriever.ainvoke(text, **arguments)
        hits = [Hit(document) for document in found]
        if self._score_field is None:
            return hits
        return sorted((self._with_score(hit, self._score_field) for hit in hits), key=lambda hit: -hit.relevance)

    def _with_score(self, hit: Hit, field: str) -> Hit:
        return replace(hit, relevance=as_relevance(hit.document.metadata.get(field)))
