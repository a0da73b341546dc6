"""Knowledge bases with headings and known vectors, for topic indices."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from filled_base import fill
from langchain_core.embeddings import Embeddings

from groundgraph.core.document import MARKDOWN, Document
from groundgraph.core.embedder import Embedder
from groundgraph.core.evidence import SourceResult
from groundgraph.core.intent import RetrievalIntent
from groundgraph.settings.topics import TopicIndexSettings
from groundgraph.sources.knowledge_base import KnowledgeBaseSource
from groundgraph.sources.topic_index import TopicIndexSource

# Three chapters; the words of a text are its meaning for `WordVectors`.
GUIDE = """# Guide

front matter

## Install

install intro

### Linux

linux install apt

#### Servers

linux server notes

### Windows

windows install msi

## Safety

safety intro

### Fire

fire smoke

### Water

water flood

#### Pumps

water impeller

### Power

power shock

## Credits

thanks everyone
"""


class WordVectors(Embeddings):
    """A text is how often it holds each of `words`, and a little of something else."""

    def __init__(self, words: Sequence[str]) -> None:
        self.words = list(words)
        self.asked: list[str] = []
        self.written: list[str] = []

    def _vector(self, text: str) -> list[float]:
        held = re.findall(r"\w+", text.lower())
        return [*(float(held.count(word)) for word in self.words), 0.01]

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        self.written += texts
        return [self._vector(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        self.asked.append(text)
        return self._vector(text)


async def base(
    path: Path,
    texts: Mapping[str, str],
    *,
    words: Sequence[str] = (),
    metadata: Mapping[str, dict[str, Any]] | None = None,
    fields: Mapping[str, dict[str, Any]] | None = None,
) -> KnowledgeBaseSource:
    """The source `docs` over Markdown `texts`; with `words`, vectors that count them."""
    embedder = Embedder(WordVectors(words), "words") if words else None
    documents = [Document(name, text, MARKDOWN, (metadata or {}).get(name, {})) for name, text in texts.items()]
    assert await fill(path, documents, embedder=embedder) == {}
    return KnowledgeBaseSource(path, name="docs", embedder=embedder, fields=fields)


def indexed(source: KnowledgeBaseSource, kind: str = "heading_tree", **options: Any) -> TopicIndexSource:
    return TopicIndexSource(source, TopicIndexSettings(type=kind, **options))


async def ask(source: TopicIndexSource, question: str, threshold: float = 0.0, **intent: Any) -> list[SourceResult]:
    return await source.query(RetrievalIntent([question], **intent), top_k=1, score_threshold=threshold)


def headings(results: Sequence[SourceResult]) -> list[str]:
    """The last heading of each result."""
    return [result.metadata["headings"][-1] if result.metadata["headings"] else "" for result in results]
