"""Lexical search in a knowledge base.

A question goes to the index as OR over its stems, never as AND. What costs time is not finding rows but
ranking each of them, so when the stems of a question are in very many chunks, only chunks are ranked that
hold one of its rarer stems (the seeds); within those, all stems count. `ranking` then orders the best of
them and says how relevant each is.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from groundgraph.core.lexical import coverage
from groundgraph.core.text import query_stems
from groundgraph.sources.knowledge_base.ranking import HEADING_WEIGHT, Question, Ranking

# Chunks that one search ranks, as far as the seeds let it choose.
RANKED_CHUNKS = 8_000
MIN_SEEDS = 2
# The best chunks by the index's BM25 that `ranking` orders: enough for any usual top_k.
MIN_CANDIDATES = 128
# A pasted page is no question: of its stems the rarest are searched for.
MAX_STEMS = 64

_ALLOWED_CHUNKS = "SELECT id FROM chunks WHERE document_id IN (SELECT value FROM json_each(:documents))"


@dataclass(frozen=True)
class Hit:
    """One chunk that was found; `chunk_id` is its row, `score` and `relevance` are those of `Ranking`."""

    chunk_id: int
    score: float
    relevance: float


@dataclass(frozen=True)
class AllowedDocuments:
    """The documents that a filter keeps: their rows as a JSON array, and how many chunks they have."""

    rows: str
    chunks: int


def search(
    connection: sqlite3.Connection,
    text: str,
    *,
    top_k: int,
    score_threshold: float = 0.0,
    allowed: AllowedDocuments | None = None,
) -> list[Hit]:
    """The best chunks for `text` with relevance `score_threshold` or more, at most `top_k`.

    Only the first `MIN_CANDIDATES` (or 8 times `top_k`) chunks by the index's BM25 are looked at; a chunk
    further down is not found, however well it covers the question.
    """
    question = _question(connection, text)
    if top_k < 1 or not question.df or (allowed and not allowed.chunks):
        return []
    run = _Search(connection, question, allowed, max(MIN_CANDIDATES, 8 * top_k), score_threshold)
    seeds = seeds_of(question, allowed.chunks if allowed else None)
    hits = run.hits(seeds)
    if len(hits) < top_k and len(seeds) < len(question.df) and _may_pass(question, seeds, score_threshold):
        hits = run.hits(list(question.df))
    return hits[:top_k]


def _question(connection: sqlite3.Connection, text: str) -> Question:
    asked = query_stems(text)
    chunks, stems = connection.execute("SELECT chunks, stems FROM state").fetchone()
    rows = connection.execute(
        "SELECT term, df FROM terms WHERE term IN (SELECT value FROM json_each(?)) ORDER BY df, term",
        (json.dumps(asked),),
    ).fetchall()
    return Question(asked, dict(rows), chunks, stems / chunks if chunks else 0.0)


def _may_pass(question: Question, seeds: Iterable[str], score_threshold: float) -> bool:
    """Whether a chunk that holds all of the question's stems but the seeds would reach the threshold."""
    others = set(question.df).difference(seeds)
    return coverage(question.relevance_weights(), others) >= score_threshold


def seeds_of(question: Question, kept: int | None) -> list[str]:
    """The rarest stems that together are in at most `RANKED_CHUNKS` chunks, but at least `MIN_SEEDS`.

    `kept` is the number of chunks that a filter keeps, None without a filter.
    """
    share = kept / question.chunks if kept and question.chunks else 1.0
    seeds: list[str] = []
    ranked = 0.0
    for stem, df in question.df.items():
        ranked += df * share
        if ranked > RANKED_CHUNKS and len(seeds) >= MIN_SEEDS:
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
    allowed: AllowedDocuments | None
    limit: int
    score_threshold: float

    def hits(self, seeds: list[str]) -> list[Hit]:
        """The candidates that hold one of `seeds` and reach the threshold, the best first."""
        ranking = Ranking(self.question)
        hits: list[Hit] = []
        for row, body, headings in self.connection.execute(*self._statement(seeds)):
            found_by = (body.split(), headings.split())
            relevance = ranking.relevance(*found_by)
            if relevance >= self.score_threshold:
                hits.append(Hit(row, ranking.score(*found_by), relevance))
        return sorted(hits, key=lambda hit: (-hit.score, hit.chunk_id))

    def _statement(self, seeds: list[str]) -> tuple[str, dict[str, Any]]:
        asked = list(self.question.df)[:MAX_STEMS]
        values = {"stems": any_of(asked), "weight": HEADING_WEIGHT, "limit": self.limit}
        conditions = ["chunk_stems MATCH :stems"]
        # The unary plus keeps SQLite from searching the index once for each row number.
        if len(seeds) < len(asked):
            conditions.append("+rowid IN (SELECT rowid FROM chunk_stems WHERE chunk_stems MATCH :seeds)")
            values["seeds"] = any_of(seeds)
        if self.allowed:
            conditions.append(f"+rowid IN ({_ALLOWED_CHUNKS})")
            values["documents"] = self.allowed.rows
        ranked = (
            "SELECT rowid AS id, bm25(chunk_stems, 1.0, :weight) AS score FROM chunk_stems "
            f"WHERE {' AND '.join(conditions)} ORDER BY score, id LIMIT :limit"
        )
        return f"SELECT id, stems, heading_stems FROM ({ranked}) CROSS JOIN chunks USING (id)", values
