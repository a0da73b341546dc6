"""Search in a knowledge base: the candidates by words and by vectors, with both scores, in one order.

A chunk is found once, by the best of its matching texts (K10).
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from groundgraph.core.text import query_stems
from groundgraph.search.full_text import best_rows
from groundgraph.search.passage import Passage, Pool
from groundgraph.search.question import Question
from groundgraph.search.rank import RankedPassage, rank
from groundgraph.search.scorer import CHUNKS, Scorer
from groundgraph.search.seeds import by_seeds, seeds_of
from groundgraph.sources.knowledge_base.allowed import AllowedChunks
from groundgraph.sources.knowledge_base.vectors import Vectors

# The best matching texts by the index's BM25 that are scored: enough for any usual top_k.
MIN_CANDIDATES = 128
# When chunks have many matching texts, that many times more are looked at, and no more.
MAX_TEXTS = 8
# The nearest chunks by vector that are candidates, when fewer are asked for. Those beyond them that have words in
# common with the question are candidates by their words.
NEAREST = 64


@dataclass(frozen=True)
class VectorQuery:
    """The vector of a query, the vectors of the base, and the share that nearness has in the order."""

    vector: Any
    base: Vectors
    weight: float


def find(
    connection: sqlite3.Connection,
    text: str,
    vector: VectorQuery | None,
    *,
    top_k: int,
    score_threshold: float,
    allowed: AllowedChunks | None,
) -> list[RankedPassage]:
    """The best chunks with relevance `score_threshold` or more, at most `top_k`, the best first.

    By words only the first `MIN_CANDIDATES` (or 8 times `top_k`) matching texts by the index's BM25 are looked at, and
    as many times more as a chunk has of them; a chunk further down is not found, however well it covers the question.
    """
    question = question_of(connection, text)
    words = _Words(connection, question, Scorer(question), allowed, top_k)
    pool = Pool(words.candidates(score_threshold)) if vector is None else _with_nearest(words, vector)
    return list(rank([pool], threshold=score_threshold, top_k=top_k))


def question_of(connection: sqlite3.Connection, text: str) -> Question:
    """`text` in the base that is asked."""
    asked = query_stems(text)
    texts, stems = connection.execute("SELECT texts, stems FROM state").fetchone()
    rows = connection.execute(
        "SELECT term, df FROM terms WHERE term IN (SELECT value FROM json_each(?)) ORDER BY df, term",
        (json.dumps(asked),),
    ).fetchall()
    return Question(asked, dict(rows), texts, stems / texts if texts else 0.0)


def statement(
    question: Question, seeds: Sequence[str], allowed: AllowedChunks | None, limit: int
) -> tuple[str, dict[str, Any]]:
    """Selects the matching texts that hold one of `seeds`, the best by the index first; and its values."""
    conditions = {allowed.condition: allowed.values} if allowed else {}
    ranked, values = best_rows("text_stems", question, seeds, conditions, above_weight=CHUNKS.above_weight, limit=limit)
    return f"SELECT chunk_id, stems, heading_stems FROM ({ranked}) CROSS JOIN texts USING (id)", values


@dataclass(frozen=True)
class _Words:
    """What the words of one question find."""

    connection: sqlite3.Connection
    question: Question
    scorer: Scorer
    allowed: AllowedChunks | None
    top_k: int

    def candidates(self, threshold: float = 0.0) -> Sequence[Passage]:
        """The best chunks by the index; `threshold` is the relevance that is asked for."""
        if self.top_k < 1 or not self.question.df or (self.allowed and not self.allowed.texts):
            return []
        seeds = seeds_of(self.question, self.allowed.texts if self.allowed else None)
        limit = max(MIN_CANDIDATES, 8 * self.top_k) * min(MAX_TEXTS, self._texts_of_a_chunk())

        def look(some: Sequence[str]) -> Sequence[Passage]:
            rows = self.connection.execute(*statement(self.question, some, self.allowed, limit))
            return list(self.scorer.best_texts(rows).values())

        return by_seeds(self.scorer, self.question, seeds, look, top_k=self.top_k, threshold=threshold)

    def of(self, chunks: Iterable[int]) -> dict[int, Passage]:
        """By row these chunks, whether a stem of the question is in them or not."""
        rows = self.connection.execute(
            "SELECT chunk_id, stems, heading_stems FROM texts WHERE chunk_id IN (SELECT value FROM json_each(?))",
            (json.dumps(list(chunks)),),
        )
        return self.scorer.best_texts(rows)

    def _texts_of_a_chunk(self) -> int:
        chunks, texts = self.connection.execute("SELECT chunks, texts FROM state").fetchone()
        return max(1, round(texts / chunks)) if chunks else 1


def _with_nearest(words: _Words, vector: VectorQuery) -> Pool:
    """The candidates of both, each with both scores."""
    # Words that have no weight in the order need not be searched for.
    found = {one.key: one for one in words.candidates()} if vector.weight < 1 else {}
    nearness = vector.base.nearness(vector.vector, words.allowed)
    cosines = nearness.nearest(max(NEAREST, words.top_k))
    found |= words.of(cosines.keys() - found.keys())
    cosines |= nearness.of([chunk for chunk in found if chunk not in cosines])
    passages = [one._replace(cosine=cosines.get(chunk)) for chunk, one in found.items()]
    return Pool(passages, nearness.average, vector.weight)
