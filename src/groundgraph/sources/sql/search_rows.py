"""Finding rows for a question in the index: one search of the text index, whatever the filters.

The question goes in as OR over its stems. When they are in very many rows, only rows with one of the rarer stems (the
seeds) are ranked, as in the knowledge base. The index's BM25 picks the candidates, and the knowledge base's ranking
(BM25 with a bonus for neighbouring words) orders them. The relevance of R3 says how much of the question a row holds;
it knows nothing of how rare a word is, so as an order it finds less: nDCG@10 .932 against .951 on clapnq.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from groundgraph.core.text import query_stems
from groundgraph.sources.knowledge_base.ranking import Question, Ranking
from groundgraph.sources.knowledge_base.search import MAX_STEMS, any_of, seeds_of
from groundgraph.sources.sql.introspect import ROWID_BITS

# The best rows by the index's BM25 that are looked at. A row further down is not found, however well it covers the
# question. On the public sets 24 and 128 rows find the same to .001 nDCG@10.
CANDIDATES = 64
CONTENT, OTHER, FLOOR = 1.0, 0.5, 0.05
# In the order a word in another field counts as one in the content: what the other fields are is not known, and with
# half of that nDCG@10 on clapnq is .008 lower, with twice as much the same.
OTHER_WEIGHT = 1


@dataclass(frozen=True)
class RowHit:
    """A row that was found: its table's slot, its key, and the numbers of `SourceResult`."""

    slot: int
    key: Any
    relevance: float
    score: float


@dataclass(frozen=True)
class Allowed:
    """The index rows that a filter keeps: a JSON array of their numbers, and how many they are."""

    numbers: str
    count: int


def relevance(asked: Sequence[str], content: Collection[str], other: Collection[str]) -> float:
    """The mean over the stems of a question of the best field that holds each; at least `FLOOR` (R3)."""
    held = sum(CONTENT if stem in content else OTHER if stem in other else 0.0 for stem in asked)
    return max(FLOOR, held / len(asked)) if asked else FLOOR


def read_question(index: sqlite3.Connection, text: str) -> Question:
    """The stems of `text` and in how many rows of the whole source each is, the rarest first."""
    asked = query_stems(text)
    rows, stems = index.execute("SELECT coalesce(sum(rows), 0), coalesce(sum(stems), 0) FROM tables").fetchone()
    df = index.execute(
        "SELECT term, sum(df) AS df FROM terms WHERE term IN (SELECT value FROM json_each(?)) "
        "GROUP BY term ORDER BY df, term",
        (json.dumps(asked),),
    ).fetchall()
    return Question(asked, dict(df), rows, stems / rows if rows else 0.0)


def search_rows(
    index: sqlite3.Connection,
    question: Question,
    *,
    slots: Sequence[int] = (),
    allowed: Allowed | None = None,
    top_k: int = 5,
    score_threshold: float = 0.0,
) -> list[RowHit]:
    """The best rows for `question`, at most `top_k`, the best by their score first.

    Args:
        index: the index.
        question: from `read_question`.
        slots: the tables to search; all of them when empty.
        allowed: the rows that a filter keeps.
        top_k: the most rows to return.
        score_threshold: the least relevance of a row.
    """
    if top_k < 1 or not question.df or (allowed and not allowed.count):
        return []
    limit = max(CANDIDATES, top_k)
    seeds = seeds_of(question, allowed.count if allowed else None)

    def found(seeds: Sequence[str]) -> list[RowHit]:
        hits = _ranked(index, question, _statement(question, seeds, slots, allowed, limit))
        return [hit for hit in hits if hit.relevance >= score_threshold]

    hits = found(seeds)
    # What only the other stems find can hold no more of the question than these.
    others = 1 - len(seeds) / len(question.stems)
    if len(hits) < top_k and len(seeds) < len(question.df) and max(FLOOR, others) >= score_threshold:
        hits = found(list(question.df))
    return hits[:top_k]


def _ranked(index: sqlite3.Connection, question: Question, statement: tuple[str, Mapping[str, Any]]) -> list[RowHit]:
    ranking = Ranking(question, OTHER_WEIGHT)
    hits = []
    for number, key, content, other in index.execute(*statement):
        held = (content.split(), other.split())
        hits.append(RowHit(number >> ROWID_BITS, key, relevance(question.stems, *map(set, held)), ranking.score(*held)))
    return sorted(hits, key=lambda hit: (-hit.score, -hit.relevance, hit.slot, str(hit.key)))


def _statement(
    question: Question, seeds: Sequence[str], slots: Sequence[int], allowed: Allowed | None, limit: int
) -> tuple[str, dict[str, Any]]:
    asked = list(question.df)[:MAX_STEMS]
    values: dict[str, Any] = {"stems": any_of(asked), "limit": limit}
    conditions = ["row_stems MATCH :stems"]
    # The unary plus keeps SQLite from searching the text index once for each row number.
    if len(seeds) < len(asked):
        conditions.append("+rowid IN (SELECT rowid FROM row_stems WHERE row_stems MATCH :seeds)")
        values["seeds"] = any_of(seeds)
    if slots:
        conditions.append(f"(+rowid >> {ROWID_BITS}) IN (SELECT value FROM json_each(:slots))")
        values["slots"] = json.dumps(list(slots))
    if allowed:
        conditions.append("+rowid IN (SELECT value FROM json_each(:allowed))")
        values["allowed"] = allowed.numbers
    ranked = (
        "SELECT rowid AS id, bm25(row_stems, 1.0, 1.0) AS score FROM row_stems "
        f"WHERE {' AND '.join(conditions)} ORDER BY score, id LIMIT :limit"
    )
    return f"SELECT id, key, content, other FROM ({ranked}) CROSS JOIN rows USING (id)", values
