"""A knowledge base with as many chunks as wanted: made-up words as frequent as in real text, vectors in clusters."""

from __future__ import annotations

import random
from bisect import bisect
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate, islice
from pathlib import Path
from typing import Any

import numpy as np
from langchain_core.embeddings import Embeddings

from groundgraph.core.document import Chunk, Document
from groundgraph.core.embedder import Embedder
from groundgraph.core.knowledge_store import BaseIdentity, PreparedChunk, PreparedDocument
from groundgraph.sources.knowledge_base import EmbeddedStore

DIMENSION = 384
CATEGORIES = 50
_VOCABULARY = 60_000
# By Zipf and Mandelbrot; with this shift the most frequent content word is in about a quarter of the chunks.
_SHIFT = 20
_WORDS = 60
_CHUNKS_OF_DOCUMENT = 10
_CLUSTERS = 500
_SYLLABLES = [consonant + vowel for consonant in "bdfgklmnprstvz" for vowel in "aeiou"]
_BATCH = 200


class _Vocabulary:
    def __init__(self, random_: random.Random) -> None:
        self._random = random_
        self._sums = list(accumulate(1 / (rank + _SHIFT) for rank in range(1, _VOCABULARY + 1)))

    def words(self, count: int) -> list[str]:
        ranks = (bisect(self._sums, self._random.random() * self._sums[-1]) for _ in range(count))
        return [_word(rank) for rank in ranks]


def _word(rank: int) -> str:
    word = ""
    rank += len(_SYLLABLES)
    while rank:
        rank, syllable = divmod(rank, len(_SYLLABLES))
        word += _SYLLABLES[syllable]
    return f"{word}k"


class KnownVectors(Embeddings):
    """The vectors of texts that are known beforehand, so that no model's time is measured."""

    def __init__(self, vectors: dict[str, Any]) -> None:
        self._vectors = vectors

    def embed_query(self, text: str) -> list[float]:
        return list(self._vectors[text])

    async def aembed_query(self, text: str) -> list[float]:
        return self.embed_query(text)

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [self.embed_query(text) for text in texts]


@dataclass(frozen=True)
class LargeBase:
    """The file, questions to it, and the model that knows their vectors."""

    path: Path
    questions: list[str]
    embedder: Embedder


class MadeUp:
    """Documents, and questions to them that become known as the documents are read: each takes its words and its
    vector from one of the first `among` chunks, and has stop words too."""

    def __init__(self, chunks: int, questions: int, among: int | None = None) -> None:
        self.asked: dict[str, Any] = {}
        self._chunks = chunks
        self._questions = questions
        self._among = among or chunks

    def __iter__(self) -> Iterator[PreparedDocument]:
        random_, generator = random.Random(6), np.random.default_rng(6)
        centres = generator.normal(size=(_CLUSTERS, DIMENSION)).astype(np.float32)
        share = 2 * self._questions * _CHUNKS_OF_DOCUMENT / self._among
        for prepared in _documents(self._chunks, random_, generator, centres):
            if len(self.asked) < self._questions and random_.random() < share:
                chunk = prepared.chunks[0]
                words = random_.sample(chunk.chunk.text.split(), random_.randint(3, 7))
                vector = _unit(chunk.vectors[0] + _noise(generator, 1)[0] / 2)
                self.asked[f"What is the {' of the '.join(words)}?"] = vector
            yield prepared

    @property
    def embedder(self) -> Embedder:
        """The model that knows the vectors of the questions."""
        return Embedder(KnownVectors(self.asked), "made-up")


async def large_base(path: Path, chunks: int, questions: int) -> LargeBase:
    """Make the base with questions to it."""
    made = MadeUp(chunks, questions)
    store = EmbeddedStore(path)
    await store.open(BaseIdentity("made-up", DIMENSION))
    for batch in _batches(made):
        await store.write(batch)
    await store.tidy()
    await store.close()
    return LargeBase(path, list(made.asked), made.embedder)


def _batches(made: MadeUp) -> Iterator[list[PreparedDocument]]:
    rest = iter(made)
    while batch := list(islice(rest, _BATCH)):
        yield batch


def _documents(
    chunks: int, random_: random.Random, generator: np.random.Generator, centres: Any
) -> Iterator[PreparedDocument]:
    vocabulary = _Vocabulary(random_)
    for number in range(0, chunks, _CHUNKS_OF_DOCUMENT):
        texts = [" ".join(vocabulary.words(_WORDS)) for _ in range(min(_CHUNKS_OF_DOCUMENT, chunks - number))]
        near = centres[generator.integers(_CLUSTERS, size=len(texts))] / np.sqrt(DIMENSION)
        vectors = _unit(near + _noise(generator, len(texts)))
        document = Document(f"d{number}", "\n".join(texts), metadata={"category": f"c{number // 10 % CATEGORIES}"})
        yield PreparedDocument(document, _prepared(document, texts, vectors), "hash")


def _prepared(document: Document, texts: list[str], vectors: Any) -> list[PreparedChunk]:
    prepared, start = [], 0
    for position, text in enumerate(texts):
        chunk = Chunk(document, position, start, start + len(text), (), text)
        prepared.append(PreparedChunk(chunk, (text,), vectors=vectors[position : position + 1]))
        start += len(text) + 1
    return prepared


def _noise(generator: np.random.Generator, rows: int) -> Any:
    return generator.normal(size=(rows, DIMENSION)).astype(np.float32) / np.sqrt(DIMENSION)


def _unit(rows: Any) -> Any:
    return rows / np.linalg.norm(rows, axis=-1, keepdims=True)
