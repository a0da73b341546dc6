"""Lexical search in a knowledge base.

A question goes to the index as OR over its stems, never as AND. What costs time is not finding rows but
ranking each of them, so when the stems of a question are in very many matching texts, only texts are ranked that
hold one of its rarer stems (the seeds); within those, all stems count. `ranking` then orders the best of
them and says how relevant each is. A chunk is found once, by the best of its matching texts (K10).
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from groundgraph.core.lexical import coverage
from groundgraph.core.text import query_stems
from groundgraph.sources.knowledge_base.allowed import AllowedChunks
from groundgraph.sources.knowledge_base.found import Hit, best_texts
from groundgraph.sources.knowledge_base.ranking import HEADING_WEIGHT, Question, Ranking

# Matching texts that one search ranks, as far as the seeds let it choose.
RANKED_CHUNKS = 8_000
MIN_SEEDS = 2
# The best matching texts by the index's BM25 that `ranking` orders: enough for any usual top_k.
MIN_CANDIDATES = 128
# When chunks have many matching texts, that many times more are looked at, and no more.
MAX_TEXTS = 8
# A pasted page is no question: of its stems the rarest are searched for.
MAX_STEMS = 64


def search(
    connection: sqlite3.Connection,
    text: str,
    *,
    top_k: int,
    score_threshold: float = 0.0,
    allowed: AllowedChunks | None = None,
) -> list[Hit]:
    """The best chunks for `text` with relevance `score_threshold` or more, at most `top_k`; see `candidates`."""
    question = question_of(connection, text)
    return candidates(connection, question, top_k, score_threshold, allowed)[:top_k]


def candidates(
    connection: sqlite3.Connection,
    question: Question,
    top_k: int,
    score_threshold: float = 0.0,
    allowed: AllowedChunks | None = None,
) -> list[Hit]:
    """The best chunks for `question` with relevance `score_threshold` or more; more than `top_k` when they are at hand.

    Only the first `MIN_CANDIDATES` (or 8 times `top_k`) matching texts by the index's BM25 are looked at, and as many
    times more as a chunk has of them; a chunk further down is not found, however well it covers the question.
    """
    if top_k < 1 or not question.df or (allowed and not allowed.texts):
        return []
    limit = max(MIN_CANDIDATES, 8 * top_k) * min(MAX_TEXTS, _texts_of_a_chunk(connection))
    run = _Search(connection, question, allowed, limit, score_threshold)
    seeds = seeds_of(question, allowed.texts if allowed else None)
    hits = run.hits(seeds)
    if len(hits) < top_k and len(seeds) < len(question.df) and _may_pass(question, seeds, score_threshold):
        hits = run.hits(list(question.df))
    return hits


def _texts_of_a_chunk(connection: sqlite3.Connection) -> int:
    chunks, texts = connection.execute("SELECT chunks, texts FROM state").fetchone()
    return max(1, round(texts / chunks)) if chunks else 1


def question_of(connection: sqlite3.Connection, text: str) -> Question:
    """`text` in the base that is asked."""
    asked = query_stems(text)
    texts, stems = connection.execute("SELECT texts, stems FROM state").fetchone()
    rows = connection.execute(
        "SELECT term, df FROM terms WHERE term IN (SELECT value FROM json_each(?)) ORDER BY df, term",
        (json.dumps(asked),),
    ).fetchall()
    return Question(asked, dict(rows), texts, stems / texts if texts else 0.0)


def scores_of(connection: sqlite3.Connection, question: Question, chunks: Iterable[int]) -> dict[int, Hit]:
    """The hits of these rows of `chunks` by row, whether a stem of `question` is in them or not."""
    rows = connection.execute(
        "SELECT chunk_id, stems, heading_stems FROM texts WHERE chunk_id IN (SELECT value FROM json_each(?))",
        (json.dumps(list(chunks)),),
    )
    return {hit.chunk_id: hit for hit in best_texts(rows, Ranking(question))}


def _may_pass(question: Question, seeds: Iterable[str], score_threshold: float) -> bool:
    """Whether a chunk that holds all of the question's stems but the seeds would reach the threshold."""
    others = set(question.df).difference(seeds)
    return coverage(question.relevance_weights(), others) >= score_threshold


def seeds_of(question: Question, kept: int | None, most: int = RANKED_CHUNKS) -> list[str]:
    """The rarest stems that together are in at most `most` chunks, but at least `MIN_SEEDS`.

    `kept` is the number of texts that a filter keeps, None without a filter.
    """
    share = kept / question.chunks if kept and question.chunks else 1.0
    seeds: list[str] = []
    ranked = 0.0
    for stem, df in question.df.items():
        ranked += df * share
        if ranked > most and len(seeds) >= MIN_SEEDS:
            break
        seeds.append(stem)
    return seeds


def any_of(stems: Iterable[str]) -> str:
    """The text query for one of `stems`: of letters and digits only, so that quoting makes every question legal."""
    return " OR ".join(f'"{stem}"' for stem in stems)


@dataclass(frozen=True)
class _Search:
    """What stays the same when a search is repeated with other seeds."""

    connection: sqlite3.Connection
    question: Question
    allowed: AllowedChunks | None
    limit: int
    score_threshold: float

    def hits(self, seeds: list[str]) -> list[Hit]:
        """The candidates that hold one of `seeds` and reach the threshold, the best first."""
        found = best_texts(self.connection.execute(*self._statement(seeds)), Ranking(self.question))
        hits = [hit for hit in found if hit.relevance >= self.score_threshold]
        return sorted(hits, key=lambda hit: (-hit.score, hit.chunk_id))

    def _statement(self, seeds: list[str]) -> tuple[str, dict[str, Any]]:
        asked = list(self.question.df)[:MAX_STEMS]
        values = {"stems": any_of(asked), "weight": HEADING_WEIGHT, "limit": self.limit}
        conditions = ["text_stems MATCH :stems"]
        # The unary plus keeps SQLite from searching the index once for each row number.
        if len(seeds) < len(asked):
            conditions.append("+rowid IN (SELECT rowid FROM text_stems WHERE text_stems MATCH :seeds)")
            values["seeds"] = any_of(seeds)
        if self.allowed:
            conditions.append(self.allowed.condition)
            values |= self.allowed.values
        ranked = (
            "SELECT rowid AS id, bm25(text_stems, 1.0, :weight) AS score FROM text_stems "
            f"WHERE {' AND '.join(conditions)} ORDER BY score, id LIMIT :limit"
        )
        return f"SELECT chunk_id, stems, heading_stems FROM ({ranked}) CROSS JOIN texts USING (id)", values
