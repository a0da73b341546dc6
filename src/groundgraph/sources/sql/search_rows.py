"""Finding rows for a question in the index: one search of the text index, whatever the filters.

The index's BM25 picks the candidates, and BM25 with a bonus for neighbouring words orders them, as in a knowledge base.
The relevance says how much of the question a row holds; it knows nothing of how rare a word is, so as an order it
finds less: nDCG@10 .932 against .951 on clapnq.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from groundgraph.search.rank import Pool, Question, RankedPassage, Rule, Scorer, near_terms, rank
from groundgraph.search.word_index import Kept, Words
from groundgraph.sources.sql.introspect import ROWID_BITS
from groundgraph.text.wording import code_name_stems
from groundgraph.text.words import bm25, idf, query_stems

# Choosing the tables of a question by their names, headers and cells.

HEADER_WEIGHT = 4

T = TypeVar("T")


@dataclass(frozen=True)
class TableWords:
    """The words of one table.

    Attributes:
        df: in how many rows each stem of the question is.
        header: the stems of its name and columns.
        length: how much there is of it: its stems or its rows, the same for all tables.
    """

    df: Mapping[str, int]
    header: Sequence[str]
    length: int


def route_tables(tables: Mapping[T, TableWords], asked: Iterable[str]) -> list[T]:
    """The tables with one of the stems `asked`, those that fit them best first."""
    average = sum(one.length for one in tables.values()) / len(tables) if tables else 0.0
    scores = dict.fromkeys(tables, 0.0)
    for stem in asked:
        counts = {name: one.df.get(stem, 0) + HEADER_WEIGHT * one.header.count(stem) for name, one in tables.items()}
        weight = idf(len(tables), sum(map(bool, counts.values())))
        for name, count in counts.items():
            if count:
                scores[name] += weight * bm25(count, tables[name].length, average)
    return sorted((name for name in tables if scores[name]), key=lambda name: -scores[name])


def routed_slots(index: sqlite3.Connection, question: Question) -> list[int]:
    """The slots of the tables that fit `question`, the best first; see `route_tables`."""
    df: dict[int, dict[str, int]] = {}
    cells = index.execute(
        "SELECT slot, term, df FROM terms WHERE term IN (SELECT value FROM json_each(?))",
        (json.dumps(list(question.stems)),),
    )
    for slot, term, count in cells:
        df.setdefault(slot, {})[term] = count
    tables = index.execute("SELECT slot, header, stems FROM tables ORDER BY slot")
    known = {slot: TableWords(df.get(slot, {}), header.split(), length) for slot, header, length in tables}
    return route_tables(known, question.stems)


# The best rows by the index's BM25 that are looked at. A row further down is not found, however well it covers the
# question. On the public sets 24 and 128 rows find the same to .001 nDCG@10.
CANDIDATES = 64
# The relevance of a row is the mean over the stems of the best field that holds each. In the order a word in another
# field counts as one in the content: what the other fields are is not known, and with half of that nDCG@10 on clapnq is
# .008 lower, with twice as much the same. The last of them is no heading.
ROWS = Rule(above_weight=1, by_rarity=False, above_share=0.5, floor=0.05)


def read_question(index: sqlite3.Connection, text: str) -> Question:
    """The stems of `text` and in how many rows of the whole source each is, the rarest first. A word that names a table
    or a column is known by that, though no cell holds it, and is no slip: "repairs" does not stand for "repainted"."""
    asked = query_stems(text)
    rows, stems = index.execute("SELECT coalesce(sum(rows), 0), coalesce(sum(stems), 0) FROM tables").fetchone()
    df = index.execute(
        "SELECT term, sum(df) AS df FROM terms WHERE term IN (SELECT value FROM json_each(?)) "
        "GROUP BY term ORDER BY df, term",
        (json.dumps(asked),),
    ).fetchall()
    question = Question(asked, dict(df), rows, stems / rows if rows else 0.0, code_name_stems(text))
    headers = {stem for (header,) in index.execute("SELECT header FROM tables") for stem in header.split()}
    return question.with_forms(lambda stem: near_terms(index, stem) if stem not in headers else {})


def search_rows(
    index: sqlite3.Connection,
    words: Words,
    question: Question,
    *,
    slots: Sequence[int] = (),
    allowed: Kept | None = None,
    top_k: int = 5,
    score_threshold: float = 0.0,
) -> list[RankedPassage]:
    """The best rows for `question`, at most `top_k`, the best first; the payload is a row's key in its table.

    Args:
        index: the index.
        words: its full-text index in the same state.
        question: from `read_question`.
        slots: the tables to search; all of them when empty.
        allowed: the rows that a filter keeps.
        top_k: the most rows to return.
        score_threshold: the least relevance of a row.

    Raises:
        WordsUnusable: the full-text index is damaged.
    """
    if top_k < 1:
        return []
    scorer = Scorer(question, ROWS)
    kept = Kept(slots, (), question.texts) if slots else allowed
    passages = [
        scorer.passage((number >> ROWID_BITS, str(key)), content.split(), other.split(), payload=key)
        for number, key, content, other in words.rows(index, question, limit=max(CANDIDATES, top_k), kept=kept)
    ]
    return list(rank([Pool(passages)], threshold=score_threshold, top_k=top_k))
