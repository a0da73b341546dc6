"""The six replaceable chains of a knowledge base.

Each may be a plain function, a coroutine function, an object with `__call__`, or a LangChain Runnable; whoever
calls one goes through `groundgraph.resilience.blocking`. The ingest chains have a `signature`: what their output
depends on. When it changes, documents that did not change are processed again.
"""

from __future__ import annotations

from collections.abc import Awaitable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeAlias, TypeVar

from groundgraph.core.evidence import SourceResult

if TYPE_CHECKING:
    from groundgraph.core.document import Chunk, Document

T = TypeVar("T")
MaybeAwaitable: TypeAlias = T | Awaitable[T]


class Chunker(Protocol):
    """Cuts a document."""

    @property
    def signature(self) -> str:
        """What the cut depends on."""

    def __call__(self, document: Document, /) -> MaybeAwaitable[Iterable[Chunk]]:
        """The chunks of `document` in order."""


class QualifyingText(Protocol):
    """Says what a document is about, so that a chunk keeps its meaning when it stands alone."""

    @property
    def signature(self) -> str:
        """What the text depends on."""

    def __call__(self, document: Document, chunks: Sequence[Chunk], /) -> MaybeAwaitable[Sequence[str]]:
        """One text for each of `chunks`; the same one for all when it speaks of the document as a whole."""


class MatchingTexts(Protocol):
    """Writes the texts by which a chunk is found."""

    @property
    def signature(self) -> str:
        """What the texts depend on."""

    @property
    def generated(self) -> bool:
        """Whether the texts are of another form than the chunk, so that the filter of match scores makes sense."""

    def __call__(self, chunk: Chunk, qualifying_text: str, /) -> MaybeAwaitable[Sequence[str]]:
        """At least one text."""


class QueryTransformer(Protocol):
    """Brings a query into the form of the matching texts."""

    def __call__(self, query: str, /) -> MaybeAwaitable[str]:
        """The query to match; an empty one means that the query stays as it is."""


class Reranker(Protocol):
    """Judges how well pieces of evidence answer a query."""

    def __call__(self, query: str, candidates: Sequence[SourceResult], /) -> MaybeAwaitable[Sequence[float]]:
        """One score from 0 to 1 for each of `candidates`; 0.5 means even odds that it answers the query."""


class SupportJudge(Protocol):
    """Judges whether evidence says what a sentence of an answer says."""

    def __call__(self, question: str, pairs: Sequence[tuple[str, str]], /) -> MaybeAwaitable[Sequence[float | None]]:
        """One score from 0 to 1 for each pair of evidence and sentence; below 0.5 the evidence rather does not say it.
        None where there is no telling."""


@dataclass(frozen=True)
class Match:
    """A chunk that a query found, before anything is dropped.

    Attributes:
        result: the chunk as evidence.
        match_score: how well its best matching text fits the query, 0 to 1: the cosine where there are vectors,
            else the lexical relevance.
        rerank_score: what the reranker said, 0 to 1; None without one.
        kept: whether the filter keeps it.
    """

    result: SourceResult
    match_score: float
    rerank_score: float | None = None
    kept: bool = True


class MatchFilter(Protocol):
    """Drops what does not fit well enough."""

    def __call__(self, query: str, matches: Sequence[Match], /) -> MaybeAwaitable[Sequence[bool]]:
        """For each of `matches` whether it stays."""


@dataclass(frozen=True)
class IngestChains:
    """What one kind of data goes through on its way into the base."""

    chunker: Chunker
    qualifying_text: QualifyingText
    matching_texts: MatchingTexts

    @property
    def signature(self) -> str:
        """What the processing depends on."""
        return " | ".join([self.chunker.signature, self.qualifying_text.signature, self.matching_texts.signature])


@dataclass(frozen=True)
class QueryChains:
    """What a query to a knowledge base goes through.

    Attributes:
        transformer: None leaves the query as it is.
        reranker: None leaves the order as it is; it sees the best `candidates_count` matches.
        filter: None drops nothing; it runs before the cut.
        candidates_count: how many matches are judged and filtered; the cut to `top_k` comes afterwards.
        keep: an upper bound for `top_k`, None for none.
    """

    transformer: QueryTransformer | None = None
    reranker: Reranker | None = None
    filter: MatchFilter | None = None
    candidates_count: int = 30
    keep: int | None = None


IDENTITY = QueryChains()
