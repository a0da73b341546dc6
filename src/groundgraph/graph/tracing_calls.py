"""Spans around what has no callbacks of its own: embedding models, and the rerankers inside a knowledge base."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Any

from langchain_core.embeddings import Embeddings
from openinference.semconv.trace import EmbeddingAttributes, RerankerAttributes, SpanAttributes
from typing_extensions import override

from groundgraph.core.call_chain import call_chain
from groundgraph.core.chain import QueryChains, Reranker
from groundgraph.core.embedder import Embedder
from groundgraph.core.evidence import SourceResult
from groundgraph.graph.tracing_spans import LISTED, OtelSpan, OtelTracing, ToldDocument, set_documents
from groundgraph.graph.tracing_steps import own


@dataclass
class TracedEmbeddings(Embeddings):
    """An embedding model whose calls are spans. The vectors are never told."""

    model: Embeddings
    name: str
    tracing: OtelTracing

    @override
    def embed_query(self, text: str) -> list[float]:
        with self._span([text]):
            return self.model.embed_query(text)

    @override
    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        with self._span(texts):
            return self.model.embed_documents(texts)

    @override
    async def aembed_query(self, text: str) -> list[float]:
        with self._span([text]):
            return await self.model.aembed_query(text)

    @override
    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        with self._span(texts):
            return await self.model.aembed_documents(texts)

    def _span(self, texts: Sequence[str]) -> AbstractContextManager[OtelSpan]:
        known = {SpanAttributes.EMBEDDING_MODEL_NAME: self.name, **own(texts=len(texts))}
        content = {
            f"{SpanAttributes.EMBEDDING_EMBEDDINGS}.{number}.{EmbeddingAttributes.EMBEDDING_TEXT}": text
            for number, text in enumerate(texts[:LISTED])
        }
        return self.tracing.span("embed", "EMBEDDING", known, content)


def with_embedding_spans(embedder: Embedder, tracing: OtelTracing) -> Embedder:
    """`embedder`, whose calls are spans."""
    if isinstance(embedder.model, TracedEmbeddings):
        return embedder
    return replace(embedder, model=TracedEmbeddings(embedder.model, embedder.name, tracing))


@dataclass(frozen=True)
class TracedReranker:
    """A reranker of a knowledge base whose calls are spans."""

    reranker: Reranker
    tracing: OtelTracing

    async def __call__(self, query: str, candidates: Sequence[SourceResult], /) -> Sequence[float]:
        """See `Reranker`."""
        with self.tracing.span("rerank", "RERANKER", content={RerankerAttributes.RERANKER_QUERY: query}) as span:
            scores: Sequence[float] = await call_chain(self.reranker, query, candidates)
            judged = _judged(candidates, scores)
            span.set(own(results=len(judged)))
            set_documents(span, RerankerAttributes.RERANKER_OUTPUT_DOCUMENTS, judged)
            return scores


def _judged(candidates: Sequence[SourceResult], scores: Any) -> list[ToldDocument]:
    """The candidates as `set_documents` takes them; none when the scores are none, of which the caller tells."""
    try:
        numbers = [float(score) for score in scores]
    except (TypeError, ValueError):
        return []
    pairs = zip(candidates, numbers, strict=False)
    return [{"id": one.source_id, "score": number, "text": one.content} for one, number in pairs]


def with_reranker_spans(chains: QueryChains, reranker: Reranker, tracing: OtelTracing) -> QueryChains:
    """`chains` with `reranker`, which has spans."""
    return replace(chains, reranker=TracedReranker(reranker, tracing))
