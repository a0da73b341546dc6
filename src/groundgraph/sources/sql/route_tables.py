"""Choosing the tables of a question by their names, headers and cells (R14)."""

from __future__ import annotations

import json
import sqlite3
from collections import defaultdict

from groundgraph.core.lexical import idf
from groundgraph.search.question import Question

HEADER_WEIGHT = 4.0
K1 = 1.2
B = 0.75


def route_tables(index: sqlite3.Connection, question: Question, limit: int) -> list[int]:
    """The slots of the `limit` tables that fit `question` best, the best first; tables without a word of it are out."""
    tables = index.execute("SELECT slot, header, rows, stems FROM tables").fetchall()
    headers = {slot: header.split() for slot, header, _, _ in tables}
    lengths = {slot: stems for slot, _, _, stems in tables}
    average = sum(lengths.values()) / len(lengths) if lengths else 0.0
    held: dict[str, dict[int, float]] = defaultdict(dict)
    cells = index.execute(
        "SELECT term, slot, df FROM terms WHERE term IN (SELECT value FROM json_each(?))",
        (json.dumps(list(question.stems)),),
    )
    for term, slot, df in cells:
        held[term][slot] = float(df)
    for slot, header in headers.items():
        for stem in question.stems:
            if stem in header:
                held[stem][slot] = held[stem].get(slot, 0.0) + HEADER_WEIGHT * header.count(stem)
    scores: dict[int, float] = defaultdict(float)
    for found in held.values():
        weight = idf(len(tables), len(found))
        for slot, frequency in found.items():
            norm = 1 - B + B * (lengths[slot] / average if average else 1.0)
            scores[slot] += weight * frequency * (K1 + 1) / (frequency + K1 * norm)
    return sorted(scores, key=lambda slot: (-scores[slot], slot))[:limit]
